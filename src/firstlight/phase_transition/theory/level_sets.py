"""The law of a label y = φ(z) of one normal z, cut into thin slices of y with exact conditional moments.

Each monotone stretch of φ is inverted, so that a slice of y becomes a few intervals of z; there the Gaussian
moments are differences of closed forms. Stretches on which φ is constant become atoms of y. Averages over a
slice are exact, so a sum of squares of conditional means errs only by their variation within a slice.
"""

from collections.abc import Callable
from functools import partial
from itertools import groupby
from operator import itemgetter
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr, ndtri

from firstlight.phase_transition.theory.knots import Function as LineFunction
from firstlight.phase_transition.theory.knots import directions, find_knots, spread

Function = Callable[[np.ndarray], np.ndarray]

_PROBES = ndtri((np.arange(1001) + 0.5) / 1001) + 0.1234e-3
BLUR_STEP, _BLUR_REACH = 0.25, 8.0  # in standard deviations of the noise
_SECANTS = 10  # towards each inverse
_TOGETHER = 8192  # inverses that are looked for in the same calls
_ENDS = 64  # of stretches: with more of them none is singled out
_TINY = 1e-11  # the mass of stretches that are not inverted


class Slices(NamedTuple):
    """Slices of y: a label within, the width, the mass, and the conditional means of z and z² - 1."""

    y: np.ndarray
    width: np.ndarray
    mass: np.ndarray
    first: np.ndarray
    second: np.ndarray


def level_sets(
    function: Function,
    slices: int = 4096,
    knots: int = 8192,
    rounding: Function | None = None,
    flat: float = 1e-14,
    widest: float = np.inf,
) -> Slices:
    """Cut the law of ``function(z)``, z standard normal, into slices.

    Labels may span all decades, but those whose difference drowns in rounding count as equal.

    Parameters
    ----------
    function : callable
        φ, vectorised, finite but on a null set, with finitely many jumps and turning points on (-9, 9).
    slices : int, default 4096
        How many slices the continuous part of y's law gets; atoms come on top.
    knots : int, default 8192
        Evaluations of φ between which its stretches and jumps are found.
    rounding : callable, optional
        Errors of φ at given z: smaller steps count as constant.
    flat : float, default 1e-14
        As do steps below this share of the label.
    widest : float, default infinity
        Wider slices are divided, the narrowest first, as long as there are at most 16 times `slices`.

    Examples
    --------
    >>> cut = level_sets(lambda z: z**2)
    >>> print(float((cut.mass * cut.second**2).sum()))  # E[(y - 1)²] of y = z²
    2.0000
    """
    return level_sets_of_lines(
        lambda z, line: function(z),
        1,
        slices,
        knots,
        None if rounding is None else lambda z, line: rounding(z),
        flat,
        widest,
    )[0]


def level_sets_of_lines(
    function: LineFunction,
    lines: int,
    slices: int,
    knots: int,
    rounding: LineFunction | None,
    flat: float,
    widest: float,
) -> list[Slices]:
    """Return the slices of several functions φ(z, line) at once, which cost less than one after the other."""
    probes = function(np.tile(_PROBES, (lines, 1)), np.arange(lines)[:, None])
    centre, scale = np.array([_units(probe) for probe in probes]).T

    def squashed(z: np.ndarray, line: np.ndarray) -> np.ndarray:
        with np.errstate(over="ignore"):  # monotone, and poles are no longer steep
            return np.arcsinh((function(z, line) - centre[line]) / scale[line])

    def slack(z: np.ndarray, line: np.ndarray, y: np.ndarray) -> np.ndarray:
        error = 4 * np.spacing(np.abs(centre[line] + scale[line] * np.sinh(y)))
        error = error if rounding is None else np.maximum(error, rounding(z, line))
        return np.maximum(flat * np.abs(y), error / (scale[line] * np.cosh(y)))

    return [
        _cut(partial(squashed, line=np.array([i])), *found, slices, centre[i], scale[i], widest)
        for i, found in enumerate(find_knots(squashed, lines, knots, slack))
    ]


