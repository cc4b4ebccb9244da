"""Where gradient flow ends up: max-margin directions of the classes, stable rank, decay of the loss.

After alignment each class is fitted by its own linear network, so the end is that class's hard-margin
solution through the origin, not its centre.
"""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import nnls

from firstlight.data.separable import separability, two_classes
from firstlight.maths.shown import Shown


def max_margin(X: np.ndarray) -> tuple[np.ndarray, float]:
    """Find the unit vector u with the largest γ = minᵢ ⟨u, xᵢ⟩ over the rows of X.

    Least-distance programming (Lawson & Hanson, ch. 23): with unit rows zᵢ = xᵢ/‖xᵢ‖ and hᵢ = 1/‖xᵢ‖,
    non-negative least squares on ``[Zᵀ; hᵀ] a ≈ e`` leaves a residual that is proportional to the shortest u
    with Z u ≥ h. The support it finds is then solved once more directly, which takes the result to rounding.

    Parameters
    ----------
    X : ndarray of shape (n, D)
        Points of one class.

    Returns
    -------
    direction : ndarray of shape (D,)
        NaN where no direction has a positive margin.
    margin : float
        γ > 0, or NaN if the points cannot be put strictly on one side of a hyperplane through the origin.

    Examples
    --------
    >>> u, margin = max_margin(np.array([[1.0, 0.0], [0.0, 2.0]]))
    >>> u.tolist(), margin
    ([0.894427, 0.447214], 0.894427)
    """
    none = np.full(X.shape[1], np.nan), np.nan
    if X.shape[0] == 0:
        return none
    norms = np.linalg.norm(X, axis=1)
    Z, h = X / norms[:, None], norms.min() / norms
    target = np.append(np.zeros(X.shape[1]), 1.0)
    weights, _ = nnls(np.vstack([Z.T, h]), target, maxiter=max(3000, 30 * len(X)))
    support = np.flatnonzero(weights > 0)
    # The hull's point nearest the origin, on the face spanned by the support: least norm with equal margins.
    shortest = np.linalg.lstsq(Z[support], h[support], rcond=None)[0] if len(support) else target[:-1]
    length = np.linalg.norm(shortest)
    if length == 0:
        return none
    direction, rounding = shortest / length, 4 * np.finfo(float).eps * norms
    reached = X @ direction
    # A hull that holds the origin gives a huge, useless u; margins below this are rounding.
    if not (reached > 1e-9 * norms.min() + rounding).all():
        return none
    # On the support all margins are equal; elsewhere they are larger, but long rows carry large rounding.
    return direction, float(min(norms.min() / length, (reached + rounding).min()))


@dataclass(frozen=True)
class Limits(Shown):
    """What gradient flow tends to as t → ∞, for separable data with live neurons of both signs.

    Attributes
    ----------
    margin_plus, margin_minus : float
        γ₊, γ₋: the best margin of each class on its own; NaN for a class that is empty or has none.
    direction_plus, direction_minus : ndarray of shape (D,)
        u₊, u₋: where neurons of S₊ and S₋ end.
    cosine : float
        ⟨u₊, u₋⟩; NaN if a class is missing.
    stable_rank : float
        Limit of ‖W‖²_F / ‖W‖²₂, between 1 and 2; NaN if μ < 0.
    loss_coefficient : float
        κ in L(t) ~ κ / (t log t); the same for all its losses, summed or averaged. NaN if μ < 0.
    """

    margin_plus: float
    margin_minus: float
    direction_plus: np.ndarray
    direction_minus: np.ndarray
    cosine: float
    stable_rank: float
    loss_coefficient: float


def limits(X: np.ndarray, y: np.ndarray) -> Limits:
    """Compute the limits of gradient flow from the two classes' max-margin problems.

    The squared norms of the two classes' neurons grow as log t / γ±, which fixes their weights in the limit.

    Parameters
    ----------
    X : array_like of shape (n, D)
        Data, no zero row.
    y : array_like of shape (n,)
        Labels ±1. With one class only, that class alone decides.

    Returns
    -------
    Limits
        NaN where a class has no positive margin. Where μ < 0 the classes do not part, and only the margins
        are given.

    Examples
    --------
    >>> end = limits([[1, 0], [0, 1], [-1, -1]], [1, 1, -1])
    >>> end.margin_plus, end.stable_rank, end.loss_coefficient
    (0.707107, 1.0000, 1.060660)
    """
    X, y = two_classes(X, y)
    (u_plus, plus), (u_minus, minus) = max_margin(X[y > 0]), max_margin(X[y < 0])
    present = [bool((y > 0).any()), bool((y < 0).any())]
    masses = np.array([1 / margin for margin, there in zip((plus, minus), present, strict=True) if there])
    cosine = float(np.clip(u_plus @ u_minus, -1, 1)) if all(present) else np.nan
    rank = 1.0
    if separability(X, y) < -1e-12:  # orthogonal points are the edge, to rounding
        rank, masses = np.nan, np.array([np.nan])
    elif all(present):
        total, product = masses.sum(), masses.prod()
        rank = float(
            total / (0.5 * total + 0.5 * np.sqrt((masses[0] - masses[1]) ** 2 + 4 * product * cosine**2))
        )
    return Limits(plus, minus, u_plus, u_minus, cosine, rank, float(0.5 * masses.sum()))
