"""From a name, or from a user's function, to an `Activation`."""

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches

import numpy as np

from firstlight.maths.activations.activation import Activation, Function
from firstlight.maths.activations.built_in import BUILT_IN
from firstlight.maths.checks import check_numbers
from firstlight.maths.equality import ByValue
from firstlight.maths.refusals import check_instance, refusal, shown


def is_built_in(candidate: Activation) -> bool:
    """Tell whether this very activation is the built-in one of its name."""
    return BUILT_IN.get(candidate.name) is candidate


@dataclass(frozen=True, eq=False)
class _Differences(ByValue):
    """The derivative by adaptive differences that never step over a kink (at one: from the left)."""

    function: Function
    kinks: tuple[float, ...]

    def __call__(self, z: np.ndarray) -> np.ndarray:
        from scipy.differentiate import derivative as differentiate  # slow to import, seldom needed

        z, edges = np.asarray(z, float), np.array([-np.inf, *self.kinks, np.inf])
        cell = np.searchsorted(edges, z, side="left") - 1
        left, right = z - edges[cell], edges[cell + 1] - z
        room = np.minimum(np.maximum(left, right), 1.0) / 2
        direction = np.where(np.minimum(left, right) > room, 0, np.where(left > right, -1, 1))
        derivative = differentiate(self.function, z, initial_step=room, step_direction=direction)
        return np.asarray(derivative.df)


def activation(
    name_or_callable: "str | Activation | Function",
    *,
    kinks: Sequence[float] = (),
    derivative: Function | None = None,
    second_derivative: Function | None = None,
    name: str | None = None,
    field: str = "activation",
) -> Activation:
    """Return the activation of that name, or make one from a function of one's own.

    Parameters
    ----------
    name_or_callable : str, callable or Activation
        A built-in name (linear, relu, leaky_relu, shifted_relu, tanh, erf, sigmoid, softplus, gelu, silu,
        sin, cos, step, quadratic, tanh_squared, He_2, He_3, He_4), or a vectorised function of one array.
    kinks : sequence of float
        For a function: every point where it, or a derivative, jumps. Integrals are split there; one that is
        not named costs accuracy.
    derivative, second_derivative : callable, optional
        For a function: σ' and σ''. By default adaptive differences (errors about 1e-10 and 1e-6).
    name : str, optional
        For a function: a name to show; by default its own.
    field : str, default "activation"
        What a refusal calls it.

    Returns
    -------
    Activation

    Examples
    --------
    >>> activation("tanh").name
    'tanh'
    >>> hinge = activation(lambda z: np.maximum(1 - z, 0), kinks=[1], name="hinge")
    >>> float(hinge.hermite(1)[1])  # E[σ(z) z] = E σ'(z) = -P(z < 1)
    -0.841345
    """
    options = {"kinks": kinks, "derivative": derivative, "second_derivative": second_derivative, "name": name}
    given = [label for label, value in options.items() if value is not None and not _empty(value)]
    if isinstance(name_or_callable, (str, Activation)):
        if given:
            raise ValueError(f"{given[0]}: only for a function of one's own, not with {name_or_callable!r}")
        if isinstance(name_or_callable, Activation):
            return name_or_callable
        if name_or_callable not in BUILT_IN:
            close = get_close_matches(name_or_callable, BUILT_IN, 1)
            hint = f"; did you mean {close[0]!r}?" if close else ""
            raise ValueError(f"{field} = {shown(name_or_callable)}: not one of {', '.join(BUILT_IN)}{hint}")
        return BUILT_IN[name_or_callable]
    if not callable(name_or_callable):
        raise refusal(field, name_or_callable, "be a name or a function")
    points = tuple(sorted(set(check_numbers("kinks", kinks)))) if "kinks" in given else ()
    if name is not None:
        check_instance("name", name, str)
    _check_function(field, name_or_callable)
    if derivative is not None:
        _check_function("derivative", derivative)
    if second_derivative is not None:
        _check_function("second_derivative", second_derivative)
    first = derivative if derivative is not None else _Differences(name_or_callable, points)
    second = second_derivative if second_derivative is not None else _Differences(first, points)
    label = name or str(getattr(name_or_callable, "__name__", type(name_or_callable).__name__))
    return Activation(label, name_or_callable, first, second, points)


def _empty(value: object) -> bool:
    return isinstance(value, Sequence) and len(value) == 0


def _check_function(field: str, function: Function) -> None:
    probe = np.array([[-2.5, -0.7, 0.1], [0.9, 1.8, 3.1]])
    try:
        values = np.asarray(function(probe))
    except Exception as error:
        raise ValueError(
            f"{field}: failed on an array ({shown(error)}); write it with NumPy functions"
        ) from error
    if values.shape != probe.shape or values.dtype.kind not in "fiub" or not np.isfinite(values).all():
        raise ValueError(
            f"{field}: must map an array of shape {probe.shape} to finite numbers of that shape, "
            f"but gave shape {values.shape}, dtype {values.dtype}"
        )
