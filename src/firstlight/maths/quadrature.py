"""Split quadrature: expectations under normal laws in one, two and three dimensions.

Plain Gauss-Hermite is wrong by percents on a function with a kink. Here every range is cut at the kinks, and
at a few marks around the origin where activations bend, and each piece gets a Gauss-Legendre rule of its own;
on the pieces the integrand is smooth, so the error is at the level of rounding. For many dimensions there are
quasi-random nodes (`sobol`).
"""

import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache

import numpy as np

Function = Callable[..., np.ndarray]
Kinks = Sequence[float]

REACH = 10.0  # the normal mass beyond is 1.5e-23: nothing of polynomial growth is left there
_SPACING = 2.5  # widest piece, in standard deviations
_BENDS = (-30.0, -12.0, -5.0, -2.0, 0.0, 2.0, 5.0, 12.0, 30.0)  # where an activation may bend
_BLUR = (-8.0, -4.0, -2.0, 0.0, 2.0, 4.0, 8.0)  # pieces around a kink that a later integration has blurred
_ORDER = {1: 20, 2: 16, 3: 10}  # Gauss-Legendre points per piece, by dimension
CHUNK = 1 << 21  # nodes held at once
_LAWS = 1 << 12  # laws on a line whose ranges are cut at once


class QuadratureWarning(UserWarning):
    """Two rules of different order disagree: the integrand has an unnamed kink, or grows too fast."""


@lru_cache
def legendre(order: int) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights of Gauss and Legendre on [-1, 1]."""
    return np.polynomial.legendre.leggauss(order)


def gauss_hermite(order: int) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights of the standard normal by one rule of Gauss and Hermite, for smooth functions.

    Examples
    --------
    >>> z, w = gauss_hermite(20)
    >>> float(w @ z**4)
    3.000
    """
    z, w = np.polynomial.hermite_e.hermegauss(order)
    return z, w / w.sum()


