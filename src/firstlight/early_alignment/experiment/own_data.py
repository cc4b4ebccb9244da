"""Gradient descent from a small start on a user's rows: where the neurons really are at a time."""

from dataclasses import dataclass

import numpy as np

from firstlight.early_alignment.experiment.descent import descent

_STEP = 0.02  # rows have length one, so that directions turn by at most so much in a step


@dataclass(frozen=True, eq=False)
class Descended:
    """A network on its way.

    Attributes
    ----------
    directions : ndarray, shape (times, h, d)
    output : float
        max |f| over the rows, at the last time.
    stable_rank : float
        At the last time.
    """

    directions: np.ndarray
    output: float
    stable_rank: float


def descend(
    X: np.ndarray, y: np.ndarray, directions: np.ndarray, signs: np.ndarray, scale: float, times: np.ndarray
) -> Descended:
    """Train from a balanced start of size `scale` by gradient descent on the mean loss.

    Parameters
    ----------
    X, y
        Rows of root mean square length one, labels ±1.
    directions, signs : ndarray, shapes (h, d) and (h,)
        Unit rows and signs of the start.
    scale : float
        ε.
    times : ndarray
        When to look, increasing, from 0 on.

    Examples
    --------
    >>> results = descend(np.eye(2), np.array([1.0, -1.0]), np.eye(2), np.ones(2), 1e-3, np.array([0.0, 1.0]))
    >>> results.directions.shape, results.output < 0.01
    ((2, 2, 2), True)
    """
    step = min(_STEP, float(times[-1]) / 200)
    steps = np.unique((times / step).round().astype(int))
    results = descent(
        X,
        y,
        scale * directions,
        scale * signs,
        step_size=step,
        observations=steps,
        steps=int(steps[-1]),
        neurons=True,
    )
    last = results.isel(time=-1)
    outputs = [float(last[name]) for name in ("output_plus", "output_minus")]
    return Descended(results.direction.values, float(np.nanmax(outputs)), float(last.stable_rank))
