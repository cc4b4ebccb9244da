"""Checks of numbers and arrays: a refusal is a ValueError, with the field, its value and what is allowed."""

from itertools import pairwise
from math import inf, isinf, nan
from sys import maxsize
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from firstlight.maths.refusals import refusal


def check_count(name: str, value: Any, low: int = 1, high: float = maxsize) -> int:
    """Return an integer from `low` to `high` as an int; by default what can be the size of an array.

    Examples
    --------
    >>> check_count("width", np.int8(5))
    5
    >>> check_count("width", 0)
    Traceback (most recent call last):
    ValueError: width = 0: must be an integer of at least 1
    """
    number = int(value) if isinstance(value, (int, np.integer)) and not isinstance(value, bool) else None
    if number is None or not low <= number <= high:
        least = f"of at least {low}" if number is None or number < low else f"of at most {high}"
        allowed = least if high >= maxsize else f"from {low} to {high:g}"
        raise refusal(name, value, f"be an integer {allowed}")
    return number


def check_number(
    name: str, value: Any, low: float = -inf, high: float = inf, *, above: float = -inf, below: float = inf
) -> float:
    """Return a finite number as a float; `low` and `high` belong to what is allowed, `above`, `below` do not.

    Examples
    --------
    >>> check_number("mu", 0.5, above=0, high=1)
    0.5
    >>> check_number("mu", "a", above=0, high=1)
    Traceback (most recent call last):
    ValueError: mu = 'a': must be a number in (0, 1]
    """
    number = _float(value)
    if not (low <= number <= high and above < number < below):
        raise refusal(name, value, f"be {_interval(low, high, above, below)}")
    return number


def check_positive(name: str, value: Any) -> float:
    """Return a finite number above 0 as a float."""
    return check_number(name, value, above=0)


def check_numbers(
    name: str, values: Any, low: float = -inf, high: float = inf, *, above: float = -inf, below: float = inf
) -> tuple[float, ...]:
    """Return one number, or a sequence of at least one, as a tuple of finite floats.

    Examples
    --------
    >>> check_numbers("ridge", [1, 0.5], low=0), check_numbers("ridge", 2)
    ((1.0, 0.5), (2.0,))
    """
    given = np.asarray(values, dtype=object)
    if given.ndim > 1 or given.size == 0:
        raise refusal(name, values, "be a number or a sequence of numbers")
    return tuple(
        check_number(name, value, low, high, above=above, below=below) for value in given.ravel().tolist()
    )


def check_increasing(name: str, values: Any) -> tuple[float, ...]:
    """Return numbers above 0, each larger than the one before, as a tuple.

    Examples
    --------
    >>> check_increasing("deltas", (1, 2.5))
    (1.0, 2.5)
    """
    given = np.asarray(values, dtype=object)
    numbers = tuple(map(_float, given.tolist())) if given.ndim == 1 else ()
    if not numbers or not all(low < high < inf for low, high in pairwise((0.0, *numbers))):
        raise refusal(name, values, "be finite numbers above 0, increasing")
    return numbers


def refuse_masked(name: str, values: Any) -> None:
    """Refuse masked entries, which NumPy's functions would take for what lies below the mask.

    Examples
    --------
    >>> refuse_masked("y", np.ma.masked_array([1.0, -999.0], [False, True]))
    Traceback (most recent call last):
    ValueError: y: holds masked values; fill them in or leave their rows out
    """
    if np.ma.is_masked(values):
        raise ValueError(f"{name}: holds masked values; fill them in or leave their rows out")


def check_reals(name: str, values: ArrayLike, shape: str) -> np.ndarray:
    """Return real numbers, of whatever shape, as an array of floats; `shape` says what is wanted.

    Examples
    --------
    >>> check_reals("signs", ["up", "down"], "(width,)")
    Traceback (most recent call last):
    ValueError: signs: must be an array of real numbers, of shape (width,)
    """
    refuse_masked(name, values)
    given = as_numbers(values)
    if given is None:
        raise ValueError(f"{name}: must be an array of real numbers, of shape {shape}")
    return given


def check_array(name: str, values: ArrayLike, shape: tuple[int | str, ...]) -> np.ndarray:
    """Return finite real numbers of a shape as an array of floats; words stand for any size of at least 1.

    Examples
    --------
    >>> check_array("beta", [1, 2], (2,))
    array([1., 2.])
    >>> check_array("bulk", [1, 2], ("d", "d"))
    Traceback (most recent call last):
    ValueError: bulk: shape (2,), must be (d, d)
    """
    wanted = f"({', '.join(map(str, shape))}{',' * (len(shape) == 1)})"
    array = check_reals(name, values, wanted)
    sizes = dict(zip(shape, array.shape, strict=False))  # a word that comes twice is one size
    fits = all(
        given == (sizes[size] or 1) if isinstance(size, str) else given == size
        for size, given in zip(shape, array.shape, strict=False)
    )
    if array.ndim != len(shape) or not fits:
        raise ValueError(f"{name}: shape {array.shape}, must be {wanted}")
    if not np.isfinite(array).all():
        raise ValueError(f"{name}: holds NaN or infinity, every entry must be finite")
    return array


def check_columns(name: str, values: ArrayLike, rows: int) -> np.ndarray:
    """Return a finite vector or matrix with that many rows as columns, (rows, outputs).

    Examples
    --------
    >>> check_columns("beta", [1.0, 2.0], 2).shape
    (2, 1)
    """
    wanted = f"({rows},) or ({rows}, outputs)"
    array = check_reals(name, values, wanted)
    if array.ndim not in (1, 2) or len(array) != rows or array.size == 0:
        raise ValueError(f"{name}: shape {array.shape}, must be {wanted}")
    return check_array(name, array.reshape(rows, -1), (rows, "outputs"))


