"""The two-layer network g(x) = s aᵀσ(Wᵀx) of `unseen_classes`: its steps and its features."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit, softmax

from firstlight.maths.activations import Activation

Loss = Literal["square", "logistic", "softmax"]
Head = Literal["gaussian", "rademacher"] | ArrayLike


@dataclass(frozen=True, eq=False)
class FeatureNetwork:
    """A network whose hidden features are looked at: F(x) = σ(Wᵀx), outputs s F(x) a.

    Parameters
    ----------
    weights : ndarray, shape (d, N)
        W, one column per neuron.
    heads : ndarray, shape (N,) or (N, C)
        a, of one output or of several.
    head_scale : float
        s.
    activation : Activation
        σ.
    loss : {"square", "logistic", "softmax"}, default "square"
        Averaged over samples: half the squared error, log(1 + exp(-y g)) for y = ±1, or cross-entropy.

    Examples
    --------
    >>> from firstlight.maths.activations import activation
    >>> network = FeatureNetwork(np.eye(2), np.array([1.0, -1.0]), 0.5, activation("relu"))
    >>> network(np.array([[3.0, 1.0]])).tolist()
    [1.0]
    """

    weights: np.ndarray
    heads: np.ndarray
    head_scale: float
    activation: Activation
    loss: Loss = "square"

    def features(self, x: np.ndarray) -> np.ndarray:
        """F at the rows of x, shape (n, N)."""
        return self.activation(x @ self.weights)

    def __call__(self, x: np.ndarray) -> np.ndarray:
        """Return the outputs at the rows of x, shape (n,) or (n, C)."""
        return self.head_scale * (self.features(x) @ self.heads)

    def residual(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return minus the derivative of each sample's loss in the outputs; y is shaped like them."""
        return self._pull(self(x), y)

    def _pull(self, output: np.ndarray, y: np.ndarray) -> np.ndarray:
        if self.loss == "square":
            return y - output
        if self.loss == "logistic":
            return y * expit(-y * output)
        return y - softmax(output, axis=1)

    def descent_direction(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return minus the gradient of the mean loss in W, shape (d, N)."""
        return self._gradients(x, y)[0]

    def step(self, x: np.ndarray, y: np.ndarray, step_size: float, count: int = 1) -> "FeatureNetwork":
        """Return the network after gradient steps of the first layer alone, on all of (x, y)."""
        network = self
        for _ in range(count):
            moved = network.weights + step_size * network.descent_direction(x, y)
            network = network._with(moved, network.heads)
        return network

    def sgd(self, x: np.ndarray, y: np.ndarray, step_size: float) -> "FeatureNetwork":
        """Return the network after one gradient step of both layers."""
        first, second = self._gradients(x, y)
        return self._with(self.weights + step_size * first, self.heads + step_size * second)

    def _with(self, weights: np.ndarray, heads: np.ndarray) -> "FeatureNetwork":
        return FeatureNetwork(weights, heads, self.head_scale, self.activation, self.loss)

    def _gradients(self, x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Minus the gradients of the mean loss in both layers."""
        before = x @ self.weights
        features = self.activation(before)
        pull = self._pull(self.head_scale * (features @ self.heads), y) * (self.head_scale / len(x))
        second = features.T @ pull
        back = pull @ self.heads.T if pull.ndim == 2 else np.outer(pull, self.heads)
        back *= self.activation.derivative(before)
        return x.T @ back, second


def draw_network(
    dimension: int,
    width: int,
    activation: Activation,
    rng: np.random.Generator,
    *,
    outputs: int = 1,
    head: Head = "gaussian",
    head_scale: float | None = None,
    start: Literal["sphere", "normal"] = "sphere",
    loss: Loss = "square",
) -> FeatureNetwork:
    """Draw a network at initialisation.

    Parameters
    ----------
    dimension, width : int
        d and N.
    activation : Activation
    rng : numpy.random.Generator
    outputs : int, default 1
        With one output the heads are a vector.
    head : {"gaussian", "rademacher"} or array_like of shape (N,) or (N, outputs)
        a_j ~ N(0, 1/N), a_j = ±1/√N, or given.
    head_scale : float, optional
        s; default 1/√N.
    start : {"sphere", "normal"}, default "sphere"
        Columns of W uniform on the unit sphere, or N(0, I/d).
    loss : {"square", "logistic", "softmax"}, default "square"

    Returns
    -------
    FeatureNetwork

    Examples
    --------
    >>> from firstlight.maths.activations import activation
    >>> network = draw_network(3, 5, activation("relu"), np.random.default_rng(0))
    >>> np.linalg.norm(network.weights, axis=0).tolist()
    [1.0000, 1.0000, 1.0000, 1.0000, 1.0000]
    """
    weights = rng.standard_normal((dimension, width))
    weights /= np.linalg.norm(weights, axis=0) if start == "sphere" else np.sqrt(dimension)
    shape = (width,) if outputs == 1 else (width, outputs)
    if isinstance(head, str):
        heads = rng.standard_normal(shape) if head == "gaussian" else rng.choice([-1.0, 1.0], shape)
        heads /= np.sqrt(width)
    else:
        heads = np.asarray(head, float)
        if heads.shape != shape or not np.isfinite(heads).all():
            raise ValueError(f"head: shape {heads.shape}; given heads must be finite, of shape {shape}")
    return FeatureNetwork(
        weights, heads, 1 / np.sqrt(width) if head_scale is None else head_scale, activation, loss
    )
