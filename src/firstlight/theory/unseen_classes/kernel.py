"""The expected kernel of the features after one step: the dual activation on a spiked metric."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from firstlight.activations import Activation
from firstlight.activations import activation as as_activation
from firstlight.data.labelled import real_matrix
from firstlight.theory.unseen_classes.bulk import bulk_covariance
from firstlight.theory.unseen_classes.covariance import as_bulk, as_columns, mean_slope
from firstlight.theory.unseen_classes.gram import dual_gram, dual_values

BulkLike = Literal["diagonal", "full"] | np.ndarray | None


@dataclass(frozen=True, eq=False)
class SpikedMetric:
    """Covariance over neurons of the pre-activations after one step: xᵀ(I/d + τ²(ββᵀ + M))x'.

    Attributes
    ----------
    columns : ndarray, shape (d, C)
        β, or one column per output.
    tau : float
        Strength of the step, τ = η s c_1/√N.
    bulk : ndarray of shape (d, d), or None
        M, from `bulk_covariance`.
    """

    columns: np.ndarray
    tau: float
    bulk: np.ndarray | None

    def factors(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Left and right factors: the covariance of x and x' is left(x)·right(x')."""
        dimension = x.shape[1]
        if self.bulk is None:
            both = np.hstack([x / np.sqrt(dimension), self.tau * (x @ self.columns)])
            return both, both
        spike = self.columns @ self.columns.T + self.bulk
        return x / dimension + self.tau**2 * (x @ spike), x

    def added(self, x: np.ndarray, other: np.ndarray) -> np.ndarray:
        """Return what the step adds to the covariances, τ² xᵀ(ββᵀ + M)x', shape (a, b)."""
        added = (x @ self.columns) @ (other @ self.columns).T
        if self.bulk is not None:
            added += (x @ self.bulk) @ other.T
        return self.tau**2 * added

    def added_own(self, x: np.ndarray) -> np.ndarray:
        """Return what the step adds to the variances, shape (n,)."""
        added = ((x @ self.columns) ** 2).sum(axis=1)
        if self.bulk is not None:
            added += np.einsum("ij,ij->i", x @ self.bulk, x)
        return self.tau**2 * added


def spiked_metric(
    beta: ArrayLike,
    tau: float,
    dimension: int,
    activation: Activation,
    bulk: BulkLike = None,
    train: ArrayLike | None = None,
    residual: ArrayLike | None = None,
) -> SpikedMetric:
    """Check the pieces and put them together; `bulk` by name is computed from the training samples.

    Examples
    --------
    >>> spiked_metric([1.0, 0.0], 0.5, 2, as_activation("relu")).added_own(np.eye(2)).tolist()
    [0.25, 0.0]
    """
    if not 0 <= tau < np.inf:
        raise ValueError(f"tau = {tau}: must be finite and at least 0")
    if isinstance(bulk, str):
        if train is None or residual is None:
            raise ValueError(f"train, residual: needed for bulk = {bulk!r}")
        bulk = bulk_covariance(train, residual, activation, bulk)
    matrix = None if bulk is None else as_bulk(bulk, dimension)
    return SpikedMetric(as_columns(beta, dimension), float(tau), matrix)


