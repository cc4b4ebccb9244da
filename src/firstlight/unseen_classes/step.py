"""The step that is studied: network, loss and strength, checked when it is made."""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from firstlight.activations import Activation
from firstlight.activations import activation as as_activation
from firstlight.data.unseen import UnseenData
from firstlight.maths.checks import check_choice, check_count
from firstlight.theory.unseen_classes.bulk import bulk_covariance, output_covariance
from firstlight.theory.unseen_classes.covariance import initial_residual, label_covariance, mean_slope
from firstlight.theory.unseen_classes.kernel import step_from_strength


@dataclass(frozen=True, kw_only=True)
class Step:
    """One gradient step of the first layer of g(x) = s aᵀσ(Wᵀx), and how its features are judged.

    Parameters
    ----------
    activation : str or Activation, default "shifted_relu"
        σ; E σ'(g) must not vanish.
    width : int, default 1024
        N.
    kappa : float, default 4
        Strength of the step, κ = τ² E(β·x)²/q over the training samples; at 1 the step moves
        pre-activations by as much as they were. Not used when `tau` is given.
    tau : float, optional
        The strength itself, τ = η s c_1/√N.
    loss : {"square", "logistic", "softmax"}, default "square"
    head : {"gaussian", "rademacher"} or sequence, default "gaussian"
        Law of a; or the heads themselves, N of them, each a number or, for several outputs, a row.
    scale : float, optional
        s; default 1/√N, at which the output before the step is negligible. Theory counts it on average over
        networks, to first order.
    initial : {"sphere", "normal"}, default "sphere"
        Law of the columns of W.
    bulk : {"full", "diagonal", "none"}, default "full"
        Which part of the gradient beside its spike the theory counts.
    metric : {"cosine", "euclidean", "inner"}, default "cosine"
        For Recall@k.
    k : int, default 1

    Examples
    --------
    >>> Step(width=0)
    Traceback (most recent call last):
    ...
    ValueError: width = 0: must be an integer of at least 1
    """

    activation: str | Activation = "shifted_relu"
    width: int = 1024
    kappa: float = 4.0
    tau: float | None = None
    loss: Literal["square", "logistic", "softmax"] = "square"
    head: Literal["gaussian", "rademacher"] | tuple = "gaussian"
    scale: float | None = None
    initial: Literal["sphere", "normal"] = "sphere"
    bulk: Literal["full", "diagonal", "none"] = "full"
    metric: Literal["cosine", "euclidean", "inner"] = "cosine"
    k: int = 1

    def __post_init__(self) -> None:
        mean_slope(as_activation(self.activation))
        for name in ("width", "k"):
            check_count(name, getattr(self, name), 1)
        for name, positive in (("kappa", False), ("tau", False), ("scale", True)):
            value = getattr(self, name)
            if value is not None and not (np.isfinite(value) and (value > 0 if positive else value >= 0)):
                raise ValueError(
                    f"{name} = {value}: must be finite and {'positive' if positive else 'at least 0'}"
                )
        check_choice("loss", self.loss, ("square", "logistic", "softmax"))
        object.__setattr__(self, "head", _head(self.head, self.width))
        check_choice("initial", self.initial, ("sphere", "normal"))
        check_choice("bulk", self.bulk, ("full", "diagonal", "none"))
        check_choice("metric", self.metric, ("cosine", "euclidean", "inner"))

    @property
    def sigma(self) -> Activation:
        """Return σ as an Activation."""
        return as_activation(self.activation)

    @property
    def output_scale(self) -> float:
        """Return s."""
        return 1 / np.sqrt(self.width) if self.scale is None else self.scale

    def covariance(self, data: UnseenData) -> np.ndarray:
        """Return β, or B for several outputs, of the training samples."""
        return label_covariance(data.train, data.train_labels, self.loss, activation=self.sigma)

    def strength(self, data: UnseenData) -> float:
        """Return τ: as given, or from κ and the training samples."""
        return (
            step_from_strength(self.kappa, self.covariance(data), data.train)
            if self.tau is None
            else self.tau
        )

    def bulk_matrix(self, data: UnseenData) -> np.ndarray | None:
        """Return the covariance M of the gradient's bulk, if it is to be counted."""
        if self.bulk == "none":
            return None
        r = self.residual(data)
        outputs = 1 if r.ndim == 1 else r.shape[1]
        output = output_covariance(data.train, self.sigma, self.output_scale, self.loss, outputs)
        return bulk_covariance(data.train, r, self.sigma, self.bulk, output=output)

    def residual(self, data: UnseenData) -> np.ndarray:
        """Return r of the training samples for a network whose output is still zero."""
        return initial_residual(data.train_labels, self.loss)


def _head(head: Any, width: int) -> Any:
    """Return a law by name, or given heads as tuples, which problems can compare and store."""
    if isinstance(head, str):
        check_choice("head", head, ("gaussian", "rademacher"))
        return head
    values = np.asarray(head, float)
    if values.ndim not in (1, 2) or len(values) != width or not np.isfinite(values).all():
        raise ValueError(
            f"head: shape {values.shape}; given heads must be finite, one for each of {width} neurons"
        )
    return tuple(values.tolist() if values.ndim == 1 else map(tuple, values.tolist()))
