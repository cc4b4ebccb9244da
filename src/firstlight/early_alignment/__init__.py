"""Where the neurons of a small-initialisation ReLU network go first, when, and what happens after.

The theory is exact in the limit of small initialisation (`align`); the experiment is flow or descent.
`flow` joins the two: the exact path while outputs are negligible, integration in log time after it.
"""

from firstlight.data.separable import separability
from firstlight.early_alignment.problem import Problem
from firstlight.early_alignment.setting import Setting
from firstlight.early_alignment.training import descent
from firstlight.early_alignment.trajectory import flow
from firstlight.network.descent import gaussian_start
from firstlight.theory.early_alignment.align import align
from firstlight.theory.early_alignment.bounds import Bounds, bounds
from firstlight.theory.early_alignment.geometry import Geometry, geometry
from firstlight.theory.early_alignment.limits import Limits, limits
from firstlight.theory.early_alignment.path import AlignmentPath

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
