"""Gradient flow: the limit of small steps, from two step sizes."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from firstlight.data.multi_index import MultiIndex
from firstlight.maths.checks import check_count, check_positive
from firstlight.maths.refusals import refusal
from firstlight.maths.rng import RNGLike, SeedLike
from firstlight.maths.shown import Shown
from firstlight.phase_transition.definitions import Student
from firstlight.phase_transition.theory.dmft import dmft
from firstlight.phase_transition.theory.path import DmftPath, spread


@dataclass(frozen=True)
class GradientFlow(Shown):
    """dW/ds = -∇R(W) in the limit of many dimensions.

    Attributes
    ----------
    times : ndarray of shape (steps + 1,)
        s.
    coarse, fine : DmftPath
        Descent with steps s/T and s/(2T).
    """

    times: np.ndarray
    coarse: DmftPath
    fine: DmftPath

    def __call__(self, quantity: Callable[[DmftPath], Any]) -> tuple[np.ndarray, np.ndarray]:
        """Return a quantity over the times (first axis), and its error.

        Errors of a step η are proportional to η: twice the fine value less the coarse one has none to first
        order. What is left is taken as a tenth of the difference, beside the scatter of the scrambles.
        """

        def limit(fine: DmftPath, coarse: DmftPath) -> np.ndarray:
            return 2 * np.asarray(quantity(fine))[::2] - np.asarray(quantity(coarse))

        value = limit(self.fine, self.coarse)
        pairs = zip(self.fine.runs, self.coarse.runs, strict=True)
        left = 0.1 * np.abs(value - np.asarray(quantity(self.fine))[::2])
        return value, np.hypot(spread(np.array([limit(a, b) for a, b in pairs])), left)


def gradient_flow(
    target: MultiIndex | str,
    student: Student,
    samples_per_dimension: float,
    until: float,
    steps: int = 32,
    draws: int = 1 << 14,
    rng: RNGLike | SeedLike = 0,
    **options: Any,
) -> GradientFlow:
    """Follow gradient flow up to a time, by descent with `steps` and with twice as many steps.

    Parameters
    ----------
    target, student, samples_per_dimension, draws, rng
        As for `dmft`.
    until : float
        s at the end, positive: η times the number of steps.
    steps : int, default 32
        T of the coarser run.
    **options
        Others of `dmft`: hold_hard, start_overlap, scrambles.

    Returns
    -------
    GradientFlow

    Examples
    --------
    >>> flow = gradient_flow("z1", Student("linear", 1.0, 0.5), 3.0, 2.0, 8, 1 << 11, hold_hard=False)
    >>> loss, error = flow(lambda path: path.test_loss)
    >>> bool(loss[-1] < loss[0]), bool((error < 0.02).all())
    (True, True)
    """
    check_positive("until", until)
    check_count("steps", steps, 1)
    coarse, fine = (
        dmft(target, student, samples_per_dimension, until / count, count, draws, rng, times=(0,), **options)
        for count in (steps, 2 * steps)
    )
    if coarse.overshoots:
        least = int(until / coarse.stable_below) + 1
        raise refusal("steps", steps, f"be at least {least} for until = {until:g}: longer steps overshoot")
    return GradientFlow(np.linspace(0, until, steps + 1), coarse, fine)
