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
    work = _entries_first(matrices)
    for i in range(len(work)):
        pivot = 1 / work[i, i]
        row, column = work[i] * pivot, work[:, i].copy()
        work -= column[:, None] * row
        work[i], work[:, i] = row, -column * pivot
        work[i, i] = pivot
    return np.ascontiguousarray(np.moveaxis(work, (0, 1), (-2, -1)))


def definite(matrices: np.ndarray) -> bool:
    """Whether all symmetric matrices of a stack are positive definite: whether all pivots are positive.

    Examples
    --------
    >>> definite(np.array([[[2.0, 1.0], [1.0, 1.0]]])), definite(np.array([[[1.0, 2.0], [2.0, 1.0]]]))
    (True, False)
    """
    work = _entries_first(matrices)
    while len(work):
        pivot = work[0, 0]
        if not pivot.min() > 0:
            return False
        work = work[1:, 1:] - work[1:, :1] * (work[:1, 1:] / pivot)
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


def _entries_first(matrices: np.ndarray) -> np.ndarray:
    """Lay a stack (..., m, m) out as (m, m, ...), so that an entry of all matrices is contiguous."""
    return np.moveaxis(matrices, (-2, -1), (0, 1)).copy()
