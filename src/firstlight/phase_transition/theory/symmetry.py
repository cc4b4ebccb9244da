"""Symmetries that prove directions hard: half-turns of the hidden coordinates that leave the label as it is.

Let T keep the easy directions and turn the hard ones round, z_H -> -z_H. If φ∘T = φ, then the law of
(label, g_E, g_H) is that of (label, g_E, -g_H), noise or not: E[g_H | label, g_E] = 0, and no label ever
shows g_H in the mean. The symmetry also fixes the easy directions to rounding, which no sample could: without
noise the slightest tilt of them would show the rest.
"""

from itertools import product

import numpy as np

from firstlight.data.multi_index import MultiIndex

_POINTS = 4096
_LINES = 256
_BISECTIONS = 52
_SHIFT = 1e-6  # of directions, for the derivatives of crossings: between rounding and curvature
_STEPS = 12  # of Newton's method; from a tilt of 0.1 it takes five
_POLISH = 2  # more of them, after which only rounding is left
_PATTERNS = 6  # hard directions whose signs are tried one by one


def rounding(target: MultiIndex, x: np.ndarray, size: float = 1e-13) -> np.ndarray:
    """Return by how much labels at the points x change when these are off by `size`, and in the last digits.

    The sum over coordinates, so that none hides another one; of each the smaller one of two changes, to both
    sides: the other may cross a jump.
    """
    points = x.reshape(-1, x.shape[-1])
    starts = range(0, max(len(points), 1), _POINTS)
    parts = [_rounding(target, points[start : start + _POINTS], size) for start in starts]
    return np.concatenate(parts).reshape(x.shape[:-1])


def _rounding(target: MultiIndex, x: np.ndarray, size: float) -> np.ndarray:
    n, k = x.shape
    points = np.empty((k, 2 * k + 1, n))  # the points, and both sides of each coordinate
    for i, (coordinate, column) in enumerate(zip(points, x.T, strict=True)):
        shake = size * (1 + np.abs(column))
        coordinate[:] = column
        coordinate[1 + i] += shake
        coordinate[1 + k + i] -= shake
    # in one call: for the few points that most callers have it costs more than the points
    labels = target.law(points.transpose(1, 2, 0))
    with np.errstate(invalid="ignore"):  # a label may overflow far out
        y, changes = labels[0], np.abs(labels[1:] - labels[0])
        least = np.minimum(changes[:k], changes[k:])
        total = np.where(np.isfinite(least), least, 0.0).sum(axis=0)
        return np.maximum(total, 4 * np.spacing(np.abs(y)))


def leaves(target: MultiIndex, turn: np.ndarray) -> bool:
    """Tell whether φ(turn z) = φ(z) to rounding at every one of some thousand points, half of them far out.

    Examples
    --------
    >>> leaves(MultiIndex("z1 + abs(z2)"), np.diag([1.0, -1.0])), leaves(MultiIndex("z1"), -np.eye(1))
    (True, False)
    """
    z = np.random.default_rng(2).standard_normal((_POINTS, target.directions))
    z[::2] *= 2
    y, turned = target.law(z), target.law(z @ turn.T)
    with np.errstate(invalid="ignore"):
        slack = np.maximum(rounding(target, z), rounding(target, z @ turn.T))
        slack += np.spacing(np.median(np.abs(y)))  # a small label may be a difference of others
        same = np.abs(turned - y) <= 4 * slack
    return bool(np.all(same | (turned == y) | ~(np.isfinite(y) | np.isfinite(turned))))


def half_turn(kept: np.ndarray) -> np.ndarray:
    """Return the orthogonal matrix that keeps the span of the columns and turns the rest round."""
    return 2 * kept @ kept.T - np.eye(len(kept))


def proves_hard(target: MultiIndex, known: np.ndarray, hard: np.ndarray) -> bool:
    """Tell whether symmetries prove that the label never shows any of `hard`, given the coordinates `known`.

    Each column must be turned round by some sign pattern of the columns that leaves the label: all of them at
    once, as in z1*z2, or pairs, as in sign(z1*z2*z3).
    """
    if leaves(target, half_turn(known)):
        return True
    left = set(range(hard.shape[1]))
    patterns = product([False, True], repeat=len(left)) if 1 < len(left) <= _PATTERNS else ()
    for pattern in patterns:
        turned = {i for i, flipped in enumerate(pattern) if flipped}
        axes = hard[:, list(turned)]
        if turned & left and leaves(target, np.eye(len(hard)) - 2 * axes @ axes.T):
            left -= turned
    return not left


def proves_silent(target: MultiIndex, known: np.ndarray, hard: np.ndarray) -> bool:
    """Tell whether symmetries prove that the label says nothing about g_H g_Hᵀ either, given `known`.

    Squares: given g_E the label has two values, which a sign pattern of the hard columns swaps; so the
    squares have the same mean for both, which is 1. Products: for each pair a pattern that leaves the label
    turns one of them round. Columns are those of `hard`, or the linear forms of a text.

    Examples
    --------
    >>> frame = np.eye(3)
    >>> [proves_silent(MultiIndex(t), frame[:, :0], frame) for t in ("sign(z1*z2*z3)", "z1*z2*z3")]
    [True, False]
    """
    forms = target.linear_forms
    frames = [hard]
    if forms is not None:
        across = forms[:, np.abs(known.T @ forms).max(axis=0, initial=0.0) < 1e-9]
        frames.append(across[:, np.triu(np.abs(across.T @ across) > 1 - 1e-9, 1).sum(axis=0) == 0])
    return any(_silent(target, known, frame) for frame in frames if frame.shape[1] == hard.shape[1])


