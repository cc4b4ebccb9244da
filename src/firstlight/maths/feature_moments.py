"""Gaussian integrals of a layer of neurons: E[σ(u_i) σ(u_j)], E[σ(u_i) g(t)], and tables of E σ(M + s z).

Quadrature only: both sides of a theory may use it. Pairs of neurons are integrated by the activation's closed
form where there is one and the means vanish, and otherwise by Mehler's series, whose remainder is bounded by
|ρ|^(degree + 1) and what is left of the second moments. Where that bound is not negligible (at strong
correlations, if the activation has a kink or is steep) pairs are integrated by split quadrature instead.
"""

from collections.abc import Callable
from itertools import combinations_with_replacement

import numpy as np
from scipy.special import gammaln, ndtr

from firstlight.maths.activations import Activation
from firstlight.maths.activations.duals import correlation
from firstlight.maths.quadrature import panels
from firstlight.maths.workers import Workers

_TOLERANCE = 1e-10
_TILE = 250
_LARGEST = 60  # at |ρ| = 0.8 the ReLU's remainder beyond is 1e-10 of its second moment
_REMAINDER = 1e-9  # of the root of the second moments: pairs whose series may leave more are integrated
_GRID = np.linspace(-9.0, 9.0, 7)  # in standard deviations; the normal mass beyond is 2e-19
_BENDS = (-12.0, -5.0, -2.0, 0.0, 2.0, 5.0, 12.0)  # where an activation may bend, in its own argument
_BLUR = (-7.0, -4.0, -2.0, 0.0, 2.0, 4.0, 7.0)  # pieces around a kink that an integration has blurred
_ORDER = 10  # nodes of each piece
_HUGE = 1e290  # moments, beyond which splines of them leave the range of numbers
_TINY = 1e-150  # stands for a spread of zero where one divides by it
_TABLE = 1e-5  # error of a table, relative to the largest root mean square at this spread
_ENTRIES = 40_000  # of a table at most; over a range that needs more, its steps are wider
_USABLE = 1e-3  # error of a table, beyond which numbers made from it say so
_CHUNK = 1 << 20  # nodes held at once by a thread


def _degree(largest_correlation: float) -> int:
    """Terms of Mehler's series after which |ρ|^(degree + 1) is negligible."""
    if largest_correlation <= _TOLERANCE:
        return 1
    if largest_correlation >= 1:
        return _LARGEST
    return int(np.clip(np.ceil(np.log(_TOLERANCE) / np.log(largest_correlation)), 1, _LARGEST))


def _normalised(
    activation: Activation, mean: np.ndarray, std: np.ndarray, degree: int
) -> tuple[np.ndarray, np.ndarray]:
    """Hermite coefficients over sqrt(j!), one row per neuron, and second moments."""
    root = np.exp(0.5 * gammaln(np.arange(1, degree + 2)))
    found = activation.moments_and_square(mean, std, degree)
    return found[..., :-1] / root, found[..., -1]