def panels(edges: np.ndarray, order: int) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights of the standard normal: Gauss-Legendre of some order between each edge and the next.

    Parameters
    ----------
    edges : ndarray, shape (..., p)
        Increasing along the last axis.
    order : int
        Nodes of each of the p - 1 pieces.

    Returns
    -------
    z, w : ndarray, shape (..., (p - 1) * order)

    Examples
    --------
    >>> z, w = panels(np.array([-9.0, -3.0, 0.0, 3.0, 9.0]), 20)
    >>> float(w.sum()), float(w @ z**2)
    (1.000, 1.000)
    """
    halves = 0.5 * np.diff(edges, axis=-1)
    middles = 0.5 * (edges[..., 1:] + edges[..., :-1])
    nodes, weights = legendre(order)
    flat = (*edges.shape[:-1], (edges.shape[-1] - 1) * order)
    # products of matrices: NumPy's own loops over the few nodes of a piece take several times as long
    pieces = np.stack([middles.ravel(), halves.ravel()], axis=-1)
    z = (pieces @ [np.ones(order), nodes]).reshape(flat)
    density = z * z
    density *= -0.5
    np.exp(density, out=density)
    density *= (pieces @ [np.zeros(order), weights / np.sqrt(2 * np.pi)]).reshape(flat)
    return z, density


@lru_cache
def _grid(reach: float) -> np.ndarray:
    return np.linspace(-reach, reach, int(np.ceil(2 * reach / _SPACING)) + 1)


def _pieces(marks: Sequence[np.ndarray], shape: tuple[int, ...], reach: float, order: int) -> tuple:
    """Nodes and weights (standard normal, shape + (pieces * order,)) with the range cut at the marks."""
    marks = [mark for mark in marks if (np.abs(mark) < reach).any()]  # beyond, pieces would be empty
    grid = _grid(reach)
    cuts = np.empty((*shape, grid.size + len(marks)))
    cuts[..., : grid.size] = grid
    for place, mark in enumerate(marks, grid.size):
        cuts[..., place] = mark
    return panels(_in_order(cuts, reach), order)


def _in_order(cuts: np.ndarray, reach: float) -> np.ndarray:
    """Sort the cuts of each range, in place; those beyond its ends, or nowhere, are at an end."""
    cuts[~np.isfinite(cuts)] = reach
    np.clip(cuts, -reach, reach, out=cuts)
    cuts.sort(axis=-1)
    return cuts


def _product_rule(
    mean: np.ndarray, factor: np.ndarray, kinks: Sequence[Kinks], order: int, reach: float = REACH
) -> tuple[list[np.ndarray], np.ndarray]:
    """Nodes of an iterated rule for x = mean + factor z, vectorised over leading axes.

    One coordinate after the other: the range of z_i is cut at the kinks of x_i, exactly, and at those of each
    later x_j, around which x_j's remaining spread has blurred the kink. Returns z (a list over coordinates)
    and the weights.
    """
    batch, dim = factor.shape[:-2], factor.shape[-1]
    z: list[np.ndarray] = []
    weight = np.ones(batch)
    for i in range(dim):

        def grown(a: np.ndarray, i: int = i) -> np.ndarray:
            return a.reshape(batch + (1,) * i)

        marks = []
        for j in range(i, dim):
            centre = sum((grown(factor[..., j, n]) * z[n] for n in range(i)), start=grown(mean[..., j]))
            slope = grown(factor[..., j, i])
            spread = grown(np.sqrt((factor[..., j, i + 1 : j + 1] ** 2).sum(axis=-1)))
            with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
                marks += [(bend - centre) / slope for bend in _BENDS]
                at, blur = (kinks[j], (0.0,)) if i == j else ({0.0, *kinks[j]}, _BLUR)  # bends blur at 0
                marks += [(kink + b * spread - centre) / slope for kink in at for b in blur]
        shape = np.broadcast_shapes(*(m.shape for m in marks), *((z[-1].shape,) if z else (batch,)))
        nodes, weights = _pieces(marks, shape, reach, order)
        z = [a[..., None] for a in z] + [nodes]
        weight = weight[..., None] * weights
    return z, weight


def _arguments(mean: np.ndarray, factor: np.ndarray, z: list[np.ndarray]) -> list[np.ndarray]:
    """Return the coordinates of x = mean + factor z at the nodes."""
    inner = (1,) * len(z)
    return [
        sum(
            (factor[..., j, n].reshape(factor.shape[:-2] + inner) * z[n] for n in range(j + 1)),
            start=mean[..., j].reshape(mean.shape[:-1] + inner),
        )
        for j in range(len(z))
    ]


def rule(
    mean: np.ndarray | float = 0.0,
    std: np.ndarray | float = 1.0,
    kinks: Kinks = (),
    *,
    reach: float = REACH,
    order: int = _ORDER[1],
) -> tuple[np.ndarray, np.ndarray]:
    """Return nodes z and weights w with ``E[f(mean + std z)] = sum w f(mean + std z)``, f having these kinks.

    Parameters
    ----------
    mean, std : float or array_like, broadcast to a common shape S
        Mean and standard deviation (at least 0) of the argument of f.
    kinks : sequence of float
        Arguments of f at which f, or a derivative, jumps.
    reach : float, default 10
        Half width of the range, in standard deviations.
    order : int, default 20
        Nodes of each piece.

    Returns
    -------
    z, w : ndarray, shape S + (nodes,)
        Standard normal nodes and their weights, which sum to one.

    Examples
    --------
    >>> z, w = rule(kinks=[0.0])
    >>> float(abs((w * np.maximum(z, 0)).sum() * np.sqrt(2 * np.pi) - 1)) < 1e-14
    True
    """
    mean, std = np.broadcast_arrays(np.asarray(mean, float), np.asarray(std, float))
    _check_law(mean, std)
    z, w = _product_rule(mean[..., None], std[..., None, None], [kinks], order, reach)
    return z[0], w


def rules_in_parts(
    mean: np.ndarray, std: np.ndarray, kinks: Kinks, *, reach: float, nodes: int
) -> Iterator[tuple[slice, np.ndarray, np.ndarray]]:
    """Yield what `rule` returns for many laws, a few laws at a time: which ones, their z and their w.

    Parameters
    ----------
    mean, std : ndarray, shape (n,)
        The laws.
    kinks, reach
        As of `rule`.
    nodes : int
        About how many nodes there are at a time, over all laws of a part.

    Examples
    --------
    >>> parts = rules_in_parts(np.zeros(5), np.ones(5), [], reach=10.0, nodes=1000)
    >>> [(part.start, z.shape, float(w.sum())) for part, z, w in parts]
    [(0, (2, 200), 2.000), (2, (2, 200), 2.000), (4, (1, 200), 1.000)]
    """
    _check_law(mean, std)
    grid, marks = _grid(reach), np.array([*_BENDS, *kinks])
    for start in range(0, mean.size, _LAWS):  # cut together, which takes few calls
        laws = slice(start, min(start + _LAWS, mean.size))
        cuts = np.empty((laws.stop - start, grid.size + marks.size))
        cuts[:, : grid.size] = grid
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            cuts[:, grid.size :] = (marks - mean[laws, None]) / std[laws, None]
        cuts = _in_order(cuts, reach)
        step = max(1, nodes // (_ORDER[1] * (cuts.shape[1] - 1)))
        for first in range(0, len(cuts), step):
            some = cuts[first : first + step]
            needed = np.append((some[:, 1:] > some[:, :-1]).any(axis=0), True)  # no piece is empty for all
            part = slice(start + first, start + first + len(some))
            yield part, *panels(some[:, needed], _ORDER[1])


def expectation(
    function: Function,
    *,
    dim: int = 1,
    mean: np.ndarray | float = 0.0,
    std: np.ndarray | float = 1.0,
    covariance: np.ndarray | None = None,
    kinks: Sequence = (),
) -> np.ndarray:
    """Compute E[f(x)] for a normal x in one, two or three dimensions.

    Parameters
    ----------
    function : callable
        ``f(x1)``, ``f(x1, x2)`` or ``f(x1, x2, x3)``, vectorised.
    dim : {1, 2, 3}
        Number of coordinates.
    mean, std : float or array_like
        For ``dim=1`` arrays of any common shape S. For ``dim > 1`` a number or one value per coordinate.
    covariance : array_like, shape (dim, dim), optional
        Instead of `std`, for correlated coordinates; may be singular.
    kinks : sequence of float, or one sequence per coordinate
        Values of a coordinate at which f is not smooth. A flat sequence holds for every coordinate.

    Returns
    -------
    ndarray, shape S for ``dim=1``, else ()

    Warns
    -----
    QuadratureWarning
        When a second rule of lower order disagrees by more than 1e-8 of E|f|: a kink was not named.

    Examples
    --------
    >>> relu = lambda x: np.maximum(x, 0)
    >>> float(expectation(relu, kinks=[0]) * np.sqrt(2 * np.pi))
    1.0000
    >>> float(expectation(lambda x, y: x * y, dim=2, covariance=[[1, 0.3], [0.3, 1]]))
    0.3000
    """
    if dim not in _ORDER:
        raise ValueError(f"dim = {dim}: must be 1, 2 or 3")
    by_coordinate = _kinks_by_coordinate(kinks, dim)
    if dim == 1 and covariance is None:
        centre, spread = np.broadcast_arrays(np.asarray(mean, float), np.asarray(std, float))
        _check_law(centre, spread)
        mean_vector, factor = centre[..., None], spread[..., None, None]
    else:
        mean_vector = np.broadcast_to(np.asarray(mean, float), (dim,))
        spread = np.broadcast_to(np.asarray(std, float), (dim,))
        _check_law(mean_vector, spread)
        factor = np.diag(spread) if covariance is None else _factor(np.asarray(covariance, float), dim)

    def total(order: int) -> tuple[np.ndarray, np.ndarray]:
        z, w = _product_rule(mean_vector, factor, by_coordinate, order)
        terms = w * np.asarray(function(*_arguments(mean_vector, factor, z)), float)
        axes = tuple(range(-dim, 0))
        return terms.sum(axis=axes), np.abs(terms).sum(axis=axes)

    value, size = total(_ORDER[dim])
    check, _ = total(_ORDER[dim] - 3)
    gap = float(np.max(np.abs(value - check) / np.where(size > 0, size, 1.0), initial=0.0))
    if not gap <= 1e-8:
        warnings.warn(
            f"E[f] is uncertain by {gap:.1g} of E|f|: name the kinks of f (kinks = {list(kinks)})",
            QuadratureWarning, stacklevel=2,
        )  # fmt: skip
    return value


def pair_expectation(
    first: Function,
    second: Function,
    variance: np.ndarray,
    other_variance: np.ndarray,
    covariance: np.ndarray,
    *,
    kinks: Kinks = (),
    other_kinks: Kinks = (),
) -> np.ndarray:
    """Compute E[f(u) g(v)] for centred normals u, v, element by element over broadcast arrays.

    Parameters
    ----------
    first, second : callable
        f and g, vectorised.
    variance, other_variance, covariance : array_like, broadcast to a common shape S
        Var u, Var v and Cov(u, v), with ``covariance**2 <= variance * other_variance``.
    kinks, other_kinks : sequence of float
        Where f and g are not smooth.

    Returns
    -------
    ndarray, shape S
        Iterated split quadrature, about 1e-13 relative to the root of E f^2 E g^2 for any correlation.

    Examples
    --------
    >>> relu = lambda x: np.maximum(x, 0)
    >>> value = pair_expectation(relu, relu, 1.0, 1.0, 0.0, kinks=[0], other_kinks=[0])
    >>> float(value * 2 * np.pi)
    1.0000
    """
    q, p, c = np.broadcast_arrays(*(np.asarray(a, float) for a in (variance, other_variance, covariance)))
    q, p, c, shape = q.ravel(), p.ravel(), c.ravel(), q.shape
    lean = np.divide(c, np.sqrt(q), out=np.zeros_like(c), where=q > 0)
    factor = np.zeros((q.size, 2, 2))
    factor[:, 0, 0], factor[:, 1, 0] = np.sqrt(q), lean
    factor[:, 1, 1] = np.sqrt(np.maximum(p - lean**2, 0))
    factor[np.abs(factor[:, 1, 1]) <= 1e-8 * np.sqrt(p), 1, 1] = 0  # rounding of a full correlation
    result = np.empty(q.size)
    pieces = 8 + len(_BENDS)
    size = (
        (pieces + len(_BENDS) + len(kinks) + 7 * len(other_kinks)) * (pieces + len(other_kinks))
    ) * _ORDER[2] ** 2
    step = max(1, CHUNK // size)
    for start in range(0, q.size, step):
        part = factor[start : start + step]
        mean = np.zeros((len(part), 2))
        z, w = _product_rule(mean, part, [kinks, other_kinks], _ORDER[2])
        u, v = _arguments(mean, part, z)
        result[start : start + step] = np.einsum("inm,inm->i", w, first(u) * second(v))
    return result.reshape(shape)


def _kinks_by_coordinate(kinks: Sequence, dim: int) -> list[tuple[float, ...]]:
    nested = [not np.isscalar(k) for k in kinks]
    if any(nested):
        if not all(nested) or len(kinks) != dim:
            raise ValueError(
                f"kinks = {kinks}: give one flat sequence, or one sequence per coordinate ({dim})"
            )
        per_coordinate = [tuple(float(k) for k in coordinate) for coordinate in kinks]
    else:
        per_coordinate = [tuple(float(k) for k in kinks)] * dim
    if not all(np.isfinite(k) for coordinate in per_coordinate for k in coordinate):
        raise ValueError(f"kinks = {kinks}: must be finite numbers")
    return per_coordinate


def _check_law(mean: np.ndarray, std: np.ndarray) -> None:
    if not np.isfinite(mean).all():
        raise ValueError("mean: must be finite")
    if not (np.isfinite(std).all() and (std >= 0).all()):
        raise ValueError("std: must be finite and at least 0")


def _factor(covariance: np.ndarray, dim: int) -> np.ndarray:
    """Lower triangular L with L L^T = covariance, for covariances that may be singular."""
    if covariance.shape != (dim, dim) or not np.allclose(covariance, covariance.T):
        raise ValueError(f"covariance: must be a symmetric {dim} x {dim} matrix")
    size = float(np.max(np.diag(covariance), initial=0.0))
    if not np.isfinite(covariance).all() or np.linalg.eigvalsh(covariance)[0] < -1e-10 * max(size, 1e-300):
        raise ValueError("covariance: must be positive semi-definite")
    lower = np.zeros((dim, dim))
    for j in range(dim):
        pivot = covariance[j, j] - lower[j, :j] @ lower[j, :j]
        if pivot > 1e-14 * size:
            lower[j, j] = np.sqrt(pivot)
            lower[j + 1 :, j] = (covariance[j + 1 :, j] - lower[j + 1 :, :j] @ lower[j, :j]) / lower[j, j]
    return lower
