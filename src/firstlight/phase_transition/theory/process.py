"""The single-sample process of the DMFT: its fields, responses and noise, step by step."""

import numpy as np

from firstlight.phase_transition.definitions import Student
from firstlight.phase_transition.theory.cholesky import GrowingFactor
from firstlight.phase_transition.theory.labels import LabelSample
from firstlight.phase_transition.theory.path import DmftPath


class Process:
    """The arrays of one run; m neurons, e followed and h hard coordinates."""

    def __init__(
        self, student: Student, sample: LabelSample, delta: float, step_size: float, steps: int,
        times: tuple[int, ...], start: np.ndarray,
    ) -> None:  # fmt: skip
        self.student, self.sample, self.delta, self.eta = student, sample, delta, step_size
        self.steps, self.times = steps, times
        self.kappa = 1 - step_size * student.ridge
        m, h, T = student.width, sample.second.shape[1], steps
        self.m, self.h = m, h
        self.A = np.zeros((T + 1, m, (T + 1) * m))
        self.A[0, :, :m] = np.linalg.cholesky(student.init_scale**2 * np.eye(m) - start @ start.T)
        self.AH = np.zeros((T + 1, m * h, (T + 1) * m * h))
        self.AH[0, :, : m * h] = student.init_scale * np.eye(m * h)
        self.R = np.zeros((T + 1, T + 1, m, m))
        self.R[0, 0] = np.eye(m)
        self.M = np.zeros((T + 1, *start.shape))
        self.M[0] = start
        self.Z = np.ascontiguousarray(sample.normals.T)
        self.psi = np.zeros((T * m, len(sample.y)))  # one row per (step, neuron): the past is contiguous
        self.noise, self.hard_noise = GrowingFactor(T * m), GrowingFactor(T * m * h)
        self._pack()

    def _pack(self) -> None:
        """Lay samples out in blocks for the compiled loop, padded with weightless ones."""
        from firstlight.phase_transition.theory.kernel import BLOCK

        n, m, T = len(self.sample.y), self.m, self.steps
        self.blocks = -(-n // BLOCK)
        self.DJ = np.zeros((self.blocks, T * (T + 1) // 2, m, m, BLOCK), dtype=np.float32)
        self.pairs = np.array([(a, b) for a in range(self.h) for b in range(a + 1)], dtype=int).reshape(-1, 2)
        second = self.sample.second[:, self.pairs[:, 0], self.pairs[:, 1]].T
        weights = self.sample.weight * np.vstack([np.ones(n), second])
        self.weights = self._blocked(weights)

    def _blocked(self, rows: np.ndarray) -> np.ndarray:
        """Turn (..., n) into (..., blocks, BLOCK) of float32."""
        size = self.DJ.shape[-1]
        padded = np.zeros((*rows.shape[:-1], self.blocks * size), dtype=np.float32)
        padded[..., : rows.shape[-1]] = rows
        return padded.reshape(*rows.shape[:-1], self.blocks, size)

    def path(self) -> DmftPath:
        """Run all steps."""
        table = np.zeros((4, self.steps + 1))
        fields = np.zeros((self.steps + 1, len(self.sample.y), self.m))
        for t in range(self.steps + 1):
            h = self._field(t)
            table[:, t] = *self._scores(h), *self._scores(self._fresh(t))
            if not np.isfinite(table[:, t]).all() or np.abs(h).max() > 1e6:
                raise ValueError(
                    f"step_size = {self.eta}: gradient descent diverges at step {t}; take a smaller step"
                )
            fields[t] = h
            if t < self.steps:
                self._step(t, h)
        flat = self.A.reshape((self.steps + 1) * self.m, -1)
        square = (flat @ flat.T).reshape(self.steps + 1, self.m, self.steps + 1, self.m).transpose(0, 2, 1, 3)
        square = square + np.einsum("tae,sbe->tsab", self.M, self.M)
        variance = np.einsum("tax,tbx->tab", self.AH, self.AH)
        response = self.AH[:, :, : self.m * self.h] / self.student.init_scale
        return DmftPath(
            self.delta, self.eta, table[0], table[2], table[1], table[3], square, self.M, variance,
            response, self.times, self.student, self.sample, fields,
        )  # fmt: skip

    def _scores(self, h: np.ndarray) -> tuple[float, float]:
        """Mean loss, and the share of wrong signs."""
        y, weight = self.sample.y, self.sample.weight
        wrong = np.sign(self.student.output(h)) != np.sign(y)
        return float(weight @ self.student.risk(y, h)), float(weight @ wrong)

    def _field(self, t: int) -> np.ndarray:
        m = self.m
        used = (t + 1) * m
        h = self.A[t, :, :used] @ self.Z[:used] + self.M[t] @ self.sample.easy.T
        if t:
            response = self.R[t, 1 : t + 1].transpose(1, 0, 2).reshape(m, t * m)
            h -= (self.eta / self.delta) * (response @ self.psi[: t * m])
        return h.T

    def _fresh(self, t: int) -> np.ndarray:
        """Pre-activations of samples that were not trained on: no memory."""
        covariance = self.A[t] @ self.A[t].T
        root = np.linalg.cholesky(covariance + 1e-14 * np.trace(covariance) * np.eye(self.m))
        return (root @ self.Z[: self.m] + self.M[t] @ self.sample.easy.T).T

    def _step(self, t: int, h: np.ndarray) -> None:
        from firstlight.phase_transition.theory.kernel import advance

        eta, kappa, m = self.eta, self.kappa, self.m
        y, weight = self.sample.y, self.sample.weight
        psi = self.student.force(y, h)
        self.psi[t * m : (t + 1) * m] = psi.T
        D = self._blocked(np.moveaxis(self.student.curvature(y, h), 0, -1)).transpose(2, 0, 1, 3)
        response = (-eta / self.delta * self.R[t, 1 : t + 1]).astype(np.float32)
        sums = advance(self.DJ, np.ascontiguousarray(D), response, self.weights, t)
        plain = sums[0]
        noise = self.noise.append((self.psi[: (t + 1) * m] @ (weight[:, None] * psi)).T / self.delta)
        self.R[t + 1] = kappa * self.R[t] - eta * np.einsum("rab,rsbc->sac", plain, self.R[: t + 1])
        self.R[t + 1, t + 1] = np.eye(m)
        self.A[t + 1] = kappa * self.A[t] - eta * np.einsum("rab,rbx->ax", plain, self.A[: t + 1])
        self.A[t + 1, :, m : (t + 2) * m] -= eta * noise
        self.M[t + 1] = kappa * self.M[t] - eta * (weight[:, None] * psi).T @ self.sample.easy
        if self.h:
            self._hard_step(t, psi, sums[1:])

    def _hard_step(self, t: int, psi: np.ndarray, sums: np.ndarray) -> None:
        m, h, block = self.m, self.h, self.m * self.h
        memory = np.zeros((t + 1, m, h, m, h))
        rows = np.zeros((m, h, (t + 1) * m, h))
        past = self.psi[: (t + 1) * m]
        for (a, b), total in zip(self.pairs, sums, strict=True):
            weighted = (self.sample.weight * self.sample.second[:, a, b])[:, None] * psi
            product = (past @ weighted).T / self.delta
            memory[:, :, a, :, b] = memory[:, :, b, :, a] = total
            rows[:, a, :, b] = rows[:, b, :, a] = product
        noise = self.hard_noise.append(rows.reshape(block, (t + 1) * block))
        flat = memory.reshape(t + 1, block, block)
        moved = np.einsum("rab,rbx->ax", flat, self.AH[: t + 1])
        self.AH[t + 1] = self.kappa * self.AH[t] - self.eta * moved
        self.AH[t + 1, :, block : (t + 2) * block] -= self.eta * noise
