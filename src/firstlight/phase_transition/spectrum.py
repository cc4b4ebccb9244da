"""The Hessian at initialisation: theory's density and outliers beside the eigenvalues of a drawn one."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr

from firstlight.maths.checks import check_count, check_number
from firstlight.maths.rng import RNGLike, SeedLike, generator
from firstlight.maths.workers import on_one_thread
from firstlight.measure.hessian import EigenPairs
from firstlight.phase_transition.experiment.descent import as_network, hessian_of, orthogonal_start
from firstlight.phase_transition.model import Model, check_samples
from firstlight.phase_transition.theory.hessian import hessian_spectrum
from firstlight.phase_transition.theory.resolvent import BranchLost
from firstlight.study.problem import Cost


@dataclass(frozen=True, eq=False, kw_only=True)
class SpectrumProblem(Model):
    """The Hessian of the empirical risk at a random initialisation.

    Parameters
    ----------
    samples_per_dimension : float
        δ = n/d.
    dimension : int
        d of the experiment; it forms the whole Hessian, of size m d.
    low, high : float
        Range of eigenvalues in which the density is compared.
    bins : int
        How many bins.

    The other fields are those of `Model`.

    Examples
    --------
    >>> problem = SpectrumProblem(samples_per_dimension=14.262, dimension=200)
    >>> theory, experiment = problem.predict(draws=1 << 11), problem.simulate(rng=0)
    >>> bool(abs(theory.hidden_eigenvalue - experiment.hidden_eigenvalue) < 0.15)
    True
    """

    samples_per_dimension: float = 7.606
    dimension: int = 400
    low: float = -1.5
    high: float = 4.0
    bins: int = 44

    def __post_init__(self) -> None:
        super().__post_init__()
        self.student.require_smooth()
        self._check_dimension(self.dimension)
        check_samples(self.samples_per_dimension, self.dimension)
        check_count("bins", self.bins, 2)
        for name in ("low", "high"):
            check_number(name, getattr(self, name), -1e300, 1e300)
        if not self.low < self.high:
            raise ValueError(f"low = {self.low}, high = {self.high}: must increase")

    @property
    def _edges(self) -> np.ndarray:
        return np.linspace(self.low, self.high, self.bins + 1)

    @on_one_thread
    def predict(self, rng: RNGLike | SeedLike = 0, *, draws: int = 1 << 13) -> xr.Dataset:
        """Compute the limit of the spectrum.

        Parameters
        ----------
        rng : SPEC 7 rng, default 0
            Scrambles the theory's own samples.
        draws : int, default 8192
            How many.

        Returns
        -------
        Dataset
            density over ``eigenvalue`` (bin centres), share_below over ``boundary`` (their ends: the share of
            eigenvalues below), smallest_eigenvalue and largest_eigenvalue (edges, or
            outliers beyond them), hidden_eigenvalue and hidden_overlap (the lowest outlier in the hard
            directions; NaN and 0 if there is none).
        """
        try:
            size = self.samples_per_dimension
            spectrum = hessian_spectrum(self.law, self.student, size, draws=draws, rng=rng)
        except BranchLost:
            nothing = np.full(self.bins, np.nan)
            return self._dataset(nothing, np.nan, np.nan, (np.nan, np.nan)).assign(converged=False)
        left = [o for o in spectrum.outliers if o.side == "left"]
        hidden = (left[0].value, left[0].overlap) if left else (np.nan, 0.0)
        edges = self._edges
        inner = edges[:-1, None] + np.diff(edges)[:, None] * np.array([1, 3, 5, 7]) / 8
        return self._dataset(
            spectrum.density(inner, width=2e-3).mean(axis=1),
            *spectrum.ends,
            hidden,
        ).assign(converged=not (spectrum.left_pinned or spectrum.right_pinned))

    def simulate(self, rng: RNGLike | SeedLike = None) -> xr.Dataset:
        """Draw data and a network, and compute all eigenvalues of its Hessian.

        Returns
        -------
        Dataset
            The observables of `predict`; hidden_eigenvalue belongs to the lowest eigenvector, of twelve, that
            points at the hard directions more than at the network's weights and the easy directions.
        """
        rng = generator(rng)
        drawn = self.law.sample(round(self.samples_per_dimension * self.dimension), self.dimension, rng)
        m = self.student.width
        W = orthogonal_start(self.dimension, m, self.init_scale, rng)
        H = hessian_of(self.student, as_network(self.student, W), drawn.X, drawn.y)
        values, vectors = np.linalg.eigh(H.dense())
        few = min(12, values.size)
        low = EigenPairs(values[:few], vectors[:, :few].T.reshape(few, m, self.dimension), np.zeros(few))
        known = np.column_stack([W.T, drawn.directions @ self.directions.easy])
        hidden = low.lowest_along(drawn.directions @ self.directions.hard, known)
        density = np.histogram(values, self._edges)[0] / (values.size * np.diff(self._edges))
        return self._dataset(density, values[0], values[-1], hidden)

    def _dataset(
        self, density: np.ndarray, low: float, high: float, hidden: tuple[float, float]
    ) -> xr.Dataset:
        edges = self._edges
        scalars: dict[str, Any] = {
            "smallest_eigenvalue": low, "largest_eigenvalue": high,
            "hidden_eigenvalue": hidden[0], "hidden_overlap": hidden[1],
        }  # fmt: skip
        below = np.concatenate([[0.0], np.cumsum(density * np.diff(edges))])
        return xr.Dataset(
            {"density": ("eigenvalue", density), "share_below": ("boundary", below), **scalars},
            {"eigenvalue": 0.5 * (edges[1:] + edges[:-1]), "boundary": edges},
        )

    def cost(self, kind: str, **options: Any) -> Cost:
        """Tell what a trial costs."""
        m = self.student.width
        size = m * self.dimension
        if kind == "simulate":
            n, d = self.samples_per_dimension * self.dimension, self.dimension
            return Cost(n * size * (size + d) + 9 * size**3, 8 * (n * d + 3 * size**2))
        draws = int(options.get("draws", 1 << 13))
        return Cost(self.bins * 4000 * min(draws, 4096) * m**2.5, 400 * draws * m * m)
