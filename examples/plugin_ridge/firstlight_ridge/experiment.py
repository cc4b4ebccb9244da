"""Ridge regression on data that are drawn: the theory's formulas are not imported here."""

import numpy as np


def fitted_error(
    dimension: int, samples: int, ridge: float, signal: float, noise: float, rng: np.random.Generator
) -> float:
    """Fit (XᵀX / n + λ)⁻¹ Xᵀy / n and return its exact error on fresh isotropic data."""
    truth = rng.normal(size=dimension)
    truth *= signal / np.linalg.norm(truth)
    x = rng.normal(size=(samples, dimension))
    y = x @ truth + noise * rng.normal(size=samples)
    fit = np.linalg.solve(x.T @ x / samples + ridge * np.eye(dimension), x.T @ y / samples)
    return float(noise**2 + np.sum((fit - truth) ** 2))
