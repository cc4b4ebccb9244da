"""Thresholds as Problems: delta_alg beside Monte-Carlo, delta_NN beside where gradient descent succeeds."""

from dataclasses import KW_ONLY, dataclass, replace
from functools import cached_property
from typing import ClassVar, Literal

import numpy as np
import xarray as xr

from firstlight.data.multi_index import MultiIndex
from firstlight.maths.checks import check_count, check_increasing, check_number
from firstlight.maths.equality import ByValue
from firstlight.maths.refusals import check_choice
from firstlight.maths.rng import RNGLike, SeedLike, generator
from firstlight.phase_transition.definitions import Training
from firstlight.phase_transition.model import MOST_STEPS, SUCCESS, TrainedModel
from firstlight.phase_transition.theory.alg import delta_alg
from firstlight.phase_transition.theory.delta_nn import delta_nn
from firstlight.phase_transition.theory.dmft import memory_bytes
from firstlight.phase_transition.theory.escape import success_chance
from firstlight.phase_transition.theory.labels import label_law
from firstlight.phase_transition.theory.subspaces import subspaces
from firstlight.study.problem import Assumption, Cost

_STEP = 0.15  # of descents, where theory chooses its own
_FOLLOWED = 96  # steps of V(t); it is continued beyond
_EDGES = 3e5  # what the bulk's edges cost beside each sample's steps


