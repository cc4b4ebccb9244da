"""The algorithm that trains the network: steps, momentum, batches, and which parameters move."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from firstlight.maths.checks import check_count, check_number, check_numbers, check_positive
from firstlight.maths.refusals import check_choice, check_flag, refusal

BATCHES = ("fresh", "cyclic", "one_pass")
SCHEDULES: dict[str, Callable[[np.ndarray, int], np.ndarray]] = {
    "constant": lambda t, steps: np.ones(len(t)),
    "linear": lambda t, steps: 1 - t / steps,
    "cosine": lambda t, steps: 0.5 * (1 + np.cos(np.pi * t / steps)),
    "inverse_sqrt": lambda t, steps: (1 + t) ** -0.5,
}


@dataclass(frozen=True)
class Training:
    """Gradient descent and what it may be varied to.

    With the gradient Γ of the batch's mean loss (and the ridge) at W, or at W + β V with Nesterov's rule:
    V ← β V - η Γ, W ← W + V. All trained parameters follow the same rule with their own step sizes.

    Parameters
    ----------
    step_size : float
        η > 0 of the first layer.
    momentum : float, default 0
        β in [0, 1); heavy ball unless `nesterov`.
    nesterov : bool, default False
        Take gradients where the momentum leads to.
    batch : float, default 1
        b in (0, 1], the share of the n samples that each step uses.
    batches : {"fresh", "cyclic", "one_pass"}
        How they are chosen if b < 1: at random, anew at each step; in turn from a fixed division of the data
        into 1/b batches; or never seen before, so that T steps see T b n samples, each once.
    second_layer_step, bias_step, offset_step : float, default 0
        Step sizes of the second layer, of the first layer's biases (which start at 0), and of the output's
        offset; 0 leaves them as they are.
    schedule : {"constant", "linear", "cosine", "inverse_sqrt"} or sequence of float
        Factor on all step sizes at step t of T: 1, 1 - t/T, (1 + cos(π t/T))/2, (1 + t)^(-1/2), or given.

    Examples
    --------
    >>> Training(0.25, momentum=0.6).largest_curvature
    12.8
    >>> print(Training(0.25, schedule="linear").factors(4))
    [1.00 0.75 0.50 0.25]
    """

    step_size: float
    momentum: float = 0.0
    nesterov: bool = False
    batch: float = 1.0
    batches: str = "fresh"
    second_layer_step: float = 0.0
    bias_step: float = 0.0
    offset_step: float = 0.0
    schedule: str | Sequence[float] = "constant"

    def __post_init__(self) -> None:
        set_ = object.__setattr__
        set_(self, "step_size", check_positive("step_size", self.step_size))
        set_(self, "momentum", check_number("momentum", self.momentum, 0, below=1))
        check_flag("nesterov", self.nesterov)
        if self.nesterov and not self.momentum:
            raise refusal("nesterov", True, "come with a momentum above 0; without one it changes nothing")
        set_(self, "batch", check_number("batch", self.batch, above=0, high=1))
        check_choice("batches", self.batches, BATCHES)
        for name in ("second_layer_step", "bias_step", "offset_step"):
            set_(self, name, check_number(name, getattr(self, name), 0))
        if isinstance(self.schedule, str):
            check_choice("schedule", self.schedule, SCHEDULES)
        else:
            set_(self, "schedule", check_numbers("schedule", self.schedule, above=0))
        if self.batches == "cyclic" and abs(self.cycle * self.batch - 1) > 1e-9:
            raise refusal("batch", self.batch, "be 1 over a whole number for cyclic batches")

    @property
    def cycle(self) -> int:
        """How many cyclic batches the data make."""
        return round(1 / self.batch)

    @property
    def one_pass(self) -> bool:
        """Whether no sample is seen twice."""
        return self.batches == "one_pass"

    @property
    def full_batch(self) -> bool:
        """Whether each step uses all samples."""
        return self.batch == 1 and not self.one_pass

    @property
    def only_rows(self) -> bool:
        """Whether nothing but the first layer's weights moves."""
        return self.second_layer_step == self.bias_step == self.offset_step == 0

    @property
    def largest_curvature(self) -> float:
        """Curvature up to which full batches at the full step are stable: 2 (1 + β)/η, or over 1 + 2β."""
        bound = 2 * (1 + self.momentum) / self.step_size
        return bound / (1 + 2 * self.momentum) if self.nesterov else bound

    def factors(self, steps: int) -> np.ndarray:
        """Return the factor on all step sizes at each of so many steps."""
        if isinstance(self.schedule, str):
            return SCHEDULES[self.schedule](np.arange(steps, dtype=float), steps)
        given = np.asarray(self.schedule, float)
        if len(given) < steps:
            raise refusal("schedule", f"{len(given)} factors", f"have one for each of the {steps} steps")
        return given[:steps]

    def batch_size(self, samples: int) -> int:
        """Return how many of so many samples a step uses."""
        if self.batch * samples < 1:
            raise refusal("batch", self.batch, f"leave at least one of the {samples} samples in a batch")
        return check_count("batch size", round(self.batch * samples))


def as_training(training: "Training | float") -> Training:
    """Return a `Training`; a number is the step size of plain gradient descent.

    Examples
    --------
    >>> as_training(0.25).step_size
    0.25
    """
    return training if isinstance(training, Training) else Training(training)
