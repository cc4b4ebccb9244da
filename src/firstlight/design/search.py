"""Search for the best setting: variables (bounded numbers, integers, choices), and the search itself."""

import contextlib
import math
from collections.abc import Iterable
from dataclasses import dataclass, fields, is_dataclass, replace
from itertools import product
from numbers import Integral, Real
from typing import Any, Literal, NamedTuple

import numpy as np
import xarray as xr
from scipy.optimize import minimize

from firstlight.maths.intervals import over_trials
from firstlight.maths.refusals import refusal, shown, unknown
from firstlight.maths.rng import stream
from firstlight.maths.shown import short
from firstlight.study.claims import Claim, Estimate, judged
from firstlight.study.compare import converged_only
from firstlight.study.problem import is_conditional

_FAR = 1e300  # bounds further out leave no room for their difference
_LOG = 10.0  # bounds so many times apart are searched on a logarithmic scale
_GRID = {1: 13, 2: 7, 3: 5}  # places along each number before the search is local
_CURVE = 11
_FLAT = 0.05  # relative loss that counts as flat
_BESIDE = 0.1  # relative loss at which a check looks beside the optimum
_DRAWS = 4  # of a theory that speaks of what was drawn
_LIKELY = 2  # choices whose best is refined
_SIMPLEX = 0.6  # of the grid's spacing: how large a search begins
_CLOSE = 1e-5  # relative loss that is not looked for

Values = tuple[Any, ...]


class Range(NamedTuple):
    """Numbers around the best along which the objective is hardly worse, and what ends them.

    Attributes
    ----------
    ends : (float, float)
    unknown : tuple of float
        Places just beyond an end where theory says nothing: there the optimum may lie further on.
    """

    ends: tuple[float, float]
    unknown: tuple[float, ...]


@dataclass(frozen=True)
class Variable:
    """One variable; numbers are searched for in [0, 1], mapped to their range.

    Attributes
    ----------
    name : str
    kind : {"number", "integer", "choice"}
    values : tuple
        The two bounds, or the choices.
    """

    name: str
    kind: Literal["number", "integer", "choice"]
    values: tuple[Any, ...]

    @property
    def log(self) -> bool:
        """Whether the scale is logarithmic."""
        low, high = self.values[0], self.values[-1]
        return self.kind != "choice" and low > 0 and high >= _LOG * low

    def at(self, u: float) -> Any:
        """Return the number at u in [0, 1]."""
        low, high = (math.log(x) if self.log else x for x in self.values)
        value = low + (high - low) * min(max(u, 0.0), 1.0)
        value = math.exp(value) if self.log else value
        clipped = min(max(value, self.values[0]), self.values[1])
        return round(clipped) if self.kind == "integer" else float(clipped)

    def unit(self, value: float) -> float:
        """Return where a number lies in [0, 1]."""
        low, high, x = (math.log(x) if self.log else x for x in (*self.values, value))
        return (x - low) / (high - low)

    def grid(self, count: int) -> list[Any]:
        """Return about so many numbers over the whole range."""
        return sorted({self.at(i / (count - 1)) for i in range(count)})

    def beside(self, value: int) -> list[int]:
        """Return the neighbours of an integer within the bounds."""
        return [x for x in (value - 1, value + 1) if self.values[0] <= x <= self.values[1]]

    def on_border(self, value: Any) -> bool:
        """Tell whether a number is an end of its range."""
        if self.kind == "integer":
            return value in self.values
        return self.kind != "choice" and not 2e-3 < self.unit(value) < 1 - 2e-3


