"""The limit of the test error, from the Marchenko-Pastur law alone: no data is drawn here."""

from math import sqrt


def stieltjes(ridge: float, aspect: float) -> tuple[float, float]:
    """Return m(λ), the mean of 1 / (s + λ) over the limiting spectrum of XᵀX / n, and -dm/dλ, at γ = d / n.

    m solves γλm² + (1 - γ + λ)m = 1; the derivative follows by differentiating that equation.
    """
    b = 1 - aspect + ridge
    root = sqrt(b**2 + 4 * aspect * ridge)
    m = 2 / (root + b) if b > 0 else (root - b) / (2 * aspect * ridge)  # equal; neither cancels on its side
    return m, m * (1 + aspect * m) / (2 * aspect * ridge * m + b)


def limiting_error(dimension: int, samples: int, ridge: float, signal: float, noise: float) -> float:
    """Return σ² + σ²γ(m - λm′) + r²λ²m′: the noise, the variance and the bias."""
    aspect = dimension / samples
    m, slope = stieltjes(ridge, aspect)
    return noise**2 * (1 + aspect * (m - ridge * slope)) + (signal * ridge) ** 2 * slope
