"""Laws of the second layer: nodes and weights for averages over a neuron's head α = √N a."""

from itertools import product
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from firstlight.maths.checks import check_reals
from firstlight.maths.quadrature import panels

Head = Literal["gaussian", "rademacher"] | ArrayLike
_REACH = 8.5  # the normal mass beyond is 2e-17
PIECE = 8  # nodes of each piece of a normal law
_MOST_NODES = 1024  # of a Gauss rule of given heads; the time to find one grows with the square
_MOST = 8  # outputs with Rademacher heads: 256 sign patterns


def is_gaussian(head: Head) -> bool:
    """Say whether heads are normal: their average over neurons then is a closed dual.

    Examples
    --------
    >>> is_gaussian("gaussian"), is_gaussian([1.0, -1.0])
    (True, False)
    """
    return isinstance(head, str) and head == "gaussian"


def own_bulks(head: Head, outputs: int) -> bool:
    """Say whether a neuron's bulk has to be that of its own heads: of several outputs, but at most 8.

    Gaussian heads need the sum over outputs only. Of more outputs than 8 no pull of a neuron is far from
    that of others, and matrices for each pair of outputs would be large.

    Examples
    --------
    >>> own_bulks("rademacher", 3), own_bulks("rademacher", 1), own_bulks("gaussian", 3)
    (True, False, False)
    """
    return not is_gaussian(head) and 1 < outputs <= _MOST


def head_rule(
    head: Head = "gaussian", scale: float = 1.0, order: int = PIECE
) -> tuple[np.ndarray, np.ndarray]:
    """Return nodes and weights of the law of α.

    Parameters
    ----------
    head : {"gaussian", "rademacher"} or array_like of shape (N,)
        N(0, 1), ±1, or the heads a_j of a given network, of which α_j = √N a_j.
    scale : float, default 1
        The pre-activation's shift per unit of α, relative to its spread: rules are refined where the shift
        is of order one.
    order : int, default 8
        Nodes of each piece of the normal law.

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
        return _gaussian_rule(scale, order)
    values = check_reals("head", head, "(N,)")
    if values.ndim != 1 or not values.size or not np.isfinite(values).all():
        raise ValueError(f"head: shape {values.shape}; given heads must be finite, of shape (N,)")
    alpha, count = values * np.sqrt(values.size), max(16 * (1 + scale), 32)
    if count >= min(values.size, _MOST_NODES):
        different, counts = np.unique(alpha, return_counts=True)
        return different, counts / values.size
    return _gauss(alpha, int(count))


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
    different, counts = np.unique(values, axis=0, return_counts=True)
    return different * np.sqrt(len(values)), counts / len(values)


def bulk_weights(nodes: np.ndarray, parts: int) -> np.ndarray:
    """Return how much of each part of the bulk a neuron with given heads has, shape (m, parts).

    Parameters
    ----------
    nodes : ndarray, shape (m, C)
        Heads α.
    parts : int
        1: the outputs share the bulk alike and independently, the mean of α². Else one part for each pair of
        outputs k <= l, in order: α_k α_l.

    Examples
    --------
    >>> bulk_weights(np.array([[1.0, -1.0]]), 3).tolist(), bulk_weights(np.array([[1.0, -1.0]]), 1).tolist()
    ([[1.0, -1.0, 1.0]], [[1.0]])
    """
    if parts == 1:
        return (nodes**2).mean(axis=1, keepdims=True)
    first, second = np.triu_indices(nodes.shape[1])
    return nodes[:, first] * nodes[:, second]


def _gaussian_rule(scale: float, order: int) -> tuple[np.ndarray, np.ndarray]:
    """Gauss-Legendre pieces, from half the spread each to four times the shift of the one before.

    However short the samples are, the activation turns somewhere: errors near 1e-10.
    """
    ends = 0.5 * 4.0 ** np.arange(np.log2(max(2 * _REACH * scale, 1.0)) / 2) / scale
    alpha, weight = panels(np.unique(np.concatenate([[0.0, 1.0, 2.0, 3.5, 5.5, _REACH], ends])), order)
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
