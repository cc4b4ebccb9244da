"""How many samples per dimension before a two-layer network learns hidden directions at all.

delta_alg is where any known polynomial-time method can find a hard direction; delta_NN, a reconstruction, is
where gradient descent on a given network does. The theory speaks of the limit of many dimensions, n/d fixed.
"""

from typing import TYPE_CHECKING

import lazy_loader

from firstlight.phase_transition.references import REFERENCES
from firstlight.study.registry import Theory

if TYPE_CHECKING:
    from firstlight.data.multi_index import MultiIndex
    from firstlight.maths.losses import Loss, loss
    from firstlight.measure.spectral import spectral_estimator
    from firstlight.phase_transition.definitions import Student, Training
    from firstlight.phase_transition.finite_size import Onset, onset
    from firstlight.phase_transition.learning import LearningProblem
    from firstlight.phase_transition.problem import Problem
    from firstlight.phase_transition.spectrum import SpectrumProblem
    from firstlight.phase_transition.theory.alg import AlgorithmicThreshold, delta_alg
    from firstlight.phase_transition.theory.delta_nn import NetworkThreshold, delta_nn
    from firstlight.phase_transition.theory.dmft import dmft
    from firstlight.phase_transition.theory.escape import EscapeTime, escape_time
    from firstlight.phase_transition.theory.flow import GradientFlow, gradient_flow
    from firstlight.phase_transition.theory.hessian import HessianSpectrum, hessian_spectrum
    from firstlight.phase_transition.theory.path import DmftPath
    from firstlight.phase_transition.theory.ranking import Ranking, rank
    from firstlight.phase_transition.theory.spectral import optimal_preprocessing, spectral_threshold
    from firstlight.phase_transition.theory.staircase import staircase
    from firstlight.phase_transition.theory.subspaces import subspaces
    from firstlight.phase_transition.thresholds import AlgProblem, ThresholdProblem

_NAMES = {
    "data.multi_index": ["MultiIndex"],
    "maths.losses": ["Loss", "loss"],
    "measure.spectral": ["spectral_estimator"],
    "phase_transition.definitions": ["Student", "Training"],
    "phase_transition.learning": ["LearningProblem"],
    "phase_transition.finite_size": ["Onset", "onset"],
    "phase_transition.problem": ["Problem"],
    "phase_transition.spectrum": ["SpectrumProblem"],
    "phase_transition.theory.alg": ["AlgorithmicThreshold", "delta_alg"],
    "phase_transition.theory.delta_nn": ["NetworkThreshold", "delta_nn"],
    "phase_transition.theory.dmft": ["dmft"],
    "phase_transition.theory.flow": ["GradientFlow", "gradient_flow"],
    "phase_transition.theory.escape": ["EscapeTime", "escape_time"],
    "phase_transition.theory.hessian": ["HessianSpectrum", "hessian_spectrum"],
    "phase_transition.theory.path": ["DmftPath"],
    "phase_transition.theory.ranking": ["Ranking", "rank"],
    "phase_transition.theory.spectral": ["optimal_preprocessing", "spectral_threshold"],
    "phase_transition.theory.staircase": ["staircase"],
    "phase_transition.theory.subspaces": ["subspaces"],
    "phase_transition.thresholds": ["AlgProblem", "ThresholdProblem"],
}

__all__ = [
    "THEORY",
    "AlgProblem",
    "AlgorithmicThreshold",
    "DmftPath",
    "EscapeTime",
    "GradientFlow",
    "HessianSpectrum",
    "LearningProblem",
    "Loss",
    "MultiIndex",
    "NetworkThreshold",
    "Onset",
    "Problem",
    "Ranking",
    "SpectrumProblem",
    "Student",
    "ThresholdProblem",
    "Training",
    "delta_alg",
    "delta_nn",
    "dmft",
    "escape_time",
    "gradient_flow",
    "hessian_spectrum",
    "loss",
    "onset",
    "optimal_preprocessing",
    "rank",
    "spectral_estimator",
    "spectral_threshold",
    "staircase",
    "subspaces",
]

THEORY = Theory(
    name="phase_transition",
    title="Hidden directions",
    question="How many samples per dimension before hidden directions are learnt at all?",
    problems={
        "training": "firstlight.phase_transition.problem:Problem",
        "learning": "firstlight.phase_transition.learning:LearningProblem",
        "spectrum": "firstlight.phase_transition.spectrum:SpectrumProblem",
        "algorithmic": "firstlight.phase_transition.thresholds:AlgProblem",
        "threshold": "firstlight.phase_transition.thresholds:ThresholdProblem",
        "equal_time": "firstlight.phase_transition.variants:at_equal_time",
        "early": "firstlight.phase_transition.variants:early",
        "phases": "firstlight.phase_transition.phases:PhasesProblem",
        "spectral_method": "firstlight.phase_transition.spectral_method:SpectralProblem",
    },
    page="firstlight.phase_transition.page:page",
    studies="firstlight.phase_transition.studies:STUDIES",
    references=REFERENCES,
    claims={
        name: f"firstlight.phase_transition.claims:{name}"
        for name in (
            "spectral",
            "above_algorithmic",
            "phases",
            "onset",
            "delay",
            "grokking",
            "lowers_batch",
            "lowers_momentum",
            "lowers_width",
        )
    },
    figures={
        "limit": "firstlight.phase_transition.figures:limit",
        "spectra": "firstlight.phase_transition.figures:spectra",
        "learning": "firstlight.phase_transition.figures:learning",
    },
    diagnose="firstlight.phase_transition.diagnosis:diagnose",
    featured=(
        "phase-transition/learning-curve",
        "phase-transition/two-phases",
        "phase-transition/hessian-spectrum",
        "phase-transition/dmft-vs-gd",
    ),
    commands="firstlight.phase_transition.commands:app",
)

__getattr__, _, _ = lazy_loader.attach("firstlight", None, _NAMES)


def __dir__() -> list[str]:
    return __all__
