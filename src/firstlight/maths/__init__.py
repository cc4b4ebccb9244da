"""Shared mathematics: activations, quadrature, losses, solvers, intervals, streams, workers, checks."""

from typing import TYPE_CHECKING

import lazy_loader

if TYPE_CHECKING:
    from firstlight.maths.activations import Activation, activation
    from firstlight.maths.hermite import hermite_coefficients, hermite_values, mehler
    from firstlight.maths.losses import Loss, loss
    from firstlight.maths.quadrature import (
        QuadratureWarning,
        expectation,
        pair_expectation,
        rule,
        sobol_normal,
    )
    from firstlight.maths.solvers import Solved

_NAMES = {
    "maths.activations": ["Activation", "activation"],
    "maths.hermite": ["hermite_coefficients", "hermite_values", "mehler"],
    "maths.losses": ["Loss", "loss"],
    "maths.quadrature": ["QuadratureWarning", "expectation", "pair_expectation", "rule", "sobol_normal"],
    "maths.solvers": ["Solved"],
}

__all__ = [
    "Activation",
    "Loss",
    "QuadratureWarning",
    "Solved",
    "activation",
    "expectation",
    "hermite_coefficients",
    "hermite_values",
    "loss",
    "mehler",
    "pair_expectation",
    "rule",
    "sobol_normal",
]

__getattr__, __dir__, _ = lazy_loader.attach("firstlight", None, _NAMES)
