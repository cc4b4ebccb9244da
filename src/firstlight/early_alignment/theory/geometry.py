"""The constants of the data and of the start that the alignment theorem is written in."""

from dataclasses import dataclass

import numpy as np

from firstlight.data.separable import separability, two_classes
from firstlight.early_alignment.theory.limits import limits
from firstlight.maths.checks import check_neurons
from firstlight.maths.shown import Shown


@dataclass(frozen=True)
class Geometry(Shown):
    """Constants of labelled data and of a start.

    Attributes
    ----------
    samples, samples_plus, samples_minus : int
        n, n₊, n₋.
    norm_min, norm_max : float
        X_min, X_max: shortest and longest data point.
    mu : float
        μ, see `separability`.
    xi : float
        ξ = μ²: sin² of the smallest angle between the cone of the yᵢxᵢ and the boundary of S₊; 0 if μ ≤ 0.
    zeta1 : float
        ζ₁: the cones cos²(w, x±) > 1 - ζ₁ lie inside S±; 0 if x± is not inside S±.
    zeta2 : float
        ζ₂: no neuron starts in the cone cos² > 1 - ζ₂ around the other class's centre; 1 without a start.
    zeta : float
        ζ = min(ζ₁, ζ₂). (The paper prints max; its proof needs min.)
    center_plus, center_minus : ndarray of shape (D,)
        x₊, x₋: the sums of each class.
    margin_plus, margin_minus : float
        γ₊, γ₋, see `limits`; NaN for a class that is empty or has no margin.
    margin_cosine : float
        Cosine of the two max-margin directions.
    """

    samples: int
    samples_plus: int
    samples_minus: int
    norm_min: float
    norm_max: float
    mu: float
    xi: float
    zeta1: float
    zeta2: float
    zeta: float
    center_plus: np.ndarray
    center_minus: np.ndarray
    margin_plus: float
    margin_minus: float
    margin_cosine: float

    @property
    def separable(self) -> bool:
        """Whether μ > 0: the theorem's first assumption."""
        return self.mu > 0

    @property
    def obstacle(self) -> str:
        """Why the theorem does not apply, in words; empty if it does."""
        if not self.separable:
            return f"mu = {self.mu:.4g}: the data are not orthogonally separable, the theorem needs mu > 0"
        if not self.zeta > 0:
            return f"zeta = {self.zeta:.4g}: a neuron starts on the ray of the other class's centre"
        return ""


def geometry(
    X: np.ndarray, y: np.ndarray, directions: np.ndarray | None = None, signs: np.ndarray | None = None
) -> Geometry:
    """Compute the constants of the alignment theorem.

    Parameters
    ----------
    X : array_like of shape (n, D)
        Data, no zero row.
    y : array_like of shape (n,)
        Labels ±1.
    directions : array_like of shape (h, D), optional
        First-layer rows at the start, of any length. They enter ζ₂ only.
    signs : array_like of shape (h,), optional
        Signs of the second layer; needed with `directions`.

    Returns
    -------
    Geometry

    Examples
    --------
    >>> angles = geometry([[1, 0], [1, 1], [-1, -0.5]], [1, 1, -1])
    >>> angles.mu, angles.xi, angles.zeta
    (0.7071, 0.5000, 0.8000)
    """
    X, y = two_classes(X, y)
    norms = np.linalg.norm(X, axis=1)
    mu = separability(X, y)
    plus, minus = X[y > 0].sum(axis=0), X[y < 0].sum(axis=0)
    zeta1 = min(_inner_cone(X / norms[:, None], y, plus), _inner_cone(X / norms[:, None], -y, minus))
    zeta2 = _start_cone(X, plus, minus, directions, signs)
    end = limits(X, y)
    n_plus = int((y > 0).sum())
    return Geometry(
        samples=len(y), samples_plus=n_plus, samples_minus=len(y) - n_plus,
        norm_min=float(norms.min()), norm_max=float(norms.max()),
        mu=mu, xi=max(mu, 0.0) ** 2, zeta1=zeta1, zeta2=zeta2, zeta=min(zeta1, zeta2),
        center_plus=plus, center_minus=minus,
        margin_plus=end.margin_plus, margin_minus=end.margin_minus, margin_cosine=end.cosine,
    )  # fmt: skip


def _inner_cone(unit: np.ndarray, side: np.ndarray, center: np.ndarray) -> float:
    """sin² of the widest cone around a centre that keeps every datum on its side; 1 for an empty class."""
    length = np.linalg.norm(center)
    if length == 0:
        return 0.0 if (side > 0).any() else 1.0
    return float(max((side * (unit @ center)).min() / length, 0.0) ** 2)


def _start_cone(
    X: np.ndarray,
    plus: np.ndarray,
    minus: np.ndarray,
    directions: np.ndarray | None,
    signs: np.ndarray | None,
) -> float:
    if (directions is None) != (signs is None):
        raise ValueError("directions, signs: give both or neither")
    if directions is None or signs is None:
        return 1.0
    W, s = check_neurons(directions, signs, X.shape[1])
    widest = 1.0
    for sign, other in ((1, minus), (-1, plus)):
        if (s == sign).any() and other.any():
            widest = min(widest, float(_sine_squared(W[s == sign], other).min()))
    return widest


def _sine_squared(rows: np.ndarray, vector: np.ndarray) -> np.ndarray:
    """sin² of the angle between each row and a vector; 1 beyond a right angle, 0 on the ray to rounding.

    It is measured on what a row has across the vector: 1 - cos² keeps no digit of angles below 1e-8.
    """
    rows = rows / np.abs(rows).max(axis=1, keepdims=True)  # so that no square leaves the floating-point range
    axis = vector / np.abs(vector).max()
    along, square = rows @ axis, axis @ axis
    across = rows - np.outer(along / square, axis)
    across -= np.outer(across @ axis / square, axis)  # once more: the part along the axis was rounded
    sines = np.linalg.norm(across, axis=1) / np.linalg.norm(rows, axis=1)
    sines[sines <= 4 * np.finfo(float).eps] = 0.0
    return np.where(along > 0, np.minimum(sines, 1.0) ** 2, 1.0)
