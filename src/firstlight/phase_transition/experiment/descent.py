"""Training of a two-layer network on multi-index data, with what it learns recorded."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from firstlight.maths.checks import check_count, check_matrix, check_number, check_orthonormal
from firstlight.maths.rng import RNGLike, SeedLike, generator
from firstlight.phase_transition.definitions import Training, as_training
from firstlight.phase_transition.experiment.network import Network, Parameters

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
        WᵀW.
    overlap : ndarray of shape (r, m, k)
        w_j·θ_a.
    second_layer, biases : ndarray of shape (r, m)
        a, and the first layer's biases.
    offset : ndarray of shape (r,)
        The output's offset.
    weights : ndarray of shape (r, d, m)
        W.
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
    weights: np.ndarray


def orthogonal_start(dimension: int, width: int, scale: float, rng: RNGLike | SeedLike = None) -> np.ndarray:
    """Draw W of shape (dimension, width) with orthogonal columns of length `scale`, uniformly.

    Examples
    --------
    >>> W = orthogonal_start(5, 2, 0.5, rng=0)
    >>> bool(np.allclose(W.T @ W, 0.25 * np.eye(2)))
    True
    """
    check_count("dimension", dimension)
    check_count("width", width)
    check_number("scale", scale, 0)
    if width > dimension:
        raise ValueError(f"width = {width}: at most dimension = {dimension} rows can be orthogonal")
    q, r = np.linalg.qr(generator(rng).standard_normal((dimension, width)))
    return scale * q * np.sign(np.diag(r))


def descend(
    network: Network,
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
    until: Callable[[np.ndarray], bool] | None = None,
    rng: RNGLike | SeedLike = None,
) -> DescentPath:
    """Train the network.

    Parameters
    ----------
    network : Network
        What is trained.
    train, test : (X, y)
        Samples to train on, and to test on.
    start, directions : ndarray of shape (d, m) and (d, k)
        Initial first layer; hidden directions Θ, for the record only.
    training : Training or float
        The algorithm; a number is the step size of plain gradient descent.
    steps, times : int, and sequence of int, optional
        Number of steps, and those to record; by default all. Empty only with `until`.
    held : ndarray of shape (d, ·), optional
        Orthonormal directions along which W is kept at zero.
    supply : callable, optional
        Draws so many new samples (X, y); needed for one pass, which never looks at `train` itself.
    until : callable, optional
        Asked of W at each step; the descent ends where it holds. Its last step is then always recorded.
    rng : SPEC 7 rng, optional
        Draws the batches.

    Examples
    --------
    >>> from firstlight import MultiIndex, activation
    >>> from firstlight.maths.losses import loss
    >>> drawn = MultiIndex("sign(abs(z1) - 1.48)").sample(60, 20, rng=0)
    >>> network = Network(activation("tanh_squared"), np.ones(1), loss("square"))
    >>> W = orthogonal_start(20, 1, 0.8, rng=1)
    >>> path = descend(network, (drawn.X, drawn.y), (drawn.X, drawn.y), W, drawn.directions, 0.25, 20)
    >>> bool(path.train_loss[-1] < path.train_loss[0])
    True
    """
    training = as_training(training)
    check_count("steps", steps, 0)
    kept = set(range(steps + 1)) if times is None else _kept(times, steps, until is None)
    W, directions = check_matrix("start", start).copy(), check_matrix("directions", directions)
    shape = len(W), np.size(network.second_layer)
    if W.shape != shape or len(directions) != len(W):
        raise ValueError(f"start: shape {W.shape}, directions: {directions.shape}; expected {shape}, (d, k)")
    train, test = _samples("train", train, len(W)), _samples("test", test, len(W))
    if held is not None:
        held = check_orthonormal("held", held, (len(W), np.size(held) // len(W)))
        W -= held @ (held.T @ W)
    record, last = [], False
    for t, at, batch in follow(network, train, W, training, steps, held=held, supply=supply, rng=rng):
        last = t == steps or (until is not None and until(at.rows))
        if t in kept or (last and until is not None):
            seen = batch if training.one_pass else train
            record.append((t, *_observe(network, seen, test, at, directions)))
        if last:
            break
    return DescentPath(*(np.array(column) for column in zip(*record, strict=True)))


def follow(
    network: Network,
    train: Data,
    start: np.ndarray,
    training: Training,
    steps: int,
    *,
    held: np.ndarray | None = None,
    supply: Callable[[int], Data] | None = None,
    rng: RNGLike | SeedLike = None,
) -> Iterator[tuple[int, Parameters, Data]]:
    """Yield step, parameters and coming batch of one network, or of several with starts (d, ..., m)."""
    batches, factors = _batches(train, training, supply, generator(rng)), training.factors(steps)
    at = network.start(start)
    velocity = at.times(0.0)
    for t in range(steps + 1):
        batch = next(batches)
        yield t, at, batch
        if t == steps:
            return
        velocity = _push(network, batch, training, float(factors[t]), at, velocity)
        at = at.plus((1.0,) * 4, velocity)
        if held is not None:
            for part in (at.rows, velocity.rows):
                part -= held @ (held.T @ part)
        if not np.abs(at.rows).max() < 1e6:
            raise ValueError(f"step_size = {training.step_size}: gradient descent diverges at step {t + 1}")


def _push(
    network: Network, batch: Data, training: Training, factor: float, at: Parameters, velocity: Parameters
) -> Parameters:
    """Return the next velocity."""
    where = at.plus((training.momentum,) * 4, velocity) if training.nesterov else at
    steps = training.step_size, training.second_layer_step, training.bias_step, training.offset_step
    down = network.gradient(*batch, where)
    return velocity.times(training.momentum).plus(tuple(-factor * step for step in steps), down)


def _batches(
    train: Data, training: Training, supply: Callable[[int], Data] | None, rng: np.random.Generator
) -> Iterator[Data]:
    """Yield the samples of each step."""
    X, y = train
    size = training.batch_size(len(y))
    if training.one_pass:
        if supply is None:
            raise ValueError("supply = None: one pass needs a function that draws new samples")
        while True:
            yield supply(size)
    if training.batches == "cyclic":
        parts = np.array_split(rng.permutation(len(y)), training.cycle)
    t = 0
    while True:
        if training.full_batch:
            yield X, y
        else:
            cyclic = training.batches == "cyclic"
            rows = parts[t % len(parts)] if cyclic else rng.choice(len(y), size, replace=False)
            yield X[rows], y[rows]
        t += 1


def _kept(times: Sequence[int], steps: int, some: bool) -> set[int]:
    at = np.asarray(times)
    integers = at.ndim == 1 and (at.dtype.kind in "iu" if at.size else not some)
    if not integers or not ((at >= 0) & (at <= steps)).all():
        raise ValueError(f"times = {times!r}: must be integers in 0 .. {steps}; none only with until")
    return set(at.tolist())


def _samples(name: str, data: tuple[np.ndarray, np.ndarray], d: int) -> tuple[np.ndarray, np.ndarray]:
    X, y = check_matrix(f"{name} inputs", data[0]), np.asarray(data[1])
    if X.shape[1] != d or y.shape != X.shape[:1]:
        raise ValueError(f"{name}: shapes {X.shape}, {y.shape}; expected (n, {d}), (n,)")
    return X, check_matrix(f"{name} labels", y[:, None])[:, 0]


def _observe(network: Network, train: Data, test: Data, at: Parameters, directions: np.ndarray) -> tuple:
    outputs = [(y, network.output(X, at)) for X, y in (train, test)]
    losses = [float(network.loss.value(y, f).mean()) for y, f in outputs]
    errors = [float((np.sign(f) != np.sign(y)).mean()) for y, f in outputs]
    W = at.rows
    return *losses, *errors, W.T @ W, W.T @ directions, at.second_layer, at.bias, float(at.offset), W.copy()
