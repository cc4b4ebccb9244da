"""Expectations under normal laws: split quadrature, Hermite coefficients, Mehler's expansion, Sobol nodes."""

from firstlight.gaussian.hermite import hermite_coefficients, hermite_values, mehler
from firstlight.gaussian.quadrature import QuadratureWarning, expectation, pair_expectation, rule
from firstlight.gaussian.sobol import sobol_normal

__all__ = [
    "QuadratureWarning",
    "expectation",
    "hermite_coefficients",
    "hermite_values",
    "mehler",
    "pair_expectation",
    "rule",
    "sobol_normal",
]
