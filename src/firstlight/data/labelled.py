"""Checked features and labels: what every measure and prediction on classes starts from."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from firstlight.maths.checks import check_matrix, refuse_masked
from firstlight.maths.refusals import refusal

MEMORY = 256 * 2**20  # bytes that a measure may hold beside its input, unless told otherwise


@dataclass(frozen=True, eq=False)
class Labelled:
    """Features with one label each, checked.

    Attributes
    ----------
    features : ndarray, shape (n, d)
        As given; floating point.
    classes : ndarray, shape (C,)
        The distinct labels, sorted.
    index : ndarray of int, shape (n,)
        The class of each sample, as a position in `classes`.
    counts : ndarray of int, shape (C,)
        Members of each class.
    """

    features: np.ndarray
    classes: np.ndarray
    index: np.ndarray
    counts: np.ndarray


def labelled(
    features: ArrayLike,
    labels: ArrayLike,
    *,
    least: int = 1,
    names: tuple[str, str] = ("features", "labels"),
) -> Labelled:
    """Check features and labels and number the classes.

    Parameters
    ----------
    features : array_like, shape (n, d)
        Real and finite.
    labels : array_like, shape (n,)
        Numbers or texts.
    least : int, default 1
        How many classes there must be.
    names : (str, str)
        What a refusal calls the two.

    Examples
    --------
    >>> labelled([[1.0], [2.0], [3.0]], ["b", "a", "b"]).counts.tolist()
    [1, 2]
    """
    x, name = check_matrix(names[0], features), names[1]
    refuse_masked(name, labels)
    try:
        y = np.asarray(labels)
    except ValueError:  # ragged
        raise refusal(name, labels, "be numbers or texts, one for each sample") from None
    if y.shape != (len(x),):
        raise ValueError(
            f"{name}: shape {y.shape}, but {len(x)} samples in {names[0]} need shape ({len(x)},)"
        )
    if y.dtype.kind == "O" and all(isinstance(label, str) for label in y):
        y = y.astype(str)  # columns of texts, as tables hold them
    if y.dtype.kind not in "biufU":
        raise ValueError(f"{name}: of type {y.dtype}; must be numbers or texts")
    if y.dtype.kind == "f" and not np.isfinite(y).all():
        raise ValueError(f"{name}: {int((~np.isfinite(y)).sum())} of them are not finite")
    classes, index, counts = np.unique(y, return_inverse=True, return_counts=True)
    if len(classes) < least:
        raise ValueError(f"{name}: {len(classes)} class; at least {least} are needed")
    return Labelled(x, classes, index, counts)


def moderate(data: Labelled, *, by_row: bool = False) -> Labelled:
    """Scale features by a power of two where their squares would overflow or vanish.

    Cosines, and which distance is the smaller, stay as they are; with `by_row`, where each row has a power of
    its own, cosines do.

    Examples
    --------
    >>> moderate(labelled([[1e200], [2e200]], [0, 1])).features.ravel().tolist()
    [0.327, 0.653]
    >>> moderate(labelled([[1.0], [2e-200]], [0, 1]), by_row=True).features.ravel().tolist()
    [1.0, 0.765]
    """
    top = np.abs(data.features).max(axis=1 if by_row else None, keepdims=True).astype(float)
    extreme = (top > 0) & ~((top > 1e-100) & (top < 1e100))
    if not extreme.any():
        return data
    powers = np.where(extreme, -np.frexp(top)[1], 0)
    return replace(data, features=np.ldexp(data.features.astype(float), powers))


def row_chunks(rows: int, bytes_per_row: float, memory: int = MEMORY) -> list[slice]:
    """Cut rows into slices whose work fits into the memory budget.

    Examples
    --------
    >>> row_chunks(5, 100, memory=250)
    [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
    """
    step = max(1, int(memory // max(bytes_per_row, 1)))
    return [slice(start, min(start + step, rows)) for start in range(0, rows, step)]
