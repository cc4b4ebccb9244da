"""The clock of late flow: t = t₀ + b (e^τ - 1). Rates fall like 1/t, so steps in τ stay of order one."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

EXPONENT = 700.0  # exponentials are formed up to here; larger ones come up in trial steps only


@dataclass(frozen=True)
class Clock:
    """Start t₀, unit b, and the log of b times the weight of one datum.

    Examples
    --------
    >>> clock = Clock.of(np.eye(2), 3.0, "sum", None)
    >>> clock.time(clock.tau(np.array([3.0, 1e9]))).tolist()
    [3.000, 1000000000.0]
    """

    start: float
    base: float
    log_weight: float

    @classmethod
    def of(cls, X: np.ndarray, start: float, reduction: str, samples: int | None) -> "Clock":
        """Take b as t₀, or one over the fastest rate if t₀ is sooner; "mean" divides by `samples`, or n."""
        if reduction not in ("sum", "mean"):
            raise ValueError(f"reduction = {reduction!r}: must be 'sum' or 'mean'")
        weight = 1 / (samples or len(X)) if reduction == "mean" else 1.0
        base = max(start, 1 / (weight * np.linalg.norm(X, axis=1).sum()))
        return cls(start, base, float(np.log(base * weight)))

    def tau(self, times: np.ndarray) -> np.ndarray:
        """Return τ of t."""
        return np.log1p((times - self.start) / self.base)

    def time(self, tau: float | np.ndarray) -> np.ndarray:
        """Return t of τ; -inf and inf, which stand for never, stay what they are."""
        return np.where(np.isinf(tau), tau, self.start + self.base * np.expm1(tau))


def check_times(times: np.ndarray | Sequence[float], start: float) -> np.ndarray:
    """Return output times as an array, or say what is wrong with them.

    Examples
    --------
    >>> check_times([1.0], 2.0)
    Traceback (most recent call last):
    ValueError: times: must increase, from start = 2 on
    """
    checked = np.asarray(times, dtype=float)
    if checked.ndim != 1 or not len(checked) or not np.isfinite(checked).all():
        raise ValueError(f"times = {times!r}: must be a list of finite numbers")
    if checked[0] < start or (np.diff(checked) < 0).any():
        raise ValueError(f"times: must increase, from start = {start:g} on")
    return checked