def second_moments(activation: Activation, mean: np.ndarray, covariance: np.ndarray) -> np.ndarray:
    """Compute E[σ(u_i) σ(u_j)] for jointly normal pre-activations u ~ N(mean, covariance).

    Parameters
    ----------
    mean : ndarray, shape (k,)
        Means of the pre-activations.
    covariance : ndarray, shape (k, k)
        Their covariance.

    Returns
    -------
    ndarray, shape (k, k)

    Examples
    --------
    >>> from firstlight.maths.activations import activation
    >>> second_moments(activation("linear"), np.array([1.0, 2.0]), np.eye(2)).tolist()
    [[2.0000, 2.0000], [2.0000, 5.0000]]
    """
    variance = np.diag(covariance).copy()
    if activation.closed_dual is not None and not mean.any():
        return _tiled(
            lambda i, j: activation.dual(variance[i, None], variance[j], covariance[i, j]), len(variance)
        )
    std = np.sqrt(variance)
    rho = correlation(variance[:, None], variance[None, :], covariance)
    np.fill_diagonal(rho, 0.0)
    degree = _degree(float(np.max(np.abs(rho), initial=0.0)))
    coefficients, square = _normalised(activation, mean, std, degree)

    def series(i: slice, j: slice) -> np.ndarray:
        part, total = rho[i, j].copy(), np.outer(coefficients[i, -1], coefficients[j, -1])
        for column in coefficients.T[-2::-1]:
            total *= part
            total += column[i, None] * column[j]
        return total

    result = _tiled(series, len(variance))
    np.fill_diagonal(result, square)
    if degree == _LARGEST:
        share = _share_left(coefficients, square)
        i, j = np.nonzero(np.triu(np.abs(rho) * share[:, None] * share > _REMAINDER ** (1 / (degree + 1)), 1))
        result[i, j] = _integrated(activation, activation, mean[i], std[i], mean[j], std[j], rho[i, j])
        result[j, i] = result[i, j]
    return result


def _share_left(coefficients: np.ndarray, square: np.ndarray) -> np.ndarray:
    """Numbers a_i such that (|ρ| a_i a_j)^(degree + 1) bounds the series' error, second moments being one."""
    left = np.maximum(square - (coefficients**2).sum(axis=-1), 0.0)
    part = np.divide(left, square, out=np.zeros_like(left), where=square > 0)
    return part ** (0.5 / coefficients.shape[-1])


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
    >>> from firstlight.maths.activations import activation
    >>> linear = activation("linear")
    >>> one = np.ones(1)
    >>> cross_moments(linear, 2 * one, one, linear, 3.0, 1.0, 0.5 * one).tolist()
    [6.5000]
    """
    if activation is link and activation.closed_dual is not None and not mean.any() and link_mean == 0:
        return activation.dual(variance, link_variance, covariance)
    rho = correlation(variance, np.full_like(variance, link_variance), covariance)
    degree = _degree(float(np.max(np.abs(rho), initial=0.0)))
    ours, square = _normalised(activation, mean, np.sqrt(variance), degree)
    theirs, link_square = _normalised(link, np.asarray(link_mean), np.sqrt(np.asarray(link_variance)), degree)
    result = (ours * theirs * rho[:, None] ** np.arange(degree + 1)).sum(axis=1)
    if degree == _LARGEST:
        std, link_std = np.sqrt(variance), np.sqrt(link_variance)
        share = _share_left(ours, square) * _share_left(theirs, link_square)
        hard = np.flatnonzero(np.abs(rho) * share > _REMAINDER ** (1 / (degree + 1)))
        one = np.ones(hard.size)
        result[hard] = _integrated(
            activation, link, mean[hard], std[hard], link_mean * one, link_std * one, rho[hard]
        )
    return result


def _integrated(
    first: Activation,
    second: Activation,
    mean: np.ndarray,
    std: np.ndarray,
    other_mean: np.ndarray,
    other_std: np.ndarray,
    rho: np.ndarray,
) -> np.ndarray:
    """E[f(u) g(v)] for pairs of normals of any correlation, all arguments of shape (pairs,), std positive.

    u is integrated over pieces cut at its kinks and where those of v are, blurred by the spread that v has
    left at given u. The mean of g over that spread is `_smoothed`. A σ that bends near the origin only, as
    all but sin and cos do, is right at any std; one that oscillates, up to a std of about 5.
    """
    smooth, inner = _smoothed(second)
    bends, other_bends = (() if _lines(sigma) else _BENDS for sigma in (first, second))
    blurred = {*second.kinks, 0.0} if other_bends else second.kinks
    pieces = _GRID.size + len(first.kinks) + len(bends) + len(other_bends) + len(_BLUR) * len(blurred)
    step = max(1, _CHUNK // (pieces * _ORDER * inner))
    result = np.empty(rho.size)

    def fill(start: int) -> None:
        m, s, centre, spread, r = (
            a[start : start + step, None] for a in (mean, std, other_mean, other_std, rho)
        )
        rest = spread * np.sqrt((1 - r) * (1 + r))
        marks = [(b - m) / s for b in (*first.kinks, *bends)]
        marks += [(b - centre) / (spread * r) for b in other_bends]
        marks += [(kink + b * rest - centre) / (spread * r) for kink in blurred for b in _BLUR]
        z, w = _cut(marks)
        values = smooth(centre + spread * r * z, rest)
        result[start : start + step] = np.einsum("in,in,in->i", w, first(m + s * z), values)

    with Workers() as workers:
        workers.map(fill, range(0, rho.size, step))
    return result


def _cut(marks: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights, shape S + (nodes,), of a normal whose range is cut at marks of shape S + (1,)."""
    shape = np.broadcast_shapes(*(mark.shape for mark in marks))[:-1]
    cuts = [np.broadcast_to(mark, (*shape, mark.shape[-1])) for mark in (*marks, _GRID)]
    return panels(np.sort(np.clip(np.concatenate(cuts, axis=-1), _GRID[0], _GRID[-1]), axis=-1), _ORDER)


