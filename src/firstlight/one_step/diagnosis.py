"""What one giant step says about a user's data: errors on rows it has not seen, curves, the best settings."""

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from firstlight.data.fitting import strong_directions
from firstlight.diagnosis import Clock, Finding, Prediction, Table, UserData
from firstlight.diagnosis.words import counted, number, wrong
from firstlight.one_step.own_curves import (
    RIDGES,
    STEPS,
    Best,
    best_setting,
    figure,
    learning_curve,
    networks,
    share,
    smallest_target,
    targets_table,
)
from firstlight.one_step.own_data import FOLDS, REPEATS, Answer, Question, tails

_ROWS = 1500  # of one question
_PAIRS = 3
_LEAST = 10  # rows of a class
_TAILS = 0.2  # of all variance, in one row of a hundred
_FEW = 0.1  # columns per row from which covariances are known to a third at best, √(d/n)
_HELPS = 0.95  # times the error with twice as many rows
_RARE = 0.25  # share of the smaller class below which it is hardly ever answered


def diagnose(data: UserData, clock: Clock) -> Iterator[Finding]:
    """Yield ever fuller findings (see `firstlight.diagnosis`); between splits the clock is looked at."""
    questions = _questions(data)
    if not questions:
        reason = f"needs two classes of at least {_LEAST} rows, or {4 * _LEAST} rows of a number"
        yield Finding("no", f"Too few rows: it {reason}.", advice=("Collect more rows.",))
        return
    main = questions[0]
    for network in networks(main):
        repeats = REPEATS if network == main.usual else 1
        for place, _ in enumerate(main.ask(network, repeats), 1):
            if (over := clock.over) or place % FOLDS == 0:
                yield _finding(data, questions)
            if over:
                return
    for question in questions[1:]:
        over = any(clock.over for _ in question.ask(question.usual, REPEATS))  # any ends at the first
        yield _finding(data, questions)
        if over:
            return


def _questions(data: UserData) -> list[Question]:
    if not data.classes:
        if len(data.y) < 4 * _LEAST:
            return []
        return [Question("the number", data.X, data.y, True, partial(data.rng, "number")).smaller(_ROWS)]
    questions = []
    for a, b in data.pairs(_PAIRS, _LEAST):
        X, y = data.two(a, b)
        name = f"{data.classes[a]} against {data.classes[b]}"
        stream = partial(data.rng, "pair", a, b)  # what classes are called plays no part
        questions.append(Question(name, X, (y + 1) / 2, False, stream).smaller(_ROWS))
    return questions


def _finding(data: UserData, questions: list[Question]) -> Finding:
    main = questions[0]
    answer, best = main.answer(main.usual), best_setting(main)
    total = sum(len(q.folds.get(n, ())) for q in questions for n in q.folds)
    planned = FOLDS * (REPEATS * len(questions) + len(networks(main)) - 1)
    speaks, why = _speaks(main, answer)
    return Finding(
        speaks, why, _says(main, answer), _measured(main, answer, best),
        _advice(main, answer, best, data.uneven), _predictions(questions, best), _tables(questions, best),
        figure(main), _notes(data, questions), f"{total} of {planned} splits",
        last=total == planned,
    )  # fmt: skip


def _speaks(main: Question, answer: Answer) -> tuple[Any, str]:
    n, d = main.X.shape
    size = f"{n} rows for {counted(d, 'column')}"
    if heavy := _heavy(main):
        return "in part", f"Not Gaussian: {heavy} ({size})."
    if answer.high >= main.guess:
        same = "The predicted error may be that of always the same answer"
        return "in part", f"{same}: nothing can be said about the shape of the rows ({size})."
    if main.regression:
        return "in part", f"{size}. Numbers are treated as one class with the rows' own moments."
    shape = (
        f"beyond means and covariances, the shape of the rows costs a factor {number(answer.factor)} in error"
    )
    if np.isnan(answer.factor):
        shape = "rows of the same means and covariances would all be answered right"
    tried = _prediction("", answer, main, main.usual.samples)
    if answer.gaussian_enough and tried.agrees is False:
        off = tried.verdict.removeprefix("off: ")
        return "in part", f"The prediction fails: {off}; {shape} ({size})."
    if answer.gaussian_enough:
        return "yes", f"Gaussian enough: {shape} ({size})."
    return "in part", f"Not quite Gaussian: {shape} ({size})."


def _heavy(main: Question) -> str:
    """Say whose tails are heavy, if any are."""
    if main.tails > _TAILS:
        return f"heavy tails, one row in a hundred carries {100 * main.tails:.0f} % of all variance"
    if main.label_tails > _TAILS:
        share_of = f"{100 * main.label_tails:.0f} % of its variance"
        return f"the number to predict has heavy tails, one row in a hundred carries {share_of}"
    return ""


def _told(main: Question, answer: Answer) -> bool:
    """Whether the interval leaves out anything between no error and that of always the same answer."""
    return answer.low > 0 or answer.high < main.guess


