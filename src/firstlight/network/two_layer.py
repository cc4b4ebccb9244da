"""The two-layer network f(x) = s wᵀσ(F x), its gradient in the first layer, and the ridge read-out."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import linalg
from scipy.linalg import blas

from firstlight.maths.activations import Activation
from firstlight.maths.losses import slope
from firstlight.maths.workers import blocks

Each = Callable[[Callable[[Any], Any], Iterable[Any]], Iterable[Any]]


@dataclass(frozen=True, eq=False)
class TwoLayer:
    """A network with one hidden layer: f(x) = s wᵀ σ(F x).

    Parameters
    ----------
    first_layer : ndarray, shape (k, n)
        F, one row per neuron.
    second_layer : ndarray, shape (k,) or (k, outputs)
        w.
    activation : Activation
        σ.
    output_scale : float, optional
        s; default k^(-1/2).
    loss : {"square", "logistic", "softmax"}, default "square"
        What steps descend, averaged over samples: half the squared error, log(1 + exp(-y f)) for y = ±1, or
        cross-entropy of one-hot y.

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
    loss: str = "square"

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
    def scale(self) -> float:
        """The scale s."""
        return 1 / np.sqrt(len(self.second_layer)) if self.output_scale is None else self.output_scale

    @property
    def head(self) -> np.ndarray:
        """The second layer with its scale, s w."""
        if self.output_scale is None:
            return self.second_layer / np.sqrt(len(self.second_layer))
        return self.output_scale * self.second_layer

    def hidden(self, x: np.ndarray) -> np.ndarray:
        """Return σ(F x) at the rows of x, shape (count, k)."""
        return self.activation(x @ self.first_layer.T)

    def __call__(self, x: np.ndarray) -> np.ndarray:
        """Return f at the rows of x, shape (count,) or (count, outputs)."""
        return self.hidden(x) @ self.head

    def residual(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return minus the derivative of each sample's loss in the outputs; y is shaped like them."""
        return -slope(self.loss, y, self(x))

    def descent_direction(
        self, x: np.ndarray, y: np.ndarray, factor: float = 1.0, each: Each = map
    ) -> np.ndarray:
        """Return `factor` times minus the gradient in F of the mean loss on (x, y): (k, n).

        `each(job, blocks)` runs a job on blocks of samples: `map`, or a pool's.
        """
        outer = self.head
        pull = np.empty((len(x), len(self.first_layer)))

        def turn(block: slice) -> None:
            mine, target = pull[block], y[block]
            np.matmul(x[block], self.first_layer.T, out=mine)
            for rows in chunks(mine):
                down = -slope(self.loss, target[rows], self.activation(mine[rows]) @ outer)
                down *= factor / len(y)
                share = down[:, None] * outer if outer.ndim == 1 else down @ outer.T
                np.multiply(self.activation.derivative(mine[rows]), share, out=mine[rows])

        list(each(turn, blocks(len(x))))
        gradient = np.empty(self.first_layer.shape)
        list(each(lambda rows: np.matmul(pull.T[rows], x, out=gradient[rows]), blocks(len(gradient))))
        return gradient

    def step(self, x: np.ndarray, y: np.ndarray, step_size: float, each: Each = map) -> "TwoLayer":
        """Return the network after one gradient step of the first layer: F + step_size · G."""
        moved = self.descent_direction(x, y, step_size, each)
        moved += self.first_layer
        return replace(self, first_layer=moved)

    def sgd(self, x: np.ndarray, y: np.ndarray, step_size: float) -> "TwoLayer":
        """Return the network after one gradient step of both layers."""
        second = self.hidden(x).T @ self.residual(x, y) * (step_size * self.scale / len(x))
        return replace(self.step(x, y, step_size), second_layer=self.second_layer + second)


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
    filtered = size / (size**2 + m * ridges[:, None])
    inside = left.T @ y
    return np.stack([right.T @ (f * inside.T).T for f in filtered])
