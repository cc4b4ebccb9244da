"""firstlight: when, and what, does a two-layer neural network learn first?

Four theories as four rooms, each with the same doors: a `Problem` says what is studied, `problem.predict()`
is the theory, `problem.simulate(rng)` the experiment, and `firstlight.compare(problem, trials=...)` puts them
side by side. Submodules load when first used, so that importing the package costs nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0.dev0"

if TYPE_CHECKING:
    from firstlight.activations import Activation, activation
    from firstlight.data import GaussianMixture, MultiIndex
    from firstlight.references import cite
    from firstlight.solvers import Solved
    from firstlight.study.compare import compare

_NAMES = {
    "Activation": "activations",
    "activation": "activations",
    "GaussianMixture": "data",
    "MultiIndex": "data",
    "cite": "references",
    "Solved": "solvers",
    "compare": "study.compare",
}
_MODULES = (
    "activations",
    "data",
    "early_alignment",
    "gaussian",
    "measure",
    "network",
    "one_step",
    "phase_transition",
    "references",
    "rng",
    "show",
    "solvers",
    "study",
    "theory",
    "unseen_classes",
)

__all__ = ["Activation", "GaussianMixture", "MultiIndex", "Solved", "activation", "cite", "compare"]


def __getattr__(name: str) -> Any:
    if name in _NAMES:
        value = getattr(import_module(f"{__name__}.{_NAMES[name]}"), name)
        globals()[name] = value
        return value
    if name in _MODULES:
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_NAMES, *_MODULES})
