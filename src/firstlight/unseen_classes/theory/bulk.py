"""The bulk of the gradient: what is left beside its rank-one part."""

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from firstlight.data.unseen import UnseenData
from firstlight.maths.activations import Activation
from firstlight.maths.activations import activation as as_activation
from firstlight.maths.checks import check_array, check_columns, check_matrix, check_number
from firstlight.maths.refusals import check_choice
from firstlight.unseen_classes.definitions.covariance import Loss, mean_slope, slope
from firstlight.unseen_classes.definitions.step import Step
from firstlight.unseen_classes.theory.gram import dual_gram
from firstlight.unseen_classes.theory.heads import Head, own_bulks

Bulk = Literal["diagonal", "full"]


def bulk_covariance(
    X: ArrayLike,
    residual: ArrayLike,
    activation: str | Activation,
    kind: Bulk = "full",
    *,
    output: ArrayLike | None = None,
) -> np.ndarray:
    """Covariance over neurons of the bulk: the matrix M in V(x, x') = xᵀ M x'.

    One step moves neuron j by τ α_j (β + e_j), e_j = (1/(n c_1)) Σ_i r_i (σ'(w_j·x_i) - E σ') x_i; M = E e
    eᵀ.

    Parameters
    ----------
    X : array_like, shape (n, d)
        Training samples.
    residual : array_like, shape (n,) or (n, C)
        r, as in `label_covariance`; several outputs add up.
    kind : {"full", "diagonal"}, default "full"
        "diagonal" keeps the terms i = i' only: enough for independent samples in high dimension, and cheap.
        Real images are correlated and need "full", which costs one n × n dual of σ'.
    output : array_like of shape (n, n), optional
        Covariance of what the output before the step adds to the residual, from `output_covariance`: then r
        is what it would be without, and the step's random part along β is counted, too.

    Returns
    -------
    ndarray, shape (d, d)

    Examples
    --------
    >>> bulk_covariance([[1.0, 0.0], [0.0, 1.0]], [1.0, -1.0], "relu", "diagonal").tolist()
    [[0.2500, 0.0000], [0.0000, 0.2500]]
    """
    slopes = _Slopes(X, residual, activation, kind)
    return slopes.pulled(slopes.r, None if output is None else slopes.noise(output))


def joint_bulk(
    X: ArrayLike,
    residual: ArrayLike,
    activation: str | Activation,
    kind: Bulk = "full",
    *,
    output: ArrayLike | None = None,
    shares: ArrayLike | None = None,
) -> np.ndarray:
    """Covariances of the bulks of several outputs, E e_k e_lᵀ: the bulk of a neuron with heads α is their sum
    with weights α_k α_l, so that it need not be that of an average neuron.

    Parameters
    ----------
    X, residual, activation, kind, output
        As in `bulk_covariance`, which is the sum of the blocks k = l.
    shares : array_like of shape (C, C), optional
        How the outputs share `output`, of trace one; from `output_shares`. Default: alike, independently.

    Returns
    -------
    ndarray, shape (C, C, d, d)

    Examples
    --------
    >>> blocks = joint_bulk([[1.0, 0.0], [0.0, 1.0]], [[0.5, -0.5], [-0.5, 0.5]], "relu", "diagonal")
    >>> heads = np.array([1.0, 1.0])  # the outputs pull a neuron to opposite sides, so that it stays
    >>> np.einsum("k,l,klij->ij", heads, heads, blocks).tolist()
    [[0.0000, 0.0000], [0.0000, 0.0000]]
    """
    slopes = _Slopes(X, residual, activation, kind)
    if output is None:
        return slopes.joint()
    outputs = slopes.r.shape[1]
    share = np.eye(outputs) / outputs if shares is None else check_array("shares", shares, (outputs, outputs))
    return slopes.joint() + share[:, :, None, None] * slopes.pulled(None, slopes.noise(output))


