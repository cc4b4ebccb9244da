"""Gaussian integrals of a layer of neurons: E[σ(u_i) σ(u_j)], E[σ(u_i) g(t)], and tables of E σ(M + s z).

Quadrature only: both doors of a room may use it. Pairs of neurons are integrated by the activation's closed
form where there is one and the means vanish, and otherwise by Mehler's series, whose remainder is bounded by
|ρ|^(degree + 1) and what is left of the second moments.
"""

from collections.abc import Callable
from itertools import combinations_with_replacement

import numpy as np
from scipy.interpolate import NdBSpline, make_interp_spline
from scipy.special import gammaln

from firstlight.activations import Activation
from firstlight.activations.duals import correlation
from firstlight.workers import Workers

_TOLERANCE = 1e-10
_TILE = 250
_LARGEST = 60  # at |ρ| = 0.9 the ReLU's remainder beyond is 1e-6 of its second moment


def _degree(largest_correlation: float) -> int:
    """Terms of Mehler's series after which |ρ|^(degree + 1) is negligible."""
    if largest_correlation <= _TOLERANCE:
        return 1
    if largest_correlation >= 1:
        return _LARGEST
    return int(np.clip(np.ceil(np.log(_TOLERANCE) / np.log(largest_correlation)), 1, _LARGEST))


def _normalised(activation: Activation, mean: np.ndarray, std: np.ndarray, degree: int) -> np.ndarray:
    """Hermite coefficients over sqrt(j!), one row per neuron."""
    root = np.exp(0.5 * gammaln(np.arange(1, degree + 2)))
    return activation.moments(mean, std, degree) / root


def second_moments(activation: Activation, mean: np.ndarray, covariance: np.ndarray) -> np.ndarray:
    """Compute E[σ(u_i) σ(u_j)] for jointly normal pre-activations u ~ N(mean, covariance).

    Parameters
    ----------
    activation : Activation
        σ.
    mean : ndarray, shape (k,)
        Means of the pre-activations.
    covariance : ndarray, shape (k, k)
        Their covariance.

    Returns
    -------
    ndarray, shape (k, k)

    Examples
    --------
    >>> from firstlight.activations import activation
    >>> second_moments(activation("linear"), np.array([1.0, 2.0]), np.eye(2)).round(9).tolist()
    [[2.0, 2.0], [2.0, 5.0]]
    """
    variance = np.diag(covariance).copy()
    if activation.closed_dual is not None and not mean.any():
        return _tiled(
            lambda i, j: activation.dual(variance[i, None], variance[j], covariance[i, j]), len(variance)
        )
    std = np.sqrt(variance)
    rho = correlation(variance[:, None], variance[None, :], covariance)
    np.fill_diagonal(rho, 0.0)
    coefficients = _normalised(activation, mean, std, _degree(float(np.max(np.abs(rho), initial=0.0))))

    def series(i: slice, j: slice) -> np.ndarray:
        part, total = rho[i, j].copy(), np.outer(coefficients[i, -1], coefficients[j, -1])
        for column in coefficients.T[-2::-1]:
            total *= part
            total += column[i, None] * column[j]
        return total

    result = _tiled(series, len(variance))
    np.fill_diagonal(result, activation.mean_square(mean, std))
    return result


def _tiled(function: Callable[[slice, slice], np.ndarray], size: int) -> np.ndarray:
    """Fill a symmetric matrix tile by tile, so that each stays in the cache, and only above the diagonal."""
    result = np.empty((size, size))
    tiles = [slice(start, start + _TILE) for start in range(0, size, _TILE)]

    def fill(pair: tuple[slice, slice]) -> None:
        tile = function(*pair)
        result[pair] = tile
        result[pair[::-1]] = tile.T

    with Workers() as workers:
        workers.map(fill, combinations_with_replacement(tiles, 2))
    return result


def cross_moments(
    activation: Activation,
    mean: np.ndarray,
    variance: np.ndarray,
    link: Activation,
    link_mean: float,
    link_variance: float,
    covariance: np.ndarray,
) -> np.ndarray:
    """Compute E[σ(u_i) g(t)] for pre-activations u_i and one index t, jointly normal.

    Parameters
    ----------
    activation, link : Activation
        σ and g.
    mean, variance, covariance : ndarray, shape (k,)
        Means and variances of u, and its covariances with t.
    link_mean, link_variance : float
        Mean and variance of t.

    Returns
    -------
    ndarray, shape (k,)

    Examples
    --------
    >>> from firstlight.activations import activation
    >>> linear = activation("linear")
    >>> one = np.ones(1)
    >>> cross_moments(linear, 2 * one, one, linear, 3.0, 1.0, 0.5 * one).round(9).tolist()
    [6.5]
    """
    if activation is link and activation.closed_dual is not None and not mean.any() and link_mean == 0:
        return activation.dual(variance, link_variance, covariance)
    rho = correlation(variance, np.full_like(variance, link_variance), covariance)
    degree = _degree(float(np.max(np.abs(rho), initial=0.0)))
    ours = _normalised(activation, mean, np.sqrt(variance), degree)
    theirs = _normalised(link, np.asarray(link_mean), np.sqrt(np.asarray(link_variance)), degree)
    return (ours * theirs * rho[:, None] ** np.arange(degree + 1)).sum(axis=1)


class Tabulated:
    """E[σ(M + s z) He_j(z)] for j = 0, 1, 2 and E σ(M + s z)², looked up in (M, s) by bicubic splines.

    Parameters
    ----------
    activation : Activation
        σ.
    mean_range, std_range : tuple of float
        Smallest and largest M and s that will be asked for; s must be positive.

    Examples
    --------
    >>> from firstlight.activations import activation
    >>> table = Tabulated(activation("relu"), (-2.0, 2.0), (0.9, 1.1))
    >>> mean, slope, bend, square = table(np.array([0.0]), np.array([1.0]))
    >>> bool(abs(mean[0] * np.sqrt(2 * np.pi) - 1) < 1e-5), bool(abs(slope[0] - 0.5) < 1e-5)
    (True, True)
    """

    def __init__(
        self, activation: Activation, mean_range: tuple[float, float], std_range: tuple[float, float]
    ) -> None:
        low, high = std_range
        if not 0 < low <= high:
            raise ValueError(f"std_range = {std_range}: must be positive and in order")
        # σ blurred by s bends over a length of order s, so 10 nodes per s leave errors near 1e-6
        reach = mean_range[1] - mean_range[0]
        means = np.linspace(*mean_range, int(np.clip(np.ceil(10 * reach / low), 16, 2000)))
        stds = np.linspace(0.999 * low, 1.001 * high, int(np.clip(np.ceil(16 * np.log(high / low)), 6, 48)))
        grid = np.meshgrid(means, stds, indexing="ij")
        moments = activation.moments(*grid, 2)
        square = activation.mean_square(*grid)
        along = make_interp_spline(means, np.concatenate([moments, square[..., None]], axis=-1))
        across = make_interp_spline(stds, along.c, axis=1)
        self._spline = NdBSpline((along.t, across.t), np.moveaxis(across.c, 0, 1), 3)

    def __call__(self, mean: np.ndarray, std: np.ndarray) -> tuple[np.ndarray, ...]:
        """Return the four expectations at arrays M and s that broadcast."""
        return tuple(np.moveaxis(self._spline(np.stack(np.broadcast_arrays(mean, std), -1)), -1, 0))
