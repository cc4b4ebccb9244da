"""Which classes to train on, so that others become retrievable untrained: chosen by theory, then checked."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import comb
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from firstlight.data.labelled import labelled
from firstlight.maths.checks import check_count
from firstlight.maths.intervals import mean_error
from firstlight.maths.refusals import check_flag, check_instance, refusal, unknown
from firstlight.maths.rng import RNGLike, SeedLike, generator, stream
from firstlight.maths.shown import Shown, short
from firstlight.unseen_classes.definitions.step import Step
from firstlight.unseen_classes.own_data import (
    Halves,
    choose_training,
    measured_recall,
    predicted_recall,
    raw_targets,
)

_RANDOM = 5  # other sets of classes, to compare with
_NETWORKS = 3
_ROWS = 60  # of a class at most, in each half
_LEAST = 8  # of an unseen class: two to choose with and two to check, of those that are queried


@dataclass(frozen=True)
class Choice(Shown):
    """Classes to train on, and what that does for classes that are left out.

    Attributes
    ----------
    unseen, classes : tuple
        The classes to be found again, and those to train on.
    predicted : float
        Mean Recall@1 of the unseen classes by theory, on rows that did not decide.
    measured : tuple of float
        The same of networks that took the step; empty if it was not checked.
    raw : float
        The same by the rows themselves.
    queries : int
        Rows of the unseen classes that were asked.
    random : tuple of (tuple, float, float)
        Other sets of as many classes, drawn at random, each once: predicted and measured.
    """

    unseen: tuple[Any, ...]
    classes: tuple[Any, ...]
    predicted: float
    measured: tuple[float, ...]
    raw: float
    queries: int
    random: tuple[tuple[tuple[Any, ...], float, float], ...] = ()

    def __str__(self) -> str:
        unseen, classes = (", ".join(map(str, one)) for one in (self.unseen, self.classes))
        text = f"to find {unseen} untrained, train on {classes}: Recall@1 {self.predicted:.3f} predicted"
        if self.measured:
            text += f", {mean_error(self.measured)[0]:.3f} measured"
        text += f"; the rows themselves {self.raw:.3f}"
        if self.random:
            usual, error = mean_error([measured for *_, measured in self.random])
            text += f", random classes {short(round(usual, 3))} ± {error:.2g}"
        return text


def choose_classes(
    X: ArrayLike,
    y: ArrayLike,
    unseen: Sequence[Any],
    *,
    step: Step | None = None,
    most: int = 4,
    check: bool = False,
    rng: RNGLike | SeedLike = 0,
) -> Choice:
    """Choose classes to train on such that given classes, left out of training, can be told apart.

    Theory decides, greedily: the best pair first, then whichever class helps most, as long as one helps. Half
    of the queried rows decide, the other half tells how good the choice is. Candidates are the six classes
    whose means lie closest to those of the unseen ones.

    Parameters
    ----------
    X : array_like, shape (n, d)
        Rows.
    y : array_like, shape (n,)
        Their classes. Those of fewer than four rows take no part.
    unseen : sequence
        One or more classes that will not be trained on, each of at least eight rows.
    step : Step, optional
        By default one of a network of width 512.
    most : int, default 4
        Train on at most so many classes.
    check : bool, default False
        Also train three networks, and one on each of five random sets of as many classes.
    rng : SPEC 7 rng, default 0
        Draws which rows are trained on and which are queried, and the networks.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> rows, digits = load_digits(return_X_y=True)
    >>> choice = choose_classes(rows[:600], digits[:600], [3, 8], most=2)
    >>> len(choice.classes), set(choice.classes) & {3, 8}, 0 < choice.predicted <= 1
    (2, set(), True)
    """
    check_flag("check", check)
    check_count("most", most, 2)
    step = Step(width=512) if step is None else step
    check_instance("step", step, Step)
    data = labelled(X, y, least=3, names=("X", "y"))
    names = data.classes.tolist()
    targets = tuple(dict.fromkeys(_place(one, names) for one in _listed(unseen)))
    for place in targets:
        if data.counts[place] < _LEAST:
            raise ValueError(f"unseen: {names[place]!r} has {data.counts[place]} rows, needs {_LEAST}")
    kept = np.flatnonzero(data.counts >= 4)
    if len(others := np.setdiff1d(kept, targets)) < 2:
        raise refusal("unseen", unseen, f"leave two classes of four rows to train on, not {len(others)}")
    rows = np.isin(data.index, kept)
    seed = int(generator(rng).integers(2**63))
    drawn = Halves.draw(data.features[rows], data.index[rows], _ROWS, stream(seed, "halves"))
    *_, choice = compared(drawn, targets, step, lambda *key: stream(seed, *key), most, check)

    def named(places: tuple[int, ...]) -> tuple[Any, ...]:
        return tuple(names[c] for c in places)

    random = tuple((named(one), predicted, measured) for one, predicted, measured in choice.random)
    return replace(choice, unseen=named(choice.unseen), classes=named(choice.classes), random=random)


def compared(
    drawn: Halves,
    targets: tuple[int, ...],
    step: Step,
    streams: Callable[..., np.random.Generator],
    most: int = 4,
    check: bool = True,
) -> Iterator[Choice]:
    """Yield the choice, then, if it is checked, again with each random set beside it; classes by number."""
    first, rows = drawn.halved()  # rows that decided would make the choice look better than it is
    classes, _ = choose_training(first, targets, step, most)
    networks = range(_NETWORKS if check else 0)
    choice = Choice(
        unseen=targets,
        classes=classes,
        predicted=predicted_recall(rows, targets, classes, step),
        measured=tuple(
            measured_recall(rows, targets, classes, step, streams("unseen", "check", i)) for i in networks
        ),
        raw=raw_targets(rows, targets),
        queries=int(np.isin(rows.y[rows.query], targets).sum()),
    )
    yield choice
    others, rng = np.setdiff1d(np.unique(rows.y), targets), streams("unseen", "random sets")
    known = {tuple(sorted(classes))}
    for i in range(min(_RANDOM, comb(len(others), len(classes)) - 1) if check else 0):
        other = next(iter(known))
        while other in known:
            other = tuple(int(c) for c in np.sort(rng.choice(others, len(classes), replace=False)))
        known.add(other)
        recall = measured_recall(rows, targets, other, step, streams("unseen", "check", _NETWORKS + i))
        beside = (other, predicted_recall(rows, targets, other, step), recall)
        choice = replace(choice, random=(*choice.random, beside))
        yield choice


def _listed(unseen: Any) -> list[Any]:
    rows = isinstance(unseen, (Sequence, np.ndarray)) and not isinstance(unseen, (str, bytes))
    if not rows or not len(unseen) or not all(np.isscalar(one) for one in unseen):
        raise refusal("unseen", unseen, "be a list of one or more classes")
    return list(unseen)


def _place(one: Any, names: list[Any]) -> int:
    """Return where a class stands, by its value or by its text."""
    if one in names:
        return names.index(one)
    written = [str(name) for name in names]
    if str(one) not in written:
        raise unknown("unseen", one, written)
    return written.index(str(one))
