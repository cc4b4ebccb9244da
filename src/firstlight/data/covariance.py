"""Covariances of inputs: dense, or the identity plus a few spikes that never form an n x n matrix."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import linalg
from scipy.linalg import blas

from firstlight.maths.checks import check_array, check_positive, check_reals
from firstlight.maths.equality import ByValue
from firstlight.maths.refusals import shown

_CACHE = 65_536  # numbers that are worked on together


@dataclass(frozen=True, eq=False)
class Spiked(ByValue):
    """A covariance Σ = scale · (I + Σ_i θ_i g_i g_iᵀ): the identity with a few directions made stronger.

    Nothing of size n x n is ever formed, unless `dense` is asked for.

    Parameters
    ----------
    strengths : array_like, shape (r,)
        θ, the strengths. May be negative as long as Σ stays positive definite.
    directions : array_like, shape (n, r)
        g, unit vectors as columns. They need not be orthogonal.
    scale : float, default 1.0
        Overall factor, positive; lets classes have unequal traces.

    Examples
    --------
    >>> covariance = Spiked([3.0], [[1.0], [0.0]])
    >>> covariance.dense()
    array([[4., 0.],
           [0., 1.]])
    """

    strengths: np.ndarray
    directions: np.ndarray
    scale: float = 1.0

    def __post_init__(self) -> None:
        strengths = np.atleast_1d(check_reals("strengths", self.strengths, "(spikes,)"))
        directions = check_reals("directions", self.directions, "(dimension, spikes)")
        if strengths.ndim != 1 or directions.ndim != 2 or directions.shape[1] != strengths.size:
            raise ValueError(
                f"directions: shape {directions.shape}, strengths: shape {strengths.shape}; "
                "need one column for each strength"
            )
        if not (np.isfinite(strengths).all() and np.isfinite(directions).all()):
            raise ValueError("strengths, directions: hold a value that is not finite")
        with np.errstate(over="ignore"):
            norms = np.linalg.norm(directions, axis=0)
        if not directions.shape[0] or np.any(np.abs(norms - 1) > 1e-8):
            raise ValueError(f"directions: column norms {norms}; each must be 1")
        check_positive("scale", self.scale)
        object.__setattr__(self, "strengths", strengths)
        object.__setattr__(self, "directions", directions)
        with np.errstate(over="ignore", invalid="ignore"):
            positive = np.abs(strengths).max(initial=0.0) < 1e150 and (self._principal[0] > -1).all()
        if not positive:
            raise ValueError(
                f"strengths = {shown(strengths)}: must be above -1 and below 1e150, so that the covariance "
                "is positive definite"
            )

    @cached_property
    def _principal(self) -> tuple[np.ndarray, np.ndarray]:
        """Strengths and orthonormal directions of the same covariance (they may number fewer than r)."""
        if not self.strengths.size:
            return self.strengths, self.directions
        basis, triangle = np.linalg.qr(self.directions)
        strengths, rotation = np.linalg.eigh((triangle * self.strengths) @ triangle.T)
        return strengths, basis @ rotation

    @property
    def dimension(self) -> int:
        """Input dimension n."""
        return self.directions.shape[0]

    @property
    def trace(self) -> float:
        """Trace of Σ."""
        return self.scale * (self.dimension + float(self.strengths.sum()))

    @property
    def norm(self) -> float:
        """Largest eigenvalue, ‖Σ‖₂."""
        return self.scale * (1 + max(0.0, float(self._principal[0].max(initial=0.0))))

    def dense(self) -> np.ndarray:
        """Return Σ as an array of shape (n, n)."""
        return self.scale * (np.eye(self.dimension) + (self.directions * self.strengths) @ self.directions.T)

    def apply(self, rows: np.ndarray) -> np.ndarray:
        """Return V Σ for an array V of rows, shape (..., n)."""
        rows = np.asarray(rows, dtype=float)
        return self.scale * (rows + ((rows @ self.directions) * self.strengths) @ self.directions.T)

    def quadratic(
        self, left: np.ndarray, right: np.ndarray | None = None, gram: np.ndarray | None = None
    ) -> np.ndarray:
        """Return L Σ Rᵀ for rows L (a, n) and R (b, n); R is L if not given. `gram` is L Rᵀ, where known."""
        inside = (left @ self.directions) * (self.scale * self.strengths)
        across = ((left if right is None else right) @ self.directions).T
        if gram is None:
            # `left @ left.T` on one and the same array is what makes NumPy use the symmetric kernel
            gram = left @ left.T if right is None else left @ right.T
        forms = np.empty(gram.shape)
        step = max(1, _CACHE // max(1, gram.shape[1]))
        for start in range(0, len(gram), step):  # while the spikes of a few rows are in the cache
            rows = slice(start, start + step)
            np.multiply(gram[rows], self.scale, out=forms[rows])
            forms[rows] += inside[rows] @ across
        return forms

    def colour(self, white: np.ndarray) -> np.ndarray:
        """Turn rows of independent standard normals into rows with covariance Σ, in place if contiguous."""
        strengths, basis = self._principal
        if strengths.size:
            extra = (white @ basis) * (np.sqrt(1 + strengths) - 1)
            # BLAS adds in place where NumPy would form a second matrix as large as the sample
            white = blas.dgemm(1.0, basis, extra.T, beta=1.0, c=white.T, overwrite_c=True).T
        if self.scale != 1:
            white *= np.sqrt(self.scale)
        return white


@dataclass(frozen=True, eq=False)
class Dense(ByValue):
    """A covariance given by all its entries.

    Parameters
    ----------
    matrix : array_like, shape (n, n)
        Symmetric and positive definite.
    """

    matrix: np.ndarray

    def __post_init__(self) -> None:
        matrix = check_array("matrix", self.matrix, ("dimension", "dimension"))
        if np.max(np.abs(matrix / 2 - matrix.T / 2)) > 0.5e-8 * np.max(np.abs(matrix)):
            raise ValueError("matrix: not symmetric, a covariance must be")
        object.__setattr__(self, "matrix", matrix)
        try:
            self._root  # noqa: B018  the factorisation is the test of positive definiteness
        except linalg.LinAlgError as error:
            raise ValueError("matrix: not positive definite, a covariance must be") from error

    @cached_property
    def _root(self) -> np.ndarray:
        return linalg.cholesky(self.matrix, lower=True)

    @property
    def dimension(self) -> int:
        """Input dimension n."""
        return self.matrix.shape[0]

    @property
    def trace(self) -> float:
        """Trace of Σ."""
        return float(np.trace(self.matrix))

    @cached_property
    def norm(self) -> float:
        """Largest eigenvalue, ‖Σ‖₂."""
        last = self.dimension - 1
        return float(linalg.eigvalsh(self.matrix, subset_by_index=(last, last))[0])

    def dense(self) -> np.ndarray:
        """Return Σ as an array of shape (n, n)."""
        return self.matrix.copy()

    def apply(self, rows: np.ndarray) -> np.ndarray:
        """Return V Σ for an array V of rows, shape (..., n)."""
        return np.asarray(rows, dtype=float) @ self.matrix

    def quadratic(
        self, left: np.ndarray, right: np.ndarray | None = None, gram: np.ndarray | None = None
    ) -> np.ndarray:
        """Return L Σ Rᵀ for rows L (a, n) and R (b, n); R is L if not given. `gram` is of no use here."""
        coloured = left @ self._root
        return coloured @ coloured.T if right is None else coloured @ (right @ self._root).T

    def colour(self, white: np.ndarray) -> np.ndarray:
        """Turn rows of independent standard normals into rows with covariance Σ."""
        return white @ self._root.T


Covariance = Spiked | Dense
