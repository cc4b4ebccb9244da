"""How large steps may be before they overshoot, at a law of the curvature.

A small change of the weights is followed to first order, in mean square over batches. Along an eigenvalue λ
of the mean curvature it shrinks if ηλ is below 2 (1 + β), or below that over 1 + 2β with Nesterov's rule.
Batches add noise to the gradient, s times the mean square of the samples' own changes: s = (1 - b)/(bδ) for
fresh batches of the same samples, 1/(bδ) for samples never seen before. So it dies out only if also

    s η² E[λ² Y(ηλ)] < 1,

with Y(k) the sum over all later steps of the squared response to one kick. Samples never seen before have no
spectrum: λ is the mean curvature, whatever n/d is. For a linear neuron without momentum, of λ = 1, that is
η < 2/(1 + 1/(bδ)).
"""

import numpy as np

from firstlight.data.multi_index import MultiIndex
from firstlight.maths.solvers import bracketing_root
from firstlight.phase_transition.definitions import Student, Training
from firstlight.phase_transition.theory.resolvent import Bulk

_DRAWS = 1 << 12  # samples at the start
_NODES = 200  # of the Marchenko-Pastur law


def stable_below(D: np.ndarray, weight: np.ndarray, delta: float, ridge: float, training: Training) -> float:
    """Return the step size below which steps do not overshoot; NaN for cyclic batches: no rule is known.

    Parameters
    ----------
    D : ndarray of shape (n, m, m)
        Curvature of each sample.
    weight : ndarray of shape (n,)
        Its share, of sum 1.
    delta : float
        Samples per dimension.
    ridge : float
        λ of the penalty.
    training : Training
        Its momentum and batches; step size and schedule do not count.

    Notes
    -----
    Exact for a linear student with the square loss. For others it is about small changes while the law stays
    as it is, which may be for a few steps only, and the noise of batches is not always counted: for one pass
    where no curvature is negative (else noise may make small changes grow at any step size), along the
    direction in which the mean is largest; for fresh batches where the curvature is constant.

    Examples
    --------
    >>> D, weight = np.ones((8, 1, 1)), np.full(8, 1 / 8)
    >>> stable_below(D, weight, 4.0, 0.0, Training(0.1))  # 2/(1 + 1/√δ)²
    0.889
    >>> stable_below(D, weight, 4.0, 0.0, Training(0.1, batch=0.25, batches="one_pass"))
    1.000
    """
    if training.batches == "cyclic" and not training.full_batch:
        return np.nan
    mean = np.einsum("n,nab->ab", weight, D)
    values, vectors = np.linalg.eigh(mean)
    along = np.einsum("a,nab,b->n", vectors[:, -1], D, vectors[:, -1])
    if training.one_pass:
        right, spectrum = values[-1], np.array([values[-1]])
        share, square = np.ones(1), np.array([weight @ along**2])
        noise = 1 / (training.batch * delta)
        counted = np.linalg.eigvalsh(D).min() >= -1e-9 * abs(values[-1])
    else:
        right = -Bulk(D, weight, delta).mirrored.left_edge().value if D.any() else 0.0
        spectrum, share = _marchenko_pastur(delta)
        spectrum = values[-1] * spectrum
        square, noise = spectrum**2, (1 - training.batch) / (training.batch * delta)
        counted = np.ptp(D, axis=0).max() <= 1e-9 * abs(values[-1])
    if right + ridge <= 0:
        return np.inf
    most = training.largest_curvature * training.step_size / (right + ridge)

    def excess(eta: float) -> float:
        gain = _gain(eta * (spectrum + ridge), training)
        return float(noise * eta**2 * (share * square) @ gain - 1)

    if counted and excess(most * (1 - 1e-9)) > 0:
        most = bracketing_root(excess, 1e-12 * most, most * (1 - 1e-9)).value
    return float(most)


def stable_start(target: MultiIndex, student: Student, delta: float, training: Training, steps: int) -> float:
    """Return the step size below which steps do not overshoot at the start, where all overlaps are small.

    The largest factor of the schedule counts. NaN where more than the first layer is trained.

    Examples
    --------
    >>> one_pass = Training(0.7, batch=0.01, batches="one_pass")
    >>> stable_start(MultiIndex("z1"), Student("linear"), 100.0, one_pass, 8)
    1.000
    """
    if not training.only_rows:
        return np.nan
    rng, draws = np.random.default_rng(0), max(_DRAWS // student.width, 256)
    y = target.sample(draws, target.directions, rng).y
    D = student.curvature(y, student.init_scale * rng.standard_normal((draws, student.width)))
    limit = stable_below(D, np.full(draws, 1 / draws), delta, student.ridge, training)
    return float(limit / training.factors(steps).max())


def _gain(k: np.ndarray, training: Training) -> np.ndarray:
    """Return Σ_t y_t² of what a unit kick of the weights leaves where gradients are taken, at ηλ = k."""
    beta = training.momentum
    if not training.nesterov:
        return (1 + beta) / ((1 - beta) * k * (2 * (1 + beta) - k))
    kept = 1 - k
    top = ((1 + beta) ** 2 + beta**2) * (1 + kept * beta) - 2 * beta * kept * (1 + beta) ** 2
    return top / ((1 - kept * beta) * k * (2 * (1 + beta) - k * (1 + 2 * beta)))


def _marchenko_pastur(delta: float) -> tuple[np.ndarray, np.ndarray]:
    """Return nodes and shares of the positive eigenvalues of XᵀX/n, by Gauss quadrature in their angle."""
    angle = np.pi * np.arange(1, _NODES + 1) / (_NODES + 1)
    nodes = 1 + 1 / delta + 2 * np.cos(angle) / delta**0.5
    return nodes, 2 / (_NODES + 1) * np.sin(angle) ** 2 / nodes
