"""Where the neurons of a small-initialisation ReLU network go first, when, and what happens after.

The theory is exact in the limit of small initialisation (`align`); the experiment is flow or descent.
`flow` joins the two: the exact path while outputs are negligible, integration in log time after it.
"""

from typing import TYPE_CHECKING

import lazy_loader

if TYPE_CHECKING:
    from firstlight.data.separable import separability
    from firstlight.early_alignment.definitions.start import gaussian_start
    from firstlight.early_alignment.problem import Problem
    from firstlight.early_alignment.setting import Setting
    from firstlight.early_alignment.training import descent
    from firstlight.early_alignment.trajectory import flow
    from firstlight.theory.early_alignment.align import align
    from firstlight.theory.early_alignment.bounds import Bounds, bounds
    from firstlight.theory.early_alignment.geometry import Geometry, geometry
    from firstlight.theory.early_alignment.limits import Limits, limits
    from firstlight.theory.early_alignment.path import AlignmentPath

_NAMES = {
    "data.separable": ["separability"],
    "early_alignment.problem": ["Problem"],
    "early_alignment.setting": ["Setting"],
    "early_alignment.training": ["descent"],
    "early_alignment.trajectory": ["flow"],
    "early_alignment.definitions.start": ["gaussian_start"],
    "theory.early_alignment.align": ["align"],
    "theory.early_alignment.bounds": ["Bounds", "bounds"],
    "theory.early_alignment.geometry": ["Geometry", "geometry"],
    "theory.early_alignment.limits": ["Limits", "limits"],
    "theory.early_alignment.path": ["AlignmentPath"],
}

__all__ = [
    "AlignmentPath",
    "Bounds",
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
    "limits",
    "separability",
]

__getattr__, __dir__, _ = lazy_loader.attach("firstlight", submod_attrs=_NAMES)
