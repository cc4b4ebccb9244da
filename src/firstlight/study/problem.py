"""The doors that every room has: Problem, predict, simulate, assumptions, references."""

from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Protocol, runtime_checkable

import xarray as xr

from firstlight.rng import RNGLike, SeedLike

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
    """What a room's `Problem` offers; a frozen dataclass that says what is studied and holds no results.

    `predict` is theory: it never trains a network and never looks at simulated data. `simulate` is
    experiment: it never calls theory. Both return an `xarray.Dataset` with the same observables as variables.
    A prediction that comes from an iteration carries a boolean variable ``converged``, and NaN where that is
    False.

    `room` names the room in records and file names; `room_version` is raised by hand whenever a change to the
    room changes its numbers, so that old and new records never mix.
    """

    room: ClassVar[str]
    room_version: ClassVar[int]
    references: ClassVar[tuple[str, ...]]

    def predict(self, rng: RNGLike | SeedLike = None, **options: Any) -> xr.Dataset:
        """Theory's value of every observable."""
        ...

    def simulate(self, rng: RNGLike | SeedLike = None, **options: Any) -> xr.Dataset:
        """One experiment's value of every observable."""
        ...

    def assumptions(self) -> tuple[Assumption, ...]:
        """Return what the theory assumes, each checked for this problem."""
        ...
