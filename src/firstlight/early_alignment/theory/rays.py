"""Data that share a wall: rows on one line through 0, whatever their lengths and labels.

A neuron feels Σ yᵢ relu(⟨xᵢ, w⟩) alone. As relu(λq) = λ relu(q), the rows of one ray act like one; and as
relu(-q) = relu(q) - q, rows of the opposite ray do so too, but for a pull that never changes. Walked row by
row such data would meet their common wall one after another, as rounding has it, and slide on it one without
another.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from firstlight.early_alignment.definitions.walls import ON_WALL, common_walls

_CANCELLED = 1e-13  # what is left of a sum, relative to its parts, below which it is 0


@dataclass(frozen=True, eq=False)
class Walls:
    """The problem that the kernel walks: one row for each ray, or for each wall.

    Attributes
    ----------
    X, y : ndarray of shape (m, D) and (m,)
        Rows and labels; the label is 0 where the data of a row cancel, so that its events change nothing.
    drift : ndarray of shape (D,)
        The pull that is always on: where data of opposite rays agree, they are linear but for one row.
    which : ndarray of int, shape (n,), or None
        The row of each datum; None if no two data share a wall.
    mirrored : ndarray of bool, shape (n,)
        Which data are on when their row is off.
    torn : ndarray of int
        Rows whose wall has an opposite row that agrees with it, and is still a row of its own.
    """

    X: np.ndarray
    y: np.ndarray
    drift: np.ndarray
    which: np.ndarray | None
    mirrored: np.ndarray
    torn: np.ndarray

    @cached_property
    def both(self) -> np.ndarray:
        """Which rows have data on both sides of their wall: some are on when the row is off."""
        rows = np.zeros(len(self.y), bool)
        if self.which is not None:
            rows[self.which[self.mirrored]] = True
        return rows

    @cached_property
    def _members(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Data in order of their rows, the first of each row in that order, and how many there are."""
        assert self.which is not None
        counts = np.bincount(self.which, minlength=len(self.y))
        return np.argsort(self.which, kind="stable"), np.cumsum(counts) - counts, counts

    def levels(self, rows: np.ndarray) -> np.ndarray:
        """Return the levels of the data, h × n, from those of the rows."""
        if self.which is None:
            return rows
        return np.asarray(np.where(self.mirrored, 1 - rows[:, self.which], rows[:, self.which]))

    def spread(self, events: np.ndarray, active: np.ndarray, ends: np.ndarray) -> np.ndarray:
        """Return the events of the data, in the order given, from those of the rows.

        From its end on, mostly inf, a neuron sees nothing: then data switch off whose row was off before.
        """
        if self.which is None:
            return events
        data, first, counts = self._members
        many = counts[events["datum"]]
        within = np.arange(many.sum()) - np.repeat(np.cumsum(many) - many, many)
        result = np.repeat(events, many)
        result["datum"] = data[first[result["datum"]] + within]
        turned = self.mirrored[result["datum"]]
        result["level"] = np.where(turned, 1 - result["level"], result["level"])
        for j in np.flatnonzero(np.isfinite(ends) & self.mirrored.any()):
            own, end = events["neuron"] == j, ends[j]
            level = active[j : j + 1].astype(float)
            for event in events[own & (events["time"] < end)]:
                level[0, event["datum"]] = event["level"]
            seen = np.flatnonzero(self.mirrored & (self.levels(level)[0] > 0))
            off = np.array([(end, j, i, 0.0) for i in seen], events.dtype)
            wrong = (result["neuron"] == j) & (result["time"] == end) & self.mirrored[result["datum"]]
            result = np.concatenate([result[~wrong], off])
        return result


def gather(X: np.ndarray, y: np.ndarray, start: np.ndarray) -> Walls:
    """Gather the data that share a wall, for neurons with these unit rows; others stay as they are.

    Opposite rays that agree, so that one pulls off the wall what the other pulls to it, become one row and a
    drift. They stay apart where a neuron starts on their wall, and where there is no other: a neuron cannot
    slide there, and 0, the derivative of the ReLU at 0, holds for both.

    Examples
    --------
    >>> walls = gather(np.array([[1.0, 0], [2, 0], [0, 1]]), np.array([1.0, -1, 1]), np.ones((1, 2)))
    >>> walls.X.tolist(), walls.y.tolist(), walls.which.tolist()
    ([[1.0, 0.0], [0.0, 1.0]], [-1.0, 1.0], [0, 0, 1])
    """
    found = common_walls(X)
    if found is None:
        return Walls(X, y, np.zeros(X.shape[1]), None, np.zeros(len(y), bool), np.empty(0, int))
    wall, side = np.unique(found[0], return_inverse=True)[1], found[1]
    rows: list[np.ndarray] = []
    labels: list[float] = []
    torn: list[int] = []
    which, mirrored, drift = np.empty(len(y), int), np.zeros(len(y), bool), np.zeros(X.shape[1])
    order = np.argsort(wall, kind="stable")
    for data in np.split(order, np.cumsum(np.bincount(wall))[:-1]):
        if len(data) == 1:
            which[data] = len(rows)
            rows.append(X[data[0]])
            labels.append(y[data[0]])
            continue
        sizes = np.abs(X[data]).max(axis=1)
        top = data[np.argmax(sizes)]
        parts, ahead = y[data] * sizes / sizes.max(), side[data] == side[top]
        plus, minus = _sum(parts[ahead]), _sum(parts[~ahead])
        agree = plus * minus < 0
        if agree and wall.max() > 0 and _off_wall(X[top], start):
            which[data], mirrored[data] = len(rows), ~ahead
            drift -= minus * X[top]
            rays = [(plus + minus if abs(plus + minus) > _CANCELLED * abs(plus) else 0.0, X[top])]
        else:
            which[data] = len(rows) + ~ahead
            torn += [len(rows), len(rows) + 1] if agree else []
            rays = [(plus, X[top]), (minus, -X[top])][: 2 - ahead.all()]
        for weight, row in rays:
            rows.append(row * (abs(weight) or 1.0))
            labels.append(np.sign(weight))
    return Walls(np.array(rows), np.array(labels), drift, which, mirrored, np.array(torn, int))


def _sum(parts: np.ndarray) -> float:
    """Return the sum, or 0 if nothing but rounding is left of it."""
    total = float(parts.sum())
    return total if abs(total) > _CANCELLED * np.abs(parts).sum() else 0.0


def _off_wall(x: np.ndarray, start: np.ndarray) -> bool:
    x = x / np.abs(x).max()
    return bool((np.abs(start @ x) > ON_WALL * np.linalg.norm(x)).all())
