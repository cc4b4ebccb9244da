"""The network whose training is studied: f(h) = offset + Σ_j a_j σ(h_j), h = W x + biases."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from firstlight.maths.activations import Activation, activation
from firstlight.maths.activations.activation import Three
from firstlight.maths.activations.factory import is_built_in
from firstlight.maths.checks import check_number, check_numbers, check_positive
from firstlight.maths.losses import Loss, loss
from firstlight.maths.refusals import refusal
from firstlight.maths.shown import Shown
from firstlight.maths.tabulated import Function, tabulated

_PROBE = np.linspace(-40.0, 40.0, 4001)
_STILL = (
    "training itself can be followed: dmft, with V(t) of the hard overlaps, escape_time, LearningProblem, "
    "Problem(spectrum=False)"
)


@dataclass(frozen=True)
class Student(Shown):
    """A two-layer network in the limit of many inputs, seen through its pre-activations h.

    Parameters
    ----------
    activation : str, callable or Activation
        σ. With kinks (ReLU) training can be followed; what needs the Hessian, and so σ'', refuses it.
    second_layer : float or sequence of float
        a_1, ..., a_m at the start, not zero; the width is their number.
    init_scale : float
        Length r > 0 of the first-layer rows at initialisation, which are orthogonal.
    loss : {"square", "logistic"} or Loss
        l(y, f); ``square`` is (f - y)²/2.
    ridge : float, default 0
        λ of the penalty λ/2 Σ_j |w_j|², at least 0.
    offset : float, default 0
        Added to the output.

    Examples
    --------
    >>> student = Student("tanh_squared", 1.0, 0.8)
    >>> student.width
    1
    >>> print(student.output(np.array([[1.0]])))
    [0.580]
    """

    activation: str | Callable[[np.ndarray], np.ndarray] | Activation
    second_layer: float | Sequence[float] = 1.0
    init_scale: float = 1.0
    loss: str | Loss = "square"
    ridge: float = 0.0
    offset: float = 0.0

    def __post_init__(self) -> None:
        a = self.a
        if (a == 0).any():
            raise refusal("second_layer", self.second_layer, "be finite numbers other than 0")
        object.__setattr__(self, "second_layer", tuple(a.tolist()))
        object.__setattr__(self, "init_scale", check_positive("init_scale", self.init_scale))
        object.__setattr__(self, "ridge", check_number("ridge", self.ridge, 0))
        object.__setattr__(self, "offset", check_number("offset", self.offset))
        self.penalty  # noqa: B018 - unknown ones are refused now
        if not self.sigma.derivative(np.linspace(-3.1, 3.2, 64)).any():
            raise ValueError(
                f"activation = {self.sigma.name}: its derivative is zero almost everywhere, and so are "
                "gradients: the first layer learns nothing from them"
            )

    @cached_property
    def sigma(self) -> Activation:
        """The activation itself."""
        return activation(self.activation)

    @cached_property
    def _derivatives(self) -> tuple[Function, Function]:
        """σ' and σ''; of a user's own function from a table."""
        first, second = self.sigma.derivative, self.sigma.second_derivative
        return (first, second) if is_built_in(self.sigma) else tabulated(first, second, self.sigma.kinks)

    def _features(self, h: np.ndarray) -> Three:
        """σ(h), σ'(h) and σ''(h)."""
        if self.sigma.together is not None and is_built_in(self.sigma):
            return self.sigma.together(h)
        first, second = self._derivatives
        return self.sigma(h), first(h), second(h)

    @cached_property
    def penalty(self) -> Loss:
        """The loss itself."""
        return loss(self.loss)

    @cached_property
    def a(self) -> np.ndarray:
        """The second layer as an array."""
        return np.array(check_numbers("second_layer", self.second_layer))

    @property
    def width(self) -> int:
        """m, the number of neurons."""
        return self.a.size

    def moved(self, second_layer: np.ndarray, offset: float) -> "Student":
        """Return the network with another second layer and offset, as training leaves them."""
        other = replace(self, second_layer=tuple(second_layer.tolist()), offset=float(offset))
        for name in ("sigma", "penalty", "_derivatives"):  # tables are made once
            other.__dict__[name] = getattr(self, name)
        return other

    def output(self, h: np.ndarray) -> np.ndarray:
        """f(h) for pre-activations of shape (n, m)."""
        return self.offset + self.sigma(h) @ self.a

    def risk(self, y: np.ndarray, h: np.ndarray) -> np.ndarray:
        """l(y, f(h)) of each sample, without the ridge penalty."""
        return self.penalty.value(y, self.output(h))

    def force(self, y: np.ndarray, h: np.ndarray) -> np.ndarray:
        """ψ = ∇_h l, shape (n, m)."""
        return self.penalty.first(y, self.output(h))[:, None] * (self.a * self._derivatives[0](h))

    def curvature(self, y: np.ndarray, h: np.ndarray) -> np.ndarray:
        """D = ∇²_h l, shape (n, m, m); without the point masses that a kink of σ would add."""
        return self.force_and_curvature(y, h)[1]

    def force_and_curvature(self, y: np.ndarray, h: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """ψ and D, in little more time than D alone; an entry of all D lies in one piece of memory."""
        features, slope, bend = self._features(h)
        f, slope = self.offset + features @ self.a, self.a * slope
        first, rows = self.penalty.first(y, f), np.ascontiguousarray(slope.T)
        D = (self.penalty.second(y, f) * rows)[:, None] * rows
        index = np.arange(self.width)
        D[index, index] += (first[:, None] * self.a * bend).T
        return first[:, None] * slope, D.transpose(2, 0, 1)

    def require_weights(self, weights: np.ndarray, step: int) -> None:
        """Refuse a first layer (..., m, d) that is zero after a step: it has no direction to compare."""
        if not weights.any(axis=(-2, -1)).all():
            raise ValueError(f"ridge = {self.ridge}: with this step_size all weights are zero at step {step}")

    def require_smooth(self) -> None:
        """Raise if σ has a kink: the curvature is then infinite there, and delta_NN undefined."""
        if self.sigma.kinked:
            where = f" at {self.sigma.kinks}" if self.sigma.kinks else ""
            raise ValueError(
                f"activation = {self.sigma.name}: has kinks{where}; the Hessian, and with it delta_NN, needs "
                f"a twice differentiable one, such as softplus, gelu, tanh; {_STILL}"
            )

    def require_labels(self, labels: np.ndarray, far: np.ndarray, what: Any) -> None:
        """Raise unless labels suit the loss: ±1 for the logistic one, and D bounded below over all of them.

        `labels` are such as occur; `far` those at points ever further out, at eight distances. Labels that
        keep growing give ever lower curvature, and the Hessian's spectrum has no left edge. The probe moves
        all neurons together and one at a time.
        """
        self.require_loss(np.concatenate([labels, far]) if self.penalty.name == "logistic" else labels, what)
        if self.sigma.kinked:  # no Hessian is asked for
            return
        known, out = self._lowest(labels), np.sort(far)
        eighth = len(out) // 8
        lowest, nearer = self._lowest(out), self._lowest(out[eighth : len(out) - eighth])
        bottom = min(known, lowest)
        if bottom < -1e5 or lowest < min(known, nearer) - 0.05 * abs(min(known, nearer)):
            raise ValueError(
                f"loss = {self.penalty.name}, target = {what}: the curvature is unbounded below (it reaches "
                f"{bottom:.2g}): the Hessian's spectrum has no left edge, no threshold exists; bound the "
                "label (tanh or sign of it), drop its noise, or give a Loss whose slope stays bounded as the "
                f"label grows, such as (f - y)²/(1 + y²); {_STILL}"
            )

    def require_loss(self, labels: np.ndarray, what: Any) -> None:
        """Raise unless the loss is defined at labels: ±1 for the logistic one, finite numbers for any."""
        if self.penalty.name == "logistic" and not (np.abs(labels) == 1).all():
            raise ValueError(f"loss = logistic, target = {what}: needs labels ±1, such as sign(...)")
        f = self.output(self.init_scale * np.linspace(-3, 3, 25)[:, None] * np.ones(self.width))
        for y in _spread(labels):
            with np.errstate(all="ignore"):  # what a user's loss does there is told below
                loss, at = self.penalty, np.full(f.size, y)
                parts = [part(at, f) for part in (loss.value, loss.first, loss.second)]
            if not all(np.isfinite(part).all() for part in parts):
                raise ValueError(
                    f"loss = {loss.name}: it or its derivatives are not finite at the label {y:.3g} "
                    f"of {what}; must be numbers for every label and output"
                )

    def _lowest(self, labels: np.ndarray) -> float:
        """Return the lowest eigenvalue of D over pre-activations, at quantiles of the labels."""
        lowest = []
        for y in _spread(labels):
            for line in [np.ones(self.width), *np.eye(self.width)]:
                with np.errstate(all="ignore"):  # labels and outputs are very large: a loss may overflow
                    D = self.curvature(np.full(_PROBE.size, y), _PROBE[:, None] * line)
                D = np.nan_to_num(D, nan=0.0, posinf=1e100, neginf=-1e100)
                lowest.append(float(np.linalg.eigvalsh(D).min()))
        return min(lowest)


def _spread(labels: np.ndarray) -> np.ndarray:
    """Return labels that occur, from the lowest to the highest."""
    return np.unique(np.quantile(labels, [0, 0.25, 0.5, 0.75, 1], method="nearest"))


def as_student(student: Student) -> Student:
    """Return a `Student`; anything else is refused."""
    if not isinstance(student, Student):
        raise refusal("student", student, "be a Student")
    return student


def default_times(steps: int) -> tuple[int, ...]:
    """Return 0, 1, 2, 4, ..., and the last step."""
    return tuple(sorted({0, steps, *(1 << j for j in range(steps.bit_length()) if 1 << j <= steps)}))
