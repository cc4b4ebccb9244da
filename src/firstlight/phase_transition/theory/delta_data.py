"""delta_alg of the hidden part of data: how many rows per column a fast method would have needed."""

from itertools import combinations

import numpy as np
from scipy.stats.mstats import winsorize

from firstlight.phase_transition.theory.hidden import excess, spread_matrix

LEAST = 25.0  # rows per column below which the estimate is not to be trusted
_FOLDS, _BOOTSTRAPS, _Z = 4, 60, 1.6449


def inverse_delta(
    z: np.ndarray, part: np.ndarray, rank: int, rng: np.random.Generator
) -> tuple[float, float]:
    """Estimate 1/delta_alg = λ_max(E[G ⊗ G]), free of the bias that noise in the directions causes.

    Rows are cut into four. Directions U_a and U_b come from two parts, the conditional covariances V_h from
    the two others: H_h = U_aᵀ V_h U_b (U_aᵀ U_b)⁻¹ is similar to G(h), and two independent ones multiply
    without the square of their noise. The median over the six ways to choose.

    Parameters
    ----------
    z : ndarray, shape (n, d)
        Whitened rows without easy directions; not cut to one length, which would hide part of the effect.
    part : ndarray of int, shape (n,)
        Slices.
    rank : int
        How many hard directions there are.
    rng : Generator
        Cuts the rows, and draws bootstraps inside each part.

    Returns
    -------
    value, error : float
        The estimate and the standard deviation of bootstraps, the outermost tenths drawn in; NaN where the
        parts do not agree on the directions. Bins of numeric labels make it too small.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> z = rng.normal(size=(4000, 10))
    >>> value, error = inverse_delta(z, (np.abs(z[:, 0]) > 1.4821).astype(int), 1, rng)
    >>> bool(abs(value - 1 / 0.7666) < 3 * error)
    True
    """
    order = rng.permutation(len(z))
    parts = [order[i::_FOLDS] for i in range(_FOLDS)]
    value = _estimate(z, part, parts, rank)
    drawn = [
        _estimate(z, part, [rng.choice(rows, len(rows)) for rows in parts], rank) for _ in range(_BOOTSTRAPS)
    ]
    known = np.array([one for one in drawn if np.isfinite(one)])
    if not np.isfinite(value) or len(known) < _BOOTSTRAPS // 2:
        return float("nan"), float("nan")
    return value, float(np.std(np.asarray(winsorize(known, limits=0.1)), ddof=1))


def interval(value: float, error: float) -> tuple[float, float]:
    """Return the 90 % interval of delta_alg from 1/delta_alg and its error; the upper end may be infinite.

    Examples
    --------
    >>> interval(1.0, 0.1)
    (0.859, 1.197)
    """
    low, high = value - _Z * error, value + _Z * error
    return 1 / high, 1 / low if low > 0 else float("inf")


def _estimate(z: np.ndarray, part: np.ndarray, parts: list[np.ndarray], rank: int) -> float:
    shares = np.bincount(part) / len(part)
    spreads = [np.linalg.eigh(spread_matrix(z[rows], part[rows]))[1][:, -rank:] for rows in parts]
    changes = [excess(z[rows], part[rows]) for rows in parts]
    rates = []
    for a, b in combinations(range(_FOLDS), 2):
        c, e = (i for i in range(_FOLDS) if i not in (a, b))
        common = spreads[a].T @ spreads[b]
        if abs(np.linalg.det(common)) < 0.1 or min(len(changes[c]), len(changes[e])) < len(shares):
            continue
        back = np.linalg.inv(common)
        pair = [[spreads[a].T @ v @ spreads[b] @ back for v in changes[i]] for i in (c, e)]
        total = sum(p * np.kron(h, g) for p, h, g in zip(shares, *pair, strict=True))
        rates.append(float(np.linalg.eigvals(np.asarray(total)).real.max()))
    return float(np.median(rates)) if rates else float("nan")
