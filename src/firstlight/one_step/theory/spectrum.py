"""Eigenvalues of the feature matrix of m samples, from those of the population's second moment.

With v(z) the Stieltjes transform of ΦΦᵀ/m, the deterministic equivalent solves z = -1/v + (1/m) Σ l/(1 + l v)
(Marchenko and Pastur, 1967; Silverstein, 1995). The same v makes the function
G = -log v - 1 - z v + (1/m) Σ log(1 + l v) stationary, whose value is (1/m) log det(ΦΦᵀ/m - z); so its
imaginary part on the real axis counts eigenvalues, outliers too, without a density to be integrated.
"""

import numpy as np

_BISECTIONS = 45  # of a range of 1e9 on a logarithmic scale: to 1e-12
_HALVINGS = 40  # of the distance from the real axis: from one to 1e-12 of the largest eigenvalue
_FAINT = 1e-8  # of the largest eigenvalue: smaller ones are not told
_NEWTON = 2  # steps at each distance, and three more at the last: v is analytic within one distance


def stieltjes(values: np.ndarray, samples: int, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return v just above the points of the real axis, and whether the equation was solved there.

    Parameters
    ----------
    values : ndarray, shape (k,)
        l, eigenvalues of the features' second moment, at least 0, not all 0.
    samples : int
        m.
    points : ndarray, shape (p,)
        Positive.

    Returns
    -------
    v : ndarray of complex, shape (p,)
    converged : ndarray of bool, shape (p,)

    Examples
    --------
    >>> v, _ = stieltjes(np.ones(100), 100, np.array([1.0]))  # v + 1/v = -1 at z = 1 of the square law
    >>> v.real.tolist(), v.imag.tolist()
    ([-0.5000], [0.8660])
    """
    height = float(values.sum()) / samples + float(values.max()) + points
    v = -1 / (points + 1j * height)
    column = values[:, None]
    for step in range(_HALVINGS + 1):
        z = points + 1j * height * 0.5**step
        for _ in range(_NEWTON + 3 * (step == _HALVINGS)):
            inner = column / (1 + column * v)
            miss = -1 / v + inner.sum(axis=0) / samples - z
            slope = 1 / v**2 - (inner**2).sum(axis=0) / samples
            moved = v - miss / slope
            v = np.where(moved.imag > 0, moved, v.real + 0.5j * v.imag)
    inner = column / (1 + column * v)
    # far below the largest eigenvalue the distance from the axis is no longer small: not known
    miss = np.abs(-1 / v + inner.sum(axis=0) / samples - z)
    return v, (miss < 1e-6 * points) & (points > _FAINT * height)


def eigenvalues_above(values: np.ndarray, samples: int, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return how many eigenvalues of ΦᵀΦ/m lie above each point, and whether that is known.

    Parameters
    ----------
    values, samples, points
        As in `stieltjes`.

    Examples
    --------
    >>> count, known = eigenvalues_above(np.ones(100), 200, np.array([0.01, 0.98, 3.0]))
    >>> count.tolist(), known.tolist()  # the bulk ends at 0.086 and 2.914
    ([100.00, 43.25, 0.00], [True, True, True])
    """
    v, known = stieltjes(values, samples, points)
    turned = np.angle(1 + values[:, None] * v).sum(axis=0) / samples - np.angle(v) - points * v.imag
    return samples * (1 + turned / np.pi), known


def predicted_eigenvalues(
    values: np.ndarray, samples: int, ranks: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the eigenvalue of each rank: the point with rank - 1/2 eigenvalues above it.

    Parameters
    ----------
    values, samples
        As in `stieltjes`.
    ranks : ndarray of int, shape (p,)
        From 1, the largest, to min(k, m).

    Returns
    -------
    eigenvalues : ndarray, shape (p,)
        Zero beyond the rank of the second moment.
    converged : ndarray of bool, shape (p,)
        False where the eigenvalue is so far below the largest that it is not resolved.

    Examples
    --------
    >>> predicted_eigenvalues(np.append(9.0, np.ones(99)), 400, np.array([1, 2]))[0].tolist()
    [9.27, 2.17]
    """
    high = np.full(len(ranks), 4 * (float(values.sum()) / samples + float(values.max())))
    low = 2 * _FAINT * high
    count, known = eigenvalues_above(values, samples, low)
    known &= count >= ranks - 0.5
    none = ranks > int((values > 1e-13 * values.max()).sum())
    for _ in range(_BISECTIONS):
        middle = np.sqrt(low * high)
        count, solved = eigenvalues_above(values, samples, middle)
        known &= solved | none
        below = count >= ranks - 0.5
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return np.where(none, 0.0, np.sqrt(low * high)), known | none


def uneven_energy(omega: np.ndarray, features: np.ndarray) -> float:
    """Return the relative spread of a sample's squared features outside the four strongest directions.

    The equation above takes every sample's bulk to be equally large; this is 0 where that is exact.

    Parameters
    ----------
    omega : ndarray, shape (k, k)
        The features' second moment.
    features : ndarray, shape (samples, k)
        Features of fresh samples.

    Examples
    --------
    >>> uneven_energy(np.diag([1.0, 2.0]), np.array([[1.0, 0.0], [3.0, 0.0]]))
    0.80
    """
    _, directions = np.linalg.eigh(omega)
    kept = directions[:, : max(len(omega) - 4, 1)]
    energy = ((features @ kept) ** 2).sum(axis=1)
    return float(energy.std() / max(energy.mean(), np.finfo(float).tiny))
