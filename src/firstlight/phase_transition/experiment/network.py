"""The network as it is trained: all its parameters, and the gradient of the mean loss in each.

Neurons are columns here and rows in `network.TwoLayer`: several starts (d, ..., m) are trained side by
side, in one product with the data and without a copy, and biases, offset and penalty are parameters too.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from firstlight.maths.activations import Activation
from firstlight.maths.losses import Loss


class Parameters(NamedTuple):
    """Everything that training may move, of one network or of several on the same data, side by side.

    Attributes
    ----------
    rows : ndarray of shape (d, ..., m)
        W, the first layer.
    second_layer, bias : ndarray of shape (..., m)
        a, and the first layer's biases.
    offset : ndarray of shape (...)
        Added to the output.
    """

    rows: np.ndarray
    second_layer: np.ndarray
    bias: np.ndarray
    offset: np.ndarray

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
        shape = W.shape[1:]
        a = np.broadcast_to(np.asarray(self.second_layer, float), shape)
        return Parameters(W, a, np.zeros(shape), np.full(shape[:-1], float(self.offset)))

    def output(self, X: np.ndarray, at: Parameters) -> np.ndarray:
        """f(x) of each row of X, shape (n, ...)."""
        return np.concatenate([self._hidden(X[part], at)[2] for part in _blocks(X)])

    def _hidden(self, X: np.ndarray, at: Parameters) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return pre-activations, hidden units and outputs."""
        h = (X @ at.rows.reshape(len(at.rows), -1)).reshape(len(X), *at.bias.shape) + at.bias
        hidden = self.activation(h)
        return h, hidden, at.offset + (hidden * at.second_layer).sum(axis=-1)

    def gradient(self, X: np.ndarray, y: np.ndarray, at: Parameters) -> Parameters:
        """Return the gradient of the mean loss plus penalty in each of the parameters."""
        total = at.times(0.0)
        ones, n = (1.0,) * len(at), len(y)
        for part in _blocks(X):  # each block of rows is used twice while in the cache: one pass over X
            h, hidden, f = self._hidden(X[part], at)
            labels = y[part].reshape(-1, *(1,) * (f.ndim - 1))
            slope = self.loss.first(labels, f) / n
            force = slope[..., None] * (at.second_layer * self.activation.derivative(h))
            rows = (X[part].T @ force.reshape(len(force), -1)).reshape(at.rows.shape)
            head = (slope[..., None] * hidden).sum(axis=0)
            total = total.plus(ones, Parameters(rows, head, force.sum(axis=0), slope.sum(axis=0)))
        return total.plus((self.ridge, 0.0, 0.0, 0.0), at)


def _blocks(X: np.ndarray) -> list[slice]:
    """Cut the rows of X into blocks of about 1 MB."""
    rows = max(8, (1 << 17) // X.shape[1])
    return [slice(first, first + rows) for first in range(0, len(X), rows)]
