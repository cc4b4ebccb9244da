"""Where labels turn, level off and jump along lines: knots between which they are monotone.

Several lines are looked at together. Most calls of φ are for a few points each, and then the call costs more
than the points.
"""

from collections.abc import Callable

import numpy as np

Function = Callable[[np.ndarray, np.ndarray], np.ndarray]  # labels at z on lines with these numbers
Slack = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]  # errors of labels y at z on these lines
Knots = tuple[np.ndarray, np.ndarray, np.ndarray]

_REACH = 9.0  # the normal mass beyond is 2e-19
_SIXTEENTHS = np.linspace(0, 1, 17)
_SECTIONS = 12  # by 16: narrow a grid step of 1e-3 to rounding
_REFINEMENTS = 3  # each divides the steps beside turning points by 16
_JUMPS = 4  # rounds of looking for jumps: so many, and more, may share a grid step
_STRETCHES = 512  # within four standard deviations: more are better sampled


class TooManyStretches(ValueError):
    """The label turns too often for level sets."""


def find_knots(function: Function, lines: int, count: int, slack: Slack) -> list[Knots]:
    """Return grid points, values and their errors of each line, with two values at each jump.

    Parameters
    ----------
    function : callable
        φ(z, line), vectorised over both, which have equally many axes and are broadcast.
    lines : int
        How many; they are numbered from 0.
    count : int
        Knots of a line to begin with.
    slack : callable
        Errors of φ.

    Examples
    --------
    >>> found = find_knots(lambda z, line: np.sign(z - 0.5), 1, 8, lambda z, line, y: 0 * z)
    >>> z, y, _ = found[0]
    >>> float(z[y == -1].max()), float(z[y == 1].min())
    (0.500000, 0.500000)
    """
    # symmetric, off the round numbers
    grid = (np.arange(count) - 0.5 * (count - 1)) * (2 * _REACH / count)
    line, z, y, error = _looked_at(function, slack, np.repeat(np.arange(lines), count), np.tile(grid, lines))
    for _ in range(_REFINEMENTS):
        turns = (np.diff(directions(y, error)) != 0) & (line[2:] == line[:-2])
        near = line[1:-1][turns & (np.abs(z[1:-1]) < 4)]
        if np.bincount(near).max(initial=0) > _STRETCHES:
            raise TooManyStretches
        beside = _beside(line, z, np.flatnonzero(turns))
        line, z, y, error = _looked_at(function, slack, *beside, line, z, y, error)
    line, z, y, error = _looked_at(function, slack, *_vertices(line, z, y), line, z, y, error)
    jumps = _jumps(function, slack, line, z, y, error)
    known = (line, z, y, error)
    line, z, y, error = _in_order(*(np.concatenate(pair) for pair in zip(known, jumps, strict=True)))
    finite = np.isfinite(y)
    ends = np.searchsorted(line[finite], np.arange(1, lines))
    parts = (np.split(part[finite], ends) for part in (z, y, error))
    return list(zip(*parts, strict=True))


def directions(y: np.ndarray, error: np.ndarray) -> np.ndarray:
    """Return the sign of each step, 0 where it is within the error of its ends or φ overflows."""
    step = np.diff(np.where(np.isfinite(y), y, 0.0))
    return np.where(np.abs(step) <= np.maximum(error[1:], error[:-1]), 0, np.sign(step))


def spread(z: np.ndarray, y: np.ndarray) -> float:
    """Return a size of φ's variation that poles do not spoil."""
    y = np.where(np.isfinite(y), y, 0.0)
    low, high = np.quantile(y[np.abs(z) < 4], [0.02, 0.98])
    whole = float(np.ptp(y))
    # a label may vary in the tails only
    return (float(high - low) if high - low > 1e-9 * whole else whole) or 1.0


def _looked_at(
    function: Function, slack: Slack, line: np.ndarray, z: np.ndarray, *known: np.ndarray
) -> list[np.ndarray]:
    """Return line, z, label and error of new points and those that are known, in order."""
    y = function(z, line)
    found = [line, z, y, slack(z, line, np.where(np.isfinite(y), y, 0.0))]
    return _in_order(*(np.concatenate(pair) for pair in zip(known, found, strict=True)) if known else found)