def variable(name: str, given: Any) -> Variable:
    """Read a variable: ``(low, high)`` or a list of choices.

    Examples
    --------
    >>> variable("ridge", (1e-6, 10.0)).log, variable("width", (2, 8)).kind
    (True, 'integer')
    >>> variable("activation", ["relu", "tanh"]).values
    ('relu', 'tanh')
    """
    if isinstance(given, list) and len(given) >= 2:
        choices = tuple(tuple(x) if isinstance(x, list) else x for x in given)
        try:
            hash(choices)
        except TypeError:
            raise refusal(f"over[{name!r}]", given, "hold numbers, texts or lists of these") from None
        return Variable(name, "choice", choices)
    real = isinstance(given, tuple) and len(given) == 2 and all(
        isinstance(x, Real) and not isinstance(x, bool) for x in given
    )  # fmt: skip
    if not real or not given[0] < given[1]:
        raise refusal(f"over[{name!r}]", given, "be bounds (low, high) that increase, or a list of choices")
    integer = all(isinstance(x, Integral) for x in given)
    bounds = tuple(map(int if integer else float, given))  # in NumPy's small types differences overflow
    if not max(map(abs, bounds)) <= _FAR:
        raise refusal(f"over[{name!r}]", given, f"be bounds of at most {_FAR:g}")
    return Variable(name, "integer" if integer else "number", bounds)


