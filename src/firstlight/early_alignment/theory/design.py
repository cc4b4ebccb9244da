"""Choices by theory: the largest start that still aligns first, and which rows stand in the way."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from firstlight.data.separable import separability, two_classes
from firstlight.early_alignment.theory.own_data import course
from firstlight.maths.checks import check_neurons, check_number
from firstlight.maths.shown import Shown

_SMALLEST = -700.0  # logarithm of what a computer can still hold


def largest_scale(
    X: ArrayLike, y: ArrayLike, directions: ArrayLike, signs: ArrayLike, *, output: float = 0.01
) -> float:
    """Return the largest ε for which a balanced start ε·w turns first and grows later.

    That is: outputs stay below `output` until 95 % of the live neurons are within cosine 0.99 of their ends.
    On the exact path outputs grow as ε², and are largest at one of the ends, so no search is needed.

    Parameters
    ----------
    X : array_like, shape (n, d)
        No zero row.
    y : array_like, shape (n,)
        Two labels, -1 and +1.
    directions, signs : array_like, shapes (h, d) and (h,)
        The start: w has length ε along `directions`, and v = ± ε.
    output : float, default 0.01
        What counts as small, beside labels of size one.

    Returns
    -------
    float
        ε; if X is multiplied by c, it is divided by √c. It is inf if outputs are 0 at both ends.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> W, signs = rng.normal(size=(20, 2)), rng.choice([-1, 1], 20)
    >>> scale = largest_scale(np.eye(2), [1, -1], W, signs)
    >>> bool(0.001 < scale < 0.1), largest_scale(np.eye(2), [1, -1], W, signs, output=0.04) / scale
    (True, 2.0000)
    """
    check_number("output", output, above=0, below=1)
    points, labels = two_classes(X, y)
    length = float(
        np.sqrt((points**2).sum(axis=1).mean())
    )  # outputs at ε are those of rows of length 1 at ε√c
    rows, heads = check_neurons(directions, signs, points.shape[1])
    needed = course(points / length, labels, rows, heads, output)
    log_scale = needed.log_scale - 0.5 * np.log(length)
    if log_scale < _SMALLEST:
        raise ValueError(f"X: the largest start is exp({log_scale:.0f}), smaller than a computer's numbers")
    return float(np.exp(log_scale))


@dataclass(frozen=True, eq=False)
class Dropped(Shown):
    """Rows without which data are orthogonally separable.

    Attributes
    ----------
    rows : ndarray of int
        Which to drop, increasing; none of them could be kept beside the others.
    at_least : int
        No fewer would do: so many pairs that share no row are on the wrong side.
    separability : float
        μ of what is left; NaN if that is a single row.
    """

    rows: np.ndarray
    at_least: int
    separability: float


def rows_to_drop(X: ArrayLike, y: ArrayLike, *, mu: float = 0.0) -> Dropped:
    """Choose few rows to drop such that the others are orthogonally separable, with cosines above `mu`.

    The fewest are a smallest vertex cover of the pairs on the wrong side, which is hard to find: rows go by
    how many such pairs they are in, and come back where they do no harm.

    Parameters
    ----------
    X : array_like, shape (n, d)
        No zero row.
    y : array_like, shape (n,)
        Two labels, -1 and +1.
    mu : float, default 0
        What cos(y_i x_i, y_k x_k) must exceed, from 0 to below 1.

    Returns
    -------
    Dropped

    Examples
    --------
    >>> dropped = rows_to_drop([[1, 0], [1, 0.2], [-1, 0], [0.9, 0.1]], [1, 1, -1, -1])
    >>> dropped.rows.tolist(), dropped.at_least, dropped.separability
    ([3], 1, 0.98)
    """
    check_number("mu", mu, 0, below=1)
    points, labels = two_classes(X, y)
    signed = points * (labels / np.linalg.norm(points, axis=1))[:, None]
    wrong = signed @ signed.T <= mu
    np.fill_diagonal(wrong, False)
    kept, dropped = np.ones(len(wrong), bool), []
    harm = wrong.sum(axis=1)
    while harm.any():
        worst = int(harm.argmax())
        dropped.append(worst)
        kept[worst] = False
        harm = np.where(kept, harm - wrong[worst], 0)
    for row in dropped:
        kept[row] = not (wrong[row] & kept).any()
    left = separability(points[kept], labels[kept]) if kept.sum() > 1 else np.nan
    return Dropped(np.flatnonzero(~kept), _apart(wrong), left)


def _apart(wrong: np.ndarray) -> int:
    """Count pairs on the wrong side that share no row, taken as they come."""
    free, count = np.ones(len(wrong), bool), 0
    for i in range(len(wrong)):
        if free[i] and (others := wrong[i] & free).any():
            free[[i, int(others.argmax())]] = False
            count += 1
    return count