def _smoothed(sigma: Activation) -> tuple[Callable[[np.ndarray, np.ndarray], np.ndarray], int]:
    """Return (M, s) -> E σ(M + s z), s being a column or 0, and how many nodes it takes for each M."""
    lines = _lines(sigma)
    if lines is None:

        def quadrature(centre: np.ndarray, spread: np.ndarray) -> np.ndarray:
            centre, wide = centre[..., None], np.maximum(spread, _TINY)[..., None]
            z, w = _cut([(b - centre) / wide for b in (*sigma.kinks, *_BENDS)])
            return np.einsum("inm,inm->in", w, sigma(centre + spread[..., None] * z))

        return quadrature, (_GRID.size + len(_BENDS) + len(sigma.kinks)) * _ORDER
    (slope, *bends), (height, *jumps) = lines

    def closed(centre: np.ndarray, spread: np.ndarray) -> np.ndarray:
        total = height + slope * centre
        for kink, bend, jump in zip(sorted(sigma.kinks), bends, jumps, strict=True):
            x = np.clip((centre - kink) / np.maximum(spread, _TINY), -40, 40)
            total += (jump + bend * (centre - kink)) * ndtr(x)
            total += bend * spread / np.sqrt(2 * np.pi) * np.exp(-0.5 * x * x)
        return total

    return closed, 1


def _lines(sigma: Activation) -> tuple[np.ndarray, np.ndarray] | None:
    """Slope and height of σ left of all kinks, then its bends and jumps at them; None if it curves."""
    if not sigma.kinks:
        return None
    kinks = np.sort(np.asarray(sigma.kinks, float))
    edges = np.concatenate([[kinks[0] - 40], kinks, [kinks[-1] + 40]])
    x = edges[:-1, None] + np.diff(edges)[:, None] * np.linspace(0.001, 0.999, 500)  # bends may be narrow
    y = sigma(x)
    slopes = (y[:, -1] - y[:, 0]) / (x[:, -1] - x[:, 0])
    heights = y[:, 0] - slopes * x[:, 0]
    if np.abs(heights[:, None] + slopes[:, None] * x - y).max() > 1e-13 * np.abs(y).max():
        return None
    bends, jumps = np.diff(slopes), np.diff(heights) + np.diff(slopes) * kinks
    return np.concatenate([slopes[:1], bends]), np.concatenate([heights[:1], jumps])


