"""The two-layer network f(x) = c + s wᵀσ(F x + b) that every experiment trains, and the ridge read-out."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from operator import add, mul
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg
from scipy.linalg import blas

from firstlight.maths.activations import Activation
from firstlight.maths.losses import LOSSES, Differentiable
from firstlight.maths.workers import blocks

Each = Callable[[Callable[[Any], Any], Iterable[Any]], Iterable[Any]]


class Parameters(NamedTuple):
    """What training may move, or the change of it: arrays shaped like those of the network, or numbers."""

    first_layer: Any
    second_layer: Any
    bias: Any
    offset: Any

    def times(self, *factors: float) -> "Parameters":
        """Return each of them times its factor."""
        return Parameters(*map(mul, factors, self))

    def plus(self, other: "Parameters") -> "Parameters":
        """Return the sums with others."""
        return Parameters(*map(add, self, other))


@dataclass(frozen=True, eq=False)
class TwoLayer:
    """A network with one hidden layer: f(x) = c + s wᵀ σ(F x + b), and what its training descends.

    Several networks that are trained side by side on the same data have leading axes in all parameters.

    Parameters
    ----------
    first_layer : ndarray, shape (..., k, n)
        F, one row per neuron.
    second_layer : ndarray, shape (..., k), or (k, outputs)
        w.
    activation : Activation
        σ.
    output_scale : float, optional
        s; default k^(-1/2).
    loss : Differentiable
        What steps descend, averaged over samples; default half the squared error.
    bias, offset : ndarray of shapes (..., k) and (...), or float, default 0
        b and c.
    ridge : float, default 0
        λ of the penalty (λ/2) Σ F_ij², descended too.

    Examples
    --------
    >>> from firstlight.maths.activations import activation
    >>> network = TwoLayer(np.array([[1.0, 0.0]]), np.array([2.0]), activation("relu"))
    >>> network(np.array([[3.0, 1.0], [-3.0, 1.0]])).tolist()
    [6.0, 0.0]
    """

    first_layer: np.ndarray
    second_layer: np.ndarray
    activation: Activation
    output_scale: float | None = None
    loss: Differentiable = LOSSES["square"]
    bias: np.ndarray | float = 0.0
    offset: np.ndarray | float = 0.0
    ridge: float = 0.0

    @classmethod
    def draw(
        cls,
        width: int,
        dimension: int,
        variance: float,
        activation: Activation,
        rng: np.random.Generator,
        outputs: tuple[int, ...] = (),
    ) -> "TwoLayer":
        """Draw F_ij ~ N(0, variance) and w_i ~ N(0, 1/width), of shape (width, *outputs)."""
        first = rng.standard_normal((width, dimension))
        first *= np.sqrt(variance)
        return cls(first, rng.standard_normal((width, *outputs)) / np.sqrt(width), activation)

    @property
    def parameters(self) -> Parameters:
        """All that training may move."""
        return Parameters(self.first_layer, self.second_layer, self.bias, self.offset)

    @property
    def scale(self) -> float:
        """The scale s."""
        return 1 / np.sqrt(self.first_layer.shape[-2]) if self.output_scale is None else self.output_scale

    @property
    def head(self) -> np.ndarray:
        """The second layer with its scale, s w."""
        if self.output_scale is None:
            return self.second_layer / np.sqrt(self.first_layer.shape[-2])
        return self.output_scale * self.second_layer

    def hidden(self, x: np.ndarray) -> np.ndarray:
        """Return σ(F x + b) at the rows of x, shape (count, ..., k)."""
        return self.activation(self._inner(x))

    def __call__(self, x: np.ndarray) -> np.ndarray:
        """Return f at the rows of x, shape (count, ...) or (count, outputs)."""
        return np.concatenate([self._output(self.hidden(x[rows])) for rows in _cached(x)])

    def residual(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return minus the derivative of each sample's loss in the outputs; y is shaped like them."""
        return -self.loss.first(y, self(x))

    def moved(self, change: Parameters) -> "TwoLayer":
        """Return the network with a change added to its parameters."""
        return replace(self, **self.parameters.plus(change)._asdict())

    def gradient(
        self, x: np.ndarray, y: np.ndarray, second: bool = True, bias: bool = True, offset: bool = True
    ) -> Parameters:
        """Return the gradient of the mean loss on (x, y), with the penalty, in the parameters asked for.

        Each block of rows is used twice while it is in the cache: one pass over x, which is what the time of
        a narrow network goes into. What is not asked for is 0.
        """
        total = None
        for rows in _cached(x):
            force, hidden, pull = self._force(self._inner(x[rows]), y[rows], 1 / len(y))
            part = Parameters(
                (force.reshape(len(force), -1).T @ x[rows]).reshape(self.first_layer.shape),
                self._pulled(hidden, pull) if second else 0.0,
                force.sum(axis=0) if bias else 0.0,
                pull.sum(axis=0) if offset else 0.0,
            )
            total = part if total is None else total.plus(part)
        assert total is not None
        if self.ridge:
            total = total._replace(first_layer=total.first_layer + self.ridge * self.first_layer)
        return total

    def descent_direction(
        self, x: np.ndarray, y: np.ndarray, factor: float = 1.0, each: Each = map
    ) -> np.ndarray:
        """Return `factor` times minus the gradient in F, with the penalty, of a wide network: (k, n).

        `each(job, blocks)` runs a job on blocks of samples, and then of neurons: `map`, or a pool's.
        """
        force = np.empty((len(x), len(self.first_layer)))

        def push(block: slice) -> None:
            mine, labels = force[block], y[block]
            np.matmul(x[block], self.first_layer.T, out=mine)
            for rows in chunks(mine):
                mine[rows] = self._force(mine[rows] + self.bias, labels[rows], -factor / len(y))[0]

        list(each(push, blocks(len(x))))
        gradient = np.empty(self.first_layer.shape)
        list(each(lambda rows: np.matmul(force.T[rows], x, out=gradient[rows]), blocks(len(gradient))))
        if self.ridge:
            gradient -= factor * self.ridge * self.first_layer
        return gradient

    def step(self, x: np.ndarray, y: np.ndarray, step_size: float, each: Each = map) -> "TwoLayer":
        """Return the network after one gradient step of the first layer: F + step_size · G."""
        moved = self.descent_direction(x, y, step_size, each)
        moved += self.first_layer
        return replace(self, first_layer=moved)

    def sgd(self, x: np.ndarray, y: np.ndarray, step_size: float) -> "TwoLayer":
        """Return the network after one gradient step of both layers."""
        return self.moved(self.gradient(x, y).times(-step_size, -step_size, 0.0, 0.0))

    def _inner(self, x: np.ndarray) -> np.ndarray:
        """Return F x + b."""
        first = self.first_layer
        if first.ndim == 2:
            return x @ first.T + self.bias
        return (x @ first.reshape(-1, x.shape[1]).T).reshape(len(x), *first.shape[:-1]) + self.bias

    def _output(self, hidden: np.ndarray) -> np.ndarray:
        return (hidden @ self.head if hidden.ndim == 2 else (hidden * self.head).sum(axis=-1)) + self.offset

    def _force(
        self, inner: np.ndarray, y: np.ndarray, weight: float
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return `weight` times the derivative of each sample's loss in F x + b; σ(F x + b); that in f."""
        hidden, head = self.activation(inner), self.head
        f = self._output(hidden)
        several = self.first_layer.ndim > 2 and y.ndim == 1  # networks have the same labels
        labels = y.reshape(-1, *(1,) * (f.ndim - 1)) if several else y
        pull = self.loss.first(labels, f) * weight
        shared = pull @ head.T if head.ndim == self.first_layer.ndim else pull[..., None] * head
        return self.activation.derivative(inner) * shared, hidden, pull

    def _pulled(self, hidden: np.ndarray, pull: np.ndarray) -> np.ndarray:
        """Return the gradient in w."""
        return self.scale * (hidden.T @ pull if hidden.ndim == 2 else (pull[..., None] * hidden).sum(axis=0))


def _cached(x: np.ndarray) -> list[slice]:
    """Cut the rows of x into blocks of about 1 MB."""
    rows = max(8, (1 << 17) // x.shape[1])
    return [slice(first, first + rows) for first in range(0, max(len(x), 1), rows)]


def features(
    x: np.ndarray, first_layer: np.ndarray, activation: Activation, out: np.ndarray | None = None
) -> np.ndarray:
    """Return φ(x) = σ(F x)/√k for the rows of x, shape (count, k), in `out` if given.

    Examples
    --------
    >>> from firstlight.maths.activations import activation
    >>> features(np.eye(2), np.eye(2), activation("linear")).tolist()
    [[0.707107, 0.0000], [0.0000, 0.707107]]
    """
    values = np.matmul(x, first_layer.T, out=out)
    for rows in chunks(values):
        np.multiply(activation(values[rows]), 1 / np.sqrt(len(first_layer)), out=values[rows])
    return values


def chunks(matrix: np.ndarray) -> list[slice]:
    """Rows that fit the cache together: element-wise work on a whole matrix would wait for memory."""
    step = max(1, 32_768 // matrix.shape[1])
    return [slice(start, start + step) for start in range(0, len(matrix), step)]


def ridge_readout(phi: np.ndarray, y: np.ndarray, ridges: np.ndarray) -> np.ndarray:
    """Minimise (1/2m) |y - Φ w|² + (λ/2) |w|² for every λ, with one factorisation.

    Parameters
    ----------
    phi : ndarray, shape (m, k)
        Φ, the features of the training samples.
    y : ndarray, shape (m,) or (m, outputs)
        Labels.
    ridges : ndarray, shape (L,)
        λ, each at least 0; zero means the solution of least norm.

    Returns
    -------
    ndarray, shape (L, k) or (L, k, outputs)
        The read-out weights.

    Examples
    --------
    >>> ridge_readout(np.eye(2), np.array([1.0, 2.0]), np.array([0.0, 0.5])).tolist()
    [[1.0, 2.0], [0.5, 1.0]]
    """
    m, k = phi.shape
    # a Gram matrix squares the condition number; a vanishing ridge cannot afford that
    smallest = np.sqrt(np.finfo(float).eps) * np.vdot(phi, phi) / m
    if ridges.size == 1 and ridges[0] > smallest:
        dual = k > m
        gram = blas.dsyrk(1.0, phi.T, trans=dual, lower=True)  # a triangle of ΦᵀΦ, or of ΦΦᵀ
        gram[np.diag_indices_from(gram)] += ridges[0] * m
        factor = linalg.cho_factor(gram, lower=True, overwrite_a=True, check_finite=False)
        solution = linalg.cho_solve(factor, y if dual else phi.T @ y, check_finite=False)
        return (phi.T @ solution if dual else solution)[None, :]
    left, size, right = linalg.svd(phi, full_matrices=False, check_finite=False)
    kept = size > np.finfo(float).eps * max(m, k) * size[0]
    left, size, right = left[:, kept], size[kept], right[kept]
    with np.errstate(over="ignore"):  # 1/inf is 0, while a square of large features would lose them
        filtered = 1 / (size + m * ridges[:, None] / size)
    inside = left.T @ y
    return np.stack([right.T @ (f * inside.T).T for f in filtered])
