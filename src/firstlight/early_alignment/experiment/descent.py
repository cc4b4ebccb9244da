"""Gradient descent as the paper runs it, observed under the names of the flow."""

from collections.abc import Callable, Mapping, Sequence
from itertools import repeat
from numbers import Integral

import numpy as np
import xarray as xr

from firstlight.data.separable import two_classes
from firstlight.early_alignment.definitions.start import polar
from firstlight.early_alignment.definitions.tables import one_by_one, stack, table
from firstlight.early_alignment.definitions.trajectory import Observer
from firstlight.maths.activations import activation
from firstlight.maths.checks import check_array, check_count, check_neurons, check_positive
from firstlight.maths.losses import MarginLoss, margin_loss
from firstlight.maths.refusals import check_flag, refusal
from firstlight.maths.rng import RNGLike, SeedLike, generator
from firstlight.network.descent import follow, passes
from firstlight.network.two_layer import TwoLayer


def descent(
    X: np.ndarray,
    y: np.ndarray | Sequence[int],
    first_layer: np.ndarray,
    second_layer: np.ndarray,
    *,
    step_size: float = 2e-3,
    steps: int = 15_000,
    loss: str = "exp",
    batch_size: int | None = None,
    train_second: bool = True,
    observations: int | Sequence[int] | np.ndarray = 64,
    neurons: bool = False,
    rng: RNGLike | SeedLike = None,
) -> xr.Dataset:
    """Train by gradient descent on the mean loss, as the paper does.

    Parameters
    ----------
    X, y : array_like of shape (n, D) and (n,)
        Data (no zero row) and labels ±1.
    first_layer, second_layer : array_like of shape (h, D) and (h,)
        The start, balanced or not; the paper's is ``gaussian_start(50, D, 1e-6, rng)``.
    step_size, steps : float and int, default 2e-3 and 15 000
        η and the number of iterations.
    loss : {"exp", "logistic", "logistic2"}
    batch_size, rng : int and SPEC 7 rng, optional
        Size of mini-batches, and what draws them; default: all data in each step. What is left over at the
        end of a pass, n mod batch_size data, sits that pass out.
    observations : int or sequence of int, default 64
        Iterations to observe, or how many (at least 2), evenly.
    train_second, neurons : bool, default True and False
        Whether the second layer moves, and whether each neuron's ``direction`` and ``log_length`` are kept.

    Returns
    -------
    Dataset
        The observables of `flow` but the cosines to max-margin directions, over ``time`` = η × iteration.
        `converged` is False once too long steps have left the floating-point range; values are then NaN.

    Examples
    --------
    >>> from firstlight.early_alignment.definitions.start import gaussian_start
    >>> W, v = gaussian_start(50, 2, 1e-6, rng=0)
    >>> X, y = [[1, 0], [1, 1], [-1, -0.5]], [1, 1, -1]
    >>> descent(X, y, W, v, steps=20_000, step_size=5e-3, observations=3).loss.values.tolist()
    [1.000, 0.015, 0.003]
    """
    check_flag("neurons", neurons)
    check_flag("train_second", train_second)
    X, y = two_classes(X, y)
    W, _ = check_neurons(first_layer, None, X.shape[1], name="first_layer")
    v = check_array("second_layer", second_layer, W.shape[:1])
    chosen = margin_loss(loss)
    network = TwoLayer(W, v, activation("relu"), 1.0, chosen)
    _check_start(network, X)
    size = check_positive("step_size", step_size)
    if batch_size is not None:
        check_count("batch_size", batch_size, 1, len(X))
    record = iterations(steps, observations)
    observe = _observer(X, y, chosen, step_size, neurons)
    batches = repeat((X, y)) if batch_size is None else passes(X, y, batch_size, generator(rng))
    path = follow(network, batches, int(record[-1]), (size, size * train_second, 0.0, 0.0))
    wanted = set(record.tolist())
    with np.errstate(over="ignore", invalid="ignore"):  # steps that are too long end in NaN, which is told
        # the start is seen in any case: its names are those of NaN later
        seen = stack([observe(network), *(observe(network) for t, network, _ in path if t in wanted)])
    return _results(seen, step_size, record)


def _results(seen: Mapping[str, np.ndarray], step_size: float, record: np.ndarray) -> xr.Dataset:
    """Tabulate what was seen at the recorded iterations, after the start, and whether all of it is finite."""
    later = {name: values[1:] for name, values in seen.items()}
    results = table(step_size * record, later).assign_coords(iteration=("time", record))
    # outputs may be finite where the slopes of their losses are not
    finite = [np.isfinite(results[name]).all() for name in ("loss", "direction_change", "norm_change")]
    return results.assign(converged=all(finite))


def _observer(
    X: np.ndarray, y: np.ndarray, loss: MarginLoss, step_size: float, neurons: bool
) -> Callable[[TwoLayer], Mapping[str, float | np.ndarray]]:
    """Return what is observed of a network; nothing once it has left the floating-point range."""
    see = Observer(X, y, loss.log_value, loss.log_slope, mean=True, step_size=step_size)

    def observe(network: TwoLayer) -> Mapping[str, float | np.ndarray]:
        if not np.isfinite(network(X)).all():
            return {}
        rows, log_norms, ratios = polar(network.first_layer, network.second_layer)
        return {**see(rows, log_norms, ratios), **(one_by_one(rows, log_norms) if neurons else {})}

    return observe


def iterations(steps: int, observations: int | Sequence[int] | np.ndarray) -> np.ndarray:
    """Return the iterations to observe: as many as asked for, evenly from 0 to `steps`, or those given.

    Examples
    --------
    >>> iterations(100, 5).tolist(), iterations(100, [30, 7, 7]).tolist()
    ([0, 25, 50, 75, 100], [7, 30])
    """
    check_count("steps", steps)
    if isinstance(observations, Integral):
        count = check_count("observations", observations, 2)  # the start and the end
        return np.unique(np.linspace(0, steps, count).round().astype(int))
    try:
        marks = np.asarray(observations)
    except ValueError:  # rows of unequal length
        marks = np.empty((0, 0))
    known = marks.ndim == 1 and len(marks) > 0 and marks.dtype.kind in "iuf"
    if not known or not ((marks >= 0) & (marks < 2**53) & (marks == np.floor(marks))).all():
        raise refusal("observations", observations, "be their number, or whole numbers of at least 0")
    return np.unique(marks.astype(int))


def _check_start(network: TwoLayer, X: np.ndarray) -> None:
    """Refuse a start that cannot be trained in floating-point numbers."""
    sizes = np.abs(network.first_layer).max(axis=1)
    row = int(np.argmin(sizes))
    if sizes[row] < 1e-290:
        raise ValueError(
            f"first_layer[{row}]: its largest entry is {sizes[row]:.3g}, must be at least 1e-290: "
            "numbers lose their digits there"
        )
    with np.errstate(over="ignore", invalid="ignore"):
        finite = np.isfinite(network(X)).all()
    if not finite:
        raise ValueError(
            f"first_layer, second_layer: entries up to {sizes.max():.3g} and "
            f"{np.abs(network.second_layer).max():.3g}, must be small enough for finite outputs"
        )
