"""One step of gradient descent with momentum, in whatever linear space the parameters live."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np


class Rows(NamedTuple):
    """Parameters and their velocity, of one shape."""

    position: np.ndarray
    velocity: np.ndarray

    def widened(self, columns: int) -> "Rows":
        """Return both with zeros up to so many columns."""
        return Rows(*(widened(part, columns) for part in self))


def widened(rows: np.ndarray, columns: int) -> np.ndarray:
    """Return the rows with zeros up to so many columns; `np.pad` takes twenty times as long for short ones.

    Examples
    --------
    >>> widened(np.ones((1, 2)), 3).tolist()
    [[1.0, 1.0, 0.0]]
    """
    wide = np.zeros((len(rows), columns))
    wide[:, : rows.shape[1]] = rows
    return wide


@dataclass(frozen=True)
class Rule:
    """V ← β V - η Γ, W ← W + V, with the gradient Γ at W or, for Nesterov, at W + β V.

    Examples
    --------
    >>> rule = Rule(0.5, 0.9, True)
    >>> state = rule.moved(Rows(np.array([1.0]), np.array([0.0])), np.array([1.0]))
    >>> print(state.position, state.velocity, rule.ahead(state))
    [0.50] [-0.50] [0.05]
    """

    step_size: float
    momentum: float
    nesterov: bool

    def ahead(self, state: Rows) -> np.ndarray:
        """Return where the gradient is taken."""
        return state.position + self.momentum * state.velocity if self.nesterov else state.position

    def moved(self, state: Rows, gradient: np.ndarray) -> Rows:
        """Return the next position and velocity."""
        velocity = self.momentum * state.velocity - self.step_size * gradient
        return Rows(state.position + velocity, velocity)
