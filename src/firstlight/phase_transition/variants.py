"""The same question to other networks: algorithms and widths at equal time, and known cases by name."""

from dataclasses import fields
from typing import Any

from firstlight.maths.checks import check_count, check_number, check_positive
from firstlight.maths.refusals import check_choice, unknown
from firstlight.phase_transition.learning import LearningProblem
from firstlight.phase_transition.thresholds import ThresholdProblem

EARLY: dict[str, dict[str, Any]] = {  # descents of finite size succeed far below the limit
    "2tanh² - 1, square": {
        "target": "sign(abs(z1) - 1)", "second_layer": 2.0, "offset": -1.0, "step_size": 0.17,
        "samples_per_dimension": (3.0, 3.6, 4.3, 5.2, 6.2, 7.4, 8.9, 10.7, 12.8, 15.4),
    },
    "1.5tanh² - 0.5, logistic": {
        "target": "sign(abs(z1) - 1.2)", "second_layer": 1.5, "offset": -0.5, "step_size": 0.38,
        "loss": "logistic", "samples_per_dimension": (1.5, 1.8, 2.15, 2.6, 3.1, 3.7, 4.5, 5.4),
    },
}  # fmt: skip


def early(network: str = next(iter(EARLY)), **others: Any) -> ThresholdProblem:
    """Return a threshold problem whose descents succeed far below delta_NN, by the network's name.

    Parameters
    ----------
    network : str
        A key of `EARLY`.
    **others
        Fields of `ThresholdProblem`, in place of the network's.

    Examples
    --------
    >>> early("1.5tanh² - 0.5, logistic", dimension=100).loss
    'logistic'
    """
    check_choice("network", network, tuple(EARLY))
    return ThresholdProblem(**{**EARLY[network], **others})


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
    check_number("second_layer", second_layer)
    known = [item.name for item in fields(LearningProblem)]
    if wrong := [name for name in others if name not in known]:
        raise unknown("field", wrong[0], known)
    return LearningProblem(
        step_size=step_size * width * (1 - momentum), momentum=momentum, width=width,
        second_layer=second_layer / width, **others,
    )  # fmt: skip
