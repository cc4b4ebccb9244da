"""The same question to other algorithms and widths, at equal learning time and equal output."""

from dataclasses import fields
from typing import Any

from firstlight.maths.checks import check_count, check_number, check_positive, unknown
from firstlight.phase_transition.learning import LearningProblem


def at_equal_time(
    step_size: float = 0.25, momentum: float = 0.0, width: int = 1, second_layer: float = 1.0, **others: Any
) -> LearningProblem:
    """Return the learning problem with momentum and width such that training has come as far at step T.

    Momentum multiplies the effective step by 1/(1 - β), so that η is multiplied by 1 - β. A network of width
    m starts with second-layer weights `second_layer`/m, which keep its output, and takes steps m times as
    long, which keep each neuron's speed.

    Parameters
    ----------
    step_size, second_layer : float
        Of one neuron, without momentum.
    momentum, width
        As in `LearningProblem`.
    **others
        Its other fields.

    Examples
    --------
    >>> problem = at_equal_time(0.2, momentum=0.5, width=2)
    >>> problem.step_size, problem.second_layer
    (0.2, 0.5)
    """
    check_positive("step_size", step_size)
    check_number("momentum", momentum, 0, below=1)
    check_count("width", width)
    known = [item.name for item in fields(LearningProblem)]
    if wrong := [name for name in others if name not in known]:
        raise unknown("field", wrong[0], known)
    return LearningProblem(
        step_size=step_size * width * (1 - momentum), momentum=momentum, width=width,
        second_layer=second_layer / width, **others,
    )  # fmt: skip
