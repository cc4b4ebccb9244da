"""What a label tells about the hidden coordinates: conditional means and second moments, by slices of y.

Given coordinates that are known already ("easy"), the label is a function of the remaining ones ("hard") and
of noise. With one hard coordinate the slices come from `level_sets`, exactly; noise blurs them. With more,
they come from randomised quasi-Monte-Carlo, in independent replicates: products of two *different* replicates
are unbiased, and their scatter is the error bar.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.special import ndtr

from firstlight.data.multi_index import MultiIndex
from firstlight.data.parser import Formula
from firstlight.maths.rng import RNGLike, SeedLike, generator
from firstlight.maths.sobol import sobol_normal
from firstlight.phase_transition.theory.easy_nodes import NO_NODES, Nodes, Part, easy_nodes
from firstlight.phase_transition.theory.knots import TooManyStretches
from firstlight.phase_transition.theory.level_sets import BLUR_STEP, blurred, level_sets_of_lines
from firstlight.phase_transition.theory.symmetry import leaves, rounding

_REPLICATES = 8
_VAGUE = 20  # nodes of an easy coordinate that is known vaguely
_LINES = 64  # that are looked at together: they have as many knots as one line without easy coordinates
_FLAT, _COARSELY_FLAT = 1e-14, 1e-11  # labels that level off differ by less, which a coarse version shows


@dataclass(frozen=True)
class Moments:
    """Slices of (y, easy coordinates) with the conditional moments of the hard coordinates.

    Attributes
    ----------
    y, weight : ndarray of shape (n,)
        A representative label of each slice, and its probability.
    easy : ndarray of shape (n, e)
        The coordinates that are conditioned on.
    first : ndarray of shape (replicates, n, h)
        E[g_H | slice]; one replicate if exact, several independent ones if sampled.
    second : ndarray of shape (replicates, n, h, h)
        E[g_H g_Hᵀ - I | slice].
    nodes : Nodes, optional
        Of the easy coordinates.
    """

    y: np.ndarray
    weight: np.ndarray
    easy: np.ndarray
    first: np.ndarray
    second: np.ndarray
    nodes: Nodes = NO_NODES

    @property
    def sampled(self) -> bool:
        """Whether the moments carry sampling noise."""
        return len(self.first) > 1


def as_target(target: MultiIndex | str) -> MultiIndex:
    """Return the target law behind a text; a `MultiIndex` is passed through."""
    if isinstance(target, str):
        return MultiIndex(target)
    if not isinstance(target, MultiIndex):
        raise ValueError(f"target = {target!r}: must be a MultiIndex, or a text of z1, z2, ...")
    return target


def as_informative(target: MultiIndex | str) -> MultiIndex:
    """Return a target whose noiseless label tells the same about the hidden coordinates, as plain as can be.

    Examples
    --------
    >>> print(as_informative("exp(2 - z1**4)"))
    y = z1 ** 4
    """
    target = as_target(target)
    if target.noise or not isinstance(target.target, str):
        return target
    try:
        return MultiIndex(Formula(target.target).core.text, target.directions)
    except ValueError:  # what is inside may overflow
        return target


def far_labels(target: MultiIndex) -> np.ndarray:
    """Return labels at points far out, which show whether the label is bounded and what it tends to."""
    direction = np.random.default_rng(0).standard_normal((64, target.directions))
    scales = 10.0 ** np.arange(1, 9)
    y = target.law(np.concatenate([direction * scale for scale in scales]))
    y = y[np.isfinite(y)]
    return np.concatenate([y, [1e8 * target.noise, -1e8 * target.noise]]) if target.noise else y


def conditional_moments(
    target: MultiIndex,
    easy: np.ndarray,
    hard: np.ndarray,
    rng: RNGLike | SeedLike = 0,
    *,
    fineness: int = 0,
    nodes: Nodes | None = None,
) -> Moments:
    """Compute the moments of the hard coordinates given the label and the easy ones.

    Parameters
    ----------
    target : MultiIndex
        The law of the label.
    easy, hard : ndarray of shape (k, e) and (k, h)
        Orthonormal bases in the space of hidden coordinates; together a basis of it.
    rng : SPEC 7 rng, default 0
        Scrambles the quasi-Monte-Carlo points (several hard coordinates only).
    fineness : int, default 0
        Slices (and samples) are doubled so many times; negative values make a coarse version.
    nodes : Nodes, optional
        Of the easy coordinates; chosen by how the label's law varies along them if not given.

    Examples
    --------
    >>> law = conditional_moments(MultiIndex("z1**2"), np.zeros((1, 0)), np.eye(1))
    >>> print(float(law.weight @ law.second[0, :, 0, 0] ** 2))
    2.000
    """
    if hard.shape[1] == 1 and isinstance(target.target, str) and nodes is None:  # asked for often
        return _exact(target, tuple(easy.ravel()), tuple(hard.ravel()), fineness)
    return _moments(target, easy, hard, generator(rng), fineness, nodes)


@lru_cache(maxsize=8)
def _exact(target: MultiIndex, easy: tuple, hard: tuple, fineness: int) -> Moments:
    k = target.directions
    bases = np.array(easy).reshape(k, len(easy) // k), np.array(hard).reshape(k, 1)
    return _moments(target, *bases, np.random.default_rng(0), fineness, None)


def _moments(
    target: MultiIndex,
    easy: np.ndarray,
    hard: np.ndarray,
    rng: np.random.Generator,
    fineness: int,
    nodes: Nodes | None,
) -> Moments:
    scale, (e, h) = 2.0**fineness, (easy.shape[1], hard.shape[1])
    slices = int((2048 if e == 0 else 256) * scale)
    knots = max(4 * slices, 65536 if e == 0 else int(1024 * scale))  # they show jumps 2e-5 or 1e-3 apart
    if target.noise:  # blurs them, in quadratic time
        slices = slices // (5 if e == 0 else 2)
    log2, bins = (17 + (h > 2), 1024) if e == 0 else (13, 256)
    even = h == 1 and leaves(target, np.eye(target.directions) - 2 * hard @ hard.T)

    # each coordinate of the points in one piece of memory
    def sampled_at(at: np.ndarray) -> Part:
        def place(z: np.ndarray) -> np.ndarray:
            return (hard @ (np.abs(z) if even else z).T + at[:, None]).T

        return sampled(target, place, h, int(bins * scale**0.5), log2 + fineness, rng)

    def on_lines(at: np.ndarray) -> list[Part]:
        def place(z: np.ndarray, line: np.ndarray) -> np.ndarray:
            z = np.abs(z) if even else z  # rounding must not tell ±z apart
            return np.moveaxis(np.multiply.outer(hard[:, 0], z) + at[:, line], 0, -1)

        flat = _FLAT if fineness >= 0 else _COARSELY_FLAT
        try:
            return _on_lines(target, place, at.shape[1], slices, knots, flat, BLUR_STEP / scale)
        except TooManyStretches:
            return [sampled_at(at[:, 0])] if at.shape[1] == 1 else [on_lines(one[:, None])[0] for one in at.T]

    def parts_at(places: np.ndarray) -> list[Part]:
        at = easy @ places.T
        if h > 1:
            return [sampled_at(one) for one in at.T]
        groups = np.array_split(at, -(-len(places) // _LINES), axis=1)
        return [part for group in groups for part in on_lines(group)]

    if nodes is None:
        nodes, parts = easy_nodes(target, easy, hard, parts_at, rng)
    else:
        parts = parts_at(nodes.place)
    parts = _alike(parts)
    sizes = [len(part[0]) for part in parts]
    return Moments(
        np.concatenate([part[0] for part in parts]),
        np.concatenate([w * part[1] for w, part in zip(nodes.weight, parts, strict=True)]),
        np.repeat(nodes.place, sizes, axis=0),
        np.concatenate([part[2] for part in parts], axis=1),
        np.concatenate([part[3] for part in parts], axis=1),
        nodes,
    )


def _alike(parts: list[Part]) -> list[Part]:
    """Return parts with equal numbers of replicates: an exact one stands for all of its own."""
    count = max(len(part[2]) for part in parts)
    return [
        (y, mass, *(np.repeat(m, count, axis=0) if len(m) < count else m for m in moments))
        for y, mass, *moments in parts
    ]


def _on_lines(
    target: MultiIndex, place: Callable, lines: int, slices: int, knots: int, flat: float, widest: float
) -> list[Part]:
    cuts = level_sets_of_lines(
        lambda z, line: target.law(place(z, line)),
        lines,
        slices,
        knots,
        lambda z, line: rounding(target, place(z, line)),
        flat,
        widest * target.noise if target.noise else np.inf,
    )
    if target.noise:
        cuts = [blurred(cut, target.noise) for cut in cuts]
    return [(cut.y, cut.mass, cut.first[None, :, None], cut.second[None, :, None, None]) for cut in cuts]


def vaguely_known(
    target: MultiIndex, easy: np.ndarray, hard: np.ndarray, q: float, rng: np.random.Generator
) -> Moments:
    """Return the moments of (g_E - ω)/√(1-q) and g_H given the label and ω ~ N(0, q)."""
    e = easy.shape[1]
    if e == 1:
        places = (np.arange(_VAGUE) - 0.5 * (_VAGUE - 1))[:, None] * (9.0 / _VAGUE)
    else:
        places = sobol_normal(e, 4 * _VAGUE, rng)
    weights = np.exp(-0.5 * places[:, 0] ** 2) if e == 1 else np.ones(len(places))
    weights /= weights.sum()
    parts = []
    for place in places:

        def point(z: np.ndarray, place: np.ndarray = place) -> np.ndarray:
            known = np.sqrt(q) * place + np.sqrt(1 - q) * z[:, :e]
            return known @ easy.T + z[:, e:] @ hard.T

        parts.append(sampled(target, point, e + hard.shape[1], 128, 11, rng))
    y, mass = (np.concatenate([part[i] for part in parts]) for i in (0, 1))
    first, second = (np.concatenate([part[i] for part in parts], axis=1) for i in (2, 3))
    mass *= np.repeat(weights, [len(part[1]) for part in parts])
    return Moments(y, mass, np.zeros((len(y), 0)), first, second)


def sampled(
    target: MultiIndex, place: Callable, h: int, bins: int, log2: int, rng: np.random.Generator
) -> Part:
    """Return labels, masses and both moments of slices of y, at the points ``place(z)`` of normals z.

    The moments are sums over bins that all scrambles share.
    """
    count = 1 << log2
    edges = np.empty(0)
    tables = []
    for _ in range(_REPLICATES):
        z = sobol_normal(h + (target.noise > 0), count, rng)
        x = place(z[:, :h])
        y = target.law(x)
        if target.noise:
            y = y + target.noise * z[:, h]
        if not edges.size:
            edges = _bin_edges(y, rounding(target, x), bins)
        label = np.searchsorted(edges, y, side="right")
        columns = [np.ones(count), y, *(z[:, a] for a in range(h))]
        columns += [z[:, a] * z[:, b] - (a == b) for a in range(h) for b in range(h)]
        tables.append(np.array([np.bincount(label, c, edges.size + 1) for c in columns]) / count)
    table = np.array(tables)
    mass = table[:, 0].mean(axis=0)
    kept = mass > 0
    mass = mass[kept]
    own = table[:, :1, kept]  # each replicate's own mass: ratios free of the scatter of counts
    pooled = np.broadcast_to(table[:, 2:, kept].mean(axis=0) / mass, table[:, 2:, kept].shape)
    scaled = np.moveaxis(np.divide(table[:, 2:, kept], own, out=pooled.copy(), where=own > 0), 1, 2)
    second = scaled[..., h:].reshape(_REPLICATES, mass.size, h, h)
    return table[:, 1].mean(axis=0)[kept] / mass, mass, scaled[..., :h], second


def _bin_edges(y: np.ndarray, rounding: np.ndarray, bins: int) -> np.ndarray:
    """Quantiles, closer in the tails but never fewer than four points apart; atoms in bins of their own.

    Quantiles no further apart than the labels' rounding errors are one atom: the last digits depend on how
    large the hidden coordinates are, and must not tell.
    """
    ranks = 4 * np.unique(np.round(y.size / 4 * ndtr(np.linspace(-6, 6, bins + 1)))).astype(int)
    ranks = ranks[(ranks > 0) & (ranks < y.size)]
    order = np.argsort(y)
    value, width = y[order][ranks], np.maximum.reduceat(rounding[order], ranks)
    starts = np.flatnonzero(np.diff(value, prepend=-np.inf) > np.concatenate([[0.0], width[:-1]]))
    ends = np.append(starts[1:], ranks.size) - 1
    atom = ends - starts > 1
    margin = np.maximum.reduceat(width, starts)
    low, high = value[starts] - np.where(atom, margin, 0), value[ends] + margin
    return np.unique(np.concatenate([low, np.nextafter(high[atom], np.inf)]))
