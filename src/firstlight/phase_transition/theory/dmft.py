"""Gradient descent in the limit of many dimensions: dynamical mean-field theory, exact in discrete time.

One sample's pre-activations h^t, driven by Gaussian fields and by the memory of its own past forces, stand
for all. The fields are written as ω^t = A^t · (independent normals), so that their covariance is positive by
construction; the hard overlaps, of order d^{-1/2}, follow a linear recursion of their own (A_H).
"""

from collections.abc import Sequence

import numpy as np

from firstlight.data.multi_index import MultiIndex
from firstlight.maths.checks import check_count, check_memory, check_positive
from firstlight.maths.rng import RNGLike, SeedLike, generator
from firstlight.maths.sobol import sobol_normal
from firstlight.phase_transition.definitions import Student, as_student, default_times
from firstlight.phase_transition.theory.conditional import as_target
from firstlight.phase_transition.theory.labels import LabelLaw, LabelSample, draw, label_law
from firstlight.phase_transition.theory.path import DmftPath
from firstlight.phase_transition.theory.process import Process
from firstlight.phase_transition.theory.resolvent import Bulk
from firstlight.phase_transition.theory.subspaces import subspaces

_PROBES = 1 << 11  # nodes that tell whether the first step is stable


def dmft(
    target: MultiIndex | str,
    student: Student,
    delta: float,
    step_size: float,
    steps: int,
    samples: int = 1 << 14,
    rng: RNGLike | SeedLike = 0,
    hold_hard: bool = True,
    *,
    times: Sequence[int] | None = None,
    start_overlap: float | np.ndarray = 0.0,
) -> DmftPath:
    """Follow gradient descent W ← W - η ∇R(W) in the limit of many dimensions.

    Parameters
    ----------
    target : MultiIndex or str
        The law of the label.
    student : Student
        The network.
    delta : float
        Samples per dimension, positive.
    step_size : float
        η; below 2 over the Hessian's largest eigenvalue.
    steps : int
        T. Time grows as T³ m³, memory as T² m².
    samples : int, default 16384
        Samples of the single-sample process.
    rng : SPEC 7 rng, default 0
        Scrambles them; the same for all delta makes curves smooth.
    hold_hard : bool, default True
        Keep the overlap with the hard directions at zero (what happens in times of order one), and follow its
        variance V(t) instead. If False all directions are followed, from `start_overlap`; labels may then
        be unbounded, since nothing asks for the left edge of a spectrum.
    times : sequence of int, optional
        Steps at which the law of (y, h) is kept; by default 0, 1, 2, 4, ..., T.
    start_overlap : float or ndarray of shape (m, k)
        Overlap w_j·θ_a at the start, if `hold_hard` is False; about ±r/√d in d dimensions.

    Returns
    -------
    DmftPath

    Examples
    --------
    >>> path = dmft("sign(abs(z1) - 1.4820733)", Student("tanh_squared", 1.0, 0.8), 3.0, 0.25, 4, 1 << 10)
    >>> bool(path.train_loss[4] < path.test_loss[4])
    True
    """
    target, student, rng = as_target(target), as_student(student), generator(rng)
    start = _start(start_overlap, student, target.k)
    if not isinstance(hold_hard, (bool, np.bool_)):
        raise ValueError(f"hold_hard = {hold_hard!r}: must be True or False")
    if hold_hard and start.any():
        raise ValueError(f"start_overlap = {start_overlap}: must be 0 unless hold_hard is False")
    if hold_hard:
        return held_path(label_law(target, rng), student, delta, step_size, steps, samples, rng, times)
    kept = _check(student, delta, step_size, steps, samples, times)
    hard = subspaces(target, rng).hard
    probe = _joint(target, hard, student.width, _PROBES, np.random.default_rng(0))
    student.require_loss(probe.y, target.expression)
    _check_step(student, probe, delta, step_size)
    sample = _joint(target, hard, (steps + 1) * student.width, samples, rng)
    student.require_loss(sample.y, target.expression)
    return Process(student, sample, float(delta), float(step_size), steps, kept, start).path()


