"""How the networks of `unseen_classes` start."""

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from firstlight.maths.activations import Activation
from firstlight.maths.losses import LOSSES, Softmax
from firstlight.network.two_layer import TwoLayer

Loss = Literal["square", "logistic", "softmax"]
Head = Literal["gaussian", "rademacher"] | ArrayLike


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
) -> TwoLayer:
    """Draw the network g(x) = s aᵀσ(Wᵀx) at initialisation; the rows of its first layer are the columns of W.

    Parameters
    ----------
    dimension, width : int
        d and N.
    outputs : int, default 1
        With one output the heads are a vector.
    head : {"gaussian", "rademacher"} or array_like of shape (N,) or (N, outputs)
        a_j ~ N(0, 1/N), a_j = ±1/√N, or given.
    head_scale : float, optional
        s; default 1/√N.
    start : {"sphere", "normal"}, default "sphere"
        Columns of W uniform on the unit sphere, or N(0, I/d).
    loss : {"square", "logistic", "softmax"}, default "square"

    Examples
    --------
    >>> from firstlight.maths.activations import activation
    >>> network = draw_network(3, 5, activation("relu"), np.random.default_rng(0))
    >>> np.linalg.norm(network.first_layer, axis=1).tolist()
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
    descended = Softmax() if loss == "softmax" else LOSSES[loss]
    return TwoLayer(weights.T, heads, activation, head_scale, descended)
