"""Variables of a search: numbers between bounds, integers, and choices."""

import math
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, Literal

from firstlight.maths.refusals import refusal

_LOG = 10.0  # bounds so many times apart are searched on a logarithmic scale


@dataclass(frozen=True)
class Variable:
    """One variable; numbers are searched for in [0, 1], mapped to their range.

    Attributes
    ----------
    name : str
    kind : {"number", "integer", "choice"}
    values : tuple
        The two bounds, or the choices.
    """

    name: str
    kind: Literal["number", "integer", "choice"]
    values: tuple[Any, ...]

    @property
    def log(self) -> bool:
        """Whether the scale is logarithmic."""
        low, high = self.values[0], self.values[-1]
        return self.kind != "choice" and low > 0 and high >= _LOG * low

    def at(self, u: float) -> Any:
        """Return the number at u in [0, 1]."""
        low, high = (math.log(x) if self.log else x for x in self.values)
        value = low + (high - low) * min(max(u, 0.0), 1.0)
        value = math.exp(value) if self.log else value
        clipped = min(max(value, self.values[0]), self.values[1])
        return round(clipped) if self.kind == "integer" else float(clipped)

    def unit(self, value: float) -> float:
        """Return where a number lies in [0, 1]."""
        low, high, x = (math.log(x) if self.log else x for x in (*self.values, value))
        return (x - low) / (high - low)

    def grid(self, count: int) -> list[Any]:
        """Return about so many numbers over the whole range."""
        return sorted({self.at(i / (count - 1)) for i in range(count)})

    def beside(self, value: int) -> list[int]:
        """Return the neighbours of an integer within the bounds."""
        return [x for x in (value - 1, value + 1) if self.values[0] <= x <= self.values[1]]

    def on_border(self, value: Any) -> bool:
        """Tell whether a number is an end of its range."""
        return self.kind != "choice" and not 2e-3 < self.unit(value) < 1 - 2e-3


def variable(name: str, given: Any) -> Variable:
    """Read a variable: ``(low, high)`` or a list of choices.

    Examples
    --------
    >>> variable("ridge", (1e-6, 10.0)).log, variable("width", (2, 8)).kind
    (True, 'integer')
    >>> variable("activation", ["relu", "tanh"]).values
    ('relu', 'tanh')
    """
    if isinstance(given, list) and len(given) >= 2:
        return Variable(name, "choice", tuple(tuple(x) if isinstance(x, list) else x for x in given))
    real = isinstance(given, tuple) and len(given) == 2 and all(
        isinstance(x, Real) and not isinstance(x, bool) and math.isfinite(x) for x in given
    )  # fmt: skip
    if not real or not given[0] < given[1]:
        raise refusal(f"over[{name!r}]", given, "be bounds (low, high) that increase, or a list of choices")
    whole = all(isinstance(x, Integral) for x in given)
    return Variable(name, "integer" if whole else "number", tuple(given))
