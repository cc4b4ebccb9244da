"""Where the neurons of a small-initialisation ReLU network go first, when, and what happens after.

The theory is exact in the limit of small initialisation (`align`); the experiment is flow or descent.
`flow` joins the two: the exact path while outputs are negligible, integration in log time after it.
"""

from typing import TYPE_CHECKING

import lazy_loader

from firstlight.early_alignment.references import REFERENCES
from firstlight.study.registry import Theory

if TYPE_CHECKING:
    from firstlight.data.separable import separability
    from firstlight.early_alignment.definitions.setting import Setting
    from firstlight.early_alignment.definitions.start import gaussian_start
    from firstlight.early_alignment.experiment.descent import descent
    from firstlight.early_alignment.problem import Problem
    from firstlight.early_alignment.theory.align import align
    from firstlight.early_alignment.theory.bounds import Bounds, bounds
    from firstlight.early_alignment.theory.design import Dropped, largest_scale, rows_to_drop
    from firstlight.early_alignment.theory.geometry import Geometry, geometry
    from firstlight.early_alignment.theory.limits import Limits, limits
    from firstlight.early_alignment.theory.path import AlignmentPath
    from firstlight.early_alignment.trajectory import flow

_NAMES = {
    "data.separable": ["separability"],
    "early_alignment.definitions.start": ["gaussian_start"],
    "early_alignment.experiment.descent": ["descent"],
    "early_alignment.problem": ["Problem"],
    "early_alignment.definitions.setting": ["Setting"],
    "early_alignment.theory.align": ["align"],
    "early_alignment.theory.bounds": ["Bounds", "bounds"],
    "early_alignment.theory.design": ["Dropped", "largest_scale", "rows_to_drop"],
    "early_alignment.theory.geometry": ["Geometry", "geometry"],
    "early_alignment.theory.limits": ["Limits", "limits"],
    "early_alignment.theory.path": ["AlignmentPath"],
    "early_alignment.trajectory": ["flow"],
}

__all__ = [
    "THEORY",
    "AlignmentPath",
    "Bounds",
    "Dropped",
    "Geometry",
    "Limits",
    "Problem",
    "Setting",
    "align",
    "bounds",
    "descent",
    "flow",
    "gaussian_start",
    "geometry",
    "largest_scale",
    "limits",
    "rows_to_drop",
    "separability",
]

THEORY = Theory(
    name="early_alignment",
    title="Early alignment",
    question="Where do the neurons of a small-initialisation ReLU network go first, and what happens after?",
    problems={
        "alignment": "firstlight.early_alignment.problem:Problem",
        "plane": "firstlight.early_alignment.plane:PlaneProblem",
        "file": "firstlight.early_alignment.problem:Problem.from_file",
    },
    studies="firstlight.early_alignment.studies:STUDIES",
    references=REFERENCES,
    claims={
        name: f"firstlight.early_alignment.claims:{name}"
        for name in ("digits", "phases", "times", "scales", "needed_scale", "rate", "rank")
    },
    figures={"toy": "firstlight.early_alignment.figures:toy"},
    diagnose="firstlight.early_alignment.diagnosis:diagnose",
    featured=("early-alignment/toy", "early-alignment/two-points", "early-alignment/mnist-0-1"),
    page="firstlight.early_alignment.page:page",
    commands="firstlight.early_alignment.commands:app",
)

__getattr__, _, _ = lazy_loader.attach("firstlight", None, _NAMES)


def __dir__() -> list[str]:
    return __all__
