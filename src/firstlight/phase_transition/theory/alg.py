"""delta_alg: samples per dimension above which polynomial-time methods find a hard direction."""

from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from firstlight.data.multi_index import MultiIndex
from firstlight.maths.rng import RNGLike, SeedLike, generator
from firstlight.maths.solvers import Solved
from firstlight.maths.workers import on_one_thread
from firstlight.phase_transition.theory.conditional import Moments, as_informative, conditional_moments
from firstlight.phase_transition.theory.easy_nodes import Nodes
from firstlight.phase_transition.theory.relevant import relevant_directions
from firstlight.phase_transition.theory.subspaces import complement, joined, subspaces
from firstlight.phase_transition.theory.symmetry import proves_silent

# Labels stand a quarter of the noise apart. Two levels, D apart, overlap by exp(-D²/8σ²), and their ratio has
# poles πσ²/D from the axis: the sum is off by at most exp(-D²/8σ² - 8π²σ/D) < 3e-8 of the signal.
_BLUR_ERROR = 1e-7
_NOTHING = 1e-7  # an eigenvalue of F below this is zero, even without sampling noise
_SURELY_NOTHING = 1e-3  # the error that an eigenvalue of zero may have
_BINS, _BINS_GIVEN = 1e-3, 3e-3  # bias of sampled bins, and of the fewer ones given easy coordinates
_COMPARED = 64  # nodes of easy coordinates at which fewer slices are tried
_PART = 0.03  # of a direction in the eigenmatrix, below which it is not learnt with the others


@dataclass(frozen=True)
class AlgorithmicThreshold(Solved[float]):
    """A `Solved` threshold: `value` is delta_alg, `residual` its estimated error.

    Attributes
    ----------
    directions : ndarray of shape (k, ·)
        Orthonormal basis of what is learnt at the threshold, in hidden coordinates; no column if infinite.
    known : ndarray of shape (k, e)
        The directions that are conditioned on.
    route : {"nothing hard", "nothing to find", "level sets", "quasi-Monte-Carlo"}
        How the conditional moments were computed; "nothing to find" only of `conditional_threshold`.
    signal, signal_error : float
        1/delta_alg as computed, and its error: what an infinite threshold rests on.
    """

    directions: np.ndarray
    known: np.ndarray
    route: str
    signal: float
    signal_error: float


@on_one_thread
def delta_alg(target: MultiIndex | str, rng: RNGLike | SeedLike = 0) -> AlgorithmicThreshold:
    """Compute the algorithmic threshold of the hard directions, given the easy ones.

    1/delta_alg is the largest eigenvalue of F(M) = E[G M G] on symmetric matrices, with
    G = E[g_H g_Hᵀ - I | y, g_E].

    Parameters
    ----------
    target : MultiIndex or str
        The law of the label. Exact by level sets if one direction is hard; for several, quasi-Monte-Carlo
        with an error bar, which also serves k > 3.
    rng : SPEC 7 rng, default 0
        Scrambles the quasi-Monte-Carlo points.

    Returns
    -------
    AlgorithmicThreshold
        0 if no direction that matters is hard, infinity if F vanishes to within its error: converged only if
        a symmetry proves it. Not converged either if the error is above 2 per cent, say because a function
        levels off so far that its labels agree to all digits.

    Examples
    --------
    >>> threshold = delta_alg("z1**2")
    >>> print(threshold.value, threshold.route)
    0.5000 level sets
    >>> delta_alg("sign(z1*z2*z3)").value
    inf
    """
    target, rng = as_informative(target), generator(rng)
    split = subspaces(target, rng)
    threshold = conditional_threshold(target, split.easy, rng)
    if threshold.route == "nothing to find":  # what matters is easy; as if the rest were not named at all
        threshold = replace(threshold, value=0.0, residual=0.0, route="nothing hard", signal=np.inf)
    return replace(threshold, converged=threshold.converged and split.sure)


def conditional_threshold(
    target: MultiIndex, known: np.ndarray, rng: np.random.Generator
) -> AlgorithmicThreshold:
    """Return the threshold of the directions that are left when the coordinates along `known` are given."""
    if known.shape[1] == target.directions:
        return AlgorithmicThreshold(0.0, 0.0, 0, True, known[:, :0], known, "nothing hard", np.inf, 0.0)
    hard = complement(known, relevant_directions(target))
    if hard.shape[1] == 0:  # what is left has no part in the label
        return AlgorithmicThreshold(np.inf, np.inf, 0, True, hard, known, "nothing to find", 0.0, 0.0)
    moments = conditional_moments(target, known, hard, rng)
    if moments.sampled:
        route, (top, error, noise, matrix) = "quasi-Monte-Carlo", sampled_top(moments)
        error += (_BINS_GIVEN if known.size else _BINS) * top
    else:
        route, (top, error, noise, matrix) = "level sets", _exact_top(target, known, hard, moments)
    error += moments.nodes.error * top
    if known.shape[1] > 1:
        error += _node_error(moments, matrix)
    nodes = moments.weight.size * len(moments.second)
    if top <= max(_NOTHING, 5 * error):
        sure = error <= _SURELY_NOTHING and proves_silent(target, known, hard)
        return AlgorithmicThreshold(np.inf, np.inf, nodes, sure, hard[:, :0], known, route, top, error)
    learnt, gap = _learnt(matrix, top, 4 * (error + noise), noise)
    basis = joined(target, known, hard @ learnt, error / gap)
    known, directions = np.split(basis, [known.shape[1]], axis=1)
    good = bool(error <= 0.02 * top)
    return AlgorithmicThreshold(1 / top, error / top**2, nodes, good, directions, known, route, top, error)


