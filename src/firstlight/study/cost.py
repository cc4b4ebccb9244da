"""What a trial costs: the small protocol by which a Problem tells how its work grows with its sizes."""

import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from firstlight.study.problem import Problem


@dataclass(frozen=True)
class Cost:
    """The work and the memory of one trial, up to a constant that a dry run measures.

    A Problem may offer ``cost(door, **options) -> Cost``, with the door ("simulate" or "predict") and the
    same options as that door gets. Only ratios between sizes matter, so leading terms are enough.
    It is asked often, so it should compute from the fields alone and draw no data.

    Parameters
    ----------
    flops : float
        Floating-point operations, or anything proportional to the time.
    bytes : float
        Memory that is alive at the peak.

    Examples
    --------
    >>> n, d = 2000, 1000
    >>> Cost(flops=2 * n * d**2 + d**3 / 3, bytes=8 * (n * d + d**2))
    Cost(flops=4333333333.333333, bytes=24000000)
    """

    flops: float
    bytes: float

    def __post_init__(self) -> None:
        if not (self.flops > 0 and self.bytes >= 0):
            raise ValueError(f"flops = {self.flops}, bytes = {self.bytes}: must be positive")


def cost_of(problem: Problem, door: str, options: Mapping[str, Any]) -> Cost | None:
    """Return what a Problem says about its cost, or None if it says nothing.

    Parameters
    ----------
    problem : Problem
    door : {"simulate", "predict"}
    options : mapping
        The door's options.

    Returns
    -------
    Cost or None

    Examples
    --------
    >>> cost_of(object(), "simulate", {}) is None
    True
    """
    ask = getattr(problem, "cost", None)
    if ask is None:
        return None
    return ask(door, **options) if inspect.signature(ask).parameters else ask()


def duration(seconds: float) -> str:
    """Put a time span in words.

    Parameters
    ----------
    seconds : float

    Returns
    -------
    str

    Examples
    --------
    >>> duration(0.5), duration(90), duration(1e5), duration(1e9)
    ('0.5 s', '1.5 min', '1.2 days', '31.7 years')
    """
    for unit, name in ((31_557_600.0, "years"), (86_400.0, "days"), (3600.0, "h"), (60.0, "min")):
        if seconds >= unit:
            return f"{seconds / unit:.1f} {name}"
    return f"{seconds:.2g} s"
