"""When alignment emerges: the conditions of the theory with their numbers."""

from dataclasses import dataclass

import numpy as np

from firstlight.maths.checks import check_number
from firstlight.maths.shown import Shown
from firstlight.unseen_classes.definitions.step import MOST_TAU


@dataclass(frozen=True)
class Emergence(Shown):
    """Whether alignment of an unseen class emerges, and by how much it meets each condition.

    Attributes
    ----------
    strength : float
        τ²t²/(q - c): at 1 what the step adds in common is as large as what the samples do not share.
    snr : float
        |t|/sqrt(s² + V): at 1 the class moves together more than it is scattered.
    mean_strength : float
        τ²t²/c: at 1 a small step has doubled the class's cohesion (class-mean level).
    threshold : float
        The least |t| that meets both conditions at this step.
    emerges : bool
        strength >= 1 and snr >= 1.
    """

    strength: float
    snr: float
    mean_strength: float
    threshold: float
    emerges: bool


def emergence(
    similarity: float, spread: float, norm: float, overlap: float, bulk: float = 0.0, *, tau: float
) -> Emergence:
    """Evaluate the conditions under which samples of an unseen class align.

    Parameters
    ----------
    similarity, spread, norm, overlap, bulk, tau
        t, s, q, c (of two samples of the class), V and τ, as in `class_alignment`.

    Returns
    -------
    Emergence

    Examples
    --------
    >>> said = emergence(similarity=3.0, spread=1.0, norm=1.0, overlap=0.25, tau=0.5)
    >>> said.strength, said.snr, said.mean_strength, said.emerges
    (3.0, 3.0, 9.0, True)
    """
    check_number("tau", tau, 0, MOST_TAU)
    for name, value in (("spread", spread), ("norm", norm), ("bulk", bulk)):
        check_number(name, value, 0)
    check_number("similarity", similarity)
    if not abs(check_number("overlap", overlap)) <= norm:
        raise ValueError(f"overlap = {overlap}: must lie within ± norm = {norm}")
    noise = float(np.sqrt(spread**2 + bulk))
    common = (tau * similarity) ** 2
    strength, snr = _ratio(common, norm - overlap), _ratio(abs(similarity), noise)
    needed = np.sqrt(norm - overlap) / tau if tau > 0 else np.inf
    return Emergence(
        strength,
        snr,
        _ratio(common, max(overlap, 0.0)),
        float(max(needed, noise)),
        strength >= 1 and snr >= 1,
    )


def _ratio(a: float, b: float) -> float:
    if b > 0:
        return float(a / b)
    return float("inf") if a > 0 else 0.0
