"""Which hidden directions the label's conditional mean shows at once, step by step, or never."""

from typing import NamedTuple

import numpy as np

from firstlight.data.multi_index import MultiIndex
from firstlight.maths.rng import RNGLike, SeedLike, generator
from firstlight.phase_transition.theory.conditional import Moments, as_informative, conditional_moments
from firstlight.phase_transition.theory.relevant import axes_of, relevant_directions, straightened

_ENERGY = 1e-4  # of E|E[g|y]|² along a direction: less counts as none


class Subspaces(NamedTuple):
    """Orthonormal bases, as columns, in the space of the hidden coordinates.

    Attributes
    ----------
    trivial : ndarray of shape (k, ·)
        Span of E[g | y].
    easy : ndarray of shape (k, e)
        Its closure: what the conditional mean shows once the directions found before are known.
    hard : ndarray of shape (k, h)
        The complement of `easy`; there E[g_H | y, g_E] = 0.
    """

    trivial: np.ndarray
    easy: np.ndarray
    hard: np.ndarray


def subspaces(target: MultiIndex | str, rng: RNGLike | SeedLike = 0) -> Subspaces:
    """Split the hidden coordinates into trivial, easy and hard directions.

    Parameters
    ----------
    target : MultiIndex or str
        The law of the label.
    rng : SPEC 7 rng, default 0
        For the sampled route (several coordinates).

    Returns
    -------
    Subspaces
        A direction counts when E[(E[uᵀg | y, known])²] exceeds 1e-4 and six standard errors.

    Examples
    --------
    >>> split = subspaces("sign(z1) + 0.1*sign(z2*(abs(z1) - 0.6745))")  # z2 shows once z1 is known
    >>> split.trivial.shape[1], split.easy.shape[1], split.hard.shape[1]
    (1, 2, 0)
    >>> subspaces("z1**2").hard
    array([[1.]])
    """
    target, rng = as_informative(target), generator(rng)
    trivial = extend(target, np.zeros((target.directions, 0)), rng)
    easy = closure(target, trivial, rng)
    return Subspaces(trivial, easy, complement(easy))


def closure(target: MultiIndex, known: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return a basis of `known` with all that the conditional mean then shows, until nothing is added."""
    if known.shape[1] == 0:
        return known
    while known.shape[1] < target.directions:
        grown = extend(target, known, rng)
        if grown.shape[1] == known.shape[1]:
            break
        known = grown
    return known


def extend(target: MultiIndex, known: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Add the span of E[g_H | y, known coordinates] to the basis `known`.

    Only directions that the label depends on are asked: a noiseless label would show any other one through
    the slightest tilt of what is known.
    """
    hard = complement(known, relevant_directions(target))
    if hard.shape[1] == 0:
        return known
    moments = conditional_moments(target, known, hard, rng)
    energy, error = mean_energy(moments)
    values, vectors = np.linalg.eigh(energy)
    shown = values > _ENERGY + 6 * error
    if not shown.any():
        return known
    gap = values[shown].min() - values[~shown].max(initial=0.0)
    return joined(target, known, hard @ vectors[:, shown], error / gap)


def joined(target: MultiIndex, known: np.ndarray, found: np.ndarray, tilt: float) -> np.ndarray:
    """Return a basis of `known` and the sampled directions `found`, freed of their standard error `tilt`."""
    tilt = min(20 * tilt, 0.05)
    return straightened(target, np.hstack([known, snapped(found, tilt)]), tilt)


def mean_energy(moments: Moments) -> tuple[np.ndarray, float]:
    """Return E[m mᵀ] of the conditional mean m, and the standard error of its entries."""
    weight, first = moments.weight, moments.first
    if not moments.sampled:
        return np.einsum("n,na,nb->ab", weight, first[0], first[0]), 0.0
    pairs = [
        np.einsum("n,na,nb->ab", weight, first[r], first[s]) for r in range(len(first)) for s in range(r)
    ]
    mean = np.mean(pairs, axis=0)
    # R(R-1)/2 pairs hold about R/2 independent ones
    error = float(np.std(pairs, axis=0).max()) / np.sqrt(len(first) / 2)
    return 0.5 * (mean + mean.T), error


def snapped(basis: np.ndarray, tilt: float) -> np.ndarray:
    """Return the coordinate axes that `basis` spans up to an error `tilt`, or `basis` itself."""
    projector = basis @ basis.T
    axes = np.round(np.diag(projector)) == 1
    close = np.abs(projector - np.diag(axes)).max(initial=0.0) <= tilt
    return np.eye(len(basis))[:, axes] if close else basis


def complement(basis: np.ndarray, within: np.ndarray | None = None) -> np.ndarray:
    """Return an orthonormal basis of what `within` (by default everything) has beside `basis`."""
    within = np.eye(len(basis)) if within is None else within
    rest = within - basis @ (basis.T @ within)
    axes, strength, _ = np.linalg.svd(rest, full_matrices=False)
    return axes_of(axes[:, strength > 1e-3])
