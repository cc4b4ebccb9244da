"""What is seen of a two-layer ReLU classifier in training: one set of names for flow, descent and theory.

A network is given in polar form: unit rows u, ρ = log ‖w‖, and the ratio v/‖w‖ (±1 when balanced), so that a
start of any smallness is measured without underflow.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from firstlight.early_alignment.definitions.alignment import cosines, regions
from firstlight.early_alignment.definitions.walls import shortest


@dataclass(frozen=True, eq=False)
class Observer:
    """Measures a network on labelled data.

    Attributes
    ----------
    X, y : ndarray of shape (n, D) and (n,)
        Data and labels ±1.
    log_value, log_slope : callable
        log ℓ(z) and log(-ℓ'(z)) of the margin z = y f.
    mean : bool
        Whether the loss is averaged over the data.
    targets : mapping of str to ndarray, optional
        Further directions: for each, the mean cosine of the live neurons whose sign the name ends in
        (``..._plus`` or ``..._minus``) is measured under that name.
    sliding : float, default 0
        How far, as a cosine, a neuron may be from the wall ⟨w, x⟩ = 0 that it slides on: an integrator's
        error.
    step_size : float, default 0
        Of gradient descent, which steps to and fro over a wall on which the flow slides.

    Examples
    --------
    >>> see = Observer(np.eye(2), np.array([1.0, -1.0]), np.negative, np.negative, False)
    >>> seen = see(np.eye(2), np.zeros(2), np.array([1.0, -1.0]))
    >>> seen["loss"], seen["stable_rank"], seen["cosine_plus"], seen["plus"]
    (0.735759, 2.0000, 1.0000, 0.5000)
    """

    X: np.ndarray
    y: np.ndarray
    log_value: Callable[[np.ndarray], np.ndarray]
    log_slope: Callable[[np.ndarray], np.ndarray]
    mean: bool
    targets: Mapping[str, np.ndarray] = field(default_factory=dict)
    sliding: float = 0.0
    step_size: float = 0.0

    def __call__(self, directions: np.ndarray, log_norms: np.ndarray, ratios: np.ndarray) -> dict[str, float]:
        """Return every observable of one network, by name."""
        raw = directions @ self.X.T
        q = np.where(raw > 1e-12 * np.linalg.norm(self.X, axis=1), raw, 0.0)  # on the wall as in `regions`
        squares = np.exp(np.minimum(2 * log_norms, 700))
        z = self.y * ((ratios * squares) @ np.maximum(q, 0))
        share = 1 / len(self.y) if self.mean else 1.0
        weights = self.y * np.exp(self.log_slope(z)) * share
        pull = ((q > 0) * weights) @ self.X * ratios[:, None]
        along = np.einsum("jd,jd->j", directions, pull)
        alive = log_norms > -np.inf
        top = log_norms.max(where=alive, initial=-1e300)
        rows = directions * np.exp(log_norms - top)[:, None]
        where = np.where(alive, regions(directions, self.X, self.y), 0)  # what came to nothing is dead
        numbers = {
            **self._loss(z),
            "log_norm": float(2 * top + np.log((rows**2).sum())) if alive.any() else -np.inf,
            "stable_rank": stable_rank(rows),
            "direction_change": float(self._turning(directions, raw, weights, ratios)[alive].sum()),
            "norm_change": float(2 * squares @ along),
            "plus": float((where == 1).mean()),
            "minus": float((where == -1).mean()),
            "dead": float((where == 0).mean()),
        }
        for name, sign in (("plus", 1), ("minus", -1)):
            own = self.y == sign
            live = (ratios * sign > 0) & (where != 0)
            numbers |= self._outputs(name, z[own])
            numbers |= self._cosines(name, directions[live], self.X[own].sum(axis=0))
        return numbers

    def _turning(
        self, directions: np.ndarray, q: np.ndarray, weights: np.ndarray, ratios: np.ndarray
    ) -> np.ndarray:
        """Return how fast each neuron's direction turns, ‖u'‖.

        Where on and off both push a neuron onto a datum's wall, it slides there: the flow follows the
        smallest vector between the two (Filippov's), which is not its gradient on either side.
        """
        lengths, push = np.linalg.norm(self.X, axis=1), ratios[:, None] * weights
        active = q > 1e-12 * lengths
        pull = _across((active * push) @ self.X, directions)
        normal = pull @ self.X.T  # by which q changes, and on the other side of the wall:
        other = normal + np.where(active, -1, 1) * push * lengths**2
        step = self.step_size * np.maximum(np.abs(normal), np.abs(other))
        step = np.where(step < 0.05 * lengths, step, 0.0)  # longer ones leap over walls and do not slide
        near = (ratios[:, None] * self.y < 0) & (np.abs(q) <= (1e-12 + self.sliding) * lengths + step)
        for j in np.flatnonzero(near.any(axis=1)):
            data = near[j]
            between = push[j, data, None] * _across(self.X[data], directions[j])
            off = pull[j] - active[j, data] @ between
            pull[j] = off + shortest(off, between) @ between
        return np.asarray(np.linalg.norm(pull, axis=1))

    def moments(self, S: np.ndarray, log_scales: np.ndarray) -> dict[str, float]:
        """Return the observables that the width-free state of `network.flow.Moments` holds, by name.

        Cosines are those of each class's leading direction. A third entry, of neurons that belong to neither
        class, counts for norm and rank only.
        """
        top = max(log_scales.max(), -1e300)
        weights = np.exp(2 * (log_scales - top))
        values = np.linalg.eigvalsh(np.tensordot(weights, S[:, :-1, :-1], axes=1))
        z = np.empty(len(self.y))
        numbers = {
            "log_norm": float(2 * top + np.log(values.sum())),
            "stable_rank": float(values.sum() / values[-1]),
        }
        for c, (name, sign) in enumerate((("plus", 1), ("minus", -1))):
            own = self.y == sign
            z[own] = sign * np.exp(np.minimum(2 * log_scales[c], 700)) * (self.X[own] @ S[c, :-1, -1])
            numbers |= self._outputs(name, z[own])
            # v carries the sign, so that Σ v w points the way the neurons do.
            leading = (
                sign * S[c, :-1, -1][None] if np.isfinite(log_scales[c]) else np.empty((0, self.X.shape[1]))
            )
            numbers |= self._cosines(name, leading, self.X[own].sum(axis=0))
        return numbers | self._loss(z)

    def _loss(self, z: np.ndarray) -> dict[str, float]:
        log_loss = float(np.logaddexp.reduce(self.log_value(z)) - (np.log(len(z)) if self.mean else 0))
        return {"loss": float(np.exp(log_loss)), "log_loss": log_loss}

    def _outputs(self, name: str, z: np.ndarray) -> dict[str, float]:
        """Return the least margin and the largest |f| of a class; NaN for an empty one."""
        least, largest = (float(z.min()), float(np.abs(z).max())) if len(z) else (np.nan, np.nan)
        return {f"margin_{name}": least, f"output_{name}": largest}

    def _cosines(self, name: str, rows: np.ndarray, center: np.ndarray) -> dict[str, float]:
        """Return mean and least cosine to the centre, mean cosine to extra targets; NaN if none is live."""
        values = cosines(rows, center) if len(rows) else np.array([np.nan])
        numbers = {f"cosine_{name}": float(values.mean()), f"cosine_{name}_min": float(values.min())}
        for target, direction in self.targets.items():
            if target.endswith(f"_{name}"):
                numbers[target] = float(cosines(rows, direction).mean()) if len(rows) else np.nan
        return numbers


def _across(rows: np.ndarray, directions: np.ndarray) -> np.ndarray:
    """Return what is left of rows across unit directions, one each or one for all."""
    return np.asarray(rows - (rows * directions).sum(axis=-1, keepdims=True) * directions)


def stable_rank(W: np.ndarray) -> float:
    """Compute ‖W‖²_F / ‖W‖²₂, which is at most the rank and does not jump with small singular values.

    Parameters
    ----------
    W : ndarray of shape (h, D)
        Any matrix.

    Returns
    -------
    float
        At least 1; NaN for a zero matrix.

    Examples
    --------
    >>> stable_rank(np.diag([2.0, 2.0, 1.0]))
    2.25
    """
    values = np.linalg.svd(W, compute_uv=False)
    return float((values**2).sum() / values[0] ** 2) if values[0] > 0 else float("nan")
