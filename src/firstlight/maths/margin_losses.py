"""Losses of the margin alone, as logarithms too, so that they can be followed to very late times."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from firstlight.maths.equality import ByValue


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
    """

    name: str
    log_value: Callable[[np.ndarray], np.ndarray]
    log_slope: Callable[[np.ndarray], np.ndarray]

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
        MarginLoss("exp", np.negative, np.negative),
        MarginLoss("logistic", _log_softplus, _log_sigmoid),
        MarginLoss("logistic2", partial(_plus_log2, _log_softplus), partial(_plus_log2, _log_sigmoid)),
    )
}


def margin_loss(name: str) -> MarginLoss:
    """Return a margin loss by name.

    Parameters
    ----------
    name : {"exp", "logistic", "logistic2"}
        e^{-z}, log(1 + e^{-z}), and twice the latter.

    Returns
    -------
    MarginLoss

    Examples
    --------
    >>> one = np.ones(1)
    >>> margin_loss("logistic").value(one, 0 * one).tolist()
    [0.693147]
    """
    if name not in MARGIN_LOSSES:
        raise ValueError(f"loss = {name!r}: must be one of {', '.join(map(repr, MARGIN_LOSSES))}")
    return MARGIN_LOSSES[name]
