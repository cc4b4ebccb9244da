"""Gradient descent in the limit of many dimensions: dynamical mean-field theory, exact in discrete time.

Samples in quasi-random numbers stand for the data, and directions of input space are made when training first
needs them (`frame`); the hard overlaps, of order d^{-1/2}, follow a linear recursion of their own (`hard`).
Independent scrambles of the samples give each number's standard error.
"""

from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import replace

import numpy as np

from firstlight.data.multi_index import MultiIndex
from firstlight.maths.checks import check_count, check_memory, check_positive
from firstlight.maths.rng import RNGLike, SeedLike, generator
from firstlight.maths.sobol import sobol_normal
from firstlight.maths.workers import on_one_thread
from firstlight.phase_transition.definitions import (
    Student,
    Training,
    as_student,
    as_training,
    default_times,
)
from firstlight.phase_transition.theory.conditional import as_target
from firstlight.phase_transition.theory.labels import SOBOL, LabelLaw, LabelSample, draw, label_law
from firstlight.phase_transition.theory.path import DmftPath, joined
from firstlight.phase_transition.theory.process import Process
from firstlight.phase_transition.theory.subspaces import subspaces

SCRAMBLES = 8  # whose scatter tells the error
_PROBES = 1 << 11  # samples whose labels the loss is tried on


@on_one_thread
def dmft(
    target: MultiIndex | str,
    student: Student,
    samples_per_dimension: float,
    training: Training | float,
    steps: int,
    draws: int = 1 << 14,
    rng: RNGLike | SeedLike = 0,
    hold_hard: bool = True,
    *,
    times: Sequence[int] | None = None,
    start_overlap: float | np.ndarray = 0.0,
    scrambles: int = SCRAMBLES,
) -> DmftPath:
    """Follow training, by default W ← W - η ∇R(W), in the limit of many dimensions.

    Parameters
    ----------
    target, student : MultiIndex or str, and Student
        The law of the label, and the network.
    samples_per_dimension : float
        n/d, positive.
    training : Training or float
        The algorithm; a number is the step size η of plain gradient descent. The path tells whether its first
        steps overshoot; one that diverges is refused. Errors of small batches grow as b^(-1/2).
    steps : int
        T. Time and memory grow with T m times the number of directions that training needs, at most T m.
    draws, scrambles : int, default 16384 and 8
        Samples that stand for the data, in all; independent scrambles share them, whose scatter tells the
        standard error.
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
    >>> gap = path.test_loss[4] - path.train_loss[4]
    >>> bool(gap > 10 * path.standard_error(lambda run: run.test_loss)[4])
    True
    """
    target, student, rng = as_target(target), as_student(student), generator(rng)
    training = as_training(training)
    start = _start(start_overlap, student, target.directions)
    if not isinstance(hold_hard, (bool, np.bool_)):
        raise ValueError(f"hold_hard = {hold_hard!r}: must be True or False")
    if hold_hard and start.any():
        raise ValueError(f"start_overlap = {start_overlap}: must be 0 unless hold_hard is False")
    if hold_hard:
        labels = label_law(target, rng)
        return held_path(
            labels, student, samples_per_dimension, training, steps, draws, rng, times, scrambles
        )
    return _free_path(
        target, student, samples_per_dimension, training, steps, draws, rng, times, scrambles, start
    )


def _free_path(
    target: MultiIndex, student: Student, samples_per_dimension: float, training: Training, steps: int,
    draws: int, rng: np.random.Generator, times: Sequence[int] | None, scrambles: int, start: np.ndarray,
) -> DmftPath:  # fmt: skip
    """Follow all directions, from the overlap at the start."""
    kept = _check(student, samples_per_dimension, training, steps, draws, scrambles, times)
    drawn = _free(target, student, steps, rng)
    return _runs(drawn, student, samples_per_dimension, training, steps, draws, scrambles, kept, start, rng)


def free_processes(
    target: MultiIndex, student: Student, training: Training, steps: int, draws: int, seed: int
) -> Callable[[float, np.ndarray], Process]:
    """Return what begins the same training at some delta from some overlaps (m, k), always on one sample."""
    rng = generator(seed)
    drawn = _free(target, student, steps, rng)
    (rng,) = rng.spawn(1)
    sample = drawn(draws, rng)
    student.require_loss(sample.y, "this target")

    def process(delta: float, start: np.ndarray) -> Process:
        _check(student, delta, training, steps, draws, 1, None)
        start = _start(start, student, target.directions)
        return Process(student, sample, delta, training, steps, start, deepcopy(rng), overlaps=False)

    return process


def _free(
    target: MultiIndex, student: Student, steps: int, rng: np.random.Generator
) -> Callable[[int, np.random.Generator], LabelSample]:
    """Check labels; return what draws samples in which all directions are followed."""
    hard = subspaces(target, rng).hard
    probe = _joint(target, hard, student.width, _PROBES, np.random.default_rng(0))
    student.require_loss(probe.y, target.expression)

    def drawn(count: int, rng: np.random.Generator) -> LabelSample:
        return _joint(target, hard, min((steps + 1) * student.width, SOBOL), count, rng)

    return drawn


