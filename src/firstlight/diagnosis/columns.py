"""What is odd about columns: constant ones, identifiers, and scales that hide all others."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from firstlight.maths.checks import check_matrix

_LARGE = 10.0  # times the median standard deviation: worth a word
_TOP = 1e100  # of numbers that may still be squared and added up


def as_matrix(X: ArrayLike) -> np.ndarray:
    """Return features as floats; a data frame may hold several kinds of numbers, and truth values.

    Examples
    --------
    >>> as_matrix([[1, 2], [3, 4]])[1].tolist()
    [3.0, 4.0]
    """
    if hasattr(X, "toarray"):
        raise ValueError("X: is sparse; give X.toarray()")
    return check_matrix("X", _frame(X) if hasattr(X, "iloc") else X).astype(float)


def _frame(X: Any) -> np.ndarray:
    columns = []
    for place, name in enumerate(X.columns):
        column = X.iloc[:, place]
        if column.dtype.kind not in "biuf":
            raise ValueError(f"X: column {str(name)!r} is of type {column.dtype}; encode it or leave it out")
        columns.append(column.to_numpy(dtype=float, na_value=np.nan))
    return np.column_stack(columns)


def kept_columns(X: np.ndarray, names: tuple[str, ...]) -> tuple[np.ndarray, tuple[str, ...]]:
    """Return which columns vary, and say which do not.

    Examples
    --------
    >>> kept_columns(np.array([[1.0, 2.0], [1.0, 3.0]]), ("a", "b"))[0].tolist()
    [1]
    """
    constant = is_constant(X)
    if constant.all():
        raise ValueError("X: every column is constant, so there is nothing to learn from")
    if not constant.any():
        return np.arange(X.shape[1]), ()
    which = np.flatnonzero(constant)
    note = f"{names[which[0]]} is constant ('{X[0, which[0]]:g}'): left out."
    if len(which) > 1:
        shown = ", ".join([names[i] for i in which[:5]] + ["..."] * (len(which) > 5))
        note = f"{len(which)} columns are constant ({shown}): left out."
    return np.flatnonzero(~constant), (note,)


def is_constant(X: np.ndarray) -> np.ndarray:
    """Return which columns do not vary beyond rounding.

    Examples
    --------
    >>> is_constant(np.array([[1.0, 2.0], [1.0, 3.0]])).tolist()
    [True, False]
    """
    return np.asarray(np.ptp(X, axis=0) <= np.maximum(1e-13 * np.abs(X).max(axis=0), 1 / _TOP))


def check_sizes(X: np.ndarray, names: tuple[str, ...]) -> None:
    """Refuse numbers whose squares leave the range of floating point.

    Examples
    --------
    >>> check_sizes(np.array([[1.0], [1e200]]), ("a",))
    Traceback (most recent call last):
    ValueError: X: column 'a' holds numbers up to 1e+200; rescale it to below 1e+100
    """
    top = np.abs(X).max(axis=0)
    if (top > _TOP).any():
        worst = int(top.argmax())
        raise ValueError(
            f"X: column {names[worst]!r} holds numbers up to {top[worst]:.0e}; rescale it to below {_TOP:.0e}"
        )


def natural_copies(X: np.ndarray) -> float:
    """Return how many rows would equal an earlier one by chance, if the columns were independent.

    Examples
    --------
    >>> natural_copies(np.array([[0.0, 1.0], [1.0, 1.0], [0.0, 1.0], [1.0, 1.0]]))
    2.0
    """
    n = len(X)
    counts = (np.unique(column, return_counts=True)[1] for column in X.T)
    pairs = n * (n - 1)
    return 0.5 * pairs * float(np.prod([(count * (count - 1)).sum() / pairs for count in counts]))


def wide_columns(X: np.ndarray) -> np.ndarray:
    """Return the columns, widest first, whose scale hides all others; none if there is no such thing.

    Examples
    --------
    >>> wide_columns(np.array([[1.0, 0.0, 1.0], [0.0, 99.0, 2.0]])).tolist()
    [1]
    """
    spread = X.std(axis=0)
    wide = np.flatnonzero(spread > _LARGE * np.median(spread))
    wide = wide[np.argsort(-spread[wide])]
    return wide if _share(spread, wide) > 0.5 else wide[:0]


def _share(spread: np.ndarray, columns: np.ndarray) -> float:
    """Return the share of some columns in all variance, from standard deviations."""
    variance = (spread / spread.max()) ** 2
    return float(variance[columns].sum() / variance.sum())


def column_notes(X: np.ndarray, names: tuple[str, ...], standardised: bool) -> tuple[str, ...]:
    """Name identifiers and columns whose scale hides the others, with the effect."""
    notes = [
        f"{names[i]} looks like an identifier (a different whole number in every row, in order): a network "
        "would learn from it by accident; leave it out (--without)."
        for i in _identifiers(X)
    ]
    wide = wide_columns(X)
    if len(wide):
        spread = X.std(axis=0)
        each = [f"{names[i]} (sd {spread[i]:.3g})" for i in wide[:5]] + ["..."] * (len(wide) > 5)
        shown, verb = ", ".join(each), "carries" if len(wide) == 1 else "carry"
        effect = f"{verb} {100 * _share(spread, wide):.0f} % of all variance"
        hides = ", so a network sees little else; --standardise gives every column the same weight"
        mended = "; as every column was standardised, none hides the others"
        notes.append(f"Scale: {shown} {effect}{mended if standardised else hides}.")
    return tuple(notes)


def _identifiers(X: np.ndarray) -> np.ndarray:
    """Columns of whole numbers, all different, that count the rows or only ever go up or down."""
    n = len(X)
    if n < 10:
        return np.zeros(0, int)
    steps = np.diff(X, axis=0)
    whole = (np.round(X) == X).all(axis=0)
    ordered = (steps > 0).all(axis=0) | (steps < 0).all(axis=0)
    counting = np.ptp(X, axis=0) == n - 1
    different = np.array([len(np.unique(column)) == n for column in X.T])
    return np.flatnonzero(whole & different & (ordered | counting))