def held_path(
    labels: LabelLaw,
    student: Student,
    delta: float,
    step_size: float,
    steps: int,
    samples: int,
    rng: RNGLike | SeedLike,
    times: Sequence[int] | None = None,
) -> DmftPath:
    """Follow gradient descent with the hard overlaps held, from a label law that is known already."""
    kept = _check(student, delta, step_size, steps, samples, times)
    student.require_labels(labels.y, labels.far, labels.name)
    _check_step(student, draw(labels, student.width, _PROBES, 0), delta, step_size)
    sample = draw(labels, (steps + 1) * student.width, samples, rng)
    start = np.zeros((student.width, labels.easy.shape[1]))
    return Process(student, sample, float(delta), float(step_size), steps, kept, start).path()


def _joint(
    target: MultiIndex, hard: np.ndarray, dim: int, count: int, rng: np.random.Generator
) -> LabelSample:
    """Draw samples in which all hidden coordinates are followed.

    In pairs with opposite hard coordinates, all else alike: a sample's own asymmetry would push small
    overlaps, which then grow.
    """
    extra = target.k + (target.noise > 0)
    half = sobol_normal(min(dim, 40) + extra, -(-count // 2), rng)
    g = half[:, : target.k]
    g = np.concatenate([g, g - 2 * (g @ hard) @ hard.T])[:count]
    rest = np.hstack([half[:, target.k :], rng.standard_normal((len(half), max(dim - 40, 0)))])
    rest = np.concatenate([rest, rest])[:count]
    y = target.law(g) + (target.noise * rest[:, 0] if target.noise else 0.0)
    normals = rest[:, extra - target.k :]
    return LabelSample(y, np.full(count, 1 / count), g, np.zeros((count, 0, 0)), normals)


def memory_bytes(student: Student, steps: int, samples: int) -> int:
    """Estimate the memory of a run."""
    m = student.width
    return samples * (2 * steps * (steps + 1) * m * m + 24 * (steps + 1) * m)


def _check(
    student: Student, delta: float, step_size: float, steps: int, samples: int, times: Sequence[int] | None
) -> tuple[int, ...]:
    check_positive("delta", delta)
    check_positive("step_size", step_size)
    check_count("steps", steps, 1)
    check_count("samples", samples, 64)
    sizes = f"steps = {steps}, samples = {samples}"
    check_memory(sizes, memory_bytes(student, steps, samples), "samples × steps² × width²")
    if times is None:
        return default_times(int(steps))
    at = np.asarray(times)
    if at.ndim != 1 or at.dtype.kind not in "iu" or at.min() < 0 or at.max() > steps:
        raise ValueError(f"times = {times!r}: must be integers in 0 .. {steps}, at least one")
    return tuple(np.unique(at).tolist())


def _start(overlap: float | np.ndarray, student: Student, k: int) -> np.ndarray:
    shape, given = (student.width, k), np.asarray(overlap)
    if given.shape not in ((), shape):
        raise ValueError(f"start_overlap: shape {given.shape}, expected {shape} or a number")
    if given.dtype.kind not in "iuf" or not np.isfinite(given).all():
        raise ValueError(f"start_overlap = {overlap!r}: must be finite numbers")
    start = np.broadcast_to(given, shape).astype(float)
    if not np.linalg.norm(start, 2) < student.init_scale:
        raise ValueError(f"start_overlap = {overlap}: must be shorter than the rows, {student.init_scale}")
    return start


def _check_step(student: Student, drawn: LabelSample, delta: float, step_size: float) -> None:
    D = student.curvature(drawn.y, student.init_scale * drawn.normals)
    right = student.ridge - Bulk(D, drawn.weight, delta).mirrored.left_edge().value
    if step_size * right >= 2:
        raise ValueError(
            f"step_size = {step_size}: unstable at the start, must be below 2/{right:.3g} = {2 / right:.3g}"
        )
