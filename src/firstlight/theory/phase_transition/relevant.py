"""The directions that a target depends on at all, to rounding."""

import numpy as np

from firstlight.data.multi_index import MultiIndex

_PAIRS = 256
_SHIFT = 1e-4
_BISECTIONS = 48
_NEVER = 1e-12  # mean square part of the crossings' derivatives: rounding makes 1e-16


def relevant_directions(target: MultiIndex) -> np.ndarray:
    """Return an orthonormal basis (k, r) of the directions along which the target ever changes.

    On a line between two points the target crosses the level half-way between its values there. Where the
    crossing lies depends on shifts of the line through relevant directions only, so its derivatives span
    them: for smooth targets and for jumps alike, up to rounding. Coordinate axes where possible; all of them
    if too few crossings are well-behaved.

    Examples
    --------
    >>> relevant_directions(MultiIndex("sign(z1 + z2)")).round(6).ravel().tolist()
    [0.707107, 0.707107]
    >>> relevant_directions(MultiIndex("z1**2 + 0*z2")).tolist()
    [[1.0], [0.0]]
    """
    k = target.k
    if k == 1:
        return np.eye(1)
    rng = np.random.default_rng(0)
    ends = rng.standard_normal((2, _PAIRS, k))
    ends = ends[:, target.law(ends[0]) != target.law(ends[1])]
    level = 0.5 * (target.law(ends[0]) + target.law(ends[1]))
    centre = _crossing(target, ends, level)
    moved = np.array(
        [[_crossing(target, ends + s * axis, level) for s in (-_SHIFT, _SHIFT)] for axis in np.eye(k)]
    )
    slope = (moved[:, 1] - moved[:, 0]).T / (2 * _SHIFT)
    bend = np.abs(moved[:, 1] + moved[:, 0] - 2 * centre).max(axis=0, initial=0.0)
    size = np.linalg.norm(slope, axis=1)
    smooth = (
        (bend < 1e-5) & (size > 1e-3) & (size < 1e2)
    )  # a crossing that jumps to another branch tells nothing
    if smooth.sum() < 4 * k:
        return np.eye(k)
    normals = slope[smooth] / size[smooth, None]
    strength, axes = np.linalg.eigh(normals.T @ normals / smooth.sum())
    return axes_of(axes[:, strength > _NEVER])


def _crossing(target: MultiIndex, ends: np.ndarray, level: np.ndarray) -> np.ndarray:
    """Bisect for where the target crosses `level` between two points, as a share of the way."""
    first, last = ends
    low, high = np.zeros(len(level)), np.ones(len(level))
    start = target.law(first) < level
    for _ in range(_BISECTIONS):
        middle = 0.5 * (low + high)
        same = (target.law(first + middle[:, None] * (last - first)) < level) == start
        low, high = np.where(same, middle, low), np.where(same, high, middle)
    return 0.5 * (low + high)


def axes_of(basis: np.ndarray) -> np.ndarray:
    """Return another orthonormal basis of the same space, of coordinate axes where possible."""
    k, size = basis.shape
    projector = basis @ basis.T
    columns = np.zeros((k, 0))
    for axis in np.argsort(-np.diag(projector).round(9), kind="stable"):
        rest = projector[:, axis] - columns @ (columns.T @ projector[:, axis])
        length = np.linalg.norm(rest)
        if columns.shape[1] < size and length > 1e-6:
            columns = np.hstack([columns, (rest / length)[:, None]])
    return np.where(np.abs(columns) < 1e-8, 0.0, columns)
