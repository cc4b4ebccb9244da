"""The compiled inner loop of the DMFT: how each sample's past forces respond to its present field."""

import numba
import numpy as np

BLOCK = 64  # samples handled together: wide enough for vector instructions, small enough for the cache


@numba.njit(nogil=True, cache=True, fastmath=True)
def advance(
    DJ: np.ndarray, D: np.ndarray, response: np.ndarray, weights: np.ndarray, t: int
) -> np.ndarray:  # pragma: no cover - compiled
    """Append D^t J(t, s), s = 0..t, to each sample's packed triangle, and return its weighted sums.

    DJ has shape (blocks, triangle, m, m, BLOCK), D (blocks, m, m, BLOCK), `weights` (q, blocks, BLOCK), and
    ``response[r] = -(eta/delta) R(t, r + 1)``. J(t, s) = 1{s = t} + Σ_{r=s}^{t-1} response[r] DJ(r, s).
    Returns an array of shape (q, t + 1, m, m).
    """
    blocks, m = DJ.shape[0], DJ.shape[2]
    sums = np.zeros((weights.shape[0], t + 1, m, m))
    acc = np.zeros((t + 1, m, m, BLOCK), dtype=np.float32)
    for block in range(blocks):
        acc[:] = 0.0
        for a in range(m):
            acc[t, a, a, :] = 1.0
        place = 0
        for r in range(t):
            for s in range(r + 1):
                for a in range(m):
                    for b in range(m):
                        for c in range(m):
                            factor = response[r, a, c]
                            total, part = acc[s, a, b], DJ[block, place, c, b]
                            for i in range(BLOCK):
                                total[i] += factor * part[i]
                place += 1
        for s in range(t + 1):
            for a in range(m):
                for b in range(m):
                    new = DJ[block, place, a, b]
                    for c in range(m):
                        curvature, part = D[block, a, c], acc[s, c, b]
                        for i in range(BLOCK):
                            new[i] += curvature[i] * part[i]
                    for q in range(weights.shape[0]):
                        weight = weights[q, block]
                        mean = np.float32(0.0)
                        for i in range(BLOCK):
                            mean += weight[i] * new[i]
                        sums[q, s, a, b] += mean
            place += 1
    return sums
