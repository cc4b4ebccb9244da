"""Refusals of bad numbers: each names the field, the value, and what is allowed."""

import math
from numbers import Real

import numpy as np


def check_real(name: str, value: object, above: float = -math.inf, most: float = math.inf) -> float:
    """Return a finite number above `above` and at most `most` as a float, or say what is wrong with it.

    Examples
    --------
    >>> check_real("mu", 0.5, 0.0, 1.0)
    0.5
    >>> check_real("mu", "a", 0.0, 1.0)
    Traceback (most recent call last):
    ValueError: mu = 'a': must be a number in (0, 1]
    """
    number = float(value) if isinstance(value, Real) and not isinstance(value, bool) else math.nan
    if not (math.isfinite(number) and above < number <= most):
        allowed = "a finite number" if math.isinf(above) else f"a number in ({above:g}, {most:g}]"
        raise ValueError(f"{name} = {value!r}: must be {allowed}")
    return number


def as_numbers(values: object) -> np.ndarray | None:
    """Return an array of real numbers as floats, or None if that is not what it is.

    Examples
    --------
    >>> as_numbers([1, 2]), as_numbers("a"), as_numbers([[1], [2, 3]]), as_numbers([1j])
    (array([1., 2.]), None, None, None)
    """
    try:
        found = np.asarray(values)
    except ValueError:  # ragged
        return None
    return found.astype(float) if found.dtype.kind in "iuf" else None