@dataclass(frozen=True, eq=False)
class AlgProblem(ByValue):
    """The algorithmic threshold of a target without easy directions.

    Parameters
    ----------
    target : str
        y = φ(z).
    noise : float
        Standard deviation of the label's noise.
    draws : int
        Samples of the Monte-Carlo experiment.

    Examples
    --------
    >>> problem = AlgProblem("sign(z1*z2)", draws=200_000)
    >>> theory, brute = problem.predict(), problem.simulate(rng=0)
    >>> bool(abs(theory.signal / brute.signal - 1) < 0.03)
    True
    """

    theory: ClassVar[str] = "phase_transition"
    version: ClassVar[int] = 7
    references: ClassVar[tuple[str, ...]] = ("montanari2026phase",)

    target: str = "z1**2"
    _: KW_ONLY
    noise: float = 0.0
    draws: int = 1_000_000

    def __post_init__(self) -> None:
        MultiIndex(self.target, noise=self.noise)
        check_count("draws", self.draws, 1000)

    def predict(self, rng: RNGLike | SeedLike = 0) -> xr.Dataset:
        """Compute delta_alg, infinite if nothing is ever told, and its inverse, the `signal`; with errors."""
        threshold = delta_alg(MultiIndex(self.target, noise=self.noise), rng)
        return xr.Dataset(
            {
                "delta_alg": threshold.value,
                "error": threshold.residual,
                "signal": threshold.signal,
                "signal_sem": threshold.signal_error,
                "directions": threshold.directions.shape[1],
                "converged": threshold.converged,
            }
        )

    def simulate(self, rng: RNGLike | SeedLike = None) -> xr.Dataset:
        """Estimate the signal by brute force: second moments in bins of equal counts, from drawn coordinates.

        Products of two independent halves of the draws are free of the bins' noise. Where nothing is told the
        largest eigenvalue of what noise remains is left.
        """
        rng = generator(rng)
        law = MultiIndex(self.target, noise=self.noise)
        k = law.directions
        bins = max(20, self.draws // 50)
        tables = []
        for _ in range(2):
            z = rng.standard_normal((self.draws // 2, k))
            y = law.law(z) + self.noise * rng.standard_normal(len(z))
            # ties are broken at random, so that a label of few values makes many bins of the same kind
            order = np.lexsort((rng.random(len(y)), y))[: len(y) // bins * bins].reshape(bins, -1)
            tables.append(np.einsum("bia,bic->bac", z[order], z[order]) / order.shape[1] - np.eye(k))
        product = np.einsum("nab,ncd->adbc", *tables).reshape(k * k, k * k) / bins
        swap = np.eye(k * k).reshape(k, k, k, k).transpose(1, 0, 2, 3).reshape(k * k, k * k)
        fold = 0.5 * (np.eye(k * k) + swap)
        top = float(np.linalg.eigvalsh(fold @ (0.5 * (product + product.T)) @ fold)[-1])
        return xr.Dataset({"signal": top})

    def assumptions(self) -> tuple[Assumption, ...]:
        """Return what the theory assumes, each checked for this problem."""
        easy = subspaces(MultiIndex(self.target, noise=self.noise)).easy.shape[1]
        return (Assumption("no easy direction", "fails" if easy else "holds", f"{easy} easy directions"),)


@dataclass(frozen=True, eq=False, kw_only=True)
class ThresholdProblem(TrainedModel):
    """delta_NN of a network, beside the samples per dimension at which gradient descent succeeds.

    Parameters
    ----------
    theory_steps : int
        Steps that theory follows before it extrapolates.
    step_size : float
        η; 0 lets theory choose a stable one (the experiment then takes 0.15).
    dimension : int
        d, of the experiment.
    steps : int
        Steps of the experiment.
    samples_per_dimension : tuple of float
        δ, increasing, at which the experiment trains.

    The other fields are those of `TrainedModel`. At the sizes of experiments success comes 15 to 30 per cent
    below delta_NN, and moves up with d: growth by a power of time is enough there.

    Examples
    --------
    >>> problem = ThresholdProblem(theory_steps=16, dimension=100, steps=60, samples_per_dimension=(0.5, 8.0))
    >>> bool(0.5 < problem.simulate(rng=0).delta_nn < 8.1)
    True
    """

    version: ClassVar[int] = 8

    theory_steps: int = 64
    dimension: int = 300
    steps: int = 400
    samples_per_dimension: tuple[float, ...] = (1.2, 1.5, 1.9, 2.4, 3.0, 3.8, 4.8)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.student.require_smooth()
        check_count("theory_steps", self.theory_steps, 8, MOST_STEPS)
        check_count("steps", self.steps, 1, MOST_STEPS)
        check_increasing("samples_per_dimension", self.samples_per_dimension)
        self._check_sizes(self.samples_per_dimension[0], self.dimension, max(self.theory_steps, self.steps))

    @cached_property
    def training(self) -> Training:
        """The algorithm, of descents and of theory at finite size."""
        eta = check_number("step_size", self.step_size, 0) or _STEP
        return replace(self, step_size=eta).training if eta != self.step_size else super().training

    def predict(
        self,
        rng: RNGLike | SeedLike = 0,
        *,
        method: Literal["limit", "finite"] = "limit",
        draws: int = 1 << 13,
    ) -> xr.Dataset:
        """Compute delta_NN, its error `delta_nn_sem`, delta_alg, and the curve delta_NN(T) over ``time``.

        An infinite delta_NN is NaN, as is the onset of descents that never succeed; ``attrs`` has the route.
        `threshold` and `edge` have gaps (NaN) at steps where the scan found no threshold.
        With the method "finite" it is instead where descents in d dimensions should succeed, from V(t): a
        rule of thumb, and what `simulate` measures.
        """
        check_choice("method", method, ("limit", "finite"))
        if method == "finite":
            return self._finite(generator(rng), draws)
        chosen = self.training if self.step_size else None
        threshold = delta_nn(self.law, self.student, chosen, self.theory_steps, draws=draws, rng=rng)
        good = threshold.converged
        return xr.Dataset(
            {
                "delta_nn": threshold.value if good and np.isfinite(threshold.value) else np.nan,
                "delta_nn_sem": threshold.residual if good and np.isfinite(threshold.value) else np.nan,
                "delta_alg": threshold.delta_alg,
                "threshold": ("time", threshold.curve),
                "edge": ("time", threshold.edges),
                "converged": bool(good),
            },
            {"time": threshold.times},
            attrs={"route": threshold.route},
        )

    def simulate(self, rng: RNGLike | SeedLike = None) -> xr.Dataset:
        """Train at each of `samples_per_dimension` and report where success sets in, on a log scale."""
        rng = generator(rng)
        times = [
            self._found_at(delta, self.dimension, self.steps, rng) for delta in self.samples_per_dimension
        ]
        return xr.Dataset({"delta_nn": self._onset(float(np.isfinite(times).sum()))})

    def _finite(self, rng: np.random.Generator, draws: int) -> xr.Dataset:
        labels = label_law(self.law, rng)
        chances = [
            success_chance(
                labels, self.student, delta, self.training, self.dimension, self.steps,
                followed=_FOLLOWED, draws=draws, level=SUCCESS, rng=rng,
            )
            for delta in self.samples_per_dimension
        ]  # fmt: skip
        good = all(chance.converged for chance in chances)
        onset = self._onset(float(np.sum([chance.value for chance in chances])))
        return xr.Dataset({"delta_nn": onset if good else np.nan, "converged": good})

    def _onset(self, successes: float) -> float:
        """Place the onset by how many of the runs succeed, whatever their order; NaN if hardly one does."""
        if successes < 0.5:
            return np.nan
        grid = np.log(
            [
                self.samples_per_dimension[0] ** 2
                / self.samples_per_dimension[min(1, len(self.samples_per_dimension) - 1)],
                *self.samples_per_dimension,
            ]
        )
        place = len(self.samples_per_dimension) - successes
        return float(np.exp(np.interp(place + 0.5, np.arange(grid.size), grid)))

    def cost(self, kind: str, **options: object) -> Cost:
        """Tell what a trial costs."""
        m = self.student.width
        if kind == "simulate":
            n = sum(self.samples_per_dimension) * self.dimension
            return Cost(
                4 * n * self.dimension * m * self.steps,
                8 * max(self.samples_per_dimension) * self.dimension**2,
            )
        draws = int(options.get("draws", 1 << 13))  # type: ignore[call-overload]
        if options.get("method") == "finite":  # draws are doubled twice as a rule
            T = min(self.steps, _FOLLOWED)
            work = 4 * len(self.samples_per_dimension) * draws * T * (T * m + 100) * m
            return Cost(work, memory_bytes(self.student, T, 2 * draws))
        # two scrambles at eight delta
        work = 16 * (draws / 2) * (self.theory_steps * (self.theory_steps * m + 100) * m + _EDGES * m**3)
        return Cost(work, 2 * memory_bytes(self.student, self.theory_steps, draws // 2))
