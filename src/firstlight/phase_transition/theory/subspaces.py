"""Which hidden directions the label's conditional mean shows at once, step by step, or never.

That a direction is easy is shown by samples, and that the others are hard is proved by a symmetry. Where
there is no such evidence the split is the likeliest one, and says so.
"""

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from firstlight.data.multi_index import MultiIndex
from firstlight.maths.rng import RNGLike, SeedLike, generator
from firstlight.phase_transition.theory.conditional import (
    Moments,
    as_informative,
    conditional_moments,
    vaguely_known,
)
from firstlight.phase_transition.theory.relevant import axes_of, relevant_directions
from firstlight.phase_transition.theory.symmetry import proves_hard, settled

_ENERGY = 1e-4  # of E|E[g|y]|² along a direction: less counts as none
_KNOWN = 0.99  # q of directions that are known up to a blur of 0.1, which hides their tilt
_QUICK = -3  # fineness of a first look


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
    sure : bool
        Whether there is evidence: samples that show each easy direction, and a symmetry that proves the
        others hard, or a conditional mean that is zero within its error where nothing is known beforehand or
        what is known lies along axes.
    """

    trivial: np.ndarray
    easy: np.ndarray
    hard: np.ndarray
    sure: bool


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
    nothing, relevant = np.zeros((target.directions, 0)), relevant_directions(target)
    if proves_hard(target, nothing, relevant):
        return Subspaces(nothing, nothing, np.eye(target.directions), True)
    for fineness in (_QUICK, 0) if relevant.shape[1] > 1 else (0,):
        moments = conditional_moments(target, nothing, relevant, rng, fineness=fineness)
        trivial, tilt, sure = _shown(moments, relevant)
        if trivial.shape[1] == relevant.shape[1]:
            return Subspaces(relevant, relevant, complement(relevant), True)
        exact = settled(target, trivial) if trivial.size else None
        if exact is not None:
            easy = axes_of(exact)
            return Subspaces(easy, easy, complement(easy), True)
    trivial = snapped(trivial, tilt)
    easy, known = closure(target, trivial, rng, tilt)
    return Subspaces(trivial, easy, complement(easy), sure and known)


def closure(
    target: MultiIndex, known: np.ndarray, rng: np.random.Generator, tilt: float = 0.0
) -> tuple[np.ndarray, bool]:
    """Return a basis of `known` with all that the conditional mean then shows, and whether that is sure.

    `tilt` is the error of `known`. A noiseless label would show any direction through the slightest tilt, so
    what is known is blurred; only along axes it is taken at its word.
    """
    relevant = relevant_directions(target)
    while True:
        hard = complement(known, relevant)
        if known.size == 0 or hard.size == 0:
            return known, True
        exact = settled(target, known)
        if exact is not None:
            return axes_of(exact), True
        if proves_hard(target, known, hard):
            return known, True
        on_axes = np.isin(known, (0.0, 1.0)).all()
        if on_axes:
            moments, doubt = conditional_moments(target, known, hard, rng), 0.0
        else:
            both = vaguely_known(target, known, hard, _KNOWN, rng)
            moments = replace(both, first=both.first[..., known.shape[1] :])
            doubt = 4 * tilt**2 / (1 - _KNOWN)
        shown, more, sure = _shown(moments, hard, doubt)
        if not shown.size:
            return known, bool(on_axes and sure)
        tilt = max(tilt, more)
        known = snapped(np.hstack([known, shown]), tilt)


def _shown(moments: Moments, among: np.ndarray, doubt: float = 0.0) -> tuple[np.ndarray, float, bool]:
    """Return the directions that conditional means show, their tilt, and whether the others surely not."""
    energy, error = mean_energy(moments)
    values, vectors = np.linalg.eigh(energy)
    shown = values > _ENERGY + 6 * error + doubt
    rest = float(values[~shown].max(initial=0.0))
    gap = float(values[shown].min()) - rest if shown.any() else 1.0
    return among @ vectors[:, shown], min(20 * error / gap, 0.05), rest <= 6 * error + 0.01 * _ENERGY


def joined(target: MultiIndex, known: np.ndarray, shown: np.ndarray, tilt: float) -> np.ndarray:
    """Return a basis of `known` and the sampled directions `shown`, freed of their standard error `tilt`."""
    basis = np.hstack([known, snapped(shown, min(20 * tilt, 0.05))])
    exact = settled(target, basis) if basis.shape[1] < target.directions else None
    return basis if exact is None else exact


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
