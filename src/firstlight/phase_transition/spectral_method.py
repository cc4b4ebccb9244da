"""The optimal spectral method below and above the algorithmic threshold."""

from dataclasses import KW_ONLY, dataclass
from typing import ClassVar

import numpy as np
import xarray as xr

from firstlight.data.multi_index import MultiIndex
from firstlight.maths.checks import check_count
from firstlight.maths.equality import ByValue
from firstlight.maths.rng import RNGLike, SeedLike, generator
from firstlight.measure.spectral import spectral_estimator
from firstlight.phase_transition.model import check_samples
from firstlight.phase_transition.theory.alg import delta_alg
from firstlight.phase_transition.theory.spectral import optimal_preprocessing
from firstlight.phase_transition.theory.spectral_overlap import spectral_overlap
from firstlight.study.problem import Assumption, Cost

_DRAWS, _BINS = 400_000, 400  # scalar draws, and bins of labels, of the experiment's own T


@dataclass(frozen=True, eq=False)
class SpectralProblem(ByValue):
    """The top eigenvector of Σ T(y) x xᵀ with the best T, at a number of samples per dimension.

    Parameters
    ----------
    target : str
        y = φ(z1), one hidden coordinate.
    samples_per_dimension : float
        δ = n/d.
    dimension : int
        d of the experiment.

    Examples
    --------
    >>> problem = SpectralProblem("sign(abs(z1) - 1)", samples_per_dimension=6.0, dimension=200)
    >>> theory, experiment = problem.predict(), problem.simulate(rng=0)
    >>> bool(abs(theory.overlap - experiment.overlap) < 0.1)
    True
    """

    theory: ClassVar[str] = "phase_transition"
    version: ClassVar[int] = 1
    references: ClassVar[tuple[str, ...]] = ("montanari2026phase",)

    target: str = "sign(abs(z1) - 1.4820733)"
    _: KW_ONLY
    samples_per_dimension: float = 2.0
    dimension: int = 400

    def __post_init__(self) -> None:
        check_samples(self.samples_per_dimension, check_count("dimension", self.dimension, 2))
        if (k := self.law.directions) != 1:
            raise ValueError(f"target = {self.target!r}: has {k} hidden coordinates, needs one")

    @property
    def law(self) -> MultiIndex:
        """The target's law."""
        return MultiIndex(self.target)

    def predict(self, rng: RNGLike | SeedLike = 0) -> xr.Dataset:
        """Return the squared overlap in the limit, and delta_over_alg = δ / delta_alg (∞ if that is 0)."""
        threshold = delta_alg(self.law, rng)
        overlap = spectral_overlap(self.law, optimal_preprocessing(self.law), self.samples_per_dimension)
        ratio = self.samples_per_dimension / threshold.value if threshold.value > 0 else np.inf
        return xr.Dataset({"overlap": overlap, "delta_over_alg": ratio, "converged": threshold.converged})

    def simulate(self, rng: RNGLike | SeedLike = None) -> xr.Dataset:
        """Draw data, find T from scalar draws of its own, and measure the squared overlap."""
        rng = generator(rng)
        drawn = self.law.sample(round(self.samples_per_dimension * self.dimension), self.dimension, rng)
        z = rng.standard_normal(_DRAWS)
        labels, second = _binned(self.law.law(z[:, None]), z**2)
        nearest = np.searchsorted(0.5 * (labels[1:] + labels[:-1]), drawn.y)
        best = 1 - 1 / second[nearest]
        _, vectors = spectral_estimator(drawn.X, drawn.y, lambda y: best)
        overlap = float((vectors[:, 0] @ drawn.directions[:, 0]) ** 2)
        return xr.Dataset({"overlap": overlap, "delta_over_alg": np.nan})

    def cost(self, kind: str, **options: object) -> Cost:
        """Return the cost of one trial: Lanczos products, or scalar integrals."""
        n = self.samples_per_dimension * self.dimension
        work = 400.0 * n * self.dimension if kind == "simulate" else 1e8
        return Cost(work, 16.0 * n * self.dimension)

    def assumptions(self) -> tuple[Assumption, ...]:
        """Return what the theory assumes."""
        size = f"n = {self.samples_per_dimension * self.dimension:.0f}, d = {self.dimension}"
        return (Assumption("many samples and dimensions", "not checkable", size),)


def _binned(y: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Average values over labels that are equal, or over bins of many labels of equal counts."""
    labels, place, counts = np.unique(y, return_inverse=True, return_counts=True)
    if len(labels) > _BINS:
        order = np.argsort(y)[: len(y) // _BINS * _BINS].reshape(_BINS, -1)
        return y[order].mean(axis=1), values[order].mean(axis=1)
    return labels, np.bincount(place, weights=values) / counts
