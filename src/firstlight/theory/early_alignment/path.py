"""What the alignment phase is, once walked: fates, times, events, and every neuron at any time."""

from dataclasses import dataclass

import numpy as np

from firstlight.solvers import bracketing_root

_ALONG = 1e-29  # squared distance from a line, of a unit vector on it to rounding, as in the kernel
_FATES = {"in S₊": 1, "in S₋": -1, "dead": 0, "elsewhere": 2}
_EVENT = np.dtype([("time", "f8"), ("neuron", "i8"), ("datum", "i8"), ("level", "f8")])


@dataclass(frozen=True, eq=False, repr=False)
class AlignmentPath:
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
    _vanished: np.ndarray
    _first_level: np.ndarray
    _numbers: np.ndarray  # rows (time, log norm, advance, v/‖w‖, level), by neuron
    _data: np.ndarray
    _offsets: np.ndarray

    def __repr__(self) -> str:
        """Say in one line how many neurons there are, and where they end."""
        counts = {name: int((self.fate == code).sum()) for name, code in _FATES.items()}
        ends = ", ".join(f"{count} {name}" for name, count in counts.items() if count)
        events = f"{len(self._data)} events to t = {self.last_event:.4g}"
        return f"AlignmentPath({len(self.fate)} neurons: {ends}; {events})"

    @property
    def events(self) -> np.ndarray:
        """All events in order of time: a structured array with fields time, neuron, datum, level.

        Level 1 is on, 0 is off; a value between is the share of a datum on whose wall the neuron slides.
        """
        found = np.empty(len(self._data), _EVENT)
        found["time"], found["datum"], found["level"] = self._numbers[:, 0], self._data, self._numbers[:, 4]
        found["neuron"] = np.repeat(np.arange(len(self.fate)), np.diff(self._offsets))
        return found[np.argsort(found["time"], kind="stable")]

    @property
    def last_event(self) -> float:
        """Time of the latest event of all neurons; 0 if there is none."""
        return float(self._numbers[:, 0].max(initial=0.0))

    def direction(self, t: float) -> np.ndarray:
        """Return unit rows w/‖w‖ at time t, shape (h, D)."""
        return self.state(t)[0]

    def log_growth(self, t: float) -> np.ndarray:
        """Return log ‖w(t)‖/‖w(0)‖, shape (h,)."""
        return self.state(t)[1]

    def state(self, t: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return directions (h, D), log growth (h,) and v/‖w‖ (h,) at one time, from 0 up to `until`."""
        if not 0 <= t <= self.until:
            raise ValueError(f"t = {t}: must lie in [0, {self.until}]")
        w, log_norm, v, c, since = self._latest(t)
        C, a, across, K = self._line(w, v, c, log_norm)
        unit = np.divide(c, C[:, None], out=np.zeros_like(c), where=C[:, None] > 0)
        opposed = v * a < 0
        tau = self.gain * C * (t - since)
        shrinking = np.where(opposed & (K == 0) & (across == 0), tau, 0.0)  # straight back to 0, for ever
        tau -= shrinking
        decay = np.exp(-tau)
        # a(t) e^{-tau}, from v ± a = (v0 ± a0) e^{±tau}; K/(v - a) stands in where v + a would cancel.
        ahead = np.divide(K, v - a, out=v + a, where=opposed)
        along = 0.5 * (ahead - (v - a) * decay**2)
        final = decay[:, None] * w + (along - a * decay)[:, None] * unit
        length = np.sqrt(along**2 + across * decay**2)
        gone = self._vanished & (t >= self.death_time)
        growth = np.where(gone, -np.inf, log_norm - shrinking + tau + np.log(length))
        v_end = 0.5 * (ahead + (v - a) * decay**2) / length
        return final / length[:, None], growth, v_end

    def time_to_cosine(self, gap: float) -> np.ndarray:
        """Return when each neuron comes within cosine 1 - gap of the centre it ends at, on its last leg.

        Never before its last event; inf for dead and frozen neurons.
        """
        if not 0 < gap < 1:
            raise ValueError(f"gap = {gap}: must lie in (0, 1)")
        w, log_norm, v, c, since = self._latest(self.until)
        C, a, across, K = self._line(w, v, c, log_norm)
        target = np.sign(v) * np.sqrt(across) * (1 - gap) / np.sqrt(gap * (2 - gap))
        with np.errstate(divide="ignore", invalid="ignore"):
            ahead = np.where(v * a < 0, K / (v - a), v + a)
            elapsed = np.log((np.sign(v) * np.sqrt(np.maximum(K + target**2, 0)) + target) / ahead)
        moving = self.complete & (C > 0) & (np.abs(ahead) > 0)
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

    def quiet_until(
        self, log_norms: np.ndarray, level: float, latest: float, label: int | None = None
    ) -> float:
        """Return the last time, 0 to `latest`, up to which max |f| has not outgrown `level`.

        As long as outputs are small the path holds for a finite start too, with an error of their order.
        """

        def excess(t: float) -> float:
            return self.log_output(t, log_norms, label) - float(np.log(level))

        low, high = 0.0, min(self.last_event, latest)
        if excess(high) <= 0:
            low, high = high, max(2 * high, 1e-3 / self.gain)
            while high < latest and excess(high) <= 0:
                low, high = high, 4 * high
            high = min(high, latest)
        if excess(low) > 0:
            return 0.0
        return high if excess(high) <= 0 else bracketing_root(excess, low, high, tolerance=1e-9).value

    def _latest(self, t: float) -> tuple[np.ndarray, ...]:
        """Find unit rows, log norms, v/‖w‖, centres c and times at each neuron's latest event up to t."""
        from firstlight.theory.early_alignment.replay import replay

        coefficients = np.zeros((len(self.fate), len(self.y)))
        level = np.empty_like(coefficients)
        last = np.stack([np.zeros_like(self.second), np.zeros_like(self.second), self.second], axis=1)
        replay(
            self.y, self._first_level, self._numbers, self._data, self._offsets, t, coefficients, level, last
        )
        since, log_norm, v = last.T
        w = np.exp(-log_norm)[:, None] * self.start + coefficients @ self.X
        c = (level * self.y) @ self.X
        still = np.linalg.norm(c, axis=1) <= 1e-13 * np.linalg.norm(self.X, axis=1).max()
        return w, log_norm, v, np.where(still[:, None], 0.0, c), since

    def _line(
        self, w: np.ndarray, v: np.ndarray, c: np.ndarray, log_norm: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Return ‖c‖, the part a of w along c, the squared rest, and the conserved K = v² - a²."""
        C = np.linalg.norm(c, axis=1)
        unit = np.divide(c, C[:, None], out=np.zeros_like(c), where=C[:, None] > 0)
        a = np.einsum("jd,jd->j", w, unit)
        across = np.einsum("jd,jd->j", *[w - a[:, None] * unit] * 2)
        across[across <= _ALONG] = 0.0
        return C, a, across, (self.second**2 - 1) * np.exp(-2 * log_norm) + across