class Search:
    """One search: remembers every prediction."""

    def __init__(
        self, problem: Any, variables: list[Variable], objective: str, at: dict[str, Any], sign: int,
        predict: dict[str, Any], simulate: dict[str, Any], seed: int,
    ) -> None:  # fmt: skip
        self.problem, self.variables, self.objective = problem, variables, objective
        self.numbers = [i for i, one in enumerate(variables) if one.kind != "choice"]
        self.at, self.sign = at, sign
        self.predict, self.simulate, self.seed = predict, simulate, seed
        self.known: dict[Values, tuple[float, float]] = {}
        self.refusals: dict[Values, str] = {}
        if is_dataclass(problem) and not isinstance(problem, type):
            for one in variables:
                if one.name not in {item.name for item in fields(problem)}:
                    raise unknown("over", one.name, [item.name for item in fields(problem)])
        elif not callable(problem):
            raise refusal("problem", problem, "be a Problem, or a function that makes one")

    def units(self, values: Values) -> list[float]:
        """Return where values lie in the unit cube."""
        return [one.unit(x) for one, x in zip(self.variables, values, strict=True)]

    def named(self, values: Values) -> Iterable[tuple[str, Any]]:
        """Pair the variables' names with values."""
        return zip((one.name for one in self.variables), values, strict=True)

    def build(self, values: Values) -> Any:
        """Return the Problem at these values."""
        given = dict(self.named(values))
        made = isinstance(self.problem, type) or not is_dataclass(self.problem)
        try:
            return self.problem(**given) if made else replace(self.problem, **given)
        except TypeError as error:
            raise TypeError(f"problem: cannot be made from {', '.join(given)} ({error})") from error

    def predicted(self, values: Values) -> tuple[float, float]:
        """Return the objective and its standard error by theory; NaN where it refuses or did not converge."""
        if values not in self.known:
            try:
                self.known[values] = self._predict(self.build(values))
            except ValueError as error:
                if isinstance(error, _Unpredicted):
                    raise
                self.refusals[values], self.known[values] = str(error), (np.nan, np.nan)
        return self.known[values]

    @property
    def refused(self) -> str:
        """Why theory refused last; empty if it never did."""
        return next(reversed(self.refusals.values()), "")

    def _predict(self, problem: Any) -> tuple[float, float]:
        wanted = (self.objective, f"{self.objective}_sem", "converged")

        def predicted(*key: str | int) -> xr.Dataset:
            found = problem.predict(stream(self.seed, *key), **self.predict)
            if self.objective not in found:  # what is there is told by `_scalar`
                return found
            return converged_only(found[[name for name in wanted if name in found]])

        if not is_conditional(problem, self.predict):
            once = predicted("predict")
            return self._scalar(once, self.objective), self._scalar(once, f"{self.objective}_sem")
        drawn = [self._scalar(predicted("trial", i), self.objective) for i in range(_DRAWS)]
        return float(np.mean(drawn)), float(np.std(drawn, ddof=1) / _DRAWS**0.5)

    def _scalar(self, predicted: xr.Dataset, name: str) -> float:
        if name not in predicted:
            if name != self.objective:
                return np.nan
            names = [str(one) for one in predicted.data_vars if not str(one).endswith("_sem")]
            raise _Unpredicted(
                f"objective = {name!r}: not predicted; this theory predicts {', '.join(names)}"
            )
        dims = [str(dim) for dim in predicted[name].dims]
        if name == self.objective and (wrong := [dim for dim in self.at if dim not in dims]):
            raise _Unpredicted(str(unknown(f"at, for {name}", wrong[0], dims)))
        try:
            at = {dim: x for dim, x in self.at.items() if dim in dims}
            values = predicted[name].sel(at).squeeze()
        except KeyError:
            raise _Unpredicted(f"at = {self.at}: {name} is known at {_places(predicted[name])}") from None
        if values.ndim:
            raise _Unpredicted(f"at = {self.at}: {name} depends on {_places(values)}; say where to take it")
        return float(values)

    def loss(self, values: Values) -> float:
        """Return what is to be made small; infinity where theory does not know."""
        value = self.predicted(values)[0]
        return self.sign * value if math.isfinite(value) else math.inf

    def run(self) -> tuple[Values, bool]:
        """Look at a grid, then search from the best places of the likeliest choices."""
        grids = [
            one.grid(_GRID[len(self.numbers)]) if i in self.numbers else one.values
            for i, one in enumerate(self.variables)
        ]
        starts: dict[Values, Values] = {}
        for values in product(*grids):
            kind = tuple(x for i, x in enumerate(values) if i not in self.numbers)
            if kind not in starts or self.loss(values) < self.loss(starts[kind]):
                starts[kind] = values
        likely = sorted(starts.values(), key=self.loss)[:_LIKELY]
        if not math.isfinite(self.loss(likely[0])):
            raise ValueError(
                f"over: theory predicts {self.objective} nowhere on the grid"
                + (f"; the last refusal was: {self.refused}" if self.refused else ", or did not converge")
            )
        ends = [self._refined(start) for start in likely if math.isfinite(self.loss(start))]
        return min(ends, key=lambda pair: self.loss(pair[0]))

    def _refined(self, start: Values) -> tuple[Values, bool]:
        """Go down from a place, until no neighbouring integer is better, the other numbers fitted anew."""
        best, settled = self._downhill(start, self.numbers)
        while True:
            near = [
                self._downhill(self.along(best, i, x), [j for j in self.numbers if j != i])[0]
                for i in self.numbers if self.variables[i].kind == "integer"
                for x in self.variables[i].beside(best[i])
            ]  # fmt: skip
            better = min([best, *near], key=self.loss)
            if not self.loss(better) < self.loss(best) - _CLOSE * abs(self.loss(best)):
                return better, settled
            best = better

    def _downhill(self, start: Values, numbers: list[int]) -> tuple[Values, bool]:
        """Search along some numbers by Nelder and Mead's simplex; and say whether it met its tolerance.

        Beyond a border the objective is mirrored: a simplex cut off there is flat, and stops wherever it is.
        """
        if not numbers:
            return start, True
        size = _SIMPLEX / (_GRID[len(self.numbers)] - 1)
        best = [start]

        def place(u: np.ndarray) -> Values:
            values = list(start)
            for i, x in zip(numbers, u, strict=True):
                values[i] = self.variables[i].at(1 - abs(1 - float(x) % 2))
            return tuple(values)

        def asked(u: np.ndarray) -> float:
            loss = self.loss(place(u))
            best[0] = min(best[0], place(u), key=self.loss)
            return loss if math.isfinite(loss) else 1e300

        u = np.array([self.variables[i].unit(start[i]) for i in numbers])
        simplex = np.vstack([u, u + np.diag(np.where(u > 0.5, -size, size))])
        options = {
            "initial_simplex": simplex, "xatol": 2e-3, "fatol": _CLOSE * abs(self.loss(start)) + 1e-300,
            "maxfev": 60 * len(u),
        }  # fmt: skip
        minimum = minimize(asked, u, method="Nelder-Mead", options=options)
        return best[0], bool(minimum.success)

    def along(self, best: Values, i: int, x: Any) -> Values:
        """Return the best values with one of them changed."""
        return (*best[:i], x, *best[i + 1 :])

    def curve(self, best: Values, i: int) -> xr.DataArray:
        """Return the objective along one variable."""
        one = self.variables[i]
        places = one.values if one.kind == "choice" else sorted({*one.grid(_CURVE), best[i]})
        values = [self.predicted(self.along(best, i, x))[0] for x in places]
        labels = [x if isinstance(x, (str, int, float)) else shown(x) for x in places]
        return xr.DataArray(values, coords={one.name: labels}, dims=one.name, name=self.objective)

    def within(self, best: Values, i: int, share: float = _FLAT) -> Range:
        """Return the numbers around the best between which the objective is worse by a small share."""
        one, here = self.variables[i], self.variables[i].unit(best[i])
        most = self.loss(best) + share * abs(self.loss(best))
        kept, unknown = [], []
        for end in (0.0, 1.0):
            inside, outside = here, here
            for x in sorted((u for u in np.linspace(0, 1, _CURVE) if (u - here) * (end - 0.5) > 0),
                            key=lambda u: abs(u - here)):  # fmt: skip
                if self.loss(self.along(best, i, one.at(x))) > most:
                    outside = x
                    break
                inside = x
            for _ in range(6 if outside != here else 0):
                middle = 0.5 * (inside + outside)
                good = self.loss(self.along(best, i, one.at(middle))) <= most
                inside, outside = (middle, outside) if good else (inside, middle)
            kept.append(best[i] if inside == here else one.at(inside))
            if outside != here and math.isinf(self.loss(self.along(best, i, one.at(outside)))):
                unknown.append(one.at(outside))
        return Range((kept[0], kept[1]), tuple(unknown))

    def check(self, best: Values, trials: int) -> Claim:
        """Simulate at the optimum and beside it, on the same streams."""
        centre, parts = self._simulated(best, trials), []
        for i, one in enumerate(self.variables):
            ends = one.values if one.kind == "choice" else self._beside(best, i)
            for x in [x for x in ends if x != best[i]]:
                try:
                    gain = self.sign * (self._simulated(self.along(best, i, x), trials) - centre)
                except ValueError as error:  # beyond theory networks may refuse, too
                    self.refusals[self.along(best, i, x)] = f"not checked there: {error}"
                    continue
                side = "below" if self.sign < 0 else "above"
                label = f"{self.objective} at {one.name} = {short(x)}, {side} that at the optimum"
                parts.append(Estimate(label, *over_trials(gain)))
        text = f"{self.objective} of simulations is best at theory's optimum"
        if not parts:
            return Claim(text, "undecided", "no other place to look at")
        return judged(text, parts)

    def _beside(self, best: Values, i: int) -> list[Any]:
        """Return where theory says worse; where it says nothing, the next place of the curve beyond."""
        around, one = self.within(best, i, _BESIDE), self.variables[i]
        ends = list(around.ends)
        for x in around.unknown:
            upper = x > best[i]
            beyond = one.at(one.unit(x) + (1 if upper else -1) / (_CURVE - 1))
            with contextlib.suppress(ValueError):  # a field may allow no such value: then the end stays
                self.build(self.along(best, i, beyond))
                ends[upper] = beyond
        return ends

    def _simulated(self, values: Values, trials: int) -> np.ndarray:
        problem = self.build(values)
        runs = (problem.simulate(stream(self.seed, "trial", i), **self.simulate) for i in range(trials))
        return np.array([self._scalar(run, self.objective) for run in runs])


class _Unpredicted(ValueError):
    """The question itself is wrong, wherever it is asked."""


def _places(values: xr.DataArray) -> str:
    return ", ".join(f"{name} = {shown(values[name].values.tolist())}" for name in values.dims)
