"""What every theory offers: Problem, predict, simulate, assumptions, references."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Protocol, runtime_checkable

import xarray as xr

from firstlight.maths.rng import RNGLike, SeedLike

Verdict = Literal["holds", "fails", "not checkable"]


@dataclass(frozen=True)
class Assumption:
    """One thing that a theory assumes, checked for one problem.

    Attributes
    ----------
    name : str
        A short name, such as ``"orthogonal separability"``.
    verdict : {"holds", "fails", "not checkable"}
        What the check said.
    detail : str
        The number behind the verdict, in words.

    Examples
    --------
    >>> print(Assumption("bounded labels", "holds", "max |y| = 1"))
    holds: bounded labels (max |y| = 1)
    """

    name: str
    verdict: Verdict
    detail: str

    def __str__(self) -> str:
        return f"{self.verdict}: {self.name} ({self.detail})"


@runtime_checkable
class Problem(Protocol):
    """What a theory's `Problem` offers; a frozen dataclass that says what is studied and holds no results.

    `predict` is theory: it never trains a network and never looks at simulated data. `simulate` is
    experiment: it never calls theory. Both return an `xarray.Dataset` with the same observables as variables.
    What a prediction draws it draws from `rng`, by default always the same.
    A prediction that comes from an iteration carries a boolean variable ``converged``, and NaN where that is
    False. A prediction that is itself an estimate carries, beside an observable ``o``, its standard error as
    ``o_sem``; verdicts count it.

    Some theories speak of the very data and start that `rng` draws, and not of their average. Such a Problem
    has a method ``conditional(**options) -> bool`` that says so for these options of `predict`: its
    predictions are then compared trial by trial, on the experiment's own draws (see `is_conditional`).

    `theory` names the theory in records and file names; `version` is raised by hand whenever a change to the
    theory changes its numbers, so that old and new records never mix.
    """

    theory: ClassVar[str]
    version: ClassVar[int]
    references: ClassVar[tuple[str, ...]]

    # *args: Any and **options: Any together admit whatever options a theory names, for type checkers too.
    def predict(self, rng: RNGLike | SeedLike = 0, *args: Any, **options: Any) -> xr.Dataset:
        """Theory's value of every observable."""
        ...

    def simulate(self, rng: RNGLike | SeedLike = None, *args: Any, **options: Any) -> xr.Dataset:
        """One experiment's value of every observable."""
        ...

    def assumptions(self) -> tuple[Assumption, ...]:
        """Return what the theory assumes, each checked for this problem."""
        ...


def is_conditional(problem: Problem, options: Mapping[str, Any]) -> bool:
    """Say whether a prediction with these options holds for what its `rng` draws, and not for the average.

    A Problem without a method ``conditional`` speaks of the average.

    Examples
    --------
    >>> from firstlight.one_step import Problem
    >>> problem = Problem.scaled(dimension=20, width=20, samples=20, alpha=0.5, beta=0.5)
    >>> is_conditional(problem, {}), is_conditional(problem, {"method": "asymptotic"})
    (True, False)
    """
    announced = getattr(problem, "conditional", None)
    return announced is not None and bool(announced(**options))


@dataclass(frozen=True)
class Cost:
    """The work and the memory of one trial, up to a constant that a dry run measures.

    A Problem may offer ``cost(kind, **options) -> Cost``, with the kind ("simulate" or "predict") and the
    same options as that method gets. Only ratios between sizes matter, so leading terms are enough.
    It is asked often, so it should compute from the fields alone and draw no data.

    Parameters
    ----------
    flops : float
        Floating-point operations, or anything proportional to the time.
    bytes : float
        Memory that is alive at the peak.

    Examples
    --------
    >>> n, d = 2000, 1000
    >>> Cost(flops=2 * n * d**2 + d**3 / 3, bytes=8 * (n * d + d**2))
    Cost(flops=4333333333.333333, bytes=24000000)
    """

    flops: float
    bytes: float

    def __post_init__(self) -> None:
        if not (self.flops > 0 and self.bytes >= 0):
            raise ValueError(f"flops = {self.flops}, bytes = {self.bytes}: must be positive")


def cost_of(problem: Problem, kind: str, options: Mapping[str, Any]) -> Cost | None:
    """Return what a Problem says about the cost of one of its methods, or None if it says nothing."""
    ask = getattr(problem, "cost", None)
    return None if ask is None else ask(kind, **options)


def duration(seconds: float) -> str:
    """Put a time span in words.

    Examples
    --------
    >>> duration(0.5), duration(90), duration(1e5), duration(1e9)
    ('0.5 s', '1.5 min', '1.2 days', '31.7 years')
    """
    for unit, name in ((31_557_600.0, "years"), (86_400.0, "days"), (3600.0, "h"), (60.0, "min")):
        if seconds >= unit:
            return f"{seconds / unit:.1f} {name}"
    return f"{seconds:.2g} s"