def operator(second: np.ndarray, other: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Return F as a matrix on an orthonormal basis of symmetric matrices, from two estimates of G."""
    h = second.shape[-1]
    product = np.einsum("n,nab,ncd->adbc", weight, second, other, optimize=True).reshape(h * h, h * h)
    basis = symmetric_basis(h).reshape(-1, h * h)
    matrix = basis @ product @ basis.T
    return 0.5 * (matrix + matrix.T)


def symmetric_basis(h: int) -> np.ndarray:
    """Return an orthonormal basis of the symmetric h × h matrices, shape (h(h+1)/2, h, h)."""
    basis = []
    for a in range(h):
        for b in range(a + 1):
            unit = np.zeros((h, h))
            unit[a, b] = unit[b, a] = 1.0 if a == b else np.sqrt(0.5)
            basis.append(unit)
    return np.array(basis)


def _exact_top(
    target: MultiIndex, known: np.ndarray, hard: np.ndarray, fine: Moments
) -> tuple[float, float, float, np.ndarray]:
    """Richardson: the bias of slices falls as their number squared, which some nodes tell."""
    step = 1 + len(fine.nodes.place) // _COMPARED
    step |= known.shape[1] > 1  # every second point of a Sobol set is one half of the space
    share = fine.nodes.weight[::step].sum()
    nodes = Nodes(fine.nodes.place[::step], fine.nodes.weight[::step] / share)
    coarse = conditional_moments(target, known, hard, fineness=-1, nodes=nodes)
    among = _node_of_slices(fine) % step == 0
    matrix = operator(fine.second[0], fine.second[0], fine.weight)
    some = operator(fine.second[0, among], fine.second[0, among], fine.weight[among] / share)
    other = operator(coarse.second[0], coarse.second[0], coarse.weight)
    change = some - other
    matrix = matrix + change / 3
    top = float(np.linalg.eigvalsh(matrix)[-1])
    error = float(np.abs(change).max()) + (_BLUR_ERROR * top if target.noise else 0.0)
    return top, error, 0.0, matrix


def sampled_top(moments: Moments) -> tuple[float, float, float, np.ndarray]:
    """Products of different replicates; eigenvectors and eigenvalues from different halves of these.

    Noise spreads equal eigenvalues, so the largest one of a noisy matrix is too large. A top eigenvector of
    one half has an unbiased form in the other half if eigenvalues are equal, and loses a little, for which a
    quarter of the noise's effect goes into the error, if they nearly are.
    """
    count = len(moments.second)
    pairs = {
        frozenset(pair): operator(moments.second[pair[0]], moments.second[pair[1]], moments.weight)
        for pair in combinations(range(count), 2)
    }
    forms = []
    for half in combinations(range(count), count // 2):
        other = set(range(count)).difference(half)
        one, two = (np.mean([pairs[frozenset(p)] for p in combinations(h, 2)], axis=0) for h in (half, other))
        vector = np.linalg.eigh(one)[1][:, -1]
        forms.append(vector @ two @ vector)
    matrix = np.mean(list(pairs.values()), axis=0)
    top = float(np.mean(forms))
    excess = max(float(np.linalg.eigvalsh(matrix)[-1]) - top, 0.0)
    noise = float(np.std(list(pairs.values()), axis=0).max()) / np.sqrt(count / 2)
    # a form in one half and one in the other are independent
    return top, float(np.hypot(np.std(forms) / np.sqrt(2), excess / 4)), max(noise, excess / 2), matrix


def _node_of_slices(moments: Moments) -> np.ndarray:
    """Return which node of the easy coordinates each slice belongs to."""
    return np.cumsum(np.append(True, (np.diff(moments.easy, axis=0) != 0).any(axis=1))) - 1


def _node_error(moments: Moments, matrix: np.ndarray) -> float:
    """Return the standard error of the top eigenvalue over eight parts of the easy coordinates' nodes."""
    part = moments.nodes.eighths()[_node_of_slices(moments)]
    vector, second = np.linalg.eigh(matrix)[1][:, -1], moments.second.mean(axis=0)
    tops = [
        vector @ operator(second[part == i], second[part == i], 8 * moments.weight[part == i]) @ vector
        for i in range(8)
    ]
    return float(np.std(tops, ddof=1) / np.sqrt(8))


def _learnt(matrix: np.ndarray, top: float, band: float, noise: float) -> tuple[np.ndarray, float]:
    """Return the span of the eigenmatrices within `band` of the top, and their distance to the others."""
    h = int(np.sqrt(2 * len(matrix)))
    values, vectors = np.linalg.eigh(matrix)
    near = values > top - band - 1e-6 * top
    shapes = np.einsum("is,iab->sab", vectors[:, near], symmetric_basis(h))
    strength, axes = np.linalg.eigh(np.einsum("sab,sbc->ac", shapes, shapes))
    gap = top - float(values[~near].max(initial=0.0))
    least = max(_PART, 5 * noise / gap)
    return axes[:, strength > least**2 * strength[-1]], gap
