"""Does gradient descent find the hidden directions, and when: finite sizes beside V(t)."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr

from firstlight.maths.checks import check_count
from firstlight.maths.rng import RNGLike, SeedLike, generator
from firstlight.maths.workers import on_one_thread
from firstlight.phase_transition.model import MOST_STEPS, SUCCESS, TrainedModel
from firstlight.phase_transition.theory.dmft import memory_bytes
from firstlight.phase_transition.theory.escape import success_chance
from firstlight.phase_transition.theory.labels import label_law
from firstlight.study.problem import Assumption, Cost


@dataclass(frozen=True, eq=False, kw_only=True)
class LearningProblem(TrainedModel):
    """Whether and when gradient descent in d dimensions finds the hidden directions.

    Parameters
    ----------
    samples_per_dimension : float
        δ = n/d.
    dimension : int
        d.
    steps : int
        Steps of the experiment.
    theory_steps : int
        Steps of the theory; V(t) beyond is continued as the power of t with which it grows at the end.

    The other fields are those of `TrainedModel`.

    Examples
    --------
    >>> problem = LearningProblem(samples_per_dimension=6.0, dimension=150, steps=60, theory_steps=24)
    >>> bool(problem.predict(draws=1 << 10).success > 0.5)
    True
    """

    samples_per_dimension: float = 3.0
    dimension: int = 500
    steps: int = 400
    theory_steps: int = 64

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("steps", "theory_steps"):
            check_count(name, getattr(self, name), 2, MOST_STEPS)
        self._check_sizes(self.samples_per_dimension, self.dimension, max(self.steps, self.theory_steps))

    @on_one_thread
    def predict(self, rng: RNGLike | SeedLike = 0, *, draws: int = 1 << 12) -> xr.Dataset:
        """Predict from V(t), without a fit: a rule of thumb for finite d.

        The overlap at step t is normal with variance V(t)/d while it is small; success is an overlap that
        reaches the level at some t ≤ steps. `draws` are doubled, three times at most, as long as
        independent scrambles of the theory's own samples do not agree.

        Returns
        -------
        Dataset
            success (a probability; NaN where its standard error is above 0.1), escape_time (its mean; NaN if
            it lies far beyond theory_steps), and their standard errors success_sem, escape_time_sem.
        """
        rng = generator(rng)
        chance = success_chance(
            label_law(self.law, rng), self.student, self.samples_per_dimension, self.training,
            self.dimension, self.steps, followed=self.theory_steps, draws=draws, level=SUCCESS, rng=rng,
        )  # fmt: skip
        return xr.Dataset(
            {
                "success": chance.value if chance.converged else np.nan,
                "success_sem": chance.residual,
                "escape_time": chance.escape_time,
                "escape_time_sem": chance.escape_time_error,
                "converged": chance.converged,
            }
        )

    def simulate(self, rng: RNGLike | SeedLike = None) -> xr.Dataset:
        """Train one network until it has found the hard directions; success is 0 or 1."""
        time = self._found_at(self.samples_per_dimension, self.dimension, self.steps, generator(rng))
        success = xr.DataArray(float(np.isfinite(time)), attrs={"binary": True})
        return xr.Dataset({"success": success, "escape_time": time})

    def assumptions(self) -> tuple[Assumption, ...]:
        """Return what the theory assumes, each checked for this problem."""
        return (*super().assumptions(), self._first_steps(self.samples_per_dimension, self.steps))

    def cost(self, kind: str, **options: Any) -> Cost:
        """Tell what a trial costs."""
        m, n = self.student.width, self.samples_per_dimension * self.dimension
        if kind == "simulate":
            return Cost(4 * n * self.dimension * m * self.steps, 8 * 1.5 * n * self.dimension)
        draws, T = int(options.get("draws", 1 << 12)), self.theory_steps
        return Cost(draws * T * (T * m + 100) * m, memory_bytes(self.student, T, draws))
