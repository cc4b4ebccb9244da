"""A Cholesky factor that grows row by row and drops what is linearly dependent up to noise."""

import numpy as np
from scipy.linalg import solve_triangular

_DROPPED = 1e-8  # relative residual below which a row counts as dependent on the earlier ones


class GrowingFactor:
    """The lower factor L of a covariance that is revealed row by row.

    Examples
    --------
    >>> factor = GrowingFactor(3)
    >>> _ = factor.append(np.array([[4.0]]))
    >>> factor.append(np.array([[2.0, 2.0]]))
    array([[1., 1.]])
    >>> factor.append(np.array([[4.0, 2.0, 4.0]]))  # a copy of the first: its own pivot is dropped
    array([[2., 0., 0.]])
    """

    def __init__(self, capacity: int) -> None:
        self.lower = np.zeros((capacity, capacity))
        self.kept: list[int] = []
        self.size = 0

    def append(self, rows: np.ndarray) -> np.ndarray:
        """Add rows of the covariance, each given up to its last column, and return their rows of L."""
        first = self.size
        for row in rows:
            i = self.size
            if self.kept:
                index = np.array(self.kept)
                square = self.lower[np.ix_(index, index)]
                self.lower[i, index] = solve_triangular(square, row[index], lower=True, check_finite=False)
            rest = row[i] - self.lower[i] @ self.lower[i]
            if rest > _DROPPED * row[i]:
                self.lower[i, i] = np.sqrt(rest)
                self.kept.append(i)
            self.size += 1
        return self.lower[first : self.size, : rows.shape[1]]
