"""What the theory of unseen classes says about a user's data: which classes are retrievable untrained."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.stats import spearmanr

from firstlight.diagnosis import Clock, Figure, Finding, Prediction, Table, UserData
from firstlight.diagnosis.words import listed, number
from firstlight.maths.drawing import as_written
from firstlight.maths.intervals import mean_error, share_bounds
from firstlight.unseen_classes.choice import Choice, compared
from firstlight.unseen_classes.definitions.step import Step
from firstlight.unseen_classes.experiment.own_data import raw_recall
from firstlight.unseen_classes.own_data import Halves, LeftOut, leave_out

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

_ROWS, _CLASSES = 60, 12
_BUDGET = 1200  # rows in all
_QUERIES = 4  # of a class: two to choose with and two to check


@dataclass(eq=False)
class _State:
    """What is known so far.

    Attributes
    ----------
    halves : Halves
    left_out : list of LeftOut
    choice : Choice or None
        The classes to train on for the hardest targets, with what was predicted and measured.
    """

    halves: Halves
    left_out: list[LeftOut] = field(default_factory=list)
    choice: Choice | None = None


def diagnose(data: UserData, clock: Clock) -> Iterator[Finding]:
    """Yield ever fuller findings (see `firstlight.diagnosis`); between classes the clock is looked at."""
    if not data.classes:
        yield Finding("no", "It speaks about classes, and the labels are numbers.")
        return
    kept = [c for c, count in enumerate(data.counts) if count >= 4]
    if len(kept) < 2:
        yield Finding("no", "It needs two classes of at least four rows.")
        return
    rows = np.isin(data.y, kept)
    most = int(np.clip(_BUDGET // len(kept), 2, _ROWS))
    halves = Halves.draw(data.X[rows], data.y[rows], most, data.rng("unseen", "halves"))
    raw = raw_recall(halves.X[halves.query], halves.y[halves.query], False)
    if len(kept) == 2:
        yield _two([data.classes[c] for c in kept], halves, raw)
        return
    state = _State(halves)
    order = [kept[i] for i in np.argsort(raw)[:_CLASSES]]  # the hardest first
    step = Step(width=512)
    for place in order:
        state.left_out.append(leave_out(halves, place, step, data.rng("unseen", "network", place)))
        last = place == order[-1] and len(_targets(state)) < 2
        yield _finding(data, state, len(order), last)
        if clock.over:
            return
    if len(_targets(state)) == 2:
        yield from _choices(data, state, step, clock, len(order))


def _targets(state: _State) -> tuple[int, ...]:
    """Return the two hardest classes with enough queries, if there are three others to choose from."""
    enough = [one for one in state.left_out if one.queries >= _QUERIES]
    most = 2 if len(np.unique(state.halves.y)) >= 5 else 0
    return tuple(one.place for one in sorted(enough, key=lambda one: one.raw)[:most])


def _choices(data: UserData, state: _State, step: Step, clock: Clock, asked: int) -> Iterator[Finding]:
    """Choose training classes for the two hardest classes, and compare with random ones."""
    drawn = Halves.draw(state.halves.X, state.halves.y, _ROWS, data.rng("unseen", "choice"))
    for choice in compared(drawn, _targets(state), step, data.rng):
        state.choice = choice
        if not choice.random:
            yield _finding(data, state, asked)
        clock.check()
    yield _finding(data, state, asked, last=True)


def _two(names: list[str], halves: Halves, raw: np.ndarray) -> Finding:
    queries = np.unique(halves.y[halves.query], return_counts=True)[1]
    found = " and for ".join(
        f"{100 * share:.0f} % of {count} rows of {name} (90 % interval {100 * low:.0f} to {100 * high:.0f})"
        for name, count, share, (low, high) in zip(
            names, queries, raw, share_bounds(raw, queries / 2, 0.9), strict=True
        )
    )
    return Finding(
        "no",
        "There are two classes: leaving one out leaves a single class, and nothing to learn from.",
        measured=f"The nearest row is of the same class for {found}, without any network.",
        advice=("With a third class one could ask which unseen class becomes retrievable.",),
    )


def _finding(data: UserData, state: _State, asked: int, last: bool = False) -> Finding:
    left_out = state.left_out
    gap = float(np.mean([abs(one.predicted["recall"] - one.measured["recall"]) for one in left_out]))
    speaks: Any = "yes" if gap <= 0.05 else "in part"
    why = (
        "Recall@1 is the share of rows whose nearest row is of the same class. Measured and "
        f"predicted differ by {number(gap)} for one-step networks, over {len(left_out)} of {asked} classes "
        "left out in turn."
    )
    hardest = min(left_out, key=lambda one: one.predicted["recall"])
    says = (
        f"Left out, {data.classes[hardest.place]} is the hardest to find again: Recall@1 "
        f"{number(hardest.predicted['recall'])} after a step on the other classes; its raw rows reach "
        f"{number(hardest.raw)}."
    )
    return Finding(
        speaks, why, says, _measured(state), _advice(data, state), _predictions(data, state),
        _tables(data, state), Figure(_picture(data, state), draw, _caption(state), 2), _notes(data, state),
        f"{len(left_out)} of {asked} classes",
        last=last,
    )  # fmt: skip


def _measured(state: _State) -> str:
    left_out = state.left_out
    step, trained, raw = (
        np.mean([getter(one) for one in left_out])
        for getter in (lambda one: one.measured["recall"], lambda one: one.trained, lambda one: one.raw)
    )
    text = (
        f"Mean Recall@1 of classes left out: raw rows {number(float(raw))}, one step {number(float(step))}, "
        f"a trained network {number(float(trained))}."
    )
    return text + (" Training did not help unseen classes here." if max(step, trained) < raw - 0.005 else "")


def _advice(data: UserData, state: _State) -> tuple[str, ...]:
    left_out = state.left_out
    best = [one for one in left_out if max(one.measured["recall"], one.trained) > one.raw + 3 * _error(one)]
    advice = ["For unseen classes keep the raw rows."]
    if best:
        names = listed([data.classes[one.place] for one in best[:5]])
        advice = [f"Training helps to retrieve these classes unseen: {names}."]
    raw, even = (float(np.mean([getattr(one, name) for one in left_out])) for name in ("raw", "standardised"))
    chance = _spread(raw, sum(one.queries for one in left_out))
    if abs(raw - even) > max(0.03, 2 * chance):
        better = "Standardise the columns" if even > raw else "Do not standardise the columns"
        advice.append(f"{better}: raw Recall@1 {number(raw)}, standardised {number(even)}.")
    if state.choice:
        targets, classes = (
            listed([data.classes[c] for c in part]) for part in (state.choice.unseen, state.choice.classes)
        )
        chosen = mean_error(state.choice.measured)[0]
        text = f"To retrieve {targets} untrained, theory would train on {classes}: measured {number(chosen)}"
        text += f", raw rows {number(state.choice.raw)}"
        if others := [measured for _, _, measured in state.choice.random]:
            usual, spread = mean_error(others)
            text += f", random classes {number(usual)}"
            if chosen < usual + 2 * float(np.hypot(spread, _spread(chosen, state.choice.queries))):
                text += ", so that the choice matters little here"
        advice.append(f"{text}.")
    return tuple(advice)


def _error(one: LeftOut) -> float:
    """Return the standard error of its Recall@1: half the queries count, as neighbours are shared."""
    return _spread(one.measured["recall"], one.queries)


def _spread(share: float, queries: int) -> float:
    return float(np.sqrt(max(share * (1 - share), 0.5 / queries) / (queries / 2)))


def _predictions(data: UserData, state: _State) -> tuple[Prediction, ...]:
    predictions = []
    because = "a network of finite width, or rows of unequal length"
    for one in state.left_out:
        value = one.predicted["recall"]
        low, high = share_bounds(np.array([value]), np.array([one.queries / 2]), 0.9)[0]
        what = f"Recall@1 of {data.classes[one.place]}, left out"
        measured = one.measured["recall"]
        predictions.append(Prediction(what, value, float(low), float(high), measured, _error(one), because))
    if state.choice:
        targets = listed([data.classes[c] for c in state.choice.unseen])
        value, (measured, error) = state.choice.predicted, mean_error(state.choice.measured)
        low, high = share_bounds(np.array([value]), np.array([state.choice.queries / 2]), 0.9)[0]
        what = f"Recall@1 of {targets} after training on the chosen classes"
        predictions.append(Prediction(what, value, float(low), float(high), measured, error, because))
    return tuple(predictions)


def _tables(data: UserData, state: _State) -> tuple[Table, ...]:
    columns = (
        "class", "queries", "raw", "raw, standardised", "predicted", "measured", "trained network",
        "alignment", "measured", "elasticity", "measured",
    )  # fmt: skip
    rows = tuple(
        (data.classes[one.place], one.queries, one.raw, one.standardised, one.predicted["recall"],
         one.measured["recall"], one.trained, one.predicted["alignment"], one.measured["alignment"],
         one.predicted["elasticity"], one.measured["elasticity"])
        for one in state.left_out
    )  # fmt: skip
    note = (
        "Recall@1: is the nearest of all rows that were not trained on of the same class? Alignment: mean "
        "cosine of the features of two rows of the class. Elasticity: mean square by which a step moves them."
    )
    tables = [Table("Each class left out in turn", columns, rows, note)]
    if state.choice:
        sets = [(state.choice.classes, state.choice.predicted, mean_error(state.choice.measured)[0])]
        lines = tuple(
            (
                ", ".join(data.classes[c] for c in classes),
                "chosen" if i == 0 else "random",
                predicted,
                measured,
            )
            for i, (classes, predicted, measured) in enumerate([*sets, *state.choice.random])
        )
        targets = listed([data.classes[c] for c in state.choice.unseen])
        tables.append(
            Table(f"Training sets for {targets}", ("trained on", "", "predicted", "measured"), lines)
        )
    return tuple(tables)


def _picture(data: UserData, state: _State) -> dict[str, Any]:
    left_out = state.left_out
    return {
        "classes": [data.classes[one.place] for one in left_out],
        "raw": [one.raw for one in left_out],
        "predicted": [one.predicted["recall"] for one in left_out],
        "measured": [one.measured["recall"] for one in left_out],
        "trained": [one.trained for one in left_out],
    }


def draw(data: Mapping[str, Any], canvas: "Canvas") -> None:
    """Draw predicted against measured Recall@1, and all of them by class."""
    left, right = canvas.axes
    both = [*data["predicted"], *data["measured"], *data["trained"], 1.0]
    low = max(0.0, min(both) - 0.05)
    left.plot([low, 1], [low, 1], color="#999999", linewidth=1)
    left.plot(data["predicted"], data["measured"], "o", label="one-step network")
    left.plot(data["predicted"], data["trained"], "s", color="#cc4125", label="trained network")
    left.set_xlabel("predicted Recall@1")
    left.set_ylabel("measured Recall@1")
    left.legend()
    place = np.arange(len(data["classes"]))
    right.plot(place, data["raw"], "_", markersize=14, color="#555555", label="raw rows")
    right.plot(place, data["predicted"], label="theory, one step")
    right.plot(place, data["measured"], "o", color="#0b5394", label="one-step network")
    right.plot(place, data["trained"], "s", color="#cc4125", label="trained network")
    turned = 90 if max(len(name) for name in data["classes"]) > 3 else 0
    right.set_xticks(place, [as_written(name, 14) for name in data["classes"]], rotation=turned)
    right.set_xlabel("class left out")
    right.legend()


def _caption(state: _State) -> str:
    return (
        "Each class was left out, a network trained on the others, and its rows were looked up among all "
        f"rows that were not trained on ({len(state.halves.query)} rows)."
    )


def _notes(data: UserData, state: _State) -> tuple[str, ...]:
    notes = []
    left_out = state.left_out
    if len(left_out) >= 5:
        columns = {
            "one step": [one.measured["recall"] for one in left_out],
            "trained network": [one.trained for one in left_out],
        }
        for name, values in columns.items():
            ranks = [
                float(spearmanr(other, values).statistic)
                if np.ptp(other) and np.ptp(values)
                else float("nan")
                for other in ([one.predicted["recall"] for one in left_out], [one.raw for one in left_out])
            ]
            better = "theory" if ranks[0] >= ranks[1] else "raw neighbours"
            notes.append(
                f"Ranking of classes by {name}: theory {number(ranks[0])}, raw neighbours "
                f"{number(ranks[1])} (Spearman); here {better} tell more."
            )
    notes.append("Predictions are for one step of a wide network; a network trained for long may differ.")
    if len(data.classes) > _CLASSES:
        notes.append(f"The {_CLASSES} classes with the lowest raw Recall@1 were left out in turn.")
    return tuple(notes)
