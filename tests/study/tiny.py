"""A theory of one idea for the tests: the mean of an exponential sample. Workers import it."""

import os
import time
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import xarray as xr
from threadpoolctl import threadpool_info

from firstlight.maths.rng import generator
from firstlight.study import registry
from firstlight.study.problem import Assumption, Cost

COUNT_THREADS = 77  # a sample size that asks for the number of BLAS threads instead
THEORY = registry.Theory(
    name="tiny",
    title="Means",
    question="What is the mean?",
    problems={"mean": "tiny:Tiny"},
    studies="tiny:STUDIES",
)
STUDIES = ()


def register():
    """Let files name the tiny theory, in this process."""
    registry.register(THEORY)


@dataclass(frozen=True)
class Tiny:
    """Theory: the mean is 1 / rate, and the sample variance (divided by n) falls short by 1 / n."""

    rate: float = 1.0
    samples: int = 100
    sleep: float = 0.0
    broken_at: float = -1.0
    deadly_at: float = -1.0

    theory: ClassVar[str] = "tiny"
    version: ClassVar[int] = 1
    references: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self):
        if not self.rate > 0:
            raise ValueError(f"rate = {self.rate}: must be positive")
        if not self.samples >= 1:
            raise ValueError(f"samples = {self.samples}: must be at least 1")

    def predict(self, rng=None, bad_at=-1.0):
        converged = self.rate != bad_at
        return xr.Dataset(
            {
                "mean": 1 / self.rate if converged else np.nan,
                "variance": 1 / self.rate**2,
                "converged": converged,
            }
        )

    def simulate(self, rng=None, shift=0.0):
        if self.rate == self.broken_at:
            raise RuntimeError("this trial is broken on purpose")
        if self.rate == self.deadly_at:
            os.kill(os.getpid(), 9)
        if self.sleep:  # even none gives the processor away, for milliseconds on a busy machine
            time.sleep(self.sleep)
        if self.samples == COUNT_THREADS:
            threads = [pool["num_threads"] for pool in threadpool_info()]
            return xr.Dataset({"mean": max(threads), "variance": 0.0})
        draw = generator(rng).exponential(1 / self.rate, self.samples)
        return xr.Dataset({"mean": draw.mean() + shift, "variance": draw.var()})

    def assumptions(self):
        return (Assumption("positive rate", "holds", f"rate = {self.rate}"),)

    def cost(self, kind, **options):
        return Cost(flops=float(self.samples), bytes=8.0 * self.samples)


class Silent(Tiny):
    """The same without a word about its cost."""

    cost = None
