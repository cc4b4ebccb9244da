"""A study: a grid of Problems, the arms that answer at each point, trials, observables and a figure."""

import inspect
import itertools
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from types import FunctionType
from typing import TYPE_CHECKING, Any

import numpy as np

from firstlight.maths.checks import check_count, check_number, check_positive
from firstlight.maths.refusals import check_instance, check_names, check_table, refusal, unknown
from firstlight.maths.shown import Shown
from firstlight.study.problem import Problem, is_conditional
from firstlight.study.registry import Reference, resolve
from firstlight.study.spec import Arm, FigureSpec, Range, Refine, Scalar, Scale

if TYPE_CHECKING:
    import xarray as xr

    from firstlight.study.claims import Claim

Point = dict[str, Scalar]
_NEEDED = ("theory", "version", "predict", "simulate")


@dataclass(frozen=True)
class Study(Shown):
    """A sweep over Problems of any theory: what is varied, what is measured, how often, and what is drawn.

    Parameters
    ----------
    name : str
        ``"theory/what"``: lower-case words of letters, digits, ``_`` and ``-``, with one or more slashes.
    description : str
        One line.
    problem : callable or str
        Makes a Problem from keyword fields: a Problem class, or a module-level function; or its address
        ``"module:qualname"``, which is imported only when a problem is built.
    axes : mapping of str to sequence
        The grid: each name is a keyword of `problem`, each value an int, float, str or bool; or a `Range`.
    fixed : mapping, optional
        The other keywords of `problem`.
    arms : mapping of str to Arm, optional
        Default: ``simulation`` and ``theory``, without options. The first "predict" arm is the reference that
        the experiments are judged against.
    trials : int, default 8
        Trials of each "simulate" arm at each point.
    seed : int, default 0
        Together with the problem's content and the trial number it names the random stream.
    observables : sequence of str, optional
        The variables to keep; default: all. ``converged`` is always kept.
    figure : FigureSpec, optional
        What the figure shows.
    scales : mapping of str to Scale, optional
        Overrides by scale. Without a scale "quick" the study itself is the quick one.
    refine : Refine, optional
        Lets the sweep add points where an observable changes fastest.
    size_axis : str, optional
        A numeric axis along which theory becomes exact; the report fits the rate at which the gap shrinks.
    tolerance : float, default 0.05
        Relative gap within which experiment and theory are said to agree.
    absolute : float or mapping of str to float, default 0
        Added to that gap, for observables that come close to zero, such as distribution functions; a mapping
        names the observables that it is meant for.
    judged : sequence of str, optional
        The observables that the verdict speaks of; default: all.
    claims : callable or str, optional
        Judges published claims by what was found: called with the study's Dataset it returns `Claim`s. Or the
        address of such a function, as for `problem`.
    source : str, optional
        The TOML file it was read from.

    Examples
    --------
    >>> study = Study("demo/grid", "a grid", "fractions:Fraction", axes={"a": [1, 2], "b": [0.5, 1.5, 2.5]})
    >>> study.size, next(study.points())
    (6, {'a': 1, 'b': 0.5})
    """

    name: str
    description: str
    problem: str | Callable[..., Problem]
    axes: Mapping[str, Sequence[Scalar]]
    fixed: Mapping[str, Any] = field(default_factory=dict)
    arms: Mapping[str, Arm] = field(
        default_factory=lambda: {"simulation": Arm("simulate"), "theory": Arm("predict")}
    )
    trials: int = 8
    seed: int = 0
    observables: Sequence[str] = ()
    figure: FigureSpec = field(default_factory=FigureSpec)
    scales: Mapping[str, Scale] = field(default_factory=dict)
    refine: Refine | None = None
    size_axis: str | None = None
    tolerance: float = 0.05
    absolute: float | Mapping[str, float] = 0.0
    judged: Sequence[str] = ()
    claims: "str | Callable[[xr.Dataset], Sequence[Claim]] | None" = None
    source: str | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not re.fullmatch(r"[a-z0-9_-]+(/[a-z0-9_-]+)+", self.name):
            raise refusal("name", self.name, "look like 'theory/what' in lower case")
        if not isinstance(self.description, str) or "\n" in self.description:
            raise refusal("description", self.description, "be one line of text")
        for name in ("problem", "claims"):
            made = getattr(self, name)
            named = isinstance(made, str) and ":" in made
            if not (callable(made) or named or (made is None and name == "claims")):
                raise refusal(name, made, "be a callable or 'module:qualname'")
        _check_axes(self.axes)
        object.__setattr__(self, "axes", {name: _plain(values) for name, values in self.axes.items()})
        check_table("fixed", self.fixed)
        if shared := set(self.fixed) & set(self.axes):
            raise ValueError(f"fixed: {sorted(shared)[0]!r} is an axis already")
        _check_arms(self.arms)
        check_count("trials", self.trials, 1)
        check_count("seed", self.seed, 0, math.inf)
        for name in ("observables", "judged"):
            object.__setattr__(self, name, check_names(name, getattr(self, name)))
        if self.observables and (more := set(self.judged) - set(self.observables)):
            raise unknown("judged", sorted(more)[0], self.observables)
        check_positive("tolerance", self.tolerance)
        check_instance("figure", self.figure, FigureSpec)
        check_instance("refine", self.refine, Refine, type(None))
        check_instance("size_axis", self.size_axis, str, type(None))
        self._check_absolute()
        self._check_references()

    def _check_absolute(self) -> None:
        named = self.absolute if isinstance(self.absolute, Mapping) else {"": self.absolute}
        for name, value in named.items():
            check_number(f"absolute.{name}" if name else "absolute", value, 0)
            if name and self.observables and name not in self.observables:
                raise unknown("absolute", name, self.observables)

    def _check_references(self) -> None:
        """Refuse figure, refinement, size axis and scales that name axes or arms that do not exist."""
        for name in ("panels", "y"):
            if (axis := getattr(self.figure, name)) is not None and axis not in self.axes:
                raise unknown(f"figure.{name}", axis, self.axes)
        for name, arm in self.arms.items():
            if more := set(arm.against) - set(self.arms):
                raise unknown(f"arms.{name}.against", sorted(more)[0], self.arms)
        if self.refine is not None:
            self._check_numeric("refine.axis", self.refine.axis)
            if self.refine.arm not in self.arms:
                raise unknown("refine.arm", self.refine.arm, self.arms)
        if self.size_axis is not None:
            self._check_numeric("size_axis", self.size_axis)
        for label in check_table("scales", self.scales):
            self.at(label)

    def _check_numeric(self, what: str, axis: str) -> None:
        if axis not in self.axes:
            raise unknown(what, axis, self.axes)
        if isinstance(self.axes[axis][0], (str, bool)):
            raise ValueError(f"{what} = {axis!r}: the axis must hold numbers")

    @property
    def size(self) -> int:
        """How many points the grid has, without making them."""
        return math.prod(len(values) for values in self.axes.values())

    @property
    def records(self) -> int:
        """How many records a full run of the grid makes: points × arms × trials."""
        return self.size * sum(map(self.count, self.arms))

    @cached_property
    def _first_problem(self) -> Problem:
        return self.build(self.point(0))

    def conditional(self, arm: str) -> bool:
        """Say whether an arm predicts for what each trial draws, so that it is judged trial by trial."""
        asked = self.arms[arm]
        if asked.kind == "simulate" or asked.paired:
            return bool(asked.paired)
        return is_conditional(self._first_problem, asked.options)

    def count(self, arm: str) -> int:
        """Return how many trials an arm runs at each point."""
        asked = self.arms[arm]
        open_ = asked.kind == "predict" and asked.paired is None and asked.trials is None
        return asked.count(self.trials, open_ and self.conditional(arm))

    @property
    def reference(self) -> str | None:
        """The arm that the experiments are judged against: the first prediction."""
        return next((name for name, arm in self.arms.items() if arm.kind == "predict"), None)

    @property
    def comparisons(self) -> dict[str, tuple[str, str]]:
        """What is judged, by name: the experiment, and the arm that it is judged by."""
        pairs: dict[str, tuple[str, str]] = {}
        for name, arm in self.arms.items():
            if arm.kind == "simulate":
                pairs |= {name: (name, self.reference)} if self.reference else {}
                pairs |= {f"{name} by {other}": (name, other) for other in arm.against}
        return pairs

    def allowance(self, observable: str) -> float:
        """Return what is added to the relative tolerance of one observable."""
        if isinstance(self.absolute, Mapping):
            return self.absolute.get(observable, 0.0)
        return self.absolute

    def points(self) -> Iterator[Point]:
        """Yield the grid's points, last axis fastest."""
        for values in itertools.product(*self.axes.values()):
            yield dict(zip(self.axes, values, strict=True))

    def point(self, index: int) -> Point:
        """Return one point of the grid by its number, without making the others."""
        point: Point = {}
        for name, values in reversed(list(self.axes.items())):
            index, place = divmod(index, len(values))
            point[name] = values[place]
        return dict(reversed(point.items()))

    def build(self, point: Mapping[str, Scalar]) -> Problem:
        """Make the Problem of a point; a refusal names the point."""
        return build(self.name, self.problem, self.fixed, point)

    def at(self, scale: str) -> "Study":
        """Return the study at a scale: one without scales, with that scale's overrides in place."""
        if scale not in self.scales:
            if scale == "quick":
                return replace(self, scales={})
            raise unknown("scale", scale, {"quick", *self.scales})
        change = self.scales[scale]
        if not isinstance(change, Scale):
            raise ValueError(f"scales.{scale} = {change!r}: must be a Scale")
        for axis in change.axes:
            if axis not in self.axes:
                raise unknown(f"scales.{scale}.axes", axis, self.axes)
        return replace(
            self,
            trials=change.trials or self.trials,
            fixed={**self.fixed, **change.fixed},
            axes={**self.axes, **change.axes},
            refine=change.refine or self.refine,
            scales={},
        )


