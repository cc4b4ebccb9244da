"""The data-label covariance β: the direction of the first gradient step."""

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from firstlight.data.labelled import labelled
from firstlight.maths.activations import Activation
from firstlight.maths.activations import activation as as_activation
from firstlight.maths.checks import check_columns, check_matrix
from firstlight.maths.refusals import check_choice

_SAME = 1e-3  # relative gap of two integrals that numerical ones of smooth functions stay far below
Loss = Literal["square", "logistic", "softmax"]


def initial_residual(y: ArrayLike, loss: Loss = "square") -> np.ndarray:
    """Minus the derivative of the loss in the output, for a network whose output is still zero.

    Parameters
    ----------
    y : array_like, shape (n,)
        Labels of two or more classes.
    loss : {"square", "logistic", "softmax"}, default "square"
        Of two classes the later one in sorted order counts as +1: square gives y = ±1, logistic y/2. Of more,
        square gives centred one-hot targets. Softmax gives onehot - 1/C for any number of classes.

    Returns
    -------
    ndarray, shape (n,) for two classes with square or logistic loss, else (n, C)

    Examples
    --------
    >>> initial_residual(["cat", "dog", "dog"], "logistic").tolist()
    [-0.5, 0.5, 0.5]
    >>> initial_residual([0, 1, 0, 1], "softmax").tolist()
    [[0.5, -0.5], [-0.5, 0.5], [0.5, -0.5], [-0.5, 0.5]]
    """
    check_choice("loss", loss, ("square", "logistic", "softmax"))
    count = len(y) if isinstance(y, Sequence | np.ndarray) and np.ndim(y) else 1
    data = labelled(np.ones((count or 1, 1)), y, least=2, names=("y", "y"))
    classes = len(data.classes)
    if loss != "softmax" and classes == 2:
        return (2.0 * data.index - 1) * (0.5 if loss == "logistic" else 1.0)
    if loss == "logistic":
        raise ValueError(f"loss = 'logistic': for two classes, but y has {classes}; use 'softmax'")
    hot = np.eye(classes)[data.index]
    return hot - (hot.mean(axis=0) if loss == "square" else 1 / classes)


def label_covariance(
    X: ArrayLike,
    y: ArrayLike | None = None,
    loss: Loss = "square",
    *,
    residual: ArrayLike | None = None,
    activation: str | Activation | None = None,
) -> np.ndarray:
    """Data-label covariance β = Xᵀr/n, along which the first step moves every neuron.

    Parameters
    ----------
    X : array_like, shape (n, d)
        Training samples.
    y : array_like, shape (n,), optional
        Their labels; not needed when `residual` is given.
    loss : {"square", "logistic", "softmax"}, default "square"
        See `initial_residual`.
    residual : array_like, shape (n,) or (n, C), optional
        r, if the network's output at initialisation is not negligible (scale s = 1): then y - g0(x), say.
    activation : str or Activation, optional
        Weigh sample i by c_1(q_i)/c_1(1), c_1(q) = E σ'(√q g), q_i = |x_i|²/d: what the gradient does when
        inputs differ in norm. For a ReLU the weights are one.

    Returns
    -------
    ndarray, shape (d,) for two classes (β), else (d, C) (B, one column per output)
        With unbalanced classes it also holds the mean of all samples: centre them first.

    Examples
    --------
    >>> label_covariance([[1.0, 5.0], [-1.0, 5.0]], [1, -1]).tolist()
    [1.0, 0.0]
    """
    samples = check_matrix("X", X).astype(float)
    if residual is None:
        if y is None:
            raise ValueError("y: needed when residual is not given")
        labelled(samples, y, names=("X", "y"))
        residual = initial_residual(y, loss)
    r = check_columns("residual", residual, len(samples))
    if activation is not None:
        sigma = as_activation(activation)
        norms = np.einsum("ij,ij->i", samples, samples) / samples.shape[1]
        r = r * (slope(sigma, norms) / mean_slope(sigma))[:, None]
    covariance = samples.T @ r / len(samples)
    return covariance[:, 0] if covariance.shape[1] == 1 else covariance


def slope(activation: Activation, q: ArrayLike) -> np.ndarray:
    """c_1(q) = E σ'(√q g).

    Examples
    --------
    >>> slope(as_activation("quadratic"), [1.0, 2.0]).tolist()
    [0.0000, 0.0000]
    """
    variance = np.asarray(q, float)
    root = np.sqrt(np.where(variance > 0, variance, 1.0))
    # E σ'(√q g) = E[σ(√q g) g]/√q, by parts: no derivative is needed, so kinks and jumps are covered
    return np.where(variance > 0, activation.hermite(1, root)[..., 1] / root, activation.derivative(0.0))


def mean_slope(activation: Activation) -> float:
    """c_1 = E σ'(g), or a refusal of an activation whose gradient does not follow it, or has no such part.

    Examples
    --------
    >>> mean_slope(as_activation("relu"))
    0.5000
    """
    value = float(slope(activation, 1.0))
    if abs(value) < 1e-8:
        raise ValueError(f"activation = {activation.name!r}: c_1 = E σ'(g) is 0, so no step goes along β")
    square = max(float(activation.dual_derivative(1.0, 1.0, 0.0)), 0.0)
    if abs(value**2 - square) > _SAME * value**2:
        raise ValueError(
            f"activation = {activation.name!r}: E σ'(g) is {abs(value):.3g} by parts and "
            f"{np.sqrt(square):.3g} by its derivative: it jumps, or has kinks that were not named, as "
            "activation(f, kinks=[...]) does"
        )
    return value
