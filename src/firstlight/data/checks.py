"""Refusals of bad input: each names the field, the value, and what is allowed."""

from math import inf, isinf
from numbers import Integral, Real


def check_choice(name: str, value: object, allowed: tuple[str, ...]) -> None:
    """Raise a ValueError that names the field unless the value is one of those allowed.

    Examples
    --------
    >>> check_choice("task", "regression", ("regression", "classification"))
    """
    if value not in allowed:
        raise ValueError(f"{name} = {value!r}: must be one of {', '.join(allowed)}")


def check_count(name: str, value: object) -> None:
    """Raise a ValueError unless the value is an integer of at least 1.

    Examples
    --------
    >>> check_count("k", 5)
    """
    if isinstance(value, bool) or not isinstance(value, Integral) or value < 1:
        raise ValueError(f"{name} = {value!r}: must be an integer of at least 1")


def check_number(name: str, value: object, low: float = 0.0, high: float = inf) -> None:
    """Raise a ValueError unless the value is a finite number between `low` and `high`.

    Examples
    --------
    >>> check_number("ridge", 0.1)
    """
    known = isinstance(value, Real) and not isinstance(value, bool)
    if not known or not low <= float(value) <= high or isinf(float(value)):  # type: ignore[arg-type]
        allowed = f"be at least {low:g}" if isinf(high) else f"lie in [{low:g}, {high:g}]"
        raise ValueError(f"{name} = {value!r}: must {allowed}")
