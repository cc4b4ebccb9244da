"""Where gradient descent ends, straight away: the static equations, valid while the bulk stays positive."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy.special import stdtrit

from firstlight.phase_transition.definitions import Student
from firstlight.phase_transition.theory.criterion import last_crossing, margin
from firstlight.phase_transition.theory.labels import LabelLaw, LabelSample, draw
from firstlight.phase_transition.theory.resolvent import Branch, Bulk, slack
from firstlight.phase_transition.theory.stacks import eliminate, lowest

_TOLERANCE = 1e-8
_ENDLESS = 1e4  # times delta_alg: as good as infinitely many samples
_REACH = 40.0  # times delta_alg: where thresholds usually lie
_COARSE = 1 << 11  # samples that find the region
_CLEAR = 8.0  # standard errors from zero at which they decide: four scrambles know theirs badly


@dataclass(frozen=True)
class StaticPoint:
    """The end of training with the hard overlaps held at zero.

    Attributes
    ----------
    norm : ndarray of shape (m, m)
        Covariance of the first-layer rows across the followed directions, q.
    overlap : ndarray of shape (m, e)
        M, with the easy directions.
    train_loss : float
        Mean loss.
    margin : float
        Negative if the Hessian has a negative outlier in the hard directions.
    slack : float
        Positive if the point is a stable minimum with a positive bulk, so that all this is valid.
    converged : bool
        Whether the iteration met its tolerance.
    """

    norm: np.ndarray
    overlap: np.ndarray
    train_loss: float
    margin: float
    slack: float
    converged: bool

    @property
    def valid(self) -> bool:
        """Whether the point may be used."""
        return self.converged and self.slack > 0


def static_point(
    student: Student, sample: LabelSample, delta: float, max_iterations: int = 3000
) -> StaticPoint:
    """Solve h + (Q/δ) ψ(y, h) = ω + M g_E with Q⁻¹ = λ + E[B], Cov ω = q = Q E[ψψᵀ] Q/δ, E[ψ g_Eᵀ] = -λ M.

    Parameters
    ----------
    sample : LabelSample
        Labels beside at least m normals.
    max_iterations : int, default 3000
        Damped iterations before giving up.

    Examples
    --------
    >>> from firstlight import MultiIndex
    >>> from firstlight.phase_transition.theory.labels import draw, label_law
    >>> sample = draw(label_law(MultiIndex("tanh(z1 + 1.5*(z2**2 - 1))")), 1, 1 << 12)
    >>> point = static_point(Student("gelu"), sample, 5.0)
    >>> print(point.valid, bool(abs(point.overlap[0, 0] - 0.444) < 0.02))
    True True
    """
    m, ridge = student.width, student.ridge
    y, weight, Z = sample.y, sample.weight, sample.normals[:, :m]
    unit = np.eye(m)
    q, M = student.init_scale**2 * unit, np.zeros((m, sample.easy.shape[1]))
    h = student.init_scale * Z
    psi, D = student.force_and_curvature(y, h)
    P = (max(-lowest(D), 0.0) / delta + 0.5) * 1.5 * unit
    change, steady = np.inf, 0
    for _ in range(max_iterations):
        centre = Z @ _root(q).T + sample.easy @ M.T
        h, psi, D, P = _proximal(student, y, (h, psi, D), centre, P, delta, max(1e-10, 1e-3 * change))
        bulk = Bulk(D, weight, delta)
        Q, moments = np.linalg.inv(P), bulk.moments(P)
        P_new = ridge * unit + moments[0] if moments else -unit
        weighted = (weight[:, None] * psi).T
        q_new = Q @ (weighted @ psi) @ Q / delta
        M_new = M - Q @ (weighted @ sample.easy + ridge * M)
        if np.linalg.eigvalsh(P_new)[0] <= 0:
            P_new = 1.2 * P  # outside the physical region: back towards it
        change = max(float(np.abs(a - b).max(initial=0.0)) for a, b in ((P, P_new), (q, q_new), (M, M_new)))
        steady = steady + 1 if change < _TOLERANCE * (1 + np.abs(P).max()) else 0
        P, q, M = 0.5 * (P + P_new), 0.5 * (q + q_new), 0.5 * (M + M_new)
        if steady >= 3:
            break
    value, left, moments = np.nan, -np.inf, bulk.moments(P)
    if moments and np.linalg.eigvalsh(P)[0] > 0:
        left = slack(moments[1])
        value = margin(bulk, Branch(0.0, P, -ridge, left), sample.second)
    loss = float(weight @ student.risk(y, h))
    return StaticPoint(q, M, loss, value, left, steady >= 3)


def static_margins(
    student: Student, drawn: Sequence[LabelSample], delta: float, max_iterations: int = 3000
) -> np.ndarray:
    """Return the margin in each of some samples; NaN where the equations do not hold.

    All are NaN if they do not hold in the first sample: the others would take long to find that out too.
    """

    def at(one: LabelSample) -> float:
        point = static_point(student, one, delta, max_iterations)
        return point.margin if point.valid else np.nan

    first = at(drawn[0])
    if np.isnan(first):
        return np.full(len(drawn), np.nan)
    return np.array([first, *map(at, drawn[1:])])


def half_width(margins: np.ndarray) -> float:
    """Return half the 95 % interval of the scrambles' mean; few scrambles: Student's t."""
    n = len(margins)
    return float(stdtrit(n - 1, 0.975) * np.std(margins, ddof=1) / n**0.5)


def static_threshold(
    student: Student, labels: LabelLaw, floor: float, draws: int, seeds: Sequence[int]
) -> tuple[float, float, bool] | None:
    """Return the threshold, its error and whether it is sure, if the equations hold on both sides of it.

    Infinity if they hold from some delta on and the mean margin is positive for every delta above: no number
    of samples bends the loss down along hard directions. That is sure if no 95 % interval reaches zero.
    """
    fine = [draw(labels, student.width, draws, seed) for seed in seeds]
    coarse = [draw(labels, student.width, _COARSE, seed) for seed in seeds[: len(seeds) // 2]]

    @cache
    def margins(delta: float) -> np.ndarray:
        row = static_margins(student, coarse, delta, 400)
        clear = abs(row.mean()) > _CLEAR * np.std(row, ddof=1) / len(row) ** 0.5
        return row if clear or np.isnan(row).all() else static_margins(student, fine, delta, 400)

    far, close = floor * np.geomspace(_ENDLESS, _REACH, 8)[:-1], floor * np.geomspace(_REACH, 1.0, 12)
    if margins(float(far[0])).mean() < 0 and margins(float(close[0])).mean() < 0:
        far = far[:1]  # there are outliers all the way
    grid, rows = np.concatenate([far, close]), []
    for delta in grid:  # from above: the equations fail from some delta downwards
        row = margins(float(delta))
        if np.isnan(row).any():
            break
        rows.append(row)
        if row.mean() > 0 > rows[0].mean():
            break
    if not rows:
        return None
    means = np.array([row.mean() for row in rows])
    if len(rows) >= 3 and means.min() > 0:
        return np.inf, np.inf, all(row.mean() > half_width(row) for row in rows)
    near = last_crossing(grid[: len(rows)][::-1], means[::-1])
    return _refined(student, fine, near) if np.isfinite(near) else None


def _refined(student: Student, drawn: Sequence[LabelSample], near: float) -> tuple[float, float, bool] | None:
    """Find the root of the mean margin by Newton's method in log delta, its slope from a pair around."""
    for _ in range(8):
        low, high = (static_margins(student, drawn, near * float(np.exp(step))) for step in (-0.05, 0.05))
        slope = float((high - low).mean() / 0.1)
        if not slope < 0:  # or not valid there
            return None
        middle = 0.5 * (low + high)
        shift = -float(middle.mean()) / slope
        if abs(shift) < 0.05:
            value = near * float(np.exp(shift))
            error = value * (np.expm1(min(half_width(middle) / -slope, 100.0)) + 1e-3)
            return value, float(error), bool(error < 0.1 * value)
        near *= float(np.exp(np.clip(shift, -0.5, 0.5)))
    return None


