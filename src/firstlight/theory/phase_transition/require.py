"""Refusals of bad numbers: each names the field, the value, and what is allowed."""

from math import inf
from numbers import Integral, Real


def require_number(name: str, value: object, low: float = 0.0) -> None:
    """Raise unless a number is finite and above `low`.

    Examples
    --------
    >>> require_number("delta", 3)
    """
    if isinstance(value, bool) or not isinstance(value, Real) or not low < float(value) < inf:
        raise ValueError(f"{name} = {value!r}: must be a number above {low:g}")


def require_size(name: str, value: object, low: int) -> None:
    """Raise unless a size is an integer of at least `low`.

    Examples
    --------
    >>> require_size("steps", 8, 1)
    """
    if isinstance(value, bool) or not isinstance(value, Integral) or value < low:
        raise ValueError(f"{name} = {value!r}: must be an integer of at least {low}")
