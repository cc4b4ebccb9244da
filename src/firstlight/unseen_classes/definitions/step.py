"""The step that is studied: network, loss and strength, checked when it is made."""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from firstlight.data.unseen import UnseenData
from firstlight.maths.activations import Activation
from firstlight.maths.activations import activation as as_activation
from firstlight.maths.checks import (
    check_columns,
    check_count,
    check_matrix,
    check_number,
    check_positive,
    check_reals,
)
from firstlight.maths.equality import ByValue
from firstlight.maths.refusals import check_choice
from firstlight.unseen_classes.definitions.covariance import initial_residual, label_covariance, mean_slope

MOST_TAU = 1e30  # beyond, squares of cubic features may be no numbers


@dataclass(frozen=True, eq=False, kw_only=True)
class Step(ByValue):
    """One gradient step of the first layer of g(x) = s aᵀσ(Wᵀx), and how its features are judged.

    Parameters
    ----------
    activation : str or Activation, default "shifted_relu"
        σ; E σ'(g) must not vanish.
    width : int, default 1024
        N.
    strength : float, default 4
        κ = τ² E(β·x)²/q over the training samples; at 1 the step moves
        pre-activations by as much as they were. At most 1e60; not used when `tau` is given.
    tau : float, optional
        The strength itself, τ = η s c_1/√N; at most 1e30.
    loss : {"square", "logistic", "softmax"}, default "square"
    head : {"gaussian", "rademacher"} or sequence, default "gaussian"
        Law of a; or the heads themselves, N of them, each a number or, for several outputs, a row.
    head_scale : float, optional
        s; default 1/√N, at which the output before the step is negligible. Theory counts it on average over
        networks, to first order.
    start : {"sphere", "normal"}, default "sphere"
        Law of the columns of W.
    bulk : {"full", "diagonal", "none"}, default "full"
        Which part of the gradient beside its spike the theory counts.
    metric : {"cosine", "euclidean", "inner"}, default "cosine"
        For Recall@k.
    neighbours : int, default 1
        k of Recall@k.

    Examples
    --------
    >>> Step(width=0)
    Traceback (most recent call last):
    ...
    ValueError: width = 0: must be an integer of at least 1
    """

    activation: str | Activation = "shifted_relu"
    width: int = 1024
    strength: float = 4.0
    tau: float | None = None
    loss: Literal["square", "logistic", "softmax"] = "square"
    head: Literal["gaussian", "rademacher"] | tuple = "gaussian"
    head_scale: float | None = None
    start: Literal["sphere", "normal"] = "sphere"
    bulk: Literal["full", "diagonal", "none"] = "full"
    metric: Literal["cosine", "euclidean", "inner"] = "cosine"
    neighbours: int = 1

    def __post_init__(self) -> None:
        mean_slope(as_activation(self.activation))
        for name in ("width", "neighbours"):
            check_count(name, getattr(self, name), 1)
        check_number("strength", self.strength, 0, MOST_TAU**2)
        if self.tau is not None:
            check_number("tau", self.tau, 0, MOST_TAU)
        if self.head_scale is not None:
            check_positive("head_scale", self.head_scale)
        check_choice("loss", self.loss, ("square", "logistic", "softmax"))
        object.__setattr__(self, "head", _head(self.head, self.width))
        check_choice("start", self.start, ("sphere", "normal"))
        check_choice("bulk", self.bulk, ("full", "diagonal", "none"))
        check_choice("metric", self.metric, ("cosine", "euclidean", "inner"))

    @property
    def sigma(self) -> Activation:
        """Return σ as an Activation."""
        return as_activation(self.activation)

    @property
    def output_scale(self) -> float:
        """Return s."""
        return 1 / np.sqrt(self.width) if self.head_scale is None else self.head_scale

    def covariance(self, data: UnseenData) -> np.ndarray:
        """Return β, or B for several outputs, of the training samples."""
        return label_covariance(data.train, data.train_labels, self.loss, activation=self.sigma)

    def tau_of(self, data: UnseenData) -> float:
        """Return τ: as given, or from κ and the training samples."""
        return (
            tau_from_strength(self.strength, self.covariance(data), data.train)
            if self.tau is None
            else self.tau
        )

    def residual(self, data: UnseenData) -> np.ndarray:
        """Return r of the training samples for a network whose output is still zero."""
        return initial_residual(data.train_labels, self.loss)


def _head(head: Any, width: int) -> Any:
    """Return a law by name, or given heads as tuples, which problems can compare and store."""
    if isinstance(head, str):
        check_choice("head", head, ("gaussian", "rademacher"))
        return head
    values = check_reals("head", head, f"({width},) or ({width}, outputs)")
    if values.ndim not in (1, 2) or len(values) != width or not np.isfinite(values).all():
        raise ValueError(
            f"head: shape {values.shape}; given heads must be finite, one for each of {width} neurons"
        )
    return tuple(values.tolist() if values.ndim == 1 else map(tuple, values.tolist()))


def tau_from_strength(
    strength: float, covariance: ArrayLike | None = None, X_train: ArrayLike | None = None
) -> float:
    """Return τ for a step of given strength κ = τ² E(β·x)²/q on the training samples, q = E|x|²/d.

    Parameters
    ----------
    strength : float
        κ, at least 0. At 1 the step moves pre-activations by as much as they were; 0.25 is weak, 4 strong.
    covariance : array_like, shape (d,) or (d, C), optional
        β, from `label_covariance`.
    X_train : array_like, shape (n, d), optional

    Returns
    -------
    float
        τ; without samples in units of √(q/E(β·x)²), that is √κ.

    Examples
    --------
    >>> tau_from_strength(4.0, [1.0, 0.0], [[1.0, 1.0], [-1.0, 1.0]])
    2.0
    >>> tau_from_strength(4.0, [2.0, 0.0], [[1.0, 1.0], [-1.0, 1.0]]), tau_from_strength(4.0)
    (1.0, 2.0)
    """
    check_number("strength", strength, 0)
    if covariance is None and X_train is None:
        return float(np.sqrt(strength))
    if covariance is None or X_train is None:
        raise ValueError("covariance, X_train: give both, or none for the strength in units of the data's")
    x = check_matrix("X_train", X_train).astype(float)
    along = ((x @ check_columns("covariance", covariance, x.shape[1])) ** 2).sum(axis=1).mean()
    if along == 0:
        raise ValueError(
            "covariance: no training sample has a component along it (are the class means equal?)"
        )
    return float(np.sqrt(strength * (x**2).sum(axis=1).mean() / x.shape[1] / along))


def step_size_from_tau(tau: float, activation: str | Activation, width: int, head_scale: float) -> float:
    """Return the learning rate η = τ √N/(s c_1) of a step of strength τ.

    Examples
    --------
    >>> step_size_from_tau(0.5, "relu", 100, 0.1)
    100.0000
    """
    return float(tau * np.sqrt(width) / (head_scale * mean_slope(as_activation(activation))))
