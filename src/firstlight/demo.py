"""A theory of one idea, for trying studies out: the mean and variance of an exponential sample."""

import tempfile
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar

import xarray as xr

from firstlight.maths.checks import check_count, check_positive
from firstlight.maths.equality import ByValue
from firstlight.maths.rng import RNGLike, SeedLike, generator
from firstlight.study.problem import Assumption, Cost
from firstlight.study.spec import Arm
from firstlight.study.sweep import Study


@dataclass(frozen=True, eq=False)
class Exponential(ByValue):
    """Waiting times at a given rate: theory knows the mean and variance, experiment samples them.

    Parameters
    ----------
    rate : float
        Events per unit of time, positive.
    samples : int
        How many waiting times an experiment draws, at least 1.

    Examples
    --------
    >>> float(Exponential(rate=2.0).predict()["mean"])
    0.5
    """

    rate: float = 1.0
    samples: int = 1000

    theory: ClassVar[str] = "demo"
    version: ClassVar[int] = 1
    references: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self) -> None:
        check_positive("rate", self.rate)
        check_count("samples", self.samples)

    def predict(self, rng: RNGLike | SeedLike = 0, **options: Any) -> xr.Dataset:
        """Return the mean 1 / rate and the variance 1 / rate²."""
        return xr.Dataset({"mean": 1 / self.rate, "variance": 1 / self.rate**2})

    def simulate(self, rng: RNGLike | SeedLike = None, **options: Any) -> xr.Dataset:
        """Draw a sample and return its mean and variance."""
        times = generator(rng).exponential(1 / self.rate, self.samples)
        return xr.Dataset({"mean": times.mean(), "variance": times.var()})

    def assumptions(self) -> tuple[Assumption, ...]:
        """Return what the theory assumes."""
        return (Assumption("many samples", "holds", f"samples = {self.samples}"),)

    def cost(self, kind: str, **options: Any) -> Cost:
        """Return the cost of one trial."""
        return Cost(flops=float(self.samples), bytes=8.0 * self.samples)


STUDY = Study(
    name="demo/rate",
    description="mean and variance of waiting times against the rate",
    problem=Exponential,
    axes={"rate": [0.5, 1.0, 2.0]},
    arms={"experiment": Arm("simulate"), "theory": Arm("predict")},
    trials=4,
)


@lru_cache(maxsize=1)
def results() -> xr.Dataset:
    """Run the demonstration in this process, and forget its store."""
    from firstlight.study.run import run

    with tempfile.TemporaryDirectory() as folder:
        return run(STUDY, Path(folder) / "study.sqlite", workers=0)
