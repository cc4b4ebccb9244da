"""Laws of the second layer: nodes and weights for averages over a neuron's head α = √N a."""

from itertools import product
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from firstlight.maths.checks import check_reals
from firstlight.maths.quadrature import panels

Head = Literal["gaussian", "rademacher"] | ArrayLike
_REACH = 8.5  # the normal mass beyond is 2e-17
_MOST = 8  # outputs with Rademacher heads: 256 sign patterns


def head_rule(head: Head = "gaussian", scale: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    """Return nodes and weights of the law of α.

    Parameters
    ----------
    head : {"gaussian", "rademacher"} or array_like of shape (N,)
        N(0, 1), ±1, or the heads a_j of a given network, of which α_j = √N a_j.
    scale : float, default 1
        The pre-activation's shift per unit of α, relative to its spread: rules are refined where the shift
        is of order one.

    Returns
    -------
    alpha, weights : ndarray
        The weights sum to one.

    Examples
    --------
    >>> alpha, weights = head_rule("rademacher")
    >>> alpha.tolist(), weights.tolist()
    ([-1.0, 1.0], [0.5, 0.5])
    >>> alpha, weights = head_rule("gaussian")
    >>> float((weights * alpha**4).sum())
    3.0000
    """
    if isinstance(head, str):
        if head == "rademacher":
            return np.array([-1.0, 1.0]), np.array([0.5, 0.5])
        if head != "gaussian":
            raise ValueError(f"head = {head!r}: must be 'gaussian', 'rademacher' or the heads themselves")
        return _gaussian_rule(scale)
    values = check_reals("head", head, "(N,)")
    if values.ndim != 1 or not values.size or not np.isfinite(values).all():
        raise ValueError(f"head: shape {values.shape}; given heads must be finite, of shape (N,)")
    return _gauss(values * np.sqrt(values.size), int(np.clip(16 * (1 + scale), 32, 128)))


def head_nodes(head: Head, outputs: int, scale: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    """Return nodes of shape (m, outputs) and weights of the heads of one or several outputs.

    Parameters
    ----------
    head : "rademacher" or array_like of shape (N,) or (N, outputs)
        The law, or the heads of a given network.
    outputs : int
        C; for signs at most 8, beyond which heads are as good as Gaussian.
    scale : float, default 1
        As in `head_rule`.

    Examples
    --------
    >>> head_nodes("rademacher", 2)[0].tolist()
    [[-1.0, -1.0], [-1.0, 1.0], [1.0, -1.0], [1.0, 1.0]]
    """
    if outputs == 1:
        given = head if isinstance(head, str) else check_reals("head", head, "(N,)")
        if not isinstance(given, str) and given.shape[1:] == (1,):
            given = given[:, 0]
        alpha, weights = head_rule(given, scale)
        return alpha[:, None], weights
    if isinstance(head, str):
        if head != "rademacher" or outputs > _MOST:
            raise ValueError(f"head = {head!r}: for {outputs} outputs; signs are summed for up to {_MOST}")
        signs = np.array(list(product([-1.0, 1.0], repeat=outputs)))
        return signs, np.full(len(signs), 1 / len(signs))
    values = check_reals("head", head, f"(N, {outputs})")
    if values.ndim != 2 or values.shape[1] != outputs or not len(values) or not np.isfinite(values).all():
        raise ValueError(f"head: shape {values.shape}; given heads must be finite, of shape (N, {outputs})")
    return values * np.sqrt(len(values)), np.full(len(values), 1 / len(values))


def _gaussian_rule(scale: float) -> tuple[np.ndarray, np.ndarray]:
    """Gauss-Legendre pieces, short where the shift is of order one: about 150 nodes, errors near 1e-10."""
    marks = np.array([0.5, 1.0, 2.0, 4.0, 8.0, 16.0]) / scale
    half = np.unique(np.concatenate([[0.0, 1.0, 2.0, 3.5, 5.5, _REACH], marks[marks < _REACH]]))
    alpha, weight = panels(half, 8)
    return np.concatenate([-alpha, alpha]), np.concatenate([weight, weight]) / (2 * weight.sum())


def _gauss(alpha: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Gauss rule of the heads' own distribution, by Lanczos: exact moments up to order 2 count - 1."""
    most = min(count, alpha.size)
    basis = np.empty((most + 1, alpha.size))
    basis[0] = 1 / np.sqrt(alpha.size)
    diagonal, beside = [], []
    for k in range(most):
        known, rest = basis[: k + 1], alpha * basis[k]
        diagonal.append(float(basis[k] @ rest))
        for _ in range(2):  # twice is enough to stay orthogonal
            rest -= (known @ rest) @ known
        size = float(np.linalg.norm(rest))
        if size <= 1e-10 * max(np.abs(alpha).max(), 1e-300):
            break  # as many nodes as there are different heads
        beside.append(size)
        basis[k + 1] = rest / size
    beside = beside[: len(diagonal) - 1]
    nodes, vectors = np.linalg.eigh(np.diag(diagonal) + np.diag(beside, 1) + np.diag(beside, -1))
    return nodes, vectors[0] ** 2 / (vectors[0] ** 2).sum()
