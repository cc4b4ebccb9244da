"""Losses l(y, f) of a label and a network's output, with two derivatives in the output."""

from collections.abc import Callable
from dataclasses import dataclass
from difflib import get_close_matches

import numpy as np
from scipy.special import expit

from firstlight.maths.equality import ByValue
from firstlight.maths.refusals import check_choice, check_instance, refusal, shown

Pairwise = Callable[[np.ndarray, np.ndarray], np.ndarray]


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


GAINS = {"exp": 1.0, "logistic": 0.5, "logistic2": 1.0}  # slopes at zero of the losses of a margin


def loss(name: "str | Loss") -> Loss:
    """Return the loss of that name; a `Loss` of one's own is passed through.

    Parameters
    ----------
    name : {"square", "logistic"} or Loss
        ``square`` is (f - y)²/2; ``logistic`` is log(1 + exp(-y f)), for labels ±1.

    Returns
    -------
    Loss

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


def gain(loss: str, reduction: str, samples: int) -> float:
    """Speed of the alignment phase: the loss's slope at zero, over n when the loss is a mean.

    Examples
    --------
    >>> gain("logistic", "mean", 10)
    0.05
    """
    check_choice("loss", loss, GAINS)
    check_choice("reduction", reduction, ("sum", "mean"))
    return GAINS[loss] / (samples if reduction == "mean" else 1)
