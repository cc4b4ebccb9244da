"""The error left by one large gradient step and a ridge read-out, on structured mixtures.

Source: Demir and Dogan, "Asymptotic analysis of two-layer neural networks after one gradient step under
Gaussian mixtures data with structure", ICLR 2025.

From a study to its formula: `studies` names a `problem`, whose predictions are `theory.deterministic` (errors
given the features), `theory.asymptotic` with `theory.functional` (without a network), and whose trials are
`experiment.trial`.
"""

from typing import TYPE_CHECKING

import lazy_loader

from firstlight.one_step.references import REFERENCES
from firstlight.study.registry import Theory

if TYPE_CHECKING:
    from firstlight.data.labels import Classification, Regression
    from firstlight.data.mixture import GaussianMixture, Spiked
    from firstlight.one_step.degrees import DegreeWarning, needed_degree
    from firstlight.one_step.experiment.estimators import OneStepClassifier, OneStepRegressor
    from firstlight.one_step.problem import Problem
    from firstlight.one_step.spectrum import SpectrumProblem
    from firstlight.one_step.theory.degree import hermite_degree

_NAMES = {
    "data.labels": ["Classification", "Regression"],
    "data.mixture": ["GaussianMixture", "Spiked"],
    "one_step.degrees": ["DegreeWarning", "needed_degree"],
    "one_step.experiment.estimators": ["OneStepClassifier", "OneStepRegressor"],
    "one_step.problem": ["Problem"],
    "one_step.spectrum": ["SpectrumProblem"],
    "one_step.theory.degree": ["hermite_degree"],
}

__all__ = [
    "THEORY",
    "Classification",
    "DegreeWarning",
    "GaussianMixture",
    "OneStepClassifier",
    "OneStepRegressor",
    "Problem",
    "Regression",
    "SpectrumProblem",
    "Spiked",
    "hermite_degree",
    "needed_degree",
]

THEORY = Theory(
    name="one_step",
    title="One large step",
    question="What error do one large gradient step and a ridge read-out leave, on mixtures with spikes?",
    problems={
        "scaled": "firstlight.one_step.problem:Problem.scaled",
        "by_width": "firstlight.one_step.families:by_width",
        "by_share": "firstlight.one_step.families:by_share",
        "images": "firstlight.one_step.families:images",
        "spectrum": "firstlight.one_step.spectrum:SpectrumProblem.scaled",
    },
    studies="firstlight.one_step.studies:STUDIES",
    references=REFERENCES,
    claims={
        name: f"firstlight.one_step.claims:{name}"
        for name in (
            "width",
            "alpha",
            "beta",
            "share",
            "spike_alignment",
            "rank",
            "square",
            "degree",
            "images",
        )
    },
    figures={
        "square": "firstlight.one_step.figures:square",
        "degrees": "firstlight.one_step.figures:degrees",
    },
    diagnose="firstlight.one_step.diagnosis:diagnose",
    page="firstlight.one_step.page:page",
    featured=("one-step/width", "one-step/degree", "one-step/fashion-mnist-0-1"),
)

__getattr__, _, _ = lazy_loader.attach("firstlight", None, _NAMES)


def __dir__() -> list[str]:
    return __all__
