"""The built-in activations."""

from collections.abc import Callable
from functools import partial

import numpy as np
from scipy.special import erf, expit, ndtr

from firstlight.maths.activations import duals, mixtures
from firstlight.maths.activations.activation import Activation, Function, Three


def _relu(z: np.ndarray) -> np.ndarray:
    return np.maximum(z, 0.0)


def _step(z: np.ndarray) -> np.ndarray:
    return (z > 0).astype(float)


def _constant(value: float, z: np.ndarray) -> np.ndarray:
    return np.full_like(z, value)


def _phi(z: np.ndarray) -> np.ndarray:
    return np.exp(-0.5 * z * z) / np.sqrt(2 * np.pi)


def _sech2(z: np.ndarray) -> np.ndarray:
    decay = np.exp(-2 * np.abs(z))  # 1 - tanh² would lose all digits in the tails
    return 4 * decay / (1 + decay) ** 2


def _tanh_together(z: np.ndarray) -> Three:
    t, s = np.tanh(z), _sech2(z)
    return t, s, -2 * t * s


def _tanh_squared_together(z: np.ndarray) -> Three:
    t, s = np.tanh(z), _sech2(z)
    return t**2, 2 * t * s, 2 * s * (1 - 3 * t**2)


def _sigmoid_slope(z: np.ndarray) -> np.ndarray:
    return expit(z) * expit(-z)


_ZERO, _ONE, _TWO = (partial(_constant, value) for value in (0.0, 1.0, 2.0))
_LEAK = 0.01  # the slope on the left that every deep-learning library has as its default
_SHIFT = 1 / np.sqrt(2 * np.pi)
_ARCCOS, _ARCSIN = ("cho2009kernel",), ("williams1997computing",)
_GELU, _MIXTURE = ("tsuchida2021avoiding",), ("stefanski1991normal",)


def _mixture(
    name: str, function: Function, first: Function, second: Function, dual: duals.Dual, slope: duals.Dual,
    together: Callable[[np.ndarray], Three] | None = None,
) -> Activation:  # fmt: skip
    """Return an activation whose duals are sums of closed forms."""
    return Activation(name, function, first, second, (), None, None, _MIXTURE, dual, slope, together)


BUILT_IN = {
    a.name: a
    for a in (
        Activation("linear", lambda z: z + 0.0, _ONE, _ZERO, (), duals.linear, duals.one),
        Activation("relu", _relu, _step, _ZERO, (0.0,), duals.relu, duals.step, _ARCCOS),
        Activation(
            "leaky_relu", lambda z: np.where(z > 0, z, _LEAK * z), lambda z: np.where(z > 0, 1.0, _LEAK),
            _ZERO, (0.0,), duals.leaky_relu(_LEAK), duals.leaky_step(_LEAK), _ARCCOS,
        ),
        Activation(
            "shifted_relu", lambda z: _relu(z) - _SHIFT, _step, _ZERO,
            (0.0,), duals.shifted_relu, duals.step, _ARCCOS,
        ),
        _mixture(
            "tanh", np.tanh, _sech2, lambda z: _tanh_together(z)[2],
            mixtures.TANH, mixtures.TANH_SLOPE, _tanh_together,
        ),
        Activation(
            "erf", erf, lambda z: 2 / np.sqrt(np.pi) * np.exp(-z * z),
            lambda z: -4 / np.sqrt(np.pi) * z * np.exp(-z * z), (), duals.erf, duals.erf_slope, _ARCSIN,
        ),
        _mixture(
            "sigmoid", expit, _sigmoid_slope, lambda z: -np.tanh(z / 2) * _sigmoid_slope(z),
            mixtures.LOGISTIC, mixtures.LOGISTIC_SLOPE,
        ),
        _mixture(
            "softplus", lambda z: np.logaddexp(0.0, z), expit, _sigmoid_slope,
            mixtures.SOFTPLUS, mixtures.LOGISTIC,
        ),
        Activation(
            "gelu", lambda z: z * ndtr(z), lambda z: ndtr(z) + z * _phi(z), lambda z: (2 - z * z) * _phi(z),
            (), mixtures.gelu, mixtures.gelu_slope, _GELU,
        ),
        _mixture(
            "silu", lambda z: z * expit(z), lambda z: expit(z) + z * _sigmoid_slope(z),
            lambda z: _sigmoid_slope(z) * (2 - z * np.tanh(z / 2)),
            mixtures.SILU, mixtures.SILU_SLOPE,
        ),
        Activation("sin", np.sin, np.cos, lambda z: -np.sin(z), (), duals.sin, duals.cos),
        Activation("cos", np.cos, lambda z: -np.sin(z), lambda z: -np.cos(z), (), duals.cos, duals.sin),
        Activation("step", _step, _ZERO, _ZERO, (0.0,), duals.step, duals.zero, _ARCCOS),
        Activation("quadratic", np.square, lambda z: 2 * z, _TWO, (), duals.quadratic, lambda q, p, c: 4 * c),
        _mixture(
            "tanh_squared", lambda z: np.tanh(z) ** 2, lambda z: _tanh_squared_together(z)[1],
            lambda z: _tanh_squared_together(z)[2],
            mixtures.tanh_squared, mixtures.TANH_BEND, _tanh_squared_together,
        ),
        Activation(
            "He_2", lambda z: z**2 - 1, lambda z: 2 * z, _TWO, (), duals.hermite(2), duals.hermite(1, 2.0)
        ),
        Activation(
            "He_3", lambda z: z**3 - 3 * z, lambda z: 3 * (z**2 - 1), lambda z: 6 * z,
            (), duals.hermite(3), duals.hermite(2, 3.0),
        ),
        Activation(
            "He_4", lambda z: z**4 - 6 * z**2 + 3, lambda z: 4 * (z**3 - 3 * z), lambda z: 12 * (z**2 - 1),
            (), duals.hermite(4), duals.hermite(3, 4.0),
        ),
    )
}  # fmt: skip
