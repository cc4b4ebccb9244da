"""The expected kernel of the features after one step: the dual activation on a spiked metric."""

import warnings
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from firstlight.maths.activations import Activation
from firstlight.maths.activations import activation as as_activation
from firstlight.maths.checks import check_columns, check_matrix, check_number
from firstlight.maths.refusals import refusal
from firstlight.unseen_classes.definitions.step import MOST_TAU
from firstlight.unseen_classes.theory.averaged import Averaged
from firstlight.unseen_classes.theory.bulk import bulk_covariance, joint_bulk, summed_bulk
from firstlight.unseen_classes.theory.gram import dual_gram
from firstlight.unseen_classes.theory.heads import Head, is_gaussian, own_bulks
from firstlight.unseen_classes.theory.movement import averaged_movement, gaussian_movement

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
    parts : ndarray of shape (parts, d, d), or None
        M itself, or one symmetric matrix for each pair of outputs k <= l, from `joint_bulk`.
    """

    columns: np.ndarray
    tau: float
    bulk: np.ndarray | None
    parts: np.ndarray | None = None

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
        return self.tau**2 * (((x @ self.columns) ** 2).sum(axis=1) + self.bulk_own(x))

    def bulk_own(self, x: np.ndarray) -> np.ndarray:
        """Return xᵀMx, shape (n,)."""
        return np.zeros(len(x)) if self.bulk is None else np.einsum("ij,ij->i", x @ self.bulk, x)

    def parts_own(self, x: np.ndarray) -> np.ndarray:
        """Return xᵀMx of every part of the bulk, shape (parts, n)."""
        if self.parts is None:
            return np.zeros((1, len(x)))
        return np.array([np.einsum("ij,ij->i", x @ part, x) for part in self.parts])


def spiked_metric(
    covariance: ArrayLike,
    tau: float,
    dimension: int,
    activation: Activation,
    bulk: BulkLike = None,
    train: ArrayLike | None = None,
    residual: ArrayLike | None = None,
    head: Head = "gaussian",
) -> SpikedMetric:
    """Check the pieces and put them together; `bulk` by name is computed from the training samples, for heads
    that are not Gaussian output by output.

    Examples
    --------
    >>> spiked_metric([1.0, 0.0], 0.5, 2, as_activation("relu")).added_own(np.eye(2)).tolist()
    [0.25, 0.0]
    """
    tau, columns = check_number("tau", tau, 0, MOST_TAU), check_columns("covariance", covariance, dimension)
    if not isinstance(bulk, str):
        for name, given in (("train", train), ("residual", residual)):
            if given is not None:
                raise ValueError(f"{name}: counts only with a bulk by name, 'diagonal' or 'full'")
    else:
        if bulk not in ("diagonal", "full"):
            raise refusal("bulk", bulk, "be None, 'diagonal', 'full' or a matrix")
        if train is None or residual is None:
            raise ValueError(f"train, residual: needed for bulk = {bulk!r}")
        bulk_of = joint_bulk if own_bulks(head, columns.shape[1]) else bulk_covariance
        bulk = bulk_of(train, residual, activation, bulk)
    if bulk is None:
        return SpikedMetric(columns, tau, None)
    matrix = summed_bulk(bulk, dimension)
    if getattr(bulk, "ndim", 2) != 4:  # blocks are arrays, of `joint_bulk`
        return SpikedMetric(columns, tau, matrix, matrix[None])
    if len(bulk) != columns.shape[1]:
        raise ValueError(f"bulk: of {len(bulk)} outputs, but the covariance has {columns.shape[1]}")
    blocks = np.asarray(bulk, float)
    first, second = np.triu_indices(len(blocks))
    once = np.where(first == second, 0.5, 1.0)[:, None, None]
    return SpikedMetric(columns, tau, matrix, once * (blocks[first, second] + blocks[second, first]))


def spiked_kernel(
    Xa: ArrayLike,
    Xb: ArrayLike | None,
    covariance: ArrayLike,
    tau: float,
    activation: str | Activation,
    bulk: BulkLike = None,
    *,
    train: ArrayLike | None = None,
    residual: ArrayLike | None = None,
    head: Head = "gaussian",
) -> np.ndarray:
    """Compute the expected kernel per neuron after one step, K(x, x') = E σ(z)σ(z'); F(x)·F(x') ≈ N K.

    Parameters
    ----------
    Xa, Xb : array_like, shapes (a, d) and (b, d)
        Samples, scaled such that |x|² is about d; ``Xb=None`` means `Xa` again.
    covariance : array_like, shape (d,) or (d, C)
        From `label_covariance`.
    tau : float
        Strength of the step, τ = η s c_1/√N, at most 1e30; 0 gives the kernel before it. See
        `tau_from_strength`.
    activation : str or Activation
        σ.
    bulk : None, "diagonal", "full" or array_like of shape (d, d) or (C, C, d, d)
        Whether to count the rest of the gradient: see `bulk_covariance`, whose matrix may also be given. For
        several outputs with heads that are not Gaussian give that of `joint_bulk`; a (d, d) matrix then is
        taken as shared by the outputs alike and independently.
    train, residual : array_like, optional
        Training samples and r; for a bulk by name.
    head : {"gaussian", "rademacher"} or array_like of shape (N,) or (N, C), default "gaussian"
        The law of the second layer, a_j ~ N(0, 1/N) or ±1/√N, or the heads of a given network, whose
        fluctuations are then part of the prediction.

    Returns
    -------
    ndarray, shape (a, b)
        With Gaussian heads a closed dual, in which the bulk is taken as Gaussian over neurons: wrong where σ
        turns back and forth within the step, see `gaussian_bulk_gap`. Other heads
        are summed one by one, the bulk given the head, by a series that is good to about 1e-5.

    Examples
    --------
    >>> x = np.sqrt(2) * np.eye(2)
    >>> spiked_kernel(x, None, [1.0, 0.0], 1.0, "linear").tolist()
    [[3.0000, 0.0000], [0.0000, 1.0000]]
    """
    a = check_matrix("Xa", Xa).astype(float, copy=False)
    b = a if Xb is None else check_matrix("Xb", Xb).astype(float, copy=False)
    if a.shape[1] != b.shape[1]:
        raise ValueError(f"Xb: {b.shape[1]} features, but Xa has {a.shape[1]}")
    sigma = as_activation(activation)
    metric = spiked_metric(covariance, tau, a.shape[1], sigma, bulk, train, residual, head)
    left, right = metric.factors(a)
    q = np.einsum("ij,ij->i", left, right)
    _require(sigma, head, q)
    if not is_gaussian(head):
        return averaged(sigma, metric, head, a, b).kernel()
    if b is a:
        p = q
    else:
        other, right = metric.factors(b)
        p = np.einsum("ij,ij->i", other, right)
    inner = left @ right.T
    if b is a:
        np.fill_diagonal(inner, q)  # but for rounding it is, and sin tells a variance of 1e16 from the next
    return dual_gram(sigma, q, p, inner)


def _require(sigma: Activation, head: Head, variance: np.ndarray) -> None:
    """Refuse what a series over shifted means cannot follow, and tell waves that no rule resolves."""
    if not is_gaussian(head) and sigma.kinks:
        kinks = np.array(sigma.kinks)
        sides = np.array([sigma(np.nextafter(kinks, end)) for end in (-np.inf, np.inf)])
        if (np.abs(sides[1] - sides[0]) > 1e-9 * (1 + np.abs(sides[0]))).any():
            raise ValueError(f"activation: {sigma.name} jumps, which only Gaussian heads follow; see head")
    std = np.sqrt(np.maximum([variance.min(), variance.max()], 0.0))
    if not sigma.resolved(np.zeros(2), std, closed=is_gaussian(head)):
        warnings.warn(
            f"activation: the moments of {sigma.name} are not resolved over pre-activations with a standard "
            f"deviation up to {std[1]:.3g}; kernels and movements may be far off",
            stacklevel=3,
        )


def averaged(sigma: Activation, metric: SpikedMetric, head: Head, a: np.ndarray, b: np.ndarray) -> Averaged:
    """Collect what the average over heads needs of two sets of samples."""
    sides = [a] if b is a else [a, b]
    along = [x @ metric.columns for x in sides]
    norms = [np.einsum("ij,ij->i", x, x) / x.shape[1] for x in sides]
    bulks = [metric.parts_own(x) for x in sides]
    overlap = None if metric.parts is None else np.array([(a @ part) @ b.T for part in metric.parts])
    return Averaged(
        sigma, head, metric.tau, (along[0], along[-1]), (norms[0], norms[-1]), (bulks[0], bulks[-1]),
        a @ b.T / a.shape[1], overlap,
    )  # fmt: skip


def predicted_movement(
    X: ArrayLike,
    covariance: ArrayLike,
    tau: float,
    activation: str | Activation,
    bulk: BulkLike = None,
    *,
    train: ArrayLike | None = None,
    residual: ArrayLike | None = None,
    head: Head = "gaussian",
) -> np.ndarray:
    """Compute the expected movement per neuron of each sample's features, E (σ(z) - σ(z0))².

    Parameters
    ----------
    X : array_like, shape (n, d)
        Samples.
    covariance, tau, activation, bulk, train, residual, head
        As in `spiked_kernel`.

    Returns
    -------
    ndarray, shape (n,)

    Examples
    --------
    >>> predicted_movement([[2.0, 0.0]], [1.0, 0.0], 0.5, "linear").tolist()
    [1.0000]
    """
    samples = check_matrix("X", X).astype(float)
    sigma = as_activation(activation)
    metric = spiked_metric(covariance, tau, samples.shape[1], sigma, bulk, train, residual, head)
    before = np.einsum("ij,ij->i", samples, samples) / samples.shape[1]
    _require(sigma, head, before)
    if not is_gaussian(head):
        return averaged_movement(
            sigma, head, metric.tau, samples @ metric.columns, before, metric.parts_own(samples)
        )
    along, outputs = samples @ metric.columns, max(int(np.linalg.matrix_rank(metric.columns)), 1)
    length, bulks = np.linalg.norm(along, axis=1), metric.bulk_own(samples)
    return gaussian_movement(sigma, metric.tau, length, before, np.maximum(bulks, 0), outputs)