def _check_axes(axes: object) -> None:
    if not isinstance(axes, Mapping) or not axes:
        raise refusal("axes", axes, "be a table with at least one axis")
    for name, values in axes.items():
        if not isinstance(name, str) or not name.isidentifier() or name in ("arm", "trial"):
            raise ValueError(f"axes: {name!r} cannot name an axis (an identifier other than arm, trial)")
        if isinstance(values, str) or not isinstance(values, (Sequence, np.ndarray)) or not len(values):
            raise refusal(f"axes.{name}", values, "be a list of at least one value")


def _plain(values: Sequence[Scalar] | np.ndarray) -> Sequence[Scalar]:
    """Turn axis values into plain Python scalars, checked: one kind, finite, distinct."""
    if isinstance(values, Range):
        return values
    plain = tuple(value.item() if isinstance(value, np.generic) else value for value in values)
    kinds = {str if isinstance(v, str) else bool if isinstance(v, bool) else float for v in plain}
    for value in plain:
        if not isinstance(value, (bool, int, float, str)) or (isinstance(value, float) and math.isnan(value)):
            raise ValueError(f"axis value {value!r}: must be an int, float, str or bool, and not NaN")
    if len(kinds) > 1:
        raise ValueError(f"axis values {plain!r}: mix text, truth values and numbers")
    if len(set(plain)) < len(plain):
        raise ValueError(f"axis values {plain!r}: hold a value twice")
    return plain


