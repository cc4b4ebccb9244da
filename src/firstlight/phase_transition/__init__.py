"""How many samples per dimension before a two-layer network learns hidden directions at all.

delta_alg is where any known polynomial-time method can find a hard direction; delta_NN, a reconstruction, is
where gradient descent on a given network does. The theory speaks of the limit of many dimensions, n/d fixed.
"""

from typing import TYPE_CHECKING

import lazy_loader

if TYPE_CHECKING:
    from firstlight.data.multi_index import MultiIndex
    from firstlight.losses import Loss, loss
    from firstlight.measure.spectral import spectral_estimator
    from firstlight.phase_transition.definitions import Student
    from firstlight.phase_transition.learning import LearningProblem
    from firstlight.phase_transition.problem import Problem
    from firstlight.phase_transition.spectrum import SpectrumProblem
    from firstlight.phase_transition.thresholds import AlgProblem, ThresholdProblem
    from firstlight.theory.phase_transition.alg import AlgorithmicThreshold, delta_alg
    from firstlight.theory.phase_transition.delta_nn import NetworkThreshold, delta_nn
    from firstlight.theory.phase_transition.dmft import dmft
    from firstlight.theory.phase_transition.escape import EscapeTime, escape_time, success_size
    from firstlight.theory.phase_transition.hessian import (
        HessianSpectrum,
        Outlier,
        empirical_law,
        hessian_spectrum,
    )
    from firstlight.theory.phase_transition.law import CurvatureLaw
    from firstlight.theory.phase_transition.path import DmftPath
    from firstlight.theory.phase_transition.spectral import (
        SpectralThreshold,
        optimal_preprocessing,
        spectral_threshold,
    )
    from firstlight.theory.phase_transition.staircase import Stage, staircase
    from firstlight.theory.phase_transition.subspaces import Subspaces, subspaces

_NAMES = {
    "data.multi_index": ["MultiIndex"],
    "losses": ["Loss", "loss"],
    "measure.spectral": ["spectral_estimator"],
    "phase_transition.learning": ["LearningProblem"],
    "phase_transition.problem": ["Problem"],
    "phase_transition.spectrum": ["SpectrumProblem"],
    "phase_transition.thresholds": ["AlgProblem", "ThresholdProblem"],
    "theory.phase_transition.alg": ["AlgorithmicThreshold", "delta_alg"],
    "theory.phase_transition.delta_nn": ["NetworkThreshold", "delta_nn"],
    "theory.phase_transition.dmft": ["dmft"],
    "theory.phase_transition.escape": ["EscapeTime", "escape_time", "success_size"],
    "theory.phase_transition.hessian": ["HessianSpectrum", "Outlier", "empirical_law", "hessian_spectrum"],
    "theory.phase_transition.law": ["CurvatureLaw"],
    "theory.phase_transition.path": ["DmftPath"],
    "theory.phase_transition.spectral": ["SpectralThreshold", "optimal_preprocessing", "spectral_threshold"],
    "theory.phase_transition.staircase": ["Stage", "staircase"],
    "phase_transition.definitions": ["Student"],
    "theory.phase_transition.subspaces": ["Subspaces", "subspaces"],
}

__all__ = [
    "AlgProblem",
    "AlgorithmicThreshold",
    "CurvatureLaw",
    "DmftPath",
    "EscapeTime",
    "HessianSpectrum",
    "LearningProblem",
    "Loss",
    "MultiIndex",
    "NetworkThreshold",
    "Outlier",
    "Problem",
    "SpectralThreshold",
    "SpectrumProblem",
    "Stage",
    "Student",
    "Subspaces",
    "ThresholdProblem",
    "delta_alg",
    "delta_nn",
    "dmft",
    "empirical_law",
    "escape_time",
    "hessian_spectrum",
    "loss",
    "optimal_preprocessing",
    "spectral_estimator",
    "spectral_threshold",
    "staircase",
    "subspaces",
    "success_size",
]

__getattr__, __dir__, _ = lazy_loader.attach("firstlight", submod_attrs=_NAMES)
