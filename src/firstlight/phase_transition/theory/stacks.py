"""Stacks of many small matrices: elimination without pivoting, one step for the whole stack at a time.

That is safe where this theory needs it: P + D/δ is positive definite left of the bulk, and its imaginary part
is definite off the real axis. LAPACK, called once per matrix, is several times slower at these sizes.
"""

import numpy as np


def inverse(matrices: np.ndarray) -> np.ndarray:
    """Invert a stack (..., m, m) of definite matrices: Gauss and Jordan's elimination in place.

    Examples
    --------
    >>> inverse(np.array([[[2.0, 1.0], [1.0, 1.0]]])).tolist()
    [[[1.0, -1.0], [-1.0, 2.0]]]
    """
    work = entries_first(matrices)
    if not eliminate(work):
        raise ValueError("matrices: must be positive definite")
    return np.ascontiguousarray(work.transpose(*range(2, work.ndim), 0, 1))


def eliminate(work: np.ndarray) -> bool:
    """Invert a stack (m, m, ...) in place; False, with nothing of use left, at a real pivot that is not > 0.

    All pivots of a symmetric matrix are positive where it is positive definite, and only there.
    """
    for i in range(len(work)):
        pivot = work[i, i].copy()
        if not (np.iscomplexobj(work) or pivot.min() > 0):
            return False
        work[i, i] = 1
        work[i] /= pivot
        for j in range(len(work)):
            if j != i:
                factor = work[j, i].copy()
                work[j, i] = 0
                work[j] -= factor * work[i]
    return True


def lowest(matrices: np.ndarray) -> float:
    """Return the smallest eigenvalue in a stack of symmetric matrices; closed forms for sizes 1 and 2."""
    m = matrices.shape[-1]
    if m == 1:
        return float(matrices.min())
    if m > 2:
        return float(np.linalg.eigvalsh(matrices).min())
    half = 0.5 * (matrices[..., 0, 0] - matrices[..., 1, 1])
    middle = 0.5 * (matrices[..., 0, 0] + matrices[..., 1, 1])
    return float((middle - np.hypot(half, matrices[..., 0, 1])).min())


def entries_first(matrices: np.ndarray) -> np.ndarray:
    """Lay a stack (..., m, m) out as (m, m, ...), so that an entry of all matrices is contiguous."""
    return matrices.transpose(-2, -1, *range(matrices.ndim - 2)).copy()
