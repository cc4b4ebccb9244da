"""Room `one_step`: the error left by one large gradient step and a ridge read-out, on structured mixtures.

Source: Demir and Dogan, "Asymptotic analysis of two-layer neural networks after one gradient step under
Gaussian mixtures data with structure", ICLR 2025.
"""

from typing import TYPE_CHECKING

import lazy_loader

if TYPE_CHECKING:
    from firstlight.data.labels import Classification, Regression
    from firstlight.data.mixture import GaussianMixture, Spiked
    from firstlight.one_step.degrees import DegreeWarning, needed_degree
    from firstlight.one_step.estimators import OneStepClassifier, OneStepRegressor
    from firstlight.one_step.problem import Problem
    from firstlight.one_step.theory.degree import hermite_degree

_NAMES = {
    "data.labels": ["Classification", "Regression"],
    "data.mixture": ["GaussianMixture", "Spiked"],
    "one_step.degrees": ["DegreeWarning", "needed_degree"],
    "one_step.estimators": ["OneStepClassifier", "OneStepRegressor"],
    "one_step.problem": ["Problem"],
    "one_step.theory.degree": ["hermite_degree"],
}

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

__getattr__, __dir__, _ = lazy_loader.attach("firstlight", None, _NAMES)
