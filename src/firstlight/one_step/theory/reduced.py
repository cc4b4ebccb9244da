"""The few coordinates that matter: a mixture and its labels restricted to spikes, means and label direction.

Only inner products of those vectors enter, so nothing here grows with the dimension.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from firstlight.data.labels import Labels, Regression
from firstlight.data.mixture import GaussianMixture, Spiked
from firstlight.maths.sobol import sobol_normal

_MANY = 4096  # nodes per class for averages that are taken once
_NEGLIGIBLE = 1e-5  # in standard deviations of the inputs
_ROUNDING = 1e-13  # what a vector of length one may have outside a span that holds it


def balanced_normal(dim: int, count: int, rng: np.random.Generator) -> np.ndarray:
    """Return quasi-random standard normals (count, dim) whose sample mean is 0 and sample covariance is I.

    Examples
    --------
    >>> z = balanced_normal(2, 16, np.random.default_rng(0))
    >>> np.abs(z.T @ z / 16 - np.eye(2)).max() < 1e-12
    np.True_
    """
    if dim == 0:
        return np.zeros((count, 0))
    z = sobol_normal(dim, count, rng)
    z -= z.mean(axis=0)
    if count <= dim:  # too few to balance
        return z
    return np.linalg.solve(np.linalg.cholesky(z.T @ z / count), z.T).T


@dataclass(frozen=True, eq=False)
class ReducedLaw:
    """Law of κ, the coordinates of x in an orthonormal basis of span{spikes, means, ξ}, and of y given κ.

    Attributes
    ----------
    dimension : int
        n, of the full space.
    trace : float
        Weighted mean trace of the full covariances.
    weights, scales : ndarray, shape (C,)
        ρ, and the variance of every coordinate outside the span.
    means : ndarray, shape (C, r)
    roots : ndarray, shape (C, r, r)
        Square roots of the covariances of κ.
    index : ndarray, shape (r,), or None
        Coordinates of ξ; None for class labels.
    labels : Regression or Classification
    """

    dimension: int
    trace: float
    weights: np.ndarray
    scales: np.ndarray
    means: np.ndarray
    roots: np.ndarray
    index: np.ndarray | None
    labels: Labels

    @property
    def rank(self) -> int:
        """Number r of coordinates."""
        return self.means.shape[1]

    @property
    def bulk(self) -> int:
        """Number of coordinates that κ leaves out: outside the span, and across the gradient's noise."""
        return max(self.dimension - self.rank - 1, 1)

    @property
    def noise(self) -> float:
        """Variance of the label given κ and the class."""
        return self.labels.noise**2 if isinstance(self.labels, Regression) else 0.0

    def place(self, normals: np.ndarray, c: int) -> tuple[np.ndarray, np.ndarray]:
        """Turn standard normals (count, r) into κ and noiseless labels of class c.

        Labels are shifted and stretched until their mean and variance over the nodes are exact: every error
        is a share of them.
        """
        kappa = self.means[c] + normals @ self.roots[c].T
        if not isinstance(self.labels, Regression):
            return kappa, np.full(len(kappa), self.labels.values[c])
        y = self.labels.link_of(c)(kappa @ self.index)
        mean, std = self._label_moments[c]
        spread = y.std()
        return kappa, mean + (y - y.mean()) * (std / spread if spread > 0 else 0.0)

    @cached_property
    def _label_moments(self) -> list[tuple[float, float]]:
        """Mean and standard deviation of each class's noiseless labels."""
        result = []
        for c in range(len(self.means)):
            link = self.labels.link_of(c)  # type: ignore[union-attr]
            centre, std = self.means[c] @ self.index, np.linalg.norm(self.roots[c].T @ self.index)
            mean = float(link.moments(np.array([centre]), np.array([std]), 0)[0, 0])
            result.append((mean, np.sqrt(max(float(link.mean_square(centre, std)) - mean**2, 0.0))))
        return result

    def everything(self, rng: np.random.Generator) -> tuple[np.ndarray, ...]:
        """Return many nodes over all classes: κ, y, weights and the scales outside."""
        parts = []
        for c, weight in enumerate(self.weights):
            normals = balanced_normal(self.rank, _MANY, rng)
            kappa, y = self.place(normals, c)
            parts.append((kappa, y, np.full(_MANY, weight / _MANY), np.full(_MANY, self.scales[c])))
        return tuple(np.concatenate(column) for column in zip(*parts, strict=True))


def strong_columns(laws: list[Spiked], means: np.ndarray | None) -> tuple[list[np.ndarray], np.ndarray]:
    """Return the spikes of each class and the means as columns, and how many standard deviations each is."""
    columns = [law.directions for law in laws]
    sizes = [np.sqrt(np.abs(law.strengths)) for law in laws]
    if means is not None:
        columns.append(means.T)
        sizes.append(np.linalg.norm(means, axis=1) / np.sqrt(min(law.scale for law in laws)))
    return columns, np.concatenate(sizes)


