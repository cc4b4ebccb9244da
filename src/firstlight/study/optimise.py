"""The best setting by theory alone, for any Problem whose theory predicts the objective."""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from itertools import product
from typing import Any

import numpy as np
import xarray as xr
from scipy.optimize import minimize

from firstlight.maths.checks import check_count
from firstlight.maths.intervals import over_trials
from firstlight.maths.refusals import check_flag, refusal, shown, unknown
from firstlight.maths.rng import RNGLike, SeedLike, stream
from firstlight.maths.shown import Shown
from firstlight.study.claims import Claim, Estimate, judged
from firstlight.study.compare import converged_only, seed_of
from firstlight.study.problem import Problem, is_conditional
from firstlight.study.variables import Variable, variable

_GRID = {0: 1, 1: 13, 2: 7, 3: 5}  # places along each number before the search is local
_CURVE = 11
_FLAT = 0.05  # relative loss that counts as flat
_BESIDE = 0.1  # relative loss at which a check looks beside the optimum
_DRAWS = 4  # of a theory that speaks of what was drawn
_LIKELY = 2  # choices whose best is refined

Values = tuple[Any, ...]


@dataclass(frozen=True)
class Optimum(Shown):
    """Where theory puts the optimum.

    Attributes
    ----------
    best : dict
        The values of the variables.
    objective : str
        What was optimised.
    value, error : float
        Its prediction there, and that prediction's standard error (NaN if theory tells none).
    curves : dict of str to DataArray
        The objective along each variable, the others at their best; not known where theory is not.
    flat : dict of str to (low, high)
        Around the optimum, numbers along which the objective is within 5 per cent of the best.
    border : tuple of str
        Variables whose best value is an end of their range: the optimum may lie beyond.
    converged : bool
        Whether the search met its tolerance.
    evaluations : int
        Predictions that were made.
    refused : str
        Why theory refused some settings; empty if it did not.
    checked : Claim or None
        Whether simulations at the optimum are better than beside it.
    problem : Problem
        At the optimum.
    """

    best: dict[str, Any]
    objective: str
    value: float
    error: float
    curves: dict[str, xr.DataArray]
    flat: dict[str, tuple[float, float]]
    border: tuple[str, ...]
    converged: bool
    evaluations: int
    refused: str
    checked: Claim | None
    problem: Any

    def __str__(self) -> str:
        place = ", ".join(f"{name} = {_short(value)}" for name, value in self.best.items())
        error = f" ± {self.error:.2g}" if math.isfinite(self.error) else ""
        lines = [f"{self.objective} = {self.value:.4g}{error} at {place}"]
        lines += [f"within 5 % for {name} from {a:.3g} to {b:.3g}" for name, (a, b) in self.flat.items()]
        if self.border:
            lines.append(f"on the border of {', '.join(self.border)}: the optimum may lie beyond")
        if not self.converged:
            lines.append("the search did not settle")
        if self.checked is not None:
            lines.append(f"simulations: {self.checked}")
        return "\n".join(lines)


def optimise(
    problem: Problem | Callable[..., Problem],
    over: Mapping[str, Any],
    objective: str = "test_error",
    *,
    at: Mapping[str, Any] | None = None,
    maximise: bool = False,
    predict: Mapping[str, Any] | None = None,
    check: bool = False,
    simulate: Mapping[str, Any] | None = None,
    trials: int = 16,
    rng: RNGLike | SeedLike = 0,
) -> Optimum:
    """Find the setting that theory calls best, without training a network.

    Parameters
    ----------
    problem : Problem or callable
        Whose fields are varied; or what makes one from the variables, such as
        ``functools.partial(firstlight.one_step.families.by_width, dimension=200, samples=200, beta=0.5)``.
    over : mapping
        One to three variables. ``(low, high)`` are bounds: of integers if both are, on a logarithmic scale if
        they are positive and a factor of ten apart. A list holds choices.
    objective : str, default "test_error"
        What to minimise: an observable of `predict`.
    at : mapping, optional
        Where to take it, for observables over some dimension: ``{"time": 64}``.
    maximise : bool, default False
        Look for the largest value instead.
    predict, simulate : mapping, optional
        Options of `predict` and `simulate`.
    check : bool, default False
        Simulate at the optimum and beside it, where theory says 10 per cent worse, on the same random
        streams, and say whether the optimum is one.
    trials : int, default 16
        Of the check, at each place.
    rng : SPEC 7 rng, default 0
        All predictions share its draws, so that they can be compared.

    Returns
    -------
    Optimum

    Examples
    --------
    >>> from firstlight.study.demo import Exponential
    >>> found = optimise(Exponential(rate=1.0, samples=10), {"rate": (0.5, 2.0)}, "mean")
    >>> found.best, found.border  # the mean is 1/rate
    ({'rate': 2.0}, ('rate',))
    """
    check_flag("check", check)
    check_flag("maximise", maximise)
    check_count("trials", trials, 2)
    if not isinstance(over, Mapping) or not 1 <= len(over) <= 3:
        raise refusal("over", over, "name one to three variables with bounds or choices")
    variables = [variable(name, given) for name, given in over.items()]
    search = _Search(
        problem, variables, objective, dict(at or {}), -1 if maximise else 1, dict(predict or {}),
        dict(simulate or {}), seed_of(rng),
    )  # fmt: skip
    best, converged = search.run()
    curves = {v.name: search.curve(best, i) for i, v in enumerate(variables)}
    value, error = search.predicted(best)
    return Optimum(
        dict(search.named(best)),
        objective,
        value,
        error,
        curves,
        {v.name: search.flat(best, i) for i, v in enumerate(variables) if v.kind != "choice"},
        tuple(v.name for v, x in zip(variables, best, strict=True) if v.on_border(x)),
        converged,
        len(search.known),
        search.refused,
        search.check(best, trials) if check else None,
        search.build(best),
    )


