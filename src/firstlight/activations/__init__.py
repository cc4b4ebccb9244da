"""Activations: σ, σ', σ'', Hermite coefficients and dual activations, by name or from a user's function."""

from firstlight.activations.activation import Activation
from firstlight.activations.built_in import BUILT_IN
from firstlight.activations.factory import activation

__all__ = ["BUILT_IN", "Activation", "activation"]
