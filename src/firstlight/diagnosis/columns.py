"""What is odd about columns: constant ones, identifiers, and scales that hide all others."""

import numpy as np

_LARGE = 10.0  # times the median standard deviation: worth a word


def kept_columns(X: np.ndarray, names: tuple[str, ...]) -> tuple[np.ndarray, tuple[str, ...]]:
    """Return which columns vary, and say which do not.

    Examples
    --------
    >>> kept_columns(np.array([[1.0, 2.0], [1.0, 3.0]]), ("a", "b"))[0].tolist()
    [1]
    """
    top = np.abs(X).max(axis=0)
    constant = np.ptp(X, axis=0) <= 1e-13 * top
    if constant.all():
        raise ValueError("X: every column is constant, so there is nothing to learn from")
    if not constant.any():
        return np.arange(X.shape[1]), ()
    which = np.flatnonzero(constant)
    if len(which) == 1:
        return np.flatnonzero(~constant), (
            f"{names[which[0]]} is constant ('{X[0, which[0]]:g}'): left out.",
        )
    shown = ", ".join(names[i] for i in which[:5]) + (", ..." if len(which) > 5 else "")
    return np.flatnonzero(~constant), (f"{len(which)} columns are constant ({shown}): left out.",)


def column_notes(X: np.ndarray, names: tuple[str, ...], standardised: bool) -> tuple[str, ...]:
    """Name identifiers and columns whose scale hides the others, with the effect."""
    notes = [
        f"{names[i]} looks like an identifier (a different whole number in every row, in order): a network "
        "would learn from it by accident; remove it."
        for i in _identifiers(X)
    ]
    spread = X.std(axis=0)
    share = (spread / spread.max()) ** 2
    share /= share.sum()
    wide = np.flatnonzero(spread > _LARGE * np.median(spread))
    wide = wide[np.argsort(-spread[wide])]
    if len(wide) and share[wide].sum() > 0.5:
        shown = ", ".join(f"{names[i]} (sd {spread[i]:.3g})" for i in wide[:5]) + (
            ", ..." if len(wide) > 5 else ""
        )
        effect = f"carry {100 * share[wide].sum():.0f} % of all variance, so a network sees little else"
        notes.append(
            f"Scale: {shown} {effect}"
            + (
                "; every column was standardised."
                if standardised
                else "; --standardise gives every column the same weight."
            )
        )
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
