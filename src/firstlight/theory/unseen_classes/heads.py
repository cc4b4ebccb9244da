"""Laws of the second layer: nodes and weights for averages over a neuron's head α = √N a."""

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

Head = Literal["gaussian", "rademacher"] | ArrayLike
_BINS, _ENDS = 64, 64
_REACH = 8.5  # the normal mass beyond is 2e-17


def head_rule(head: Head = "gaussian", scale: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    """Return nodes and weights of the law of α.

    Parameters
    ----------
    head : {"gaussian", "rademacher"} or array_like of shape (N,)
        N(0, 1), ±1, or the heads a_j of a given network, of which α_j = √N a_j.
    scale : float, default 1
        The pre-activation's shift per unit of α, relative to its spread: the Gaussian rule is refined where
        the shift is of order one.

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
    >>> float((weights * alpha**4).sum().round(9))
    3.0
    """
    if isinstance(head, str):
        if head == "rademacher":
            return np.array([-1.0, 1.0]), np.array([0.5, 0.5])
        if head != "gaussian":
            raise ValueError(f"head = {head!r}: must be 'gaussian', 'rademacher' or the heads themselves")
        return _gaussian_rule(scale)
    values = np.asarray(head, float)
    if values.ndim != 1 or not values.size or not np.isfinite(values).all():
        raise ValueError(f"head: shape {values.shape}; given heads must be finite, of shape (N,)")
    return _compress(np.sort(values) * np.sqrt(values.size))


def _gaussian_rule(scale: float) -> tuple[np.ndarray, np.ndarray]:
    """Gauss-Legendre pieces, short where the shift is of order one: about 150 nodes, errors near 1e-10."""
    marks = np.array([0.5, 1.0, 2.0, 4.0, 8.0, 16.0]) / scale
    half = np.unique(np.concatenate([[0.0, 1.0, 2.0, 3.5, 5.5, _REACH], marks[marks < _REACH]]))
    nodes, weights = np.polynomial.legendre.leggauss(8)
    middle, width = (half[1:] + half[:-1]) / 2, np.diff(half) / 2
    alpha = (middle[:, None] + width[:, None] * nodes).ravel()
    weight = (width[:, None] * weights).ravel() * np.exp(-(alpha**2) / 2) / np.sqrt(2 * np.pi)
    return np.concatenate([-alpha, alpha]), np.concatenate([weight, weight]) / (2 * weight.sum())


def _compress(alpha: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Keep the outermost heads, which decide fourth moments; bins of the others become two points each."""
    ends = min(_ENDS, alpha.size // 2)
    middle = alpha[ends : alpha.size - ends]
    bins = [b for b in np.array_split(middle, min(_BINS, max(middle.size, 1))) if b.size]
    mean, std = np.array([b.mean() for b in bins]), np.array([b.std() for b in bins])
    share = np.array([b.size for b in bins]) / 2
    nodes = np.concatenate([alpha[:ends], mean - std, mean + std, alpha[alpha.size - ends :]])
    weights = np.concatenate([np.ones(ends), share, share, np.ones(ends)])
    return nodes, weights / alpha.size
