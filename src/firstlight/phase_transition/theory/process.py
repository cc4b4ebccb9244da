"""Gradient descent in a growing frame, step by step: one scramble of the DMFT."""

import numpy as np

from firstlight.phase_transition.definitions import Student
from firstlight.phase_transition.theory.frame import Frame
from firstlight.phase_transition.theory.hard import HardOverlaps
from firstlight.phase_transition.theory.labels import LabelSample
from firstlight.phase_transition.theory.path import DmftPath


class Process:
    """The weights in the frame, and what is recorded of them; m neurons, k followed coordinates."""

    def __init__(
        self, student: Student, sample: LabelSample, delta: float, step_size: float, steps: int,
        start: np.ndarray, rng: np.random.Generator,
    ) -> None:  # fmt: skip
        m, capacity, r = student.width, steps * student.width, student.init_scale
        self.student, self.sample, self.delta, self.eta = student, sample, delta, step_size
        self.steps, self.kappa = steps, 1 - step_size * student.ridge
        self.frame = Frame(sample, m, delta, capacity, rng)
        self.W = np.hstack([start, np.linalg.cholesky(r**2 * np.eye(m) - start @ start.T)])
        self.hard = HardOverlaps(self.frame, m, r, capacity) if sample.second.shape[1] else None

    def path(self, times: tuple[int, ...]) -> DmftPath:
        """Run all steps."""
        k, m, T = self.sample.easy.shape[1], self.student.width, self.steps
        table, fields = np.zeros((4, T + 1)), np.zeros((T + 1, len(self.sample.y), m))
        weights, overlaps = np.zeros((T + 1, m, k + (T + 1) * m)), []
        for t in range(T + 1):
            h = fields[t] = self.frame.fields(self.W).T
            table[:, t] = np.ravel([self._scores(h), self._scores(self._fresh())], "F")
            if not np.isfinite(table[:, t]).all() or np.abs(h).max() > 1e6:
                raise ValueError(
                    f"step_size = {self.eta}: gradient descent diverges at step {t}; take a smaller step"
                )
            weights[t, :, : self.W.shape[1]] = self.W
            overlaps.append(self.hard.u.reshape(-1, self.hard.u.shape[2]) if self.hard else np.zeros((0, 0)))
            if t < T:
                self._step(h)
        hard = np.array(overlaps)
        flat = weights.reshape((T + 1) * m, -1)
        square = (flat @ flat.T).reshape(T + 1, m, T + 1, m).transpose(0, 2, 1, 3)
        response = hard[:, :, : hard.shape[1]] / self.student.init_scale
        return DmftPath(
            self.delta, self.eta, table[0], table[1], table[2], table[3], square, weights[:, :, :k],
            hard @ hard.transpose(0, 2, 1), response, times, self.student, self.sample, fields,
            self.frame.dropped,
        )  # fmt: skip

    def _scores(self, h: np.ndarray) -> tuple[float, float]:
        """Mean loss, and the share of wrong signs."""
        y, weight, f = self.sample.y, self.sample.weight, self.student.output(h)
        return float(weight @ self.student.penalty.value(y, f)), float(weight @ (np.sign(f) != np.sign(y)))

    def _fresh(self) -> np.ndarray:
        """Pre-activations of samples that were not trained on: no memory."""
        k, m = self.sample.easy.shape[1], self.student.width
        covariance = self.W[:, k:] @ self.W[:, k:].T
        root = np.linalg.cholesky(covariance + 1e-14 * np.trace(covariance) * np.eye(m))
        return (root @ self.frame.known[1 + k : 1 + k + m] + self.W[:, :k] @ self.sample.easy.T).T

    def _step(self, h: np.ndarray) -> None:
        frame, m = self.frame, self.student.width
        psi = np.ascontiguousarray(self.student.force(self.sample.y, h).T)
        gradient = frame.normals((self.sample.weight * psi) @ frame.known.T)
        drift = self.hard.drift(psi) if self.hard else None
        found, new = [], []
        for one in psi:
            before = len(frame.forces)
            found.append(frame.add(one))
            new.append(m + before if len(frame.forces) > before else None)
        factors = np.array([np.pad(one, (0, len(frame.forces) - one.size)) for one in found])
        W = np.zeros((m, frame.columns))
        W[:, : self.W.shape[1]] = self.kappa * self.W - self.eta * gradient
        W[:, frame.first - 1 :] -= self.eta * frame.shrink * factors
        self.W = W
        if self.hard:
            moved = self.kappa * self.hard.u - self.eta * (drift + self.hard.noise(factors))
            self.hard.move(moved, W, new)
