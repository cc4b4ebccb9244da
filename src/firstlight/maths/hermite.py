"""Hermite polynomials, Hermite coefficients under any normal law, and Mehler's expansion."""

from collections.abc import Iterator

import numpy as np
from scipy.special import gammaln

from firstlight.maths.checks import check_count
from firstlight.maths.quadrature import REACH, Function, Kinks, rules_in_parts

_CHUNK = 1 << 15  # nodes held at once: all polynomials are formed within the processor's cache


def hermite_values(degree: int, z: np.ndarray) -> Iterator[np.ndarray]:
    """Yield the probabilists' Hermite polynomials He_0(z), ..., He_degree(z), one array at a time.

    Examples
    --------
    >>> [float(h) for h in hermite_values(3, np.array(2.0))]
    [1.0, 2.0, 3.0, 2.0]
    """
    yield np.broadcast_to(np.ones((), z.dtype), z.shape)  # no memory is filled with ones
    before, now = np.ones((), z.dtype), z
    for j in range(1, degree + 1):
        yield now
        if j == degree:
            return
        later = z * now
        later -= j * before
        before, now = now, later


def hermite_coefficients(
    function: Function,
    degree: int,
    *,
    mean: np.ndarray | float = 0.0,
    std: np.ndarray | float = 1.0,
    kinks: Kinks = (),
) -> np.ndarray:
    """Compute E[f(mean + std z) He_j(z)] for j = 0..degree (probabilists' He_j, not divided by j!).

    Parameters
    ----------
    function : callable
        Vectorised function of one argument.
    degree : int
        Highest j, from 0 to 150 (beyond, He_j leaves the range of double precision).
    mean, std : float or array_like, broadcast to a common shape S
        Law of the argument.
    kinks : sequence of float
        Arguments at which f is not smooth.

    Returns
    -------
    ndarray, shape S + (degree + 1,)
        Absolute error about 1e-15 sqrt(j! E f^2).

    Examples
    --------
    >>> hermite_coefficients(lambda x: x**2, 3).tolist()
    [1.0000, 0.0000, 2.0000, 0.0000]
    """
    return coefficients_and_square(function, degree, mean=mean, std=std, kinks=kinks)[..., :-1]


def coefficients_and_square(
    function: Function,
    degree: int,
    *,
    mean: np.ndarray | float = 0.0,
    std: np.ndarray | float = 1.0,
    kinks: Kinks = (),
) -> np.ndarray:
    """Compute what `hermite_coefficients` does, and E[f(mean + std z)²] as the last one, of the same values.

    Returns
    -------
    ndarray, shape S + (degree + 2,)

    Examples
    --------
    >>> coefficients_and_square(lambda x: x**2, 2).tolist()
    [1.0000, 0.0000, 2.0000, 3.0000]
    """
    degree = check_count("degree", degree, 0, 150)
    mean, std = np.broadcast_arrays(np.asarray(mean, float), np.asarray(std, float))
    flat_mean, flat_std = mean.ravel(), std.ravel()
    result = np.empty((flat_mean.size, degree + 2))
    reach = REACH + 2 * np.sqrt(degree)  # He_j is of order one times its norm up to 2 sqrt(j)
    for part, z, w in rules_in_parts(flat_mean, flat_std, kinks, reach=reach, nodes=_CHUNK):
        values = np.asarray(function(flat_mean[part, None] + flat_std[part, None] * z), float)
        w *= values
        values = np.broadcast_to(values, w.shape)  # a constant may be told by one number
        polynomials = hermite_values(degree, z)
        next(polynomials)  # one everywhere
        result[part, 0] = w.sum(axis=-1)
        for j, polynomial in enumerate(polynomials, 1):
            result[part, j] = np.vecdot(w, polynomial)
        result[part, -1] = np.vecdot(w, values)
    return result.reshape(*mean.shape, degree + 2)


def mehler(first: np.ndarray, second: np.ndarray, correlation: np.ndarray | float) -> np.ndarray:
    """Sum Mehler's expansion E[f(u) g(v)] = sum_j a_j b_j rho^j / j! for standard normals of correlation rho.

    Parameters
    ----------
    first, second : ndarray, shape (..., degree + 1)
        Hermite coefficients a_j = E[f(z) He_j(z)] and b_j of f and g; leading axes broadcast.
    correlation : float or ndarray
        rho in [-1, 1].

    Returns
    -------
    ndarray
        The sum over the degrees given. What is cut off is at most |rho|^(degree + 1) times the root of the
        product of the remainders E f^2 - sum_j a_j^2 / j! and likewise for g.

    Examples
    --------
    >>> a = hermite_coefficients(lambda x: x**2, 2)
    >>> float(mehler(a, a, 0.5))  # E u^2 v^2 = 1 + 2 rho^2
    1.5000
    """
    rho = np.asarray(correlation, float)
    if not (np.abs(rho) <= 1 + 1e-12).all():
        raise ValueError("correlation: must lie in [-1, 1]")
    root = np.exp(0.5 * gammaln(np.arange(1, np.shape(first)[-1] + 1)))
    product = (np.asarray(first) / root) * (np.asarray(second) / root)
    total = np.zeros(np.broadcast_shapes(product.shape[:-1], rho.shape))
    for j in reversed(range(product.shape[-1])):
        total = total * rho + product[..., j]
    return total
