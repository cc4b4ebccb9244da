"""Room `one_step`: the error left by one large gradient step and a ridge read-out, on structured mixtures.

Source: Demir and Dogan, "Asymptotic analysis of two-layer neural networks after one gradient step under
Gaussian mixtures data with structure", ICLR 2025.
"""

from typing import TYPE_CHECKING

import lazy_loader

if TYPE_CHECKING:
    from firstlight.data.labels import Classification, Regression
    from firstlight.data.mixture import GaussianMixture, Spiked
    from firstlight.network.estimators import OneStepClassifier, OneStepRegressor
    from firstlight.one_step.degrees import DegreeWarning, needed_degree
    from firstlight.one_step.problem import Problem
    from firstlight.theory.one_step.degree import hermite_degree

_NAMES = {
    "data.labels": ["Classification", "Regression"],
    "data.mixture": ["GaussianMixture", "Spiked"],
    "network.estimators": ["OneStepClassifier", "OneStepRegressor"],
    "one_step.degrees": ["DegreeWarning", "needed_degree"],
    "one_step.problem": ["Problem"],
    "theory.one_step.degree": ["hermite_degree"],
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

__getattr__, __dir__, _ = lazy_loader.attach("firstlight", submod_attrs=_NAMES)
