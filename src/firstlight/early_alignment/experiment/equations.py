"""The flow's equations in polar form, as they stand: right-hand sides that jump where a datum flips."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from firstlight.early_alignment.definitions.walls import ON_WALL, common_walls
from firstlight.early_alignment.experiment.log_time import EXPONENT, Clock
from firstlight.maths.losses import MarginLoss


@dataclass(frozen=True, eq=False)
class Equations:
    """Right-hand side for a state (u, ρ) of h neurons in D dimensions, laid out as one vector.

    Attributes
    ----------
    X, y : ndarray of shape (n, D) and (n,)
        Data and labels ±1.
    signs : ndarray of shape (h,)
        Of the second layer.
    loss : MarginLoss
    clock : Clock

    Examples
    --------
    >>> from firstlight.maths.losses import margin_loss
    >>> X, one = np.array([[1.0, 0.0], [1.0, 1.0]]), np.ones(2)
    >>> flow = Equations(X, one, one[:1], margin_loss("exp"), Clock.of(X, 0.0, "sum", None))
    >>> flow.hard(0.0, np.array([1.0, 0.0, -30.0])).tolist()  # x₁ is on, x₂ too: u' and ρ'
    [0.000, 0.414, 0.828]
    """

    X: np.ndarray
    y: np.ndarray
    signs: np.ndarray
    loss: MarginLoss
    clock: Clock

    @cached_property
    def units(self) -> np.ndarray:
        """Data of length one."""
        return np.asarray(self.X / np.linalg.norm(self.X, axis=1, keepdims=True))

    @cached_property
    def signed(self) -> np.ndarray:
        """Data times labels."""
        return np.asarray(self.y[:, None] * self.X)

    @cached_property
    def attracting(self) -> np.ndarray:
        """Whether neuron j may slide on the wall of datum i: both sides can push to it only if s y < 0."""
        return self.signs[:, None] * self.y < 0

    @cached_property
    def first(self) -> np.ndarray:
        """For each datum the first on whose wall it is: mostly itself."""
        return self._shared[0]

    @cached_property
    def ahead(self) -> np.ndarray:
        """Whether a datum is on the same side of its wall as that first one."""
        return np.asarray(self._shared[1] > 0)

    @cached_property
    def _shared(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The first datum of each datum's wall, the side of it, and the length in its unit."""
        found = common_walls(self.X)
        first, side = (np.arange(len(self.y)), np.ones(len(self.y))) if found is None else found
        sizes = np.abs(self.X).max(axis=1)
        return first, side, sizes / sizes[first]

    @cached_property
    def _rounding(self) -> np.ndarray:
        return ON_WALL * np.linalg.norm(self.X, axis=1)

    def active(self, u: np.ndarray) -> np.ndarray:
        """Return which data are on, h × n: none on its wall to rounding, and those of one wall together."""
        return np.asarray((u @ self.units.T)[:, self.first] * self._shared[1] > ON_WALL)

    def jumps(self, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return by how much the pull along each wall's first datum rises across it, and from what.

        The data ahead are on there, and those behind on this side; they are told at the place of the first.
        """
        first, side, sizes = self._shared
        parts, n = weights * sizes, len(first)
        return np.bincount(first, parts, n), -np.bincount(first, np.where(side < 0, parts, 0.0), n)

    @cached_property
    def classes(self) -> np.ndarray:
        """Which data are positive, and which negative."""
        return np.array([self.y > 0, self.y < 0])

    def hard(self, tau: float, state: np.ndarray) -> np.ndarray:
        """Return dstate/dτ, whatever the pattern."""
        u, q, _, f = self._forward(state)
        G = ((q > self._rounding) * self._weights(tau, f)) @ self.X * self.signs[:, None]
        return turning(u, G)

    def split(self, state: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return u, and ‖w‖², which overflows in trial steps only."""
        h, D = len(self.signs), self.X.shape[1]
        return state[: h * D].reshape(h, D), np.square(np.exp(state[h * D :]))

    def _forward(self, state: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Return u, ⟨u, x⟩, s ‖w‖² and the outputs f."""
        u, squares = self.split(state)
        q, squares = u @ self.X.T, self.signs * squares
        return u, q, squares, squares @ np.maximum(q, 0)

    def _weights(self, tau: float, f: np.ndarray) -> np.ndarray:
        slopes = self.loss.log_slope(self.y * f) + (self.clock.log_weight + tau)
        return np.asarray(self.y * np.exp(np.minimum(slopes, EXPONENT)))


def turning(u: np.ndarray, G: np.ndarray) -> np.ndarray:
    """Return u' = G - ⟨u, G⟩ u and ρ' = ⟨u, G⟩ as one vector.

    Errors of ‖u‖ fade: where ⟨u, G⟩ < 0 these equations alone would have them grow.
    """
    change = np.empty(u.size + len(u))
    turn, along = change[: u.size].reshape(u.shape), change[u.size :]
    np.vecdot(u, G, out=along)
    np.subtract(G, along[:, None] * u, out=turn)
    if along[along.argmin()] < 0:
        turn -= (2 * np.minimum(along, 0.0) * (1 - np.vecdot(u, u)))[:, None] * u
    return change