class _Search:
    """One search: remembers every prediction."""

    def __init__(
        self, problem: Any, variables: list[Variable], objective: str, at: dict[str, Any], sign: int,
        predict: dict[str, Any], simulate: dict[str, Any], seed: int,
    ) -> None:  # fmt: skip
        self.problem, self.variables, self.objective, self.at, self.sign = (
            problem,
            variables,
            objective,
            at,
            sign,
        )
        self.predict, self.simulate, self.seed = predict, simulate, seed
        self.known: dict[Values, tuple[float, float]] = {}
        self.refused = ""
        if is_dataclass(problem) and not isinstance(problem, type):
            for one in variables:
                if one.name not in {item.name for item in fields(problem)}:
                    raise unknown("over", one.name, [item.name for item in fields(problem)])
        elif not callable(problem):
            raise refusal("problem", problem, "be a Problem, or a function that makes one")

    def named(self, values: Values) -> Iterable[tuple[str, Any]]:
        """Pair the variables' names with values."""
        return zip((one.name for one in self.variables), values, strict=True)

    def build(self, values: Values) -> Any:
        """Return the Problem at these values."""
        given = dict(self.named(values))
        made = isinstance(self.problem, type) or not is_dataclass(self.problem)
        return self.problem(**given) if made else replace(self.problem, **given)

    def predicted(self, values: Values) -> tuple[float, float]:
        """Return the objective and its standard error by theory; NaN where it refuses or did not converge."""
        if values not in self.known:
            try:
                self.known[values] = self._predict(self.build(values))
            except ValueError as error:
                if isinstance(error, _Unpredicted):
                    raise
                self.refused, self.known[values] = str(error), (np.nan, np.nan)
        return self.known[values]

    def _predict(self, problem: Any) -> tuple[float, float]:
        if not is_conditional(problem, self.predict):
            found = converged_only(problem.predict(stream(self.seed, "predict"), **self.predict))
            return self._scalar(found, self.objective), self._scalar(found, f"{self.objective}_sem")
        drawn = [
            self._scalar(
                converged_only(problem.predict(stream(self.seed, "trial", i), **self.predict)), self.objective
            )
            for i in range(_DRAWS)
        ]
        return float(np.mean(drawn)), float(np.std(drawn, ddof=1) / _DRAWS**0.5)

    def _scalar(self, found: xr.Dataset, name: str) -> float:
        if name not in found:
            if name != self.objective:
                return np.nan
            names = [str(one) for one in found.data_vars if not str(one).endswith("_sem")]
            raise _Unpredicted(
                f"objective = {name!r}: not predicted; this theory predicts {', '.join(names)}"
            )
        try:
            values = found[name].sel({k: x for k, x in self.at.items() if k in found[name].dims}).squeeze()
        except KeyError:
            raise _Unpredicted(f"at = {self.at}: {name} is known at {_places(found[name])}") from None
        if values.ndim:
            raise _Unpredicted(f"at = {self.at}: {name} depends on {_places(values)}; say where to take it")
        return float(values)

    def loss(self, values: Values) -> float:
        """Return what is to be made small; infinity where theory does not know."""
        value = self.predicted(values)[0]
        return self.sign * value if math.isfinite(value) else math.inf

    def run(self) -> tuple[Values, bool]:
        """Look at a grid, then search from the best places of the likeliest choices."""
        numbers = [i for i, one in enumerate(self.variables) if one.kind != "choice"]
        grids = [
            one.values if one.kind == "choice" else one.grid(_GRID[len(numbers)]) for one in self.variables
        ]
        starts: dict[Values, Values] = {}
        for values in product(*grids):
            kind = tuple(x for i, x in enumerate(values) if i not in numbers)
            if kind not in starts or self.loss(values) < self.loss(starts[kind]):
                starts[kind] = values
        likely = sorted(starts.values(), key=self.loss)[:_LIKELY]
        if not math.isfinite(self.loss(likely[0])):
            raise ValueError(
                f"over: theory predicts {self.objective} nowhere on the grid"
                + (f"; the last refusal was: {self.refused}" if self.refused else ", or did not converge")
            )
        found = [self._refined(start, numbers) for start in likely if math.isfinite(self.loss(start))]
        return min(found, key=lambda pair: self.loss(pair[0]))

    def _refined(self, start: Values, numbers: list[int]) -> tuple[Values, bool]:
        if not numbers:
            return start, True
        spacing, best = 1 / (_GRID[len(numbers)] - 1), [start]

        def place(u: np.ndarray) -> Values:
            values = list(start)
            for i, x in zip(numbers, u, strict=True):
                values[i] = self.variables[i].at(float(x))
            return tuple(values)

        def asked(u: np.ndarray) -> float:
            loss = self.loss(place(u))
            best[0] = min(best[0], place(u), key=self.loss)
            return loss if math.isfinite(loss) else 1e300

        u = np.array([self.variables[i].unit(start[i]) for i in numbers])
        away = np.where(u > 0.5, -0.6, 0.6) * spacing
        simplex = np.vstack([u, u + np.diag(away)])
        options = {"initial_simplex": simplex, "xatol": 2e-3, "fatol": 1e-5 * abs(self.loss(start)) + 1e-300}
        found = minimize(
            asked, u, method="Nelder-Mead", bounds=[(0, 1)] * len(u),
            options={**options, "maxfev": 60 * len(u)},
        )  # fmt: skip
        whole = [i for i in numbers if self.variables[i].kind == "integer"]
        return self._stepped(best[0], whole), bool(found.success)

    def _stepped(self, values: Values, whole: list[int]) -> Values:
        """Try the neighbouring integers until none is better."""
        while True:
            near = [
                (*values[:i], x, *values[i + 1 :]) for i in whole for x in self.variables[i].beside(values[i])
            ]
            better = min([values, *near], key=self.loss)
            if self.loss(better) >= self.loss(values):
                return values
            values = better

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

    def flat(self, best: Values, i: int) -> tuple[float, float]:
        """Return the numbers around the best between which the objective is hardly worse."""
        return self._within(best, i, _FLAT)

    def _within(self, best: Values, i: int, share: float) -> tuple[float, float]:
        one, here = self.variables[i], self.variables[i].unit(best[i])
        most = self.loss(best) + share * abs(self.loss(best))
        found = []
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
            found.append(one.at(inside))
        return found[0], found[1]

    def check(self, best: Values, trials: int) -> Claim:
        """Simulate at the optimum and beside it, on the same streams."""
        centre, parts = self._simulated(best, trials), []
        for i, one in enumerate(self.variables):
            ends = (
                [x for x in one.values if x != best[i]]
                if one.kind == "choice"
                else [x for x in self._within(best, i, _BESIDE) if x != best[i]]
            )
            for x in ends:
                gain = self.sign * (self._simulated(self.along(best, i, x), trials) - centre)
                label = (
                    f"{self.objective} at {one.name} = {_short(x)}, {'below' if self.sign < 0 else 'above'}"
                )
                parts.append(Estimate(f"{label} that at the optimum", *over_trials(gain)))
        text = f"{self.objective} of simulations is best at theory's optimum"
        if not parts:
            return Claim(text, "undecided", "no other place to look at")
        return judged(text, parts)

    def _simulated(self, values: Values, trials: int) -> np.ndarray:
        problem = self.build(values)
        runs = (problem.simulate(stream(self.seed, "trial", i), **self.simulate) for i in range(trials))
        return np.array([self._scalar(run, self.objective) for run in runs])


class _Unpredicted(ValueError):
    """The question itself is wrong, wherever it is asked."""


def _places(values: xr.DataArray) -> str:
    return ", ".join(f"{name} = {shown(values[name].values.tolist())}" for name in values.dims)


def _short(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else shown(value)
