"""The directions that a target depends on, to rounding: at all, or where it levels off along others."""

import numpy as np

from firstlight.data.multi_index import MultiIndex

_PAIRS = 256
_SHIFT = 1e-4
_BISECTIONS = 48
_NEVER = 1e-12  # mean square part of the crossings' derivatives: rounding makes 1e-16
_PROBES = 8192
_CONSTANT = 1e-9  # a label that changes by less than this share of its gradient does not by chance


def relevant_directions(target: MultiIndex) -> np.ndarray:
    """Return an orthonormal basis (k, r) of the directions along which the target ever changes.

    On a line between two points the target crosses the level half-way between its values there. Where the
    crossing lies depends on shifts of the line through relevant directions only, so its derivatives span
    them: for smooth targets and for jumps alike, up to rounding. Coordinate axes where possible; all of them
    if too few crossings are well-behaved.

    Examples
    --------
    >>> relevant_directions(MultiIndex("sign(z1 + z2)")).ravel().tolist()
    [0.707107, 0.707107]
    >>> relevant_directions(MultiIndex("z1**2 + 0*z2")).tolist()
    [[1.0], [0.0]]
    """
    k = target.directions
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
    ever = strength > _NEVER
    return np.eye(k) if _changes(target, axes[:, ~ever]) else axes_of(axes[:, ever])


def _changes(target: MultiIndex, axes: np.ndarray) -> bool:
    """Tell whether the label changes along `axes` after all, say at small jumps that no line met."""
    z = np.random.default_rng(1).standard_normal((_PROBES, target.directions))
    y = target.law(z)
    scale = 1e-5 * (np.abs(y) + np.median(np.abs(y)))  # the axes are off by 1e-8, which poles magnify
    with np.errstate(invalid="ignore"):  # labels that overflow tell nothing
        return any(np.mean(np.abs(target.law(z + axis) - y) > scale) > 1e-3 for axis in axes.T)


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


def straightened(target: MultiIndex, basis: np.ndarray, tilt: float) -> np.ndarray:
    """Return `basis` (k, e) freed of an error up to `tilt`, where the target itself tells.

    Suppose that in some region the label depends on the coordinates along the true directions only, as
    z1 + sign(z2) does on z1. Conditioning on a tilted direction would then show what is hidden, for labels
    without noise. But in that region the label's change over a step across is all due to the tilt, and so
    gives it, by Newton's method to rounding. Without such a region the basis stays: there a small tilt does
    little.

    Examples
    --------
    >>> target = MultiIndex("0.6*z1 + 0.8*z2 + sign(abs(0.8*z1 - 0.6*z2) - 1)")
    >>> straightened(target, np.array([[0.6002], [0.79985]]), 1e-3).tolist()
    [[0.6000], [0.8000]]
    """
    rng = np.random.default_rng(0)
    z = 2 * rng.standard_normal((_PROBES, target.directions))  # labels that level off do so far out
    step = rng.choice([-0.3, 0.3], _PROBES)
    found = basis
    for tolerance in np.geomspace(max(tilt, _CONSTANT), 1e-4 * _CONSTANT, 12):
        across = np.linalg.svd(found)[0][:, found.shape[1] :]
        with np.errstate(invalid="ignore", over="ignore"):  # labels that overflow are left out
            tilts = _tilts(target, found, across, z, step, tolerance)
        if tilts is None:
            found = basis if tolerance > _CONSTANT else found
            break
        u, _, vt = np.linalg.svd(found + across @ tilts, full_matrices=False)
        found = u @ vt  # the nearest orthonormal columns
    return basis if np.abs(found - basis).max(initial=0.0) < 1e-13 else found


def _tilts(
    target: MultiIndex,
    basis: np.ndarray,
    across: np.ndarray,
    z: np.ndarray,
    step: np.ndarray,
    tolerance: float,
) -> np.ndarray | None:
    """Fit the parts of the true directions along `across`, to labels that change by less than `tolerance`."""
    shifts = _SHIFT * basis.T[:, None]
    gradient = ((target.law(z + shifts) - target.law(z - shifts)) / (2 * _SHIFT)).T
    size = np.linalg.norm(gradient, axis=1)
    tilts = np.zeros((across.shape[1], basis.shape[1]))
    for row, axis in zip(tilts, across.T, strict=True):
        change = (target.law(z + step[:, None] * axis) - target.law(z)) / step
        seen = np.isfinite(size) & (size > 0) & (np.abs(change) <= tolerance * size)
        if seen.sum() < 8 * basis.shape[1]:
            return None
        scale = size[seen, None]
        row[:] = np.linalg.lstsq(gradient[seen] / scale, change[seen] / scale[:, 0], rcond=1e-3)[0]
    return tilts


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
