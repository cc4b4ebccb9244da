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
from firstlight.phase_transition.theory.level_sets import Slices, level_sets

_REPLICATES = 8
_BLUR_NODES, _ATOMS = 16, 64
_HALVINGS, _JUMP = 10, 1e-4  # of intervals of an easy coordinate with a jump that matters so much
_ROUNDING = 1e-13  # of the coordinates
_FLAT, _COARSELY_FLAT = 1e-14, 1e-10  # labels that level off differ by less, which a coarse version shows


Part = tuple[np.ndarray, ...]  # labels, masses, first and second moments of slices


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
    """

    y: np.ndarray
    weight: np.ndarray
    easy: np.ndarray
    first: np.ndarray
    second: np.ndarray

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
    target: MultiIndex, easy: np.ndarray, hard: np.ndarray, rng: RNGLike | SeedLike = 0, *, fineness: int = 0
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

    Returns
    -------
    Moments

    Examples
    --------
    >>> law = conditional_moments(MultiIndex("z1**2"), np.zeros((1, 0)), np.eye(1))
    >>> print(float(law.weight @ law.second[0, :, 0, 0] ** 2))
    2.000
    """
    if hard.shape[1] == 1 and isinstance(target.target, str):  # the same law is asked for often
        return _exact(target, tuple(easy.ravel()), tuple(hard.ravel()), fineness)
    return _moments(target, easy, hard, generator(rng), fineness)