def _root(q: np.ndarray) -> np.ndarray:
    values, vectors = np.linalg.eigh(0.5 * (q + q.T))
    return (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T


def _proximal(
    student: Student, y: np.ndarray, start: tuple[np.ndarray, np.ndarray, np.ndarray], centre: np.ndarray,
    P: np.ndarray, delta: float, tolerance: float,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:  # fmt: skip
    """Solve h + P⁻¹ψ(y, h)/δ = centre for each sample; return h, with its ψ and D as at the start, and P.

    P is raised where the map would fold.
    """
    h, psi, D = start
    for _ in range(50):
        scaled = D.transpose(1, 2, 0) / delta  # so that an entry of all matrices is contiguous
        K = P[:, :, None] + scaled
        if not eliminate(K):  # not positive definite
            P = P + (0.05 * np.trace(P) / len(P) - lowest(P + D / delta)) * np.eye(len(P))
            K = P[:, :, None] + scaled
            if not eliminate(K):
                raise ValueError("P + D/δ: must be positive definite")
        gap = (centre - h) @ P - psi / delta
        step = (K * gap.T).sum(axis=1).T
        size = np.abs(step).max()
        h = h + step * min(1.0, 2.0 / max(size, 1e-300))
        psi, D = student.force_and_curvature(y, h)
        if size < tolerance:
            break
    return h, psi, D, P
