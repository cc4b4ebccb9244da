"""delta_NN: samples per dimension above which gradient descent finds a hard direction (a reconstruction).

The threshold at step T is where an outlier of the Hessian, at the law that training has reached, leaves the
bulk to the left and is negative. Its limit of long times comes from the static equations where these are
valid, otherwise from the observation that delta_NN(T) is nearly linear in the bulk's edge z_-(T), which
creeps to zero.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from firstlight.data.multi_index import MultiIndex
from firstlight.maths.checks import check_count
from firstlight.maths.refusals import refusal
from firstlight.maths.rng import RNGLike, SeedLike, generator
from firstlight.maths.solvers import Solved
from firstlight.maths.workers import on_one_thread
from firstlight.phase_transition.definitions import Student, Training, as_student, as_training
from firstlight.phase_transition.theory.alg import conditional_threshold
from firstlight.phase_transition.theory.conditional import as_informative, as_target
from firstlight.phase_transition.theory.criterion import CRITERIA, Margin, last_crossing, outlier_margin
from firstlight.phase_transition.theory.dmft import held_process
from firstlight.phase_transition.theory.extrapolation import extrapolate, trusted, window
from firstlight.phase_transition.theory.frame import NEGLIGIBLE
from firstlight.phase_transition.theory.hessian import starting_law
from firstlight.phase_transition.theory.labels import LabelLaw, draw, label_law
from firstlight.phase_transition.theory.law import CurvatureLaw
from firstlight.phase_transition.theory.resolvent import Branch, Bulk
from firstlight.phase_transition.theory.stability import stable_below
from firstlight.phase_transition.theory.static import half_width, static_margins, static_threshold

_SCRAMBLES = 8  # of the static route; the dynamic one takes the first two
_STABLE = 0.95  # of the steps that overshoot at once
_REACH = 40.0  # how far above delta_alg the threshold is looked for


@dataclass(frozen=True)
class NetworkThreshold(Solved[float]):
    """A `Solved` threshold: `value` is delta_NN, `residual` its uncertainty.

    `converged` says whether the uncertainty is below a tenth of the value, whether delta_NN(T) at the last
    step has come within a quarter of an extrapolated limit, and whether the draws were enough for all steps.
    An infinite value of the static route is converged if the margin stays above its error for every delta; if
    it is positive but within the error somewhere, the threshold may also be large and finite, and `converged`
    is False.

    Attributes
    ----------
    route : {"static", "extrapolated", "settled", "nothing to find", "not found", "contradicted"}
        Where the limit comes from: the static equations; delta_NN(T) against z_-(T), taken to z_- = 0; or
        delta_NN(T) itself, where it no longer changes. "contradicted" is an extrapolation at which the static
        equations hold and find no negative outlier: no value is given then.
    times : ndarray of shape (r,)
        Steps T at which the threshold was computed; empty on the static route.
    curve : ndarray of shape (r,)
        delta_NN(T); NaN where none was found.
    edges : ndarray of shape (r,)
        z_-(T), the bulk's left edge at that threshold.
    step_size : float
        η that was used; NaN on the static route.
    delta_alg : float
        The algorithmic threshold, which it cannot undercut.
    """

    route: str
    times: np.ndarray
    curve: np.ndarray
    edges: np.ndarray
    step_size: float
    delta_alg: float


@on_one_thread
def delta_nn(
    target: MultiIndex | str,
    student: Student,
    training: Training | float | None = None,
    steps: int = 128,
    criterion: str = "bbp+sign",
    *,
    draws: int = 1 << 14,
    rng: RNGLike | SeedLike = 0,
) -> NetworkThreshold:
    """Compute the samples per dimension above which gradient descent learns a hard direction.

    Parameters
    ----------
    target : MultiIndex or str
        The law of the label.
    student : Student
        The network.
    training : Training or float, optional
        The algorithm, or the step size of plain gradient descent; by default a stable one of these, chosen
        from the Hessian's right edge. The static equations know nothing of batches and of other parameters
        than the first layer's: with these, what T steps show is extrapolated.
    steps : int, default 128
        T up to which training is followed.
    criterion : {"bbp+sign", "bbp", "block+sign"}
        Whether the outlier must also be negative. It must, to be an escape; "bbp" is for comparison.
        "block+sign" asks the neurons' own blocks, for second layers of opposite signs.
    draws : int, default 16384
        Samples of the DMFT, in two independent halves, or of the static equations, in eight scrambles of half
        as many: their scatter is part of the error bar (a 95 % interval on the static route).
    rng : SPEC 7 rng, default 0
        Scrambles them.

    Returns
    -------
    NetworkThreshold

    Examples
    --------
    >>> student = Student("gelu")
    >>> limit = delta_nn("tanh(0.5*z1 + 1.5*(z2**2 - 1))", student, steps=32, draws=1 << 11)
    >>> print(limit.route, 7 < limit.value < 8.5)
    static True
    """
    target, student, rng = as_target(target), as_student(student), generator(rng)
    if criterion not in CRITERIA:
        raise ValueError(f"criterion = {criterion!r}: must be one of {', '.join(CRITERIA)}")
    given = None if training is None else as_training(training)
    if given is not None and given.schedule in ("linear", "cosine"):
        raise refusal("schedule", given.schedule, "go on: this is a limit of many steps; `dmft` follows it")
    check_count("steps", steps, 8)
    check_count("draws", draws, 128)
    student.require_smooth()
    labels = label_law(target, rng)
    student.require_labels(labels.y, labels.far, labels.name)
    floor = conditional_threshold(as_informative(target), labels.easy_basis, rng).value
    none = np.zeros(0)
    if np.isinf(floor):
        return NetworkThreshold(np.inf, np.inf, 0, True, "nothing to find", none, none, none, np.nan, floor)
    scan = _Scan(student, labels, criterion, floor, rng)
    if criterion == "bbp+sign" and (given is None or (given.full_batch and given.only_rows)):
        limit = static_threshold(student, labels, floor, max(draws // 2, 1 << 11), scan.seeds)
        if limit is not None:
            found = (*limit[:2], _SCRAMBLES, limit[2])
            return NetworkThreshold(*found, "static", none, none, none, np.nan, floor)
    return scan.dynamic(given, steps, draws)


class _Crossings(NamedTuple):
    """Where the margin turns negative for the last time, and the bulk's edge there: (seeds, steps)."""

    deltas: np.ndarray
    edges: np.ndarray
    beyond: bool  # whether the margin is still positive at the largest delta and the last step
    complete: bool  # whether no force was left out that counts, for want of samples


