"""The operator norm of a matrix that is not centred."""

import numpy as np

from firstlight.maths.checks import check_number, check_positive


def spiked_operator_norm(samples: int, dimension: int, mean: float, *, std: float = 1.0) -> float:
    """Limit of the operator norm of X = yμᵀ + Z, y = ±1, independent entries of Z with standard deviation
    `std`.

    Parameters
    ----------
    samples, dimension : int
        n and d.
    mean : float
        |μ|.
    std : float, default 1

    Returns
    -------
    float
        With θ = |μ|√n/std: std·sqrt((θ² + n)(θ² + d))/θ if θ > (nd)^(1/4), else std·(√n + √d), the edge of
        the noise.

    Examples
    --------
    >>> spiked_operator_norm(400, 100, 0.0)
    30.0
    >>> spiked_operator_norm(400, 100, 1.0)
    31.622777
    """
    for name, value, least in (("samples", samples, 1), ("dimension", dimension, 1), ("mean", mean, 0)):
        check_number(name, value, least)
    check_positive("std", std)
    theta = mean * np.sqrt(samples) / std
    if theta**2 <= np.sqrt(samples * dimension):
        return float(std * (np.sqrt(samples) + np.sqrt(dimension)))
    return float(std * np.sqrt((theta**2 + samples) * (theta**2 + dimension)) / theta)
