"""Training of a two-layer network on multi-index data, with what it learns recorded."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import Any

import numpy as np

from firstlight.maths.checks import check_count, check_matrix, check_number, check_orthonormal
from firstlight.maths.rng import RNGLike, SeedLike, generator
from firstlight.measure.hessian import HessianOperator, hessian_operator
from firstlight.network import descent
from firstlight.network.two_layer import TwoLayer
from firstlight.phase_transition.definitions import Student, Training, as_training

Data = tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True)
class DescentPath:
    """What a descent recorded, at the steps `times`.

    Attributes
    ----------
    times : ndarray of shape (r,)
    train_loss, test_loss : ndarray of shape (r,)
        Mean losses, without the penalty; in one pass, train_loss is that of the batch that comes next.
    train_error, test_error : ndarray of shape (r,)
        Shares of samples with sign f ≠ sign y.
    gram : ndarray of shape (r, m, m)
        WWᵀ.
    overlap : ndarray of shape (r, m, k)
        w_j·θ_a.
    second_layer, biases : ndarray of shape (r, m)
        a, and the first layer's biases.
    offset : ndarray of shape (r,)
        The output's offset.
    networks : tuple of TwoLayer
        The networks themselves.
    """

    times: np.ndarray
    train_loss: np.ndarray
    test_loss: np.ndarray
    train_error: np.ndarray
    test_error: np.ndarray
    gram: np.ndarray
    overlap: np.ndarray
    second_layer: np.ndarray
    biases: np.ndarray
    offset: np.ndarray
    networks: tuple[TwoLayer, ...]


def orthogonal_start(dimension: int, width: int, scale: float, rng: RNGLike | SeedLike = None) -> np.ndarray:
    """Draw a first layer (width, dimension) with orthogonal rows of length `scale`, uniformly.

    Examples
    --------
    >>> W = orthogonal_start(5, 2, 0.5, rng=0)
    >>> bool(np.allclose(W @ W.T, 0.25 * np.eye(2)))
    True
    """
    check_count("dimension", dimension)
    check_count("width", width)
    check_number("scale", scale, 0)
    if width > dimension:
        raise ValueError(f"width = {width}: at most dimension = {dimension} rows can be orthogonal")
    q, r = np.linalg.qr(generator(rng).standard_normal((dimension, width)))
    return np.ascontiguousarray((scale * q * np.sign(np.diag(r))).T)


def as_network(student: Student, first_layer: np.ndarray) -> TwoLayer:
    """Return the network that is trained, without biases, or several with first layers (..., m, d)."""
    shape = first_layer.shape[:-1]
    return TwoLayer(
        first_layer, np.broadcast_to(student.a, shape), student.sigma, 1.0, student.penalty,
        np.zeros(shape), np.full(shape[:-1], student.offset), student.ridge,
    )  # fmt: skip


def hessian_of(student: Student, network: TwoLayer, X: np.ndarray, y: np.ndarray) -> HessianOperator:
    """Return the Hessian of the mean loss in the first layer of a student's network."""
    W, a, bias, offset = network.parameters
    return hessian_operator(
        X, y, W, a, student.sigma, student.penalty, ridge=student.ridge, offset=float(offset), bias=bias
    )