class Tabulated:
    """E[σ(M + s z) He_j(z)] for j = 0, 1, 2 and E σ(M + s z)², looked up in (M, s) by bicubic splines.

    Parameters
    ----------
    activation : Activation
        σ.
    mean_range, std_range : tuple of float
        Smallest and largest M and s that will be asked for; s must be positive.

    Attributes
    ----------
    error : float
        Largest error between the nodes, relative to the largest root mean square of σ at the same s.

    Examples
    --------
    >>> from firstlight.maths.activations import activation
    >>> table = Tabulated(activation("relu"), (-2.0, 2.0), (0.9, 1.1))
    >>> mean, slope, bend, square = table(np.array([0.0]), np.array([1.0]))
    >>> bool(abs(mean[0] * np.sqrt(2 * np.pi) - 1) < 1e-5), bool(abs(slope[0] - 0.5) < 1e-5)
    (True, True)
    """

    def __init__(
        self, activation: Activation, mean_range: tuple[float, float], std_range: tuple[float, float]
    ) -> None:
        from firstlight.maths.bicubic import Bicubic  # numba takes long to import

        low, high = std_range
        if not 0 < low <= high:
            raise ValueError(f"std_range = {std_range}: must be positive and in order")
        # over a narrow range plain coordinates, in which cubic splines are exact for a linear σ
        self._unit, self._plain = low, np.ptp(mean_range) < 40 * low and high < 4 * low
        ends = np.array(self._coordinates(np.array(mean_range), np.array([0.999 * low, 1.001 * high])))
        rng = np.random.default_rng(0)
        between = rng.uniform(ends[:, 0], ends[:, 1], (512, 2))  # half of them anywhere, half where σ bends
        std = self._place(*between[:256].T)[1]
        near = self._coordinates(3 * std * rng.standard_normal(256), std)[0]
        between[:256, 0] = np.clip(near, *ends[0])
        exact = self._exact(activation, *between.T)
        # σ blurred by s bends over a length of order s, and far out over one of order M or s
        coarse = max(0.1, float(np.sqrt(np.ptp(ends, axis=1).prod() / _ENTRIES)))
        for halved in range(6):
            if halved > 2 and self.usable:
                break
            step = coarse / 2**halved
            counts = [
                max(least, int(np.ceil(np.ptp(end) / step))) for end, least in zip(ends, (16, 6), strict=True)
            ]
            if np.prod(counts) > _ENTRIES and step < coarse:
                break
            self._spline = Bicubic(ends, counts)
            means, stds = self._spline.nodes
            table = self._exact(activation, *np.meshgrid(means, stds, indexing="ij"))
            if not np.abs(table).max() < _HUGE:
                raise ValueError(f"activation: moments of {activation.name} are not finite over {mean_range}")
            self._spline.fit(table)
            size = np.sqrt(np.interp(between[:, 1], stds, table[..., -1].max(axis=0)))[:, None]
            gap = np.abs(self._spline(*between.T).T - exact) / np.maximum(size, _TINY) ** [1, 1, 1, 2]
            self.error = float(gap.max())
            if self.error < _TABLE:
                break

    @property
    def usable(self) -> bool:
        """Whether its error is small enough for numbers that need no word about it."""
        return self.error < _USABLE

    def _coordinates(self, mean: np.ndarray, std: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return where M and s stand in the table."""
        mean, std = mean / self._unit, std / self._unit
        return (mean, std) if self._plain else (np.arcsinh(mean), np.log(std))

    def _place(self, mean: np.ndarray, std: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the M and s of coordinates."""
        mean, std = (mean, std) if self._plain else (np.sinh(mean), np.exp(std))
        return self._unit * mean, self._unit * std

    def _exact(self, activation: Activation, means: np.ndarray, stds: np.ndarray) -> np.ndarray:
        """Integrate the four expectations at the table's coordinates."""
        return activation.moments_and_square(*self._place(means, stds), 2)

    def __call__(self, mean: np.ndarray, std: np.ndarray) -> tuple[np.ndarray, ...]:
        """Return the four expectations at arrays M and s that broadcast."""
        return tuple(self._spline(*self._coordinates(mean, std)))
