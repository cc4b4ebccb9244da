"""Curves of one question about a user's data, over training rows, step, ridge and width."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from firstlight.diagnosis import Figure, Table
from firstlight.diagnosis.words import number
from firstlight.maths.intervals import mean_error
from firstlight.one_step.own_data import FOLDS, Answer, Network, Question, needed

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

STEPS = (0.03, 0.1, 0.3, 1.0, 3.0)  # times the number of columns
RIDGES = (1e-4, 1e-3, 1e-2, 1e-1, 1.0)
_WIDTHS = (10, 30, 100, 300)
_PANELS = ("training rows", "step size / columns", "neurons")
_TARGETS = (0.3, 0.2, 0.1, 0.05, 0.02, 0.01)
_SHARES = (0.8, 0.6, 0.4, 0.2)  # of the variance

Curve = list[tuple[float, Answer]]


def _sized(question: Question) -> list[tuple[float, Network]]:
    """Training sizes of the curve: even numbers, up to what the procedure may speak of."""
    usual = question.usual
    sizes = {int(size) // 2 * 2 for size in np.geomspace(max(8, question.most / 16), question.most, 5)}
    far = {size for size in sizes if abs(size - usual.samples) > 0.2 * usual.samples}
    return [(size, Network(size, usual.width, usual.step_size)) for size in sorted(far | {usual.samples})]


def _stepped(question: Question) -> list[tuple[float, Network]]:
    usual, d = question.usual, question.X.shape[1]
    return [(step, Network(usual.samples, usual.width, step * d, RIDGES)) for step in STEPS]


def _widened(question: Question) -> list[tuple[float, Network]]:
    usual = question.usual
    return [(width, Network(usual.samples, width, usual.step_size)) for width in _WIDTHS]


def networks(question: Question) -> list[Network]:
    """Return what is asked, in this order: the usual network, sizes, steps with all ridges, widths."""
    parts = (_sized(question), _stepped(question), _widened(question))
    return list(dict.fromkeys([question.usual, *(network for part in parts for _, network in part)]))


def learning_curve(question: Question) -> Curve:
    """Errors over training rows, as far as they were asked."""
    return _answers(question, _sized(question))


def _answers(question: Question, asked: list[tuple[float, Network]], ridge: int = 0) -> Curve:
    """Answers about networks whose rows were all held out once: fewer splits tell little."""
    done = [(x, network) for x, network in asked if len(question.folds.get(network, ())) >= FOLDS]
    return [(x, question.answer(network, ridge)) for x, network in done]


@dataclass(frozen=True)
class Best:
    """The step and ridge that theory calls best, among all that were tried.

    Attributes
    ----------
    step, ridge : float
        The step in units of the number of columns.
    answer : Answer
        There.
    lowest : float
        The lowest measured error of all.
    usual : float
        The measured error of the usual step and ridge.
    gain, error : float
        By how much the measured error is lower than the usual one, on the same splits; standard error.
    rows : tuple
        Step, ridge, predicted and measured error of all.
    """

    step: float
    ridge: float
    answer: Answer
    lowest: float
    usual: float
    gain: float
    error: float
    rows: tuple[tuple[float, ...], ...]

    @property
    def edges(self) -> str:
        """Which of the two is the last of those tried, so that the best may lie beyond."""
        sides = ((self.step, STEPS, "step"), (self.ridge, RIDGES, "ridge"))
        ends = {0: "smallest", -1: "largest"}
        return " and ".join(
            f"{word} {name}" for value, all_, name in sides for i, word in ends.items() if value == all_[i]
        )


def best_setting(question: Question) -> Best | None:
    """Compare settings by theory and by measurement; None until all were tried."""
    asked = _stepped(question)
    if any(len(question.folds.get(network, ())) < FOLDS for _, network in asked):
        return None
    table = {
        (step, ridge): (
            question.answer(network, i),
            np.array([f.measured[i] for f in question.folds[network]]),
        )
        for step, network in asked
        for i, ridge in enumerate(RIDGES)
    }
    step, ridge = min(table, key=lambda setting: table[setting][0].predicted)
    (chosen, here), (_, usual) = table[step, ridge], table[1.0, question.usual.ridges[0]]
    gain, error = mean_error((usual - here).tolist())
    rows = tuple((*setting, a.predicted, a.measured) for setting, (a, _) in table.items())
    return Best(step, ridge, chosen, min(row[3] for row in rows), float(usual.mean()), gain, error, rows)


def share(value: float, regression: bool) -> str:
    """Write an error as a share of the variance or of all answers."""
    return f"{number(float(value))} of the variance" if regression else f"{100 * value:.1f} %"


def _rows_for(curve: Curve, target: float) -> tuple[float, float, float]:
    """Rows that bring the error to a target: predicted, and at the ends of its interval."""
    middle, low, high = (
        needed([(size, getattr(answer, name)) for size, answer in curve], target)
        for name in ("predicted", "low", "high")
    )
    return middle, low, high


def smallest_target(curve: Curve, regression: bool) -> str:
    """Say how many rows the smallest target takes that the curve reaches."""
    for target in reversed(_SHARES if regression else _TARGETS):
        middle, low, high = _rows_for(curve, target)
        if middle > 0:
            least = f"{low:.0f}" if low > 0 else f"fewer than {curve[0][0]}"
            most = f"{high:.0f}" if high > 0 else f"more than {curve[-1][0]}"
            error = share(target, regression)
            return f"An error of {error} takes about {middle:.0f} training rows ({least} to {most})."
    return ""


def targets_table(curve: Curve, regression: bool) -> Table:
    """How many training rows bring the error down to a target, with an interval, where the curve tells."""
    first, last = curve[0][0], curve[-1][0]

    def words(rows: float) -> str:
        if np.isnan(rows):
            return f"more than {last}"
        return f"about {rows:.0f}" if rows else f"at most {first}"

    rows = []
    for target in _SHARES if regression else _TARGETS:
        middle, low, high = _rows_for(curve, target)
        told = "not from these data" if np.isnan(middle) else words(middle)
        rows.append((share(target, regression), told, f"{words(low)} to {words(high)}"))
    note = f"Training rows, from the predicted curve; it may speak of {first} to {last} rows only."
    return Table("How many rows for a target error?", ("error", "rows", "90 % interval"), tuple(rows), note)


def figure(question: Question) -> Figure | None:
    """Make a picture with a panel for every curve that has begun."""
    answers = (
        learning_curve(question),
        _answers(question, _stepped(question), RIDGES.index(1e-2)),
        _answers(question, _widened(question)),
    )
    data: dict[str, Any] = dict(zip(_PANELS, map(_lines, answers), strict=True))
    data["guess"] = question.guess
    data["unit"] = "squared error / variance" if question.regression else "share of wrong answers"
    panels = sum(len(data[name]) > 1 for name in _PANELS)
    return Figure(data, draw, _caption(question), panels) if panels else None


def _lines(curve: Curve) -> list[dict[str, float]]:
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


def _caption(question: Question) -> str:
    usual, about = question.usual, "" if question.regression else f"{question.name}: "
    return (
        f"{about}{usual.samples} training rows, {usual.width} neurons, step {usual.step_size:g}, "
        f"ridge {usual.ridges[0]:g} unless on the axis. Band: 90 % interval of predictions; points: mean ± "
        f"standard error over {FOLDS} splits or more, {len(question.y)} rows."
    )
