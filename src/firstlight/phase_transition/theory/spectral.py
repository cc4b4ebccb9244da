"""Spectral methods: when the top eigenvector of (1/n) Σ T(y_i) x_i x_iᵀ sees a hidden direction."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from firstlight.data.multi_index import MultiIndex
from firstlight.maths.rng import RNGLike, SeedLike
from firstlight.maths.solvers import Solved, bracketing_root
from firstlight.phase_transition.theory.conditional import (
    Moments,
    as_target,
    conditional_moments,
    far_labels,
)

_ATOMS = 64  # a law of fewer labels has no slices

Preprocessing = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True)
class SpectralThreshold(Solved[float]):
    """A `Solved` threshold: `value` is the critical number of samples per dimension, `residual` its error.

    Attributes
    ----------
    pinned : bool
        Whether the bulk's edge sits at the supremum of T at the threshold, instead of being a fold.
    """

    pinned: bool


def spectral_threshold(
    target: MultiIndex | str, preprocessing: Preprocessing, rng: RNGLike | SeedLike = 0
) -> SpectralThreshold:
    """Compute where the spectral method with T = `preprocessing` begins to see a hidden direction.

    Parameters
    ----------
    target : MultiIndex or str
        The law of the label.
    preprocessing : callable
        T, vectorised over labels; bounded above and positive somewhere. Adding a constant changes it.
    rng : SPEC 7 rng, default 0
        For targets of several coordinates.

    Returns
    -------
    SpectralThreshold
        At least delta_alg, with equality for `optimal_preprocessing`. Infinity if nothing is ever seen.

    Examples
    --------
    >>> threshold = spectral_threshold("z1**2", lambda y: (y - 1) / (y + np.sqrt(2) - 1))
    >>> print(threshold.value, threshold.pinned)
    0.707 True
    """
    target = as_target(target)
    none, unit = np.zeros((target.directions, 0)), np.eye(target.directions)
    finest = 4 if target.directions == 1 and not target.noise else 0  # noise blurs slices, in quadratic time
    laws = [conditional_moments(target, none, unit, rng, fineness=finest - i) for i in range(3)]
    # where T jumps within a slice the label that stands for it decides: other labels show how much
    laws += [_aside(laws[0], way) for way in (-1, 1)]
    fine, *others = (_threshold(target, preprocessing, law) for law in laws)
    if np.isinf(fine.value):
        return fine
    error = max(abs(fine.value - other.value) for other in others)
    return replace(fine, residual=error, converged=fine.converged and error < 0.02 * fine.value)


def _threshold(target: MultiIndex, preprocessing: Preprocessing, law: Moments) -> SpectralThreshold:
    second = law.second.mean(axis=0)
    T, tau = processed(preprocessing, target, law)

    def bulk(edge: float) -> float:
        return float(law.weight @ (T / (edge - T)) ** 2)

    def signal(edge: float) -> float:
        weights = law.weight * T / (edge - T)
        return float(np.linalg.eigvalsh(np.einsum("n,nab->ab", weights, second))[-1])

    start = tau * (1 + 1e-9) + 1e-300
    inside = start - 1e-6 * tau > T  # an atom, or a node, at the supremum makes the edge a fold
    if inside.all() and signal(start) > bulk(start):
        return SpectralThreshold(1 / signal(start), 0.0, T.size, True, True)
    grid = tau + tau * np.geomspace(1e-6, 1e6, 400)
    gap = np.array([signal(edge) - bulk(edge) for edge in grid])
    if not (gap > 0).any():
        return SpectralThreshold(np.inf, np.inf, T.size, True, False)
    first = int(np.argmax(gap > 0))
    if first == 0:  # the edge is not resolved by the nodes nearest to the supremum
        return SpectralThreshold(1 / signal(grid[0]), np.inf, T.size, False, True)
    root = bracketing_root(lambda edge: signal(edge) - bulk(edge), grid[first - 1], grid[first])
    return SpectralThreshold(1 / bulk(root.value), root.residual, root.iterations, root.converged, False)


def _aside(law: Moments, way: int) -> Moments:
    """Return the law with labels moved half-way to the next slice; atoms, far from others, hardly move."""
    order = np.argsort(law.y)
    gap = np.abs(np.diff(law.y[order], append=law.y[order[-1]]))
    gap = gap if way > 0 else np.roll(gap, 1)
    y = law.y.copy()
    y[order] += 0.5 * way * np.minimum(gap, np.median(gap) if gap.size > _ATOMS else 0.0)
    return replace(law, y=y)


def optimal_preprocessing(target: MultiIndex | str) -> Preprocessing:
    """Return T* = 1 - 1/E[g² | y], whose threshold is delta_alg; for targets of one hidden coordinate.

    Parameters
    ----------
    target : MultiIndex or str
        With k = 1.

    Returns
    -------
    callable
        Vectorised over labels; a label gets the value of the nearest of some ten thousand slices.

    Examples
    --------
    >>> best = optimal_preprocessing("z1**2")
    >>> print(best(np.array([4.0])))
    [0.75]
    """
    target = of_one_coordinate(target)
    law = conditional_moments(target, np.zeros((1, 0)), np.eye(1), 0, fineness=1 if target.noise else 4)
    order = np.argsort(law.y)
    y, excess = law.y[order], law.second[0, order, 0, 0]
    best = excess / np.maximum(1 + excess, 1e-12)
    between = 0.5 * (y[1:] + y[:-1])

    def preprocessing(labels: np.ndarray) -> np.ndarray:
        return best[np.searchsorted(between, np.asarray(labels, float))]

    return preprocessing


def of_one_coordinate(target: MultiIndex | str) -> MultiIndex:
    """Return the target law behind a text, which must have one hidden coordinate."""
    target = as_target(target)
    if target.directions != 1:
        raise ValueError(
            f"target = {target.expression}: has k = {target.directions} hidden coordinates, needs k = 1"
        )
    return target


def processed(preprocessing: Preprocessing, target: MultiIndex, law: Moments) -> tuple[np.ndarray, float]:
    """Return T at the labels of the slices, and its supremum, which it may reach only beyond them."""
    T = _labels_processed(preprocessing, law.y)
    tau = max(float(T.max()), float(_labels_processed(preprocessing, far_labels(target)).max()))
    if not tau > 0:
        raise ValueError(f"preprocessing: its largest value is {tau:.3g}; it must be positive somewhere")
    if tau > 1e4 * float(np.quantile(np.abs(T), 0.999)):
        raise ValueError(
            f"preprocessing: unbounded above on the labels of {target} (it reaches {tau:.3g}), so the "
            "spectrum has no right edge; use a bounded one, such as optimal_preprocessing(target)"
        )
    return T, tau


def _labels_processed(preprocessing: Preprocessing, y: np.ndarray) -> np.ndarray:
    values = np.asarray(preprocessing(y), float)
    if values.shape != y.shape or not np.isfinite(values).all():
        raise ValueError("preprocessing: must map an array of labels to finite numbers of the same shape")
    return values
