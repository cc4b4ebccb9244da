"""What the alignment phase is, once walked: fates, times, events, and every neuron at any time."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from firstlight.early_alignment.theory.rays import Walls
from firstlight.maths.checks import check_reals
from firstlight.maths.drawing import COLOURS, axes, steps
from firstlight.maths.shown import Shown
from firstlight.maths.solvers import bracketing_root
from firstlight.maths.workers import on_one_thread

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_FATES = {"in S₊": 1, "in S₋": -1, "dead": 0, "elsewhere": 2}
_EVENT = np.dtype([("time", "f8"), ("neuron", "i8"), ("datum", "i8"), ("level", "f8")])


@dataclass(frozen=True, eq=False, repr=False)
class AlignmentPath(Shown):
    """Every neuron's way through the alignment phase; see `align`.

    Attributes
    ----------
    fate : ndarray of int, shape (h,)
        +1: ends in S₊ (active on exactly the positive data), -1: in S₋, 0: dead (active on none), 2: none of
        these, which takes data that are not orthogonally separable or a path cut short by `until`. Where one
        class is empty, S± of that class is the dead region and reads 0. A balanced start exactly on the ray
        of the other class's centre shrinks for ever without turning, and reads as that class.
    entry_time : ndarray of shape (h,)
        When the neuron entered that S±; inf if it did not.
    death_time : ndarray of shape (h,)
        When the last datum switched off; inf for a neuron that lives.
    complete : ndarray of bool, shape (h,)
        Whether no event can follow; False after `until`, or where the number of events ran away.
    notes : tuple of str
        What a reader should know, such as neurons that were frozen on the wall of the dead region.
    """

    X: np.ndarray
    y: np.ndarray
    start: np.ndarray  # unit rows
    second: np.ndarray  # v/‖w‖ at the start
    gain: float
    until: float
    fate: np.ndarray
    entry_time: np.ndarray
    death_time: np.ndarray
    complete: np.ndarray
    notes: tuple[str, ...]
    _walls: Walls  # what was walked: the records below are about its rows
    _vanished: np.ndarray  # whether a neuron comes to nothing
    _unseeing: np.ndarray  # whether it does, or rests on walls alone: nothing is on then, on any side
    _at_rest: np.ndarray  # whether a neuron stops at its last event
    _active: np.ndarray  # which rows are on at the start
    _numbers: np.ndarray  # rows (time, log unit, advance, v, level), by neuron, lengths in that unit
    _data: np.ndarray
    _first: np.ndarray  # a neuron's first row, and how many there are; rows between are void
    _count: np.ndarray
    _ends: tuple[np.ndarray, np.ndarray, np.ndarray]  # rows, centres after the last event; whose are known

    def __repr__(self) -> str:
        """Say in one line how many neurons there are, and where they end."""
        counts = {name: int((self.fate == code).sum()) for name, code in _FATES.items()}
        ends = ", ".join(f"{count} {name}" for name, count in counts.items() if count)
        events = f"{self._count.sum()} events to t = {self.last_event:.4g}"
        return f"AlignmentPath({len(self.fate)} neurons: {ends}; {events})"

    def plot(self, ax: "Axes | None" = None) -> "Axes":
        """Draw how many neurons have reached S₊, S₋ or the dead region by each time."""
        ax = axes(ax)
        for colour, (name, code) in zip(COLOURS, _FATES.items(), strict=False):
            if (of := self.fate == code).any():
                steps(ax, np.minimum(self.entry_time, self.death_time)[of], name, colour)
        ax.set(xlabel="time", ylabel="neurons")
        ax.legend()
        return ax

    @property
    def events(self) -> np.ndarray:
        """All events in order of time: a structured array with fields time, neuron, datum, level.

        Level 1 is on, 0 is off; a value between is the share of a datum on whose wall the neuron slides. Data
        that share a wall flip, and slide, together.
        """
        events = np.empty(self._count.sum(), _EVENT)
        events["neuron"] = np.repeat(np.arange(len(self.fate)), self._count)
        within = np.arange(len(events)) - np.repeat(np.cumsum(self._count) - self._count, self._count)
        rows = self._first[events["neuron"]] + within
        events["time"], events["datum"] = self._numbers[rows, 0], self._data[rows]
        events["level"] = self._numbers[rows, 4]
        events = events[events["datum"] >= 0]  # -1: an advance, or a centre formed anew
        ends = np.where(self._unseeing, self.death_time, np.inf)
        events = self._walls.spread(events, self._active, ends)
        return events[np.argsort(events["time"], kind="stable")]

    @property
    def last_event(self) -> float:
        """Time of the latest event of all neurons; 0 if there is none."""
        return float(last_times(self._numbers, self._first, self._count).max())

    def direction(self, t: float | np.ndarray) -> np.ndarray:
        """Return unit rows w/‖w‖ at time t, shape (h, D); for a list of T times, shape (T, h, D)."""
        return self.state(t)[0]

    def log_growth(self, t: float | np.ndarray) -> np.ndarray:
        """Return log ‖w(t)‖/‖w(0)‖ at time t, shape (h,); for a list of T times, shape (T, h)."""
        return self.state(t)[1]

    def state(self, t: float | np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return directions, log growth and v/‖w‖ at a time, or at a list of times, from 0 up to `until`.

        All times of a list are found in one pass over the events.
        """
        times = check_reals("t", t, "(), one time, or (times,)")
        if times.ndim > 1 or not ((times >= 0) & (times <= self.until)).all():
            raise ValueError(f"t = {t}: must lie in [0, {self.until}], one time or a list")
        order = np.argsort(times, axis=None, kind="stable")
        *states, _ = self._replay(np.repeat(times.reshape(-1)[order, None], len(self.fate), axis=1))
        back = np.argsort(order)
        u, growth, ratio = ((part if len(back) == 1 else part[back]) for part in states)
        return (u, growth, ratio) if times.ndim else (u[0], growth[0], ratio[0])

    def time_to_cosine(self, gap: float) -> np.ndarray:
        """Return from when on each neuron is within cosine 1 - gap of the centre it ends at, on its last leg.

        Never before its last event; inf for dead and frozen neurons.
        """
        from firstlight.early_alignment.theory.kernel.state import ALONG

        if not 0 < gap < 1:
            raise ValueError(f"gap = {gap}: must lie in (0, 1)")
        since = last_times(self._numbers, self._first, self._count)
        (w,), (growth,), (v,), c = self._replay(since[None])
        C = np.linalg.norm(c, axis=1)
        unit = np.divide(c, C[:, None], out=np.zeros_like(c), where=C[:, None] > 0)
        a = np.einsum("jd,jd->j", w, unit)
        across = np.einsum("jd,jd->j", *[w - a[:, None] * unit] * 2)
        across[across <= ALONG] = 0.0
        target = np.sqrt(across) * (1 - gap) / np.sqrt(gap * (2 - gap))
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            K = (self.second**2 - 1) * np.exp(-2 * growth) + across
            ahead = np.where(v * a < 0, K / (v - a), v + a)
            side = np.sign(ahead)  # v may still turn; this is how it ends
            v, a, v_end = side * v, side * a, np.sqrt(np.maximum(K + target**2, 0))
            # Where v is large, v_end - v from the difference of the squares, which does not cancel.
            more = (target - a) * (target + a) / (v_end + v) + target - a
            more = np.where(2 * np.abs(ahead) > np.abs(v), more, v_end + target - np.abs(ahead))
            elapsed = np.where(target**2 > -K, np.log1p(more / np.abs(ahead)), 0.0)
        moving = self.complete & ~self._at_rest & (np.abs(ahead) > 0)
        return np.where(moving, since + np.maximum(elapsed, 0) / np.where(C > 0, self.gain * C, 1), np.inf)

    @property
    def settled(self) -> bool:
        """Whether every neuron ends in S₊, in S₋ or dead."""
        return bool(self.complete.all() and (self.fate != 2).all())

    def log_output(self, t: float, log_norms: np.ndarray, label: int | None = None) -> float:
        """Return log max |f| at time t for a start with the given log ‖w‖: of all, or of S± on its class."""
        rows, points = (
            (slice(None), self.X) if label is None else (self.fate == label, self.X[self.y == label])
        )
        u, growth, second = (part[rows] for part in self.state(t))
        rho = log_norms[rows] + growth
        top = rho.max(initial=-1e300, where=np.isfinite(rho))
        f = (second * np.exp(2 * (rho - top))) @ np.maximum(u @ points.T, 0)
        with np.errstate(divide="ignore"):
            return float(2 * top + np.log(np.abs(f).max(initial=0.0)))

    def log_effect(self, t: float, log_norms: np.ndarray, label: int | None = None) -> float:
        """Return log of a bound on what outputs, which the path neglects, have done to any neuron by time t.

        They change slopes of the loss by at most |f|, relative to the slope at 0, so that no neuron has been
        turned or stretched by more than gain Σ‖x‖ ∫ max |f| dt. And max |f| ≤ B = max ‖x‖ Σ (‖w‖² + v²)/2.
        log B is convex in time, for E = ‖w‖² + v² has E' = 4 v⟨w, c⟩, which no event makes jump, and E'' =
        4 (⟨w, c⟩² + v²‖c‖²) ≥ E'²/E; so the exponential between the ends of B bounds its integral. Neurons
        that are dead from the start do not count, and with a label only those of S± on their class.
        """
        rows = self.death_time > 0 if label is None else self.fate == label
        length = np.linalg.norm(self.X if label is None else self.X[self.y == label], axis=1)
        if t == 0 or not rows.any():
            return -np.inf
        rest = self.second**2 - 1  # v² - ‖w‖², which never changes, in units of ‖w‖² at the start
        ends = []
        for growth in (np.zeros(len(rows)), self.state(t)[1]):
            with np.errstate(divide="ignore"):  # of what has shrunk to nothing v is left
                grown = 2 * growth + np.log(2 + np.minimum(rest, 0) * np.exp(-2 * np.maximum(growth, -300)))
                squares = 2 * log_norms + np.logaddexp(grown, np.log(np.maximum(rest, 0)))
            ends.append(np.logaddexp.reduce(squares[rows]))
        low, high = sorted(ends)
        mean = high + (np.log(-np.expm1(low - high) / (high - low)) if high > low else 0.0)
        return float(mean + np.log(t) + np.log(0.5 * self.gain * length.sum() * length.max()))

    def quiet_until(
        self, log_norms: np.ndarray, level: float, latest: float, label: int | None = None
    ) -> float:
        """Return the last time, 0 to `latest`, up to which outputs have provably not done more than `level`.

        Up to there the path holds for a finite start too; see `log_effect`.
        """

        def excess(t: float) -> float:
            return self.log_effect(t, log_norms, label) - float(np.log(level))

        high = min(1 / (self.gain * np.linalg.norm(self.X, axis=1).sum()), latest)
        beyond = excess(high)
        if beyond > 0:  # before neurons have moved by their own length
            return 0.0
        while beyond <= 0 and high < latest:
            low, high = high, min(2 * high, latest)
            beyond = excess(high)
        return high if beyond <= 0 else bracketing_root(excess, low, high, tolerance=1e-9).value

    @on_one_thread
    def _replay(self, times: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Find directions, log growth and v/‖w‖ at times (T × h, increasing), and c after the last."""
        from firstlight.early_alignment.theory.kernel.replay import replay

        u, growth, ratio = (
            np.empty((*times.shape, self.X.shape[1])),
            np.empty(times.shape),
            np.empty(times.shape),
        )
        records = self._numbers, self._data, self._first, self._count
        c = np.zeros_like(self.start)
        last = last_times(self._numbers, self._first, self._count)
        walked = ~self._ends[2] | (times < last).any(axis=0)
        X, y, drift = self._walls.X, self._walls.y, self._walls.drift
        c[walked] = (self._active[walked] * y) @ X + drift
        given = X, y, drift, self.start, self.second, self._active, records, self._ends, self._at_rest
        replay(*given, self.gain, times, u, growth, ratio, c)
        growth[self._vanished & (times >= self.death_time)] = -np.inf
        return u, growth, ratio, c


def last_times(numbers: np.ndarray, first: np.ndarray, count: np.ndarray) -> np.ndarray:
    """Time of each neuron's last event, 0 for one without, from the kernel's records."""
    return np.where(count > 0, numbers[first + np.maximum(count - 1, 0), 0], 0.0)
