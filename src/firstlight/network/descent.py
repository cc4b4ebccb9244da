"""Gradient descent on a two-layer ReLU network, full-batch or in mini-batches, observed on the way."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from numbers import Integral
from typing import Protocol

import numpy as np

from firstlight.maths.checks import check_count, check_positive
from firstlight.maths.refusals import refusal
from firstlight.maths.rng import RNGLike, SeedLike, generator


class Differentiable(Protocol):
    """A loss ℓ(y, f) whose derivative in the output f is known."""

    def first(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """Return the derivative of each datum's loss in f."""
        ...


Observe = Callable[[np.ndarray, np.ndarray, np.ndarray], Mapping[str, float | np.ndarray]]


def iterations(steps: int, observations: int | Sequence[int] | np.ndarray) -> np.ndarray:
    """Return the iterations to observe: as many as asked for, evenly from 0 to `steps`, or those given.

    Examples
    --------
    >>> iterations(100, 5).tolist(), iterations(100, [30, 7, 7]).tolist()
    ([0, 25, 50, 75, 100], [7, 30])
    """
    check_count("steps", steps)
    if isinstance(observations, Integral):
        if isinstance(observations, bool) or observations < 2:
            raise refusal("observations", observations, "be at least 2, for the start and the end")
        return np.unique(np.linspace(0, steps, int(observations)).round().astype(int))
    try:
        marks = np.asarray(observations)
    except ValueError:  # rows of unequal length
        marks = np.empty((0, 0))
    known = marks.ndim == 1 and len(marks) > 0 and marks.dtype.kind in "iuf"
    if not known or not ((marks >= 0) & (marks < 2**53) & (marks == np.floor(marks))).all():
        raise refusal("observations", observations, "be their number, or whole numbers of at least 0")
    return np.unique(marks.astype(int))


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
    batch_size: int | None = None,
    train_second: bool = True,
    rng: RNGLike | SeedLike = None,
) -> tuple[list[Mapping[str, float | np.ndarray]], np.ndarray, np.ndarray]:
    """Minimise the mean loss of f(x) = Σⱼ vⱼ relu(⟨wⱼ, x⟩) by plain gradient descent.

    Parameters
    ----------
    X, y : ndarray of shape (n, D) and (n,)
        Data and labels.
    first_layer, second_layer : ndarray of shape (h, D) and (h,)
        The start; it is not changed. Rows have entries of at least 1e-290, and the outputs are finite.
    loss : Differentiable
        Anything with ``first(y, f)``, the derivative of each datum's loss in the output.
    step_size : float
        η > 0.
    record : sequence of int
        Iterations at which to observe, increasing; the last one ends the run. 0 is the start.
    observe : callable
        ``observe(first_layer, second_layer, f)``, with f the outputs on all of X; returns named values.
    batch_size, rng : int and SPEC 7 rng, optional
        Size b of the mini-batches; default: all data. Each pass puts the data in a new random order and cuts
        it into ⌊n/b⌋ batches. The n mod b data at its end sit this pass out, so that all steps average over
        the same number of data, and each datum counts equally often in the long run.
    train_second : bool, default True
        Whether the second layer moves.

    Returns
    -------
    observed : list
        What `observe` returned, one for each of `record`.
    first_layer, second_layer : ndarray
        The trained network.

    Examples
    --------
    >>> from firstlight.maths.losses import margin_loss
    >>> seen, W, v = train(np.eye(2), np.array([1.0, -1.0]), np.eye(2), np.array([0.1, -0.1]),
    ...     loss=margin_loss("exp"), step_size=0.1, record=[0, 100], observe=lambda W, v, f: {"f": f[0]})
    >>> [float(one["f"]) for one in seen]
    [0.10, 3.03]
    """
    marks = _check(record, step_size, batch_size, len(X))
    W, v = _check_start(X, first_layer, second_layer)
    batches = _batches(X, y, batch_size, generator(rng))
    wanted, seen = set(marks.tolist()), []
    for iteration in range(int(marks[-1]) + 1):
        if iteration in wanted:
            seen.append(observe(W, v, np.maximum(X @ W.T, 0) @ v))
        if iteration < marks[-1]:
            points, labels = next(batches)
            hidden = np.maximum(points @ W.T, 0)
            pull = loss.first(labels, hidden @ v) * (-step_size / len(labels))
            # relu'(0) = 0, as everywhere in this theory.
            step = ((hidden > 0) * pull[:, None]).T @ points * v[:, None]
            if train_second:
                v += pull @ hidden
            W += step
    return seen, W, v


def _check(
    record: Sequence[int] | np.ndarray, step_size: float, batch_size: int | None, samples: int
) -> np.ndarray:
    """Return the iterations to observe, or say which argument is wrong."""
    marks = np.asarray(record)
    known = marks.ndim == 1 and len(marks) > 0 and marks.dtype.kind in "iu"
    if not known or marks[0] < 0 or (marks[1:] <= marks[:-1]).any():
        raise ValueError(f"record = {record!r}: must be increasing iterations, the first at least 0")
    check_positive("step_size", step_size)
    if batch_size is not None:
        known = isinstance(batch_size, Integral) and not isinstance(batch_size, bool)
        if not known or not 1 <= batch_size <= samples:
            raise ValueError(f"batch_size = {batch_size!r}: must be an integer from 1 to {samples}")
    return marks


def _check_start(
    X: np.ndarray, first_layer: np.ndarray, second_layer: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return a copy of the start, or say that it cannot be trained in floating-point numbers."""
    W, v = np.array(first_layer, dtype=float), np.array(second_layer, dtype=float)
    sizes = np.abs(W).max(axis=1)
    row = int(np.argmin(sizes))
    if sizes[row] < 1e-290:
        raise ValueError(
            f"first_layer[{row}]: its largest entry is {sizes[row]:.3g}, must be at least 1e-290: "
            "numbers lose their digits there"
        )
    with np.errstate(over="ignore", invalid="ignore"):
        finite = np.isfinite(np.maximum(X @ W.T, 0) @ v).all()
    if not finite:
        raise ValueError(
            f"first_layer, second_layer: entries up to {sizes.max():.3g} and {np.abs(v).max():.3g}, "
            "must be small enough for finite outputs"
        )
    return W, v


def _batches(
    X: np.ndarray, y: np.ndarray, size: int | None, rng: np.random.Generator
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    while True:
        if size is None:
            yield X, y
            continue
        order = rng.permutation(len(X))
        for first in range(0, len(X) - size + 1, size):
            rows = order[first : first + size]
            yield X[rows], y[rows]
