"""Operator norms of non-centred matrices: the bound that holds, and the exact value of a spiked one."""

import numpy as np


def operator_norm_bound(
    rows: int,
    columns: int,
    mean_norm: float,
    *,
    scale: float = 1.0,
    deviation: float = 0.0,
    constant: float = 1.0,
) -> float:
    """Bound the operator norm of a matrix with independent sub-Gaussian entries that need not be centred.

    Parameters
    ----------
    rows, columns : int
        m and n.
    mean_norm : float
        Operator norm of the mean matrix, |E A|. Without this term the bound is false: the matrix of ones
        has norm √(mn).
    scale : float, default 1
        K, the largest sub-Gaussian norm of a centred entry; for normals the standard deviation.
    deviation : float, default 0
        u: the bound fails with probability at most 2 exp(-u²/2) for normals with constant 1.
    constant : float, default 1
        C, absolute; 1 is right for normals and, on average, for bounded symmetric entries.

    Returns
    -------
    float
        |E A| + C K (√m + √n + u).

    Examples
    --------
    >>> operator_norm_bound(100, 25, mean_norm=50.0)
    65.0
    """
    at_least = {"rows": (rows, 1), "columns": (columns, 1), "mean_norm": (mean_norm, 0)}
    at_least |= {"scale": (scale, 0), "deviation": (deviation, 0), "constant": (constant, 0)}
    for name, (value, least) in at_least.items():
        if not (np.isfinite(value) and value >= least):
            raise ValueError(f"{name} = {value}: must be finite and at least {least}")
    return float(mean_norm + constant * scale * (np.sqrt(rows) + np.sqrt(columns) + deviation))


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
        if not (np.isfinite(value) and value >= least):
            raise ValueError(f"{name} = {value}: must be finite and at least {least}")
    if not 0 < std < np.inf:
        raise ValueError(f"std = {std}: must be positive")
    theta = mean * np.sqrt(samples) / std
    if theta**2 <= np.sqrt(samples * dimension):
        return float(std * (np.sqrt(samples) + np.sqrt(dimension)))
    return float(std * np.sqrt((theta**2 + samples) * (theta**2 + dimension)) / theta)
