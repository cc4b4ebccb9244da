"""When training can leave: an informative outlier of the Hessian, outside the bulk and negative."""

import numpy as np
from scipy.interpolate import PchipInterpolator

from firstlight.solvers import bracketing_root
from firstlight.theory.phase_transition.hessian import CurvatureLaw, margin
from firstlight.theory.phase_transition.resolvent import Branch, Bulk

CRITERIA = ("bbp+sign", "bbp")


def outlier_margin(law: CurvatureLaw, delta: float, ridge: float, criterion: str) -> tuple[float, float]:
    """Return the margin, negative if there is an informative outlier, and the bulk's left edge.

    Under "bbp+sign" a bulk that ends above zero is not enough to leave: the outlier must be negative too.
    """
    bulk = Bulk(law.D, law.weight, delta)
    edge = bulk.left_edge()
    point = edge.point
    if criterion == "bbp+sign" and edge.value > -ridge:
        point = _branch_at(bulk, point, -ridge)
    return margin(bulk, point, law.second), edge.value + ridge


def _branch_at(bulk: Bulk, edge: Branch, z: float) -> Branch:
    """Return the branch point at z, left of the edge."""
    point = edge

    def gap(p: float) -> float:
        nonlocal point
        point = bulk.follow(p, point.P) or point
        return point.z - z

    high = 1.5 * edge.p
    while gap(high) > 0:
        high *= 1.5
    gap(bracketing_root(gap, edge.p, high, tolerance=1e-10).value)
    return point


def first_crossing(grid: np.ndarray, margins: np.ndarray) -> float:
    """Return where the margin first turns negative, interpolated in log delta; NaN if nowhere."""
    turned = np.flatnonzero((margins[:-1] > 0) & (margins[1:] <= 0))
    if not turned.size:
        return np.nan
    i = int(turned[0])
    curve = PchipInterpolator(np.log(grid), margins)
    root = bracketing_root(lambda x: float(curve(x)), np.log(grid[i]), np.log(grid[i + 1]))
    return float(np.exp(root.value))
