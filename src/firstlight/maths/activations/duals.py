"""Dual activations in closed form: E[σ(u) σ(v)] for centred normals with variances q, p and covariance c.

Each closed form takes float arrays q, p, c that broadcast and satisfy c² ≤ q p; for a Gram matrix q is a
column and p a row, so that roots cost nothing. A variance of zero is allowed: it is then the constant 0.
`evaluate` checks the arguments and falls back on quadrature.
"""

from collections.abc import Callable
from math import comb, factorial

import numpy as np
from numpy.typing import ArrayLike

from firstlight.maths.hermite import coefficients_and_square, mehler
from firstlight.maths.quadrature import pair_expectation, rule

Function = Callable[[np.ndarray], np.ndarray]
Dual = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]

_DEGREE = 60
_REMAINDER = 1e-13  # of the root of the second moments: well under the 1e-8 that is asked of any dual


def correlation(q: np.ndarray, p: np.ndarray, c: np.ndarray) -> np.ndarray:
    """Return c / sqrt(q p), clipped to [-1, 1] against rounding, and 0 where a variance vanishes.

    Examples
    --------
    >>> correlation(np.array([4.0, 0.0]), np.array([1.0, 1.0]), np.array([1.0, 0.0])).tolist()
    [0.5, 0.0]
    """
    inverse, other = (np.divide(1.0, np.sqrt(v), out=np.zeros_like(v), where=v > 0) for v in (q, p))
    rho = c * np.maximum(inverse, other)  # nothing overflows, and (q, p) has the bits of (p, q)
    rho = rho * np.minimum(inverse, other)
    return np.clip(rho, -1, 1)


def linear(q: np.ndarray, p: np.ndarray, c: np.ndarray) -> np.ndarray:
    """σ(z) = z."""
    return c + 0 * q * p


def one(q: np.ndarray, p: np.ndarray, c: np.ndarray) -> np.ndarray:
    """σ(z) = 1."""
    return np.ones(np.broadcast_shapes(q.shape, p.shape, c.shape))


def zero(q: np.ndarray, p: np.ndarray, c: np.ndarray) -> np.ndarray:
    """σ(z) = 0."""
    return np.zeros(np.broadcast_shapes(q.shape, p.shape, c.shape))


def relu(q: np.ndarray, p: np.ndarray, c: np.ndarray) -> np.ndarray:
    """σ(z) = max(z, 0): the arc-cosine kernel of order one (Cho and Saul, 2009)."""
    rho = correlation(q, p, c)
    return np.sqrt(q) * np.sqrt(p) * (np.sqrt(1 - rho**2) + rho * (np.pi - np.arccos(rho))) / (2 * np.pi)


def step(q: np.ndarray, p: np.ndarray, c: np.ndarray) -> np.ndarray:
    """σ(z) = 1{z > 0}: the arc-cosine kernel of order zero."""
    both_vary = (q > 0) & (p > 0)
    return np.where(both_vary, (np.pi - np.arccos(correlation(q, p, c))) / (2 * np.pi), 0.0)


def shifted_relu(q: np.ndarray, p: np.ndarray, c: np.ndarray) -> np.ndarray:
    """σ(z) = max(z, 0) - 1/sqrt(2π)."""
    return relu(q, p, c) - (np.sqrt(q) + np.sqrt(p) - 1) / (2 * np.pi)


def leaky_relu(slope: float) -> Dual:
    """σ(z) = max(z, 0) + slope min(z, 0), as a mixture of the linear unit and the ReLU."""

    def dual(q: np.ndarray, p: np.ndarray, c: np.ndarray) -> np.ndarray:
        return slope * c + (1 - slope) ** 2 * relu(q, p, c)

    return dual


def leaky_step(slope: float) -> Dual:
    """σ(z) = 1{z > 0} + slope 1{z <= 0}: the derivative of the leaky ReLU."""

    def dual(q: np.ndarray, p: np.ndarray, c: np.ndarray) -> np.ndarray:
        halves = 0.5 * ((q > 0).astype(float) + (p > 0))
        return slope**2 + slope * (1 - slope) * halves + (1 - slope) ** 2 * step(q, p, c)

    return dual


def erf(q: np.ndarray, p: np.ndarray, c: np.ndarray) -> np.ndarray:
    """σ = erf: the arc-sine kernel (Williams, 1997)."""
    return 2 / np.pi * np.arcsin(np.clip(2 * c / np.sqrt((1 + 2 * q) * (1 + 2 * p)), -1, 1))


def erf_slope(q: np.ndarray, p: np.ndarray, c: np.ndarray) -> np.ndarray:
    """σ(z) = erf'(z) = 2 exp(-z²)/sqrt(π)."""
    return 4 / np.pi / np.sqrt(1 + 2 * (q + p) + 4 * (q * p - c * c))


