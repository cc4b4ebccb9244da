"""Losses l(y, f) of a label and a network's output; those of the margin y f alone, to very late times."""

from collections.abc import Callable
from dataclasses import dataclass
from difflib import get_close_matches
from functools import partial
from typing import Protocol

import numpy as np
from scipy.special import expit, softmax

from firstlight.maths.equality import ByValue
from firstlight.maths.refusals import check_choice, check_instance, refusal, shown

Pairwise = Callable[[np.ndarray, np.ndarray], np.ndarray]


class Differentiable(Protocol):
    """A loss l(y, f) that can be descended: its derivative in the output f is known."""

    def first(self, y: np.ndarray, f: np.ndarray, /) -> np.ndarray:
        """Return the derivative of each sample's loss in f."""
        ...


@dataclass(frozen=True, eq=False)
class Loss(ByValue):
    """A loss with its first two derivatives in the output; all three map (y, f) arrays to an array.

    Attributes
    ----------
    name : str
        Its name.
    value, first, second : callable
        l(y, f), ∂l/∂f and ∂²l/∂f², vectorised.

    Examples
    --------
    >>> square = loss("square")
    >>> float(square.value(np.array(1.0), np.array(3.0))), float(square.first(np.array(1.0), np.array(3.0)))
    (2.0, 2.0)
    """

    name: str
    value: Pairwise
    first: Pairwise
    second: Pairwise

    def __post_init__(self) -> None:
        check_instance("name", self.name, str)
        for name in ("value", "first", "second"):
            if not callable(getattr(self, name)):
                raise refusal(name, getattr(self, name), "be a function of (y, f)")


def _square(y: np.ndarray, f: np.ndarray) -> np.ndarray:
    return 0.5 * (f - y) ** 2


def _square_first(y: np.ndarray, f: np.ndarray) -> np.ndarray:
    return f - y


def _square_second(y: np.ndarray, f: np.ndarray) -> np.ndarray:
    return np.ones(np.broadcast_shapes(np.shape(y), np.shape(f)))


def _logistic(y: np.ndarray, f: np.ndarray) -> np.ndarray:
    return np.logaddexp(0.0, -y * f)


def _logistic_first(y: np.ndarray, f: np.ndarray) -> np.ndarray:
    return -y * expit(-y * f)


def _logistic_second(y: np.ndarray, f: np.ndarray) -> np.ndarray:
    return y * y * expit(y * f) * expit(-y * f)


LOSSES = {
    "square": Loss("square", _square, _square_first, _square_second),
    "logistic": Loss("logistic", _logistic, _logistic_first, _logistic_second),
}


def loss(name: "str | Loss") -> Loss:
    """Return the loss of that name; a `Loss` of one's own is passed through.

    Parameters
    ----------
    name : {"square", "logistic"} or Loss
        ``square`` is (f - y)²/2; ``logistic`` is log(1 + exp(-y f)), for labels ±1.

    Examples
    --------
    >>> loss("logistic").name
    'logistic'
    """
    if isinstance(name, Loss):
        return name
    if not isinstance(name, str) or name not in LOSSES:
        close = get_close_matches(shown(name), LOSSES, 1)
        hint = f"; did you mean {close[0]!r}?" if close else ""
        raise refusal("loss", name, f"be one of {', '.join(LOSSES)}, or a Loss{hint}")
    return LOSSES[name]


class Softmax:
    """Cross-entropy of one-hot rows y and the outputs' softmax.

    Examples
    --------
    >>> Softmax().first(np.array([[1.0, 0.0]]), np.zeros((1, 2))).tolist()
    [[-0.5, 0.5]]
    """

    def first(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """Return the derivative of each sample's loss in f, shape (n, classes)."""
        return softmax(f, axis=1) - y


@dataclass(frozen=True, eq=False)
class MarginLoss(ByValue):
    """A loss of the margin z = y f alone, for labels y = ±1.

    Attributes
    ----------
    name : str
        Its name.
    log_value : callable
        log ℓ(z).
    log_slope : callable
        log g(z) with g = -ℓ' > 0.
    slope_at_zero : float
        g(0), the speed of the first phase of training.
    """

    name: str
    log_value: Callable[[np.ndarray], np.ndarray]
    log_slope: Callable[[np.ndarray], np.ndarray]
    slope_at_zero: float

    def value(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """Loss of each datum."""
        return np.exp(self.log_value(y * f))

    def first(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """Slope of each datum's loss in the output f."""
        return -y * np.exp(self.log_slope(y * f))


def _log_softplus(z: np.ndarray) -> np.ndarray:
    """Log of log(1 + e^{-z}), which is -z - e^{-z}/2 to rounding once z is large."""
    late = z > 20
    return np.where(
        late, -z - 0.5 * np.exp(-np.maximum(z, 20)), np.log(np.logaddexp(0, -np.where(late, 0, z)))
    )


def _log_sigmoid(z: np.ndarray) -> np.ndarray:
    """Log of 1/(1 + e^z), the slope of log(1 + e^{-z}) up to its sign."""
    return -np.logaddexp(0, z)


def _plus_log2(function: Callable[[np.ndarray], np.ndarray], z: np.ndarray) -> np.ndarray:
    return np.log(2) + function(z)


MARGIN_LOSSES = {
    loss.name: loss
    for loss in (
        MarginLoss("exp", np.negative, np.negative, 1.0),
        MarginLoss("logistic", _log_softplus, _log_sigmoid, 0.5),
        MarginLoss("logistic2", partial(_plus_log2, _log_softplus), partial(_plus_log2, _log_sigmoid), 1.0),
    )
}


def margin_loss(name: str) -> MarginLoss:
    """Return a margin loss by name.

    Parameters
    ----------
    name : {"exp", "logistic", "logistic2"}
        e^{-z}, log(1 + e^{-z}), and twice the latter.

    Examples
    --------
    >>> one = np.ones(1)
    >>> margin_loss("logistic").value(one, 0 * one).tolist()
    [0.693147]
    """
    check_choice("loss", name, MARGIN_LOSSES)
    return MARGIN_LOSSES[name]


def gain(loss: str, reduction: str, samples: int) -> float:
    """Speed of the alignment phase: the loss's slope at zero, over n when the loss is a mean.

    Examples
    --------
    >>> gain("logistic", "mean", 10)
    0.05
    """
    check_choice("reduction", reduction, ("sum", "mean"))
    return margin_loss(loss).slope_at_zero / (samples if reduction == "mean" else 1)
