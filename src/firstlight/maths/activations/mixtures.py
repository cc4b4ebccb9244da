"""Duals of smooth activations in closed form, or as sums of closed forms.

The logistic function is a mixture of normal distribution functions, σ(z) = E Φ(a z) with 1/(2a) distributed
as Kolmogorov's statistic (Stefanski, 1991). So whatever it is a part of (tanh, softplus, SiLU) has a dual
that is a double sum over scales of the dual of Φ, of its integral or of its derivative, each in closed form.
The sums hold for any variances and correlation, at hundreds of terms a pair: for pairs at which Mehler's
series is too long.
"""

from functools import lru_cache

import numpy as np

from firstlight.maths.activations.duals import Dual

_SPACING, _FROM, _TO = 0.13, np.log(0.125), np.log(4.7)  # of log k: the mass beyond is below 1e-17


@lru_cache
def logistic_scales() -> tuple[np.ndarray, np.ndarray]:
    """Return scales a and weights w with 1/(1 + exp(-z)) = sum w Φ(a z) to rounding.

    The trapezoidal rule for Kolmogorov's density over the logarithm of its argument, which converges
    exponentially.

    Examples
    --------
    >>> from scipy.special import ndtr
    >>> a, w = logistic_scales()
    >>> bool(abs(w @ ndtr(2 * a) - 1 / (1 + np.exp(-2))) < 1e-13)
    True
    """
    k = np.exp(np.arange(_FROM, _TO, _SPACING))[:, None]
    n = np.arange(1, 40)
    # both forms of the density: each converges at once on its side
    far = 8 * k * (-1.0) ** (n + 1) * n**2 * np.exp(-2 * (n * k) ** 2)
    odd = (2 * n - 1) * np.pi / k
    near = np.sqrt(2 * np.pi) / k**2 * (odd**2 / 4 - 1) * np.exp(-(odd**2) / 8)
    density = np.where(k > 0.6, far, near).sum(axis=1)
    weights = density * k[:, 0] * _SPACING
    return 1 / (2 * k[:, 0]), weights / weights.sum()


def _scaled(
    q: np.ndarray, p: np.ndarray, c: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return a size s, c/s, (qp - c²)/s², and the root of the determinant of the covariance plus one, over s.

    Products of variances may overflow; these do not.
    """
    size = np.maximum(np.maximum(q, p), 1.0)
    one, other, both = q / size, p / size, c / size
    minor = np.maximum(one * other - both * both, 0)
    return size, both, minor, np.sqrt((1 / size + one + other) / size + minor)


def centred_cdf(q: np.ndarray, p: np.ndarray, c: np.ndarray) -> np.ndarray:
    """σ = Φ - 1/2: the arc-sine kernel (Williams, 1997)."""
    return np.arcsin(np.clip(c / (np.sqrt(1 + q) * np.sqrt(1 + p)), -1, 1)) / (2 * np.pi)


def normal_cdf(q: np.ndarray, p: np.ndarray, c: np.ndarray) -> np.ndarray:
    """σ = Φ: 1/4 more than the kernel above, without its cancellation near correlation -1."""
    _, both, _, root = _scaled(q, p, c)
    return np.asarray(np.arctan2(root, -both) / (2 * np.pi))


def normal_density(q: np.ndarray, p: np.ndarray, c: np.ndarray) -> np.ndarray:
    """σ = Φ'."""
    size, _, _, root = _scaled(q, p, c)
    return 1 / (2 * np.pi * size * root)


def normal_bend(q: np.ndarray, p: np.ndarray, c: np.ndarray) -> np.ndarray:
    """σ = Φ''."""
    size, both, _, root = _scaled(q, p, c)
    return both / (2 * np.pi * root) / (size * root) / (size * root)


def normal_integral(q: np.ndarray, p: np.ndarray, c: np.ndarray) -> np.ndarray:
    """σ(z) = z Φ(z) + Φ'(z), the integral of Φ."""
    size, _, _, root = _scaled(q, p, c)
    return size * root / (2 * np.pi) + c * normal_cdf(q, p, c)


def gelu(q: np.ndarray, p: np.ndarray, c: np.ndarray) -> np.ndarray:
    """σ(z) = z Φ(z) (Tsuchida, Pearce, van der Heide, Roosta and Gallagher, 2021)."""
    size, both, minor, root = _scaled(q, p, c)
    above = minor + both * both / (1 + q) + both * both / (1 + p)
    return size * (above / (2 * np.pi * root)) + c * normal_cdf(q, p, c)


def gelu_slope(q: np.ndarray, p: np.ndarray, c: np.ndarray) -> np.ndarray:
    """σ(z) = Φ(z) + z Φ'(z)."""
    _, both, _, root = _scaled(q, p, c)
    once = both * (1 / (1 + q) + 1 / (1 + p)) / (2 * np.pi * root)
    return normal_cdf(q, p, c) + once + normal_bend(q, p, c)


def mixed(base: Dual, power: int = 0, stretch: float = 1.0, factor: float = 1.0) -> Dual:
    """Return the dual of σ(z) = factor Σ w a^power f(stretch a z), f having the dual `base`."""

    def dual(q: np.ndarray, p: np.ndarray, c: np.ndarray) -> np.ndarray:
        scales, weights = logistic_scales()
        terms, scales = factor * weights * scales**power, stretch * scales
        total = np.zeros(np.broadcast_shapes(q.shape, p.shape, c.shape))
        for term, a in zip(terms, scales, strict=True):
            for other, b in zip(terms, scales, strict=True):
                total += term * other * base(a * a * q, b * b * p, a * b * c)
        return total

    return dual


def tanh_squared(q: np.ndarray, p: np.ndarray, c: np.ndarray) -> np.ndarray:
    """tanh² = 1 - tanh'. Small variances cancel; Mehler's series has those."""
    scales, weights = logistic_scales()

    def mean(variance: np.ndarray) -> np.ndarray:
        spread = np.sqrt(2 * np.pi * (1 + np.multiply.outer(variance, 4 * scales**2)))
        return np.asarray((4 * weights * scales / spread).sum(axis=-1))

    return 1 - mean(q) - mean(p) + TANH_SLOPE(q, p, c)


LOGISTIC, LOGISTIC_SLOPE = mixed(normal_cdf), mixed(normal_density, 1)
TANH = mixed(centred_cdf, stretch=2.0, factor=2.0)  # tanh(z) is twice the logistic of 2z, less one
TANH_SLOPE = mixed(normal_density, 1, 2.0, 4.0)
TANH_BEND = mixed(normal_bend, 2, 2.0, 8.0)
SOFTPLUS = mixed(normal_integral, -1)
SILU, SILU_SLOPE = mixed(gelu, -1), mixed(gelu_slope)
