"""Starts of a two-layer network: drawn, and in polar form."""

import numpy as np

from firstlight.maths.checks import check_count, check_positive
from firstlight.maths.rng import RNGLike, SeedLike, generator


def gaussian_start(
    width: int, dimension: int, scale: float, rng: RNGLike | SeedLike = None
) -> tuple[np.ndarray, np.ndarray]:
    """Draw both layers from N(0, scale²): small, and not balanced.

    Examples
    --------
    >>> W, v = gaussian_start(3, 2, 1e-6, rng=0)
    >>> W.shape, v.shape
    ((3, 2), (3,))
    """
    check_count("width", width)
    check_count("dimension", dimension)
    check_positive("scale", scale)
    draw = generator(rng).normal(size=(width, dimension + 1))
    return scale * draw[:, :-1], scale * draw[:, -1]


def polar(first_layer: np.ndarray, second_layer: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Split a network into unit rows w/‖w‖, log ‖w‖ and v/‖w‖, though the squares of w may underflow.

    A row of zeros stays one, with log ‖w‖ = -∞ and 0 for v/‖w‖, which then does not matter.

    Examples
    --------
    >>> rows, log_norms, ratios = polar(np.array([[3e-200, 4e-200]]), np.array([1e-199]))
    >>> rows.tolist(), (log_norms / np.log(10)).tolist(), ratios.tolist()
    ([[0.6000, 0.8000]], [-199.301030], [2.0000])
    """
    largest = np.abs(first_layer).max(axis=1)
    unit = np.where(largest == 0, 1.0, largest)
    rows = first_layer / unit[:, None]
    norms = np.where(largest == 0, 1.0, np.linalg.norm(rows, axis=1))
    with np.errstate(divide="ignore"):
        log_norms = np.log(largest) + np.log(norms)
    return rows / norms[:, None], log_norms, np.where(largest == 0, 0.0, second_layer / unit / norms)


def lengths(rows: np.ndarray) -> np.ndarray:
    """Lengths of non-zero rows, with no underflow or overflow in the squares.

    Examples
    --------
    >>> lengths(np.array([[3e-200, 4e-200]])).tolist()
    [5e-200]
    """
    largest = np.abs(rows).max(axis=1)
    return np.asarray(largest * np.linalg.norm(rows / largest[:, None], axis=1))
