"""Integration in log time, with what happens on the way: flips of data, and the rise of the outputs.

An explicit method does almost all. It would lose itself in the kinks where data flip; so it walks the smooth
equations of one pattern, and begins anew where that ends. Two things make it crawl: a network that slides
along a wall meets it again at once, and at a finite minimum (labels that contradict each other) rates grow
with t, so that the equations become stiff. The rest is then left to an implicit method (BDF).
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.integrate import BDF, DOP853, OdeSolver
from scipy.optimize import brentq

Slope = Callable[[float, np.ndarray], np.ndarray]
Dense = Callable[[float], np.ndarray]
Look = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]

FITTED = 0.25  # |f| above which a class is said to be fitted
_BUDGET, _IMPLICIT_BUDGET = 500_000, 40_000  # evaluations
_PATIENCE, _STANDSTILL = 5000, 1e-2  # so many evaluations for so little log time: it slides
_STIFF, _ON_END = 6.1, 15  # where DOP853's stability on the real axis ends; steps on end that are that long
_LARGEST = 3000  # unknowns up to which an implicit method, with its Jacobian, can be used
_LONGEST = 1.0  # step of the implicit method: it must not leap to where rounding times the rate is large
_MANY = 10_000  # pairs of neuron and datum from which on kinks are too many to be met one by one
_BEYOND = 1e-10  # how far beyond its wall a datum flips, as a cosine
_AT_ONCE = 1e-7  # log time in which one that slides returns
_AT_REST = 3.0  # log time without any change after which nothing is left to change

_WHY = {
    "": "",
    "slides": "; data flip again and again, as they do where neurons slide along walls",
    "stiff": "; the equations are stiff, as they are close to a finite minimum of the loss",
}


@dataclass(frozen=True, eq=False)
class Solution:
    """States at the output times, NaN where not reached, and marks, as values of τ.

    Attributes
    ----------
    path : ndarray of shape (T, N)
        The states.
    evaluations : int
        Of the right-hand side.
    last_flip : float
        When the pattern changed for the last time; -inf if never.
    risen : ndarray of shape (2,)
        When the outputs of each class first exceeded 1/4; inf if never.
    implicit : bool
        Whether the implicit method was used.
    note : str
        Why the end was not reached; empty if it was.
    """

    path: np.ndarray
    evaluations: int
    last_flip: float
    risen: np.ndarray
    implicit: bool
    note: str


def solve(
    rhs: Slope,
    look: Look,
    first: np.ndarray,
    taus: np.ndarray,
    tolerance: float,
    *,
    piece: Callable[[np.ndarray], Slope] | None = None,
    implicit: Slope | None = None,
    jacobian: Slope | None = None,
) -> Solution:
    """Integrate from τ = 0 to the last output time.

    Parameters
    ----------
    rhs : callable
        The right-hand side, a function of τ and the state.
    look : callable
        ``look(state)`` returns how far data are from their walls, positive if on, and max |f| of the classes.
    first : ndarray of shape (N,)
        The state at τ = 0.
    taus : ndarray of shape (T,)
        Output times, increasing; they have no influence on the steps, but for the last.
    tolerance : float
        Absolute.
    piece : callable, optional
        ``piece(pattern)`` returns the right-hand side where that pattern of active data stays, without kinks.
    implicit, jacobian : callable, optional
        What the implicit method is given instead of `rhs`, without jumps, and its derivative in the state;
        default: `rhs`, and differences.

    Examples
    --------
    >>> nothing = lambda state: (state, np.zeros(2))
    >>> decay = lambda tau, state: -1e4 * (state - 1)
    >>> run = solve(decay, nothing, np.zeros(1), np.array([0.0, 50.0]), 1e-9)
    >>> run.path.tolist(), run.implicit, run.evaluations < 2000
    ([[0.0000], [1.0000]], True, True)
    """
    if not tolerance > 0:
        raise ValueError(f"tolerance = {tolerance!r}: must be positive")
    watch = _Watch(look, first)
    if not taus[-1] > 0:
        return Solution(np.tile(first, (len(taus), 1)), 0, -np.inf, watch.risen, False, "")
    pieces = piece if len(first) <= _LARGEST and watch.pattern.size <= _MANY else None

    def explicit(tau: float, state: np.ndarray, **setting: float) -> OdeSolver:
        slope = pieces(watch.pattern) if pieces else rhs
        return DOP853(slope, tau, state, taus[-1], rtol=1e-12, atol=tolerance, **setting)

    def soft(tau: float, state: np.ndarray, **setting: float) -> OdeSolver:
        setting |= {"rtol": 1e-8, "atol": max(tolerance, 1e-8), "max_step": _LONGEST}
        return BDF(implicit or rhs, tau, state, taus[-1], jac=jacobian, **setting)

    # A trial step that overflows is rejected. The error is held absolutely: directions are of order one, and
    # an error of log ‖w‖ is a relative one of ‖w‖.
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        return _walk(explicit, soft, watch, first, taus, tolerance, pieces is not None)


def _walk(
    explicit: Callable[..., OdeSolver], implicit: Callable[..., OdeSolver], watch: "_Watch",
    first: np.ndarray, taus: np.ndarray, tolerance: float, cut: bool,
) -> Solution:  # fmt: skip
    """Step by the explicit method, anew after each flip if steps are cut there, and then by the implicit."""
    path = np.full((len(taus), len(first)), np.nan)
    reached = int((taus == 0).sum())
    path[:reached] = first
    crawl, spent, soft = _Crawl(), 0, False
    solver = explicit(0.0, first)
    while solver.status == "running" and solver.nfev < (_IMPLICIT_BUDGET if soft else _BUDGET - spent):
        _step(solver)
        if solver.status == "failed":
            break
        pattern = watch.pattern
        here = watch.see(solver, cut=cut and not soft)
        passed = int(np.searchsorted(taus, here, side="right"))
        if passed > reached:
            path[reached:passed] = solver.dense_output()(taus[reached:passed]).T
            reached = passed
        if soft and crawl.rests(solver, tolerance):
            path[reached:] = solver.y
            solver.status = "finished"
        if (rest := taus[-1] - here) == 0:
            continue
        slow = not soft and (crawl.detected(solver, spent) or watch.returned) and len(first) <= _LARGEST
        if slow or (cut and not soft and watch.pattern is not pattern):
            spent, state = spent + solver.nfev, solver.dense_output()(here)
            solver = (implicit if slow else explicit)(here, state, first_step=min(solver.step_size, rest))
        if slow:
            crawl.reason, soft = crawl.reason or "slides", True
    note = {"running": "its budget of evaluations spent", "failed": "its step size too small"}
    stopped = "" if solver.status == "finished" else note[solver.status] + _WHY[crawl.reason]
    return Solution(path, int(spent + solver.nfev), watch.last_flip(), watch.risen, soft, stopped)


def _step(solver: OdeSolver) -> None:
    """Take one step; a state that is not finite is a failure, and so is a Jacobian that is not."""
    try:
        solver.step()
    except ValueError:  # from the factorisation of that Jacobian
        solver.status = "failed"
    if not np.isfinite(solver.y).all():
        solver.status = "failed"


class _Watch:
    """Notes flips and rises: looks after every step, and searches within those that brought a change."""

    def __init__(self, look: Look, first: np.ndarray) -> None:
        self._look = look
        distance, outputs = look(first)
        self.pattern, self.returned = distance > 0, False
        self.risen = np.where(outputs > FITTED, 0.0, np.inf)
        self._flip: tuple[float, float, Dense] | None = None
        self._flipped = np.zeros_like(self.pattern)

    def see(self, solver: OdeSolver, cut: bool) -> float:
        """Look at the last step, up to the first flip on its way if it is to be cut there; return its end."""
        low, end = float(solver.t_old), float(solver.t)
        distance, outputs = self._look(solver.y)
        changed = self._beyond(distance) > (_BEYOND if cut else 0.0)
        if cut:  # a datum may go beyond its wall and come back within the step
            state = 0.5 * (solver.y_old + solver.y) + (end - low) / 8 * (solver.K[0] - solver.f)
            middle, high = 0.5 * (low + end), end
            if (self._beyond(self._look(state)[0]) > _BEYOND).any():  # to be seen closer
                midway = self._beyond(self._look(solver.dense_output()(middle))[0]) > _BEYOND
                changed, high = (midway, middle) if midway.any() else (changed, end)
        if not (flipped := changed.any()) and not ((outputs > FITTED) & np.isinf(self.risen)).any():
            return end
        dense = solver.dense_output()
        if flipped and cut:
            end = self._cross(dense, low, high, changed)
            outputs = self._look(dense(end))[1]
            self._flip = end, end, dense
        elif flipped:
            self.pattern, self._flip = distance > 0, (low, end, dense)
        for c in np.flatnonzero((outputs > FITTED) & np.isinf(self.risen)).tolist():
            self.risen[c] = _root(partial(self._above, dense, c), low, end)
        return end

    def _above(self, dense: Dense, c: int, tau: float) -> float:
        return float(self._look(dense(tau))[1][c]) - FITTED

    def _beyond(self, distance: np.ndarray) -> np.ndarray:
        """Return how far beyond their walls data are, on the side that the pattern does not say."""
        return np.where(self.pattern, -distance, distance)

    def _cross(self, dense: Dense, low: float, high: float, changed: np.ndarray) -> float:
        """Find where the first of the changed data goes beyond its wall, and let it flip."""

        def beyond(tau: float) -> np.ndarray:
            return self._beyond(self._look(dense(tau))[0])[changed] - _BEYOND

        end = _root(lambda tau: float(beyond(tau).max()), low, high)
        gone, flipped = beyond(end), changed.copy()
        flipped[changed] = gone >= min(float(gone.max()), -0.5 * _BEYOND)
        self.returned = end - low < _AT_ONCE and bool((flipped & self._flipped).any())
        self.pattern, self._flipped = self.pattern ^ flipped, flipped
        return end

    def last_flip(self) -> float:
        if self._flip is None:
            return -np.inf
        low, high, dense = self._flip
        last = self._look(dense(high))[0] > 0
        return _first_time(lambda tau: bool(((self._look(dense(tau))[0] > 0) == last).all()), low, high)


def _root(function: Callable[[float], float], low: float, high: float) -> float:
    """Find where a function that is negative at `low` and positive at `high`, but for rounding, is 0."""
    if function(low) >= 0 or function(high) <= 0:
        return low if function(low) >= 0 else high
    return float(brentq(function, low, high, xtol=1e-15))


def _first_time(true: Callable[[float], bool], low: float, high: float) -> float:
    """Find where a statement that is false at `low` and true at `high` becomes true."""
    while low < (middle := 0.5 * (low + high)) < high:
        low, high = (low, middle) if true(middle) else (middle, high)
    return high


class _Crawl:
    """Says when, and why, the explicit method makes too little progress, and when nothing is left to do."""

    def __init__(self) -> None:
        self.reason = ""
        self._long = self._short = 0
        self._before, self._mark = 0.0, _PATIENCE
        self._since: tuple[float, np.ndarray] | None = None

    def detected(self, solver: OdeSolver, spent: int) -> bool:
        """Judge a step: little progress, or step times rate, from two stages at its end, after Hairer."""
        step = solver.t - solver.t_old
        stage = solver.y_old + step * (DOP853.A[11, :11] @ solver.K[:11])
        if step * np.linalg.norm(solver.K[12] - solver.K[11]) > _STIFF * np.linalg.norm(solver.y - stage):
            self._long, self._short = self._long + 1, 0
        else:
            self._short += 1
            self._long = 0 if self._short == 6 else self._long
        if self._long >= _ON_END:
            self.reason = "stiff"
        if spent + solver.nfev > self._mark:
            if solver.t - self._before < _STANDSTILL:
                self.reason = "slides"
            self._before, self._mark = solver.t, self._mark + _PATIENCE
        return bool(self.reason)

    def rests(self, solver: OdeSolver, tolerance: float) -> bool:
        """Tell whether the state has not changed for so long that the network is at a minimum."""
        if self._since is None or np.abs(solver.y - self._since[1]).max() > 10 * max(tolerance, 1e-8):
            self._since = float(solver.t), solver.y.copy()
        return bool(solver.t - self._since[0] > _AT_REST)
