"""The directions that a target depends on, to rounding."""

import numpy as np

from firstlight.data.multi_index import MultiIndex
from firstlight.phase_transition.theory.symmetry import crossing

_PAIRS = 256
_SHIFT = 1e-4
_NEVER = 1e-12  # mean square part of the crossings' derivatives: rounding makes 1e-16
_PROBES = 8192
_LINES, _FAR = 32, 6.0  # along a direction that seems to have no part, and how far they go


def relevant_directions(target: MultiIndex) -> np.ndarray:
    """Return an orthonormal basis (k, r) of the directions along which the target ever changes.

    On a line between two points the target crosses the level half-way between its values there. Where the
    crossing lies depends on shifts of the line through relevant directions only, so its derivatives span
    them: for smooth targets and for jumps alike, up to rounding. Coordinate axes where possible; all of them
    if too few crossings are well-behaved.

    That a direction has no part is a claim. A text proves it: it is a function of its linear forms, and
    what these span is returned where the crossings show less. For a function, lines along the direction are
    looked at closely.

    Examples
    --------
    >>> relevant_directions(MultiIndex("sign(z1 + z2)")).ravel().tolist()
    [0.707107, 0.707107]
    >>> relevant_directions(MultiIndex("z1**2 + 0*z2")).tolist()
    [[1.0], [0.0]]
    """
    forms = target.linear_forms
    if forms is None:
        return _crossed(target)
    axes, strength, _ = np.linalg.svd(forms, full_matrices=False)
    named = axes[:, strength > 1e-9]
    crossed = _crossed(target)
    return crossed if crossed.shape[1] == named.shape[1] else axes_of(named)


def _crossed(target: MultiIndex) -> np.ndarray:
    """Return a basis of the directions that the derivatives of crossings show."""
    k = target.directions
    if k == 1:
        return np.eye(1)
    rng = np.random.default_rng(0)
    ends = rng.standard_normal((2, _PROBES, k))  # so many that narrow features are among them
    ends = ends[:, target.law(ends[0]) != target.law(ends[1])][:, :_PAIRS]
    level = 0.5 * (target.law(ends[0]) + target.law(ends[1]))
    centre = crossing(target, ends, level)
    moved = np.array(
        [[crossing(target, ends + s * axis, level) for s in (-_SHIFT, _SHIFT)] for axis in np.eye(k)]
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
    """Tell whether the label changes along `axes` after all, say at narrow features that no line met."""
    z = np.random.default_rng(1).standard_normal((_LINES, 1, target.directions))
    y = target.law(z)
    scale = np.abs(y) + np.median(np.abs(y))
    steps = np.linspace(-_FAR, _FAR, _PROBES)[:, None]
    with np.errstate(invalid="ignore"):  # labels that overflow tell nothing
        moves = (np.abs(target.law(z + steps * axis) - y) for axis in axes.T)
        # the axes are off by 1e-8, which poles magnify
        return any((move > 1e-6 * scale)[scale[:, 0] < 1e3 * np.median(scale)].any() for move in moves)


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
