"""Gradient descent on a two-layer ReLU network, full-batch or in mini-batches, observed on the way."""

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

import numpy as np

from firstlight.rng import RNGLike, SeedLike, generator


class Differentiable(Protocol):
    """A loss ℓ(y, f) whose derivative in the output f is known."""

    def first(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """Return the derivative of each datum's loss in f."""
        ...


Observe = Callable[[np.ndarray, np.ndarray, np.ndarray], Mapping[str, float | np.ndarray]]


def gaussian_start(
    width: int, dimension: int, scale: float, rng: RNGLike | SeedLike = None
) -> tuple[np.ndarray, np.ndarray]:
    """Draw both layers from N(0, scale²): small, and not balanced.

    Examples
    --------
    >>> W, v = gaussian_start(3, 2, 1e-6, rng=0)
    >>> W.shape, v.shape
    ((3, 2), (3,))
    """
    draw = generator(rng).normal(size=(width, dimension + 1))
    return scale * draw[:, :-1], scale * draw[:, -1]


def train(
    X: np.ndarray,
    y: np.ndarray,
    first_layer: np.ndarray,
    second_layer: np.ndarray,
    *,
    loss: Differentiable,
    step_size: float,
    record: Sequence[int] | np.ndarray,
    observe: Observe,
    batch: int | None = None,
    train_second: bool = True,
    rng: RNGLike | SeedLike = None,
) -> tuple[list[Mapping[str, float | np.ndarray]], np.ndarray, np.ndarray]:
    """Minimise the mean loss of f(x) = Σⱼ vⱼ relu(⟨wⱼ, x⟩) by plain gradient descent.

    Parameters
    ----------
    X, y : ndarray of shape (n, D) and (n,)
        Data and labels.
    first_layer, second_layer : ndarray of shape (h, D) and (h,)
        The start; it is not changed.
    loss : Differentiable
        Anything with ``first(y, f)``, the derivative of each datum's loss in the output.
    step_size : float
        η > 0.
    record : sequence of int
        Iterations at which to observe, increasing; the last one ends the run. 0 is the start.
    observe : callable
        ``observe(first_layer, second_layer, f)``, with f the outputs on all of X; returns named values.
    batch : int, optional
        Size of the mini-batches, drawn afresh without replacement within each pass; default: all data.
    train_second : bool, default True
        Whether the second layer moves.
    rng : SPEC 7 rng, optional
        Draws the mini-batches.

    Returns
    -------
    observed : list
        What `observe` returned, one for each of `record`.
    first_layer, second_layer : ndarray
        The trained network.

    Examples
    --------
    >>> from firstlight.network.losses import margin_loss
    >>> seen, W, v = train(np.eye(2), np.array([1.0, -1.0]), np.eye(2), np.array([0.1, -0.1]),
    ...     loss=margin_loss("exp"), step_size=0.1, record=[0, 100], observe=lambda W, v, f: {"f": f[0]})
    >>> [round(float(one["f"]), 2) for one in seen]
    [0.1, 3.03]
    """
    marks = np.asarray(record)
    if marks.ndim != 1 or not len(marks) or marks[0] < 0 or (np.diff(marks) <= 0).any():
        raise ValueError(f"record = {record!r}: must be increasing iterations, the first at least 0")
    if not (np.isfinite(step_size) and step_size > 0):
        raise ValueError(f"step_size = {step_size!r}: must be positive")
    if batch is not None and not (isinstance(batch, (int, np.integer)) and 1 <= batch <= len(X)):
        raise ValueError(f"batch = {batch!r}: must be an integer from 1 to {len(X)}")
    W, v = np.array(first_layer), np.array(second_layer)
    batches = _batches(X, y, batch, generator(rng))
    wanted, seen = set(marks.tolist()), []
    for iteration in range(int(marks[-1]) + 1):
        if iteration in wanted:
            seen.append(observe(W, v, np.maximum(X @ W.T, 0) @ v))
        if iteration < marks[-1]:
            points, labels = next(batches)
            hidden = np.maximum(points @ W.T, 0)
            pull = loss.first(labels, hidden @ v) * (-step_size / len(labels))
            # relu'(0) = 0, as everywhere in this room.
            step = ((hidden > 0) * pull[:, None]).T @ points * v[:, None]
            if train_second:
                v += pull @ hidden
            W += step
    return seen, W, v


def _batches(X: np.ndarray, y: np.ndarray, size: int | None, rng: np.random.Generator):  # type: ignore[no-untyped-def]
    while True:
        if size is None:
            yield X, y
            continue
        order = rng.permutation(len(X))
        for first in range(0, len(X) - size + 1, size):
            rows = order[first : first + size]
            yield X[rows], y[rows]
