"""The tangent kernel of the whole network, before and after the step: what He and Su's updates measure."""

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from firstlight.maths.activations import Activation
from firstlight.maths.activations import activation as as_activation
from firstlight.maths.checks import check_count, check_matrix, check_positive
from firstlight.maths.refusals import check_choice
from firstlight.unseen_classes.theory.gram import dual_gram
from firstlight.unseen_classes.theory.heads import Head, is_gaussian
from firstlight.unseen_classes.theory.kernel import BulkLike, SpikedMetric, averaged, spiked_metric

_STEP = 0.02  # of the strength u; the five-point rule then errs by about u⁴/30 of the fifth derivative: 1e-8


def tangent_kernel(
    Xa: ArrayLike,
    Xb: ArrayLike | None,
    covariance: ArrayLike,
    tau: float,
    activation: str | Activation,
    bulk: BulkLike = None,
    *,
    width: int,
    head_scale: float,
    layer: Literal["both", "first", "second"] = "both",
    train: ArrayLike | None = None,
    residual: ArrayLike | None = None,
    head: Head = "gaussian",
) -> np.ndarray:
    """Compute the expected tangent kernel of g(x) = s aᵀσ(Wᵀx) after one step of strength τ; τ = 0: before
    it.

    Parameters
    ----------
    Xa, Xb, covariance, tau, activation, bulk, train, residual, head
        As in `spiked_kernel`; one output only.
    width : int
        N.
    head_scale : float
        s.
    layer : {"both", "first", "second"}, default "both"
        Whose parameters are counted: the second layer gives s² N K, the first s² (x·x') E[α² σ'(z)σ'(z')].

    Returns
    -------
    ndarray, shape (a, b)

    Examples
    --------
    >>> x = np.sqrt(2) * np.eye(2)
    >>> tangent_kernel(x, None, [1.0, 0.0], 0.0, "linear", width=10, head_scale=1.0).tolist()
    [[12.0000, 0.0000], [0.0000, 12.0000]]
    """
    check_choice("layer", layer, ("both", "first", "second"))
    check_count("width", width)
    check_positive("head_scale", head_scale)
    a = check_matrix("Xa", Xa).astype(float)
    b = a if Xb is None else check_matrix("Xb", Xb).astype(float)
    if a.shape[1] != b.shape[1]:
        raise ValueError(f"Xb: {b.shape[1]} features, but Xa has {a.shape[1]}")
    sigma = as_activation(activation)
    metric = spiked_metric(covariance, tau, a.shape[1], sigma, bulk, train, residual, head)
    if metric.columns.shape[1] > 1:
        raise ValueError(f"covariance: {metric.columns.shape[1]} outputs; the tangent kernel is that of one")
    gaussian = is_gaussian(head)
    parts = _Parts(metric, a, b)
    average = None if gaussian else averaged(sigma, metric, head, a, b)
    total = np.zeros((len(a), len(b)))
    if layer != "first":
        total += width * (average.kernel() if average else dual_gram(sigma, *parts.at(1.0)))
    if layer != "second":
        slopes = average.kernel(slope=True) if average else _weighted_slopes(sigma, parts, tau)
        total += (a @ b.T) * slopes
    return head_scale**2 * total


class _Parts:
    """Variances and covariances of the pre-activations, the step's part of them scaled by u."""

    def __init__(self, metric: SpikedMetric, a: np.ndarray, b: np.ndarray) -> None:
        self.before = a @ b.T / a.shape[1]
        self.added = metric.added(a, b)
        different = [a] if b is a else [a, b]
        self.own = [np.einsum("ij,ij->i", x, x) / x.shape[1] for x in different]
        self.own_added = [metric.added_own(x) for x in different]

    def at(self, u: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        own = [own + u * added for own, added in zip(self.own, self.own_added, strict=True)]
        return own[0], own[-1], self.before + u * self.added


def _weighted_slopes(sigma: Activation, parts: _Parts, tau: float) -> np.ndarray:
    """E[α² σ'(z)σ'(z')] = H(1) + 2H'(1) by parts, where H(u) = E σ'σ' with τ² replaced by u τ²."""
    now = dual_gram(sigma, *parts.at(1.0), slope=True)
    if tau == 0:
        return now
    change = np.zeros_like(now)
    for place, weight in ((-2, 1), (-1, -8), (1, 8), (2, -1)):
        change += weight * dual_gram(sigma, *parts.at(1 + place * _STEP), slope=True)
    return now + change / (6 * _STEP)
