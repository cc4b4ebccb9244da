"""Integration in log time, with what happens on the way: flips of data, and the rise of the outputs.

An explicit method does almost all. Two things make it crawl: a network that slides along a wall meets a step
function in every step, and at a finite minimum (labels that contradict each other) rates grow with t, so that
the equations become stiff. The rest is then left to an implicit method (BDF).
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.integrate import BDF, DOP853, OdeSolver

Slope = Callable[[float, np.ndarray], np.ndarray]
Look = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]

FITTED = 0.25  # |f| above which a class is said to be fitted
_BUDGET, _IMPLICIT_BUDGET = 500_000, 40_000  # evaluations
_PATIENCE, _STANDSTILL = 5000, 1e-2  # so many evaluations for so little log time: it slides
_STIFF, _ON_END = 6.1, 15  # where DOP853's stability on the real axis ends; steps on end that are that long
_LARGEST = 3000  # unknowns up to which an implicit method, with its Jacobian, can be used
_LONGEST = 1.0  # step of the implicit method: it must not leap to where rounding times the rate is large
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
    implicit: Slope | None = None,
    jacobian: Slope | None = None,
) -> Solution:
    """Integrate from τ = 0 to the last output time.

    Parameters
    ----------
    rhs : callable
        The right-hand side, a function of τ and the state.
    look : callable
        ``look(state)`` returns the pattern of active data, and max |f| of the two classes.
    first : ndarray of shape (N,)
        The state at τ = 0.
    taus : ndarray of shape (T,)
        Output times, increasing; they have no influence on the steps, but for the last.
    tolerance : float
        Absolute.
    implicit, jacobian : callable, optional
        What the implicit method is given instead of `rhs`, without jumps, and its derivative in the state;
        default: `rhs`, and differences.

    Examples
    --------
    >>> nothing = lambda state: (state > 0, np.zeros(2))
    >>> decay = lambda tau, state: -1e4 * (state - 1)
    >>> run = solve(decay, nothing, np.zeros(1), np.array([0.0, 50.0]), 1e-9)
    >>> run.path.tolist(), run.implicit, run.evaluations < 2000
    ([[0.0000], [1.0000]], True, True)
    """
    if not tolerance > 0:
        raise ValueError(f"tolerance = {tolerance!r}: must be positive")
    path, watch = np.full((len(taus), len(first)), np.nan), _Watch(look, first)
    reached = int((taus == 0).sum())
    path[:reached] = first
    if reached == len(taus):
        return Solution(path, 0, -np.inf, watch.risen, False, "")
    crawl, spent = _Crawl(), 0
    # A trial step that overflows is rejected. The error is held absolutely: directions are of order one, and
    # an error of log ‖w‖ is a relative one of ‖w‖.
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        solver: OdeSolver = DOP853(rhs, 0.0, first, taus[-1], rtol=1e-12, atol=tolerance)
        while solver.status == "running" and solver.nfev < (_BUDGET if not spent else _IMPLICIT_BUDGET):
            _step(solver)
            if solver.status == "failed":
                break
            passed = int(np.searchsorted(taus, solver.t, side="right"))
            if passed > reached:
                path[reached:passed] = solver.dense_output()(taus[reached:passed]).T
                reached = passed
            watch.see(solver)
            if spent and crawl.rests(solver, tolerance):
                path[reached:] = solver.y
                solver.status = "finished"
            if not spent and crawl.detected(solver) and len(first) <= _LARGEST:
                spent, loose = solver.nfev, max(tolerance, 1e-8)
                setting = {"rtol": 1e-8, "atol": loose, "jac": jacobian, "max_step": _LONGEST}
                first_step = min(solver.step_size, taus[-1] - solver.t)
                solver = BDF(implicit or rhs, solver.t, solver.y, taus[-1], first_step=first_step, **setting)
    note = {"running": "its budget of evaluations spent", "failed": "its step size too small"}
    stopped = "" if solver.status == "finished" else note[solver.status] + _WHY[crawl.reason]
    return Solution(path, int(spent + solver.nfev), watch.last_flip(), watch.risen, spent > 0, stopped)


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
        self._pattern, outputs = look(first)
        self.risen = np.where(outputs > FITTED, 0.0, np.inf)
        self._flip: tuple[float, float, Callable[[float], np.ndarray]] | None = None

    def see(self, solver: OdeSolver) -> None:
        pattern, outputs = self._look(solver.y)
        flipped = bool((pattern != self._pattern).any())
        risen = np.flatnonzero((outputs > FITTED) & np.isinf(self.risen))
        if flipped or len(risen):
            dense = solver.dense_output()
            for c in risen.tolist():
                self.risen[c] = _first_time(partial(self._above, dense, c), solver.t_old, solver.t)
        if flipped:
            self._flip = solver.t_old, solver.t, dense
        self._pattern = pattern

    def _above(self, dense: Callable[[float], np.ndarray], c: int, tau: float) -> bool:
        return bool(self._look(dense(tau))[1][c] > FITTED)

    def last_flip(self) -> float:
        if self._flip is None:
            return -np.inf
        low, high, dense = self._flip
        last = self._look(dense(high))[0]
        return _first_time(lambda tau: bool((self._look(dense(tau))[0] == last).all()), low, high)


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

    def detected(self, solver: OdeSolver) -> bool:
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
        if solver.nfev > self._mark:
            if solver.t - self._before < _STANDSTILL:
                self.reason = "slides"
            self._before, self._mark = solver.t, self._mark + _PATIENCE
        return bool(self.reason)

    def rests(self, solver: OdeSolver, tolerance: float) -> bool:
        """Tell whether the state has not changed for so long that the network is at a minimum."""
        if self._since is None or np.abs(solver.y - self._since[1]).max() > 10 * max(tolerance, 1e-8):
            self._since = float(solver.t), solver.y.copy()
        return bool(solver.t - self._since[0] > _AT_REST)
