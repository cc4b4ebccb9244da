"""The compiled product of a Hessian with a vector: one pass over the inputs."""

import numba
import numpy as np

_FLUSH = 64  # rows after which single-precision sums go over to double precision


@numba.njit(nogil=True, cache=True, fastmath=True)
def product(
    X: np.ndarray, bow: np.ndarray, slope: np.ndarray, bend: np.ndarray, V: np.ndarray
) -> np.ndarray:  # pragma: no cover - compiled
    """Return Σ_i (D_i ⊗ x_i x_iᵀ) V, with D_i = bow_i slope_i slope_iᵀ + diag(bend_i); V has shape (m, d).

    Four rows of X at a time are read, projected, bent and added back while they are in the cache.
    """
    n, d = X.shape
    m = V.shape[0]
    total, part = np.zeros((m, d)), np.zeros((m, d), dtype=X.dtype)
    rows = np.zeros((4, d), dtype=X.dtype)  # the last ones are padded with zeros
    moved = np.zeros((4, m), dtype=X.dtype)
    for first in range(0, n, 4):
        block = X[first : first + 4]
        if first + 4 > n:
            rows[: n - first] = block
            rows[n - first :] = 0
            block = rows
        x0, x1, x2, x3 = block[0], block[1], block[2], block[3]
        for j in range(m):
            v = V[j]
            s0 = s1 = s2 = s3 = X.dtype.type(0)
            for k in range(d):
                s0 += x0[k] * v[k]
                s1 += x1[k] * v[k]
                s2 += x2[k] * v[k]
                s3 += x3[k] * v[k]
            moved[0, j], moved[1, j], moved[2, j], moved[3, j] = s0, s1, s2, s3
        for r in range(min(4, n - first)):
            i = first + r
            common = 0.0
            for j in range(m):
                common += slope[i, j] * moved[r, j]
            for j in range(m):
                moved[r, j] = bow[i] * slope[i, j] * common + bend[i, j] * moved[r, j]
        for j in range(m):
            out = part[j]
            f0, f1, f2, f3 = moved[0, j], moved[1, j], moved[2, j], moved[3, j]
            for k in range(d):
                out[k] += f0 * x0[k] + f1 * x1[k] + f2 * x2[k] + f3 * x3[k]
        if first % _FLUSH == 0 or first + 4 >= n:
            total += part
            part[:] = 0
    return total
