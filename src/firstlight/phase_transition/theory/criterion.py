"""When training can leave: an informative outlier of the Hessian, outside the bulk and negative."""

from typing import NamedTuple

import numpy as np
from scipy.interpolate import PchipInterpolator

from firstlight.maths.solvers import bracketing_root
from firstlight.phase_transition.theory.law import CurvatureLaw, visible
from firstlight.phase_transition.theory.resolvent import Branch, Bulk

CRITERIA = ("bbp+sign", "bbp", "block+sign")


class Margin(NamedTuple):
    """The margin, negative if there is an informative outlier; the bulk's left edge, and the branch there."""

    value: float
    edge: float
    point: Branch


def outlier_margin(
    law: CurvatureLaw, delta: float, ridge: float, criterion: str, near: Branch | None = None
) -> Margin:
    """Return the margin, and the edge that it belongs to; `near` is that of a similar law, if known.

    Under "bbp+sign" a bulk that ends above zero is not enough to leave: the outlier must be negative too.
    "block+sign" asks each neuron's own diagonal block instead, and returns the most negative margin: with
    second-layer weights of opposite signs one neuron's bulk can hide another's outlier, which still is an
    eigenvector where the blocks decouple (small initialisation, σ'(0) = 0).
    """
    if criterion == "block+sign":
        blocks = [
            CurvatureLaw(law.D[:, j : j + 1, j : j + 1], law.weight, law.second)
            for j in range(law.D.shape[1])
        ]
        margins = (outlier_margin(block, delta, ridge, "bbp+sign") for block in blocks)
        return min(margins, key=lambda one: one.value)
    law, bulk, edge = visible(law, delta, near)
    point = edge.point
    if criterion == "bbp+sign" and edge.value > -ridge:
        point = _branch_at(bulk, point, -ridge)
    return Margin(margin(bulk, point, law.second), edge.value + ridge, edge.point)


def _branch_at(bulk: Bulk, edge: Branch, z: float) -> Branch:
    """Return the branch point at z, left of the edge."""

    def gap(p: float) -> float:
        return bulk.reach(p, edge).z - z

    high = 1.5 * edge.p
    while gap(high) > 0:
        high *= 1.5
    return bulk.reach(bracketing_root(gap, edge.p, high, tolerance=1e-10).value, edge)


def signal(bulk: Bulk, point: Branch, second: np.ndarray) -> np.ndarray:
    """Return S(z) = E[B ⊗ C] - z on the hard directions, shape (m h, m h)."""
    _, B = bulk.shrink(point.P)
    n, m, h = len(B), B.shape[1], second.shape[1]
    product = (bulk.weight[:, None] * B.reshape(n, -1)).T @ second.reshape(n, -1)
    lifted = product.reshape(m, m, h, h).transpose(0, 2, 1, 3).reshape(m * h, m * h)
    return lifted - point.z * np.eye(m * h)


def margin(bulk: Bulk, point: Branch, second: np.ndarray) -> float:
    """Return the smallest eigenvalue of S(z) in units of P: 1 + Q^{1/2} E[B ⊗ (C - 1)] Q^{1/2}.

    Infinite if there are no hard directions.
    """
    if second.shape[1] == 0:
        return np.inf
    root = np.linalg.cholesky(np.kron(point.P, np.eye(second.shape[1])))
    half = np.linalg.solve(root, signal(bulk, point, second))
    return float(np.linalg.eigvalsh(np.linalg.solve(root, half.T))[0])


def last_crossing(grid: np.ndarray, margins: np.ndarray) -> float:
    """Return where the margin turns negative for the last time, interpolated in log delta; NaN if nowhere.

    The last, because with an easy direction a window of smaller delta, in which the bulk has not yet become
    positive, shows negative outliers for some time and loses them again.
    """
    turned = np.flatnonzero((margins[:-1] > 0) & (margins[1:] <= 0))
    if not turned.size:
        return np.nan
    i = int(turned[-1])
    curve = PchipInterpolator(np.log(grid), margins)
    root = bracketing_root(lambda x: float(curve(x)), np.log(grid[i]), np.log(grid[i + 1]))
    return float(np.exp(root.value))
