"""What all Problems of the theory share: a target, a network, and the sizes."""

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, fields
from functools import cached_property
from typing import ClassVar, NamedTuple

import numpy as np

from firstlight.data.multi_index import MultiIndex, MultiIndexSample
from firstlight.maths.checks import check_count, check_memory, check_numbers, check_positive
from firstlight.maths.equality import ByValue
from firstlight.maths.losses import Loss
from firstlight.maths.refusals import refusal
from firstlight.phase_transition.definitions import Student, Training
from firstlight.phase_transition.experiment.pilot import escape_steps
from firstlight.phase_transition.theory.conditional import far_labels
from firstlight.phase_transition.theory.relevant import relevant_directions
from firstlight.phase_transition.theory.stability import stable_start
from firstlight.phase_transition.theory.subspaces import complement, subspaces
from firstlight.study.problem import Assumption

MOST_SAMPLES = 1e12  # of a problem: more is a slip
MOST_STEPS = 10**7  # of a descent: schedules and paths are arrays
SUCCESS = 0.2  # squared cosine with the hidden directions that counts as having found them


def check_samples(delta: float, d: int) -> float:
    """Return δ d; refuse δ that makes no sample, or more than anybody has.

    Examples
    --------
    >>> check_samples(0.01, 20)
    Traceback (most recent call last):
    ...
    ValueError: samples_per_dimension = 0.01: must make 1 to 1e+12 samples at dimension 20
    """
    samples = check_positive("samples_per_dimension", delta) * d
    if not 1 <= round(min(samples, 2 * MOST_SAMPLES)) <= MOST_SAMPLES:
        allowed = f"make 1 to {MOST_SAMPLES:g} samples at dimension {d}"
        raise refusal("samples_per_dimension", delta, allowed)
    return samples


class Directions(NamedTuple):
    """Bases of hidden directions, as columns.

    Attributes
    ----------
    easy : ndarray of shape (k, e)
        Those that a network learns at once.
    hard : ndarray of shape (k, h)
        The others that the label depends on, which are held or looked for.
    """

    easy: np.ndarray
    hard: np.ndarray


@dataclass(frozen=True, eq=False)
class Model(ByValue):
    """A multi-index target and a two-layer network.

    Parameters
    ----------
    target : str
        y = φ(z) as a text of z1, z2, ...
    noise : float
        Standard deviation of the label's noise.
    activation : str
        σ; twice differentiable where a Hessian is asked for.
    second_layer : float or tuple of float
        a_j at the start. A single number is repeated `width` times.
    width : int
        m, when `second_layer` is a single number.
    init_scale : float
        r, length of the orthogonal first-layer rows at the start.
    loss : {"square", "logistic"} or Loss
        l(y, f).
    ridge : float
        λ.
    offset : float
        Constant in the output.
    """

    theory: ClassVar[str] = "phase_transition"
    version: ClassVar[int] = 7
    references: ClassVar[tuple[str, ...]] = ("montanari2026phase",)

    target: str = "sign(abs(z1) - 1.4820733)"
    _: KW_ONLY
    noise: float = 0.0
    activation: str = "tanh_squared"
    second_layer: float | tuple[float, ...] = 1.0
    width: int = 1
    init_scale: float = 0.8
    loss: str | Loss = "square"
    ridge: float = 0.0
    offset: float = 0.0

    def __post_init__(self) -> None:
        width = check_count("width", self.width)
        check_memory(f"width = {width}", 100.0 * width, "width")
        heads = check_numbers("second_layer", self.second_layer)
        if np.ndim(self.second_layer) and self.width not in (1, len(heads)):
            raise ValueError(f"width = {self.width}: second_layer = {self.second_layer!r} has another length")
        self.law, self.student  # noqa: B018 - bad fields are refused now

    def _check_dimension(self, dimension: int) -> None:
        """Refuse a number of dimensions that leaves no room beside the hidden directions and the neurons."""
        least = max(self.law.directions, self.student.width) + 1
        if check_count("dimension", dimension) < least:
            raise ValueError(
                f"dimension = {dimension}: must be at least {least}, for width = {self.student.width} and "
                f"{self.law.directions} hidden directions"
            )

    @cached_property
    def law(self) -> MultiIndex:
        """The target's law."""
        return MultiIndex(self.target, noise=self.noise)

    @cached_property
    def student(self) -> Student:
        """The network as theory sees it."""
        single = np.ndim(self.second_layer) == 0
        a = np.full(self.width, self.second_layer) if single else np.asarray(self.second_layer)
        return Student(
            self.activation, tuple(a.tolist()), self.init_scale, self.loss, self.ridge, self.offset
        )

    @cached_property
    def directions(self) -> Directions:
        """Which directions are easy and which hard: part of the question, so that both sides mean the same.

        Theory's `subspaces` decide it, once; experiments hold these directions, or look for them.
        """
        easy = subspaces(self.law).easy
        return Directions(easy, complement(easy, relevant_directions(self.law)))

    def assumptions(self) -> tuple[Assumption, ...]:
        """Return what the theory assumes, each checked for this problem."""
        hard = self.directions.hard.shape[1]
        far, kinked = far_labels(self.law), self.student.sigma.kinked
        try:
            self.student.require_labels(self.law.sample(4096, self.law.directions, rng=0).y, far, self.target)
            bounded = Assumption("curvature bounded below", "holds", f"labels reach {np.abs(far).max():.3g}")
        except ValueError as error:
            bounded = Assumption("curvature bounded below", "fails", str(error))
        return (
            bounded,
            Assumption(
                "smooth activation", "fails" if kinked else "holds",
                f"{self.student.sigma.name} has {'kinks: a Hessian is not defined' if kinked else 'no kink'}",
            ),
            Assumption(
                "a hard direction exists", "holds" if hard else "fails",
                f"{hard} hard directions of {self.law.directions}",
            ),
            Assumption("dimension and samples go to infinity", "not checkable", "gaps shrink as d^-1/2"),
        )  # fmt: skip


