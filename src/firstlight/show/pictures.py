"""What is drawn on a page, as plain values: curves and points over an axis, or points in a plane."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

Role = Literal["theory", "bound", "experiment", "second", "positive", "negative", "dead", "quiet", "accent"]


@dataclass(frozen=True, kw_only=True)
class Trace:
    """One curve or set of points.

    Parameters
    ----------
    name : str
    x, y : sequence
        NaN in y leaves a gap.
    error : sequence of float, optional
        ± one standard error; NaN where it is not known, as of a single trial.
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


def plain(drawn: Any, digits: int = 7) -> Any:
    """Turn arrays, scalars of NumPy, tuples and non-finite numbers into what JSON holds: None for NaN.

    Numbers keep that many digits: all of them if 17.

    Examples
    --------
    >>> plain((1, float("nan")))
    [1, None]
    """
    if isinstance(drawn, float):  # most are
        return float(f"{drawn:.{digits}g}") if math.isfinite(drawn) else None
    if hasattr(drawn, "tolist"):
        return plain(drawn.tolist(), digits)
    if isinstance(drawn, Mapping):
        return {str(key): plain(value, digits) for key, value in drawn.items()}
    if isinstance(drawn, (list, tuple)):
        return [plain(value, digits) for value in drawn]
    return drawn
