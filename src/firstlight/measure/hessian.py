"""The Hessian of a two-layer network's empirical risk, without ever forming it.

H = (1/n) Σ_i D_i ⊗ x_i x_iᵀ + λ acts on the first layer, a vector of m d numbers. One product costs two
passes over the inputs; extreme eigenpairs come from Lanczos, the density from stochastic Lanczos quadrature.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import eigh_tridiagonal
from scipy.sparse.linalg import LinearOperator, eigsh

from firstlight.activations import Activation, activation
from firstlight.losses import Loss, loss
from firstlight.rng import RNGLike, SeedLike, generator, stream

_CACHED = 1 << 17  # numbers of X in a block that stays in the processor's cache: 1 MB


@dataclass(frozen=True)
class EigenPairs:
    """Extreme eigenpairs.

    Attributes
    ----------
    values : ndarray of shape (count,)
        Ascending.
    vectors : ndarray of shape (count, m, d)
        Unit eigenvectors, split over the neurons.
    """

    values: np.ndarray
    vectors: np.ndarray

    def overlap(self, directions: ArrayLike) -> np.ndarray:
        """Return each vector's squared part along orthonormal directions (d, k), by neuron: (count, m)."""
        return ((self.vectors @ np.asarray(directions, float)) ** 2).sum(axis=-1)


