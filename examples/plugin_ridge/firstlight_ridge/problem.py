"""What is studied, and the two ways to know it."""

from dataclasses import dataclass
from typing import Any, ClassVar

import xarray as xr

from firstlight.maths.checks import check_count, check_number, check_positive
from firstlight.maths.equality import ByValue
from firstlight.maths.rng import RNGLike, SeedLike, generator
from firstlight.study.problem import Assumption, Cost
from firstlight_ridge.experiment import fitted_error
from firstlight_ridge.theory import limiting_error


@dataclass(frozen=True, eq=False)
class Problem(ByValue):
    """Ridge regression y = x·β + noise with isotropic x (d) and |β| = signal, from n samples."""

    dimension: int = 400
    samples: int = 800
    ridge: float = 0.1
    signal: float = 1.0
    noise: float = 0.5

    theory: ClassVar[str] = "ridge"
    version: ClassVar[int] = 1
    references: ClassVar[tuple[str, ...]] = ("dobriban2018ridge",)

    def __post_init__(self) -> None:
        check_count("dimension", self.dimension)
        check_count("samples", self.samples)
        check_positive("ridge", self.ridge)
        check_number("signal", self.signal, low=0)
        check_number("noise", self.noise, low=0)

    def predict(self, rng: RNGLike | SeedLike = 0, **options: Any) -> xr.Dataset:
        """Return the limit of the test error; nothing is drawn."""
        aspect = self.dimension / self.samples
        return xr.Dataset({"test_error": limiting_error(self.ridge, aspect, self.signal, self.noise)})

    def simulate(self, rng: RNGLike | SeedLike = None, **options: Any) -> xr.Dataset:
        """Fit one regression and return its test error."""
        fields = (self.dimension, self.samples, self.ridge, self.signal, self.noise)
        return xr.Dataset({"test_error": fitted_error(*fields, generator(rng))})

    def assumptions(self) -> tuple[Assumption, ...]:
        """Return what the theory assumes."""
        large = "holds" if min(self.dimension, self.samples) >= 100 else "fails"
        return (Assumption("many samples and dimensions", large, f"{self.samples}, {self.dimension}"),)

    def cost(self, kind: str, **options: Any) -> Cost:
        """Return the work of one trial, for dry runs."""
        n, d = self.samples, self.dimension
        fit = Cost(flops=2.0 * n * d**2 + d**3, bytes=8.0 * (n * d + 2 * d**2))
        return fit if kind == "simulate" else Cost(flops=100.0, bytes=0.0)