def _in_order(line: np.ndarray, z: np.ndarray, *others: np.ndarray) -> list[np.ndarray]:
    order = np.lexsort((z, line))
    return [part[order] for part in (line, z, *others)]


def _beside(line: np.ndarray, z: np.ndarray, turn: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return knots beside those where φ turns or bends off a plateau."""
    segment = np.unique(np.concatenate([turn, turn + 1]))
    share = np.arange(1, 16) / 16
    new = z[segment, None] + (z[segment + 1] - z[segment])[:, None] * share
    return np.repeat(line[segment], share.size), new.ravel()


def _vertices(line: np.ndarray, z: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the vertices of parabolas through turning points: equal maxima must get equal ends."""
    slope = np.diff(np.where(np.isfinite(y), y, 0.0)) / np.diff(z)
    turn = np.flatnonzero((np.sign(slope[:-1]) * np.sign(slope[1:]) < 0) & (line[2:] == line[:-2]))
    bend = (slope[turn + 1] - slope[turn]) / (z[turn + 2] - z[turn])
    vertex = 0.5 * (z[turn] + z[turn + 1]) - 0.5 * slope[turn] / bend
    new = vertex != z[turn + 1]  # they lie between the middles of the steps on both sides
    return line[turn][new], vertex[new]


def _jumps(
    function: Function, slack: Slack, line: np.ndarray, z: np.ndarray, y: np.ndarray, error: np.ndarray
) -> list[np.ndarray]:
    """Return line, z, both limits one after the other, and their errors, of each jump between knots."""
    inner = line[1:] == line[:-1]
    parts = (np.split(part, np.flatnonzero(~inner) + 1) for part in (z, y))
    size = np.array([spread(*part) for part in zip(*parts, strict=True)])
    low, high, line = z[:-1][inner], z[1:][inner], line[:-1][inner]
    least = np.where(np.isfinite(y), error, np.nan)[:-1][inner]
    found = [[line[:0], z[:0], z[:0], z[:0]]]
    for _ in range(_JUMPS):
        at, inside = _largest_jumps(function, line, low, high, np.maximum(1e-4 * size[line], least))
        if not at.size:
            break
        aside = 1e-9 * (1 + np.abs(at))  # the limits, not the value that φ may take at the jump itself
        before, after = function(np.array([at - aside, at + aside]), line[None, inside])
        real = np.abs(after - before) > slack(at - aside, line[inside], before)  # and not of rounding
        at, aside, inside, before, after = (part[real] for part in (at, aside, inside, before, after))
        twice, limits, on = np.tile(at, 2), np.concatenate([before, after]), np.tile(line[inside], 2)
        found.append([on, twice, limits, slack(twice, on, limits)])
        # what is left of an interval on both sides of its jump may hold another
        low, high = np.concatenate([low[inside], at + aside]), np.concatenate([at - aside, high[inside]])
        left = low < high
        low, high, line = low[left], high[left], on[left]
        least = slack(low, line, function(low, line))
    return [np.concatenate(parts) for parts in zip(*found, strict=True)]


def _largest_jumps(
    function: Function, line: np.ndarray, low: np.ndarray, high: np.ndarray, least: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return where φ jumps by more than `least` in each interval, at its largest jump, and in which ones."""
    which = np.arange(low.size)
    for _ in range(_SECTIONS):  # narrow every interval to its sixteenth that holds most of the change
        grid = low[:, None] + (high - low)[:, None] * _SIXTEENTHS
        values = function(grid, line[which, None])
        change = np.abs(np.diff(np.where(np.isfinite(values), values, 0.0), axis=1))
        best = np.argmax(change, axis=1)
        jump = np.flatnonzero(change[np.arange(best.size), best] > least[which])
        low, high = grid[jump, best[jump]], grid[jump, best[jump] + 1]
        which = which[jump]
        if not which.size:
            break
    return low, which