@dataclass(frozen=True, eq=False, kw_only=True)
class TrainedModel(Model):
    """A target, a network, and how it is trained.

    Parameters
    ----------
    step_size, momentum, nesterov, batch, batches, second_layer_step, bias_step, offset_step, schedule
        As for `Training`.

    The other fields are those of `Model`.
    """

    step_size: float = 0.25
    momentum: float = 0.0
    nesterov: bool = False
    batch: float = 1.0
    batches: str = "fresh"
    second_layer_step: float = 0.0
    bias_step: float = 0.0
    offset_step: float = 0.0
    schedule: str | tuple[float, ...] = "constant"

    def __post_init__(self) -> None:
        super().__post_init__()
        self.training  # noqa: B018 - bad fields are refused now

    @cached_property
    def training(self) -> Training:
        """The algorithm."""
        return Training(**{item.name: getattr(self, item.name) for item in fields(Training)})

    def _first_steps(self, delta: float, steps: int) -> Assumption:
        """Tell whether steps overshoot at the start's curvature, at so many samples per dimension."""
        name = "first steps do not overshoot"
        limit = stable_start(self.law, self.student, delta, self.training, steps)
        if np.isnan(limit):
            return Assumption(
                name, "not checkable", "no rule for cyclic batches, or other trained parameters"
            )
        said = f"step_size {self.step_size:g}; they do not below {limit:.3g}"
        return Assumption(name, "fails" if self.step_size >= limit else "holds", said)

    def _check_sizes(self, delta: float, d: int, steps: int) -> None:
        """Refuse sizes that leave no room for the directions, for a batch, or for the schedule."""
        self._check_dimension(d)
        samples = check_samples(delta, d)
        self.training.batch_size(round(samples))
        self.training.factors(check_count("steps", steps, 1, MOST_STEPS))

    def _supply(self, drawn: MultiIndexSample, rng: np.random.Generator) -> Callable[[int], tuple]:
        """Return what draws so many new samples with the same hidden directions."""

        def more(count: int) -> tuple[np.ndarray, np.ndarray]:
            new = self.law.sample(count, len(drawn.directions), rng, drawn.directions)
            return new.X, new.y

        return more

    def _found_at(self, delta: float, d: int, steps: int, rng: np.random.Generator) -> float:
        """Train one network; return the step at which it has found the hard directions, or NaN."""
        times, _ = escape_steps(
            self.student, self.law, self.directions.hard, self.training, (round(delta * d), d), steps,
            SUCCESS, rng=rng,
        )  # fmt: skip
        return float(times[0])
