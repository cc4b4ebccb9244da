"""firstlight: when, and what, does a two-layer neural network learn first?

Four theories, each used in the same way: a `Problem` says what is studied, `problem.predict()`
is the theory, `problem.simulate(rng)` the experiment, and `firstlight.compare(problem, trials=...)` puts them
side by side. Submodules load when first used, so that importing the package costs nothing.
"""

from typing import TYPE_CHECKING

import lazy_loader

__version__ = "0.1.0"

if TYPE_CHECKING:
    from firstlight.data import GaussianMixture, MultiIndex
    from firstlight.design.maps import predicted_map
    from firstlight.design.optimise import optimise
    from firstlight.diagnosis.run import diagnose
    from firstlight.maths.activations import Activation, activation
    from firstlight.maths.solvers import Solved
    from firstlight.references import cite
    from firstlight.study.compare import compare

_NAMES = {
    "maths.activations": ["Activation", "activation"],
    "data": ["GaussianMixture", "MultiIndex"],
    "design.maps": ["predicted_map"],
    "design.optimise": ["optimise"],
    "diagnosis.run": ["diagnose"],
    "references": ["cite"],
    "maths.solvers": ["Solved"],
    "study.compare": ["compare"],
}
_MODULES = (
    "data",
    "design",
    "diagnosis",
    "early_alignment",
    "maths",
    "measure",
    "network",
    "one_step",
    "phase_transition",
    "references",
    "show",
    "study",
    "unseen_classes",
)

__all__ = [
    "Activation",
    "GaussianMixture",
    "MultiIndex",
    "Solved",
    "activation",
    "cite",
    "compare",
    "diagnose",
    "optimise",
    "predicted_map",
]

__getattr__, __dir__, _ = lazy_loader.attach(__name__, _MODULES, _NAMES)
