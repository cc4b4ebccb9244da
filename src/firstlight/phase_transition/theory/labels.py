"""Samples of (label, easy coordinates, conditional second moment of the hard ones), spread evenly."""

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

from firstlight.data.multi_index import MultiIndex
from firstlight.maths.rng import RNGLike, SeedLike, generator
from firstlight.maths.shown import Shown
from firstlight.maths.sobol import sobol_normal
from firstlight.phase_transition.theory.conditional import conditional_moments, far_labels
from firstlight.phase_transition.theory.relevant import relevant_directions
from firstlight.phase_transition.theory.subspaces import complement, subspaces

_FEW = 4  # label laws with at most so many atoms are enumerated
SOBOL = 40  # coordinates beyond gain nothing from low discrepancy


@dataclass(frozen=True)
class LabelLaw:
    """Weighted nodes of the label's law.

    Attributes
    ----------
    y, weight : ndarray of shape (n,)
        Labels and probabilities.
    easy : ndarray of shape (n, e)
        The easy coordinates g_E.
    second : ndarray of shape (n, h, h)
        C = E[g_H g_Hᵀ | y, g_E].
    far : ndarray
        Labels far out in the law's support.
    easy_basis, hard_basis : ndarray of shape (k, e) and (k, h)
        Bases of the easy directions, and of the hard ones that the label depends on.
    name : str
        The target's text, for messages.
    """

    y: np.ndarray
    weight: np.ndarray
    easy: np.ndarray
    second: np.ndarray
    far: np.ndarray
    easy_basis: np.ndarray
    hard_basis: np.ndarray
    name: str


def label_law(target: MultiIndex, rng: RNGLike | SeedLike = 0) -> LabelLaw:
    """Compute the nodes of a target's label law.

    Examples
    --------
    >>> law = label_law(MultiIndex("sign(abs(z1) - 1)"))
    >>> law.y.tolist(), law.weight.tolist(), law.second.ravel().tolist()
    ([-1.000, 1.000], [0.683, 0.317], [0.291, 2.525])
    """
    rng = generator(rng)
    split = subspaces(target, rng)
    hard = complement(split.easy, relevant_directions(target))
    if hard.shape[1] == 0:
        raise ValueError(
            f"target = {target.expression}: has no hard direction; every direction is learnt at once"
        )
    moments = conditional_moments(target, split.easy, hard, rng)
    if moments.nodes.edges.size:
        moments = conditional_moments(target, split.easy, hard, rng, nodes=moments.nodes.evenly())
    second = moments.second.mean(axis=0) + np.eye(hard.shape[1])
    return LabelLaw(
        moments.y, moments.weight, moments.easy, second, far_labels(target), split.easy, hard,
        target.expression,
    )  # fmt: skip


@dataclass(frozen=True)
class LabelSample(Shown):
    """Samples of a label law beside independent normals; fields as in `LabelLaw`, and `normals` (n, dim).

    Samples of equal `twin` (n,) mirror each other and go to the same batches.
    """

    y: np.ndarray
    weight: np.ndarray
    easy: np.ndarray
    second: np.ndarray
    normals: np.ndarray
    twin: np.ndarray


def draw(law: LabelLaw, dim: int, count: int, rng: RNGLike | SeedLike = 0) -> LabelSample:
    """Draw labels beside `dim` independent normals.

    Parameters
    ----------
    law : LabelLaw
        Nodes. With few of them each normal vector meets every label, with exact weights; otherwise one Sobol
        coordinate picks the label, so that labels too are stratified.
    dim : int
        How many normals per sample; the first 40 are Sobol points, the others pseudo-random.
    count : int
        About how many samples, at least 8 per node in the first case.
    rng : SPEC 7 rng, default 0

    Examples
    --------
    >>> drawn = draw(label_law(MultiIndex("sign(abs(z1) - 1)")), 3, 64)
    >>> drawn.normals.shape, float(drawn.weight.sum())
    ((64, 3), 1.0000)
    """
    rng = generator(rng)
    atoms = law.y.size
    if atoms <= _FEW:
        normals = _normals(dim, max(count // atoms, 8), rng)
        index = np.repeat(np.arange(atoms), len(normals))
        weight = law.weight[index] / len(normals)
        normals = np.tile(normals, (atoms, 1))
    else:
        points = _normals(dim + 1, count, rng)
        place = np.searchsorted(np.cumsum(law.weight), ndtr(points[:, 0]))
        index, normals = np.minimum(place, atoms - 1), points[:, 1:]
        weight = np.full(count, 1 / count)
    return LabelSample(
        law.y[index], weight, law.easy[index], law.second[index], normals,
        np.arange(len(index)),
    )  # fmt: skip


def _normals(dim: int, count: int, rng: np.random.Generator) -> np.ndarray:
    low = sobol_normal(min(dim, SOBOL), count, rng)
    return low if dim <= SOBOL else np.hstack([low, rng.standard_normal((count, dim - SOBOL))])