def sin(q: np.ndarray, p: np.ndarray, c: np.ndarray) -> np.ndarray:
    """σ = sin."""
    mean = 0.5 * (q + p)
    return np.where(
        np.abs(c) < 1, np.exp(-mean) * np.sinh(np.clip(c, -1, 1)), 0.5 * np.subtract(*_damped(mean, c))
    )


def cos(q: np.ndarray, p: np.ndarray, c: np.ndarray) -> np.ndarray:
    """σ = cos."""
    mean = 0.5 * (q + p)
    return 0.5 * np.add(*_damped(mean, c))


def _damped(mean: np.ndarray, c: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return exp(±c - mean); as |c| is at most the mean but for rounding, nothing overflows."""
    return np.exp(np.minimum(c - mean, 0.0)), np.exp(np.minimum(-c - mean, 0.0))


def quadratic(q: np.ndarray, p: np.ndarray, c: np.ndarray) -> np.ndarray:
    """σ(z) = z²."""
    return q * p + 2 * c * c


def hermite(degree: int, factor: float = 1.0) -> Dual:
    """σ = factor · He_degree, for any variances: what Mehler's formula becomes away from variance one."""

    def dual(q: np.ndarray, p: np.ndarray, c: np.ndarray) -> np.ndarray:
        excess = (q - 1) * (p - 1) / 4
        total = sum(
            (comb(degree, 2 * m) * factorial(2 * m) / factorial(m)) ** 2
            * factorial(degree - 2 * m) * excess**m * c ** (degree - 2 * m)
            for m in range(degree // 2 + 1)
        )  # fmt: skip
        return factor**2 * np.asarray(total)

    return dual


def evaluate(
    function: Function,
    kinks: tuple,
    forms: tuple[Dual | None, Dual | None],
    variance: ArrayLike,
    other: ArrayLike,
    covariance: ArrayLike,
) -> np.ndarray:
    """Compute E[f(u) f(v)] for arrays that broadcast, by the closed form if there is one.

    `forms` are that one, and another that takes the place of quadrature.

    Examples
    --------
    >>> float(evaluate(np.tanh, (), (None, None), 1.0, 1.0, 0.5))
    0.186324
    """
    q, p, c = (np.asarray(a, float) for a in (variance, other, covariance))
    if not (np.isfinite(q).all() and np.isfinite(p).all() and (q >= 0).all() and (p >= 0).all()):
        raise ValueError("q, q_prime: variances must be finite and at least 0")
    bound = np.sqrt(q) * np.sqrt(p)
    if not (np.abs(c) <= bound * (1 + 1e-9)).all():
        raise ValueError("c: a covariance must satisfy c**2 <= q * q_prime")
    c = np.clip(c, -bound, bound)
    closed, mixture = forms
    if closed is not None:
        return np.asarray(closed(q, p, c))
    q, p = np.broadcast_to(q, c.shape), np.broadcast_to(p, c.shape)
    return _by_series(function, kinks, mixture, q.ravel(), p.ravel(), c.ravel()).reshape(c.shape)


def _by_series(
    function: Function, kinks: tuple, mixture: Dual | None, q: np.ndarray, p: np.ndarray, c: np.ndarray
) -> np.ndarray:
    """Mehler's series where its remainder is negligible, a mixture or iterated quadrature for the rest."""
    variances, index = np.unique(np.concatenate([q, p]), return_inverse=True)
    first, second = index[: q.size], index[q.size :]
    found = coefficients_and_square(function, _DEGREE, std=np.sqrt(variances), kinks=kinks)
    coefficients, square = found[:, :-1], found[:, -1]
    rest = np.maximum(square - mehler(coefficients, coefficients, 1.0), 0)
    rho = correlation(q, p, c)
    error = np.abs(rho) ** (_DEGREE + 1) * np.sqrt(rest[first]) * np.sqrt(rest[second])
    easy = error <= _REMAINDER * np.sqrt(square[first]) * np.sqrt(square[second])
    result = np.empty(q.size)
    for part in np.array_split(np.flatnonzero(easy), 1 + easy.sum() // 100_000):
        result[part] = mehler(coefficients[first[part]], coefficients[second[part]], rho[part])
    same = ~easy & (np.abs(rho) == 1) & (q == p)
    for sign in (1.0, -1.0):
        line = same & (rho == sign)
        variance, back = np.unique(q[line], return_inverse=True)
        z, w = rule(0.0, np.sqrt(variance), [*kinks, *(-k for k in kinks)])
        u = np.sqrt(variance)[:, None] * z
        result[line] = (w * function(u) * function(sign * u)).sum(axis=-1)[back]
    hard = ~easy & ~same
    if mixture is not None:
        result[hard] = mixture(q[hard], p[hard], c[hard])
    else:
        result[hard] = pair_expectation(
            function, function, q[hard], p[hard], c[hard], kinks=kinks, other_kinks=kinks
        )
    return result
