"""The spectral estimator of hidden directions, from data."""

from collections.abc import Callable
from numbers import Integral

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import eigh
from scipy.sparse.linalg import LinearOperator

from firstlight.maths.solvers import extreme_eigh

_FAR = 100.0  # how far below zero, in units of its largest value, T may reach for Lanczos


def spectral_estimator(
    X: ArrayLike, y: ArrayLike, preprocessing: Callable[[np.ndarray], np.ndarray], count: int = 1
) -> tuple[np.ndarray, np.ndarray]:
    """Return the top eigenpairs of (1/n) Σ T(y_i) x_i x_iᵀ.

    By Lanczos, without forming it, unless T reaches far below zero: then the top is too fine a part of the
    spectrum for Lanczos, and the matrix is diagonalised.

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
    >>> values, vectors = spectral_estimator(drawn.X, drawn.y, lambda y: 1 - 1 / np.maximum(y, 0.1))
    >>> bool(abs(vectors[:, 0] @ drawn.directions[:, 0]) > 0.95)
    True
    """
    if np.iscomplexobj(X) or np.iscomplexobj(y):
        raise ValueError("X, y: must be real")
    X, y = np.asarray(X, float), np.asarray(y, float)
    if X.ndim != 2 or y.shape != X.shape[:1]:
        raise ValueError(f"X, y: shapes {X.shape} and {y.shape}, expected (n, d) and (n,)")
    if not (np.isfinite(X).all() and np.isfinite(y).all()):
        raise ValueError("X, y: must be finite")
    n, d = X.shape
    if isinstance(count, bool) or not isinstance(count, Integral) or not 1 <= count < d:
        raise ValueError(f"count = {count}: must lie in 1 .. {d - 1}")
    T = np.asarray(preprocessing(y), float)
    if T.shape != y.shape or not np.isfinite(T).all():
        raise ValueError("preprocessing: must map the labels to finite numbers of the same shape")
    if T.min() < -_FAR * T.max():
        values, vectors = eigh((X.T * (T / n)) @ X, subset_by_index=(d - count, d - 1))
        return values[::-1], vectors[:, ::-1]
    operator = LinearOperator((d, d), matvec=lambda v: X.T @ (T * (X @ v.ravel())) / n, dtype=float)
    start = np.random.default_rng(0).standard_normal(d)  # a fixed start: the same data, the same answer
    values, vectors = extreme_eigh(operator, count, "LA", start)
    return values[::-1], vectors[:, ::-1]
