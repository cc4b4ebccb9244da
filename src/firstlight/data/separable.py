"""Points in two classes with a given orthogonal separability.

The separability of labelled points (x_i, y_i) is the least cosine μ between any two of the y_i x_i. It is
positive when two points of one class always make an acute angle and two of different classes an obtuse one,
which is what the theory of early alignment assumes.

References
----------
min2024early
"""

import numpy as np
from numpy.typing import ArrayLike

from firstlight.data.labelled import labelled
from firstlight.maths.checks import (
    check_count,
    check_memory,
    check_number,
    check_numbers,
    check_reals,
    check_rows,
    check_signs,
)
from firstlight.maths.refusals import refusal
from firstlight.maths.rng import RNGLike, SeedLike, generator
from firstlight.maths.solvers import bracketing_root

references = ("min2024early",)

_BLOCK = 2048  # rows per block: 12 665 images need 0.2 GB instead of 1.3


def two_classes(X: ArrayLike, y: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """Return points as C-ordered floats (n × d) and labels ±1 (n), or say what is wrong with them.

    Parameters
    ----------
    X : array_like of shape (n, d)
        Points, finite and none of them zero, the longest at most 1e12 times as long as the shortest.
    y : array_like of shape (n,)
        Labels, -1 or +1.

    Returns
    -------
    X : ndarray of shape (n, d)
    y : ndarray of shape (n,)

    Examples
    --------
    >>> two_classes([[1, 0], [0, 2]], [1, 0])
    Traceback (most recent call last):
    ValueError: y[1] = 0: a label must be +1 or -1
    """
    points = np.ascontiguousarray(check_reals("X", X, "(samples, dimension)"))
    if points.ndim != 2 or 0 in points.shape:
        raise ValueError(f"X: shape {points.shape}, must be (samples, dimension) with at least one of each")
    labels = check_signs("y", y, len(points), "label", "row of X")
    check_rows("X", points, "a data point must not be zero, it has no direction")
    sizes = np.abs(points).max(axis=1)
    if not (sizes.min() > 1e-100 and sizes.max() < 1e100 and sizes.max() < 1e12 * sizes.min()):
        raise ValueError(
            f"X: entries of size {sizes.min():.3g} to {sizes.max():.3g}, must lie within 1e-100 to 1e100 "
            "and rows within a factor of 1e12 of each other; rescale the data"
        )
    return points, labels


def own_points(X: ArrayLike, y: ArrayLike, centre: bool = True) -> tuple[np.ndarray, np.ndarray]:
    """Return rows of two classes at root mean square length one, and labels ±1; the second class is +1.

    Rows that are zero, or become so when the mean is subtracted, have no direction and are left out.

    Examples
    --------
    >>> X, y = own_points([[3.0, 0.0], [1.0, 0.0]], ["a", "b"])
    >>> X.tolist(), y.tolist()
    ([[1.0, 0.0], [-1.0, 0.0]], [-1.0, 1.0])
    """
    data = labelled(X, y, least=2, names=("X", "y"))
    if len(data.classes) != 2:
        raise ValueError(f"y: {len(data.classes)} classes; must be two")
    rows = data.features.astype(float)
    rows = rows - rows.mean(axis=0) if centre else rows
    length = np.linalg.norm(rows, axis=1)
    size = float(np.sqrt(np.mean(length**2)))
    kept = length > 1e-9 * size
    if size == 0 or len(np.unique(data.index[kept])) < 2:
        raise ValueError("X: rows of both classes must differ from the mean row, or have no direction")
    return rows[kept] / size, np.where(data.index[kept] == 1, 1.0, -1.0)


def separability(X: ArrayLike, y: ArrayLike) -> float:
    """Measure the orthogonal separability μ = min over i, k of cos(y_i x_i, y_k x_k).

    Data with μ > 0 are orthogonally separable: points of one class lie within 90° of each other, points of
    different classes beyond 90°.

    Parameters
    ----------
    X : array_like of shape (n, d)
        Points, none of them zero.
    y : array_like of shape (n,)
        Labels, -1 or +1.

    Returns
    -------
    float
        In [-1, 1]; 1 for a single point, -1 for a point that carries both labels.

    Examples
    --------
    >>> separability([[1.0, 0.0], [-1.0, -1.0]], [1, -1])  # 45 degrees apart once the label is taken in
    0.7071067811865475
    """
    points, labels = two_classes(X, y)
    signed = points * (labels / np.linalg.norm(points, axis=1))[:, None]
    blocks = range(0, len(signed), _BLOCK)
    least = min(float((signed[i : i + _BLOCK] @ signed[i:].T).min()) for i in blocks)
    return float(np.clip(least, -1, 1))


def separable(
    samples: int,
    dimension: int,
    mu: float,
    rng: RNGLike | SeedLike = None,
    *,
    balance: float = 0.5,
    norms: tuple[float, float] = (1.0, 1.0),
) -> tuple[np.ndarray, np.ndarray]:
    """Draw points whose orthogonal separability is `mu`, to rounding.

    The y_i x_i point along ``axis + s b_i``, with a random axis and b_i uniform in the unit ball orthogonal
    to it; the opening s is such that the two that are farthest apart have cosine `mu`.

    Parameters
    ----------
    samples : int
        Number of points, at least 2.
    dimension : int
        Dimension, at least 2.
    mu : float
        Separability μ, in (0, 1).
    rng : SPEC 7 rng, optional
        Seed or generator.
    balance : float, default 0.5
        Fraction of positive points, in [0, 1]; the nearest whole number is taken, and the order is random.
    norms : (float, float), default (1.0, 1.0)
        The points' lengths are uniform between these two, ``0 < low <= high``.

    Returns
    -------
    X : ndarray of shape (n, d)
        The points.
    y : ndarray of shape (n,)
        Labels, -1.0 or 1.0.

    Examples
    --------
    >>> X, y = separable(20, 5, mu=0.3, rng=0)
    >>> separability(X, y), int((y > 0).sum())
    (0.3000, 10)
    """
    n, d = check_count("samples", samples, 2), check_count("dimension", dimension, 2)
    check_memory(f"samples = {n}, dimension = {d}", 24.0 * n * (n + d), "samples × (samples + dimension)")
    mu, balance = check_number("mu", mu, above=0, below=1), check_number("balance", balance, 0, 1)
    lengths = check_numbers("norms", norms, above=0)
    if len(lengths) != 2 or lengths[0] > lengths[1]:
        raise refusal("norms", norms, "be two numbers, the second not the smaller one")
    rng = generator(rng)
    axis = _unit(rng.standard_normal(d))
    ball = _ball(n, axis, rng)
    gram = ball @ ball.T

    def excess(angle: float) -> float:
        inner = np.cos(angle) ** 2 + np.sin(angle) ** 2 * gram
        size = np.sqrt(np.diag(inner))
        return float((inner / np.outer(size, size)).min()) - mu

    # The least cosine falls from 1 at angle 0 to at most 0 at π/2, where only the b_i are left.
    angle = bracketing_root(excess, 0.0, np.pi / 2, tolerance=1e-15).require()
    signed = _unit(np.cos(angle) * axis + np.sin(angle) * ball)
    y = np.where(rng.permutation(n) < round(balance * n), 1.0, -1.0)
    return signed * (y * rng.uniform(*lengths, size=n))[:, None], y


def _unit(v: np.ndarray) -> np.ndarray:
    return v / np.linalg.norm(v, axis=-1, keepdims=True)


def _ball(n: int, axis: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return points uniform in the unit ball orthogonal to the axis, two at least a right angle apart."""
    v = rng.standard_normal((n, len(axis)))
    for _ in range(2):  # twice, for rounding: a v nearly along the axis loses digits
        v = _unit(v - np.outer(v @ axis, axis))
    if (v @ v.T).min() > 0:
        v[-1] = -v[0]
    return v * rng.uniform(size=(n, 1)) ** (1 / (len(axis) - 1))


def two_points(separation: float) -> tuple[np.ndarray, np.ndarray]:
    """Return two positive points in the plane, almost a right angle apart: e1 and (sin δ, cos δ).

    Their separability is sin δ. For a neuron at angle -a, with δ < a < π/2, the time to reach both points is
    exactly log(tan(a/2) / tan(δ/2)), which grows without bound as δ falls.

    Parameters
    ----------
    separation : float
        δ in radians, in [0, π/2].

    Returns
    -------
    X : ndarray of shape (2, 2)
    y : ndarray of shape (2,)

    Examples
    --------
    >>> X, y = two_points(0.1)
    >>> bool(np.isclose(separability(X, y), np.sin(0.1)))
    True
    """
    delta = check_number("separation", separation, 0, np.pi / 2)
    return np.array([[1.0, 0.0], [np.sin(delta), np.cos(delta)]]), np.ones(2)


def toy() -> tuple[np.ndarray, np.ndarray]:
    """Return points evenly spaced on two arcs of the unit circle: 15 positive ones, then 10 negative ones.

    They stand in for the toy data of the source, which are not published: the arcs are read off its figure
    by eye.

    Returns
    -------
    X : ndarray of shape (25, 2)
    y : ndarray of shape (25,)

    Examples
    --------
    >>> X, y = toy()
    >>> X.shape, bool(np.isclose(separability(X, y), np.cos(np.radians(62))))
    ((25, 2), True)
    """
    theta = np.radians(np.concatenate([np.linspace(-15, 15, 15), np.linspace(133, 158, 10)]))
    return np.column_stack([np.cos(theta), np.sin(theta)]), np.repeat([1.0, -1.0], [15, 10])