def leading_basis(vectors: np.ndarray) -> np.ndarray:
    """Return an orthonormal basis, shape (n, r), of the span of the longer ones of these columns.

    Axes point along their principal directions, the longest last.
    """
    _, power = np.frexp(np.abs(vectors).max(initial=0.0))
    vectors = np.ldexp(vectors, -power)  # exact, and squares stay in the range of numbers
    size, rotation = np.linalg.eigh(vectors.T @ vectors)
    kept = size > 1e-10 * max(float(size.max(initial=0.0)), 1e-300)
    basis, triangle = np.linalg.qr(vectors @ rotation[:, kept])
    return basis * np.copysign(1.0, np.diag(triangle))


def completed_basis(basis: np.ndarray, vectors: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Add to an orthonormal basis what columns have outside its span, however short they are.

    Which directions matter must not depend on the units of the inputs: those of a mean and of a label's
    direction are not the same, and a spike has none.

    Parameters
    ----------
    basis : ndarray, shape (n, r)
    vectors : ndarray, shape (n, count)
        Their directions count, not their lengths; a zero has none.
    sizes : ndarray, shape (count,)
        How much each vector does, in standard deviations of the inputs. A part that does less than 1e-5 is
        left out, such as a mean that is zero up to rounding.

    Examples
    --------
    >>> short = np.array([[1.0, 0.0], [0.0, 1e-200]])
    >>> completed_basis(np.eye(2)[:, :1], short, np.ones(2)).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    longest = np.abs(vectors).max(axis=0, initial=0.0)
    units = vectors / np.where(longest > 0, longest, 1.0)
    units = units / np.maximum(np.linalg.norm(units, axis=0), 1.0)
    while basis.shape[1] < len(basis):
        outside = units - basis @ (basis.T @ units)
        outside -= basis @ (basis.T @ outside)  # once more: the first time leaves rounding of the whole
        shares = np.linalg.norm(outside, axis=0)
        counts = np.minimum(shares * sizes / _NEGLIGIBLE, shares / _ROUNDING)
        if not np.any(counts > 1):
            break
        most = int(np.argmax(counts))
        basis = np.column_stack([basis, outside[:, most] / shares[most]])
    return basis


def reduced_law(mixture: GaussianMixture, labels: Labels) -> ReducedLaw:
    """Restrict a mixture of spiked covariances and its labels to the directions that matter.

    Parameters
    ----------
    mixture : GaussianMixture
        Every covariance must be `Spiked`.
    labels : Regression or Classification

    Returns
    -------
    ReducedLaw

    Examples
    --------
    >>> mixture = GaussianMixture([1.0], None, [Spiked([3.0], np.eye(5)[:, :1])])
    >>> law = reduced_law(mixture, Regression(np.eye(5)[1]))
    >>> law.rank, np.linalg.eigvalsh(law.roots[0] @ law.roots[0].T).tolist()
    (2, [1.0000, 4.0000])
    """
    laws = [law for law in mixture.covariances if isinstance(law, Spiked)]
    if len(laws) < mixture.classes:
        raise ValueError(
            "covariances: this prediction needs identity-plus-spikes covariances, not dense ones"
        )
    columns, sizes = strong_columns(laws, mixture.means)
    if isinstance(labels, Regression):
        columns.append(labels.direction[:, None])
        sizes = np.append(sizes, 1.0)
    vectors = np.hstack(columns)
    basis = completed_basis(leading_basis(vectors), vectors, sizes)
    coordinates = basis.T @ vectors
    ends = np.cumsum([column.shape[1] for column in columns])
    pieces = np.split(coordinates, ends[:-1], axis=1)
    rank = len(coordinates)
    roots = []
    for law, directions in zip(laws, pieces, strict=False):
        covariance = np.eye(rank) + (directions * law.strengths) @ directions.T
        values, vectors = np.linalg.eigh(covariance)
        roots.append((vectors * np.sqrt(law.scale * values)) @ vectors.T)
    means = np.zeros((mixture.classes, rank)) if mixture.means is None else pieces[len(laws)].T
    return ReducedLaw(
        mixture.dimension, mixture.trace, mixture.weights, np.array([law.scale for law in laws]),
        means, np.array(roots), pieces[-1][:, 0] if isinstance(labels, Regression) else None, labels,
    )  # fmt: skip


@dataclass(frozen=True, eq=False)
class Inputs:
    """Quadrature nodes for the inputs: κ (K, r + 1), τ, labels, weights and classes (K,)."""

    kappa: np.ndarray
    tau: np.ndarray
    labels: np.ndarray
    weights: np.ndarray
    classes: np.ndarray


def input_nodes(law: ReducedLaw, count: int, rng: np.random.Generator) -> Inputs:
    """Place `count` nodes in each class.

    The last coordinate of κ lies along the gradient's noise; τ is the fluctuation of the input's length
    outside the span, in units of its standard deviation.
    """
    parts = []
    for c, (weight, scale) in enumerate(zip(law.weights, law.scales, strict=True)):
        normals = balanced_normal(law.rank + 2, count, rng)
        kappa, y = law.place(normals[:, : law.rank], c)
        kappa = np.column_stack([kappa, np.sqrt(scale) * normals[:, -2]])
        parts.append((kappa, normals[:, -1], y, np.full(count, weight / count), np.full(count, c)))
    return Inputs(*(np.concatenate(column) for column in zip(*parts, strict=True)))
