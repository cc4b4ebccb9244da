"""The threshold of a hard stage while the easy direction is known only as well as the samples tell.

Bayes-optimal message passing knows the easy coordinate g_E ~ N(ω, 1 - q), with ω ~ N(0, q) and
q/(1 - q) = δ E[gout²], gout = (E[g_E | y, ω] - ω)/(1 - q). The hard directions become unstable where δ times
the largest eigenvalue of E[G ⊗ G] is one, G = E[g_H g_Hᵀ - 1 | y, ω]. Both are functions of q, and so is δ.
"""

from dataclasses import replace

import numpy as np
from scipy.interpolate import PchipInterpolator

from firstlight.data.multi_index import MultiIndex
from firstlight.maths.solvers import bracketing_root
from firstlight.phase_transition.theory.alg import sampled_top
from firstlight.phase_transition.theory.conditional import vaguely_known
from firstlight.phase_transition.theory.subspaces import mean_energy

_OVERLAPS = 1 - np.geomspace(0.98, 2e-3, 14)


def finite_threshold(
    target: MultiIndex, easy: np.ndarray, hard: np.ndarray, ideal: float, rng: np.random.Generator
) -> tuple[float, float]:
    """Return the samples per dimension at which the hard directions show, and an error estimate.

    Parameters
    ----------
    target : MultiIndex
        The law of the label.
    easy, hard : ndarray of shape (k, 1) and (k, h)
        The easy direction, and the hard ones that the label depends on.
    ideal : float
        The threshold with the easy direction known exactly.
    rng : Generator
        Draws the quasi-Monte-Carlo points.

    Returns
    -------
    value, error : float
        `ideal` if fewer samples than that make q > 0.998; NaN if the condition is not met up to there. The
        error holds the scatter of two estimates, and a per cent for the steps in q.
    """
    values = [
        _crossing(np.array([state(target, easy, hard, q, rng) for q in _OVERLAPS]), ideal) for _ in range(2)
    ]
    value = float(np.mean(values))
    return value, abs(values[0] - values[1]) / 2 + 0.01 * value


def state(
    target: MultiIndex, easy: np.ndarray, hard: np.ndarray, q: float, rng: np.random.Generator
) -> tuple[float, float]:
    """Return δ at which the easy direction has the overlap q, and the top eigenvalue of E[G ⊗ G] there."""
    both = vaguely_known(target, easy, hard, q, rng)
    moments = replace(both, first=both.first[..., :1], second=both.second[:, :, 1:, 1:])
    energy = float(mean_energy(moments)[0][0, 0])
    return q / max(energy, 1e-300), sampled_top(moments)[0]


def _crossing(states: np.ndarray, ideal: float) -> float:
    """Interpolate the δ at which δ times the eigenvalue reaches one, along growing overlaps."""
    delta, top = states.T
    product = np.log(np.maximum(delta * top, 1e-300))
    above = np.flatnonzero(product >= 0)
    if not above.size:
        return ideal if delta[-1] <= ideal else np.nan
    if above[0] == 0:
        return np.nan
    place = np.arange(len(delta), dtype=float)
    root = bracketing_root(PchipInterpolator(place, product), above[0] - 1.0, float(above[0]))
    return float(np.exp(PchipInterpolator(place, np.log(delta))(root.value)))
