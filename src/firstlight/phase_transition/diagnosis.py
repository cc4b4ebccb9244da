"""What the phase transition says about a user's data: which directions show, and how many rows they take."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from firstlight.diagnosis import Clock, Figure, Finding, Prediction, Table, UserData
from firstlight.diagnosis.words import counted, number, with_error, wrong
from firstlight.diagnosis.words import interval as bounds
from firstlight.maths.drawing import as_written
from firstlight.phase_transition.own_advice import (
    HALVES,
    MORE_TIME,
    MOST_EASY,
    T90,
    advice,
    correlations,
    hidden_can_be_sought,
    hidden_was_missed,
    network_wins,
    strength,
)
from firstlight.phase_transition.own_data import COLUMNS, State, begin, halve, mean_of_halves, visible_from
from firstlight.phase_transition.theory.delta_data import LEAST, interval, inverse_delta
from firstlight.phase_transition.theory.hidden import (
    Found,
    complement,
    easy_directions,
    hard_directions,
    slices,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

_PERMUTATIONS = 199
_LEAST_ROWS = 40
_LENGTHS = 1.5  # times as much as those of Gaussian rows: above, rows are not Gaussian


def diagnose(data: UserData, clock: Clock) -> Iterator[Finding]:
    """Yield ever fuller findings (see `firstlight.diagnosis`); between parts the clock is looked at."""
    if min(data.shape[0] / _LEAST_ROWS, data.shape[1] / 2) < 1:
        here = " and ".join(map(counted, data.shape, ("row", "column")))
        yield Finding("no", f"It needs {_LEAST_ROWS} rows and two columns at least; these are {here}.")
        return
    classes, state = len(data.classes), begin(data)
    rng = data.rng("phase", "easy")
    state.easy = easy_directions(state.z, slices(state.y, classes), _PERMUTATIONS, rng, clock.check)
    yield _finding(data, state)
    known = state.easy.directions
    if hidden_can_be_sought(state):
        state.hard = hard_directions(
            state.z, state.y, classes, known, _PERMUTATIONS, data.rng("phase", "hard"), clock.check
        )
        yield _finding(data, state)
        if state.hard.count and state.ratio >= LEAST:
            rows = state.z @ complement(known)
            part = slices(state.y, classes)
            state.delta = inverse_delta(rows, part, state.hard.count, data.rng("phase", "delta"))
            yield _finding(data, state)
        if state.hard.count:
            state.visible = visible_from(data, state, clock)
            yield _finding(data, state)
    for half in range(HALVES):
        clock.check()
        halve(data, state, half, clock)
        yield replace(_finding(data, state), last=half == HALVES - 1)


def _finding(data: UserData, state: State) -> Finding:
    n, d = state.z.shape
    wide = state.lengths
    speaks: Any = "yes" if wide <= _LENGTHS and state.ratio >= 1 else "in part"
    columns = "columns" if d == data.shape[1] else f"independent of {data.shape[1]} columns"
    if state.kept < 1:
        columns = f"leading directions of {data.shape[1]} columns"
    why = (
        f"{number(state.ratio)} rows per column ({n} rows, {d} {columns}); the rows' lengths vary "
        f"{number(wide)} × as much as those of Gaussian rows."
    )
    return Finding(
        speaks, why, _says(state), _measured(state), advice(data, state), _predictions(state),
        _tables(data, state),
        Figure(state.picture, draw, _caption(state), 1 + (state.hard is not None)) if state.picture else None,
        _notes(data, state),
        f"{_tests(state)}, {len(state.halves)} of {HALVES} halves",
    )  # fmt: skip


def _tests(state: State) -> str:
    return "the linear test" if state.hard is None else "tests of linear and hidden directions"


def _says(state: State) -> str:
    if state.easy is None:
        return ""
    p, count = state.easy.p[0], max(1, state.easy.count)
    kind = strength(state.easy)
    several = "one direction" if count == 1 else f"{count} directions"
    text = {
        "found": f"A linear signal in {several} (p = {p:.3f}).",
        "a hint": f"Only a hint of a linear signal (p = {p:.3f}).",
        "none": f"No linear signal (p = {p:.2f}).",
    }[kind]
    if state.easy.directions.shape[1] > MOST_EASY:
        return f"{text} Hidden ones are not looked for beside so many."
    if hidden_was_missed(state):
        return f"{text} Hidden ones were not looked for {MORE_TIME}."
    return text if state.hard is None else f"{text} {_hidden(state, state.hard)}"


def _hidden(state: State, hard: Found) -> str:
    p, missed = hard.p[0], state.ratio / 5
    kind = strength(hard)
    if kind == "none" and network_wins(state):
        return (
            f"Beyond it no single direction shows (p = {p:.2f}), but a network does better: labels follow "
            "the rows' lengths, bends of what was found, or many directions at once, which no test here sees."
        )
    if kind == "none":
        return (
            f"Beyond it nothing shows at {number(state.ratio)} rows per column (p = {p:.2f}): there is none, "
            f"or its threshold (delta_alg) is above about {number(missed)} rows per column."
        )
    if kind == "a hint":
        return f"Beyond it only a hint of a hidden direction (p = {p:.3f})."
    several = "one hidden direction shows" if hard.count == 1 else f"{hard.count} hidden directions show"
    text = f"Beyond it {several} in how the rows spread (p = {p:.3f})."
    if state.delta is None and state.ratio >= LEAST:
        return f"{text} From how many rows on (delta_alg) was not worked out {MORE_TIME}."
    if state.delta is None or not np.isfinite(state.delta[0]):
        few = f"below {LEAST:g} rows per column"
        reason = few if state.delta is None else "as parts of the rows disagree about it"
        return text + f" From how many rows on (delta_alg) cannot be told {reason}."
    shown = f"{number(1 / state.delta[0])}{bounds(*interval(*state.delta))}"
    have = f"you have {number(state.ratio)}"
    which = "it" if hard.count == 1 else "the first of them"
    return f"{text} With very many columns fast methods see {which} from {shown} rows per column on; {have}."


def _measured(state: State) -> str:
    if not state.halves:
        return ""
    numbers = state.y.dtype.kind != "i"
    linear, network = (wrong(*mean_of_halves(state, name), numbers) for name in ("linear", "network"))
    verb = "leaves" if numbers else "is wrong in"
    text = f"On unseen rows a linear model {verb} {linear}, a network {network}."
    shares = {
        word: mean_of_halves(state, f"{name} network")
        for name, word in (("easy", "linear"), ("hard", "hidden"))
    }
    held = " and ".join(
        f"{with_error(100 * value, 100 * error)} % of the {word} directions"
        for word, (value, error) in shares.items()
        if np.isfinite(value)
    )
    if held:
        text += f" What moves the network's outputs holds {held}."
    if state.visible is not None and np.isfinite(state.visible[0]):
        here = f"{with_error(*state.visible)} rows per column"
        text += f" In parts of the rows a hidden direction shows half the time at {here}."
    return text


def _predictions(state: State) -> tuple[Prediction, ...]:
    predictions = []
    if state.delta is not None and np.isfinite(state.delta[0]):
        what = "rows per column from which the hidden direction shows (delta_alg)"
        visible, spread = state.visible or (np.nan, np.nan)
        because = "not reached in the time given"
        if state.visible is not None:
            because = "it shows in the smallest parts of the rows too"
        if np.isfinite(visible):
            because = "the limit of very many columns; with few, tests need 2 to 6 times as many rows"
            if state.lengths > _LENGTHS:
                because = f"rows are not Gaussian: their lengths vary {number(state.lengths)} × as much"
        limits = interval(*state.delta)
        predictions.append(Prediction(what, 1 / state.delta[0], *limits, visible, spread, because))
    for name, word in (("easy", "linear"), ("hard", "hidden")):
        value, error = mean_of_halves(state, f"{name} statistic")
        measured, spread = mean_of_halves(state, f"{name} network")
        if np.isfinite(value) and np.isfinite(measured):
            wide = 0.01 + (T90 * error if np.isfinite(error) else 0.1)
            what = f"share of the {word} directions found again in other rows, by statistics and by a network"
            less = "a network trained by descent needs more rows than the best fast method"
            if name == "hard" and not network_wins(state):
                less = "the network does without them: it does not beat a linear model here"
            because = (
                less if measured < value else "the network uses these rows better than the statistic does"
            )
            predictions.append(
                Prediction(
                    what, value, max(0.0, value - wide), min(1.0, value + wide), measured, spread, because
                )
            )
    return tuple(predictions)


def _tables(data: UserData, state: State) -> tuple[Table, ...]:
    rows = []
    for kind, signal in (("linear", state.easy), ("hidden", state.hard)):
        for i, p in enumerate(signal.p if signal else ()):
            shown = signal.directions.shape[1] > i  # type: ignore[union-attr]
            goes = _columns(data, state, state.z @ signal.directions[:, i]) if shown else "–"  # type: ignore[union-attr]
            rows.append((f"{kind} {i + 1}", f"{p:.3f}", goes))
    note = "p: share of permuted labels that show as much; the first above 0.05 ends the search."
    return (
        Table("Directions that were tried", ("direction", "p", "columns it goes with"), tuple(rows), note),
    )


def _columns(data: UserData, state: State, score: np.ndarray) -> str:
    """Write the three columns that go most with a score, and their correlations."""
    along = correlations(state.x, score)
    return ", ".join(f"{data.names[i]} ({along[i]:+.2f})" for i in np.argsort(-np.abs(along))[:3])


def draw(data: Mapping[str, Any], canvas: "Canvas") -> None:
    """Draw labels over the scores of unseen rows along the leading linear and hidden direction."""
    labels = np.array(data["labels"])
    for axes, name, significant in zip(canvas.axes, ("linear", "hidden"), data["found"], strict=False):
        score = np.array(data[name])
        axes.set_xlabel(f"{name} direction" + ("" if significant else " (best candidate, not significant)"))
        if data["classes"]:
            edges = np.linspace(score.min(), score.max(), 25).tolist()
            for c, title in enumerate(data["classes"]):
                counts = np.histogram(score[labels == c], edges)[0]
                axes.stairs(
                    counts, edges, fill=len(data["classes"]) == 2, alpha=0.6, label=as_written(title, 20),
                    linewidth=1.6,
                )  # fmt: skip
            axes.set_ylabel("rows")
        else:
            axes.plot(score, labels, "o", markersize=2.5, alpha=0.6)
            axes.set_ylabel("label")
    if data["classes"]:
        canvas.axes[0].legend()


def _caption(state: State) -> str:
    shown = len(state.picture["labels"])
    return (
        f"Rows of one half along the leading directions found in the other half ({shown} rows shown). "
        "A linear direction moves the labels' mean, a hidden one only their spread."
    )


def _notes(data: UserData, state: State) -> tuple[str, ...]:
    notes = [
        "The tests hold for any law of rows that are drawn one by one (a series in time is not); delta_alg "
        "assumes Gaussian rows and is open otherwise."
    ]
    if state.ratio < 2:
        notes.append("With so few rows per column a direction is found in part only, by any method.")
    if state.kept < 1:
        notes.append(
            f"Of {data.shape[1]} columns the {COLUMNS} leading principal directions were looked at; they "
            f"hold {100 * state.kept:.0f} % of the variance."
        )
    if state.easy is not None and state.z.shape[1] - state.easy.directions.shape[1] < 2:
        notes.append("Beside the linear signal too few columns are left to look for hidden directions.")
    elif state.easy is not None and state.easy.directions.shape[1] > MOST_EASY:
        notes.append(
            f"Hidden directions are not looked for beside more than {MOST_EASY} linear ones: too few rows "
            "are alike in all of them to tell the two apart."
        )
    if len(state.y) < len(data.y):
        notes.append(f"{len(state.y):,} of {len(data.y):,} rows were used, drawn at random.")
    if not data.classes:
        notes.append("Numbers are cut into slices, so that delta_alg is an upper bound.")
    return tuple(notes)