class _Slopes:
    """Training samples x, residuals r/(n c_1), and covariances over neurons of the slopes at the samples."""

    def __init__(self, X: ArrayLike, residual: ArrayLike, activation: str | Activation, kind: Bulk) -> None:
        check_choice("kind", kind, ("diagonal", "full"))
        self.x, self.diagonal = check_matrix("X", X).astype(float), kind == "diagonal"
        sigma = as_activation(activation)
        self.scale = len(self.x) * mean_slope(sigma)
        self.r = check_columns("residual", residual, len(self.x)) / self.scale
        norms = np.einsum("ij,ij->i", self.x, self.x) / self.x.shape[1]
        self.mean = slope(sigma, norms)
        if self.diagonal:
            self.covariance = np.maximum(sigma.dual_derivative(norms, norms, norms) - self.mean**2, 0)
        else:
            self.slopes = dual_gram(sigma, norms, norms, self.x @ self.x.T / self.x.shape[1], slope=True)
            self.covariance = self.slopes - np.outer(self.mean, self.mean)

    def noise(self, output: ArrayLike) -> np.ndarray:
        """Return the covariance of the residuals' random part, in units of r."""
        matrix, n = np.asarray(output, float), len(self.x)
        if matrix.shape != (n, n) or not np.isfinite(matrix).all():
            raise ValueError(f"output: shape {matrix.shape}; must be finite and ({n}, {n})")
        return matrix / self.scale**2

    def pulled(self, residual: np.ndarray | None, noise: np.ndarray | None) -> np.ndarray:
        """Return Σ x_i x_kᵀ (Cov σ'σ' r_i·r_k + E σ'σ' noise_ik), shape (d, d)."""
        r = np.zeros((len(self.x), 1)) if residual is None else residual
        if not self.diagonal:
            total = self.covariance * (r @ r.T)
            if noise is not None:
                total += self.slopes * noise
            return self.x.T @ (total @ self.x)
        square = (r**2).sum(axis=1) + (0.0 if noise is None else np.diag(noise))
        bulk = (self.x * (square * self.covariance)[:, None]).T @ self.x
        if noise is None:
            return bulk
        return bulk + (self.x * self.mean[:, None]).T @ noise @ (self.x * self.mean[:, None])

    def joint(self) -> np.ndarray:
        """Return Σ x_i x_kᵀ Cov σ'σ' r_ia r_kb for each pair of outputs, shape (C, C, d, d)."""
        (samples, d), outputs = self.x.shape, self.r.shape[1]
        pulls = (self.r[:, :, None] * self.x[:, None, :]).reshape(samples, -1)
        weighted = self.covariance[:, None] * pulls if self.diagonal else self.covariance @ pulls
        return (pulls.T @ weighted).reshape(outputs, d, outputs, d).transpose(0, 2, 1, 3)


def step_bulk(step: Step, data: UnseenData, head: Head | None = None) -> np.ndarray | None:
    """Return the covariance M of the bulk of a step on given samples, if the step asks to count it.

    It has shape (d, d), or (C, C, d, d) where `head` (default: the step's) is such that neurons differ in
    their bulk: see `joint_bulk`, `own_bulks`.

    Examples
    --------
    >>> x = np.sqrt(2) * np.eye(2)
    >>> data = UnseenData(x, np.array([0, 1]), x, np.array([2, 3]))
    >>> step_bulk(Step(bulk="diagonal"), data).shape, step_bulk(Step(bulk="none"), data) is None
    ((2, 2), True)
    """
    if step.bulk == "none":
        return None
    r = step.residual(data)
    outputs = 1 if r.ndim == 1 else r.shape[1]
    output = output_covariance(data.train, step.sigma, step.output_scale, step.loss, outputs)
    if not own_bulks(step.head if head is None else head, outputs):
        return bulk_covariance(data.train, r, step.sigma, step.bulk, output=output)
    shares = output_shares(step.loss, outputs)
    return joint_bulk(data.train, r, step.sigma, step.bulk, output=output, shares=shares)


def output_covariance(
    X: ArrayLike, activation: str | Activation, head_scale: float, loss: Loss = "square", outputs: int = 1
) -> np.ndarray:
    """Covariance over networks of what the output before the step adds to the residuals, to first order.

    Parameters
    ----------
    X : array_like, shape (n, d)
        Training samples.
    head_scale : float
        s: the output before the step has covariance s² E σσ', for heads of variance 1/N.
    loss : {"square", "logistic", "softmax"}, default "square"
        The residual follows the output with slope -1, -1/4, or -1/C on what the outputs do not share.
    outputs : int, default 1
        C; they are summed.

    Returns
    -------
    ndarray, shape (n, n)

    Examples
    --------
    >>> output_covariance([[1.0, 1.0], [1.0, -1.0]], "linear", 2.0).tolist()
    [[4.0000, 0.0000], [0.0000, 4.0000]]
    """
    samples = check_matrix("X", X).astype(float)
    check_number("head_scale", head_scale, 0)
    slope = {"square": float(outputs), "logistic": 1 / 16, "softmax": (outputs - 1) / outputs**2}
    if loss not in slope:
        raise ValueError(f"loss = {loss!r}: must be 'square', 'logistic' or 'softmax'")
    inner = samples @ samples.T / samples.shape[1]
    norms = np.diag(inner).copy()
    return head_scale**2 * slope[loss] * dual_gram(as_activation(activation), norms, norms, inner)


def output_shares(loss: Loss, outputs: int) -> np.ndarray:
    """Return how outputs share `output_covariance`: with softmax, only in what they do not have in common.

    Examples
    --------
    >>> output_shares("softmax", 2).tolist(), output_shares("square", 2).tolist()
    ([[0.5, -0.5], [-0.5, 0.5]], [[0.5, 0.0], [0.0, 0.5]])
    """
    if loss == "softmax":
        return (np.eye(outputs) - 1 / outputs) / max(outputs - 1, 1)
    return np.eye(outputs) / outputs


def summed_bulk(bulk: ArrayLike, dimension: int) -> np.ndarray:
    """Return the (d, d) matrix that a bulk, joint or not, is on average over heads.

    Examples
    --------
    >>> summed_bulk(np.ones((2, 2, 1, 1)), 1).tolist()
    [[2.0]]
    """
    if getattr(bulk, "ndim", 2) != 4:  # blocks are arrays, of `joint_bulk`
        return check_array("bulk", bulk, (dimension, dimension))
    return np.einsum("kkij->ij", check_array("bulk", bulk, ("C", "C", dimension, dimension)))
