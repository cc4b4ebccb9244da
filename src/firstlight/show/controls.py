"""What a reader of a page may change: numbers, names, formulas, points in a plane, a file of their own."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from firstlight.maths.checks import check_count, check_number
from firstlight.maths.refusals import refusal, unknown

_LONGEST = 200  # characters of a formula, as the parser has it, and positions of a set of handles


@dataclass(frozen=True, kw_only=True)
class Control:
    """What a reader may change.

    Parameters
    ----------
    name, label, meaning : str
        The key of its value, its caption, and one sentence for who does not know it.
    when : mapping of str to sequence, optional
        It is shown only while other controls have one of these values.
    """

    name: str
    label: str
    meaning: str = ""
    when: Mapping[str, Sequence[Any]] = field(default_factory=dict)

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
        if not self.whole:
            return check_number(self.name, value, self.low, self.high)
        given = int(value) if isinstance(value, float) and value.is_integer() else value
        return check_count(self.name, given, int(self.low), int(self.high))


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
            named = str(error) if str(error).startswith(self.name) else f"{self.name}: {error}"
            raise ValueError(named) from error
        return value

    def describe(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {name: value for name, value in super().describe().items() if name != "check"}


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
        if not isinstance(value, (list, tuple)) or (value and not self.least <= len(value) <= self.most):
            raise refusal(self.name, value, need)
        return [self._row(row, columns, need) for row in value]

    def _row(self, row: Any, columns: int, need: str) -> list[float]:
        if not isinstance(row, (list, tuple)) or len(row) != columns:
            raise refusal(self.name, row, need)
        real = (isinstance(x, (int, float)) and not isinstance(x, bool) for x in row)
        if not all(real) or not all(abs(x) <= self.reach for x in row):
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
