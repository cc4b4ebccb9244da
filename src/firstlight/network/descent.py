"""Gradient descent of a two-layer network: the one loop that trains it, and the batches it is given."""

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from firstlight.network.two_layer import Parameters, TwoLayer

Data = tuple[np.ndarray, np.ndarray]


def follow(
    network: TwoLayer,
    batches: Iterator[Data],
    steps: int,
    step_sizes: tuple[float, float, float, float],
    *,
    momentum: float = 0.0,
    nesterov: bool = False,
    factors: Sequence[float] | np.ndarray | None = None,
    held: np.ndarray | None = None,
) -> Iterator[tuple[int, TwoLayer, Data]]:
    """Yield step, network and coming batch: at the start, and after each of the steps.

    V ← β V - η Γ, W ← W + V with the gradient Γ at W, or at W + β V with Nesterov's rule.

    Parameters
    ----------
    network : TwoLayer
        The start; it is not changed.
    batches : iterator of (X, y)
        Samples of each step.
    steps : int
    step_sizes : four floats
        η of first layer, second layer, bias and offset; 0 leaves them as they are.
    momentum, nesterov : float and bool, default 0 and False
        β, and where gradients are taken.
    factors : sequence of float, optional
        Factor on all step sizes at each step.
    held : ndarray of shape (n, ·), optional
        Orthonormal directions along which rows and their velocities are kept at zero.

    Examples
    --------
    >>> from itertools import repeat
    >>> from firstlight.maths.activations import activation
    >>> network = TwoLayer(np.eye(2), np.array([0.1, -0.1]), activation("relu"), 1.0)
    >>> data = repeat((np.eye(2), np.array([1.0, -1.0])))
    >>> *_, (_, trained, _) = follow(network, data, 100, (0.1, 0.1, 0.0, 0.0))
    >>> trained(np.eye(2)).tolist()
    [0.99, -0.99]
    """
    moving = [bool(size) for size in step_sizes[1:]]
    velocity: Parameters | None = None
    for t in range(steps + 1):
        batch = next(batches)
        yield t, network, batch
        if t == steps:
            return
        factor = -1.0 if factors is None else -float(factors[t])
        ahead = velocity.times(*(momentum,) * 4) if velocity is not None and momentum else None
        where = network.moved(ahead) if ahead is not None and nesterov else network
        gradient = where.gradient(*batch, *moving)
        velocity = gradient.times(*(factor * size for size in step_sizes))
        if ahead is not None:
            velocity = ahead.plus(velocity)
        network = network.moved(velocity)
        if held is not None:
            for rows in (network.first_layer, velocity.first_layer):
                rows -= (rows @ held) @ held.T


def passes(X: np.ndarray, y: np.ndarray, size: int, rng: np.random.Generator) -> Iterator[Data]:
    """Yield batches of `size`, pass after pass, each in a new random order.

    The n mod size samples at the end of a pass sit it out, so that all steps average over the same number of
    samples, and each sample counts equally often in the long run.
    """
    while True:
        order = rng.permutation(len(X))
        for first in range(0, len(X) - size + 1, size):
            rows = order[first : first + size]
            yield X[rows], y[rows]


def cyclic(X: np.ndarray, y: np.ndarray, count: int, rng: np.random.Generator) -> Iterator[Data]:
    """Yield the batches of one random division of the data into `count`, in turn."""
    parts = np.array_split(rng.permutation(len(y)), count)
    while True:
        for rows in parts:
            yield X[rows], y[rows]


def fresh(X: np.ndarray, y: np.ndarray, size: int, rng: np.random.Generator) -> Iterator[Data]:
    """Yield batches of `size`, each chosen at random from all data."""
    while True:
        rows = rng.choice(len(y), size, replace=False)
        yield X[rows], y[rows]


def one_pass(draw: Callable[[int], Data], size: int) -> Iterator[Data]:
    """Yield batches of `size` new samples, which `draw` draws."""
    while True:
        yield draw(size)
