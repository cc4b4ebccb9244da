"""How neurons lie relative to the data: cosines to class centres, activation patterns, signs of cosines."""

import numpy as np

_BLOCK = 2048


def cosines(rows: np.ndarray, target: np.ndarray) -> np.ndarray:
    """Cosine between each row and a vector; NaN where either is zero.

    Examples
    --------
    >>> cosines(np.array([[3.0, 4.0], [0.0, 0.0]]), np.array([1.0, 0.0])).tolist()
    [0.6, nan]
    """
    lengths = np.linalg.norm(rows, axis=-1) * np.linalg.norm(target)
    return np.divide(rows @ target, lengths, out=np.full(lengths.shape, np.nan), where=lengths > 0)


def regions(first_layer: np.ndarray, X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Say where neurons are: +1 active on exactly the positive data, -1 on the negative, 0 on none, 2 else.

    A datum on whose wall a neuron lies, to rounding, is not active: that is where neurons die.

    Examples
    --------
    >>> regions(np.array([[1.0, 0.0], [-1.0, -1.0], [1.0, 2.0]]), np.eye(2), np.array([1, -1])).tolist()
    [1, 0, 2]
    """
    lengths = np.linalg.norm(first_layer, axis=1)[:, None] * np.linalg.norm(X, axis=1)
    active = first_layer @ X.T > 1e-12 * lengths
    kinds = np.full(len(first_layer), 2)
    kinds[(active == (y > 0)).all(axis=1)] = 1
    kinds[(active == (y < 0)).all(axis=1)] = -1
    kinds[~active.any(axis=1)] = 0
    return kinds


def right_sign_fraction(X: np.ndarray, y: np.ndarray) -> float:
    """Fraction of pairs i ≠ k with yᵢ yₖ cos(xᵢ, xₖ) > 0: 1 for orthogonally separable data.

    Parameters
    ----------
    X : ndarray of shape (n, D)
        Data, at least two rows.
    y : ndarray of shape (n,)
        Labels ±1.

    Examples
    --------
    >>> right_sign_fraction(np.array([[1.0, 0.0], [1.0, 1.0], [0.0, 1.0]]), np.array([1, 1, -1]))
    0.3333333333333333
    """
    Z = np.asarray(y)[:, None] * X
    n = len(Z)
    if n < 2:
        raise ValueError(f"X: {n} rows, need at least 2")
    right = sum(int((Z[i : i + _BLOCK] @ Z.T > 0).sum()) for i in range(0, n, _BLOCK))
    own = int((np.einsum("id,id->i", Z, Z) > 0).sum())
    return (right - own) / (n * (n - 1))
