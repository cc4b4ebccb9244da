"""Gradient flow in the width-free form: one second-moment matrix for each class instead of its neurons."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from firstlight.early_alignment.experiment.log_time import EXPONENT, Clock, check_times
from firstlight.early_alignment.experiment.solver import System, solve
from firstlight.maths.losses import MarginLoss, margin_loss


@dataclass(frozen=True, eq=False)
class Moments:
    """The width-free state at the output times, one for each class (positive first).

    Attributes
    ----------
    times : ndarray of shape (T,)
        The output times.
    moments : ndarray of shape (T, 2, D + 1, D + 1)
        Ŝ = Σⱼ [w; v][w; v]ᵀ over the neurons of a class, scaled to trace 1.
    log_scales : ndarray of shape (T, 2)
        λ, so that S = e^{2λ} Ŝ; -inf for a class without neurons.
    evaluations : int
        Evaluations of the right-hand side.
    risen : ndarray of shape (2,)
        When max |f| of each class first exceeded 1/4; inf if it did not.
    note : str
        Why the integrator did not reach the last time; empty if it did.
    """

    times: np.ndarray
    moments: np.ndarray
    log_scales: np.ndarray
    evaluations: int
    risen: np.ndarray
    note: str

    @property
    def converged(self) -> bool:
        """Whether the integrator reached the last time."""
        return not self.note


def integrate_classes(
    X: np.ndarray,
    y: np.ndarray,
    moments: np.ndarray,
    log_scales: np.ndarray,
    times: np.ndarray | Sequence[float],
    *,
    start: float = 0.0,
    loss: str = "exp",
    reduction: str = "sum",
    samples: int | None = None,
    tolerance: float = 1e-9,
) -> Moments:
    """Integrate gradient flow in the width-free form, which holds once every neuron is in its S± or dead.

    All neurons of a class then see the same G, so S = Σⱼ [w; v][w; v]ᵀ obeys S' = MS + SM with
    M = [[0, G], [Gᵀ, 0]]; the cost does not depend on the width.

    Parameters
    ----------
    X, y, times, start, loss, reduction, samples, tolerance
        As for `integrate`.
    moments : ndarray of shape (2, D + 1, D + 1)
        Ŝ of the two classes at `start`, positive first, each of trace 1 (anything finite for an empty one).
    log_scales : ndarray of shape (2,)
        λ with S = e^{2λ} Ŝ; -inf for a class without neurons.

    Examples
    --------
    >>> from firstlight.early_alignment.experiment.flow import integrate
    >>> S = np.full((2, 2, 2), 0.5)
    >>> run = integrate_classes(np.ones((1, 1)), np.ones(1), S, np.array([np.log(2) / 2, -np.inf]), [1e3])
    >>> rows = integrate(np.ones((1, 1)), np.ones(1), np.ones((1, 1)), np.zeros(1), np.ones(1), [1e3])
    >>> bool(abs(run.log_scales[0, 0] - np.log(2) / 2 - rows.log_norms[0, 0]) < 1e-8)
    True
    """
    times = check_times(times, start)
    clock = Clock.of(X, start, reduction, samples)
    live = [c for c in (0, 1) if np.isfinite(log_scales[c]) and (y == 1 - 2 * c).any()]
    size = X.shape[1] + 1
    result = np.broadcast_to(moments, (len(times), 2, size, size)).copy()
    scales = np.broadcast_to(log_scales, (len(times), 2)).copy()
    if not live:
        return Moments(times, result, scales, 0, np.full(2, np.inf), "")
    classes = _Classes({c: (X[y == 1 - 2 * c], 1.0 - 2 * c) for c in live}, margin_loss(loss), clock)
    first = np.concatenate([moments[live].ravel(), log_scales[live]])
    run = solve(classes, first, clock.tau(times), tolerance)
    result[:, live] = run.path[:, : -len(live)].reshape(len(times), len(live), size, size)
    scales[:, live] = run.path[:, -len(live) :]
    return Moments(times, result, scales, run.evaluations, clock.time(run.risen), run.note)


@dataclass(frozen=True, eq=False)
class _Classes(System):
    """The equations in log time; a state is Ŝ of the classes that have data and neurons, then their λ."""

    parts: dict[int, tuple[np.ndarray, float]]  # by class: data and label
    loss: MarginLoss
    clock: Clock

    def _split(self, state: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        number = len(self.parts)
        size = next(iter(self.parts.values()))[0].shape[1] + 1
        return state[:-number].reshape(number, size, size), state[-number:]

    def margins(self, state: np.ndarray) -> list[np.ndarray]:
        """Return yf of each class, which its own neurons fit alone: S_wv carries the sign of v already."""
        S, scales = self._split(state)
        grown = np.exp(np.minimum(2 * scales, EXPONENT))
        return [grown[k] * label * (Z @ S[k, :-1, -1]) for k, (Z, label) in enumerate(self.parts.values())]

    def slope(self, tau: float, state: np.ndarray) -> np.ndarray:
        """Return the state's derivative."""
        S, _ = self._split(state)
        change, growth = np.empty_like(S), np.empty(len(S))
        for k, ((Z, label), z) in enumerate(zip(self.parts.values(), self.margins(state), strict=True)):
            log_weight = self.loss.log_slope(z) + (self.clock.log_weight + tau)
            G = label * (np.exp(np.minimum(log_weight, EXPONENT)) @ Z)
            MS = np.vstack([np.outer(G, S[k, -1]), G @ S[k, :-1]])
            growth[k] = np.trace(MS)
            change[k] = MS + MS.T - 2 * growth[k] * S[k]
        return np.concatenate([change.ravel(), growth])

    def look(self, state: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return that nothing ends these equations, and the largest output of each class."""
        grown = np.zeros(2)
        grown[list(self.parts)] = [np.abs(z).max() for z in self.margins(state)]
        return np.empty(0), grown


def class_moments(
    directions: np.ndarray, log_norms: np.ndarray, signs: np.ndarray, groups: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Sum [w; v][w; v]ᵀ over the neurons of each class, with the scale taken out.

    Parameters
    ----------
    directions, log_norms, signs : ndarray
        A balanced network, as for `integrate`.
    groups : ndarray of shape (h,)
        +1 for neurons in S₊, -1 in S₋; any other value (dead neurons) is left out.

    Returns
    -------
    moments : ndarray of shape (2, D + 1, D + 1)
    log_scales : ndarray of shape (2,)

    Examples
    --------
    >>> S, scale = class_moments(np.eye(2), np.zeros(2), np.array([1.0, -1.0]), np.array([1, -1]))
    >>> S[0].tolist(), np.exp(2 * scale).tolist()
    ([[0.5000, 0.0000, 0.5000], [0.0000, 0.0000, 0.0000], [0.5000, 0.0000, 0.5000]], [2.0000, 2.0000])
    """
    D = directions.shape[1]
    moments, log_scales = np.zeros((2, D + 1, D + 1)), np.full(2, -np.inf)
    for c, group in enumerate((1, -1)):
        members = groups == group
        if members.any():
            top = log_norms[members].max()
            rows = np.column_stack([directions, signs])[members] * np.exp(log_norms[members] - top)[:, None]
            S = rows.T @ rows
            log_scales[c] = top + 0.5 * np.log(np.trace(S))
            moments[c] = S / np.trace(S)
    return moments, log_scales
