"""The pieces that a study is made of: arms, scales, ranges, refinement, and what its figure shows."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, overload

from firstlight.maths.checks import check_count, check_number
from firstlight.maths.refusals import (
    check_choice,
    check_flag,
    check_instance,
    check_names,
    check_table,
    refusal,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Scalar = bool | int | float | str


@dataclass(frozen=True)
class Arm:
    """One way to get the observables at a point: an experiment or a theory, with its options.

    All arms see the same random stream at the same (point, trial), so they are paired.

    Parameters
    ----------
    kind : {"simulate", "predict"}
        Which method of the Problem is called.
    options : mapping, optional
        Keyword options handed to it.
    trials : int, optional
        Default: the study's trials for "simulate", and for a "predict" that is paired; else one.
    label : str, optional
        What the figure's legend calls it; default: the arm's name.
    paired : bool, optional
        For a prediction: one for every trial of the study, on that trial's own stream, at every scale.
        Default: where the Problem says that its prediction is conditional on what is drawn.
    against : sequence of str, optional
        For an experiment: further arms that it is judged by, beside the study's first prediction. Another
        experiment is compared with it trial by trial.

    Examples
    --------
    >>> Arm("predict", {"order": 2}).count(trials=8), Arm("predict", paired=True).count(trials=8)
    (1, 8)
    """

    kind: Literal["simulate", "predict"]
    options: Mapping[str, Any] = field(default_factory=dict)
    trials: int | None = None
    label: str | None = None
    paired: bool | None = None
    against: Sequence[str] = ()

    def __post_init__(self) -> None:
        check_choice("kind", self.kind, ("simulate", "predict"))
        object.__setattr__(self, "against", check_names("against", self.against))
        if self.against and self.kind == "predict":
            raise ValueError(f"against = {self.against!r}: only an experiment is judged, not a prediction")
        check_table("options", self.options)
        if self.trials is not None:
            check_count("trials", self.trials, 1)
        check_instance("label", self.label, str, type(None))
        if not isinstance(self.paired, (bool, type(None))) or (self.paired and self.trials is not None):
            raise refusal("paired", self.paired, "be true or false, and trials not given with it")

    def count(self, trials: int, conditional: bool = False) -> int:
        """Return how many trials the arm runs at each point of a study with that many trials."""
        if self.trials is not None:
            return self.trials
        paired = conditional if self.paired is None else self.paired
        return trials if self.kind == "simulate" or paired else 1


@dataclass(frozen=True)
class Range(Sequence[float]):
    """Evenly spaced axis values, computed when asked for, so that a huge range costs nothing to state.

    Parameters
    ----------
    start, stop : float
        First and last value.
    num : int
        How many values, at least 2.
    log : bool, default False
        Evenly spaced in the logarithm; needs positive ends.

    Examples
    --------
    >>> list(Range(1, 100, 3, log=True))
    [1.0, 10.0, 100.0]
    """

    start: float
    stop: float
    num: int
    log: bool = False

    def __post_init__(self) -> None:
        for name in ("start", "stop"):
            check_number(name, getattr(self, name))
        check_count("num", self.num, 2)
        check_flag("log", self.log)
        if self.start == self.stop:
            raise ValueError(f"start = stop = {self.start!r}: must differ")
        if self.log and min(self.start, self.stop) <= 0:
            raise ValueError(f"start = {self.start}, stop = {self.stop}: must be positive when log is true")

    def __len__(self) -> int:
        return self.num

    @overload
    def __getitem__(self, index: int) -> float: ...
    @overload
    def __getitem__(self, index: slice) -> list[float]: ...
    def __getitem__(self, index: int | slice) -> float | list[float]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(self.num))]
        if not -self.num <= index < self.num:
            raise IndexError(index)
        index %= self.num
        if index == self.num - 1:
            return float(self.stop)
        share = index / (self.num - 1)
        if self.log:
            return float(self.start * (self.stop / self.start) ** share)
        return float(self.start + (self.stop - self.start) * share)


@dataclass(frozen=True)
class Refine:
    """Where a sweep may add points of its own: it bisects the interval on which an observable changes most.

    Parameters
    ----------
    axis : str
        The numeric axis to refine; its given values are the starting points.
    observable : str
        The scalar observable whose change counts.
    arm : str
        The arm whose trial mean is looked at.
    budget : int
        How many points may be added along the axis, for each combination of the other axes.
    log : bool, default False
        Bisect in the logarithm of the axis.

    Examples
    --------
    >>> Refine("ridge", "error", "theory", budget=6).budget
    6
    """

    axis: str
    observable: str
    arm: str
    budget: int
    log: bool = False

    def __post_init__(self) -> None:
        for name in ("axis", "observable", "arm"):
            check_instance(name, getattr(self, name), str)
        check_count("budget", self.budget, 1)
        check_flag("log", self.log)


@dataclass(frozen=True)
class Scale:
    """What changes between a study's scales (quick, paper); everything else stays.

    Parameters
    ----------
    trials : int, optional
        Replaces the study's trials.
    fixed : mapping, optional
        Merged over the study's fixed fields.
    axes : mapping, optional
        Replaces the values of the named axes; an axis cannot be added here.
    refine : Refine, optional
        Replaces the study's refinement.

    Examples
    --------
    >>> Scale(trials=20, fixed={"dimension": 2000}).trials
    20
    """

    trials: int | None = None
    fixed: Mapping[str, Any] = field(default_factory=dict)
    axes: Mapping[str, Sequence[Scalar]] = field(default_factory=dict)
    refine: Refine | None = None

    def __post_init__(self) -> None:
        if self.trials is not None:
            check_count("trials", self.trials, 1)
        for name in ("fixed", "axes"):
            check_table(name, getattr(self, name))


@dataclass(frozen=True)
class FigureSpec:
    r"""What the figure of a study shows: theory as lines, experiment as points ± s.e.m.

    Parameters
    ----------
    x : str, optional
        Horizontal axis: one of the study's axes, or a dimension of the observables (``"time"``); default: the
        first axis.
    hue : str, optional
        Axis or dimension that becomes one colour per value.
    panels : str, optional
        Axis that becomes one panel per value; default: one panel per observable.
    y : str, optional
        A second axis; given, each observable and arm becomes a heat map over ``(x, y)``.
    labels : mapping, optional
        Words for axes and observables, by name. Math between dollar signs is typeset.
    log_x, log_y : bool, default False
        Logarithmic axes.
    title : str, optional
        Default: the study's description.
    draw : callable or str, optional
        Draws a special picture instead, or the address ``"module:function"`` of what does; it is called as
        ``function(study, dataset)`` in our style, and returns a matplotlib Figure, which then gets its title
        and the line below it. A file can only name one that its theory announces.

    Examples
    --------
    >>> FigureSpec(x="ridge", log_x=True, labels={"ridge": "ridge $\\lambda$"}).label("ridge")
    'ridge $\\lambda$'
    """

    x: str | None = None
    hue: str | None = None
    panels: str | None = None
    y: str | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    log_x: bool = False
    log_y: bool = False
    title: str | None = None
    draw: "str | Callable[..., Figure] | None" = None

    def __post_init__(self) -> None:
        for name in ("x", "hue", "panels", "y", "title"):
            check_instance(name, getattr(self, name), str, type(None))
        for name in ("log_x", "log_y"):
            check_flag(name, getattr(self, name))
        check_table("labels", self.labels)
        named = isinstance(self.draw, str) and ":" in self.draw
        if not (self.draw is None or callable(self.draw) or named):
            raise refusal("draw", self.draw, "be a callable or 'module:function'")

    def label(self, name: str) -> str:
        """Return the words for an axis or observable."""
        return self.labels.get(name, name.replace("_", " "))
