"""Bicubic splines of several functions on one even grid, looked up by compiled code."""

from collections.abc import Sequence

import numpy as np
from numba import njit
from scipy.interpolate import make_interp_spline


class Bicubic:
    """Interpolate tables of several functions at once.

    Their pieces meet at even steps, so a point finds its own by a division; SciPy's splines search for it,
    and take five times as long. Beyond the grid the outermost pieces go on.

    Parameters
    ----------
    ends : ndarray, shape (2, 2)
        First and last place along each of the two axes.
    counts : sequence of int
        Pieces along each.

    Attributes
    ----------
    nodes : tuple of ndarray
        Where the functions must be known along each axis: the ends of the pieces, and the middles of the
        first and the last, which decide what else would be left open.

    Examples
    --------
    >>> spline = Bicubic(np.array([[0.0, 2.0], [-1.0, 1.0]]), (4, 5))
    >>> x, y = np.meshgrid(*spline.nodes, indexing="ij")
    >>> spline.fit(np.stack([x**3 * y, x + y**2], axis=-1))
    >>> spline(np.array([0.3, 1.1]), np.array([0.5, -0.7])).tolist()
    [[0.0135, -0.9317], [0.55, 1.59]]
    """

    def __init__(self, ends: np.ndarray, counts: Sequence[int]) -> None:
        self._low, self._step = ends[:, 0], np.diff(ends, axis=1)[:, 0] / counts
        grids = [np.linspace(end[0], end[1], count + 1) for end, count in zip(ends, counts, strict=True)]
        middles = [grid[[0, -2]] + 0.5 * step for grid, step in zip(grids, self._step, strict=True)]
        self.nodes = tuple(np.sort(np.append(*parts)) for parts in zip(grids, middles, strict=True))
        outside = np.arange(1, 4)
        self._knots = [
            np.concatenate([grid[0] - step * outside[::-1], grid, grid[-1] + step * outside])
            for grid, step in zip(grids, self._step, strict=True)
        ]

    def fit(self, table: np.ndarray) -> None:
        """Take the functions' values at the nodes, shape (nodes, nodes, functions)."""
        for axis, (nodes, knots) in enumerate(zip(self.nodes, self._knots, strict=True)):
            along = make_interp_spline(nodes, table, t=knots, axis=axis)
            table = np.moveaxis(along.c, 0, axis)
        self._coefficients = np.ascontiguousarray(np.moveaxis(table, -1, 0))

    def __call__(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return the functions at places x and y that broadcast, shape (functions, ...)."""
        x, y = np.broadcast_arrays(x, y)
        values = np.empty((len(self._coefficients), x.size))
        _look_up(self._coefficients, self._low, 1 / self._step, x.ravel(), y.ravel(), values)
        return values.reshape(-1, *x.shape)


@njit(nogil=True, cache=True, error_model="numpy")
def _look_up(coefficients, low, rate, x, y, values):  # type: ignore[no-untyped-def]
    functions, rows, columns = coefficients.shape
    flat = coefficients.reshape(-1)
    for k in range(len(x)):
        u, v = (x[k] - low[0]) * rate[0], (y[k] - low[1]) * rate[1]
        if not np.isfinite(u + v):
            values[:, k] = np.nan
            continue
        i, j = int(min(max(u, 0.0), rows - 4.0)), int(min(max(v, 0.0), columns - 4.0))
        a0, a1, a2, a3 = _weights(u - i)
        b0, b1, b2, b3 = _weights(v - j)
        for f in range(functions):
            p = (f * rows + i) * columns + j
            q, r, s = p + columns, p + 2 * columns, p + 3 * columns
            values[f, k] = (
                b0 * (a0 * flat[p] + a1 * flat[q] + a2 * flat[r] + a3 * flat[s])
                + b1 * (a0 * flat[p + 1] + a1 * flat[q + 1] + a2 * flat[r + 1] + a3 * flat[s + 1])
                + b2 * (a0 * flat[p + 2] + a1 * flat[q + 2] + a2 * flat[r + 2] + a3 * flat[s + 2])
                + b3 * (a0 * flat[p + 3] + a1 * flat[q + 3] + a2 * flat[r + 3] + a3 * flat[s + 3])
            )


@njit(nogil=True, cache=True)
def _weights(t):  # type: ignore[no-untyped-def]
    """Return the four cubic B-splines of even knots that do not vanish on a piece, at its part t."""
    s = 1 - t
    return (
        s * s * s / 6,
        (t * t * (3 * t - 6) + 4) / 6,
        (s * s * (3 * s - 6) + 4) / 6,
        t * t * t / 6,
    )