def _silent(target: MultiIndex, known: np.ndarray, hard: np.ndarray) -> bool:
    count = hard.shape[1]
    if count > _PATTERNS or np.abs(hard.T @ hard - np.eye(count)).max() > 1e-9:
        return False
    flips = [np.array(pattern) for pattern in product([False, True], repeat=count)][1:]
    turns = [np.eye(len(hard)) - 2 * hard[:, flip] @ hard[:, flip].T for flip in flips]
    leaving = [flip for flip, turn in zip(flips, turns, strict=True) if leaves(target, turn)]
    products = all(any(f[a] != f[b] for f in leaving) for a in range(count) for b in range(a))
    return products and any(_swaps(target, known, turn) for turn in turns)


def _swaps(target: MultiIndex, known: np.ndarray, turn: np.ndarray) -> bool:
    """Tell whether given the coordinates `known` the label has two values, and the turn swaps them."""
    z = np.random.default_rng(3).standard_normal((64, 64, target.directions))
    z[:, ::2] *= 2
    z += (z[:, :1] - z) @ known @ known.T
    y, turned = target.law(z), target.law(z @ turn.T)
    slack = 1e-9 * (np.abs(y).max(axis=1, keepdims=True) + np.abs(turned).max(axis=1, keepdims=True))
    low, high = y.min(axis=1, keepdims=True), y.max(axis=1, keepdims=True)
    two = (np.abs(y - low) <= slack) | (np.abs(y - high) <= slack)
    return bool(np.all(two & (np.abs(turned - (low + high - y)) <= slack) & (high - low > 4 * slack)))


def settled(target: MultiIndex, basis: np.ndarray) -> np.ndarray | None:
    """Return the basis near `basis` (k, e) of which a half-turn leaves the label, to rounding; None if none.

    On a line between two points the label crosses the level half-way between its values there, and on the
    turned line at the same share of the way. The shares are smooth functions of the basis, for labels that
    are smooth and labels that jump alike: Newton's method, over the better half of many lines.

    Examples
    --------
    >>> target = MultiIndex("0.6*z1 + 0.8*z2 + sign(abs(0.8*z1 - 0.6*z2) - 1)")
    >>> settled(target, np.array([[0.64], [0.77]])).ravel().tolist()
    [0.6000, 0.8000]
    >>> settled(target, np.array([[1.0], [0.0]])) is None
    True
    """
    frame = np.linalg.qr(basis)[0] * np.sign(np.diag(np.linalg.qr(basis)[1])) if basis.size else basis
    ends = 1.5 * np.random.default_rng(0).standard_normal((2, _LINES, target.directions))
    first, last = target.law(ends)
    usable = np.isfinite(first) & np.isfinite(last) & (first != last)
    ends, level = ends[:, usable], 0.5 * (first + last)[usable]
    share = crossing(target, ends, level)
    left = _STEPS if basis.size else 0
    proved = leaves(target, half_turn(frame))
    while left and level.size:
        frame = _closer(target, frame, ends, level, share)
        left -= 1
        if not proved and leaves(target, half_turn(frame)):
            proved, left = True, _POLISH
    proved = leaves(target, half_turn(frame))
    return frame if proved else None


def _closer(
    target: MultiIndex, basis: np.ndarray, ends: np.ndarray, level: np.ndarray, share: np.ndarray
) -> np.ndarray:
    """Return the basis after one step of Newton's method."""
    e = basis.shape[1]
    across = np.linalg.svd(basis)[0][:, e:]

    def turned(basis: np.ndarray) -> np.ndarray:
        return crossing(target, ends @ half_turn(np.linalg.qr(basis)[0]), level)

    here = turned(basis)
    shifts = [np.outer(axis, unit) for axis in across.T for unit in np.eye(e)]
    slopes = np.array([(turned(basis + _SHIFT * shift) - here) / _SHIFT for shift in shifts]).T
    miss = share - here
    kept = np.abs(miss) <= np.median(np.abs(miss))  # the others may have met another branch
    kept &= np.linalg.norm(slopes, axis=1) < 1e3
    step = np.linalg.lstsq(slopes[kept], miss[kept], rcond=1e-6)[0]
    step *= min(1.0, 0.3 / max(float(np.linalg.norm(step)), 1e-300))
    u, _, vt = np.linalg.svd(basis + across @ step.reshape(across.shape[1], e), full_matrices=False)
    return u @ vt  # the nearest orthonormal columns


def crossing(target: MultiIndex, ends: np.ndarray, level: np.ndarray) -> np.ndarray:
    """Bisect for where the label crosses `level` between two points, as a share of the way."""
    first, last = ends
    low, high = np.zeros(len(level)), np.ones(len(level))
    start = target.law(first) < level
    for _ in range(_BISECTIONS):
        middle = 0.5 * (low + high)
        same = (target.law(first + middle[:, None] * (last - first)) < level) == start
        low, high = np.where(same, middle, low), np.where(same, high, middle)
    return 0.5 * (low + high)
