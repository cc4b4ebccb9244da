"""Gradient descent as the paper runs it, observed under the names of the flow."""

from collections.abc import Mapping, Sequence

import numpy as np
import xarray as xr

from firstlight.data.separable import two_classes
from firstlight.early_alignment.definitions.start import polar
from firstlight.early_alignment.definitions.tables import one_by_one, stack, table
from firstlight.early_alignment.definitions.trajectory import Observer
from firstlight.maths.checks import check_array, check_neurons
from firstlight.maths.losses import margin_loss
from firstlight.maths.refusals import check_flag
from firstlight.maths.rng import RNGLike, SeedLike
from firstlight.network.descent import iterations, train


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
        `converged` is False, and values are NaN, once too long steps have left the floating-point range.

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
    see = Observer(X, y, chosen.log_value, chosen.log_slope, mean=True, step_size=step_size)
    record = iterations(steps, observations)

    def observe(W: np.ndarray, v: np.ndarray, f: np.ndarray) -> Mapping[str, float | np.ndarray]:
        if not np.isfinite(f).all():
            return {}
        rows, log_norms, ratios = polar(W, v)
        return {**see(rows, log_norms, ratios), **(one_by_one(rows, log_norms) if neurons else {})}

    with np.errstate(over="ignore", invalid="ignore"):  # steps that are too long end in NaN, which is told
        seen, _, _ = train(
            X, y, W, v, loss=chosen, step_size=step_size, record=record, observe=observe,
            batch_size=batch_size, train_second=train_second, rng=rng,
        )  # fmt: skip
    results = table(step_size * record, stack(seen)).assign_coords(iteration=("time", record))
    return results.assign(converged=bool(seen[-1]))