class _Scan:
    """One search; holds what all its runs share."""

    def __init__(
        self, student: Student, labels: LabelLaw, criterion: str, floor: float, rng: np.random.Generator
    ) -> None:
        self.student, self.labels = student, labels
        self.criterion, self.floor = criterion, floor
        self.seeds = [int(seed) for seed in rng.integers(1 << 31, size=_SCRAMBLES)]

    def dynamic(self, given: Training | None, steps: int, draws: int) -> NetworkThreshold:
        """Follow training, and extrapolate; NaN where the static equations hold and say otherwise."""
        training = given or Training(float(f"{0.75 / self._right_edge(2 * self.floor):.2g}"))
        for _ in range(4):
            try:
                threshold = self._at_step(training, steps, draws)
                break
            except ValueError as error:
                if given is not None or "step_size" not in str(error):
                    raise
                training = Training(0.5 * training.step_size)
        else:
            raise ValueError("step_size: no stable step was found; give one")
        unknown = replace(threshold, value=np.nan, residual=np.inf, converged=False)
        if threshold.value <= 0:  # too few steps to extrapolate from
            return replace(unknown, route="not found")
        if not (training.full_batch and training.only_rows):
            return threshold
        if threshold.route == "extrapolated" and np.isfinite(threshold.value):
            coarse = [draw(self.labels, self.student.width, 1 << 11, seed) for seed in self.seeds[:4]]
            above = static_margins(self.student, coarse, 1.1 * threshold.value, 400)
            if above.mean() > half_width(above):  # the bulk ends above zero there, and so does the outlier
                return replace(unknown, route="contradicted")
        return threshold

    def _right_edge(self, delta: float) -> float:
        """Return the largest curvature at the start."""
        law = starting_law(self.labels, self.student, 1 << 11, self.seeds[0])
        return self.student.ridge - Bulk(law.D, law.weight, delta).mirrored.left_edge().value

    def _stable(self, training: Training, law: CurvatureLaw, delta: float, steps: int) -> bool:
        """Tell whether steps are clearly below those that overshoot, as long training needs."""
        limit = stable_below(law.D, law.weight, delta, self.student.ridge, training)
        largest = training.step_size * training.factors(steps).max()
        return not largest >= _STABLE * limit  # where no rule is known, training itself will tell

    def _at_step(self, training: Training, steps: int, draws: int) -> NetworkThreshold:
        eta = training.step_size
        early = min(steps, 32)
        times = [t for t in (4, 8, 16, 24, 32) if early / 4 <= t <= early] or [early]
        grid = self.floor * np.geomspace(1.0, _REACH, 14)
        law = starting_law(self.labels, self.student, 1 << 11, self.seeds[0])
        grid = grid[[self._stable(training, law, x, steps) for x in grid]]  # few samples bend the loss more
        if grid.size < 2:
            raise ValueError(f"step_size = {eta}: unstable at the start; take a smaller one")
        coarse = self._crossings(
            grid, training, early, times, max(draws // 4, 1 << 10), self.seeds[:1], False
        )
        roots = coarse.deltas[0]
        if not np.isfinite(roots).any():
            empty = np.full(len(times), np.nan)
            return NetworkThreshold(
                np.nan, np.inf, grid.size, False, "not found", np.array(times), empty, empty, eta, self.floor
            )
        low, high = 0.88 * np.nanmin(roots), 1.3 * np.nanmax(roots)
        times = window(steps)
        for _ in range(3):
            grid = np.geomspace(low, high, 8)
            found = self._crossings(grid, training, steps, times, draws // 2, self.seeds[:2], True)
            if np.isfinite(found.deltas[:, -3:]).all():
                break
            low, high = (low, 1.4 * high) if found.beyond else (0.75 * low, high)
        return self._limit(np.array(times), grid.size, found, eta)

    def _at_start(self) -> tuple[float, float]:
        """Return the threshold at initialisation, often far from the later ones, without dynamics."""

        def crossing(grid: np.ndarray, draws: int) -> tuple[float, float]:
            law = starting_law(self.labels, self.student, draws, self.seeds[0])
            ridge = self.student.ridge
            states = np.array([outlier_margin(law, float(x), ridge, self.criterion)[:2] for x in grid])
            value = last_crossing(grid, states[:, 0])
            return value, float(np.interp(value, grid, states[:, 1]))

        near, _ = crossing(self.floor * np.geomspace(1.0, _REACH, 16), 1 << 10)
        return crossing(near * np.linspace(0.92, 1.08, 7), 1 << 13) if np.isfinite(near) else (near, near)

    def _crossings(
        self, grid: np.ndarray, training: Training, steps: int, times: Sequence[int], draws: int,
        seeds: Sequence[int], guard: bool,
    ) -> _Crossings:  # fmt: skip
        """Find where the margin turns negative at each of some steps, for each of some seeds."""

        def look(
            seed: int, delta: float, at: list[int], near: list[Branch | None]
        ) -> tuple[list[Margin], bool]:
            """Return the margins at some of the steps, and whether no force was left out."""
            process = held_process(self.labels, self.student, delta, training, steps, draws, seed)
            margins = []
            for law, start in zip(process.laws([times[i] for i in at]), near, strict=True):
                margins.append(outlier_margin(law, delta, self.student.ridge, self.criterion, start))
            if guard and not self._stable(training, law, delta, steps):
                raise ValueError(
                    f"step_size = {training.step_size}: unstable at samples_per_dimension = {delta:.4g}; "
                    "take a smaller one"
                )
            return margins, process.frame.dropped < NEGLIGIBLE

        def search(seed: int) -> tuple[np.ndarray, bool, bool]:
            """Go down from the largest delta, at each step no further than one point below its crossing.

            So late steps, whose thresholds are high, are not followed to at small delta.
            """
            margins, edges = np.full((2, len(times), grid.size), np.nan)
            points: list[Branch | None] = [None] * len(times)
            left, complete = list(range(len(times))), True
            for i in reversed(range(grid.size)):
                found, enough = look(seed, float(grid[i]), left, [points[at] for at in left])
                for at, one in zip(left, found, strict=True):
                    margins[at, i], edges[at, i], points[at] = one
                complete &= enough
                if i + 2 < grid.size:
                    left = [at for at in left if not margins[at, i + 1] > 0 >= margins[at, i + 2]]
                if not left:
                    break
            values = [_crossing(grid, row, edge) for row, edge in zip(margins, edges, strict=True)]
            return np.array(values), bool(margins[-1, -1] > 0), complete

        values, beyond, complete = zip(*map(search, seeds), strict=True)
        deltas, edges = np.moveaxis(values, -1, 0)
        return _Crossings(deltas, edges, any(beyond), all(complete))

    def _limit(self, times: np.ndarray, points: int, found: _Crossings, eta: float) -> NetworkThreshold:
        curves, at = found.deltas, found.edges
        ends = [extrapolate(times, curve, edge) for curve, edge in zip(curves, at, strict=True)]
        value = float(np.mean([end[0] for end in ends]))
        scatter = abs(ends[0][0] - ends[1][0]) / 2
        # and a tenth of the distance that the line bridges: how far delta_NN(T) may bend beyond what was seen
        last = float(np.mean(curves[:, -1]))
        error = float(np.hypot(scatter, np.mean([end[1] for end in ends])) + 0.1 * abs(value - last))
        error = error if np.isfinite(error) else np.inf
        good = trusted(value, error, last) and found.complete
        start, start_edge = self._at_start()
        curve, edge = np.append(start, curves.mean(axis=0)), np.append(start_edge, at.mean(axis=0))
        runs, times = points * len(curves), np.append(0, times)
        return NetworkThreshold(value, error, runs, good, ends[0][2], times, curve, edge, eta, self.floor)


def _crossing(grid: np.ndarray, margins: np.ndarray, edges: np.ndarray) -> tuple[float, float]:
    """Return the last crossing, and the edge there; both are known at the upper end of the grid only."""
    known = np.isfinite(margins)
    value = last_crossing(grid[known], margins[known])
    return value, float(np.interp(np.log(value), np.log(grid[known]), edges[known]))