def blurred(cut: Slices, noise: float) -> Slices:
    """Add normal noise to the label: Bayes' rule over the slices, at evenly spaced labels.

    Zero lies half-way between two of them, so that sums over one sign of the label err as little as others.

    Parameters
    ----------
    cut : Slices
        The law without noise, in slices of a part of the noise.
    noise : float
        Standard deviation, positive. Where slices are wider than it, the noiseless moments remain.

    Examples
    --------
    >>> noisy = blurred(level_sets(lambda z: z, 512), 1.0)  # y of variance 2: E[z² - 1 | y] = (y²/2 - 1)/2
    >>> print(float((noisy.mass * noisy.second**2).sum()))
    0.500
    """
    cut = Slices(*(part[np.argsort(cut.y)] for part in cut))
    wide = cut.width > noise
    y, _, mass, first, second = (part[~wide & (cut.mass > 1e-15)] for part in cut)
    sums, step, reach = [np.zeros((4, 0))], BLUR_STEP * noise, _BLUR_REACH * noise
    for near in np.split(np.arange(y.size), np.flatnonzero(np.diff(y) > 2 * reach) + 1):
        if not near.size:
            continue
        low, high = np.floor((y[near[[0, -1]]] + [-reach, reach]) / step)
        labels = step * (np.arange(low, high + 1) + 0.5)
        for some in np.array_split(labels, 1 + labels.size // 128):
            part = slice(*np.searchsorted(y, [some[0] - reach, some[-1] + reach]))
            weight = mass[part] * np.exp(-0.5 * ((some[:, None] - y[part]) / noise) ** 2)
            sums.append(np.array([some, weight.sum(axis=1), weight @ first[part], weight @ second[part]]))
    label, density, *moments = np.concatenate(sums, axis=1)
    kept = density > 0
    label, density = label[kept], density[kept]
    share = density * (mass.sum() / density.sum()) if density.size else density
    mean = [moment[kept] / density for moment in moments]
    blurry = Slices(label, np.full(label.size, step), share, *mean)
    return Slices(*(np.concatenate([one, part[wide]]) for one, part in zip(blurry, cut, strict=True)))


def _units(probe: np.ndarray) -> tuple[float, float]:
    """Return a label and a difference of labels, in which labels are measured."""
    low, centre, high = np.quantile(probe[np.isfinite(probe)], [0.25, 0.5, 0.75])
    centre = centre if high - low < 1e-3 * abs(centre) else 0.0  # small labels keep their digits
    sizes = np.abs(probe - centre)
    # last digits of a constant are no scale
    sizes = sizes[np.isfinite(sizes) & (sizes > 1e-12 * abs(centre))]
    return centre, float(np.median(sizes)) if sizes.size else 1.0


def _cut(
    function: Function,
    z: np.ndarray,
    y: np.ndarray,
    error: np.ndarray,
    slices: int,
    centre: float,
    scale: float,
    widest: float,
) -> Slices:
    """Return the slices of a function with these knots, whose labels are arcsinh((label - centre)/scale)."""
    size = spread(z, y)
    direction = directions(y, error).astype(int)
    direction[np.diff(z) <= 0] = 2  # a jump: no mass
    pieces = _pieces(direction)
    atoms = _atoms(z, y, [p for p in pieces if p[2] == 0], size)
    moving = [p for p in pieces if abs(p[2]) == 1]
    edges = _edges(z, y, moving, slices, size) if moving else np.zeros(1)
    if np.isfinite(widest):
        with np.errstate(over="ignore", invalid="ignore"):  # labels that overflow are not divided
            edges = _thinned(edges, np.ceil(np.diff(scale * np.sinh(edges)) / widest), 16 * slices)
    rest = _slice(function, z, y, moving, edges)
    y, low, high, mass, first, second = (np.concatenate(parts) for parts in zip(atoms, rest, strict=True))
    kept = mass > 0
    y, low, high = (centre + scale * np.sinh(label[kept]) for label in (y, low, high))
    mass, first, second = mass[kept], first[kept], second[kept]
    return Slices(y, high - low, mass / mass.sum(), first / mass, second / mass)


def _pieces(direction: np.ndarray) -> list[tuple[int, int, int]]:
    """Maximal runs (first knot, last knot, direction) of equal direction."""
    cuts = np.flatnonzero(np.diff(direction)) + 1
    starts, ends = np.concatenate([[0], cuts]), np.concatenate([cuts, [direction.size]])
    return [(int(a), int(b), int(direction[a])) for a, b in zip(starts, ends, strict=True)]


def _moments(low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Mass, E[z; ·] and E[z² - 1; ·] of intervals."""
    flip = low > 0  # differences of lower tails lose no digits
    mass = np.where(flip, ndtr(-low) - ndtr(-high), ndtr(high) - ndtr(low))
    at_low, at_high = (np.exp(-0.5 * x * x) / np.sqrt(2 * np.pi) for x in (low, high))
    return mass, at_low - at_high, low * at_low - high * at_high


def _atoms(z: np.ndarray, y: np.ndarray, pieces: list, spread: float) -> tuple[np.ndarray, ...]:
    """Return label (thrice: the middle and both ends) and sums of the moments of what is constant."""
    if not pieces:
        return tuple(np.zeros((6, 0)))
    value = np.array([y[a] for a, _, _ in pieces])
    parts = _moments(np.array([z[a] for a, _, _ in pieces]), np.array([z[b] for _, b, _ in pieces]))
    _, label = np.unique(np.round(value / (1e-9 * spread)), return_inverse=True)
    totals = [np.bincount(label, part) for part in parts]
    return *(np.bincount(label, value) / np.bincount(label),) * 3, *totals


def _edges(z: np.ndarray, y: np.ndarray, pieces: list, slices: int, spread: float) -> np.ndarray:
    """Return where slices of what varies begin and end."""
    middle = np.concatenate([0.5 * (y[a:b] + y[a + 1 : b + 1]) for a, b, _ in pieces])
    weight = np.concatenate([_moments(z[a:b], z[a + 1 : b + 1])[0] for a, b, _ in pieces])
    order = np.argsort(middle)
    levels = np.cumsum(weight[order]) - 0.5 * weight[order]
    # normal spacing of the probabilities: the tails, where conditional moments grow, get slices of their own
    wanted = weight.sum() * ndtr(np.linspace(-7, 7, slices + 1))
    # the density of y is singular at turning points: slices get thin towards them
    ends = np.unique([y[i] for a, b, _ in pieces for i in (a, b)])
    distances = spread * np.geomspace(1e-8, 0.1, max(slices // 64, 2) if ends.size <= _ENDS else 0)
    close = (ends + np.concatenate([-distances, [0.0], distances])[:, None]).clip(ends[0], ends[-1])
    return np.unique(np.concatenate([np.interp(wanted, levels, middle[order]), close.ravel()]))


def _thinned(edges: np.ndarray, parts: np.ndarray, most: int) -> np.ndarray:
    """Divide slices into so many parts, those of the fewest first, as long as there are at most `most`."""
    parts = np.nan_to_num(parts, nan=np.inf).clip(1, most + 1)
    order = np.argsort(parts, kind="stable")
    parts[order[np.cumsum(parts[order]) > most]] = 1
    count = parts.astype(int)
    within = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
    start, step = np.repeat(edges[:-1], count), np.repeat(np.diff(edges) / parts, count)
    return np.append(start + step * within, edges[-1])


def _slice(
    function: Function, z: np.ndarray, y: np.ndarray, pieces: list, edges: np.ndarray
) -> tuple[np.ndarray, ...]:
    """Return middle and both ends of the slices, and the sums of their moments."""
    totals, stretches = np.zeros((3, edges.size - 1)), []
    for a, b, sign in pieces:
        if ndtr(z[b]) - ndtr(z[a]) < _TINY and len(pieces) > _ENDS:
            totals[:, np.searchsorted(edges, 0.5 * (y[a] + y[b])) - 1] += _moments(z[a], z[b])
        else:
            inner, outer = np.searchsorted(edges, np.sort(y[[a, b]]))
            stretches.append((sign, slice(inner, outer), slice(a, b + 1), edges[inner : outer + 1]))
    ends = np.cumsum([labels.size for *_, labels in stretches]) // _TOGETHER
    for _, group in groupby(zip(ends.tolist(), stretches, strict=True), key=itemgetter(0)):
        some = [stretch for _, stretch in group]
        cuts = _inverses(function, [(y[on][::sign], z[on][::sign], labels) for sign, _, on, labels in some])
        for (sign, within, _, _), cut in zip(some, cuts, strict=True):
            totals[:, within] += sign * np.array(_moments(cut[:-1], cut[1:]))
    return 0.5 * (edges[1:] + edges[:-1]), edges[:-1], edges[1:], *totals


def _inverses(function: Function, stretches: list[tuple[np.ndarray, ...]]) -> list[np.ndarray]:
    """Return where φ takes the labels on each stretch: growing values y, the knots z, labels; ends beyond.

    Thin slices of many stretches need more than linear interpolation: secants, which keep their brackets. The
    stretches share the calls of φ.
    """
    cuts, brackets = [], [np.zeros((5, 0))]
    for y, z, labels in stretches:
        cuts.append(np.where(labels <= y[0], z[0], z[-1]))
        label = labels[(labels > y[0]) & (labels < y[-1])]
        place = np.searchsorted(y, label)
        brackets.append(np.array([label, z[place - 1], z[place], y[place - 1], y[place]]))
    label, low, high, at_low, at_high = np.concatenate(brackets, axis=1)
    miss_low, miss_high, root = at_low - label, at_high - label, low
    for _ in range(_SECANTS):  # of the Illinois kind: an end that stays counts half
        root = low - (high - low) * (miss_low / np.where(miss_low < miss_high, miss_high - miss_low, 1.0))
        miss = function(root) - label
        below, above = miss < 0, miss >= 0
        miss_low = np.where(below, miss, 0.5 * miss_low)
        miss_high = np.where(above, miss, 0.5 * miss_high)
        low, high = np.where(below, root, low), np.where(above, root, high)
    ends = np.cumsum([part.shape[1] for part in brackets])[:-1]
    for cut, (y, _, labels), roots in zip(cuts, stretches, np.split(root, ends)[1:], strict=True):
        cut[(labels > y[0]) & (labels < y[-1])] = roots
    return cuts
