"""The flow's equations in polar form, as they are and with walls that have a width, and their Jacobian."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from firstlight.early_alignment.experiment.log_time import EXPONENT, Clock
from firstlight.maths.losses import MarginLoss

WALL = 1e-4  # half width of a wall, as a cosine, for the implicit method


def sliding_distance(soft: bool, tolerance: float) -> float:
    """Return how far from a wall, as a cosine, an integrated neuron may be that slides on it.

    The implicit method lets it rest anywhere within the wall's width; steps of the explicit one go to and
    fro over the wall, by some ten tolerances.
    """
    return (1.001 * WALL if soft else 0.0) + 20 * tolerance


@dataclass(frozen=True, eq=False)
class Equations:
    """Right-hand sides for a state (u, ρ) of h neurons in D dimensions, laid out as one vector.

    A neuron of sign s slides on the wall of a datum only if s y < 0, so only these walls are given a width:
    there a datum goes off in a smooth step instead of a jump.

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
    def _norms(self) -> np.ndarray:
        return np.linalg.norm(self.X, axis=1)

    @cached_property
    def _classes(self) -> tuple[np.ndarray, np.ndarray]:
        return self.y > 0, self.y < 0

    def hard(self, tau: float, state: np.ndarray) -> np.ndarray:
        """Return dstate/dτ of the flow itself."""
        u, q, _, f = self._forward(state)
        return self._motion(u, (q > 0) * self._weights(tau, f))[0]

    def piece(self, on: np.ndarray) -> Callable[[float, np.ndarray], np.ndarray]:
        """Return dstate/dτ with that pattern of active data: smooth, and the same beyond the walls."""
        h, D, X, y, offset = len(on), self.X.shape[1], self.X, self.y, self.clock.log_weight
        acting = self.signs[:, None] * on

        def slope(tau: float, state: np.ndarray) -> np.ndarray:
            u = state[: h * D].reshape(h, D)
            f = np.exp(np.minimum(2 * state[h * D :], EXPONENT)) @ (acting * (u @ X.T))
            log_weight = self.loss.log_slope(y * f) + (offset + tau)
            G = (acting * (y * np.exp(np.minimum(log_weight, EXPONENT)))) @ X
            along, change = np.einsum("jd,jd->j", u, G), np.empty_like(state)
            change[: h * D] = (G - along[:, None] * u).ravel()
            change[h * D :] = along
            return change

        return slope

    def soft(self, tau: float, state: np.ndarray) -> np.ndarray:
        """Return dstate/dτ where walls have a width."""
        u, q, _, f = self._forward(state)
        return self._motion(u, self._gates(q)[0] * self._weights(tau, f))[0]

    def look(self, state: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return cosines of neurons and data, and max |f| on the positive and the negative data."""
        _, q, _, f = self._forward(state)
        size = np.abs(f)
        return q / self._norms, np.array([size.max(initial=0.0, where=of) for of in self._classes])

    def jacobian(self, tau: float, state: np.ndarray) -> np.ndarray:
        """Return the derivative of `soft` in the state."""
        u, q, squares, f = self._forward(state)
        (h, D), X, z = u.shape, self.X, self.y * f
        gates, slopes = self._gates(q)
        weights = self._weights(tau, f)
        _, G, along = self._motion(u, gates * weights)
        curve = (self.loss.log_slope(z + 1e-5) - self.loss.log_slope(z - 1e-5)) / 2e-5
        by_u = ((squares[:, None] * (q > 0)).T[:, :, None] * X[:, None, :]).reshape(len(X), h * D)
        by_rho = 2 * (squares[:, None] * np.maximum(q, 0)).T  # these two: ∂f
        through_f = (self.signs[:, None] * gates * (weights * curve * self.y))[:, :, None] * X
        dG = np.einsum("jid,ik->jdk", through_f, np.hstack([by_u, by_rho]), optimize=True)
        j, own = np.arange(h), np.arange(h * D).reshape(h, D)
        # Advanced indices that are apart come first: these are blocks (neuron, coordinate of u, of G).
        dG[j[:, None], :, own] += np.einsum(
            "ji,id,ie->jed", self.signs[:, None] * slopes * weights, X, X, optimize=True
        )
        dalong = np.einsum("jd,jdk->jk", u, dG)
        dalong[j[:, None], own] += G
        du = dG - u[:, :, None] * dalong[:, None, :]
        du[j[:, None], :, own] -= along[:, None, None] * np.eye(D)
        return np.vstack([du.reshape(h * D, -1), dalong])

    def _forward(self, state: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Return u, ⟨u, x⟩, s ‖w‖² and the outputs f."""
        h, D = len(self.signs), self.X.shape[1]
        u = state[: h * D].reshape(h, D)
        q, squares = u @ self.X.T, self.signs * np.exp(np.minimum(2 * state[h * D :], EXPONENT))
        return u, q, squares, squares @ np.maximum(q, 0)

    def _weights(self, tau: float, f: np.ndarray) -> np.ndarray:
        slopes = self.loss.log_slope(self.y * f) + (self.clock.log_weight + tau)
        return np.asarray(self.y * np.exp(np.minimum(slopes, EXPONENT)))

    def _gates(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return how far each datum is on, and the derivative of that in q."""
        walls, attracting = 2 * WALL * self._norms, self.signs[:, None] * self.y < 0
        share = np.clip(0.5 + q / walls, 0, 1)
        gates = np.where(attracting, share * share * (3 - 2 * share), q > 0)
        return gates, np.where(attracting, 6 * share * (1 - share) / walls, 0.0)

    def _motion(self, u: np.ndarray, pulls: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return dstate/dτ, and what it is made of: s G and s ⟨u, G⟩."""
        G = pulls @ self.X * self.signs[:, None]
        along = np.einsum("jd,jd->j", u, G)
        return np.concatenate([(G - along[:, None] * u).ravel(), along]), G, along
