"""Directions in the alignment phase to a tolerance: all neurons step together, by products with the data.

On a line from q = ⟨w, x⟩ to q₁ a datum is on for the fraction (relu(q₁) - relu(q))/(q₁ - q) of the way, and
pulls with that share of its vector. So kinks are met, not smoothed over, and a step passes hundreds of them.
The exact path (`align`) costs as much as there are events.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from firstlight.data.separable import two_classes
from firstlight.early_alignment.theory.align import align, unit_rows
from firstlight.maths.checks import as_numbers, check_neurons, check_number
from firstlight.maths.losses import gain

_MANY = 200  # data from which on kinks are so many and so small that this is worth while, its error known
_MOST = 40  # steps between outputs; a neuron that needs more slides along walls, and is walked exactly
_SAFETY, _LEAST = 2.0, 0.5  # times the steps' errors, and at least so much of the tolerance, is what is told
_FIRST, _LONGEST = 0.5, 1.5  # steps, in units of 1/‖c‖, in which an angle falls by a factor e
_ROUNDING = 2e-6  # of products in single precision, for each step


@dataclass(frozen=True, eq=False)
class Directions:
    """Neurons at some times of the alignment phase.

    Attributes
    ----------
    directions : ndarray of shape (T, h, D)
        Unit rows.
    log_growth : ndarray of shape (T, h)
        log ‖w(t)‖/‖w(0)‖.
    error : ndarray of shape (h,)
        Estimate, from half the tolerance to all of it, of the largest error of a coordinate at any of the
        times; 0 if exact.
    exact : ndarray of bool, shape (h,)
        Who was walked exactly: there are few data, or its steps did not reach the tolerance.
    """

    directions: np.ndarray
    log_growth: np.ndarray
    error: np.ndarray
    exact: np.ndarray


def directions_at(
    X: ArrayLike,
    y: ArrayLike,
    directions: ArrayLike,
    signs: ArrayLike,
    times: Sequence[float] | np.ndarray,
    tolerance: float = 1e-3,
    loss: str = "exp",
    *,
    reduction: str = "sum",
) -> Directions:
    """Return where neurons of a balanced start point at some times of the alignment phase, to a tolerance.

    Parameters
    ----------
    X, y, directions, signs, loss, reduction
        As for `align`.
    times : sequence of float
        Increasing, from 0 on.
    tolerance : float, default 1e-3
        Of a direction, from 1e-4 to 0.1. For less take `align`, which is exact, and tells fates and events.

    Returns
    -------
    Directions

    Notes
    -----
    The error is an estimate from the difference of two orders and of two clocks, summed over the steps; it is
    no proven bound. On 959 separable random problems drawn after its constants were fixed all 17 410 neurons
    kept the tolerance (the worst came to 0.95 of it); 8 had more than their own estimate, up to 1.7 times.

    Examples
    --------
    >>> from firstlight.data.separable import separable
    >>> X, y = separable(500, 10, 0.2, 0)
    >>> rng = np.random.default_rng(0)
    >>> W, s = rng.normal(size=(20, 10)), rng.choice([-1, 1], 20)
    >>> path = align(X, y, W, s)
    >>> rough = directions_at(X, y, W, s, [path.last_event], tolerance=1e-3)
    >>> bool(np.abs(rough.directions[0] - path.direction(path.last_event)).max() < 1e-3)
    True
    """
    X, y = two_classes(X, y)
    W, s = check_neurons(directions, signs, X.shape[1])
    tolerance = check_number("tolerance", tolerance, low=1e-4, high=0.1)
    at = as_numbers(times)
    if at is None or at.ndim != 1 or not len(at) or not (at[0] >= 0 and np.isfinite(at).all()):
        raise ValueError(f"times = {times!r}: must be a list of finite numbers, at least 0")
    if (np.diff(at) < 0).any():
        raise ValueError(f"times = {times!r}: must increase")
    walk = _Steps(X, y, unit_rows(W), s, at * gain(loss, reduction, len(y)), tolerance)
    for _ in range(_MOST + len(at) if len(y) >= _MANY else 0):
        if len(walk.live):
            walk.step()
    error = np.maximum(_SAFETY * walk.error, _LEAST * tolerance)
    error[walk.live] = np.inf
    exact = error > tolerance
    if exact.any():
        path = align(X, y, W[exact], s[exact], loss, reduction=reduction)
        walk.directions[:, exact], walk.log_growth[:, exact], _ = path.state(at)
    return Directions(walk.directions, walk.log_growth, np.where(exact, 0.0, error), exact)


class _Steps:
    """All neurons at their own times, with their own steps; c carries the sign of the neuron."""

    def __init__(
        self, X: np.ndarray, y: np.ndarray, u: np.ndarray, s: np.ndarray, times: np.ndarray, tolerance: float
    ) -> None:
        self._columns, self._s = X.T.astype(np.float32), s
        self._signed = (y[:, None] * X).astype(np.float32)
        self._times, self._most = times, 0.25 * tolerance
        self.directions, self.log_growth = np.empty((len(times), *u.shape)), np.empty((len(times), len(u)))
        self.live, self.error = np.arange(len(u)), np.zeros(len(u))
        self._next = np.zeros(len(u), int)
        self._u, self._t, self._growth = u, np.zeros(len(u)), np.zeros(len(u))
        self._q = self._products(u)
        self._c = self._pull(self._q > 0)
        self._step = _FIRST / np.maximum(np.linalg.norm(self._c, axis=1), 1e-300)

    def _products(self, rows: np.ndarray) -> np.ndarray:
        """Return ⟨w, x⟩ for all rows w and data x."""
        return np.asarray(rows.astype(np.float32) @ self._columns)

    def _pull(self, shares: np.ndarray) -> np.ndarray:
        """Return c of the neurons on the way, where data act with these shares."""
        pull = shares.astype(np.float32) @ self._signed
        return np.asarray(self._s[self.live, None] * pull.astype(float))

    def step(self) -> None:
        """Take one step with every neuron that is not yet at the last time, and keep those that are good."""
        who = self.live
        u, c, left = self._u[who], self._c[who], self._times[self._next[who]] - self._t[who]
        time = np.minimum(self._step[who], left)
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            end, after, products, elapsed, error = self._try(u, c, time)
            grow = np.clip(0.8 * np.cbrt(self._most / error), 0.2, 3.0)
        good = error <= self._most
        now, length = who[good], np.linalg.norm(end[good], axis=1)
        self._u[now], self._c[now] = end[good] / length[:, None], after[good]
        self._q[good] = products[good] / length[:, None].astype(np.float32)
        self._t[now] += elapsed[good]
        self._growth[now] += np.log(length)
        self.error[now] += error[good]
        there = good & (time == left)
        longest = _LONGEST / np.maximum(np.linalg.norm(self._c[who], axis=1), 1e-300)
        wanted = np.where(there, np.maximum(time * grow, self._step[who]), time * grow)  # not cut by outputs
        self._step[who] = np.minimum(wanted, longest)
        self._arrive(who[there])
        stays = self._next[who] < len(self._times)
        self.live, self._q = who[stays], self._q[stays]

    def _try(self, u: np.ndarray, c: np.ndarray, time: np.ndarray) -> tuple[np.ndarray, ...]:
        """Return w, c and Xw at the end of a step of about that time, the time it took, and its error."""
        way = _advance(u, c, time)
        line = u + way[:, None] * c  # as if nothing flipped
        straight = self._products(line)
        once = u + way[:, None] * self._pull(_share(self._q, straight))
        end = u + way[:, None] * self._pull(_share_of_bent(self._q, straight, self._products(once)))
        products = self._products(end)
        after = self._pull(products > 0)
        # The clock runs with 1/‖w‖: what the bend of the way changes in it, by Simpson's rule.
        middle, length = 0.5 * (u + end) + way[:, None] / 8 * (c - after), np.linalg.norm(end, axis=1)
        half = way * (1 / np.linalg.norm(middle, axis=1) - 2 / np.linalg.norm(u + line, axis=1))
        whole = way * (1 / length - 1 / np.linalg.norm(line, axis=1))
        across = np.linalg.norm(after - (np.vecdot(after, end) / length**2)[:, None] * end, axis=1)
        error = (
            np.linalg.norm(end - once, axis=1) / length + across * np.abs(2 * half - whole) / 3 + _ROUNDING
        )
        elapsed = time + (4 * half + whole) / 6
        return end, after, products, elapsed, np.where(np.isfinite(error), error, np.inf)

    def _arrive(self, who: np.ndarray) -> None:
        """Write down those who are at their next output, to the end of it on a straight leg."""
        u, c, at = self._u[who], self._c[who], self._next[who]
        rows = u + _advance(u, c, self._times[at] - self._t[who])[:, None] * c
        length = np.linalg.norm(rows, axis=1)
        self.directions[at, who] = rows / length[:, None]
        self.log_growth[at, who] = self._growth[who] + np.log(length)
        self._next[who] += 1


def _advance(u: np.ndarray, c: np.ndarray, time: np.ndarray) -> np.ndarray:
    """Return how far along c, in units of it, a unit row has gone after a time on a straight leg."""
    C = np.linalg.norm(c, axis=1)
    unit = np.where(C > 0, C, 1.0)
    return np.asarray((np.sinh(C * time) + np.vecdot(u, c) / unit * (np.cosh(C * time) - 1)) / unit)


def _share(q: np.ndarray, end: np.ndarray) -> np.ndarray:
    """Return for which fraction of the way data are on, whose products run from q to the end in a line."""
    way = end - q
    share = (np.maximum(end, 0) - np.maximum(q, 0)) / way
    np.copyto(share, q > 0, where=way == 0)
    return np.asarray(share)


def _share_of_bent(q: np.ndarray, straight: np.ndarray, bent: np.ndarray) -> np.ndarray:
    """Return the same for q + (q₁ - q) x + (q₂ - q₁) x², with the one root that a change of sign has."""
    share = (q > 0).astype(q.dtype)
    flips = np.flatnonzero((q > 0) != (bent > 0))
    q, straight, bent = (part.ravel()[flips] for part in (q, straight, bent))
    slope = straight - q
    rest = np.sqrt(np.maximum(slope * slope - 4 * (bent - straight) * q, 0))
    x = np.clip(2 * q / (np.copysign(rest, q) - slope), 0, 1)
    share.ravel()[flips] = np.where(q > 0, x, 1 - x)
    return np.asarray(share)