def held_path(
    labels: LabelLaw,
    student: Student,
    samples_per_dimension: float,
    training: Training | float,
    steps: int,
    draws: int,
    rng: RNGLike | SeedLike,
    times: Sequence[int] | None = None,
    scrambles: int = 1,
) -> DmftPath:
    """Follow gradient descent with the hard overlaps held, from a label law that is known already."""
    training = as_training(training)
    kept = _check(student, samples_per_dimension, training, steps, draws, scrambles, times)
    drawn, start = _held(labels, student, samples_per_dimension, training, steps)
    unbounded = _unbounded(student, labels)
    path = _runs(
        drawn, student, samples_per_dimension, training, steps, draws, scrambles, kept, start, generator(rng)
    )
    runs = tuple(replace(run, unbounded=unbounded) for run in path.runs)
    return replace(path, unbounded=unbounded, runs=runs)


def held_process(
    labels: LabelLaw, student: Student, delta: float, training: Training, steps: int, draws: int, seed: int
) -> Process:
    """Return the same gradient descent before its first step, without the variance of the overlaps."""
    _check(student, delta, training, steps, draws, 1, None)
    drawn, start = _held(labels, student, delta, training, steps)
    (rng,) = generator(seed).spawn(1)
    return Process(student, drawn(draws, rng), delta, training, steps, start, rng, overlaps=False)


def _held(
    labels: LabelLaw, student: Student, delta: float, training: Training, steps: int
) -> tuple[Callable[[int, np.random.Generator], LabelSample], np.ndarray]:
    """Check labels; return what draws samples, and the overlaps at the start."""
    student.require_loss(labels.y, labels.name)

    def drawn(count: int, rng: np.random.Generator) -> LabelSample:
        return draw(labels, min((steps + 1) * student.width, SOBOL), count, rng)

    return drawn, np.zeros((student.width, labels.easy.shape[1]))


def _unbounded(student: Student, labels: LabelLaw) -> str:
    """Return why spectra have no left edge, as with the square loss and noise; training needs none."""
    try:
        student.require_labels(labels.y, labels.far, labels.name)
    except ValueError as error:
        return str(error)
    return ""


def _runs(
    drawn: Callable[[int, np.random.Generator], LabelSample], student: Student, samples_per_dimension: float,
    training: Training, steps: int, draws: int, scrambles: int, times: tuple[int, ...], start: np.ndarray,
    rng: np.random.Generator,
) -> DmftPath:  # fmt: skip
    """Run independent scrambles, which share the samples, and join them."""
    runs = []
    for one in rng.spawn(scrambles):
        sample = drawn(max(draws // scrambles, 16), one)
        student.require_loss(sample.y, "this target")
        delta = float(samples_per_dimension)
        runs.append(Process(student, sample, delta, training, int(steps), start, one).path(times))
    return joined(runs)


def _joint(
    target: MultiIndex, hard: np.ndarray, dim: int, count: int, rng: np.random.Generator
) -> LabelSample:
    """Draw samples in which all hidden coordinates are followed, in the order of their labels.

    In pairs with opposite hard coordinates, if there are any, and all else alike: a sample's own asymmetry
    would push small overlaps, which then grow.
    """
    noisy, twice = int(target.noise > 0), 1 + bool(hard.size)
    half = -(-count // twice)
    points = np.tile(sobol_normal(target.directions + noisy + dim, half, rng), (twice, 1))[:count]
    g, rest = points[:, : target.directions], points[:, target.directions :]
    if twice == 2:
        g[half:] -= 2 * (g[half:] @ hard) @ hard.T
    y = target.law(g) + (target.noise * rest[:, 0] if noisy else 0.0)
    order = np.argsort(y, kind="stable")
    weight, second, twin = np.full(count, 1 / count), np.zeros((count, 0, 0)), np.arange(count) % half
    return LabelSample(y[order], weight, g[order], second, rest[order, noisy:], twin[order])


def memory_bytes(student: Student, steps: int, draws: int) -> int:
    """Estimate the memory of a run: pre-activations twice, and the frame of one scramble."""
    return 8 * (steps + 1) * student.width * (2 * draws + 2 * draws // SCRAMBLES)


def _check(
    student: Student, samples_per_dimension: float, training: Training, steps: int, draws: int,
    scrambles: int, times: Sequence[int] | None,
) -> tuple[int, ...]:  # fmt: skip
    check_positive("samples_per_dimension", samples_per_dimension)
    training.factors(check_count("steps", steps, 1))
    check_count("draws", draws, 64)
    check_count("scrambles", scrambles, 1)
    sizes = f"steps = {steps}, draws = {draws}"
    check_memory(sizes, memory_bytes(student, steps, draws), "samples × steps × width")
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
