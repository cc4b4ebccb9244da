"""The stable rank of a weight matrix."""

import numpy as np


def stable_rank(W: np.ndarray) -> float:
    """Compute ‖W‖²_F / ‖W‖²₂, which is at most the rank and does not jump with small singular values.

    Parameters
    ----------
    W : ndarray of shape (h, D)
        Any matrix.

    Returns
    -------
    float
        At least 1; NaN for a zero matrix.

    Examples
    --------
    >>> stable_rank(np.diag([2.0, 2.0, 1.0]))
    2.25
    """
    values = np.linalg.svd(W, compute_uv=False)
    return float((values**2).sum() / values[0] ** 2) if values[0] > 0 else float("nan")
