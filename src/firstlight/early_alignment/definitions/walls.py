"""Which data share a wall: those on one line through 0; and how much of each acts on a neuron held there."""

import numpy as np
from scipy.optimize import lsq_linear

ON_WALL = 4e-16  # cosine of a row and a datum up to which the row lies on the datum's wall, but for rounding
_APART = 1e-13  # distance of unit vectors below which they are one but for rounding


def common_walls(X: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
    """Return for each datum the first on whose wall it is, and its side of it, ±1; None if all walls differ.

    Data of one wall have one place, but for a sign, along any direction: only neighbours there are compared.

    Examples
    --------
    >>> [part.tolist() for part in common_walls(np.array([[1.0, 2], [3, 1], [-2, -4]]))]
    [[0, 1, 0], [1.0, 1.0, -1.0]]
    """
    units = X / np.abs(X).max(axis=1, keepdims=True)
    along = np.cos(np.arange(1.0, 1 + X.shape[1]) ** 2)  # a direction like no other
    places = units @ along / np.sqrt(np.einsum("nd,nd->n", units, units))
    order = np.argsort(np.abs(places), kind="stable")
    rounding = 4 * _APART * float(np.linalg.norm(along))
    near = np.diff(np.abs(places)[order]) <= rounding
    if not near.any():
        return None
    first, side = np.arange(len(X)), np.ones(len(X))
    for run in np.split(order, np.flatnonzero(~near) + 1):
        if len(run) > 1:
            _compare(units, np.sort(run), first, side)
    if (first == np.arange(len(X))).all():
        return None
    return first, side


def _compare(units: np.ndarray, run: np.ndarray, first: np.ndarray, side: np.ndarray) -> None:
    """Write for the data of a run the first on whose wall they are, and on which side of it."""
    rows = units[run] / np.linalg.norm(units[run], axis=1, keepdims=True)
    left = np.arange(len(run))
    while len(left):
        one = rows[left[0]]
        turn = np.where(rows[left] @ one < 0, -1.0, 1.0)
        same = np.abs(rows[left] - turn[:, None] * one).max(axis=1) <= _APART
        first[run[left[same]]], side[run[left[same]]] = run[left[0]], turn[same]
        left = left[~same]


def shortest(rest: np.ndarray, parts: np.ndarray) -> np.ndarray:
    """Return the shares, in [0, 1], of parts (rows) that make rest + shares · parts shortest.

    In units of each part: what lsq_linear takes for zero does not depend on theirs.

    Examples
    --------
    >>> shortest(np.array([1.0, 2e-9]), np.array([[-4.0, 0.0], [0.0, -8e-9]])).tolist()
    [0.2500, 0.2500]
    """
    sizes = np.linalg.norm(parts, axis=1)
    unit = sizes.max() or 1.0
    lengths = np.where(sizes > 0, sizes, unit)
    found = lsq_linear((parts / lengths[:, None]).T, -rest / unit, (0, lengths / unit), method="bvls")
    return np.asarray(np.clip(found.x * (unit / lengths), 0, 1))