def _says(main: Question, answer: Answer) -> str:
    network, unit = main.usual, main.regression
    if not _told(main, answer):
        done = f"{answer.splits} of {FOLDS * REPEATS} splits"
        return (
            f"{'' if unit else main.name + ': '}Nothing can be told after {done}: the 90 % interval of the "
            "error on unseen rows reaches from none to that of always the same answer."
        )
    about = f"After one step, {network.samples} training rows and {network.width} neurons leave an error of"
    low, high = (share(value, unit).split()[0] for value in (answer.low, answer.high))
    shown = f"{share(answer.predicted, unit)} (90 % interval {low} to {high}) on unseen rows"
    if unit:
        return f"{about} {shown}."
    alone = f"Gaussian theory alone, on its own law, says {share(answer.own, unit)}"
    return f"{main.name}: {about} {shown}; {alone}."


def _measured(main: Question, answer: Answer, best: Best | None) -> str:
    unit = main.regression
    row = wrong(answer.measured, answer.error, unit)
    same = f"always the same answer: {share(main.guess, unit)}"
    text = f"One-step networks, really trained: {row} over {counted(answer.splits, 'split')}; {same}."
    if best:
        text += (
            f" On the first {best.answer.splits} of them these have {share(best.usual, unit)}, the step and "
            f"ridge that theory calls best {share(best.answer.measured, unit)}, and the best of "
            f"{len(STEPS) * len(RIDGES)} that were measured {share(best.lowest, unit)}."
        )
    return text


def _advice(main: Question, answer: Answer, best: Best | None, uneven: bool) -> tuple[str, ...]:
    curve, unit = learning_curve(main), main.regression
    advice = ["Columns of large scale hide the others: --standardise."] if uneven else []
    if _heavy(main):
        advice.append(_tame(main))
    if answer.high >= main.guess:
        measured = [answer, *(one for _, one in curve[-1:]), *([best.answer] if best else [])]
        lowest = min(measured, key=lambda one: one.measured)
        if not _better(main, lowest) and answer.splits < FOLDS:
            done = f"{answer.splits} of the {FOLDS} splits that hold out every row once"
            return (*advice, f"Only {done} were done: give it more time, with a larger --seconds.")
        if not _better(main, lowest):
            return (*advice, _useless(main))
        said = "Theory's interval reaches what always the same answer has; trained networks do better"
        advice.append(f"{said}: {share(lowest.measured, unit)}.")
    if best:
        advice.append(_setting(main, best))
    if len(curve) > 1:
        (half, a), (last, b) = curve[-2:]
        surely = a.measured - b.measured > 2 * np.hypot(a.error, b.error)
        seen = b.predicted < a.predicted - (0 if unit else 0.5 / len(main.y))  # half a row
        helps = surely or (seen and b.predicted < _HELPS * a.predicted)
        words = "More rows still help" if helps else "More rows of the same kind help little"
        gain = f"from {share(a.predicted, unit)} at {half} rows to {share(b.predicted, unit)} at {last}"
        found = f"measured {share(a.measured, unit)} and {share(b.measured, unit)}"
        off = any(_prediction("", one, main, size).agrees is False for size, one in curve)
        target = "" if off else smallest_target(curve, unit)  # it rests on the predicted curve
        advice.append(f"{words}: {gain} ({found}). {target}".strip())
    return tuple(advice)


def _tame(main: Question) -> str:
    """Say what to do about heavy tails: only positive numbers have logarithms."""
    if main.tails <= _TAILS:
        if main.y.min() > 0:
            return "Take the logarithm of the number to predict, or clip it: it has heavy tails."
        return "Clip the number to predict: it has heavy tails, and not all are positive, as logarithms need."
    heavy = [column for column in main.X.T if tails(column[:, None]) > _TAILS] or list(main.X.T)
    positive = sum(column.min() > 0 for column in heavy)
    if positive == len(heavy):
        return "Take logarithms of columns with heavy tails, or clip them."
    if positive:
        return "Clip columns with heavy tails, or take logarithms of those that are positive throughout."
    return "Clip columns with heavy tails; they are not positive throughout, as logarithms need."


def _setting(main: Question, best: Best) -> str:
    """Advise theory's best step and ridge, if networks that were trained with them are better."""
    usual = f"a step of {main.usual.step_size:g} and a ridge of {main.usual.ridges[0]:g}"
    if (best.step, best.ridge) == (1.0, main.usual.ridges[0]):
        return f"Keep {usual}: of {len(best.rows)} settings theory finds none better."
    taken = (
        f"a step of {number(best.step * main.X.shape[1])} (that is {number(best.step)} × the columns) and a "
        f"ridge (weight decay of the last layer) of {best.ridge:g}"
    )
    beyond = f" The best may lie beyond: that is the {best.edges} tried." if best.edges else ""
    here, there = (share(value, main.regression) for value in (best.answer.measured, best.usual))
    gain = wrong(best.gain, best.error, main.regression)
    same = f"on the same {best.answer.splits} splits"
    if best.gain > 2 * best.error:
        return f"Take {taken}: {same} it gains {gain} over {usual} ({here} against {there} measured).{beyond}"
    lost = "networks gain nothing by it" if best.gain <= 0 else f"what networks gain, {gain}, is chance"
    return f"Keep {usual}: theory would take {taken}, but {lost} ({here} against {there} {same})."


