"""The network as it is trained: all its parameters, and the gradient of the mean loss in each."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from firstlight.maths.activations import Activation
from firstlight.maths.losses import Loss


class Parameters(NamedTuple):
    """Everything that training may move.

    Attributes
    ----------
    rows : ndarray of shape (d, m)
        W, the first layer.
    second_layer, bias : ndarray of shape (m,)
        a, and the first layer's biases.
    offset : float
        Added to the output.
    """

    rows: np.ndarray
    second_layer: np.ndarray
    bias: np.ndarray
    offset: float

    def plus(self, factors: tuple[float, ...], other: "Parameters") -> "Parameters":
        """Return these plus factors, one for each, times others."""
        parts: Any = zip(self, factors, other, strict=True)
        moved: Any = (x + c * y for x, c, y in parts)
        return Parameters(*moved)

    def times(self, factor: float) -> "Parameters":
        """Return all of them times a factor."""
        scaled: Any = (factor * x for x in self)
        return Parameters(*scaled)


@dataclass(frozen=True)
class Network:
    """f(x) = offset + Σ_j a_j σ(w_j·x + bias_j), with its loss and ridge penalty.

    Attributes
    ----------
    activation : Activation
        σ.
    second_layer : ndarray of shape (m,)
        a at the start.
    loss : Loss
        l(y, f).
    ridge : float
        λ of the penalty λ/2 Σ_j |w_j|².
    offset : float
        Added to the output, at the start.
    """

    activation: Activation
    second_layer: np.ndarray
    loss: Loss
    ridge: float = 0.0
    offset: float = 0.0

    def start(self, W: np.ndarray) -> Parameters:
        """Return the parameters at the start, with the first layer W and no biases."""
        a = np.asarray(self.second_layer, float)
        return Parameters(W, a, np.zeros(len(a)), float(self.offset))

    def output(self, X: np.ndarray, at: Parameters) -> np.ndarray:
        """f(x) of each row of X."""
        h = np.concatenate([X[part] @ at.rows for part in _blocks(X)])
        return at.offset + self.activation(h + at.bias) @ at.second_layer

    def gradient(self, X: np.ndarray, y: np.ndarray, at: Parameters) -> Parameters:
        """Return the gradient of the mean loss plus penalty in each of the parameters."""
        rows, head = np.zeros(at.rows.shape[::-1]), np.zeros_like(at.second_layer)
        bias, offset = np.zeros_like(at.bias), 0.0
        for part in _blocks(X):  # each block of rows is used twice while in the cache: one pass over X
            h = X[part] @ at.rows + at.bias
            hidden = self.activation(h)
            slope = self.loss.first(y[part], at.offset + hidden @ at.second_layer)
            force = slope[:, None] * (at.second_layer * self.activation.derivative(h))
            rows += force.T @ X[part]
            head += slope @ hidden
            bias += force.sum(axis=0)
            offset += float(slope.sum())
        n = len(y)
        return Parameters(rows.T / n + self.ridge * at.rows, head / n, bias / n, offset / n)


def _blocks(X: np.ndarray) -> list[slice]:
    """Cut the rows of X into blocks of about 1 MB."""
    rows = max(8, (1 << 17) // X.shape[1])
    return [slice(first, first + rows) for first in range(0, len(X), rows)]
