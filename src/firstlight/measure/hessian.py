"""The Hessian of a two-layer network's empirical risk, without ever forming it.

H = (1/n) Σ_i D_i ⊗ x_i x_iᵀ + λ acts on the first layer, a vector of m d numbers. One product costs one pass
over the inputs; extreme eigenpairs come from Lanczos, the density from stochastic Lanczos quadrature.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse.linalg import LinearOperator

from firstlight.maths.activations import Activation, activation
from firstlight.maths.checks import check_array, check_count, check_matrix, check_number
from firstlight.maths.losses import Loss, loss
from firstlight.maths.refusals import check_choice
from firstlight.maths.rng import RNGLike, SeedLike, generator
from firstlight.maths.solvers import extreme_eigh

_SINGLE = 1e-5  # residuals, relative to the eigenvalue, that products in single precision can reach


class HessianOperator(LinearOperator):
    """The Hessian as a linear operator; made by `hessian_operator`.

    D_i = bow_i slope_i slope_iᵀ + diag(bend_i) for the sample x_i, `neurons` of them in a vector.
    """

    def __init__(
        self, X: np.ndarray, bow: np.ndarray, slope: np.ndarray, bend: np.ndarray, ridge: float
    ) -> None:
        self.X, self.bow, self.slope, self.bend, self.ridge = X, bow, slope, bend, ridge
        self.neurons = slope.shape[1]
        size = self.neurons * X.shape[1]
        super().__init__(np.dtype(float), (size, size))

    def _matvec(self, v: np.ndarray) -> np.ndarray:
        from firstlight.measure.hessian_kernel import product

        V = v.reshape(self.neurons, -1).astype(self.X.dtype)
        image = product(self.X, self.bow, self.slope, self.bend, V)
        return image.ravel() / len(self.X) + self.ridge * v.ravel()

    def _adjoint(self) -> "HessianOperator":
        return self

    def dense(self) -> np.ndarray:
        """Return the whole matrix, (m d, m d), for sizes where every eigenvalue is wanted."""
        n, d = self.X.shape
        blocks = np.empty((self.neurons, d, self.neurons, d))
        for j in range(self.neurons):
            for k in range(j + 1):
                weight = self.bow * self.slope[:, j] * self.slope[:, k] + (j == k) * self.bend[:, j]
                blocks[j, :, k] = self.X.T @ (weight[:, None] / n * self.X)
                blocks[k, :, j] = blocks[j, :, k].T
        matrix = blocks.reshape(self.shape)
        matrix[np.diag_indices_from(matrix)] += self.ridge
        return matrix

    @cached_property
    def single(self) -> "HessianOperator":
        """The same operator on a single-precision copy of the inputs: two to three times as fast."""
        if self.X.dtype == np.float32:
            return self
        return HessianOperator(self.X.astype(np.float32), self.bow, self.slope, self.bend, self.ridge)

    @property
    def small(self) -> bool:
        """Whether products stay far within the range of single precision."""
        with np.errstate(over="ignore"):
            curvature = np.abs(self.bow).max() * np.abs(self.slope).max() ** 2 + np.abs(self.bend).max()
            return bool(curvature * self.X.shape[1] * max(self.X.max(), -self.X.min()) ** 2 < 1e30)


@dataclass(frozen=True)
class EigenPairs:
    """Extreme eigenpairs.

    Attributes
    ----------
    values : ndarray of shape (count,)
        Ascending.
    vectors : ndarray of shape (count, m, d)
        Unit eigenvectors, split over the neurons.
    residuals : ndarray of shape (count,)
        |H v - λ v|, in the operator's own precision: an eigenvalue lies within so much of each value.
    """

    values: np.ndarray
    vectors: np.ndarray
    residuals: np.ndarray

    def overlap(self, directions: ArrayLike) -> np.ndarray:
        """Return each vector's squared part along orthonormal directions (d, k), by neuron: (count, m)."""
        return ((self.vectors @ np.asarray(directions, float)) ** 2).sum(axis=-1)

    def lowest_along(self, wanted: ArrayLike, known: ArrayLike) -> tuple[float, float]:
        """Return value and squared overlap of the first pair that points at `wanted` more than at `known`.

        Parameters
        ----------
        wanted, known : array_like of shape (d, ·)
            Linearly independent columns each; a space's share of a vector counts per dimension of the space.

        Returns
        -------
        (float, float)
            Of the pair that lies most along `wanted`, should all of them point at `known` more.
        """
        bases = [np.linalg.qr(np.asarray(space, float))[0] for space in (wanted, known)]
        along, aside = (self.overlap(basis).sum(axis=1) for basis in bases)
        points = along * bases[1].shape[1] > aside * bases[0].shape[1]
        first = int(np.argmax(points)) if points.any() else int(np.argmax(along))
        return float(self.values[first]), float(along[first])