def _useless(main: Question) -> str:
    """Say that the network is of no use here; tests of a signal, which see more, are another theory's."""
    same = f"This network is no better than always the same answer, as far as {len(main.y)} rows can tell."
    if not main.regression and main.guess < _RARE:
        return (
            f"{same} With {100 * main.guess:.2g} % of the rows in the smaller class it hardly ever answers "
            "that class, even if the columns tell something about it: train on as many rows of each."
        )
    return f"{same} A test may still see a signal that is too weak for it."


def _better(main: Question, answer: Answer) -> bool:
    """Whether trained networks beat the constant answer: a chance of half a per cent on noise, of three."""
    guess = main.guess
    error = (
        answer.error * np.sqrt(answer.splits / FOLDS)  # repeats ask the same rows
        if main.regression
        else np.sqrt(guess * (1 - guess) / (len(main.y) * min(1, answer.splits / FOLDS)))  # rows asked so far
    )
    return bool(answer.measured + 3 * error < guess)


def _prediction(what: str, answer: Answer, question: Question, samples: float) -> Prediction:
    """Put a prediction beside its measurement, with what is most likely to blame for a gap."""
    if not question.regression and question.guess * samples <= 1:  # of the smaller class in a training
        because = "networks get a row of the smaller class where so few, drawn at random, have none"
    elif heavy := _heavy(question):
        because = heavy
    elif not question.regression and not answer.gaussian_enough:
        because = f"rows are not Gaussian, a factor {answer.factor:.2f} in error"
    elif question.X.shape[1] > 0.4 * len(question.y):
        because = "too few rows for the covariance of so many columns"
    elif question.X.shape[1] > _FEW * len(question.y) and answer.measured > answer.predicted:
        because = "moments estimated from few rows are taken as exact"  # which makes errors look smaller
    elif question.regression:
        because = "the features of these rows are taken as Gaussian"
    else:
        because = "rows of a class are not Gaussian"
    return Prediction(what, answer.predicted, answer.low, answer.high, answer.measured, answer.error, because)


def _asked(kind: str, question: Question) -> str:
    return kind if question.regression else f"{kind}, {question.name}"


def _predictions(questions: list[Question], best: Best | None) -> tuple[Prediction, ...]:
    main = questions[0]
    kind = "squared error / variance" if main.regression else "share of wrong answers"
    predictions = [
        _prediction(
            f"{_asked(kind, q)}, {q.usual.samples} training rows", q.answer(q.usual), q, q.usual.samples
        )
        for q in questions
        if q.folds.get(q.usual) and _told(q, q.answer(q.usual))
    ]
    predictions += [
        _prediction(f"{kind}, {size} training rows", answer, main, size)
        for size, answer in learning_curve(main)
        if size != main.usual.samples
    ]
    if best:
        step = number(best.step * main.X.shape[1])
        what = f"{kind} at the best step ({step}) and ridge ({best.ridge:g})"
        predictions.append(_prediction(what, best.answer, main, main.usual.samples))
    return tuple(predictions)


def _tables(questions: list[Question], best: Best | None) -> tuple[Table, ...]:
    main, tables = questions[0], []
    curve = learning_curve(main)
    if len(curve) > 1:
        tables.append(targets_table(curve, main.regression))
    if best:
        columns = ("step / columns", "ridge", "predicted error", "measured error")
        tables.append(Table("Step size and ridge", columns, best.rows))
    rows = tuple(
        (q.name, len(q.y), a.own, a.predicted, a.measured, a.factor)
        for q in questions
        if q.folds.get(q.usual) and not q.regression
        for a in [q.answer(q.usual)]
    )
    if rows:
        heads = ("classes", "rows", "Gaussian theory on its own law", "on unseen rows", "measured")
        note = (
            "Shares of wrong answers. The shape factor is what the rows' non-Gaussian shape costs in error."
        )
        title = "Pairs of classes, the hardest first"
        tables.append(Table(title, (*heads, "shape factor"), rows, note))
    return tuple(tables)


def _notes(data: UserData, questions: list[Question]) -> tuple[str, ...]:
    main, notes = questions[0], []
    if len(data.classes) > 2:
        notes.append(
            f"Asked about {len(questions)} pairs of {len(data.classes)} classes, the hardest first; how well "
            "theory does for all classes at once is open."
        )
    if len(main.y) == _ROWS or len(main.y) == _ROWS - 1:
        notes.append(f"{len(main.y)} rows of each question were used, drawn at random.")
    if not main.regression:
        centred = main.X - np.array([main.X[main.y == c].mean(axis=0) for c in (0, 1)])[main.y.astype(int)]
        strong = strong_directions(centred[:: -(-len(centred) // 500)], seed=data.seed)  # of both classes
        traces = [float((centred[main.y == c] ** 2).mean()) for c in (0, 1)]
        notes.append(
            f"Strong directions inside the classes: about {strong}; variances differ by a factor "
            f"{number(max(traces) / max(min(traces), 1e-300))}; no prediction rests on either number."
        )
    return tuple(notes)
