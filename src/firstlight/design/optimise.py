"""The best setting by theory alone, for any Problem whose theory predicts the objective."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import xarray as xr

from firstlight.design.search import Search, variable
from firstlight.maths.checks import check_count
from firstlight.maths.refusals import check_flag, check_instance, check_options, refusal
from firstlight.maths.rng import RNGLike, SeedLike
from firstlight.maths.shown import Shown, short
from firstlight.study.claims import Claim
from firstlight.study.compare import seed_of
from firstlight.study.problem import Problem


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
        Variables whose best value is an end of their range, or around whose best value theory stops to
        predict before the objective is 5 per cent worse: the optimum may lie beyond.
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
        place = ", ".join(f"{name} = {short(value)}" for name, value in self.best.items())
        error = f" ± {self.error:.2g}" if math.isfinite(self.error) else ""
        lines = [f"{self.objective} = {self.value:.4g}{error} at {place}"]
        lines += [f"within 5 % for {name} from {a:.3g} to {b:.3g}" for name, (a, b) in self.flat.items()]
        if self.border:
            lines.append(f"on the border of {', '.join(self.border)}: the optimum may lie beyond")
        if self.refused:
            lines.append(f"theory refused some settings: {self.refused}")
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
        One to three variables: some 40, 120 or 250 predictions. ``(low, high)`` are bounds: of integers if
        both are, on a logarithmic scale if they are positive and a factor of ten apart. A list holds choices.
    objective : str, default "test_error"
        What to minimise: an observable of `predict`.
    at : mapping, optional
        Where to take it, for observables over some dimension: ``{"time": 64}``.
    maximise : bool, default False
        Look for the largest value instead.
    predict, simulate : mapping, optional
        Options of `predict` and `simulate`.
    check, trials : bool and int, default False and 16
        Simulate so often at the optimum and beside it, where theory says 10 per cent worse or nothing, on the
        same random streams, and say whether the optimum is one.
    rng : SPEC 7 rng, default 0
        All predictions share its draws, so that they can be compared.

    Examples
    --------
    >>> from firstlight.demo import Exponential
    >>> optimum = optimise(Exponential(rate=1.0, samples=10), {"rate": (0.5, 2.0)}, "mean")
    >>> optimum.best, optimum.border  # the mean is 1/rate
    ({'rate': 2.0}, ('rate',))
    """
    check_flag("check", check)
    check_flag("maximise", maximise)
    check_count("trials", trials, 2)
    check_instance("objective", objective, str)
    if not isinstance(over, Mapping) or not 1 <= len(over) <= 3:
        raise refusal("over", over, "name one to three variables with bounds or choices")
    variables = [variable(name, given) for name, given in over.items()]
    search = Search(
        problem, variables, objective, check_options("at", at), -1 if maximise else 1,
        check_options("predict", predict), check_options("simulate", simulate), seed_of(rng),
    )  # fmt: skip
    best, converged = search.run()
    curves = {v.name: search.curve(best, i) for i, v in enumerate(variables)}
    around = {v.name: search.within(best, i) for i, v in enumerate(variables) if v.kind != "choice"}
    border = tuple(
        v.name for v, x in zip(variables, best, strict=True)
        if v.name in around and (v.on_border(x) or around[v.name].unknown)
    )  # fmt: skip
    value, error = search.predicted(best)
    checked = search.check(best, trials) if check else None  # before refusals are read: it adds its own
    return Optimum(
        dict(search.named(best)), objective, value, error, curves,
        {name: one.ends for name, one in around.items()}, border, converged, len(search.known),
        search.refused, checked, search.build(best),
    )  # fmt: skip