def _check_arms(arms: object) -> None:
    if not isinstance(arms, Mapping) or not arms:
        raise refusal("arms", arms, "be a table with at least one arm")
    for name, arm in arms.items():
        if not isinstance(name, str) or not re.fullmatch(r"[a-z][a-z0-9_]*", name):
            raise ValueError(f"arms: {name!r} cannot name an arm (lower-case letters, digits, _)")
        if not isinstance(arm, Arm):
            raise refusal(f"arms.{name}", arm, "be an Arm")


@lru_cache
def _fields(make: Callable[..., Any]) -> tuple[str, ...] | None:
    """Return the fields that a factory has; None if it takes any."""
    try:
        parameters = inspect.signature(make).parameters
    except ValueError:  # a builtin tells none
        return None
    return None if any(one.kind is one.VAR_KEYWORD for one in parameters.values()) else tuple(parameters)


def _check_fields(make: Callable[..., Any], given: Sequence[str]) -> None:
    """Name a field that a factory does not have, with those that it has."""
    hashable = isinstance(make, (type, FunctionType))  # other callables may have no hash
    known = (_fields if hashable else _fields.__wrapped__)(make)
    if known is not None:
        for name in given:
            if name not in known:
                raise unknown("field", name, known)


def build(name: str, factory: Reference, fixed: Mapping[str, Any], point: Mapping[str, Scalar]) -> Problem:
    """Make a Problem from its factory and its fields, fixed or of a point; a refusal names study and point.

    Examples
    --------
    >>> build("demo/x", "firstlight.demo:Exponential", {"samples": 10}, {"rate": 2.0})
    Exponential(rate=2.0, samples=10)
    """
    where = ", ".join(f"{axis} = {value!r}" for axis, value in point.items())
    try:
        make = resolve(factory)
        _check_fields(make, [*fixed, *point])
        problem = make(**fixed, **point)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} at {where}: {error}") from error
    if missing := [kind for kind in _NEEDED if not hasattr(problem, kind)]:
        raise ValueError(f"{name} at {where}: {type(problem).__name__} has no {missing[0]!r}")
    return problem
