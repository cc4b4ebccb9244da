"""Stand-ins for the features σ(F x)/√k of a network: the Hermite model and the conditional Gaussian model.

Each is called as ``model(x, classes, rng, out)`` on rows of inputs and their classes, like the network's own
features, and draws what noise it needs from `rng`.
"""

from dataclasses import dataclass
from math import factorial

import numpy as np

from firstlight.maths.activations import Activation
from firstlight.maths.feature_moments import Tabulated
from firstlight.maths.hermite import hermite_values
from firstlight.network.two_layer import features

_COARSE = 1e-2  # error of tabulated moments, of their root mean square, beyond which a stand-in is refused


@dataclass(frozen=True, eq=False)
class NetworkFeatures:
    """The network itself: σ(F x)/√k.

    Examples
    --------
    >>> from firstlight.maths.activations import activation
    >>> NetworkFeatures(np.eye(1), activation("relu"))(np.array([[2.0]]), None, None).tolist()
    [[2.0]]
    """

    first_layer: np.ndarray
    activation: Activation

    def __call__(
        self, x: np.ndarray, classes: np.ndarray, rng: np.random.Generator, out: np.ndarray | None = None
    ) -> np.ndarray:
        """Return the features of the rows of x, in `out` if given."""
        return features(x, self.first_layer, self.activation, out)


@dataclass(frozen=True, eq=False)
class HermiteFeatures:
    """σ cut after a few Hermite terms, the rest replaced by noise of the same variance.

    σ_l(u) = Σ_{j<l} (h_j/j!) He_j(u/b) + h*_l z with h_j = E[σ(b z) He_j(z)] and z fresh for each sample and
    neuron (Demir and Dogan, 2025).

    Parameters
    ----------
    first_layer : ndarray, shape (k, n)
        F after the step.
    activation : Activation
        σ.
    scale : float
        b, the standard deviation of a pre-activation without its spikes.
    degree : int
        l - 1, the highest degree kept.

    Examples
    --------
    >>> from firstlight.maths.activations import activation
    >>> linear = HermiteFeatures(np.eye(1), activation("linear"), 1.0, 1)
    >>> linear(np.array([[2.0]]), None, np.random.default_rng(0)).tolist()
    [[2.0000]]
    """

    first_layer: np.ndarray
    activation: Activation
    scale: float
    degree: int

    def __call__(
        self, x: np.ndarray, classes: np.ndarray, rng: np.random.Generator, out: np.ndarray | None = None
    ) -> np.ndarray:
        """Return the features of the rows of x, in `out` if given."""
        coefficients = self.activation.hermite(self.degree, self.scale)
        factorials = np.array([factorial(j) for j in range(self.degree + 1)], dtype=float)
        left = float(self.activation.second_moment(self.scale) - (coefficients**2 / factorials).sum())
        u = x @ self.first_layer.T
        u /= self.scale
        values = rng.standard_normal(u.shape, out=out)
        values *= np.sqrt(max(left, 0.0))
        for weight, polynomial in zip(coefficients / factorials, hermite_values(self.degree, u), strict=True):
            if weight != 0:
                values += weight * polynomial
        values /= np.sqrt(len(self.first_layer))
        return values


class ConditionalGaussianFeatures:
    """Features that are Gaussian once the few strong coordinates κ = Sᵀx of the input are known.

    φ = ν(κ) + ν₁(κ) (F x_⊥) + Φ(κ)^(1/2) z, where ν, ν₁ and Φ match the mean, the linear part and the
    variance left over of each neuron at fixed κ; x_⊥ is x without its part in span S. Where S spans all that
    the neurons see, nothing is left to be Gaussian, and φ is the network's own σ(F x)/√k.

    Parameters
    ----------
    first_layer : ndarray, shape (k, n)
        F after the step.
    activation : Activation
        σ.
    basis : ndarray, shape (n, r)
        S, orthonormal columns that span spikes, means and the step's leading direction.
    scales : ndarray, shape (C,)
        Variance of x_⊥ per coordinate, for each class.
    spread : float
        Size of κ that a few standard deviations reach; it decides how far the tables go.

    Examples
    --------
    >>> from firstlight.maths.activations import activation
    >>> first_layer, basis = np.array([[1.0, 1.0], [1.0, -1.0]]), np.array([[1.0], [0.0]])
    >>> model = ConditionalGaussianFeatures(first_layer, activation("linear"), basis, np.ones(1), 8.0)
    >>> model(np.array([[2.0, 1.0]]), np.array([0]), np.random.default_rng(0)).tolist()
    [[2.121, 0.707]]
    """

    def __init__(
        self,
        first_layer: np.ndarray,
        activation: Activation,
        basis: np.ndarray,
        scales: np.ndarray,
        spread: float,
    ) -> None:
        self.first_layer, self.activation, self.basis, self.scales = first_layer, activation, basis, scales
        self._inside = first_layer @ basis
        square = (first_layer**2).sum(axis=1)
        outside = np.sqrt(np.maximum(square - (self._inside**2).sum(axis=1), 0))
        self._table: Tabulated | None = None
        if outside.max() <= 1e-6 * np.sqrt(square.max()):  # the difference of squares is rounded to 1e-16
            return
        # a neuron that lies in span S keeps a token spread, so that the tables have a positive width
        self._outside = np.maximum(outside, 0.05 * outside.max())
        reach = spread * float(np.max(np.linalg.norm(self._inside, axis=1))) + 1e-9
        low, high = self._outside.min() * np.sqrt(scales.min()), self._outside.max() * np.sqrt(scales.max())
        self._table = Tabulated(activation, (-reach, reach), (float(low), float(high)))
        if not self._table.error <= _COARSE:
            raise ValueError(
                f"activation: its moments are not resolved over pre-activations up to {reach:.3g} (error "
                f"{self._table.error:.2g}); take a smaller step_size, or a smoother activation"
            )

    def __call__(
        self, x: np.ndarray, classes: np.ndarray, rng: np.random.Generator, out: np.ndarray | None = None
    ) -> np.ndarray:
        """Return the features of the rows of x, in `out` if given."""
        if self._table is None:
            return features(x, self.first_layer, self.activation, out)
        inside = (x @ self.basis) @ self._inside.T
        std = np.sqrt(self.scales[classes])[:, None] * self._outside
        mean, slope, _, square = self._table(inside, std)
        values = np.matmul(x, self.first_layer.T, out=out)
        values -= inside
        values *= slope / std
        values += mean
        values += np.sqrt(np.maximum(square - mean**2 - slope**2, 0)) * rng.standard_normal(values.shape)
        values /= np.sqrt(len(self.first_layer))
        return values
