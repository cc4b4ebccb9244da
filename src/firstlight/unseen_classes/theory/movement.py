"""How far one step moves a pre-activation's feature: E(σ(z0 + δ) - σ(z0))², over neurons and their shifts δ.

A saturating σ has moved as far as it can once δ exceeds the spread of z0. So all averages over shifts are cut
into pieces that are short where shifts are of that order.
"""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.interpolate import CubicSpline
from scipy.special import roots_genlaguerre

from firstlight.data.labelled import row_chunks
from firstlight.maths.activations import Activation
from firstlight.maths.quadrature import panels, rule
from firstlight.unseen_classes.theory.averaged import typical_shift
from firstlight.unseen_classes.theory.heads import PIECE, Head, bulk_weights, head_nodes, head_rule

_SMALL = 1e-10  # below this share of E σ² differences of duals keep fewer than six digits
_PIECES = np.array([0.0, 1.0, 2.0, 3.5, 5.5, 8.5])  # the normal mass beyond is 2e-17
_GAP, _FAR = 1e-4, 1e-2  # of a spline through half of the nodes; that through all errs by a sixteenth
_FEWEST, _MOST = 65, 2000
_MEMORY = 64 * 2**20


def averaged_movement(
    activation: Activation, head: Head, tau: float, along: np.ndarray, norms: np.ndarray, bulk: np.ndarray
) -> np.ndarray:
    """Movement E(σ(z0 + δ) - σ(z0))² of each sample, δ = τα·(b + ε), ε ~ N(0, V), z0 ~ N(0, q).

    `bulk` has shape (parts, n) or, of one part, (n,): see `bulk_weights`.

    Examples
    --------
    >>> from firstlight.maths.activations import activation
    >>> one = np.ones(1)
    >>> averaged_movement(activation("linear"), "rademacher", 0.5, 2 * np.ones((1, 1)), one, one)
    array([1.2500])
    """
    nodes, weights = head_nodes(head, along.shape[1], typical_shift(tau, along, norms))
    parts = np.atleast_2d(bulk)
    shares = bulk_weights(nodes, len(parts))
    result = np.empty(len(norms))
    for i, (b, q, v) in enumerate(zip(along, norms, parts.T, strict=True)):
        spread = tau * np.sqrt(np.maximum(shares @ v, 0))
        shift, chance = shift_rule(tau * (nodes @ b), spread, np.sqrt(q))
        result[i] = weights @ np.vecdot(chance, _given_shift(activation, float(np.sqrt(q)), shift))
    return result


def gaussian_movement(
    activation: Activation, tau: float, along: np.ndarray, norms: np.ndarray, bulk: np.ndarray, outputs: int
) -> np.ndarray:
    """Movement of each sample for Gaussian heads: δ = τα·(b + ε) is N(0, τ²|b + ε|²) given ε, over which H is
    averaged: E_ε H(τ²|b + ε|²), H(v) = E(σ(z0 + √v g) - σ(z0))².

    Parameters
    ----------
    along : ndarray, shape (n,)
        |b| = |Bᵀx|.
    norms, bulk : ndarray, shape (n,)
        q = |x|²/d and V = xᵀMx, the variance of ε, which all its directions share alike.
    outputs : int
        Number of these directions: the rank of B.

    Examples
    --------
    >>> from firstlight.maths.activations import activation
    >>> one = np.ones(1)
    >>> gaussian_movement(activation("linear"), 0.5, 2 * one, one, one, 1).tolist()
    [1.2500]
    """
    rest, share = np.zeros(1), np.ones(1)
    if outputs > 1 and bulk.any():  # ε across b: χ² of one degree less
        rest, share = roots_genlaguerre(16, (outputs - 3) / 2)
        rest, share = 2 * rest, share / share.sum()
    result = np.empty(len(norms))
    for rows in row_chunks(len(norms), 64 * 400 * len(rest), _MEMORY):
        q, spread = norms[rows], tau * np.sqrt(bulk[rows] / outputs)
        shift, chance = shift_rule(tau * along[rows], spread, np.sqrt(q))
        v = shift[..., None] ** 2 + (spread[:, None] ** 2 * rest)[:, None]
        weights = chance[..., None] * share
        result[rows] = _given_variance(activation, q, v.reshape(len(q), -1), weights.reshape(len(q), -1))
    return result


