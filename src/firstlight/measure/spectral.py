"""The spectral estimator of hidden directions, from data."""

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import eigh
from scipy.sparse.linalg import LinearOperator

from firstlight.maths.checks import as_numbers, check_array, check_count
from firstlight.maths.refusals import refusal
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
    X = check_array("X", X, ("n", "d"))
    y = check_array("y", y, (len(X),))
    if not callable(preprocessing):
        raise refusal("preprocessing", preprocessing, "be a function of labels")
    n, d = X.shape
    check_count("count", count, 1, d - 1)
    T = as_numbers(preprocessing(y))
    if T is None or T.shape != y.shape or not np.isfinite(T).all():
        raise ValueError("preprocessing: must map the labels to finite numbers of the same shape")
    if T.min() < -_FAR * T.max():
        values, vectors = eigh((X.T * (T / n)) @ X, subset_by_index=(d - count, d - 1))
        return values[::-1], vectors[:, ::-1]
    operator = LinearOperator((d, d), matvec=lambda v: X.T @ (T * (X @ v.ravel())) / n, dtype=float)
    start = np.random.default_rng(0).standard_normal((d,))  # a fixed start: the same data, the same answer
    values, vectors = extreme_eigh(operator, count, "LA", start)
    return values[::-1], vectors[:, ::-1]
