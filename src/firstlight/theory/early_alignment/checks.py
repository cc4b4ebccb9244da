"""What the room accepts as data and as a start: one place, so that every entry gives the same message."""

from collections.abc import Sequence

import numpy as np

GAINS = {"exp": 1.0, "logistic": 0.5, "logistic2": 1.0}


def labelled(X: np.ndarray, y: np.ndarray | Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
    """Return data as C-ordered floats (n × D) and labels ±1 (n), or say what is wrong with them.

    Examples
    --------
    >>> labelled([[1, 0], [0, 2]], [1, 0])
    Traceback (most recent call last):
    ValueError: y[1] = 0: a label must be +1 or -1
    """
    X = np.ascontiguousarray(X, dtype=float)
    y = np.asarray(y, dtype=float)
    if X.ndim != 2 or 0 in X.shape:
        raise ValueError(f"X: shape {X.shape}, must be (samples, dimension) with at least one of each")
    if y.shape != X.shape[:1]:
        raise ValueError(f"y: shape {y.shape}, must be {X.shape[:1]}, one label per row of X")
    if not np.isfinite(X).all():
        row = int(np.argmin(np.isfinite(X).all(axis=1)))
        raise ValueError(f"X[{row}]: holds NaN or infinity, every entry must be finite")
    wrong = np.flatnonzero(np.abs(y) != 1)
    if wrong.size:
        raise ValueError(f"y[{wrong[0]}] = {y[wrong[0]]:g}: a label must be +1 or -1")
    zero = np.flatnonzero(~X.any(axis=1))
    if zero.size:
        raise ValueError(f"X[{zero[0]}] = 0: a data point must not be zero, it has no direction")
    return X, y


def neurons(
    directions: np.ndarray, signs: np.ndarray | Sequence[int], dimension: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return first-layer rows (h × D) and second-layer signs ±1 (h), or say what is wrong with them.

    Examples
    --------
    >>> neurons([[0.0, 0.0]], [1], 2)
    Traceback (most recent call last):
    ValueError: directions[0] = 0: a neuron must not have zero length
    """
    W = np.ascontiguousarray(directions, dtype=float)
    s = np.asarray(signs, dtype=float)
    if W.ndim != 2 or W.shape[0] == 0 or W.shape[1] != dimension:
        raise ValueError(f"directions: shape {W.shape}, must be (width, {dimension}) with width at least 1")
    if not np.isfinite(W).all():
        row = int(np.argmin(np.isfinite(W).all(axis=1)))
        raise ValueError(f"directions[{row}]: holds NaN or infinity, every entry must be finite")
    zero = np.flatnonzero(~W.any(axis=1))
    if zero.size:
        raise ValueError(f"directions[{zero[0]}] = 0: a neuron must not have zero length")
    if s.shape != W.shape[:1]:
        raise ValueError(f"signs: shape {s.shape}, must be {W.shape[:1]}, one sign per neuron")
    wrong = np.flatnonzero(np.abs(s) != 1)
    if wrong.size:
        raise ValueError(f"signs[{wrong[0]}] = {s[wrong[0]]:g}: a sign must be +1 or -1")
    return W, s


def gain(loss: str, reduction: str, samples: int) -> float:
    """Speed of the alignment phase: the loss's slope at zero, over n when the loss is a mean.

    Examples
    --------
    >>> gain("logistic", "mean", 10)
    0.05
    """
    if loss not in GAINS:
        raise ValueError(f"loss = {loss!r}: must be one of {', '.join(map(repr, GAINS))}")
    if reduction not in ("sum", "mean"):
        raise ValueError(f"reduction = {reduction!r}: must be 'sum' or 'mean'")
    return GAINS[loss] / (samples if reduction == "mean" else 1)
