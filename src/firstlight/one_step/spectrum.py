"""The eigenvalues of the feature matrix after the step, as a Problem of its own."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import xarray as xr

from firstlight.maths.checks import check_count
from firstlight.maths.rng import RNGLike, SeedLike, generator
from firstlight.one_step.definitions import Streams
from firstlight.one_step.experiment.trial import train
from firstlight.one_step.problem import Problem
from firstlight.one_step.theory.first_layer import sampled_first_layer, stepped_first_layer
from firstlight.one_step.theory.moments import FeatureMoments, feature_moments
from firstlight.one_step.theory.predictions import choose_equivalent
from firstlight.one_step.theory.spectrum import predicted_eigenvalues, uneven_energy
from firstlight.study.problem import Assumption, Cost

_SAMPLES = 1000  # that tell how evenly features spread: their standard deviation to 2 %
_UNEVEN = 0.3  # eigenvalues were up to 4 % off below it, and up to 20 % above (n = 60 to 480, steps to 1000)


@dataclass(frozen=True, eq=False)
class SpectrumProblem(Problem):
    """The spectrum of the features after one step: which directions stand out of the bulk, and how far?

    What is asked are eigenvalues of ΦᵀΦ/m, where the rows of Φ are σ(F x)/√k at the m training samples.
    The parameters are those of `Problem`; labels matter through the step alone, the ridge not at all.
    Without a step only the mean of σ and the data's spikes stand out of the bulk.

    Examples
    --------
    >>> problem = SpectrumProblem.scaled(dimension=60, width=40, samples=80, alpha=0.5, beta=0.5)
    >>> predicted, measured = problem.predict(rng=0).eigenvalue, problem.simulate(rng=0).eigenvalue
    >>> bool(abs(measured / predicted - 1).max() < 0.2), predicted["rank"].values[:4].tolist()
    (True, [1, 2, 3, 5])
    """

    version: ClassVar[int] = 1

    def conditional(self, method: str = "", **options: Any) -> bool:
        """Say that `predict` speaks of the first layer that `rng` draws."""
        return True

    def predict(  # type: ignore[override]
        self,
        rng: RNGLike | SeedLike = 0,
        *,
        ranks: Sequence[int] | None = None,
        data_rng: RNGLike | SeedLike = None,
    ) -> xr.Dataset:
        """Predict the eigenvalues from the population's second moment of the features.

        Parameters
        ----------
        rng : optional
            Decides the sampled first layer: the same as in `simulate` for the same rng.
        ranks : sequence of int, optional
            Which eigenvalues, 1 being the largest; default: the first three and some ten more.
        data_rng : optional
            Decides the batch of the step in place of `rng`.

        Returns
        -------
        xarray.Dataset
            ``eigenvalue`` over ``rank``, and ``converged``.
        """
        wanted = self._ranks(ranks)
        _, moments = self._moments(Streams(rng, data_rng))
        values = np.maximum(np.linalg.eigvalsh(moments.pooled()[0]), 0)
        eigenvalues, converged = predicted_eigenvalues(values, self.samples, wanted)
        converged = converged & moments.resolved
        table = _table(wanted, np.where(converged, eigenvalues, np.nan))
        return table.assign(converged=bool(converged.all()))

    def simulate(  # type: ignore[override]
        self,
        rng: RNGLike | SeedLike = None,
        *,
        ranks: Sequence[int] | None = None,
        data_rng: RNGLike | SeedLike = None,
    ) -> xr.Dataset:
        """Take the step with a real network and return eigenvalues of its feature matrix.

        Parameters
        ----------
        rng, ranks, data_rng
            As in `predict`.
        """
        wanted = self._ranks(ranks)
        network = train(self, Streams(rng, data_rng))
        sizes = np.linalg.svd(network.training_features, compute_uv=False)
        return _table(wanted, sizes[wanted - 1] ** 2 / self.samples)

    def _moments(self, stream: Streams) -> tuple[np.ndarray, FeatureMoments]:
        """Return a sampled first layer after its step, and the moments of its features."""
        first, second, x, y = sampled_first_layer(self, stream)
        moved = stepped_first_layer(first, second, self.sigma, x, y, self.step_size)
        return moved, feature_moments(moved, self.sigma, self.mixture, self.labels)

    def _ranks(self, ranks: Sequence[int] | None) -> np.ndarray:
        most = min(self.width, self.samples)
        if ranks is None:
            return np.unique([*range(1, min(3, most) + 1), *np.linspace(1, most, 11).round().astype(int)])
        chosen = np.ravel(np.asarray(ranks, dtype=object))
        if not chosen.size:
            raise ValueError("ranks: must not be empty")
        for rank in chosen:
            check_count("ranks", rank, high=most)
        return chosen.astype(int)

    def assumptions(self) -> tuple[Assumption, ...]:
        """Check what the theory assumes."""
        alike = choose_equivalent(self.mixture) == "one covariance"
        rng = generator(0)
        moved, moments = self._moments(Streams(rng))
        x, _ = self.mixture.draw(self.mixture.counts(_SAMPLES), rng)
        spread = uneven_energy(moments.pooled()[0], self.sigma(x @ moved.T) / np.sqrt(self.width))
        return (
            *super().assumptions(),
            Assumption(
                "one covariance of the features for all classes", "holds" if alike else "fails",
                "classes differ in spikes and means alone" if alike else "classes differ in the bulk",
            ),
            Assumption(
                "the bulk of every sample's features is as large", "holds" if spread < _UNEVEN else "fails",
                f"it varies by {spread:.0%} between samples",
            ),
        )  # fmt: skip

    def cost(self, kind: str, **options: Any) -> Cost:
        """Leading terms of the work and memory of one call."""
        n, k, m = self.mixture.dimension, self.width, self.samples
        step = 4.0 * k * n * self.step_samples + 2.0 * k * n * m
        most = min(k, m)
        flops = step + (6.0 * k**3 + 5e4 * k if kind == "predict" else 4.0 * k * m * most)
        return Cost(flops=flops, bytes=8.0 * (2 * k * n + 2 * max(m, self.step_samples) * max(k, n)))


def _table(ranks: np.ndarray, eigenvalues: np.ndarray) -> xr.Dataset:
    return xr.Dataset({"eigenvalue": ("rank", eigenvalues)}, {"rank": ranks})
