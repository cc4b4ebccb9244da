"""The threshold of a hard stage while the easy direction is known only as well as the samples tell.

Bayes-optimal message passing knows the easy coordinate g_E ~ N(ω, 1 - q), with ω ~ N(0, q) and
q/(1 - q) = δ E[gout²], gout = (E[g_E | y, ω] - ω)/(1 - q). The hard directions become unstable where δ times
the largest eigenvalue of E[G ⊗ G] is one, G = E[g_H g_Hᵀ - 1 | y, ω]. Both are functions of q, and so is δ.
"""

import numpy as np
from scipy.interpolate import PchipInterpolator

from firstlight.data.multi_index import MultiIndex
from firstlight.solvers import bracketing_root
from firstlight.theory.phase_transition.alg import operator
from firstlight.theory.phase_transition.conditional import sampled

_NODES = 20
_OVERLAPS = 1 - np.geomspace(0.98, 2e-3, 14)


def finite_threshold(
    target: MultiIndex, easy: np.ndarray, hard: np.ndarray, rng: np.random.Generator
) -> tuple[float, float]:
    """Return the samples per dimension at which the hard directions show, and an error estimate.

    Parameters
    ----------
    target : MultiIndex
        The law of the label.
    easy, hard : ndarray of shape (k, 1) and (k, h)
        The easy direction, and the hard ones that the label depends on.
    rng : Generator
        Draws the quasi-Monte-Carlo points.

    Returns
    -------
    value, error : float
        NaN if the condition is not met while q ≤ 0.998. The error holds the scatter of two estimates, and a
        per cent for the steps in q.
    """
    values = [_crossing(np.array([state(target, easy, hard, q, rng) for q in _OVERLAPS])) for _ in range(2)]
    value = float(np.mean(values))
    return value, abs(values[0] - values[1]) / 2 + 0.01 * value


def state(
    target: MultiIndex, easy: np.ndarray, hard: np.ndarray, q: float, rng: np.random.Generator
) -> tuple[float, float]:
    """Return δ at which the easy direction has the overlap q, and the top eigenvalue of E[G ⊗ G] there."""
    places = (np.arange(_NODES) - 0.5 * (_NODES - 1)) * (9.0 / _NODES)
    weights = np.exp(-0.5 * places**2) / np.exp(-0.5 * places**2).sum()
    energy, total = 0.0, 0.0
    for place, weight in zip(places, weights, strict=True):

        def point(z: np.ndarray, place: float = place) -> np.ndarray:
            known = np.sqrt(q) * place + np.sqrt(1 - q) * z[:, :1]
            return known @ easy.T + z[:, 1:] @ hard.T

        _, mass, first, second = sampled(target, point, 1 + hard.shape[1], 128, 11, rng)
        # products of different replicates have no bias: the square of the sum less the sum of squares
        count = len(first)
        mean = first[..., 0]
        energy += (
            weight * float(mass @ (mean.sum(axis=0) ** 2 - (mean**2).sum(axis=0))) / (count * (count - 1))
        )
        block = second[:, :, 1:, 1:]
        whole = operator(block.sum(axis=0), block.sum(axis=0), mass)
        own = sum(operator(one, one, mass) for one in block)
        total = total + weight * (whole - own) / (count * (count - 1))
    return q / max(energy, 1e-300), float(np.linalg.eigvalsh(total)[-1])


def _crossing(states: np.ndarray) -> float:
    """Interpolate the δ at which δ times the eigenvalue reaches one, along growing overlaps."""
    delta, top = states.T
    product = np.log(np.maximum(delta * top, 1e-300))
    above = np.flatnonzero(product >= 0)
    if not above.size or above[0] == 0:
        return np.nan
    place = np.arange(len(delta), dtype=float)
    root = bracketing_root(PchipInterpolator(place, product), above[0] - 1.0, float(above[0]))
    return float(np.exp(PchipInterpolator(place, np.log(delta))(root.value)))
