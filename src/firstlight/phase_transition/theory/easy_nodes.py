"""Nodes of the easy coordinates: where to ask what the label tells about the hard ones.

What is told may jump along an easy coordinate, or be told in a small part of the space only. Both are looked
for: first by whether the label depends on the hard coordinates at all, at many points, which is cheap; then
by what is told at the nodes.
"""

from collections.abc import Callable
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr

from firstlight.data.multi_index import MultiIndex
from firstlight.maths.quadrature import legendre
from firstlight.maths.sobol import sobol_normal
from firstlight.phase_transition.theory.symmetry import rounding

Part = tuple[np.ndarray, ...]  # labels, masses, first and second moments of slices
PartsAt = Callable[[np.ndarray], list[Part]]  # at places (n, e)

_END = 7.0  # the normal mass beyond is 3e-12
_PROBES = 16  # values of the hard coordinates that are compared
_DENSE = 8192  # points of the easy ones there
_PANEL = 7  # Gauss-Legendre nodes
_FIRST = 7  # edges of panels
_PANELS = 64
_SPACE = 256  # nodes of several easy coordinates
_ROUGH = 1e-4  # of what is told: a panel that is off by more is split
_BISECTIONS = 20
_UNFINISHED = 0.1  # the error then, at least
_ASKED = 500  # places at which slices are made; labels of rounding would be asked for ever


