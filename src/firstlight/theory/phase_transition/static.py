"""Where gradient descent ends, straight away: the static equations, valid while the bulk stays positive."""

from dataclasses import dataclass

import numpy as np

from firstlight.theory.phase_transition.hessian import margin
from firstlight.theory.phase_transition.labels import LabelSample
from firstlight.theory.phase_transition.resolvent import Branch, Bulk
from firstlight.theory.phase_transition.stacks import inverse, lowest
from firstlight.theory.phase_transition.student import Student

_TOLERANCE = 1e-8


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
    student : Student
        The network.
    sample : LabelSample
        Labels beside at least m normals.
    delta : float
        Samples per dimension.
    max_iterations : int, default 3000
        Damped iterations before giving up.

    Returns
    -------
    StaticPoint

    Examples
    --------
    >>> from firstlight import MultiIndex
    >>> from firstlight.theory.phase_transition.labels import draw, label_law
    >>> sample = draw(label_law(MultiIndex("tanh(z1 + 1.5*(z2**2 - 1))")), 1, 1 << 12)
    >>> found = static_point(Student("gelu"), sample, 5.0)
    >>> print(found.valid, found.norm.round(1), found.overlap.round(2))
    True [[0.2]] [[0.44]]
    """
    m, ridge = student.width, student.ridge
    y, weight, Z = sample.y, sample.weight, sample.normals[:, :m]
    unit = np.eye(m)
    q, M = student.init_scale**2 * unit, np.zeros((m, sample.easy.shape[1]))
    h = student.init_scale * Z
    P = (max(-lowest(student.curvature(y, h)), 0.0) / delta + 0.5) * 1.5 * unit
    change, steady = np.inf, 0
    for _ in range(max_iterations):
        centre = Z @ _root(q).T + sample.easy @ M.T
        h, P = _proximal(student, y, h, centre, P, delta)
        bulk = Bulk(student.curvature(y, h), weight, delta)
        psi = student.force(y, h)
        Q = np.linalg.inv(P)
        P_new = ridge * unit + np.tensordot(weight, bulk.shrink(P)[1], 1)
        q_new = Q @ ((weight[:, None] * psi).T @ psi) @ Q / delta
        M_new = M - Q @ ((weight[:, None] * psi).T @ sample.easy + ridge * M)
        if np.linalg.eigvalsh(P_new)[0] <= 0:
            P_new = 1.2 * P  # outside the physical region: back towards it
        change = max(float(np.abs(a - b).max(initial=0.0)) for a, b in ((P, P_new), (q, q_new), (M, M_new)))
        steady = steady + 1 if change < _TOLERANCE * (1 + np.abs(P).max()) else 0
        P, q, M = 0.5 * (P + P_new), 0.5 * (q + q_new), 0.5 * (M + M_new)
        if steady >= 3:
            break
    slack = 1 - float(np.abs(np.linalg.eigvals(bulk.memory(bulk.shrink(P)[0]))).max())
    valid = bulk.feasible(P) and np.linalg.eigvalsh(P)[0] > 0
    value = margin(bulk, Branch(0.0, P, -ridge, slack), sample.second) if valid else np.nan
    loss = float(weight @ student.risk(y, h))
    return StaticPoint(q, M, loss, value, slack if valid else -np.inf, steady >= 3)


def _root(q: np.ndarray) -> np.ndarray:
    values, vectors = np.linalg.eigh(0.5 * (q + q.T))
    return (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T


def _proximal(
    student: Student, y: np.ndarray, h: np.ndarray, centre: np.ndarray, P: np.ndarray, delta: float
) -> tuple[np.ndarray, np.ndarray]:
    """Solve h + P⁻¹ψ(y, h)/δ = centre for each sample; P is raised where the map would fold."""
    for _ in range(50):
        D = student.curvature(y, h)
        floor = lowest(P + D / delta)
        if floor <= 0:
            P = P + (0.05 * np.trace(P) / len(P) - floor) * np.eye(len(P))
        gap = (centre - h) @ P - student.force(y, h) / delta
        step = (inverse(P + D / delta) @ gap[:, :, None])[:, :, 0]
        size = np.abs(step).max()
        h = h + step * min(1.0, 2.0 / max(size, 1e-300))
        if size < 1e-10:
            break
    return h, P
