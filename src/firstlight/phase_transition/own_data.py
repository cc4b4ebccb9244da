"""A user's rows as the phase transition sees them: whitened, their directions, and what a network learns."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from firstlight.diagnosis import Clock, UserData
from firstlight.maths.intervals import mean_error
from firstlight.phase_transition.experiment.learnt import held_out_errors, leading_directions, overlap, train
from firstlight.phase_transition.theory.hidden import (
    HINT,
    Found,
    directions_of,
    hard_directions,
    whitened,
)

_ROWS, COLUMNS = 4000, 100
_PARTS, _PART_ROWS, _PERMUTATIONS = 8, 30, 39


@dataclass(eq=False)
class State:
    """What is known so far.

    Attributes
    ----------
    z, x, y : ndarray
        Whitened rows, the same rows in the user's columns, and labels.
    kept : float
        Share of the variance that the leading columns hold, where there were too many.
    easy, hard : Found, optional
    delta : tuple of float, optional
        1/delta_alg and its error.
    visible : tuple of float, optional
        Rows per column from which the test sees a hidden direction in every other part of the rows, and the
        standard error; None: it was not looked for; NaN: it does so in the smallest parts too.
    halves : list of dict
        Overlaps and errors, one for each way to halve the rows.
    picture : dict
    """

    z: np.ndarray
    x: np.ndarray
    y: np.ndarray
    kept: float
    easy: Found | None = None
    hard: Found | None = None
    delta: tuple[float, float] | None = None
    visible: tuple[float, float] | None = None
    halves: list[dict[str, float]] = field(default_factory=list)
    picture: dict[str, Any] = field(default_factory=dict)

    @property
    def ratio(self) -> float:
        """Rows per column."""
        return self.z.shape[0] / self.z.shape[1]

    @property
    def lengths(self) -> float:
        """By how much more the rows' squared lengths vary than those of Gaussian rows."""
        square = (self.z**2).sum(axis=1)
        return float(square.std() / square.mean() / np.sqrt(2 / self.z.shape[1]))


def begin(data: UserData) -> State:
    """Choose rows, take the leading columns where there are too many, and whiten."""
    rows = data.rng("phase", "rows").permutation(len(data.y))[:_ROWS]  # the file's order must not matter
    x, y, kept = data.X[rows], data.y[rows], 1.0
    if x.shape[1] > COLUMNS:
        centred = x - x.mean(axis=0)
        values, vectors = np.linalg.eigh(centred.T @ centred)
        kept = float(values[-COLUMNS:].sum() / values.sum())
        return State(whitened(centred @ vectors[:, -COLUMNS:]), x, y, kept)
    return State(whitened(x), x, y, kept)


def _numbers(state: State) -> tuple[int, int]:
    """How many easy and hard directions were found."""
    return state.easy.count if state.easy else 0, state.hard.count if state.hard else 0


def halve(data: UserData, state: State, half: int, clock: Clock) -> None:
    """Find directions in one half of the rows, and of each class, and train a network on the other."""
    rng, classes = data.rng("phase", "half", half), len(data.classes)
    order = rng.permutation(len(state.y))
    if classes:
        order = order[np.argsort(state.y[order], kind="stable")]
    one, two = (rng.permutation(order[start::2]) for start in (0, 1))
    if classes and min(len(np.unique(state.y[part])) for part in (one, two)) < 2:
        return
    easy, hard = _numbers(state)
    statistic = state.hard.statistic if state.hard else 0
    model = train(state.z[two], state.y[two], classes, rng, check=clock.check)
    learnt = leading_directions(model, state.z[two], easy + hard)
    here, there = (directions_of(state.z[p], state.y[p], classes, easy, hard, statistic) for p in (one, two))
    overlaps: dict[str, float] = {}
    for name, a, b in zip(("easy", "hard"), here, there, strict=True):
        if a.shape[1]:
            overlaps |= {f"{name} statistic": overlap(a, b), f"{name} network": overlap(a, learnt)}
    overlaps["linear"], overlaps["network"] = held_out_errors(
        (state.z[two], state.y[two]), (state.z[one], state.y[one]), classes, model
    )
    state.halves.append(overlaps)
    if half == 0:
        shown = two[:400]
        candidates = directions_of(state.z[one], state.y[one], classes, max(easy, 1), max(hard, 1), statistic)
        state.picture = {
            "linear": (state.z[shown] @ candidates[0][:, 0]).tolist(),
            "hidden": (state.z[shown] @ candidates[1][:, :1]).ravel().tolist(),  # nothing if all are linear
            "labels": state.y[shown].tolist(), "classes": list(data.classes[:6]),
            "found": [easy > 0, hard > 0],
        }  # fmt: skip


def visible_from(data: UserData, state: State, clock: Clock) -> tuple[float, float]:
    """Measure from how many rows per column on the test sees a hidden direction half the time.

    Parts of half the rows, a quarter and so on are drawn until fewer than half of them show it at p ≤ 0.05.
    Returned with its standard error, of so few parts; NaN if the smallest parts show it too.
    """
    assert state.easy is not None
    rng, (n, d) = data.rng("phase", "parts"), state.z.shape
    seen = [(float(n), 1.0)]
    for size in (n >> power for power in range(1, 20)):
        if size < _PART_ROWS:
            return float("nan"), float("nan")
        shown = 0
        for _ in range(_PARTS):
            rows = rng.choice(n, size, replace=False)
            test = hard_directions(
                state.z[rows], state.y[rows], len(data.classes), state.easy.directions, _PERMUTATIONS, rng,
                clock.check, most=1,
            )  # fmt: skip
            shown += test.p[0] <= HINT
        seen.append((float(size), shown / _PARTS))
        if seen[-1][1] < 0.5:
            break
    (more, high), (less, low) = seen[-2:]
    share = (0.5 - low) / (high - low)
    value = float(less * (more / less) ** share / d)
    # all rows show it; of parts the share is known to √(s(1-s)/parts), with half a part for neither
    spread = [0.0 if size == n else _binomial(s) for size, s in seen[-2:]]
    octaves = np.hypot(share * spread[0], (1 - share) * spread[1]) / (high - low)
    return value, value * float(np.log(more / less) * octaves)


def _binomial(share: float) -> float:
    smoothed = (share * _PARTS + 0.5) / (_PARTS + 1)
    return float(np.sqrt(smoothed * (1 - smoothed) / _PARTS))


def mean_of_halves(state: State, name: str) -> tuple[float, float]:
    """Mean over the halves, and its standard error."""
    return mean_error([half[name] for half in state.halves if name in half])