def hessian_operator(
    X: ArrayLike,
    y: ArrayLike,
    weights: ArrayLike,
    second_layer: ArrayLike,
    activation_: str | Activation,
    loss_: str | Loss = "square",
    *,
    ridge: float = 0.0,
    offset: float = 0.0,
) -> LinearOperator:
    """Return the Hessian in the first layer of the mean loss, as a linear operator of size m d.

    Parameters
    ----------
    X : array_like of shape (n, d)
        Inputs. Single precision is kept, and makes products three times as fast (good to about 1e-6).
    y : array_like of shape (n,)
        Labels.
    weights : array_like of shape (d, m)
        First layer, one column per neuron.
    second_layer : array_like of shape (m,)
        a.
    activation_, loss_
        σ, twice differentiable, and l(y, f).
    ridge, offset : float
        λ of the penalty λ/2 Σ_j |w_j|², and the constant in the output.

    Returns
    -------
    scipy.sparse.linalg.LinearOperator
        Vectors are neuron after neuron, d numbers each. Memory beyond X is of order n m² + d m.

    Examples
    --------
    >>> X, y = np.eye(3), np.array([1.0, -1.0, 1.0])
    >>> H = hessian_operator(X, y, np.zeros((3, 1)), [1.0], "quadratic")  # D = 2(f - y) at f = 0
    >>> print((H @ np.ones(3)).round(3))
    [-0.667  0.667 -0.667]
    """
    X, y = np.asarray(X), np.asarray(y, float)
    X = X if X.dtype == np.float32 else X.astype(float, copy=False)
    W, a = np.asarray(weights, float), np.atleast_1d(np.asarray(second_layer, float))
    if X.ndim != 2 or y.shape != X.shape[:1] or W.shape != (X.shape[1], a.size):
        raise ValueError(
            f"X, y, weights, second_layer: shapes {X.shape}, {y.shape}, {W.shape}, {a.shape}; "
            "expected (n, d), (n,), (d, m), (m,)"
        )
    sigma, penalty = activation(activation_), loss(loss_)
    if sigma.kinks:
        raise ValueError(
            f"activation = {sigma.name}: has kinks, so its Hessian has point masses; use a smooth one"
        )
    h = (X @ W.astype(X.dtype, copy=False)).astype(float)
    f = offset + sigma(h) @ a
    slope = a * sigma.derivative(h)
    bend = penalty.first(y, f)[:, None] * a * sigma.second_derivative(h)
    bow = penalty.second(y, f)[:, None]
    (n, d), m = X.shape, a.size

    rows = max(8, _CACHED // d)

    def product(v: np.ndarray) -> np.ndarray:
        V = np.ascontiguousarray(v.reshape(m, d).T, dtype=X.dtype)
        total = np.zeros((m, d))
        for first in range(
            0, n, rows
        ):  # one pass over X: each block of rows is used twice while in the cache
            part = slice(first, first + rows)
            moved = X[part] @ V
            curved = bow[part] * slope[part] * (slope[part] * moved).sum(axis=1, keepdims=True)
            total += (curved + bend[part] * moved).T.astype(X.dtype, copy=False) @ X[part]
        return total.ravel() / n + ridge * v.ravel()

    return LinearOperator((m * d, m * d), matvec=product, rmatvec=product, dtype=float)


def extreme_eigenpairs(
    operator: LinearOperator,
    neurons: int,
    count: int = 5,
    side: str = "left",
    tolerance: float = 1e-5,
    rng: RNGLike | SeedLike = 0,
) -> EigenPairs:
    """Compute the lowest or highest eigenpairs by Lanczos.

    Parameters
    ----------
    operator : LinearOperator
        From `hessian_operator`.
    neurons : int
        m, to split the vectors.
    count : int, default 5
        How many.
    side : {"left", "right"}
        Lowest or highest.
    tolerance : float, default 1e-5
        Relative accuracy of the eigenvalues.
    rng : SPEC 7 rng, default 0
        Starting vector.

    Returns
    -------
    EigenPairs

    Examples
    --------
    >>> diagonal = LinearOperator((6, 6), matvec=lambda v: np.arange(6.0) * v.ravel(), dtype=float)
    >>> print(extreme_eigenpairs(diagonal, 2, count=2).values.round(6) + 0.0)
    [0. 1.]
    """
    if side not in ("left", "right"):
        raise ValueError(f"side = {side!r}: must be 'left' or 'right'")
    size = operator.shape[0]
    if not 1 <= count < size:
        raise ValueError(f"count = {count}: must lie in 1 .. {size - 1}")
    start = generator(rng).standard_normal(size)
    basis = min(size, max(4 * count, 20))
    values, vectors = eigsh(
        operator, k=count, which="SA" if side == "left" else "LA", v0=start, ncv=basis, tol=tolerance
    )
    order = np.argsort(values)
    return EigenPairs(values[order], vectors[:, order].T.reshape(count, neurons, size // neurons))


def spectral_density(
    operator: LinearOperator,
    x: ArrayLike,
    width: float,
    *,
    probes: int = 8,
    depth: int = 80,
    rng: RNGLike | SeedLike = None,
) -> np.ndarray:
    """Estimate the density of eigenvalues by stochastic Lanczos quadrature.

    Parameters
    ----------
    operator : LinearOperator
        Symmetric.
    x : array_like
        Where the density is wanted.
    width : float
        Standard deviation of the normal kernel that smooths it, positive.
    probes : int, default 8
        Random starting vectors; the error falls as the root of probes × size.
    depth : int, default 80
        Lanczos steps; resolves features of about the spectrum's width over `depth`.
    rng : SPEC 7 rng, optional
        Draws the probes; by default a fixed stream of its own. Probes must be independent of the data: do not
        give the seed that drew X.

    Returns
    -------
    ndarray, the shape of x

    Examples
    --------
    >>> grid = np.linspace(-1, 2, 301)
    >>> identity = LinearOperator((50, 50), matvec=lambda v: v.ravel(), dtype=float)
    >>> print(round(float(np.trapezoid(spectral_density(identity, grid, 0.1), grid)), 3))
    1.0
    """
    if not width > 0:
        raise ValueError(f"width = {width}: must be positive")
    x = np.asarray(x, float)
    rng = stream(0, "lanczos probes") if rng is None else generator(rng)
    size = operator.shape[0]
    density = np.zeros(x.shape)
    for _ in range(probes):
        nodes, weights = _lanczos_rule(operator, rng.standard_normal(size), min(depth, size))
        kernel = np.exp(-0.5 * ((x[..., None] - nodes) / width) ** 2) / (np.sqrt(2 * np.pi) * width)
        density += kernel @ weights / probes
    return density


def _lanczos_rule(operator: LinearOperator, start: np.ndarray, depth: int) -> tuple[np.ndarray, np.ndarray]:
    """Gauss nodes and weights of the spectral measure of `start`; Lanczos, fully reorthogonalised."""
    basis = np.zeros((depth, start.size))
    basis[0] = start / np.linalg.norm(start)
    diagonal, beside = np.zeros(depth), np.zeros(depth)
    used = depth
    for j in range(depth):
        image = operator @ basis[j]
        diagonal[j] = basis[j] @ image
        for _ in range(2):
            image -= basis[: j + 1].T @ (basis[: j + 1] @ image)
        beside[j] = np.linalg.norm(image)
        if j + 1 == depth or beside[j] < 1e-10 * max(1.0, abs(diagonal[j])):
            used = j + 1
            break
        basis[j + 1] = image / beside[j]
    nodes, vectors = eigh_tridiagonal(diagonal[:used], beside[: used - 1])
    return nodes, vectors[0] ** 2
