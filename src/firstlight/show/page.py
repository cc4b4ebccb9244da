"""What a theory says about its page: controls, panels, presets, explanation. A description, no web code.

A page is made of plain values. Its *controls* name what a reader may change; its *views* are generators of
pictures, by panel, for the values of the controls: a rough answer first, better ones after it. Its *study*
is what "run" means: an ordinary `Study`, whose records any other command sees too.
"""

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from firstlight.maths.refusals import refusal, unknown

if TYPE_CHECKING:
    import xarray as xr

    from firstlight.study.sweep import Study

Values = dict[str, Any]
Role = Literal["theory", "bound", "experiment", "second", "positive", "negative", "dead", "quiet", "accent"]
_LONGEST = 200  # characters of a formula, as the parser has it, and positions of a set of handles


@dataclass(frozen=True, kw_only=True)
class Control:
    """What a reader may change.

    Parameters
    ----------
    name, label, meaning : str
        The key of its value, its caption, and one sentence for who does not know it.
    when : mapping of str to sequence of str, optional
        It is shown only while other controls have one of these values.
    """

    name: str
    label: str
    meaning: str = ""
    when: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def clean(self, value: Any) -> Any:
        """Return the value, checked; a ValueError names the control and what is allowed."""
        raise NotImplementedError

    def describe(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {"kind": type(self).__name__.lower(), **asdict(self)}


@dataclass(frozen=True, kw_only=True)
class Slider(Control):
    """A number within bounds; `whole` for counts, `log` where ratios matter.

    Examples
    --------
    >>> Slider(name="beta", label="β", default=0.5, low=0, high=1).clean(0.25)
    0.25
    """

    default: float
    low: float
    high: float
    step: float = 0.01
    whole: bool = False
    log: bool = False

    def clean(self, value: Any) -> float | int:
        """Return a number within the bounds."""
        good = isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
        if not good or not self.low <= value <= self.high or (self.whole and value != int(value)):
            kind = "a whole number" if self.whole else "a number"
            raise refusal(self.name, value, f"be {kind} from {self.low:g} to {self.high:g}")
        return int(value) if self.whole else float(value)


@dataclass(frozen=True, kw_only=True)
class Choice(Control):
    """One of some names, each with a caption.

    Examples
    --------
    >>> Choice(name="loss", label="loss", default="exp", options={"exp": "exponential"}).clean("exp")
    'exp'
    """

    default: str
    options: Mapping[str, str]

    def clean(self, value: Any) -> str:
        """Return one of the names."""
        if not isinstance(value, str) or value not in self.options:
            raise unknown(self.name, value, self.options)
        return value


@dataclass(frozen=True, kw_only=True)
class Several(Control):
    """Some of many names, at least `least`, in the order of the options.

    Examples
    --------
    >>> Several(name="on", label="train on", default=("0",), options={"0": "0", "1": "1"}).clean(["1", "0"])
    ['0', '1']
    """

    default: Sequence[str]
    options: Mapping[str, str]
    least: int = 1
    most: int = 100

    def clean(self, value: Any) -> list[str]:
        """Return the chosen names."""
        if not isinstance(value, (list, tuple)) or any(one not in self.options for one in map(str, value)):
            raise refusal(self.name, value, f"hold some of {', '.join(self.options)}")
        chosen = [name for name in self.options if name in set(map(str, value))]
        if not self.least <= len(chosen) <= self.most:
            raise refusal(self.name, value, f"hold {self.least} to {self.most} names")
        return chosen


@dataclass(frozen=True, kw_only=True)
class Formula(Control):
    """A function typed as a formula; the theory's own safe parser reads it.

    Examples
    --------
    >>> Formula(name="target", label="y", default="z1**2", check=lambda text: None).clean("z1 ** 2")
    'z1 ** 2'
    """

    default: str
    check: Callable[[str], Any]
    examples: Mapping[str, str] = field(default_factory=dict)

    def clean(self, value: Any) -> str:
        """Return the text if it is a formula."""
        if not isinstance(value, str) or not 0 < len(value) <= _LONGEST:
            raise refusal(self.name, value, f"be a formula of at most {_LONGEST} characters")
        try:
            self.check(value)
        except ValueError as error:
            raise ValueError(f"{self.name}: {error}") from error
        return value

    def describe(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        shown = {name: getattr(self, name) for name in ("name", "label", "meaning", "default")}
        return {"kind": "formula", **shown, "when": dict(self.when), "examples": dict(self.examples)}


@dataclass(frozen=True, kw_only=True)
class Handles(Control):
    """Points of a plane that can be dragged: rows of two coordinates, and a sign where `signed`.

    No rows mean: as the theory draws them.

    Examples
    --------
    >>> Handles(name="means", label="means", reach=2.0).clean([[1, 0.5]])
    [[1.0, 0.5]]
    """

    reach: float
    default: Sequence[Sequence[float]] = ()
    signed: bool = False
    least: int = 0
    most: int = 60

    def clean(self, value: Any) -> list[list[float]]:
        """Return the rows."""
        columns = 3 if self.signed else 2
        need = f"be {self.least} to {self.most} rows of {columns} numbers within ±{self.reach:g}"
        if not isinstance(value, (list, tuple)) or not (len(value) <= self.most):
            raise refusal(self.name, value, need)
        if value and len(value) < self.least:
            raise refusal(self.name, value, need)
        return [self._row(row, columns, need) for row in value]

    def _row(self, row: Any, columns: int, need: str) -> list[float]:
        if not isinstance(row, (list, tuple)) or len(row) != columns:
            raise refusal(self.name, row, need)
        for number in row:
            if (
                isinstance(number, bool)
                or not isinstance(number, (int, float))
                or not abs(number) <= self.reach
            ):
                raise refusal(self.name, row, need)
        if self.signed and row[2] not in (-1, 1):
            raise refusal(self.name, row, "end in 1 or -1")
        return [float(number) for number in row]


@dataclass(frozen=True, kw_only=True)
class OwnTable(Control):
    """A file of the reader's own, kept under a name made of its content, and some of its classes.

    Examples
    --------
    >>> OwnTable(name="file", label="your file").clean({"table": "", "classes": []})
    {'table': '', 'classes': []}
    """

    default: Mapping[str, Any] = field(default_factory=lambda: {"table": "", "classes": []})

    def clean(self, value: Any) -> dict[str, Any]:
        """Return the table's name and the chosen classes; whether they exist, the theory says."""
        need = "name a table and some of its classes"
        if not isinstance(value, Mapping) or set(value) != {"table", "classes"}:
            raise refusal(self.name, value, need)
        table, classes = value["table"], value["classes"]
        if not isinstance(table, str) or not re.fullmatch("([0-9a-f]{16})?", table):
            raise refusal(self.name, table, need)
        good = isinstance(classes, (list, tuple)) and len(classes) <= _LONGEST
        if not good or any(not isinstance(one, str) or len(one) > _LONGEST for one in classes):
            raise refusal(self.name, classes, need)
        return {"table": table, "classes": list(classes)}


@dataclass(frozen=True, kw_only=True)
class Trace:
    """One curve or set of points.

    Parameters
    ----------
    name : str
    x, y : sequence
        NaN in y leaves a gap.
    error : sequence of float, optional
        ± one standard error.
    role : str
        What it is; decides its colour in every picture.
    kind : {"line", "points", "bars", "area"}
        Theory is a line, experiment is points.
    dashed : bool
        For the second of two theories.
    """

    name: str
    x: Sequence[Any]
    y: Sequence[float]
    error: Sequence[float] | None = None
    role: Role = "theory"
    kind: Literal["line", "points", "bars", "area"] = "line"
    dashed: bool = False


@dataclass(frozen=True, kw_only=True)
class Mark:
    """A straight line across a picture at one value of x, with a caption."""

    x: float
    label: str
    role: Role = "quiet"


@dataclass(frozen=True, kw_only=True)
class Picture:
    """Curves and points over one axis.

    Parameters
    ----------
    x, y : str
        Captions of the axes.
    traces : sequence of Trace
    marks : sequence of Mark, optional
    log_x, log_y : bool
    x_range, y_range : pair of float, optional
    note : str
        What a reader must know of these very numbers, such as that they are still coarse.
    follows : str
        What a thin line marks on the x axis: the value of that control, or "time" for the moment of a plane
        that is played.
    """

    x: str
    y: str
    traces: Sequence[Trace]
    marks: Sequence[Mark] = ()
    log_x: bool = False
    log_y: bool = False
    x_range: tuple[float, float] | None = None
    y_range: tuple[float, float] | None = None
    note: str = ""
    follows: str = ""


@dataclass(frozen=True, kw_only=True)
class Group:
    """Points of one kind in a plane.

    Parameters
    ----------
    name : str
    points : sequence of pairs
    role : str
    marker : {"cross", "dot", "ray"}
        A ray is a direction: a line to the unit circle, and a dot at the point itself.
    roles : sequence of str, optional
        One for each point, instead of `role`.
    labels : sequence of str, optional
    handles : str, optional
        The control of `Handles` that they belong to: they can be dragged.
    first : int
        The row of that control which the first point is.
    frames : sequence of sequences of pairs, optional
        Points at each moment; the first is `points`.
    frame_roles : sequence of sequences of str, optional
    """

    name: str
    points: Sequence[Sequence[float]]
    role: Role = "theory"
    marker: Literal["cross", "dot", "ray"] = "dot"
    roles: Sequence[Role] = ()
    labels: Sequence[str] = ()
    handles: str = ""
    first: int = 0
    frames: Sequence[Sequence[Sequence[float]]] = ()
    frame_roles: Sequence[Sequence[Role]] = ()


@dataclass(frozen=True, kw_only=True)
class Plane:
    """Points in a plane, on a fixed scale, possibly moving in time.

    Parameters
    ----------
    groups : sequence of Group
    x_range, y_range : pair of float
    x, y : str
        Captions of the axes; none if empty.
    circle : bool
        Draw the unit circle.
    times : sequence of float
        Of the frames.
    rows : mapping of str to list
        All rows of each control of `Handles`, as they are drawn now.
    note : str
    """

    groups: Sequence[Group]
    x_range: tuple[float, float]
    y_range: tuple[float, float]
    x: str = ""
    y: str = ""
    circle: bool = False
    times: Sequence[float] = ()
    rows: Mapping[str, Sequence[Sequence[float]]] = field(default_factory=dict)
    note: str = ""


Drawn = Picture | Plane


@dataclass(frozen=True, kw_only=True)
class Panel:
    """A place for a picture: its heading, one sentence about it, and whether it is the large one."""

    name: str
    title: str
    about: str = ""
    wide: bool = False


@dataclass(frozen=True, kw_only=True)
class View:
    """Some panels that are computed together.

    Parameters
    ----------
    draw : callable
        A generator: values of the controls in, pictures by panel out, rough ones first.
    needs : sequence of str, optional
        The controls that it depends on; a change of another one leaves it as it is. Default: all.
    """

    draw: Callable[[Values], Iterator[Mapping[str, Drawn]]]
    needs: Sequence[str] = ()


@dataclass(frozen=True, kw_only=True)
class Preset:
    """Values worth seeing, named after a figure or an effect; the other controls go to their defaults."""

    name: str
    about: str
    values: Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Page:
    """The page of a theory.

    Parameters
    ----------
    answer : str
        One line.
    controls, panels, presets : sequence
    views : mapping of str to View
    problem : callable
        Values to the Problem whose assumptions are shown.
    study : callable
        Values to the Study that "run" means.
    points : callable
        (values, study, Dataset) to the traces that its records add, by panel.
    run : str
        What the button says.
    thumbnail : str
        The panel that stands for the theory on the first page.
    explanation : sequence of str
        Paragraphs; formulas between dollars, in LaTeX.

    Examples
    --------
    >>> slider = Slider(name="a", label="a", default=1.0, low=0.0, high=2.0)
    >>> page = Page(answer="", controls=(slider,), panels=(), presets=(), views={}, problem=dict, study=dict,
    ...             points=dict, run="Run", thumbnail="", explanation=())
    >>> page.clean({}), page.clean({"a": 2})
    ({'a': 1.0}, {'a': 2.0})
    >>> page.clean({"b": 2})
    Traceback (most recent call last):
    ValueError: control 'b': unknown (known: a)
    """

    answer: str
    controls: Sequence[Control]
    panels: Sequence[Panel]
    presets: Sequence[Preset]
    views: Mapping[str, View]
    problem: Callable[[Values], Any]
    study: "Callable[[Values], Study]"
    points: "Callable[[Values, Study, xr.Dataset], Mapping[str, Sequence[Trace]]]"
    run: str
    thumbnail: str
    explanation: Sequence[str]

    def clean(self, given: Mapping[str, Any]) -> Values:
        """Return a value for every control: those given, checked, and defaults."""
        if not isinstance(given, Mapping):
            raise refusal("values", given, "be a table")
        known = {control.name: control for control in self.controls}
        for name in given:
            if name not in known:
                raise unknown("control", name, known)
        return {
            name: control.clean(given.get(name, control.default))  # type: ignore[attr-defined]
            for name, control in known.items()
        }

    def needed(self, view: str, values: Values) -> Values:
        """Return the values that a view depends on; the others at their defaults."""
        needs = self.views[view].needs
        return self.clean({name: value for name, value in values.items() if not needs or name in needs})


def plain(drawn: Any) -> Any:
    """Turn arrays, scalars of NumPy, tuples and non-finite numbers into what JSON holds: None for NaN.

    Examples
    --------
    >>> plain((1, float("nan")))
    [1, None]
    """
    if hasattr(drawn, "tolist"):
        drawn = drawn.tolist()
    if isinstance(drawn, Mapping):
        return {str(key): plain(value) for key, value in drawn.items()}
    if isinstance(drawn, (list, tuple)):
        return [plain(value) for value in drawn]
    if isinstance(drawn, float):
        return float(f"{drawn:.7g}") if math.isfinite(drawn) else None
    return drawn


def key(name: str, values: Values) -> str:
    """Return a text that is the same for the same page and values."""
    return json.dumps([name, values], sort_keys=True)
