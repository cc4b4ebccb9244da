"""Refusals of bad numbers: each names the field, the value, and what is allowed."""

from math import inf
from numbers import Integral, Real

import numpy as np
from numpy.typing import ArrayLike


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


def require_memory(sizes: str, need: float, growth: str) -> None:
    """Raise if a computation of these sizes needs more memory than four fifths of what is free.

    Examples
    --------
    >>> require_memory("samples = 64", 1e3, "samples")
    """
    import psutil

    free = psutil.virtual_memory().available
    if need > 0.8 * free:
        raise ValueError(
            f"{sizes}: needs {need / 1e9:.1f} GB of memory and {free / 1e9:.1f} GB is free; "
            f"memory grows as {growth}"
        )


def require_increasing(name: str, values: ArrayLike) -> None:
    """Raise unless these are finite numbers above 0, each larger than the one before.

    Examples
    --------
    >>> require_increasing("deltas", (1, 2.5))
    """
    given = np.asarray(values)
    numbers = given.ndim == 1 and given.size > 0 and given.dtype.kind in "iuf"
    if not numbers or not (np.diff(given, prepend=0.0) > 0).all() or given[-1] == inf:
        raise ValueError(f"{name} = {values!r}: must be finite numbers above 0, increasing")