@lru_cache(maxsize=8)
def _exact(target: MultiIndex, easy: tuple, hard: tuple, fineness: int) -> Moments:
    k = target.directions
    bases = np.array(easy).reshape(k, len(easy) // k), np.array(hard).reshape(k, 1)
    return _moments(target, *bases, np.random.default_rng(0), fineness)


def _moments(
    target: MultiIndex, easy: np.ndarray, hard: np.ndarray, rng: np.random.Generator, fineness: int
) -> Moments:
    scale, (e, h) = 2.0**fineness, (easy.shape[1], hard.shape[1])
    slices = int((2048 if e == 0 else 256) * scale)
    log2, bins = (17 + (h > 2), 1024) if e == 0 else (12, 256)

    def part_at(node: np.ndarray) -> Part:
        def place(z: np.ndarray) -> np.ndarray:
            return z @ hard.T + easy @ node

        if h == 1:
            return _on_a_line(target, place, slices, _FLAT if fineness >= 0 else _COARSELY_FLAT)
        return sampled(target, place, h, int(bins * scale**0.5), log2 + fineness, rng)

    if e == 1:
        nodes, weights, parts = _along_a_line(part_at, 2 * int(48 * scale))
    else:
        count = 1 << int(np.log2(512 * scale)) if e else 1
        nodes = sobol_normal(e, count, rng) if e else np.zeros((1, 0))
        weights, parts = np.full(count, 1 / count), [part_at(node) for node in nodes]
    sizes = [len(part[0]) for part in parts]
    return Moments(
        np.concatenate([part[0] for part in parts]),
        np.concatenate([w * part[1] for w, part in zip(weights, parts, strict=True)]),
        np.repeat(nodes, sizes, axis=0),
        np.concatenate([part[2] for part in parts], axis=1),
        np.concatenate([part[3] for part in parts], axis=1),
    )


def _along_a_line(
    part_at: Callable[[np.ndarray], Part], count: int
) -> tuple[np.ndarray, np.ndarray, list[Part]]:
    """Return nodes of one easy coordinate, their weights, and the slices there.

    The midpoint rule is spectrally accurate on smooth laws. Where what the label tells jumps between two
    nodes, or at one, the interval is halved until the jump matters no more.
    """
    z = (np.arange(count) - 0.5 * (count - 1)) * (14.0 / count)
    parts = [part_at(x[None]) for x in z]
    for _ in range(_HALVINGS):
        told = np.array([[m @ ((a**2).sum(1) + (b**2).sum((1, 2))) for a, b in zip(f, s, strict=True)]
                         for _, m, f, s in parts])  # fmt: skip
        size, noise = told.mean(axis=1), told.std(axis=1) / told.shape[1] ** 0.5
        weight = _cell_masses(z)
        change = np.abs(np.diff(size))
        calm = np.minimum(np.append(change[1:], np.inf), np.append(np.inf, change[:-1]))
        share = change * np.maximum(weight[1:], weight[:-1])
        rough = (change > 3 * calm + 8 * (noise[1:] + noise[:-1])) & (share > _JUMP * (weight @ size))
        if not rough.any():
            break
        added = 0.5 * (z[1:] + z[:-1])[rough]
        order = np.argsort(np.concatenate([z, added]))
        parts += [part_at(x[None]) for x in added]
        z, parts = np.concatenate([z, added])[order], [parts[i] for i in order]
    return z[:, None], _cell_masses(z), parts


def _cell_masses(z: np.ndarray) -> np.ndarray:
    """Return the midpoint rule's normal weights of growing nodes."""
    ends = np.concatenate([[-7.0], 0.5 * (z[1:] + z[:-1]), [7.0]])
    mass = np.exp(-0.5 * z * z) * np.diff(ends)
    return mass / mass.sum()


def _on_a_line(target: MultiIndex, place: Callable, slices: int, flat: float) -> Part:
    knots = max(1024, 4 * slices)
    slices = slices if target.noise == 0 else max(slices // 5, 128)
    cut = level_sets(
        lambda z: target.law(place(z[:, None])),
        slices,
        knots,
        lambda z: _rounding(target, place(z[:, None])),
        flat,
    )
    if target.noise:
        cut = blurred(cut, target.noise)
    return cut.y, cut.mass, cut.first[None, :, None], cut.second[None, :, None, None]


def _rounding(target: MultiIndex, x: np.ndarray) -> np.ndarray:
    """Return by how much labels at the points x may be off in their last digits, and more."""
    shake = _ROUNDING * np.random.default_rng(0).choice([-1.0, 1.0], x.shape) * (1 + np.abs(x))
    y = target.law(x)
    with np.errstate(invalid="ignore"):  # a label may overflow far out
        both = [np.abs(target.law(x + way * shake) - y) for way in (1, -1)]
    return np.nan_to_num(np.minimum(*both), posinf=0.0)  # the smaller one: the other may cross a jump


def blurred(cut: Slices, noise: float) -> Slices:
    """Add normal noise to the label: Bayes' rule over the slices.

    Parameters
    ----------
    cut : Slices
        The law without noise.
    noise : float
        Standard deviation, positive. Where slices are wider than it, the noiseless moments remain.

    Returns
    -------
    Slices

    Examples
    --------
    >>> noisy = blurred(level_sets(lambda z: z, 512), 1.0)  # y of variance 2: E[z² - 1 | y] = (y²/2 - 1)/2
    >>> print(float((noisy.mass * noisy.second**2).sum()))
    0.500
    """
    kept = cut.mass > 1e-15
    centre, mass = cut.y[kept], cut.mass[kept]
    if centre.size > _ATOMS:
        e, w = np.polynomial.hermite_e.hermegauss(_BLUR_NODES)
    else:  # between atoms the posterior turns fast: a fine midpoint rule
        e = np.arange(-8.0, 8.0, 0.1) + 0.05
        w = np.exp(-0.5 * e * e)
    y = (centre[:, None] + noise * e).ravel()
    weight = (mass[:, None] * (w / w.sum())).ravel()
    distance = (y[:, None] - centre) / noise
    nearest = np.abs(distance).min(axis=1, keepdims=True)
    posterior = mass * np.exp(0.5 * (nearest**2 - distance**2))
    posterior /= posterior.sum(axis=1, keepdims=True)
    return Slices(y, weight, posterior @ cut.first[kept], posterior @ cut.second[kept])


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
            edges = _bin_edges(y, _rounding(target, x), bins)
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
