"""Intervals: of means over trials, over the samples of a class and over its pairs, of shares and ranks.

Cosines and movements are skewed: from 10 to 40 samples normal intervals cover 71 to 94 % at a nominal 95,
the studentised bootstrap 89 to 97 %. Means of cosines near one are the hardest: a rare sample decides.
"""

import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import norm, rankdata, t

_RESAMPLES = 999
_KEPT = 500  # samples for which resamples are drawn once: a few megabytes
_FEW = 8  # below, resamples repeat each other: Student's t


def over_trials(
    values: ArrayLike,
    lowest: float = -math.inf,
    highest: float = math.inf,
    *,
    one_sided: bool = False,
) -> tuple[float, float, float]:
    """Mean of independent trials with Student's 95 % interval; missing trials (NaN) do not count.

    Parameters
    ----------
    values : array_like, shape (trials,)
    lowest, highest : float, optional
        The range of what is measured. The interval is cut off there, which leaves its coverage as it is.
    one_sided : bool, default False
        For claims of the form "at most" or "at least": each end is a 95 % limit of its own.

    Returns
    -------
    value, low, high : float
        NaN without trials; the interval is NaN with a single one.

    Examples
    --------
    >>> over_trials([1.0, 2.0, 3.0])
    (2.000, -0.484, 4.484)
    >>> over_trials([1.0, 2.0, 3.0], lowest=1)
    (2.000, 1.000, 4.484)
    >>> over_trials([1.0, 2.0, 3.0], one_sided=True)
    (2.000, 0.314, 3.686)
    """
    array = np.asarray(values, dtype=float).ravel()
    array = array[np.isfinite(array)]
    if len(array) < 2:
        return (float(array[0]) if len(array) else np.nan), np.nan, np.nan
    mean = float(array.mean())
    level = 0.95 if one_sided else 0.975
    half = float(t.ppf(level, len(array) - 1) * array.std(ddof=1) / np.sqrt(len(array)))
    return _around(mean, half, lowest, highest)


def over_classes(
    values: ArrayLike, unseen: ArrayLike, lowest: float = -math.inf, highest: float = math.inf
) -> tuple[float, float, float]:
    """Mean of trials that each draw some of the same few classes, with an interval for other classes.

    Trials that share classes are not independent: more of them do not bring more classes. The interval adds
    the infinitesimal jackknife over the classes (Wager and Athey, 2018, for draws without replacement) to the
    error of the mean over trials, with Student's factor for the classes. With few trials it is too wide.

    Parameters
    ----------
    values : array_like, shape (trials,)
        NaN where a trial is missing.
    unseen : array_like of bool, shape (trials, classes)
        Which classes each trial measures; the same number in every trial.
    lowest, highest : float, optional
        The range of what is measured; the interval is cut off there.

    Returns
    -------
    value, low, high : float
        NaN with fewer than two trials.

    Examples
    --------
    >>> unseen = [[1, 1, 0, 0], [0, 0, 1, 1], [1, 0, 1, 0], [0, 1, 0, 1]]
    >>> over_classes([1.0, 0.0, 0.5, 0.5], unseen)
    (0.500, -1.023, 2.023)
    """
    array, members = np.asarray(values, dtype=float).ravel(), np.asarray(unseen, dtype=float)
    known = np.isfinite(array) & np.isfinite(members).all(axis=1)
    array, members = array[known], members[known]
    trials, classes = members.shape
    if trials < 2:
        return (float(array[0]) if trials else np.nan), np.nan, np.nan
    drawn = float(members.sum(axis=1).mean())
    mean, noise = float(array.mean()), float(array.var(ddof=1)) / trials
    covariance = (members - members.mean(axis=0)).T @ (array - mean) / trials
    wide = (classes - 1) / classes * (classes / (classes - drawn)) ** 2
    between = wide * float(covariance @ covariance)
    half = float(t.ppf(0.975, min(trials, classes) - 1) * np.sqrt(between + noise))
    return _around(mean, half, lowest, highest)


def rank_correlation(x: ArrayLike, y: ArrayLike) -> tuple[float, float, float]:
    """Spearman correlation of two scores with its 95 % interval: Fisher's z, after Bonett and Wright (2000).

    Parameters
    ----------
    x, y : array_like
        Of one shape; pairs with a NaN do not count. A perfect order has an interval as if one swap short.

    Returns
    -------
    value, low, high : float
        NaN with fewer than five pairs, or where a score is constant.

    Examples
    --------
    >>> rank_correlation([1, 2, 3, 4, 5, 6, 7], [2, 1, 3, 5, 4, 7, 6])
    (0.89, 0.27, 0.99)
    """
    a, b = (np.asarray(column, dtype=float).ravel() for column in (x, y))
    known = np.isfinite(a) & np.isfinite(b)
    a, b, count = a[known], b[known], int(known.sum())
    if count < 5 or np.ptp(a) == 0 or np.ptp(b) == 0:
        return np.nan, np.nan, np.nan
    value = float(np.corrcoef(rankdata(a), rankdata(b))[0, 1])
    most = 1 - 12 / (count * (count**2 - 1))
    centre = np.arctanh(np.clip(value, -most, most))
    half = 1.959964 * np.sqrt((1 + value**2 / 2) / (count - 3))
    low, high = np.tanh([centre - half, centre + half])
    return value, float(min(low, value)), float(max(high, value))


