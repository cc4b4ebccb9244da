"""What is studied, and the two ways to know it."""

from dataclasses import astuple, dataclass
from typing import Any, ClassVar

import numpy as np
import xarray as xr

from firstlight.maths.checks import check_count, check_positive
from firstlight.study.problem import Assumption
from firstlight_ridge.experiment import fitted_error
from firstlight_ridge.theory import limiting_error


@dataclass(frozen=True)
class Problem:
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
        for name in ("dimension", "samples"):
            check_count(name, getattr(self, name))
        for name in ("ridge", "signal", "noise"):
            check_positive(name, getattr(self, name))

    def predict(self, rng: Any = 0) -> xr.Dataset:
        """Return the limit of the test error; nothing is drawn."""
        return xr.Dataset({"test_error": limiting_error(*astuple(self))})

    def simulate(self, rng: Any = None) -> xr.Dataset:
        """Fit one regression and return its test error."""
        return xr.Dataset({"test_error": fitted_error(*astuple(self), np.random.default_rng(rng))})

    def assumptions(self) -> tuple[Assumption, ...]:
        """Return what the theory assumes."""
        large = "holds" if min(self.dimension, self.samples) >= 100 else "fails"
        return (Assumption("many samples and dimensions", large, f"{self.samples}, {self.dimension}"),)