def spiked_kernel(
    xa: ArrayLike,
    xb: ArrayLike | None,
    beta: ArrayLike,
    tau: float,
    activation: str | Activation,
    bulk: BulkLike = None,
    *,
    train: ArrayLike | None = None,
    residual: ArrayLike | None = None,
) -> np.ndarray:
    """Compute the expected kernel per neuron after one step, K(x, x') = E σ(z)σ(z'); F(x)·F(x') ≈ N K.

    Parameters
    ----------
    xa, xb : array_like, shapes (a, d) and (b, d)
        Samples, scaled such that |x|² is about d; ``xb=None`` means `xa` again.
    beta : array_like, shape (d,) or (d, C)
        From `label_covariance`.
    tau : float
        Strength of the step, τ = η s c_1/√N; 0 gives the kernel before it. See `step_from_strength`.
    activation : str or Activation
        σ.
    bulk : None, "diagonal", "full" or array_like of shape (d, d)
        Whether to count the rest of the gradient: see `bulk_covariance`, whose matrix may also be given.
    train, residual : array_like, optional
        Training samples and r; for a bulk by name.

    Returns
    -------
    ndarray, shape (a, b)
        For heads a_j ~ N(0, 1/N). Treats the bulk as Gaussian.

    Examples
    --------
    >>> x = np.sqrt(2) * np.eye(2)
    >>> spiked_kernel(x, None, [1.0, 0.0], 1.0, "linear").round(12).tolist()
    [[3.0, 0.0], [0.0, 1.0]]
    """
    a = real_matrix("xa", xa).astype(float, copy=False)
    b = a if xb is None else real_matrix("xb", xb).astype(float, copy=False)
    if a.shape[1] != b.shape[1]:
        raise ValueError(f"xb: {b.shape[1]} features, but xa has {a.shape[1]}")
    sigma = as_activation(activation)
    metric = spiked_metric(beta, tau, a.shape[1], sigma, bulk, train, residual)
    left, right = metric.factors(a)
    q = np.einsum("ij,ij->i", left, right)
    if b is a:
        p = q
    else:
        other, right = metric.factors(b)
        p = np.einsum("ij,ij->i", other, right)
    return dual_gram(sigma, q, p, left @ right.T)


def predicted_movement(
    x: ArrayLike,
    beta: ArrayLike,
    tau: float,
    activation: str | Activation,
    bulk: BulkLike = None,
    *,
    train: ArrayLike | None = None,
    residual: ArrayLike | None = None,
) -> np.ndarray:
    """Compute the expected movement per neuron of each sample's features, E (σ(z) - σ(z0))².

    Parameters
    ----------
    x : array_like, shape (n, d)
        Samples.
    beta, tau, activation, bulk, train, residual
        As in `spiked_kernel`.

    Returns
    -------
    ndarray, shape (n,)

    Examples
    --------
    >>> predicted_movement([[2.0, 0.0]], [1.0, 0.0], 0.5, "linear").round(12).tolist()
    [1.0]
    """
    samples = real_matrix("x", x).astype(float)
    sigma = as_activation(activation)
    metric = spiked_metric(beta, tau, samples.shape[1], sigma, bulk, train, residual)
    before = np.einsum("ij,ij->i", samples, samples) / samples.shape[1]
    after = before + metric.added_own(samples)
    return np.maximum(
        sigma.second_moment(np.sqrt(after))
        + sigma.second_moment(np.sqrt(before))
        - 2 * dual_values(sigma, before, after, before),
        0,
    )


def step_from_strength(kappa: float, beta: ArrayLike, x_train: ArrayLike) -> float:
    """Return τ for a step of given strength κ = τ² E(β·x)²/q on the training samples, q = E|x|²/d.

    Parameters
    ----------
    kappa : float
        At least 0. At 1 the step moves pre-activations by as much as they were; 0.25 is weak, 4 strong.
    beta : array_like, shape (d,) or (d, C)
        From `label_covariance`.
    x_train : array_like, shape (n, d)

    Returns
    -------
    float
        τ.

    Examples
    --------
    >>> step_from_strength(4.0, [1.0, 0.0], [[1.0, 1.0], [-1.0, 1.0]])
    2.0
    """
    if not 0 <= kappa < np.inf:
        raise ValueError(f"kappa = {kappa}: must be finite and at least 0")
    x = real_matrix("x_train", x_train).astype(float)
    along = ((x @ as_columns(beta, x.shape[1])) ** 2).sum(axis=1).mean()
    if along == 0:
        raise ValueError("beta: no training sample has a component along it (are the class means equal?)")
    return float(np.sqrt(kappa * (x**2).sum(axis=1).mean() / x.shape[1] / along))


def step_size_from_tau(tau: float, activation: str | Activation, width: int, scale: float) -> float:
    """Return the learning rate η = τ √N/(s c_1) of a step of strength τ.

    Examples
    --------
    >>> round(step_size_from_tau(0.5, "relu", 100, 0.1), 9)
    100.0
    """
    return float(tau * np.sqrt(width) / (scale * mean_slope(as_activation(activation))))
