"""Integration in log time, with what happens on the way: flips of data, and the rise of the outputs.

An explicit method does almost all. It would lose itself in the kinks where data flip; so it walks the smooth
equations of one piece, and begins anew where that ends. Where there are very many kinks it walks over them,
until neurons that slide along walls, and meet them again and again, hold it up. At a finite minimum (labels
that contradict each other) rates grow with t, so that the equations become stiff: the rest is then left to an
implicit method (BDF).
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.integrate import BDF, DOP853, OdeSolver
from scipy.linalg import LinAlgWarning

from firstlight.early_alignment.experiment.events import Watch

Slope = Callable[[float, np.ndarray], np.ndarray]

_BUDGET, _IMPLICIT_BUDGET = 500_000, 40_000  # evaluations
_EVENT = 20  # of them are what the implicit method's new start after an event takes, and finding it
_PATIENCE, _STANDSTILL = 5000, 1e-2  # so many evaluations for so little log time: it is held up
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
    sliding : bool
        Whether a neuron slides along a wall at the end.
    note : str
        Why the end was not reached; empty if it was.
    """

    path: np.ndarray
    evaluations: int
    last_flip: float
    risen: np.ndarray
    sliding: bool
    note: str


class System:
    """Smooth equations, how far they are good for, and what comes after: by default nothing ends them.

    An implicit method takes their derivative in the state from `jacobian`, if there is one.
    """

    @property
    def slides(self) -> bool:
        """Whether a neuron slides along a wall."""
        return False

    def slope(self, tau: float, state: np.ndarray) -> np.ndarray:
        """Return dstate/dτ."""
        raise NotImplementedError

    def look(self, state: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return how far beyond its end each thing is that may end this piece, and max |f| of the classes."""
        raise NotImplementedError

    def after(self, state: np.ndarray, changed: np.ndarray) -> tuple[np.ndarray, "System"]:
        """Return the state and the equations after an event."""
        return state, self

    def flipped(self, changed: np.ndarray) -> "System":
        """Return the equations after data have changed sides, where one did not stop."""
        return self


def solve(
    system: System,
    first: np.ndarray,
    taus: np.ndarray,
    tolerance: float,
    *,
    hard: Slope | None = None,
) -> Solution:
    """Integrate from τ = 0 to the last output time.

    Parameters
    ----------
    system : System
        The equations at τ = 0.
    first : ndarray of shape (N,)
        The state at τ = 0.
    taus : ndarray of shape (T,)
        Output times, increasing; they have no influence on the steps, but for the last.
    tolerance : float
        Absolute.
    hard : callable, optional
        A right-hand side with all kinks. It is walked over them, not piece by piece, until that takes long.

    Examples
    --------
    >>> class Decay(System):
    ...     def slope(self, tau, state):
    ...         return -1e4 * (state - 1)
    ...     def look(self, state):
    ...         return -np.ones(0), np.zeros(2)
    >>> run = solve(Decay(), np.zeros(1), np.array([0.0, 50.0]), 1e-9)
    >>> run.path.tolist(), run.evaluations < 2000
    ([[0.0000], [1.0000]], True)
    """
    if not tolerance > 0:
        raise ValueError(f"tolerance = {tolerance!r}: must be positive")
    watch = Watch(system, first)
    if not taus[-1] > 0:
        return Solution(np.tile(first, (len(taus), 1)), 0, -np.inf, watch.risen, False, "")

    def explicit(tau: float, state: np.ndarray, slope: Slope, **setting: float) -> OdeSolver:
        return DOP853(slope, tau, state, taus[-1], rtol=1e-12, atol=tolerance, **setting)

    def implicit(tau: float, state: np.ndarray, slope: Slope, **setting: float) -> OdeSolver:
        setting |= {"rtol": 1e-12, "atol": max(tolerance, 1e-8), "max_step": _LONGEST}
        jacobian = getattr(watch.system, "jacobian", None)
        return BDF(slope, tau, state, taus[-1], jac=jacobian and partial(_finite, jacobian), **setting)

    # A trial step that overflows is rejected. The error is held absolutely: directions are of order one, and
    # an error of log ‖w‖ is a relative one of ‖w‖.
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", LinAlgWarning)  # of a guess whose Jacobian has lost its digits
        return _walk(explicit, implicit, watch, first, taus, tolerance, hard)


def _walk(
    explicit: Callable[..., OdeSolver], implicit: Callable[..., OdeSolver], watch: Watch,
    first: np.ndarray, taus: np.ndarray, tolerance: float, hard: Slope | None,
) -> Solution:  # fmt: skip
    """Step by the explicit method, anew after each event, and then by the implicit."""
    path = np.full((len(taus), len(first)), np.nan)
    reached = int((taus == 0).sum())
    path[:reached] = first
    crawl, method, spent, budget = _Crawl(), explicit, 0, _BUDGET
    solver = explicit(0.0, first, hard or watch.system.slope)
    while solver.status == "running" and spent + solver.nfev < budget:
        _step(solver)
        if solver.status == "failed":
            break
        here, state = watch.see(solver, cut=not hard)
        passed = int(np.searchsorted(taus, here, side="right"))
        if passed > reached:
            path[reached:passed], more = _between(solver, taus[reached:passed], explicit, tolerance)
            reached, spent = passed, spent + more
        anew = here < solver.t
        if method is implicit and not anew and crawl.rests(solver, tolerance):
            path[reached:] = solver.y
            solver.status = "finished"
            break
        if method is explicit and not crawl.reason and crawl.detected(solver, spent):
            anew, hard = True, None
            if crawl.reason == "stiff" and len(first) <= _LARGEST:
                method, budget = implicit, spent + solver.nfev + _IMPLICIT_BUDGET
        if method is implicit and anew:
            budget -= _EVENT
        if anew and (rest := taus[-1] - here) > 0:
            spent += solver.nfev
            solver = method(here, state, hard or watch.system.slope, first_step=min(solver.step_size, rest))
    note = {"running": "its budget of evaluations spent", "failed": "its step size too small"}
    stopped = "" if solver.status == "finished" else note[solver.status] + _WHY[crawl.reason]
    sliding = watch.system.slides
    return Solution(path, int(spent + solver.nfev), watch.last_flip(), watch.risen, sliding, stopped)


def _between(
    solver: OdeSolver, taus: np.ndarray, explicit: Callable[..., OdeSolver], tolerance: float
) -> tuple[np.ndarray, int]:
    """Return states within the last step, and what they cost.

    At the limit of its stability an explicit step is right at its end, while its interpolant, which takes
    stages of its own, may be anything. Where that strays from both ends, steps are taken to the very times.
    """
    values = solver.dense_output()(taus).T
    if not isinstance(solver, DOP853):
        return values, 0
    astray = np.abs(values - solver.y).max(axis=1)
    near = np.abs(solver.y - solver.y_old).max() + 10 * tolerance
    spent = 0
    for i in np.flatnonzero(~(astray <= near) & (taus > solver.t_old)):
        length = float(taus[i] - solver.t_old)
        again = explicit(solver.t_old, solver.y_old, solver.fun, first_step=length / 2)
        again.t_bound = taus[i]
        while again.status == "running" and again.nfev < _BUDGET:
            _step(again)
        values[i] = again.y if again.status == "finished" else np.nan
        spent += again.nfev
    return values, spent


def _step(solver: OdeSolver) -> None:
    """Take one step; a state that is not finite is a failure, and so is a Jacobian that is not."""
    try:
        solver.step()
    except ValueError:  # from the factorisation of that Jacobian
        solver.status = "failed"
    if not np.isfinite(solver.y).all():
        solver.status = "failed"


def _finite(jacobian: Callable[..., np.ndarray], tau: float, state: np.ndarray) -> np.ndarray:
    """Return the Jacobian, or none where it overflows: a guess that far ahead is halved, not factorised."""
    found = jacobian(tau, state)
    return found if np.isfinite(found).all() else np.zeros_like(found)


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