class Nodes(NamedTuple):
    """Points (n, e) of the easy coordinates, their probabilities, and the relative error of sums.

    For one coordinate also the edges of panels within which what is told is smooth.
    """

    place: np.ndarray
    weight: np.ndarray
    error: float = 0.0
    edges: np.ndarray = np.zeros(0)

    def evenly(self, width: float = 0.15) -> "Nodes":
        """Return nodes of nearly equal distance, to draw from: a few with unequal weights are no sample."""
        if not self.edges.size:
            return self
        cells = [np.linspace(a, b, 1 + int(np.ceil((b - a) / width))) for a, b in pairwise(self.edges)]
        ends = np.unique(np.concatenate(cells))
        mass = np.diff(ndtr(ends))
        return Nodes(0.5 * (ends[1:] + ends[:-1])[:, None], mass / mass.sum())

    def eighths(self) -> np.ndarray:
        """Tell which of eight equal parts each point of several coordinates belongs to: runs of each kind."""
        counts = np.unique(self.weight != self.weight[0], return_counts=True)[1]
        return np.concatenate([np.arange(count) * 8 // count for count in counts])


NO_NODES = Nodes(np.zeros((1, 0)), np.ones(1))


def easy_nodes(
    target: MultiIndex, easy: np.ndarray, hard: np.ndarray, parts_at: PartsAt, rng: np.random.Generator
) -> tuple[Nodes, list[Part]]:
    """Choose nodes, and return them with the slices there."""
    e = easy.shape[1]

    def depends(places: np.ndarray) -> np.ndarray:
        return _depends(target, easy, hard, places)

    if e == 0:
        return NO_NODES, parts_at(np.zeros((1, 0)))
    if e == 1:
        return _along_a_line(parts_at, depends)
    nodes = _in_space(depends, e, rng)
    return nodes, parts_at(nodes.place)


def _depends(target: MultiIndex, easy: np.ndarray, hard: np.ndarray, places: np.ndarray) -> np.ndarray:
    """Tell at which places the label depends on the hard coordinates."""
    g = np.random.default_rng(3).standard_normal((_PROBES, hard.shape[1]))
    g *= (np.append(0, np.geomspace(1e-3, 4, _PROBES - 1)) / np.linalg.norm(g, axis=1))[:, None]
    x = (places @ easy.T)[:, None] + g @ hard.T
    y, slack = target.law(x), rounding(target, x)
    with np.errstate(invalid="ignore"):
        return (np.abs(y - y[:, :1]) > 4 * (slack + slack[:, :1])).any(axis=1)


def _in_space(depends: Callable, e: int, rng: np.random.Generator) -> Nodes:
    """Return Sobol points, most of them where the label depends on the hard coordinates."""
    places = sobol_normal(e, 8 * _DENSE, rng)
    dependent = depends(places)
    share = dependent.mean()
    scatter = dependent.reshape(8, -1).mean(axis=1).std(ddof=1) / 8**0.5
    kept, weights = [], []
    for part, mass, count in (
        (places[dependent], share, _SPACE),
        (places[~dependent], 1 - share, _SPACE // 8),
    ):
        if len(part):
            kept.append(part[:count])  # the first: every so many would be one corner of the space
            weights.append(np.full(len(kept[-1]), mass / len(kept[-1])))
    return Nodes(np.concatenate(kept), np.concatenate(weights), float(scatter / share) if share else 0.0)


class _Panel:
    """Gauss-Legendre nodes between two points, and the signal there."""

    nodes, weights = legendre(_PANEL)
    # a cubic through every other node, at all nodes
    cubic = np.linalg.solve(np.vander(nodes[::2], 4).T, np.vander(nodes, 4).T).T

    def __init__(self, low: float, high: float) -> None:
        self.low, self.high = low, high
        self.z = 0.5 * (low + high) + 0.5 * (high - low) * self.nodes
        self.mass = 0.5 * (high - low) * self.weights * np.exp(-0.5 * self.z**2) / np.sqrt(2 * np.pi)

    def fill(self, parts: list[Part]) -> None:
        """Keep the slices at the nodes."""
        self.parts = parts
        signal = [_signal(part) for part in parts]
        self.signal, self.noise = np.array([t[0] for t in signal]), np.array([t[1] for t in signal])

    @property
    def error(self) -> float:
        """By how much the sum is off where a cubic does not follow the signal, beyond its noise."""
        miss = np.abs(self.signal - self.cubic @ self.signal[::2])
        noise = self.noise + np.abs(self.cubic) @ self.noise[::2]
        return float(self.mass @ np.maximum(miss - 3 * noise, 0.0))

    def split(self, parts_at: PartsAt) -> list["_Panel"]:
        """Cut where the signal changes most between two nodes: at a jump, if there is one."""
        i = int(np.argmax(np.abs(np.diff(self.signal))))
        at, _ = _jump(parts_at, self.z[i : i + 2], self.signal[i : i + 2])
        return _panels(np.array([self.low, at, self.high]), parts_at)


def _panels(edges: np.ndarray, parts_at: PartsAt) -> list[_Panel]:
    """Return the panels between these edges."""
    panels = [_Panel(low, high) for low, high in pairwise(edges.tolist())]
    parts = parts_at(np.concatenate([panel.z for panel in panels])[:, None])
    for i, panel in enumerate(panels):
        panel.fill(parts[i * _PANEL : (i + 1) * _PANEL])
    return panels


def _jump(parts_at: PartsAt, ends: np.ndarray, signal: np.ndarray) -> tuple[float, bool]:
    """Bisect towards a jump of the signal between two points; stop half-way down a slope."""
    (low, high), (at_low, at_high) = ends, signal
    size = abs(at_high - at_low)
    for _ in range(_BISECTIONS):
        middle = 0.5 * (low + high)
        here = _signal(*parts_at(np.array([[middle]])))[0]
        if abs(here - at_low) < abs(here - at_high):
            low, at_low = middle, here
        else:
            high, at_high = middle, here
        if abs(at_high - at_low) < 0.75 * size:
            return 0.5 * (low + high), False
    return 0.5 * (low + high), True


def _signal(part: Part) -> tuple[float, float]:
    """Return how much a label tells, E|mean|² + E|second|², and its standard error."""
    _, mass, first, second = part
    signal = [mass @ ((a**2).sum(1) + (b**2).sum((1, 2))) for a, b in zip(first, second, strict=True)]
    return float(np.mean(signal)), float(np.std(signal)) / len(signal) ** 0.5


def _along_a_line(slices: PartsAt, depends: Callable) -> tuple[Nodes, list[Part]]:
    """Return nodes of one easy coordinate: panels, cut where the signal jumps."""
    asked = 0

    def parts_at(places: np.ndarray) -> list[Part]:
        nonlocal asked
        asked += len(places)
        return slices(places)

    flips = _flips(depends)
    edges = np.unique(np.concatenate([np.linspace(-_END, _END, _FIRST), flips]))
    panels = _panels(edges, parts_at)
    seen = set(flips.tolist())
    while len(panels) < _PANELS and asked < _ASKED:
        total = sum(float(panel.mass @ panel.signal) for panel in panels)
        errors = np.array([panel.error for panel in panels])
        worst = int(np.argmax(errors))
        if errors[worst] > _ROUGH * total and panels[worst].high - panels[worst].low > 1e-6:
            panels[worst : worst + 1] = panels[worst].split(parts_at)
            continue
        beside = [i for i in range(len(panels) - 1) if panels[i].high not in seen]
        changes = [_between(panels[i], panels[i + 1]) for i in beside]
        if max(changes, default=0.0) <= _ROUGH * total:
            break
        i = beside[int(np.argmax(changes))]
        left, right = panels[i : i + 2]
        seen.add(left.high)
        at, jumps = _jump(
            parts_at, np.array([left.z[-1], right.z[0]]), np.array([left.signal[-1], right.signal[0]])
        )
        if jumps:
            seen.add(at)
            panels[i : i + 2] = _panels(np.array([left.low, at, right.high]), parts_at)
    z, mass, signal = (np.concatenate([getattr(p, name) for p in panels]) for name in ("z", "mass", "signal"))
    error = sum(panel.error for panel in panels) / max(float(mass @ signal), 1e-300)
    error += _UNFINISHED * (asked >= _ASKED)
    edges = np.array([*(panel.low for panel in panels), _END])
    return Nodes(z[:, None], mass / mass.sum(), error, edges), [
        part for panel in panels for part in panel.parts
    ]


def _between(left: _Panel, right: _Panel) -> float:
    """Return how much depends on where between two panels the signal changes, beyond its noise."""
    change = abs(right.signal[0] - left.signal[-1]) - 3 * (right.noise[0] + left.noise[-1])
    return max(change, 0.0) * (right.z[0] - left.z[-1]) * np.exp(-0.5 * left.high**2) / np.sqrt(2 * np.pi)


def _flips(depends: Callable) -> np.ndarray:
    """Return where along a line the label begins or ceases to depend on the hard coordinates."""
    z = _END * (2 * np.arange(_DENSE) + 1 - _DENSE) / _DENSE
    here = depends(z[:, None])
    at = np.flatnonzero(np.diff(here))
    if at.size > _PANELS // 4:
        return np.zeros(0)
    low, high, start = z[at], z[at + 1], here[at]
    for _ in range(_BISECTIONS + 20):
        middle = 0.5 * (low + high)
        same = depends(middle[:, None]) == start
        low, high = np.where(same, middle, low), np.where(same, high, middle)
    return 0.5 * (low + high)