def movement_spline(activation: Activation, std: float, reach: float) -> Callable[[np.ndarray], np.ndarray]:
    """Return φ(δ) = E(σ(z + δ) - σ(z))², z ~ N(0, std²), over |δ| <= reach, by splines of either side of 0.

    They have so many nodes that half would do; where thousands do not follow its waves, that is told.

    Examples
    --------
    >>> from firstlight.maths.activations import activation
    >>> movement_spline(activation("linear"), 1.0, 2.0)(np.array([-1.5, 1.0])).tolist()
    [2.2500, 1.0000]
    """
    end = np.arcsinh(reach / std) + 1e-4

    def at(places: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        shift = std * np.sinh(end * places)  # fine at the origin, where φ is small and curved
        return shift, np.stack([_moved(activation, std, sign * shift) for sign in (1, -1)], axis=1)

    places = np.linspace(0, 1, _FEWEST)
    grid, values = at(places)
    while True:
        between = 0.5 * (places[1:] + places[:-1])
        more, found = at(between)
        gap = np.abs(CubicSpline(grid, values)(more) - found)
        size = np.maximum.accumulate(found.max(axis=1))[:, None]
        size = np.maximum(size, 0.01 * size[-1])  # heads reach eight times as far as they usually are
        order = np.argsort(np.concatenate([places, between]))
        places, grid, values = (
            np.concatenate(both)[order] for both in ((places, between), (grid, more), (values, found))
        )
        if len(places) > _MOST or (gap <= _GAP * size).all():
            break
    if (gap > _FAR * size).any():
        warnings.warn(
            f"activation: movements of {activation.name} are not resolved over shifts as large as those of "
            "this step; they may be far off",
            stacklevel=2,
        )
    right, left = (CubicSpline(grid, side) for side in values.T)

    def movement(shift: np.ndarray) -> np.ndarray:
        moved, below = right(np.abs(shift)), shift < 0
        moved[below] = left(-shift[below])
        return moved

    return movement


def _moved(activation: Activation, std: float, shift: np.ndarray) -> np.ndarray:
    kinks: list[Any] = [
        *activation.kinks,
        *(k - shift for k in activation.kinks or (0.0,)),
    ]  # each δ has its own
    z, w = rule(np.zeros_like(shift), std, kinks)
    return np.vecdot(w, (activation(std * z + shift[:, None]) - activation(std * z)) ** 2)


def shift_rule(
    mean: np.ndarray, spread: np.ndarray, scale: np.ndarray, order: int = PIECE
) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights (n, m) of N(mean, spread²), in short pieces where they are about `scale` from 0.

    Examples
    --------
    >>> one = np.ones(1)
    >>> nodes, weights = shift_rule(one, 2 * one, 1e-3 * one)
    >>> print(float(weights[0] @ nodes[0]), float(weights[0] @ nodes[0] ** 2))
    1.00 5.00
    """
    if not spread.any():
        return mean[:, None], np.ones((len(mean), 1))
    unit = np.maximum(spread, 1e-150)
    zero, short = -mean / unit, np.broadcast_to(scale, unit.shape) / unit
    octaves = np.arange(-1, np.ceil(np.log2(2 * _PIECES[-1] / np.maximum(short.min(), 1e-60))), 2)
    marks = np.concatenate([[0.0], 2.0**octaves])
    ends = np.concatenate([marks, -marks]) * short[:, None] + zero[:, None]
    normal = np.broadcast_to(np.concatenate([-_PIECES, _PIECES]), (len(mean), 2 * len(_PIECES)))
    edges = np.sort(np.clip(np.hstack([normal, ends]), -_PIECES[-1], _PIECES[-1]))
    z, weights = panels(edges, order)
    return mean[:, None] + spread[:, None] * z, weights / weights.sum(axis=1, keepdims=True)


def _given_variance(activation: Activation, q: np.ndarray, v: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Average of H(v) for each q (n) over its v (n × m): by the dual, or as it stands where that cancels."""
    result, dual = np.zeros(len(q)), activation.closed_dual
    small = np.full(len(q), True)
    if dual is not None:
        before, after = np.broadcast_to(q[:, None], v.shape), q[:, None] + v
        size = dual(before, before, before)
        moved = dual(after, after, after) + size - 2 * dual(before, after, before)
        result = np.vecdot(np.maximum(moved, 0), weights)
        small = result < _SMALL * size[:, 0]
    for i in np.flatnonzero(small & v.any(axis=1)):
        alpha, chance = head_rule("gaussian", float(np.sqrt(v[i].max() / max(q[i], 1e-300))))
        shift = np.sqrt(v[i])[:, None] * alpha
        result[i] = weights[i] @ (_given_shift(activation, float(np.sqrt(q[i])), shift) @ chance)
    return result


def _given_shift(activation: Activation, std: float, shift: np.ndarray) -> np.ndarray:
    """E(σ(z + δ) - σ(z))², z ~ N(0, std²), for many shifts δ."""
    reach = float(np.abs(shift).max())
    if std == 0 or reach == 0:
        return (activation(shift) - activation(np.zeros(1))) ** 2
    return movement_spline(activation, std, reach)(shift)
