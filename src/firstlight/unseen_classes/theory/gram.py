"""Dual activations over whole Gram matrices: closed forms by tiles, else Mehler's series."""

from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln

from firstlight.maths.activations import Activation
from firstlight.maths.hermite import coefficients_and_square

_TILE = (
    256  # rows and columns of a tile: half a megabyte, so that the many passes of a dual stay in the cache
)
_DEGREE = 120
_TOLERANCE = 1e-6  # of sqrt(κ κ'); a network of N neurons fluctuates by 1/sqrt(N) anyway


def dual_gram(
    activation: Activation, q: np.ndarray, p: np.ndarray, c: np.ndarray, *, slope: bool = False
) -> np.ndarray:
    """Overwrite covariances by duals: entry (i, j) becomes E σ(u)σ(v), Var u = q_i, Var v = p_j, Cov = c_ij.

    Parameters
    ----------
    q, p : ndarray, shapes (a,) and (b,)
        Variances, at least 0. If they are the same object, `c` is taken as symmetric: half the work.
    c : ndarray, shape (a, b)
        Covariances; overwritten. Rounding beyond c² = q p is clipped.
    slope : bool, default False
        Use σ' instead of σ.

    Returns
    -------
    ndarray, shape (a, b)
        `c` itself. Closed forms where they exist; else within 1e-6 of sqrt(κ(q) κ(p)).

    Examples
    --------
    >>> from firstlight.maths.activations import activation
    >>> one = np.ones(2)
    >>> (dual_gram(activation("relu"), one, one, np.eye(2)) * np.pi).tolist()
    [[1.570796, 0.5000], [0.5000, 1.570796]]
    """
    closed = activation.closed_dual_derivative if slope else activation.closed_dual
    if closed is None:
        first, second = (_Coefficients.of(activation, v, slope) for v in (q, p))
    for rows in _tiles(0, len(q)):
        for columns in _tiles(rows.start if p is q else 0, len(p)):
            tile = c[rows, columns]
            if closed is None:
                tile[:] = _series(activation, slope, first[rows, None], second[None, columns], tile)
            else:
                tile[:] = closed(q[rows, None], p[None, columns], tile)
            if p is q and columns != rows:
                c[columns, rows] = tile.T
    return c


def _tiles(start: int, stop: int) -> list[slice]:
    return [slice(a, min(a + _TILE, stop)) for a in range(start, stop, _TILE)]


@dataclass(frozen=True, eq=False)
class _Coefficients:
    """Hermite coefficients E[σ(√q g) He_k(g)]/sqrt(k!), the second moment, and what they leave of it."""

    variance: np.ndarray
    values: np.ndarray
    square: np.ndarray
    rest: np.ndarray

    @classmethod
    def of(cls, activation: Activation, variance: np.ndarray, slope: bool) -> "_Coefficients":
        function = activation.first if slope else activation.function
        std = np.sqrt(variance)
        found = coefficients_and_square(function, _DEGREE, std=std, kinks=activation.kinks)
        values, square = found[:, :-1] / np.exp(0.5 * gammaln(np.arange(_DEGREE + 1) + 1)), found[:, -1]
        return cls(variance, values, square, np.maximum(square - (values**2).sum(axis=1), 0))

    def __getitem__(self, key: tuple) -> "_Coefficients":
        return _Coefficients(self.variance[key], self.values[key], self.square[key], self.rest[key])


def _series(
    activation: Activation, slope: bool, first: _Coefficients, second: _Coefficients, c: np.ndarray
) -> np.ndarray:
    """Mehler's series, and exact duals where it is too short."""
    size = np.sqrt(first.variance * second.variance)
    rho = np.clip(np.divide(c, size, out=np.zeros_like(c), where=size > 0), -1, 1)
    total = np.zeros_like(rho)
    for k in range(_DEGREE, -1, -1):
        total *= rho
        total += first.values[..., k] * second.values[..., k]
    missing = np.abs(rho) ** (_DEGREE + 1) * np.sqrt(first.rest * second.rest)
    hard = missing > _TOLERANCE * np.sqrt(first.square * second.square)
    if hard.any():
        q, p = (np.broadcast_to(side.variance, c.shape)[hard] for side in (first, second))
        dual = activation.dual_derivative if slope else activation.dual
        total[hard] = dual(q, p, rho[hard] * np.sqrt(q * p))
    return total
