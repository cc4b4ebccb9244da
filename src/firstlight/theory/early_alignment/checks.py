"""What the room accepts as data and as a start: one place, so that every entry gives the same message."""

from collections.abc import Sequence

import numpy as np

GAINS = {"exp": 1.0, "logistic": 0.5, "logistic2": 1.0}


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


def lengths(rows: np.ndarray) -> np.ndarray:
    """Lengths of non-zero rows, with no underflow or overflow in the squares.

    Examples
    --------
    >>> lengths(np.array([[3e-200, 4e-200]])).tolist()
    [5e-200]
    """
    largest = np.abs(rows).max(axis=1)
    return np.asarray(largest * np.linalg.norm(rows / largest[:, None], axis=1))


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