def exponent(sizes: ArrayLike, values: ArrayLike) -> tuple[float, float, float]:
    """Exponent p of a power law values ~ sizes**p, fitted trial by trial, with the interval of `over_trials`.

    Parameters
    ----------
    sizes : array_like, shape (sizes,)
    values : array_like, shape (trials, sizes)
        Positive; a trial with a NaN does not count.

    Returns
    -------
    value, low, high : float

    Examples
    --------
    >>> exponent([1, 2, 4], [[1.0, 2.1, 4.0], [1.0, 1.9, 4.0]])
    (1.00, 1.00, 1.00)
    """
    x, y = np.log(np.asarray(sizes, dtype=float)), np.log(np.asarray(values, dtype=float))
    x = x - x.mean()
    return over_trials(y @ x / (x @ x))


def mean_error(values: Sequence[float]) -> tuple[float, float]:
    """Mean of some numbers and its standard error; NaN without any, and the error with a single one.

    Examples
    --------
    >>> mean_error([1.0, 2.0, 3.0])
    (2.000, 0.577)
    """
    error = float(np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else math.nan
    return float(np.mean(values)) if len(values) else math.nan, error


def mean_bounds(values: np.ndarray, level: float) -> np.ndarray:
    """Bounds of a mean of independent values; NaN for a single one."""
    count = len(values)
    if count < 2:
        return np.full(2, np.nan)
    weights = _weights(count)
    mean = weights @ values / count
    error = np.sqrt(np.maximum(weights @ values**2 / count - mean**2, 0) / (count - 1))
    return _bounds(values.mean(), values.std(ddof=1) / np.sqrt(count), mean, error, count, level)


def pair_bounds(similarity: np.ndarray, level: float) -> np.ndarray:
    """Bounds of the mean similarity of two different samples, from all pairs (a symmetric matrix).

    Of fewer than eight samples by the jackknife: two have only one pair, and no bounds (NaN).

    Examples
    --------
    >>> x = np.random.default_rng(0).normal(size=(20, 3)) + 2
    >>> low, high = pair_bounds(x @ x.T, 0.95)
    >>> bool(low < 12 < high)
    True
    """
    count = len(similarity)
    if count < 3:
        return np.full(2, np.nan)
    pairs = similarity - np.diag(np.diag(similarity))
    others = pairs.sum(axis=1) / (count - 1)
    weights = _weights(count)
    sums = weights @ pairs
    different = count**2 - (weights**2).sum(axis=1)  # pairs of different samples in a resample
    mean = np.divide((weights * sums).sum(axis=1), different, out=np.zeros(len(sums)), where=different > 0)
    row = sums / np.maximum(count - weights, 1)
    centre = (weights * row).sum(axis=1) / count
    spread = np.maximum((weights * row**2).sum(axis=1) / count - centre**2, 0)
    # The jackknife: without a sample the mean over pairs moves by 2/(count - 2) of its row's excess.
    twice = 2 * (count - 1) / (count - 2)
    error = twice * np.sqrt(spread / (count - 1))
    return _bounds(others.mean(), twice * others.std(ddof=1) / np.sqrt(count), mean, error, count, level)


def across_bounds(similarity: np.ndarray, level: float) -> np.ndarray:
    """Bounds of the mean similarity across two classes, Student's t; NaN if one has a single member.

    Examples
    --------
    >>> across_bounds(np.array([[1.0, 2.0], [3.0, 4.0]]), 0.5).tolist()
    [1.382, 3.618]
    """
    if min(similarity.shape) < 2:
        return np.full(2, np.nan)
    parts = [similarity.mean(axis=axis) for axis in (0, 1)]
    error = np.sqrt(sum(part.var(ddof=1) / part.size for part in parts))
    wide = t.ppf(0.5 + level / 2, min(similarity.shape) - 1)
    return similarity.mean() + wide * error * np.array([-1, 1])


def share_bounds(share: np.ndarray, counts: np.ndarray, level: float) -> np.ndarray:
    """Wilson's bounds of shares of successes, which stay within [0, 1]; shape (classes, 2).

    Examples
    --------
    >>> share_bounds(np.array([1.0]), np.array([10]), 0.95).tolist()
    [[0.722, 1.000]]
    """
    z = norm.ppf(0.5 + level / 2) ** 2 / counts
    middle = (share + z / 2) / (1 + z)
    half = np.sqrt(z * share * (1 - share) + z**2 / 4) / (1 + z)
    low, high = np.maximum(middle - half, 0), np.minimum(middle + half, 1)
    return np.column_stack([np.minimum(low, share), np.maximum(high, share)])  # rounding only


def _around(mean: float, half: float, lowest: float, highest: float) -> tuple[float, float, float]:
    """Cut the interval off at the range of what is measured; the mean stays inside."""
    return mean, float(min(max(mean - half, lowest), mean)), float(max(min(mean + half, highest), mean))


def _weights(count: int) -> np.ndarray:
    """How often each sample is drawn, shape (resamples, count); the same for the same count."""
    return (_kept_weights if count <= _KEPT else _kept_weights.__wrapped__)(count)


@lru_cache(maxsize=4)
def _kept_weights(count: int) -> np.ndarray:
    drawn = np.random.default_rng(0).multinomial(count, np.full(count, 1 / count), size=_RESAMPLES)
    weights = drawn.astype(float)
    weights.flags.writeable = False
    return weights


def _bounds(
    centre: float, error: float, means: np.ndarray, errors: np.ndarray, count: int, level: float
) -> np.ndarray:
    tails = np.array([0.5 + level / 2, 0.5 - level / 2])
    if count < _FEW:
        return centre - t.ppf(tails, count - 1) * error
    known = errors > 1e-12 * max(abs(centre), 1e-300)
    if not known.any():
        return np.full(2, centre)
    return centre - np.quantile((means[known] - centre) / errors[known], tails) * error
