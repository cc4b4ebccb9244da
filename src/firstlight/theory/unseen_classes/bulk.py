"""The bulk of the gradient: what is left beside its rank-one part."""

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from firstlight.activations import Activation
from firstlight.activations import activation as as_activation
from firstlight.data.labelled import real_matrix
from firstlight.theory.unseen_classes.covariance import as_residual, mean_slope, slope
from firstlight.theory.unseen_classes.gram import dual_gram

Bulk = Literal["diagonal", "full"]


def bulk_covariance(
    x: ArrayLike, residual: ArrayLike, activation: str | Activation, kind: Bulk = "full"
) -> np.ndarray:
    """Covariance over neurons of the bulk: the matrix M in V(x, x') = xᵀ M x'.

    One step moves neuron j by τ α_j (β + e_j), e_j = (1/(n c_1)) Σ_i r_i (σ'(w_j·x_i) - E σ') x_i; M = E e
    eᵀ.

    Parameters
    ----------
    x : array_like, shape (n, d)
        Training samples.
    residual : array_like, shape (n,) or (n, C)
        r, as in `label_covariance`; several outputs add up.
    activation : str or Activation
        σ.
    kind : {"full", "diagonal"}, default "full"
        "diagonal" keeps the terms i = i' only: enough for independent samples in high dimension, and cheap.
        Real images are correlated and need "full", which costs one n × n dual of σ'.

    Returns
    -------
    ndarray, shape (d, d)

    Examples
    --------
    >>> bulk_covariance([[1.0, 0.0], [0.0, 1.0]], [1.0, -1.0], "relu", "diagonal").round(6).tolist()
    [[0.25, 0.0], [0.0, 0.25]]
    """
    samples = real_matrix("x", x).astype(float)
    sigma = as_activation(activation)
    r = as_residual(residual, len(samples)) / (len(samples) * mean_slope(sigma))
    d = samples.shape[1]
    norms = np.einsum("ij,ij->i", samples, samples) / d
    mean = slope(sigma, norms)
    if kind == "diagonal":
        variance = np.maximum(sigma.dual_derivative(norms, norms, norms) - mean**2, 0)
        return (samples * ((r**2).sum(axis=1) * variance)[:, None]).T @ samples
    if kind != "full":
        raise ValueError(f"kind = {kind!r}: must be 'diagonal' or 'full'")
    covariance = dual_gram(sigma, norms, norms, samples @ samples.T / d, slope=True)
    covariance -= np.outer(mean, mean)
    covariance *= r @ r.T
    return samples.T @ (covariance @ samples)
