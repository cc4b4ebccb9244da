"""The hard overlaps while they are small: a linear recursion that rides on the frame."""

import numpy as np
from scipy.linalg import solve_triangular

from firstlight.phase_transition.theory.frame import Frame
from firstlight.phase_transition.theory.rule import Rows, Rule


class HardOverlaps:
    """√d times the overlaps u = (w_j·θ_a) of m neurons with h hard directions, as a linear map of normals.

    Overlaps change by -η (1/n) Σ ψ g_H. To first order that is K u, K(t, s) = E[C ∂ψ^t/∂ω^s] with C =
    E[g_H g_Hᵀ | label] and the Gaussian field ω^s = W^s Z, and a noise of covariance E[C ψ^t ψ^s]/δ. If u^s =
    W^s X for all s, then Σ_s K(t, s) u^s = E[C ψ^t Zᵀ] X (Stein): again no derivative. X gets a row for each
    new column of the frame.

    Attributes
    ----------
    state : Rows
        u and its velocity, each of shape (m, h, columns · h): factors on independent normals, of which the
        first m h belong to the start.
    """

    def __init__(self, frame: Frame, width: int, scale: float, capacity: int) -> None:
        self.frame, self.m = frame, width
        self.C = frame.sample.second
        self.h = h = self.C.shape[1]
        size = (width + capacity) * h
        start = scale * np.eye(width * h, size).reshape(width, h, size)
        self.state = Rows(start, np.zeros_like(start))
        self.X = np.zeros((width + capacity, h, size))
        self.X[:width] = np.eye(width * h, size).reshape(width, h, size)
        self.root = np.zeros((capacity * h, capacity * h))  # of E[C χ χᵀ], or of E[C φ φᵀ] for batches
        self.factors = np.zeros((capacity, capacity))  # of φ on χ
        self.taken = 0

    @property
    def flat(self) -> np.ndarray:
        """The overlaps, shape (m h, columns · h)."""
        return self.state.position.reshape(self.m * self.h, -1)

    def drift(self, psi: np.ndarray) -> np.ndarray:
        """Return E[C ψ Zᵀ] X, before the forces ψ (m, n) are taken into the frame."""
        weighted = np.einsum("jn,n,nab->jabn", psi, self.frame.sample.weight, self.C)
        response = self.frame.normals(weighted.reshape(-1, len(self.C)) @ self.frame.known.T)
        response = response.reshape(self.m, self.h, self.h, -1)[..., -len(self.frame.forces) - self.m :]
        return np.einsum("jabc,cbx->jax", response, self.X[: response.shape[-1]])

    def noise(self, factors: np.ndarray) -> np.ndarray:
        """Return the noise of forces with these factors on χ, shape (m, number of χ)."""
        for new in range(self.taken, factors.shape[1]):
            chi = self.frame.forces[: new + 1]
            self._grow(new, self._products(chi[new], chi), 1e-12)
        self.taken = factors.shape[1]
        return self._spread(factors)

    def noise_of_drawn(self, psi: np.ndarray, factors: np.ndarray, old: int, share: float) -> np.ndarray:
        """Return the noise of forces of a batch, taken in by `Frame.add_drawn` where it had `old` others.

        With earlier forces it is E[C ψ φ], with itself E[C ψ ψ]/b.
        """
        for j, one in enumerate(psi):
            past = self._products(one, self.frame.forces[:old]) @ self.factors[: self.taken, :old].T
            now = self._products(one, psi[: j + 1]) / share
            self._grow(self.taken + j, np.concatenate([past, now], axis=2), 1 - share)
        self.factors[self.taken : self.taken + len(psi), : factors.shape[1]] = factors
        self.taken += len(psi)
        return self._spread(np.eye(len(psi), self.taken, self.taken - len(psi)))

    def move(self, gradient: np.ndarray, rule: Rule, rows: Rows, factors: np.ndarray, old: int) -> None:
        """Move the overlaps as the rows were moved, by forces with these factors on χ; `old` χ are old.

        A row whose force brought no χ of its own lies in the span of the past, and so do its overlaps.
        """
        own = slice(-len(self.frame.forces) - self.m, None)
        rows = Rows(rows.position[:, own], rows.velocity[:, own])
        self.state = state = rule.moved(self.state, gradient)
        ahead, seen = rule.ahead(rows), rule.ahead(state)
        for j, factor in enumerate(factors):
            if old < len(factor) and factor[old]:
                column, old = self.m + old, old + 1
                past = np.tensordot(ahead[j, :column], self.X[:column], 1)
                self.X[column] = (seen[j] - past) / ahead[j, column]
            else:
                for part, row in zip(state, rows, strict=True):
                    part[j] = np.tensordot(row[j], self.X[: row.shape[1]], 1)

    def _products(self, one: np.ndarray, others: np.ndarray) -> np.ndarray:
        """Return E[C one others], shape (h, h, number of others)."""
        weighted = np.einsum("n,n,nab->abn", one, self.frame.sample.weight, self.C)
        return (weighted.reshape(self.h**2, -1) @ others.T).reshape(self.h, self.h, -1)

    def _spread(self, factors: np.ndarray) -> np.ndarray:
        rows = self.root.reshape(-1, self.h, self.root.shape[1])[: self.taken]
        noise = np.zeros_like(self.state.position)
        noise[:, :, self.m * self.h :] = np.einsum("jc,cax->jax", factors, rows)
        return self.frame.shrink * noise

    def _grow(self, new: int, products: np.ndarray, least: float) -> None:
        """Let the root of the covariance grow by row `new`, from its products with those up to itself.

        At least a share `least` of its square is known to be independent of the others. Forces that were zero
        share nothing with any.
        """
        for a, row in enumerate(products.transpose(0, 2, 1).reshape(self.h, -1)):
            i = new * self.h + a
            shared, known = np.zeros(i), self.root.diagonal()[:i] > 0
            if known.any():
                block = self.root[:i, :i] if known.all() else self.root[:i, :i][np.ix_(known, known)]
                shared[known] = solve_triangular(block, row[:i][known], lower=True)
            most, size = ((1 - least) * row[i]) ** 0.5, np.linalg.norm(shared)
            if size > most:
                shared *= most / size
            self.root[i, :i] = shared
            self.root[i, i] = max(row[i] - shared @ shared, 0.0) ** 0.5  # 0 up to rounding if it shares all
