"""Room `one_step`: the error left by one large gradient step and a ridge read-out, on structured mixtures.

Source: Demir and Dogan, "Asymptotic analysis of two-layer neural networks after one gradient step under
Gaussian mixtures data with structure", ICLR 2025.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from firstlight.data.labels import Classification, Regression
from firstlight.data.mixture import GaussianMixture, Spiked
from firstlight.one_step.degrees import DegreeWarning, needed_degree
from firstlight.one_step.problem import Problem
from firstlight.theory.one_step.degree import hermite_degree

if TYPE_CHECKING:
    from firstlight.network.estimators import OneStepClassifier, OneStepRegressor

__all__ = [
    "Classification",
    "DegreeWarning",
    "GaussianMixture",
    "OneStepClassifier",
    "OneStepRegressor",
    "Problem",
    "Regression",
    "Spiked",
    "hermite_degree",
    "needed_degree",
]


def __getattr__(name: str) -> Any:
    if name in ("OneStepClassifier", "OneStepRegressor"):  # scikit-learn takes long to import
        return getattr(import_module("firstlight.network.estimators"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
