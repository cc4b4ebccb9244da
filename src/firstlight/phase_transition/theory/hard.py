"""The hard overlaps while they are small: a linear recursion that rides on the frame."""

import numpy as np
from scipy.linalg import solve_triangular

from firstlight.phase_transition.theory.frame import Frame


class HardOverlaps:
    """√d times the overlaps u = (w_j·θ_a) of m neurons with h hard directions, as a linear map of normals.

    Overlaps change by -η (1/n) Σ ψ g_H. To first order that is K u, K(t, s) = E[C ∂ψ^t/∂ω^s] with C =
    E[g_H g_Hᵀ | label] and the Gaussian field ω^s = W^s Z, and a noise of covariance E[C ψ^t ψ^s]/δ. If u^s =
    W^s X for all s, then Σ_s K(t, s) u^s = E[C ψ^t Zᵀ] X (Stein): again no derivative. X gets a row for each
    new column of the frame.

    Attributes
    ----------
    u : ndarray of shape (m, h, columns · h)
        Factors on independent normals; the first m h belong to the start.
    """

    def __init__(self, frame: Frame, width: int, scale: float, capacity: int) -> None:
        self.frame, self.m = frame, width
        self.C = frame.sample.second
        self.h = h = self.C.shape[1]
        size = (width + capacity) * h
        self.u = scale * np.eye(width * h, size).reshape(width, h, size)
        self.X = np.zeros((width + capacity, h, size))
        self.X[:width] = np.eye(width * h, size).reshape(width, h, size)
        self.root = np.zeros((capacity * h, capacity * h))  # of E[C χ χᵀ]
        self.taken = 0

    def drift(self, psi: np.ndarray) -> np.ndarray:
        """Return E[C ψ Zᵀ] X, before the forces ψ (m, n) are taken into the frame."""
        weighted = np.einsum("jn,n,nab->jabn", psi, self.frame.sample.weight, self.C)
        response = self.frame.normals(weighted.reshape(-1, len(self.C)) @ self.frame.known.T)
        response = response.reshape(self.m, self.h, self.h, -1)[..., -len(self.frame.forces) - self.m :]
        return np.einsum("jabc,cbx->jax", response, self.X[: response.shape[-1]])

    def noise(self, factors: np.ndarray) -> np.ndarray:
        """Return the noise of forces with these factors on χ, shape (m, number of χ)."""
        for new in range(self.taken, factors.shape[1]):
            self._take(new)
        self.taken = factors.shape[1]
        rows = self.root.reshape(-1, self.h, self.root.shape[1])[: self.taken]
        noise = np.zeros_like(self.u)
        noise[:, :, self.m * self.h :] = np.einsum("jc,cax->jax", factors, rows)
        return self.frame.shrink * noise

    def move(self, u: np.ndarray, W: np.ndarray, new: list[int | None]) -> None:
        """Set the overlaps that belong to the rows W; `new` has each row's own new column, if any.

        A row without one lies in the span of the past, and so do its overlaps.
        """
        W = W[:, -len(self.frame.forces) - self.m :]
        for j, column in enumerate(new):
            if column is None:
                u[j] = np.tensordot(W[j], self.X[: W.shape[1]], 1)
            else:
                past = np.tensordot(W[j, :column], self.X[:column], 1)
                self.X[column] = (u[j] - past) / W[j, column]
        self.u = u

    def _take(self, new: int) -> None:
        """Let the root of E[C χ χᵀ] grow by the force `new`."""
        h, chi = self.h, self.frame.forces[: new + 1]
        weighted = np.einsum("n,n,nab->abn", chi[new], self.frame.sample.weight, self.C)
        rows = np.einsum("abc->acb", (weighted.reshape(h * h, -1) @ chi.T).reshape(h, h, new + 1))
        for a, row in enumerate(rows.reshape(h, -1)):
            i = new * h + a
            before = self.root[:i, :i]
            self.root[i, :i] = solve_triangular(before, row[:i], lower=True) if i else 0.0
            self.root[i, i] = max(row[i] - self.root[i, :i] @ self.root[i, :i], 1e-12 * row[i]) ** 0.5
