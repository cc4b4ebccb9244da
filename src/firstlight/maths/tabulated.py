"""A derivative that is costly to compute, and its own derivative, from a table."""

from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np
from scipy.interpolate import CubicSpline

Function = Callable[[np.ndarray], np.ndarray]

_REACH = 40.0  # beyond, the function itself is asked
_STEP = 1 / 256
_ACCURATE = 1e-8  # relative; otherwise the function itself is always asked


def tabulated(first: Function, second: Function, kinks: Sequence[float]) -> tuple[Function, Function]:
    """Return σ' and σ'' from cubic splines through σ' between the kinks, if these are accurate to 1e-8.

    At a kink they take the limit from the left.

    Examples
    --------
    >>> sin, cos = tabulated(np.sin, np.cos, ())
    >>> z = np.linspace(-9, 9, 999)
    >>> bool(abs(sin(z) - np.sin(z)).max() < 1e-10), bool(abs(cos(z) - np.cos(z)).max() < 1e-7)
    (True, True)
    """
    ends = np.array([-_REACH, *(kink for kink in kinks if abs(kink) < _REACH), _REACH])
    coefficients: list[np.ndarray] = []
    starts, steps = [], []
    for low, high in pairwise(ends):
        nodes = np.linspace(low, high, max(round((high - low) / _STEP), 8) + 1)
        middle = 0.5 * (nodes[1:] + nodes[:-1])
        values = first(np.append(np.nextafter(low, high), nodes[1:]))
        spline = CubicSpline(nodes, values)
        gap = np.abs(spline(middle) - first(middle)).max()
        if not gap <= _ACCURATE * (1 + np.abs(values).max()):
            return first, second
        starts.append(sum(c.shape[1] for c in coefficients))
        coefficients.append(spline.c)
        steps.append(nodes[1] - nodes[0])
    table, offset, step = np.hstack(coefficients), np.array(starts), np.array(steps)

    def place(z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the cubics to take, and where on them."""
        cell = np.searchsorted(ends[1:-1], z, side="left") if len(step) > 1 else 0
        along = (np.clip(z, -_REACH, _REACH) - ends[cell]) / step[cell]
        index = np.minimum(along.astype(int), (np.append(offset[1:], table.shape[1]) - offset)[cell] - 1)
        return table[:, offset[cell] + index], (along - index) * step[cell]

    def with_far(values: np.ndarray, z: np.ndarray, exact: Function) -> np.ndarray:
        far = np.abs(z) > _REACH
        if far.any():
            values[far] = exact(z[far])
        return values

    def slope(z: np.ndarray) -> np.ndarray:
        (a, b, c, d), u = place(z)
        return with_far(((a * u + b) * u + c) * u + d, z, first)

    def bend(z: np.ndarray) -> np.ndarray:
        (a, b, c, _), u = place(z)
        return with_far((3 * a * u + 2 * b) * u + c, z, second)

    return slope, bend
