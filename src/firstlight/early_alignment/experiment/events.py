"""What happens within an integrator's steps: data that flip, be it for a moment, and outputs that rise."""

from collections.abc import Callable
from functools import cache, partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.polynomial import chebyshev
from scipy.integrate import BDF, OdeSolver
from scipy.optimize import brentq

from firstlight.early_alignment.definitions.walls import ON_WALL

if TYPE_CHECKING:
    from firstlight.early_alignment.experiment.solver import System

Dense = Callable[[float | np.ndarray], np.ndarray]

FITTED = 0.25  # |f| above which a class is said to be fitted
_BEYOND = 1e-10  # how far beyond its wall, as a cosine, a datum flips; beyond [0, 1] its share
_DEGREE = 7  # of the interpolants
_CUBIC = np.linalg.inv(np.vander(np.arange(4) / 3, increasing=True))  # its coefficients from values at thirds


class Watch:
    """Notes flips and rises: looks after every step, and searches within those that brought a change."""

    def __init__(self, system: "System", first: np.ndarray) -> None:
        self.system = system
        self.risen = np.where(system.look(first)[1] > FITTED, 0.0, np.inf)
        self._flip: tuple[float, float, Callable[[float], bool]] | None = None

    def see(self, solver: OdeSolver, cut: bool) -> tuple[float, np.ndarray]:
        """Look at the last step, up to the first event on its way if it is cut there; return its end."""
        low, end, state, system = float(solver.t_old), float(solver.t), solver.y, self.system
        dense = cache(solver.dense_output)  # stages of its own, taken once, and only where something happens
        beyond, outputs = system.look(state)
        changed, high = beyond > (_BEYOND if cut else ON_WALL), end
        if cut and (near := _bends_to_its_end(system, solver, dense, beyond)).any():
            for tau in _turns(system, dense(), low, end, near):
                midway = system.look(dense()(tau))[0] > _BEYOND
                if midway.any():  # beyond its wall and back within the step
                    changed, high = midway, tau
                    break
        flipped = changed.any()
        if flipped and cut:
            end, changed = _first_event(system, dense(), low, high, changed)
            state = dense()(end)
            outputs = system.look(state)[1]
            state, self.system = system.after(state, changed)
            self._flip = end, end, lambda _: True
        elif flipped:
            self.system, within = system.flipped(changed), dense()
            self._flip = low, end, lambda tau: not (self.system.look(within(tau))[0] > ON_WALL).any()
        for c in np.flatnonzero((outputs > FITTED) & np.isinf(self.risen)).tolist():
            above = partial(_above, system, dense(), c)
            self.risen[c] = _root(above, low, end)
        return end, state

    def last_flip(self) -> float:
        """Return when the pattern changed for the last time; -inf if never."""
        return -np.inf if self._flip is None else _first_time(self._flip[2], *self._flip[:2])


def _bends_to_its_end(
    system: "System", solver: OdeSolver, dense: Callable[[], Dense], beyond: np.ndarray
) -> np.ndarray:
    """Tell what may be beyond its end in the midst of a step: it bends by as much as it stays away.

    Judged by cubics, which for an explicit method follow from the slopes at both ends.
    """
    if not beyond.size:
        return np.zeros(0, bool)
    step = solver.t - solver.t_old
    if isinstance(solver, BDF):
        at = [system.look(one)[0] for one in dense()(solver.t_old + step * np.arange(3) / 3).T]
    else:
        at, chord = [system.look(solver.y_old)[0]], solver.y - solver.y_old
        away, back = step * solver.K[0] - chord, chord - step * solver.f
        reach = 0.25 * max(np.linalg.norm(away), np.linalg.norm(back))  # no cubic bends further
        if not system.slides and max(at[0].max(), beyond.max()) < -reach:
            return np.zeros(beyond.shape, bool)
        for k, bend in enumerate((2 * away + back, away + 2 * back), 1):
            at.append(system.look(solver.y_old + k * chord / 3 + 2 * bend / 27)[0])
    at.append(beyond)
    bent = np.maximum(np.abs(at[1] - (2 * at[0] + at[3]) / 3), np.abs(at[2] - (at[0] + 2 * at[3]) / 3))
    c = np.tensordot(_CUBIC, np.array(at), axes=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        top = c[1] / (np.sqrt(c[2] ** 2 - 3 * c[1] * c[3]) - c[2])
        highest = c[0] + top * (c[1] + top * (c[2] + top * c[3]))
        return np.asarray((top > 0) & (top < 1) & (highest > -bent))


def _turns(system: "System", dense: Dense, low: float, end: float, near: np.ndarray) -> list[float]:
    """Return where in a step those that are near turn; for what is linear in the state that is exact."""
    places = chebyshev.chebpts1(_DEGREE + 1)
    inside = dense(low + 0.5 * (end - low) * (1 + places)).T
    ways = chebyshev.chebfit(places, np.array([system.look(one)[0][near] for one in inside]), _DEGREE)
    turns = np.concatenate([chebyshev.chebroots(chebyshev.chebder(way)) for way in ways.T])
    turns = np.sort(turns.real[(turns.imag == 0) & (np.abs(turns) < 1)])
    return (low + 0.5 * (end - low) * (1 + turns)).tolist()


def _first_event(
    system: "System", dense: Dense, low: float, high: float, changed: np.ndarray
) -> tuple[float, np.ndarray]:
    """Find where the first of the changed data goes beyond its wall, and which do so there."""

    def beyond(tau: float) -> np.ndarray:
        return system.look(dense(tau))[0][changed] - _BEYOND

    end = _root(lambda tau: float(beyond(tau).max()), low, high)
    gone, there = beyond(end), changed.copy()
    there[changed] = gone >= min(float(gone.max()), -0.99 * _BEYOND)  # others are beyond theirs by less
    return end, there


def _above(system: "System", dense: Dense, c: int, tau: float) -> float:
    return float(system.look(dense(tau))[1][c]) - FITTED


def _root(function: Callable[[float], float], low: float, high: float) -> float:
    """Find where a function that is negative at `low` and positive at `high`, but for rounding, is 0."""
    try:
        return float(brentq(function, low, high, xtol=1e-15))
    except ValueError:  # it has one sign
        return low if function(low) >= 0 else high


def _first_time(true: Callable[[float], bool], low: float, high: float) -> float:
    """Find where a statement that is false at `low` and true at `high` becomes true."""
    while low < (middle := 0.5 * (low + high)) < high:
        low, high = (low, middle) if true(middle) else (middle, high)
    return high
