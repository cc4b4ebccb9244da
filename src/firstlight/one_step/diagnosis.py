"""What one giant step says about a user's data: errors on rows it has not seen, curves, the best settings."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from firstlight.data.fitting import strong_directions
from firstlight.diagnosis import Clock, Figure, Finding, Prediction, Table, UserData
from firstlight.diagnosis.words import number, with_error
from firstlight.one_step.own_data import FOLDS, REPEATS, Answer, Network, Question, needed

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

_ROWS = 1500  # of one question
_PAIRS = 3
_LEAST = 10  # rows of a class
_STEPS = (0.03, 0.1, 0.3, 1.0, 3.0)  # times the number of columns
_RIDGES = (1e-4, 1e-3, 1e-2, 1e-1, 1.0)
_WIDTHS = (10, 30, 100, 300)
_PANELS = ("training rows", "step size / columns", "neurons")
_TARGETS = (0.3, 0.2, 0.1, 0.05, 0.02, 0.01)
_SHARES = (0.8, 0.6, 0.4, 0.2)  # of the variance
_TAILS = 0.2  # of all variance, in one row of a hundred


def diagnose(data: UserData, clock: Clock) -> Iterator[Finding]:
    """Yield what the theory says and what was measured, ever more of it.

    Parameters
    ----------
    data : UserData
    clock : Clock
        Looked at between splits.

    Yields
    ------
    Finding
    """
    questions = _questions(data)
    if not questions:
        reason = f"needs two classes of at least {_LEAST} rows, or {4 * _LEAST} rows of a number"
        yield Finding("no", f"Too few rows: it {reason}.", advice=("Collect more rows.",))
        return
    main = questions[0]
    for network in _networks(main):
        repeats = REPEATS if network == main.usual else 1
        for place, _ in enumerate(main.ask(network, repeats), 1):
            if clock.over or place % FOLDS == 0:
                yield _finding(data, main, questions)
            if clock.over:
                return
    for question in questions[1:]:
        for _ in question.ask(question.usual, REPEATS):
            if clock.over:
                return
        yield _finding(data, main, questions)


def _questions(data: UserData) -> list[Question]:
    if not data.classes:
        if len(data.y) < 4 * _LEAST:
            return []
        return [Question("the number", data.X, data.y, True, data.rng).smaller(_ROWS)]
    questions = []
    for a, b in data.pairs(_PAIRS, _LEAST):
        X, y = data.two(a, b)
        name = f"{data.classes[a]} against {data.classes[b]}"
        questions.append(Question(name, X, (y + 1) / 2, False, data.rng).smaller(_ROWS))
    return questions


def _sizes(question: Question) -> list[int]:
    """Training sizes of the curve: even numbers, up to what the procedure may speak of."""
    usual = question.usual.samples
    sizes = {int(size) // 2 * 2 for size in np.geomspace(max(8, question.most / 16), question.most, 5)}
    return sorted({size for size in sizes if abs(size - usual) > 0.2 * usual} | {usual})


def _networks(question: Question) -> list[Network]:
    """Return what is asked, in this order: the usual network, sizes, steps with all ridges, widths."""
    usual, d = question.usual, question.X.shape[1]
    return [
        usual,
        *(Network(size, usual.width, usual.step_size) for size in _sizes(question)),
        *(Network(usual.samples, usual.width, step * d, _RIDGES) for step in _STEPS),
        *(Network(usual.samples, width, usual.step_size) for width in _WIDTHS),
    ]


def _finding(data: UserData, main: Question, questions: list[Question]) -> Finding:
    answer = main.answer(main.usual)
    best = _best(main)
    total = sum(len(q.folds.get(n, ())) for q in questions for n in q.folds)
    planned = FOLDS * (REPEATS * len(questions) + len(set(_networks(main))) - 1)
    speaks, why = _speaks(main, answer)
    return Finding(
        speaks, why, _says(main, answer), _measured(main, answer, best),
        _advice(main, answer, best, data.uneven), _predictions(main, questions, best),
        _tables(main, questions), _figure(main), _notes(data, main, questions),
        f"{total} of {planned} splits",
    )  # fmt: skip


def _speaks(main: Question, answer: Answer) -> tuple[Any, str]:
    n, d = main.X.shape
    size = f"{n} rows for {d} columns"
    if main.regression:
        if main.tails > _TAILS:
            return "in part", f"Not Gaussian: {_heavy(main)} ({size})."
        return "in part", f"{size}. Numbers are treated as one class with the rows' own moments."
    shape = f"beyond means and covariances, the shape of the rows costs a factor {answer.factor:.2f} in error"
    if main.tails > _TAILS:
        return "in part", f"Not Gaussian: {_heavy(main)} ({size})."
    if not np.isfinite(answer.factor) or 0.8 <= answer.factor <= 1.25:
        return "yes", f"Gaussian enough: {shape} ({size})."
    return "in part", f"Not quite Gaussian: {shape} ({size})."


def _heavy(main: Question) -> str:
    return f"heavy tails, one row in a hundred carries {100 * main.tails:.0f} % of all variance"


def _share(value: float, regression: bool) -> str:
    return f"{value:.2f} of the variance" if regression else f"{100 * value:.1f} %"


def _says(main: Question, answer: Answer) -> str:
    network, unit = main.usual, main.regression
    about = f"After one step, {network.samples} training rows and {network.width} neurons leave an error of"
    low, high = (_share(value, unit).split()[0] for value in (answer.low, answer.high))
    shown = f"{_share(answer.predicted, unit)} [{low}, {high}] on unseen rows"
    if unit:
        return f"{about} {shown}."
    alone = f"Gaussian theory alone, on its own law, says {_share(answer.own, unit)}"
    return f"{main.name}: {about} {shown}; {alone}."


def _measured(main: Question, answer: Answer, best: dict[str, Any]) -> str:
    unit = main.regression
    row = with_error(answer.measured if unit else 100 * answer.measured, answer.error * (1 if unit else 100))
    same = f"always the same answer: {_share(main.guess, unit)}"
    text = f"Trained networks: {row}{'' if unit else ' %'} over {answer.splits} splits; {same}."
    if best:
        text += (
            f" The step and ridge that theory calls best give {_share(best['measured'], unit)}; the best "
            f"of {len(_STEPS) * len(_RIDGES)} that were measured give {_share(best['lowest'], unit)}."
        )
    return text


def _advice(main: Question, answer: Answer, best: dict[str, Any], uneven: bool) -> tuple[str, ...]:
    advice = []
    if main.tails > _TAILS:
        advice.append("Take logarithms of columns with heavy tails, or clip them.")
    if answer.high >= main.guess:
        few = f"as far as {len(main.y)} rows can tell"
        same = f"No better than always giving the same answer, {few}: this network finds no signal."
        if _better(main, answer):
            same = "Theory expects no better than always the same answer; trained networks do better."
        hidden = ("Columns of large scale hide the others: --standardise.",) if uneven else ()
        return (same, *hidden, *advice)
    if best:
        advice.append(
            f"Take a step of {number(best['step'])} (that is {number(best['step'] / main.X.shape[1])} × the "
            f"columns) and a ridge of {best['ridge']:g}."
        )
    curve = _curve(main)
    if len(curve) > 1:
        (first, a), (last, b) = (curve[0][0], curve[0][1].predicted), (curve[-1][0], curve[-1][1].predicted)
        gain = f"from {_share(a, main.regression)} at {first} rows to {_share(b, main.regression)} at {last}"
        words = "More rows still help" if b < 0.8 * a else "More rows of the same kind help little"
        advice.append(" ".join([f"{words}: {gain}.", _needed(curve, main)]).strip())
    return tuple(advice)


def _better(main: Question, answer: Answer) -> bool:
    """Whether trained networks beat the constant answer: a chance of half a per cent on noise."""
    guess = main.guess
    error = (
        answer.error * np.sqrt(answer.splits)
        if main.regression
        else np.sqrt(guess * (1 - guess) / len(main.y))
    )
    return bool(answer.measured + 2.58 * error < guess)


def _needed(curve: list[tuple[int, Answer]], main: Question) -> str:
    """Say how many rows the smallest target takes that the curve reaches."""
    for target in reversed(_SHARES if main.regression else _TARGETS):
        middle, low, high = _rows_for(curve, target)
        if middle > 0:
            least = f"{low:.0f}" if low > 0 else f"fewer than {curve[0][0]}"
            most = f"{high:.0f}" if high > 0 else f"more than {curve[-1][0]}"
            error = _share(target, main.regression)
            return f"An error of {error} takes about {middle:.0f} training rows ({least} to {most})."
    return ""


def _rows_for(curve: list[tuple[int, Answer]], target: float) -> tuple[float, float, float]:
    """Rows that bring the error to a target: predicted, and at the ends of its interval."""
    middle, low, high = (
        needed([(size, getattr(answer, name)) for size, answer in curve], target)
        for name in ("predicted", "low", "high")
    )
    return middle, low, high


def _curve(main: Question) -> list[tuple[int, Answer]]:
    networks = [Network(size, 100, main.usual.step_size) for size in _sizes(main)]
    return [(one.samples, main.answer(one)) for one in networks if main.folds.get(one)]


def _best(main: Question) -> dict[str, Any]:
    """Compare settings by theory and by measurement; empty until all were tried."""
    d, usual = main.X.shape[1], main.usual
    networks = [Network(usual.samples, usual.width, step * d, _RIDGES) for step in _STEPS]
    if any(len(main.folds.get(one, ())) < FOLDS for one in networks):
        return {}
    table = [
        (one.step_size, ridge, main.answer(one, i)) for one in networks for i, ridge in enumerate(_RIDGES)
    ]
    step, ridge, chosen = min(table, key=lambda row: row[2].predicted)
    return {
        "step": step, "ridge": ridge, "answer": chosen, "measured": chosen.measured,
        "lowest": min(row[2].measured for row in table),
        "rows": [(s / d, r, a.predicted, a.measured) for s, r, a in table],
    }  # fmt: skip


def _prediction(what: str, answer: Answer, question: Question) -> Prediction:
    """Put a prediction beside its measurement, with what is most likely to blame for a gap."""
    if question.tails > _TAILS:
        because = _heavy(question)
    elif not question.regression and not 0.8 <= answer.factor <= 1.25:
        because = f"rows are not Gaussian, a factor {answer.factor:.2f} in error"
    elif question.X.shape[1] > 0.4 * len(question.y):
        because = "too few rows for the covariance of so many columns"
    else:
        because = "moments estimated from few rows are taken as exact"
    return Prediction(what, answer.predicted, answer.low, answer.high, answer.measured, answer.error, because)


def _predictions(main: Question, questions: list[Question], best: dict[str, Any]) -> tuple[Prediction, ...]:
    kind = "squared error / variance" if main.regression else "share of wrong answers"
    predictions = [
        _prediction(f"{kind}, {q.name}, {q.usual.samples} rows", q.answer(q.usual), q)
        for q in questions
        if q.folds.get(q.usual)
    ]
    predictions += [
        _prediction(f"{kind}, {size} rows", answer, main)
        for size, answer in _curve(main)
        if size != main.usual.samples
    ]
    if best:
        what = f"{kind} at the best step ({number(best['step'])}) and ridge ({best['ridge']:g})"
        predictions.append(_prediction(what, best["answer"], main))
    return tuple(predictions)


def _tables(main: Question, questions: list[Question]) -> tuple[Table, ...]:
    tables = []
    curve = _curve(main)
    if len(curve) > 1:
        tables.append(_targets(curve, main))
    if best := _best(main):
        columns = ("step / columns", "ridge", "predicted error", "measured error")
        tables.append(Table("Step size and ridge", columns, tuple(best["rows"])))
    rows = tuple(
        (q.name, len(q.y), a.own, a.predicted, a.measured, a.factor)
        for q in questions
        if q.folds.get(q.usual) and not q.regression
        for a in [q.answer(q.usual)]
    )
    if rows:
        heads = (
            "classes",
            "rows",
            "Gaussian theory on its own law",
            "on unseen rows",
            "measured",
            "shape factor",
        )
        tables.append(Table("Pairs of classes, the hardest first", heads, rows))
    return tuple(tables)


def _targets(curve: list[tuple[int, Answer]], main: Question) -> Table:
    """How many training rows bring the error down to a target, with an interval, where the curve tells."""
    first, last = curve[0][0], curve[-1][0]

    def words(rows: float) -> str:
        return (
            f"more than {last}"
            if np.isnan(rows)
            else f"at most {first}"
            if rows == 0
            else f"about {rows:.0f}"
        )

    rows = []
    for target in _SHARES if main.regression else _TARGETS:
        middle, low, high = _rows_for(curve, target)
        needed = "not from these data" if np.isnan(middle) else words(middle)
        rows.append((_share(target, main.regression), needed, f"{words(low)} to {words(high)}"))
    note = f"Training rows, from the predicted curve; it may speak of {first} to {last} rows only."
    return Table("How many rows for a target error?", ("error", "rows", "90 % interval"), tuple(rows), note)


def _figure(main: Question) -> Figure | None:
    """Make a picture with a panel for every curve that has begun."""
    data = _curves(main)
    panels = sum(len(data[name]) > 1 for name in _PANELS)
    return Figure(data, draw, _caption(main), panels) if panels else None


def _curves(main: Question) -> dict[str, Any]:
    d, usual = main.X.shape[1], main.usual
    middle = _RIDGES.index(1e-2)
    steps = [(s, Network(usual.samples, usual.width, s * d, _RIDGES)) for s in _STEPS]
    widths = [(w, Network(usual.samples, w, usual.step_size)) for w in _WIDTHS]
    return {
        "training rows": _lines(_curve(main)),
        "step size / columns": _lines([(s, main.answer(n, middle)) for s, n in steps if main.folds.get(n)]),
        "neurons": _lines([(w, main.answer(n)) for w, n in widths if main.folds.get(n)]),
        "guess": main.guess,
        "unit": "squared error / variance" if main.regression else "share of wrong answers",
    }


def _lines(curve: list[tuple[Any, Answer]]) -> list[dict[str, float]]:
    names = ("predicted", "low", "high", "measured", "error")
    return [{"x": float(x)} | {name: getattr(a, name) for name in names} for x, a in curve]


def draw(data: Mapping[str, Any], canvas: "Canvas") -> None:
    """Draw errors over training rows, step size and width: theory as lines, networks as points."""
    shown = [name for name in _PANELS if len(data[name]) > 1]
    for axes, name in zip(canvas.axes, shown, strict=True):
        rows = data[name]
        axes.set_xscale("log")
        axes.set_xlabel(name)
        axes.axhline(data["guess"], color="#999999", linestyle=":", label="always the same answer")
        x, predicted, low, high, measured, error = (
            [row[key] for row in rows] for key in ("x", "predicted", "low", "high", "measured", "error")
        )
        axes.plot(x, predicted, label="theory, on unseen rows")
        axes.fill_between(x, low, high, alpha=0.15, linewidth=0)
        axes.errorbar(x, measured, error, fmt="o", color="#cc4125", label="trained networks")
        axes.set_ylim(bottom=0)
        axes.set_xticks(x, [f"{value:g}" for value in x])
        axes.minorticks_off()
    canvas.axes[0].set_ylabel(data["unit"])
    canvas.axes[0].legend()


def _caption(main: Question) -> str:
    usual = main.usual
    return (
        f"{main.name}: {usual.samples} training rows, {usual.width} neurons, step {usual.step_size:g}, ridge "
        f"{usual.ridges[0]:g} unless on the axis. Band: 90 % interval of the prediction; points: mean ± "
        f"standard error over {FOLDS} splits or more, {len(main.y)} rows."
    )


def _notes(data: UserData, main: Question, questions: list[Question]) -> tuple[str, ...]:
    notes = []
    if len(data.classes) > 2:
        notes.append(
            f"Asked about {len(questions)} pairs of {len(data.classes)} classes, the hardest first; how well "
            "theory does for all classes at once is open."
        )
    if len(main.y) == _ROWS or len(main.y) == _ROWS - 1:
        notes.append(f"{len(main.y)} rows of each question were used, drawn at random.")
    if not main.regression:
        centred = main.X - np.array([main.X[main.y == c].mean(axis=0) for c in (0, 1)])[main.y.astype(int)]
        strong = strong_directions(centred[:500], seed=data.seed)
        notes.append(
            f"About {strong} strong directions inside the classes; no prediction rests on that number."
        )
    return tuple(notes)
