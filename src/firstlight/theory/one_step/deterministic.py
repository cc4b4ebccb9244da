"""Deterministic equivalents of ridge regression when one covariance serves all samples."""

from dataclasses import dataclass

import numpy as np
from scipy import linalg
from scipy.linalg import lapack

from firstlight.solvers import bracketing_root
from firstlight.theory.one_step.moments import FeatureMoments


@dataclass(frozen=True, eq=False)
class Equivalent:
    """Predicted errors of a ridge read-out.

    Attributes
    ----------
    test, train : float
        Mean squared errors.
    by_class : ndarray, shape (C,)
        Test error in each class.
    weight_square : float
        E |w|² of the read-out.
    readout : ndarray, shape (k,)
        Mean of the read-out weights.
    converged : bool
        Whether the self-consistent equation was solved.
    """

    test: float
    train: float
    by_class: np.ndarray
    weight_square: float
    readout: np.ndarray
    converged: bool


def spectrum(omega: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray, "Rotation"]:
    """Return eigenvalues of Ω, the coordinates of b in its eigenbasis, and the way back.

    The k x k eigenvectors are kept as Householder reflectors times those of a tridiagonal matrix: three times
    faster than forming them, and all that ridge formulas need.

    Examples
    --------
    >>> values, coordinates, back = spectrum(np.diag([3.0, 1.0, 2.0]), np.array([1.0, 0.0, 0.0]))
    >>> values.round(9).tolist(), np.abs(back(coordinates[None])).round(9).tolist()
    ([1.0, 2.0, 3.0], [[1.0, 0.0, 0.0]])
    """
    if len(omega) < 3:
        values, vectors = np.linalg.eigh(omega)
        return values, vectors.T @ b, Rotation(None, None, vectors)
    work = int(lapack.dsytrd_lwork(len(omega), lower=1)[0])
    reflectors, diagonal, off, tau, _ = lapack.dsytrd(omega, lower=1, lwork=work)
    values, vectors = linalg.eigh_tridiagonal(diagonal, off, check_finite=False)
    rotation = Rotation(np.asfortranarray(reflectors[1:, :-1]), tau, vectors)
    return values, rotation.forward(b), rotation


@dataclass(frozen=True, eq=False)
class Rotation:
    """Eigenvectors of a symmetric matrix as reflectors times the eigenvectors of a tridiagonal one."""

    reflectors: np.ndarray | None
    tau: np.ndarray | None
    vectors: np.ndarray

    def _reflect(self, columns: np.ndarray, way: str) -> np.ndarray:
        if self.reflectors is None:
            return columns
        turned, _, _ = lapack.dormqr(
            "L", way, self.reflectors, self.tau, columns[1:], lwork=64 * len(columns)
        )
        return np.vstack([columns[:1], turned])

    def forward(self, b: np.ndarray) -> np.ndarray:
        """Coordinates of b in the eigenbasis."""
        return self.vectors.T @ self._reflect(b[:, None], "T")[:, 0]

    def __call__(self, coordinates: np.ndarray) -> np.ndarray:
        """Rows of coordinates back to rows of vectors."""
        return self._reflect(self.vectors @ coordinates.T, "N").T


def effective_ridge(values: np.ndarray, m: int, ridge: float) -> tuple[float, bool]:
    """Solve λ = κ (1 - (1/m) Σ_i l_i/(l_i + κ)) for the largest κ ≥ λ.

    Parameters
    ----------
    values : ndarray
        l, eigenvalues of the feature second moment; at least 0.
    m : int
        Number of training samples.
    ridge : float
        λ, at least 0. At zero the answer is zero unless there are more directions than samples.

    Returns
    -------
    kappa : float
    converged : bool

    Examples
    --------
    >>> kappa, converged = effective_ridge(np.ones(4), 2, 0.0)  # 1 = 2/(1 + κ)
    >>> round(kappa, 9), converged
    (1.0, True)
    """

    def excess(kappa: float) -> float:
        return kappa - ridge - kappa * float((values / (values + kappa)).sum()) / m

    high = ridge + float(values.sum()) / m
    low = max(ridge, 1e-14 * high)
    if excess(low) >= 0:  # only at ridge 0: fewer directions than samples, no implicit ridge
        return ridge, True
    found = bracketing_root(excess, low, high * (1 + 1e-9), tolerance=1e-13)
    return found.value, found.converged


def pooled_equivalents(
    moments: FeatureMoments, sizes: list[int], ridges: np.ndarray
) -> list[list[Equivalent]]:
    """Predict the read-out's errors for every sample size and ridge, from one factorisation.

    Parameters
    ----------
    moments : FeatureMoments
        Population moments of the features.
    sizes : list of int
        m, numbers of training samples.
    ridges : ndarray
        λ, each at least 0.

    Returns
    -------
    list of list of Equivalent
        Indexed by size, then ridge.
    """
    omega, b, label_square = moments.pooled()
    values, coordinates, back = spectrum(omega, b)
    values = np.where(values > 1e-13 * values.max(), values, 0.0)
    coordinates = np.where(values > 0, coordinates, 0.0)  # b lies in the range of Ω
    cells = [(m, *effective_ridge(values, m, float(ridge))) for m in sizes for ridge in ridges]
    shifts = [np.where(values + kappa > 0, values + kappa, 1.0) for _, kappa, _ in cells]
    readouts = back(np.array([coordinates / shifted for shifted in shifts]))
    risks = moments.risk(readouts)
    found = []
    for (m, _, converged), shifted, readout, by_class in zip(cells, shifts, readouts, risks, strict=True):
        share = values / shifted
        gamma = float((share**2).sum()) / m
        mean = coordinates / shifted
        risk = label_square - float((coordinates * mean * (2 - share)).sum())
        test = risk / (1 - gamma) if gamma < 1 else np.inf
        kept = 1 - float(share.sum()) / m  # λ/κ, also where both vanish
        train = kept**2 * test if kept > 1e-12 else 0.0
        square = float(mean @ mean) + test * float((share / shifted).sum()) / m
        found.append(Equivalent(test, train, by_class + gamma * test, square, readout, converged))
    return [found[start : start + len(ridges)] for start in range(0, len(found), len(ridges))]