def check_matrix(name: str, values: ArrayLike) -> np.ndarray:
    """Return a finite floating-point matrix with at least one row and column, in its own precision."""
    refuse_masked(name, values)
    try:
        x = np.asarray(values)
    except (ValueError, TypeError):
        raise ValueError(f"{name}: must be a matrix of real numbers (samples, features)") from None
    if x.ndim != 2 or 0 in x.shape:
        raise ValueError(f"{name}: shape {x.shape}; must be two-dimensional (samples, features), not empty")
    if x.dtype.kind not in "biuf":
        raise ValueError(f"{name}: of type {x.dtype}; must be real numbers")
    if x.dtype.kind != "f":
        x = x.astype(float)
    if not np.isfinite(x).all():
        raise ValueError(f"{name}: {int((~np.isfinite(x)).sum())} values are NaN or infinite")
    return x


def check_orthonormal(name: str, directions: ArrayLike, shape: tuple[int, int]) -> np.ndarray:
    """Return directions of that shape with orthonormal columns."""
    theta = check_array(name, directions, shape)
    error = float(np.abs(theta.T @ theta - np.eye(shape[1])).max(initial=0.0))
    if not error <= 1e-8:
        raise ValueError(f"{name}: columns are not orthonormal, off by {error:.3g} (at most 1e-08)")
    return theta


def check_neurons(
    directions: ArrayLike, signs: ArrayLike | None, dimension: int, name: str = "directions"
) -> tuple[np.ndarray, np.ndarray]:
    """Return first-layer rows (h × D) and second-layer signs ±1 (h), or say what is wrong with them.

    The rows are called `name` where they are refused; without signs all are +1.

    Examples
    --------
    >>> check_neurons([[0.0, 0.0]], [1], 2)
    Traceback (most recent call last):
    ValueError: directions[0] = 0: a neuron must not have zero length
    """
    W = np.ascontiguousarray(check_reals(name, directions, f"(width, {dimension})"))
    if W.ndim != 2 or W.shape[0] == 0 or W.shape[1] != dimension:
        raise ValueError(f"{name}: shape {W.shape}, must be (width, {dimension}) with width at least 1")
    check_rows(name, W, "a neuron must not have zero length")
    if signs is None:
        return W, np.ones(len(W))
    return W, check_signs("signs", signs, len(W), "sign", "neuron")


def check_rows(name: str, rows: np.ndarray, why: str) -> None:
    """Refuse a row that is not finite, or zero: `why` says what is wrong with zeros."""
    finite = np.isfinite(rows).all(axis=1)
    if not finite.all():
        raise ValueError(f"{name}[{np.argmin(finite)}]: holds NaN or infinity, every entry must be finite")
    if not (filled := rows.any(axis=1)).all():
        raise ValueError(f"{name}[{np.argmin(filled)}] = 0: {why}")


def check_signs(name: str, values: ArrayLike, count: int, word: str, each: str) -> np.ndarray:
    """Return `count` numbers +1 or -1, one `word` for `each`, as floats."""
    signs = check_reals(name, values, f"({count},)")
    if signs.shape != (count,):
        raise ValueError(f"{name}: shape {signs.shape}, must be ({count},), one {word} per {each}")
    if (wrong := np.flatnonzero(np.abs(signs) != 1)).size:
        raise ValueError(f"{name}[{wrong[0]}] = {signs[wrong[0]]:g}: a {word} must be +1 or -1")
    return signs


def check_memory(sizes: str, need: float, growth: str) -> None:
    """Refuse a computation of sizes that need more memory than four fifths of what is free."""
    import psutil

    free = psutil.virtual_memory().available
    if need > 0.8 * free:
        raise ValueError(
            f"{sizes}: needs {need / 1e9:.1f} GB of memory and {free / 1e9:.1f} GB is free; "
            f"memory grows as {growth}"
        )


def as_numbers(values: Any) -> np.ndarray | None:
    """Return an array of real numbers as floats, or None if that is not what it is.

    Examples
    --------
    >>> as_numbers([1, 2]), as_numbers("a"), as_numbers([[1], [2, 3]]), as_numbers([1j])
    (array([1., 2.]), None, None, None)
    """
    try:
        array = np.asarray(values)
        if array.dtype.kind == "O":  # integers beyond 64 bits are numbers too
            array = np.asarray([_float(value) for value in array.ravel()]).reshape(array.shape)
            return array if not np.isnan(array).any() else None
    except (TypeError, ValueError):  # ragged
        return None
    with np.errstate(over="ignore"):  # more than a float64 holds is infinite
        return np.asarray(array, dtype=float) if array.dtype.kind in "iuf" else None


def _float(value: Any) -> float:
    """Return a real number as a float, NaN if it is none or too large to be one."""
    try:
        plain = isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)
        return float(value) if plain else nan
    except OverflowError:
        return nan


def _interval(low: float, high: float, above: float, below: float) -> str:
    left, right = max(low, above), min(high, below)
    if isinf(left) and isinf(right):
        return "a finite number"
    if isinf(right):
        return f"a number of at least {low:g}" if low > above else f"a number above {above:g}"
    if isinf(left):
        return f"a number of at most {high:g}" if high < below else f"a number below {below:g}"
    return f"a number in {'[' if low > above else '('}{left:g}, {right:g}{']' if high < below else ')'}"