def descend(
    student: Student,
    train: Data,
    test: Data,
    start: np.ndarray,
    directions: np.ndarray,
    training: Training | float,
    steps: int,
    *,
    times: Sequence[int] | None = None,
    held: np.ndarray | None = None,
    supply: Callable[[int], Data] | None = None,
    rng: RNGLike | SeedLike = None,
) -> DescentPath:
    """Train the network.

    Parameters
    ----------
    student : Student
        What is trained.
    train, test : (X, y)
        Samples to train on, and to test on.
    start, directions : ndarray of shape (m, d) and (d, k)
        Initial first layer; hidden directions Θ, for the record only.
    training : Training or float
        The algorithm; a number is the step size of plain gradient descent.
    steps, times : int, and sequence of int, optional
        Number of steps, and those to record; by default all.
    held : ndarray of shape (d, ·), optional
        Orthonormal directions along which the rows are kept at zero.
    supply : callable, optional
        Draws so many new samples (X, y); needed for one pass, which never looks at `train` itself.
    rng : SPEC 7 rng, optional
        Draws the batches.

    Examples
    --------
    >>> from firstlight import MultiIndex
    >>> drawn = MultiIndex("sign(abs(z1) - 1.48)").sample(60, 20, rng=0)
    >>> data, W = (drawn.X, drawn.y), orthogonal_start(20, 1, 0.8, rng=1)
    >>> path = descend(Student("tanh_squared"), data, data, W, drawn.directions, 0.25, 20)
    >>> bool(path.train_loss[-1] < path.train_loss[0])
    True
    """
    training = as_training(training)
    check_count("steps", steps, 0)
    kept = set(range(steps + 1)) if times is None else _kept(times, steps)
    W, directions = check_matrix("start", start).copy(), check_matrix("directions", directions)
    m, d = student.width, W.shape[1]
    if len(W) != m or len(directions) != d:
        raise ValueError(f"start: shape {W.shape}, directions: {directions.shape}; expected ({m}, d), (d, k)")
    train, test = _samples("train", train, d), _samples("test", test, d)
    if held is not None:
        held = check_orthonormal("held", held, (d, np.size(held) // d))
        W -= (W @ held) @ held.T
    record = []
    for t, network, batch in follow(student, train, W, training, steps, held=held, supply=supply, rng=rng):
        if t in kept:
            seen = batch if training.one_pass else train
            record.append((t, *_observe(student, network, seen, test, directions), network))
    *columns, networks = zip(*record, strict=True)
    values: list[Any] = [*map(np.array, columns), networks]
    return DescentPath(*values)


def follow(
    student: Student,
    train: Data,
    start: np.ndarray,
    training: Training,
    steps: int,
    *,
    held: np.ndarray | None = None,
    supply: Callable[[int], Data] | None = None,
    rng: RNGLike | SeedLike = None,
) -> Iterator[tuple[int, TwoLayer, Data]]:
    """Yield step, network and coming batch, of one network or of several with starts (..., m, d)."""
    sizes = training.step_size, training.second_layer_step, training.bias_step, training.offset_step
    for t, network, batch in descent.follow(
        as_network(student, start), _batches(train, training, supply, generator(rng)), steps, sizes,
        momentum=training.momentum, nesterov=training.nesterov, factors=training.factors(steps), held=held,
    ):  # fmt: skip
        if t and not np.abs(network.first_layer).max() < 1e6:
            raise ValueError(f"step_size = {training.step_size}: gradient descent diverges at step {t}")
        student.require_weights(network.first_layer, t)
        yield t, network, batch


def _batches(
    train: Data, training: Training, supply: Callable[[int], Data] | None, rng: np.random.Generator
) -> Iterator[Data]:
    """Return the samples of each step."""
    size = training.batch_size(len(train[1]))
    if training.one_pass:
        if supply is None:
            raise ValueError("supply = None: one pass needs a function that draws new samples")
        return descent.one_pass(supply, size)
    if training.full_batch:
        return repeat(train)
    if training.batches == "cyclic":
        return descent.cyclic(*train, training.cycle, rng)
    return descent.fresh(*train, size, rng)


def _kept(times: Sequence[int], steps: int) -> set[int]:
    at = np.asarray(times)
    if at.ndim != 1 or not at.size or at.dtype.kind not in "iu" or at.min() < 0 or at.max() > steps:
        raise ValueError(f"times = {times!r}: must be integers in 0 .. {steps}, at least one")
    return set(at.tolist())


def _samples(name: str, data: tuple[np.ndarray, np.ndarray], d: int) -> tuple[np.ndarray, np.ndarray]:
    X, y = check_matrix(f"{name} inputs", data[0]), np.asarray(data[1])
    if X.shape[1] != d or y.shape != X.shape[:1]:
        raise ValueError(f"{name}: shapes {X.shape}, {y.shape}; expected (n, {d}), (n,)")
    return X, check_matrix(f"{name} labels", y[:, None])[:, 0]


def _observe(student: Student, network: TwoLayer, train: Data, test: Data, directions: np.ndarray) -> tuple:
    outputs = [(y, network(X)) for X, y in (train, test)]
    losses = [float(student.penalty.value(y, f).mean()) for y, f in outputs]
    errors = [float((np.sign(f) != np.sign(y)).mean()) for y, f in outputs]
    W, a, bias, offset = network.parameters
    return *losses, *errors, W @ W.T, W @ directions, a, bias, float(offset)
