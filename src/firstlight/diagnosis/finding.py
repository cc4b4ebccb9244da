"""What a theory says about a user's data: the one form that all of them use."""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from math import hypot, isfinite, isnan, nan
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

Speaks = Literal["yes", "in part", "no"]


@dataclass(frozen=True)
class Prediction:
    """A number that theory predicts, and what was measured on rows that it did not see.

    Attributes
    ----------
    what : str
        In plain words, with its unit.
    predicted : float
    low, high : float
        Its 90 % interval, or what the finding's `brackets` say; NaN where theory gives none.
    measured, error : float
        The measurement and its standard error; NaN: it was not checked.
    because : str
        Which assumption fails, where the two differ; why nothing was measured, where it was not.
    common : float, default 0
        Standard error that prediction and measurement share, as both are asked about the same unseen rows:
        it is shown, for other rows would give another number, but does not excuse a gap between the two.

    Examples
    --------
    >>> one = Prediction("error", 0.10, 0.08, 0.12, measured=0.13, error=0.001, because="heavy tails")
    >>> one.agrees, one.gap, one.verdict
    (False, 0.0300, 'off: measured is 1.30 × predicted (heavy tails)')
    """

    what: str
    predicted: float
    low: float = nan
    high: float = nan
    measured: float = nan
    error: float = nan
    because: str = ""
    common: float = 0.0

    @property
    def uncertainty(self) -> float:
        """Standard error of the measurement, with what it shares with the prediction."""
        return hypot(self.error if isfinite(self.error) else 0.0, self.common) if self.common else self.error

    @property
    def checked(self) -> bool:
        """Whether it was measured."""
        return isfinite(self.measured)

    @property
    def gap(self) -> float:
        """Measured minus predicted."""
        return self.measured - self.predicted

    @property
    def agrees(self) -> bool | None:
        """Whether the measurement, within two standard errors, lies in the interval; None: unchecked."""
        if not self.checked:
            return None
        error = 2 * self.error if isfinite(self.error) else 0.0
        low, high = (self.predicted if isnan(b) else b for b in (self.low, self.high))
        return bool(low - error <= self.measured <= high + error)

    @property
    def verdict(self) -> str:
        """The comparison in words."""
        if self.agrees:
            return "agrees"
        reason = f" ({self.because})" if self.because else ""
        if self.agrees is None:
            return f"not checked{reason}"
        ratio = f"{self.measured / self.predicted:.2f} × predicted" if self.predicted > 0 else ""
        return f"off: measured is {ratio or f'{self.gap:+.3g} off'}{reason}"


@dataclass(frozen=True)
class Table:
    """Rows for whoever wants the details.

    Attributes
    ----------
    title : str
    columns : tuple of str
    rows : tuple of tuple
        Texts and numbers.
    note : str
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    note: str = ""


@dataclass(frozen=True)
class Figure:
    """A picture as data and as a function that draws them.

    Attributes
    ----------
    data : mapping
        Plain lists and numbers, by name.
    draw : callable
        From `data` to an empty canvas with `panels` axes in a row.
    caption : str
    panels : int, default 1
    """

    data: Mapping[str, Any]
    draw: "Callable[[Mapping[str, Any], Canvas], None]"
    caption: str
    panels: int = 1


@dataclass(frozen=True)
class Finding:
    """What a theory says about the data so far.

    Attributes
    ----------
    speaks : {"yes", "in part", "no"}
        Whether its assumptions hold here.
    why : str
        The reason, with the number.
    says, measured : str
        What it predicts and what was measured, each in a sentence.
    advice : tuple of str
        What the user can do.
    predictions : tuple of Prediction
    tables : tuple of Table
    figure : Figure, optional
    notes : tuple of str
        Limits, open questions, and what was left out.
    progress : str
        How far the work has come, such as "9 of 15 splits".
    brackets : str
        What stands in brackets behind predictions.
    last : bool
        Whether nothing more is to come: it counts as done also if the time is up before anybody asks again.
    """

    speaks: Speaks
    why: str
    says: str = ""
    measured: str = ""
    advice: tuple[str, ...] = ()
    predictions: tuple[Prediction, ...] = ()
    tables: tuple[Table, ...] = ()
    figure: Figure | None = None
    notes: tuple[str, ...] = field(default_factory=tuple)
    progress: str = ""
    brackets: str = "90 % interval"
    last: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain lists, texts and numbers; the figure as its data.

        Examples
        --------
        >>> Finding("no", "one column only").to_dict()["speaks"]
        'no'
        """
        texts = ("speaks", "why", "says", "measured", "progress", "brackets")
        plain = {name: getattr(self, name) for name in texts}
        plain |= {name: list(getattr(self, name)) for name in ("advice", "notes")}
        plain["predictions"] = [
            asdict(one) | {name: getattr(one, name) for name in ("uncertainty", "gap", "agrees", "verdict")}
            for one in self.predictions
        ]
        plain["tables"] = [asdict(table) for table in self.tables]
        plain["figure"] = None if self.figure is None else dict(self.figure.data)
        return plain