def hessian_operator(
    X: ArrayLike,
    y: ArrayLike,
    first_layer: ArrayLike,
    second_layer: ArrayLike,
    activation_: str | Activation,
    loss_: str | Loss = "square",
    *,
    ridge: float = 0.0,
    offset: float = 0.0,
    bias: ArrayLike = 0.0,
) -> HessianOperator:
    """Return the Hessian in the first layer of the mean loss, as a linear operator of size m d.

    Parameters
    ----------
    X : array_like of shape (n, d)
        Inputs, in double or single precision (products are then good to about 1e-6).
    y : array_like of shape (n,)
        Labels.
    first_layer : array_like of shape (m, d)
        W, one row per neuron.
    second_layer : array_like of shape (m,)
        a.
    activation_, loss_
        σ, twice differentiable, and l(y, f).
    ridge, offset : float
        λ ≥ 0 of the penalty λ/2 Σ_j |w_j|², and the constant in the output.
    bias : float or array_like of shape (m,), default 0
        Of the first layer.

    Returns
    -------
    HessianOperator
        A `scipy.sparse.linalg.LinearOperator`; vectors are neuron after neuron, d numbers each. Memory beyond
        X is of order (n + d) m.

    Examples
    --------
    >>> X, y = np.eye(3), np.array([1.0, -1.0, 1.0])
    >>> H = hessian_operator(X, y, np.zeros((1, 3)), [1.0], "quadratic")  # D = 2(f - y) at f = 0
    >>> print(H @ np.ones(3))
    [-0.667  0.667 -0.667]
    """
    check_number("ridge", ridge, 0)
    check_number("offset", offset, -1e300, 1e300)
    X = check_matrix("X", X)
    X = X if X.dtype == np.float32 else X.astype(float, copy=False)
    y, W = check_array("y", y, X.shape[:1]), check_array("first_layer", first_layer, ("m", X.shape[1]))
    a = check_array("second_layer", np.atleast_1d(second_layer), W.shape[:1])
    sigma, penalty = activation(activation_), loss(loss_)
    if sigma.kinked:
        raise ValueError(
            f"activation = {sigma.name}: has kinks, so its Hessian has point masses; use a smooth one"
        )
    shift = check_array("bias", bias, a.shape) if np.ndim(bias) else check_number("bias", bias)
    h = (X @ W.T.astype(X.dtype, copy=False)).astype(float) + shift
    f = offset + sigma(h) @ a
    slope = a * sigma.derivative(h)
    bend = penalty.first(y, f)[:, None] * a * sigma.second_derivative(h)
    bow = np.broadcast_to(penalty.second(y, f), y.shape).astype(float)
    return HessianOperator(np.ascontiguousarray(X), bow, slope, bend, float(ridge))


def extreme_eigenpairs(
    operator: LinearOperator,
    neurons: int,
    count: int = 5,
    side: str = "left",
    tolerance: float = 1e-4,
    rng: RNGLike | SeedLike = 0,
) -> EigenPairs:
    """Compute the lowest or highest eigenpairs by Lanczos.

    Lanczos runs in single precision where the tolerance allows; the pairs are then refined in the operator's
    own precision, with residuals, and computed afresh in it should these be too large.

    Parameters
    ----------
    operator : LinearOperator
        From `hessian_operator`.
    neurons : int
        m, to split the vectors; divides the operator's size.
    count : int, default 5
        How many.
    side : {"left", "right"}
        Lowest or highest.
    tolerance : float, default 1e-4
        Residual relative to the eigenvalue; the eigenvalue itself is then good to its square over the gap.
    rng : SPEC 7 rng, default 0
        Starting vector.

    Examples
    --------
    >>> diagonal = LinearOperator((6, 6), matvec=lambda v: np.arange(6.0) * v.ravel(), dtype=float)
    >>> print(extreme_eigenpairs(diagonal, 2, count=2).values)
    [0.0000 1.0000]
    """
    check_choice("side", side, ("left", "right"))
    check_number("tolerance", tolerance, 0)
    check_count("neurons", neurons)
    size = operator.shape[0]
    if size % neurons:
        raise ValueError(f"neurons = {neurons}: must divide the operator's size {size}")
    check_count("count", count, 1, size - 1)
    which: Literal["SA", "LA"] = "SA" if side == "left" else "LA"
    start = generator(rng).standard_normal(size)
    basis = min(size, max(4 * count, 20))

    def lanczos(inner: LinearOperator) -> EigenPairs:
        vectors = extreme_eigh(inner, count, which, start, ncv=basis, tol=tolerance)[1]
        return _refined(operator, vectors, neurons)

    quick = isinstance(operator, HessianOperator) and tolerance >= _SINGLE and operator.small
    pairs = lanczos(operator.single if quick else operator)
    scale = np.maximum(np.abs(pairs.values), 1e-2 * np.abs(pairs.values).max())
    if quick and (pairs.residuals > 3 * tolerance * scale).any():
        pairs = lanczos(operator)
    return pairs


def _refined(operator: LinearOperator, vectors: np.ndarray, neurons: int) -> EigenPairs:
    """Rayleigh and Ritz's best pairs in the span of approximate eigenvectors."""
    basis = np.linalg.qr(vectors)[0]
    image = np.column_stack([operator @ column for column in basis.T])
    values, turn = np.linalg.eigh(basis.T @ image)
    best = basis @ turn
    residuals = np.linalg.norm(image @ turn - best * values, axis=0)
    return EigenPairs(values, best.T.reshape(len(values), neurons, -1), residuals)
