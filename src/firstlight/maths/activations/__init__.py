"""Activations: σ, σ', σ'', Hermite coefficients and dual activations, by name or from a user's function."""

from firstlight.maths.activations.activation import Activation
from firstlight.maths.activations.built_in import BUILT_IN
from firstlight.maths.activations.factory import activation

__all__ = ["BUILT_IN", "Activation", "activation"]
