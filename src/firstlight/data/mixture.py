"""Gaussian mixtures: x ~ Σ_c ρ_c N(μ_c, Σ_c)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from firstlight.data.covariance import Covariance, Dense, Spiked
from firstlight.maths.checks import check_array, check_count, check_numbers
from firstlight.maths.equality import ByValue
from firstlight.maths.refusals import check_choice, refusal
from firstlight.maths.rng import RNGLike, SeedLike, generator

__all__ = ["Dense", "GaussianMixture", "Spiked"]

_CACHE = 131_072  # numbers that are drawn and coloured together


@dataclass(frozen=True, eq=False)
class GaussianMixture(ByValue):
    """The law of inputs x: class c with probability ρ_c, then x ~ N(μ_c, Σ_c).

    Parameters
    ----------
    weights : array_like, shape (C,)
        ρ, the class probabilities; positive, summing to one.
    means : array_like, shape (C, n), or None
        μ, the class means; None for zero.
    covariances : sequence of Spiked, Dense or array_like, length C
        Σ; an array is a dense covariance, checked to be positive definite.

    Examples
    --------
    >>> spike = np.eye(50)[:, :1]
    >>> mixture = GaussianMixture([0.25, 0.75], None, [Spiked([4.0], spike), np.eye(50)])
    >>> x, labels = mixture.sample(8, rng=0)
    >>> x.shape, labels
    ((8, 50), array([0, 0, 1, 1, 1, 1, 1, 1]))
    >>> mixture.traces
    array([54., 50.])
    """

    weights: np.ndarray
    means: np.ndarray | None
    covariances: Sequence[Covariance]

    def __post_init__(self) -> None:
        weights = np.array(check_numbers("weights", self.weights, above=0, high=1))
        if abs(weights.sum() - 1) > 1e-8:
            raise ValueError(f"weights = {weights}: sum to {weights.sum():.9g}; must sum to 1")
        laws = _laws(self.covariances)
        if len(laws) != weights.size:
            raise ValueError(f"covariances: {len(laws)} for {weights.size} weights; need one for each class")
        sizes = {law.dimension for law in laws}
        if len(sizes) != 1:
            raise ValueError(f"covariances: dimensions {sorted(sizes)} differ")
        shape = (weights.size, sizes.pop())
        means = None if self.means is None else check_array("means", self.means, shape)
        # an exact zero is kept as "no means", so that sampling and moments can skip them
        object.__setattr__(self, "means", None if means is None or not means.any() else means)
        object.__setattr__(self, "weights", weights / weights.sum())
        object.__setattr__(self, "covariances", laws)

    @classmethod
    def fit(
        cls, X: ArrayLike, labels: ArrayLike, spikes: int | Literal["auto"] | None = None
    ) -> "GaussianMixture":
        """Fit a mixture to labelled rows: one class for each label, in their order.

        Parameters
        ----------
        X : array_like, shape (m, n)
        labels : array_like, shape (m,)
            Numbers or texts; at least two rows of each.
        spikes : int or "auto", optional
            Identity plus so many spikes for each class ("auto": as many as stand out from random signs).
            By default dense covariances, shrunk after Ledoit and Wolf: on real classes their predictions are
            the better ones, because no number of spikes exists there.

        Examples
        --------
        >>> x = np.random.default_rng(0).normal(size=(60, 4))
        >>> GaussianMixture.fit(x, ["a", "b", "b"] * 20).weights.tolist()
        [0.333, 0.667]
        """
        from firstlight.data.fitting import fitted_laws

        return cls(*fitted_laws(X, labels, spikes))

    @property
    def dimension(self) -> int:
        """Input dimension n."""
        return self.covariances[0].dimension

    @property
    def classes(self) -> int:
        """Number of classes C."""
        return len(self.covariances)

    @property
    def traces(self) -> np.ndarray:
        """Trace of Σ_c for each class."""
        return np.array([law.trace for law in self.covariances])

    @property
    def trace(self) -> float:
        """Weighted mean trace Σ_c ρ_c tr Σ_c."""
        return float(self.weights @ self.traces)

    def project(self, rows: np.ndarray) -> np.ndarray:
        """Return V μ_c for each class: shape (C, a) for rows V of shape (a, n)."""
        rows = np.atleast_2d(rows)
        if self.means is None:
            return np.zeros((self.classes, rows.shape[0]))
        return self.means @ rows.T

    def counts(self, total: int) -> np.ndarray:
        """How many of `total` samples each class gets when the counts are not left to chance.

        Shares ρ_c · total are rounded down, and what is left goes to the largest remainders.
        """
        shares = self.weights * total
        counts = np.floor(shares + 1e-9).astype(int)
        rest = np.argsort(counts - shares, kind="stable")[: total - counts.sum()]
        counts[rest] += 1
        return counts

    def sample(
        self,
        count: int,
        rng: RNGLike | SeedLike = None,
        *,
        counts: Literal["deterministic", "random"] = "deterministic",
    ) -> tuple[np.ndarray, np.ndarray]:
        """Draw inputs and their classes.

        Parameters
        ----------
        count : int
            Number of samples, at least 1.
        rng : optional
            Source of randomness (SPEC 7).
        counts : {"deterministic", "random"}
            Whether class c gets ρ_c · count samples (rounded), or the classes are drawn at random.

        Returns
        -------
        x : ndarray, shape (count, n)
            Sorted by class.
        labels : ndarray of int, shape (count,)
            Class of each row, 0 .. C-1.
        """
        check_count("count", count)
        check_choice("counts", counts, ("deterministic", "random"))
        rng = generator(rng)
        sizes = self.counts(count) if counts == "deterministic" else rng.multinomial(count, self.weights)
        return self.draw(sizes, rng)

    def draw(
        self, sizes: np.ndarray, rng: np.random.Generator, out: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Draw `sizes[c]` inputs of each class c, into `out` if given; returns what `sample` does."""
        x = np.empty((int(np.sum(sizes)), self.dimension)) if out is None else out
        for c, mine in enumerate(np.split(x, np.cumsum(sizes)[:-1])):
            law = self.covariances[c]
            # spikes are put in place while the normals are in the cache; a dense root wants all rows at once
            step = max(1, _CACHE // self.dimension) if isinstance(law, Spiked) else max(1, len(mine))
            for start in range(0, len(mine), step):
                part = mine[start : start + step]
                coloured = law.colour(rng.standard_normal(out=part))
                if not np.may_share_memory(coloured, part):
                    part[:] = coloured
                if self.means is not None:
                    part += self.means[c]
        return x, np.repeat(np.arange(self.classes), sizes)

    def moments(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the mean E x, shape (n,), and the covariance Cov x, shape (n, n), over all classes."""
        covariance = np.tensordot(self.weights, np.stack([law.dense() for law in self.covariances]), axes=1)
        if self.means is None:
            return np.zeros(self.dimension), covariance
        mean = self.weights @ self.means
        centred = self.means - mean
        return mean, covariance + (centred.T * self.weights) @ centred


def _laws(covariances: Any) -> tuple[Covariance, ...]:
    """Return one law for each class; a refusal says which class it is."""
    if not isinstance(covariances, (Sequence, np.ndarray)) or isinstance(covariances, (str, bytes)):
        raise refusal("covariances", covariances, "be a sequence, one for each class")
    laws: list[Covariance] = []
    for c, given in enumerate(covariances if np.ndim(np.asarray(covariances, object)) else ()):
        try:
            laws.append(given if isinstance(given, (Spiked, Dense)) else Dense(given))
        except ValueError as error:
            raise ValueError(f"covariances[{c}]: {error}") from error
    return tuple(laws)
