"""How well the top eigenvector of (1/n) Σ T(y_i) x_i x_iᵀ points at the hidden direction."""

from collections.abc import Callable

import numpy as np

from firstlight.data.multi_index import MultiIndex
from firstlight.maths.checks import check_positive
from firstlight.maths.solvers import bracketing_root
from firstlight.phase_transition.theory.conditional import conditional_moments
from firstlight.phase_transition.theory.spectral import Preprocessing, of_one_coordinate, processed

_NEAREST, _STRIDE = np.log(1e-9), 20.0  # logarithms of distances to the supremum of T, in units of it
_NOTHING = 1e-12  # of the scale of T: rounding, where labels tell nothing of squares


def spectral_overlap(target: MultiIndex | str, preprocessing: Preprocessing, ratio: float) -> float:
    """Return the limit of the squared cosine of the top eigenvector with the hidden direction.

    After Lu and Li (2020): with n/d → δ = `ratio`, the outlier's parameter λ solves E[T(g²-1)/(λ-T)] = 1/δ,
    the bulk's edge E[T²/(λ-T)²] = 1/δ, and the squared cosine is
    (1/δ - E[T²/(λ-T)²]) / (1/δ + E[T²(g²-1)/(λ-T)²]) where the outlier lies beyond the edge, else 0.

    Parameters
    ----------
    target : MultiIndex or str
        With one hidden coordinate.
    preprocessing : callable
        T, bounded above and positive somewhere.
    ratio : float
        δ, samples per dimension.

    Examples
    --------
    >>> from firstlight.phase_transition.theory.spectral import optimal_preprocessing
    >>> best = optimal_preprocessing("sign(abs(z1) - 1)")
    >>> [spectral_overlap("sign(abs(z1) - 1)", best, ratio) for ratio in (0.5, 4.0)]
    [0.0, 0.77]
    """
    target = of_one_coordinate(target)
    check_positive("ratio", ratio)
    law = conditional_moments(target, np.zeros((1, 0)), np.eye(1), 0, fineness=1 if target.noise else 4)
    if np.abs(preprocessing(law.y)).max() <= _NOTHING:  # the best T of sign(z1)
        return 0.0
    (T, top), excess = processed(preprocessing, target, law), law.second[0, :, 0, 0]

    def mean(values: np.ndarray) -> float:
        return float(law.weight @ values)

    def signal(edge: float) -> float:
        return mean(T * excess / (edge - T)) - 1 / ratio

    def slope(edge: float) -> float:
        return 1 / ratio - mean((T / (edge - T)) ** 2)

    def at(away: float) -> float:
        return top * (1 + np.exp(away))

    def root(of: Callable[[float], float], near: float) -> float:
        """Return the logarithm of the distance at which a function changes its sign, from `near` on."""
        far = max(near, 0.0) + _STRIDE
        while (of(at(far)) > 0) == (of(at(near)) > 0):
            far += _STRIDE
        return bracketing_root(lambda away: of(at(away)), near, far).value

    bulk = root(slope, _NEAREST) if slope(at(_NEAREST)) < 0 else _NEAREST
    if signal(at(bulk)) <= 0:
        return 0.0
    edge = at(root(signal, bulk))
    overlap = slope(edge) / (1 / ratio + mean(T**2 * excess / (edge - T) ** 2))
    return min(overlap, 1.0)  # of very many samples rounding is left
