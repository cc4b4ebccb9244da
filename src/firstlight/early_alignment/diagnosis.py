"""What early alignment says about a user's data: where neurons turn first, and from how small a start."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from firstlight.diagnosis import Clock, Figure, Finding, Prediction, Table, UserData
from firstlight.diagnosis.words import number, with_error
from firstlight.early_alignment.own_data import (
    LEAST,
    PAIRS,
    RESTS,
    ROWS,
    SMALLEST,
    WIDTH,
    Pair,
    follow,
    hardest_pairs,
)
from firstlight.early_alignment.theory.align import is_compiled
from firstlight.early_alignment.theory.bounds import bounds
from firstlight.early_alignment.theory.geometry import geometry
from firstlight.early_alignment.theory.own_data import course
from firstlight.maths.intervals import mean_error

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

_STARTS = 3
_LEVEL = 0.01  # outputs that are neglected
_PATIENCE = 30.0  # seconds below which nobody wants to wait for a compiler
_WORDS = {"holds": "holds for nearly all", "mostly": "mostly holds", "in part": "holds in part only"}
_SPEAKS: dict[str, Any] = {"holds": "yes", "mostly": "in part", "in part": "in part"}


def diagnose(data: UserData, clock: Clock) -> Iterator[Finding]:
    """Yield ever fuller findings (see `firstlight.diagnosis`); between starts the clock is looked at."""
    if not data.classes:
        yield Finding("no", "It speaks about two classes, and the labels are numbers.")
        return
    pairs = hardest_pairs(data)
    if not pairs:
        yield Finding("no", f"It needs two classes of at least {LEAST} different rows.")
        return
    yield _finding(data, pairs)
    if not is_compiled():
        if clock.seconds < _PATIENCE:
            late = "Neurons were not followed: code is compiled at first use, which takes half a minute."
            yield replace(_finding(data, pairs), measured=late)
            return
        yield replace(_finding(data, pairs), progress="compiling, once: about half a minute")
        with clock.paused():
            for other in (0.0, 0.5):  # separable, and not: code of its own for each
                X = np.array([[1.0, 0.0], [other, 1.0]])
                course(X, np.array([1.0, -1.0]), np.eye(2), np.ones(2))
    followed = [*pairs[:PAIRS], *sorted(pairs[PAIRS:], key=lambda pair: pair.best.q10)[:1]]
    for start in range(_STARTS):
        for pair in followed:
            follow(data, pair, start)
            yield _finding(data, pairs)
            if clock.over:
                return


def _finding(data: UserData, pairs: list[Pair]) -> Finding:
    main = pairs[0]
    words = main.best.word
    why = (
        f"{main.name}: rows of one class should point the same way, and of two classes apart. "
        f"{100 * (1 - main.best.share):.0f} % of all pairs do, nine in ten with a cosine above "
        f"{number(main.best.q10)}: this assumption (orthogonal separability) {_WORDS[words]}."
    )
    done = sum(len(pair.starts) for pair in pairs)
    planned = _STARTS * min(len(pairs), PAIRS + 1)  # the hardest pairs, and one class against the rest
    return Finding(
        _SPEAKS[words], why, _says(main), _measured(main), _advice(main), _predictions(pairs),
        _tables(data, pairs), Figure(_curves(main), draw, _caption(main), 2 if main.curves else 1),
        _notes(data, main), f"{done} of {planned} starts", "tolerance", done == planned,
    )  # fmt: skip


def _mean(pair: Pair, name: str) -> tuple[float, float]:
    return mean_error([start[name] for start in pair.starts if name in start])


def _scale(pair: Pair) -> str:
    """Write the practical start, however small."""
    smallest = min(start["log_scale"] for start in pair.starts)
    return f"{np.exp(smallest):.1e}" if smallest > SMALLEST else f"10^{smallest / np.log(10):.0f}"


def _says(main: Pair) -> str:
    if not main.starts:
        return ""
    share = (100 * main.fates / main.fates.sum()).round().astype(int)
    return (
        f"{share[0] + share[3]} % of the neurons turn to {main.classes[0]} ({share[0]} % become active on "
        f"exactly its rows), {share[1] + share[4]} % to {main.classes[1]} ({share[1]} %), {share[2]} % die. "
        f"They have turned by time {number(_mean(main, 'time')[0])} (steps × step size), if weights begin no "
        f"longer than {_scale(main)}."
    )


def _measured(main: Pair) -> str:
    if not main.starts:
        return ""
    predicted, chance = (100 * _mean(main, name)[0] for name in ("right", "chance"))
    right = _prediction(main, "right", "")
    if not right.checked:
        return "Gradient descent was not run: no computer holds numbers as small as that start."
    measured, error = 100 * right.measured, 100 * right.uncertainty
    worth = "; " if measured > chance + 2 * error else ": no better than chance, as far as these tell; "
    return (
        f"Gradient descent from there: {with_error(measured, error)} % of the neurons' answers on "
        f"{len(main.asked[1])} unseen rows are right (predicted {predicted:.0f} %, by chance {chance:.0f} %)"
        f"{worth}nineteen neurons in twenty are within cosine {_mean(main, 'cosine')[0]:.4f} of where theory "
        "has them."
    )


def _advice(main: Pair) -> tuple[str, ...]:
    advice = []
    if main.starts:
        advice.append(f"To see neurons align first, start with weights of length {_scale(main)} or less.")
    if main.raw.share - main.centred.share > 0.01:
        advice.append(
            f"Subtract the mean row: pairs that violate the assumption fall from "
            f"{100 * main.raw.share:.0f} % to {100 * main.centred.share:.0f} %."
        )
    return tuple(advice)


def _predictions(pairs: list[Pair]) -> tuple[Prediction, ...]:
    asked = {
        "right": "right answers of neurons on unseen rows",
        "dead": "share of dead neurons",
        "rank": "effective rank of the first layer",
        "output": "largest output when neurons have turned",
    }
    predictions = []
    for pair in pairs:
        for key in asked if pair is pairs[0] else ("right",):
            if pair.starts:
                predictions.append(_prediction(pair, key, f"{asked[key]}, {pair.name}"))
    return tuple(predictions)


def _prediction(pair: Pair, key: str, what: str) -> Prediction:
    """Compare the exact path with descent; it neglects outputs, which may reach one per cent."""
    unchecked = f"no computer holds numbers as small as the start, {_scale(pair)}"
    if key == "output":
        measured, error = _mean(pair, "output")
        because = unchecked if np.isnan(measured) else "neurons do not arrive all at once"
        return Prediction(what, _LEVEL, 0.8 * _LEVEL, 1.1 * _LEVEL, measured, error, because)
    value = _mean(pair, key)[0]
    wide = _LEVEL * (value if key == "rank" else 1)
    measured, error = _mean(pair, f"{key} measured")
    because = "outputs are not negligible while neurons turn"
    if np.isnan(measured):
        because = unchecked
    least, most = (1.0, np.inf) if key == "rank" else (0.0, 1.0)
    low, high = max(least, value - wide), min(most, value + wide)
    common = pair.rows_error(measured) if key == "right" else 0.0
    return Prediction(what, value, low, high, measured, error, because, common)


def _tables(data: UserData, pairs: list[Pair]) -> tuple[Table, ...]:
    rows = tuple(
        (
            p.name,
            p.best.mu,
            p.best.q10,
            f"{100 * p.raw.share:.1f} %",
            f"{100 * p.centred.share:.1f} %",
            p.best.word,
        )
        for p in pairs
    )
    columns = (
        "classes",
        "least cosine",
        "nine in ten above",
        "pairs that violate",
        "after centring",
        "holds?",
    )
    main = pairs[0]
    worst = np.argsort(-main.best.violating)[:8]
    violating = tuple(
        (
            int(data.places[main.rows[i]]) + 1,
            data.classes[int(data.y[main.rows[i]])],
            f"{100 * main.best.violating[i]:.0f} %",
        )
        for i in worst
        if len(main.rows) == len(main.y) and main.best.violating[i] > 0
    )
    tables = [Table("Pairs of classes, the hardest first, and one against the rest", columns, rows)]
    if violating:
        note = f"Of {len(main.y)} rows looked at; the number counts the rows of your data."
        heads = ("row", "class", "violates with")
        tables.append(Table(f"Rows that violate separability most, {main.name}", heads, violating, note))
    if main.starts:
        one, two = main.classes
        ends = (
            f"exactly {one}",
            f"exactly {two}",
            "no row: dead",
            f"others, nearest {one}",
            f"others, nearest {two}",
        )
        counted = tuple(zip(ends, main.fates.tolist(), strict=True))
        title = f"Where {int(main.fates.sum())} neurons end, {main.name}"
        tables.append(Table(title, ("active on", "neurons"), counted))
    return tuple(tables)


def _curves(main: Pair) -> dict[str, Any]:
    edges = np.linspace(-1, 1, 41)
    return {
        "edges": edges.tolist(),
        "as they are": np.histogram(main.raw.values, edges)[0].tolist(),
        "mean row subtracted": np.histogram(main.centred.values, edges)[0].tolist(),
        **main.curves,
    }


def draw(data: Mapping[str, Any], canvas: "Canvas") -> None:
    """Draw the cosines of pairs of rows, and how neurons turn to their end: theory lines, descent points."""
    left = canvas.axes[0]
    for name in ("as they are", "mean row subtracted"):
        left.stairs(data[name], data["edges"], fill=True, alpha=0.45, label=name)
    left.set_xticks([-1, -0.5, 0, 0.5, 1])
    left.axvline(0, color="#555555", linewidth=1)
    left.set_xlabel("cosine of two rows (sign turned for two classes)")
    left.set_ylabel("pairs")
    left.legend()
    for right in canvas.axes[1:]:
        right.set_xlabel("time")
        right.set_ylabel("cosine of neurons to their end")
        for i, (word, colour) in enumerate((("slowest tenth", "#cc4125"), ("median", "#0b5394"))):
            right.plot(data["times"], data["theory"][i], color=colour, label=f"theory, {word}")
            if "measured" in data:
                shown = data["measured"][i]
                right.plot(data["times"][: len(shown)], shown, "o", color=colour, label=f"descent, {word}")
        right.legend()


def _caption(main: Pair) -> str:
    text = f"{main.name}: {len(main.y)} rows, {WIDTH} neurons. Left of zero, pairs violate separability."
    lines = " Lines are exact for a vanishing start, points are gradient descent from the practical scale."
    return text + (lines if main.curves else "")


def _notes(data: UserData, main: Pair) -> tuple[str, ...]:
    notes = [
        f"{_theorem(main)} The exact path behind these numbers needs no separability.",
        f"At most {ROWS} rows of a class are looked at, drawn at random; what more would change is open.",
    ]
    if len(data.classes) > 2:
        notes.append(
            f"Of {len(data.classes)} classes the {PAIRS} hardest pairs were asked about, then each of "
            f"the {min(RESTS, len(data.classes))} largest against the rest; of those, neurons of the hardest "
            "were followed."
        )
    return tuple(notes)


def _theorem(main: Pair) -> str:
    """Say what the theorem itself promises for these rows."""
    if main.best.mu <= 0:
        return f"The theorem promises nothing here: the least cosine is {number(main.best.mu)}, not above 0."
    promised = bounds(geometry(main.X, main.y), WIDTH, 0.0, reduction="mean")
    needed = promised.required_log_scale["path"] / np.log(10)
    return f"The theorem itself (least cosine {number(main.best.mu)}) asks for a start below 10^{needed:.0f}."
