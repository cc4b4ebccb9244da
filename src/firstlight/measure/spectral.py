"""The spectral estimator of hidden directions, from data."""

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse.linalg import LinearOperator, eigsh


def spectral_estimator(
    X: ArrayLike, y: ArrayLike, preprocessing: Callable[[np.ndarray], np.ndarray], count: int = 1
) -> tuple[np.ndarray, np.ndarray]:
    """Return the top eigenpairs of (1/n) Σ T(y_i) x_i x_iᵀ, without forming it.

    Parameters
    ----------
    X : array_like of shape (n, d)
        Inputs.
    y : array_like of shape (n,)
        Labels.
    preprocessing : callable
        T, vectorised over labels.
    count : int, default 1
        How many, at least 1 and less than d.

    Returns
    -------
    values : ndarray of shape (count,)
        Largest first.
    directions : ndarray of shape (d, count)
        Orthonormal columns.

    Examples
    --------
    >>> from firstlight import MultiIndex
    >>> drawn = MultiIndex("z1**2").sample(2000, 50, rng=0)
    >>> values, found = spectral_estimator(drawn.X, drawn.y, lambda y: 1 - 1 / np.maximum(y, 0.1))
    >>> bool(abs(found[:, 0] @ drawn.directions[:, 0]) > 0.95)
    True
    """
    X, y = np.asarray(X, float), np.asarray(y, float)
    if X.ndim != 2 or y.shape != X.shape[:1]:
        raise ValueError(f"X, y: shapes {X.shape} and {y.shape}, expected (n, d) and (n,)")
    n, d = X.shape
    if not 1 <= count < d:
        raise ValueError(f"count = {count}: must lie in 1 .. {d - 1}")
    T = np.asarray(preprocessing(y), float)
    if T.shape != y.shape or not np.isfinite(T).all():
        raise ValueError("preprocessing: must map the labels to finite numbers of the same shape")
    operator = LinearOperator((d, d), matvec=lambda v: X.T @ (T * (X @ v.ravel())) / n, dtype=float)
    start = np.random.default_rng(0).standard_normal(d)  # a fixed start: the same data, the same answer
    values, vectors = eigsh(operator, k=count, which="LA", v0=start)
    order = np.argsort(-values)
    return values[order], vectors[:, order]
