"""The bulk of the gradient: what is left beside its rank-one part."""

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from firstlight.data.unseen import UnseenData
from firstlight.maths.activations import Activation
from firstlight.maths.activations import activation as as_activation
from firstlight.maths.checks import check_columns, check_matrix, check_number
from firstlight.unseen_classes.definitions.covariance import Loss, mean_slope, slope
from firstlight.unseen_classes.definitions.step import Step
from firstlight.unseen_classes.theory.gram import dual_gram

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
    samples = check_matrix("X", X).astype(float)
    sigma = as_activation(activation)
    r = check_columns("residual", residual, len(samples)) / (len(samples) * mean_slope(sigma))
    d = samples.shape[1]
    norms = np.einsum("ij,ij->i", samples, samples) / d
    mean = slope(sigma, norms)
    noise = None if output is None else _noise(output, len(samples)) / (len(samples) * mean_slope(sigma)) ** 2
    if kind == "diagonal":
        variance = np.maximum(sigma.dual_derivative(norms, norms, norms) - mean**2, 0)
        square = (r**2).sum(axis=1) + (0.0 if noise is None else np.diag(noise))
        bulk = (samples * (square * variance)[:, None]).T @ samples
        if noise is None:
            return bulk
        return bulk + (samples * mean[:, None]).T @ noise @ (samples * mean[:, None])
    if kind != "full":
        raise ValueError(f"kind = {kind!r}: must be 'diagonal' or 'full'")
    slopes = dual_gram(sigma, norms, norms, samples @ samples.T / d, slope=True)
    covariance = (slopes - np.outer(mean, mean)) * (r @ r.T)
    if noise is not None:
        covariance += slopes * noise
    return samples.T @ (covariance @ samples)


def step_bulk(step: Step, data: UnseenData) -> np.ndarray | None:
    """Return the covariance M of the bulk of a step on given samples, if the step asks to count it.

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
    return bulk_covariance(data.train, r, step.sigma, step.bulk, output=output)


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


def _noise(output: ArrayLike, samples: int) -> np.ndarray:
    matrix = np.asarray(output, float)
    if matrix.shape != (samples, samples) or not np.isfinite(matrix).all():
        raise ValueError(f"output: shape {matrix.shape}; must be finite and ({samples}, {samples})")
    return matrix
