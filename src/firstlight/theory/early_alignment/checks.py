"""What the room accepts as data and as a start: one place, so that every entry gives the same message."""

import numpy as np
from numpy.typing import ArrayLike

GAINS = {"exp": 1.0, "logistic": 0.5, "logistic2": 1.0}


def reals(name: str, values: ArrayLike, shape: str) -> np.ndarray:
    """Return values as a C-ordered array of floats, or say that the field holds no real numbers.

    Examples
    --------
    >>> reals("signs", ["up", "down"], "(width,)")
    Traceback (most recent call last):
    ValueError: signs: must be an array of real numbers, of shape (width,)
    """
    try:
        given = np.asarray(values)
        if np.iscomplexobj(given):  # a cast would drop the imaginary part
            raise TypeError
        return np.asarray(given, dtype=float, order="C")
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{name}: must be an array of real numbers, of shape {shape}") from None


def neurons(
    directions: ArrayLike, signs: ArrayLike | None, dimension: int, name: str = "directions"
) -> tuple[np.ndarray, np.ndarray]:
    """Return first-layer rows (h × D) and second-layer signs ±1 (h), or say what is wrong with them.

    The rows are called `name` where they are refused; without signs all are +1.

    Examples
    --------
    >>> neurons([[0.0, 0.0]], [1], 2)
    Traceback (most recent call last):
    ValueError: directions[0] = 0: a neuron must not have zero length
    """
    W = reals(name, directions, f"(width, {dimension})")
    if W.ndim != 2 or W.shape[0] == 0 or W.shape[1] != dimension:
        raise ValueError(f"{name}: shape {W.shape}, must be (width, {dimension}) with width at least 1")
    if not np.isfinite(W).all():
        row = int(np.argmin(np.isfinite(W).all(axis=1)))
        raise ValueError(f"{name}[{row}]: holds NaN or infinity, every entry must be finite")
    zero = np.flatnonzero(~W.any(axis=1))
    if zero.size:
        raise ValueError(f"{name}[{zero[0]}] = 0: a neuron must not have zero length")
    s = np.ones(len(W)) if signs is None else reals("signs", signs, f"({len(W)},)")
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
    if not isinstance(loss, str) or loss not in GAINS:
        raise ValueError(f"loss = {loss!r}: must be one of {', '.join(map(repr, GAINS))}")
    if not isinstance(reduction, str) or reduction not in ("sum", "mean"):
        raise ValueError(f"reduction = {reduction!r}: must be 'sum' or 'mean'")
    return GAINS[loss] / (samples if reduction == "mean" else 1)
