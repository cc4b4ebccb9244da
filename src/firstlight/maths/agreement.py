"""Do several scores rank the same items alike? Spearman, Pearson and Kendall's W, with intervals."""

from itertools import combinations

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike
from scipy.stats import rankdata

from firstlight.maths.checks import check_count, check_number
from firstlight.maths.rng import RNGLike, SeedLike, generator


def rank_agreement(
    *scores: ArrayLike, resamples: int = 2000, level: float = 0.95, rng: RNGLike | SeedLike = 0
) -> xr.Dataset:
    """Agreement of two or more scores of the same items.

    Parameters
    ----------
    *scores : array_like, each of shape (items,) or (groups, items)
        At least two scores of at least three items. With groups (training pairs, splits, ...) every group is
        judged on its own items, and the statistics are averaged over the groups.
    resamples : int, default 2000
        Bootstrap resamples, of the groups if there are any, else of the items; 0 for none.
    level : float, default 0.95
        Coverage of the percentile intervals, in (0, 1).
    rng : int, Generator, ... default 0
        For the resampling.

    Returns
    -------
    Dataset
        ``spearman``, ``pearson`` (with more than two scores: the mean over pairs of scores) and ``kendall_w``
        (1 = same order, 0 = none; corrected for ties); for each an interval ``…_interval`` along ``bound``;
        and ``undefined``, how many groups were left out because a score is constant there.

    Examples
    --------
    >>> agreement = rank_agreement([1, 2, 3, 4, 5], [1, 4, 9, 16, 25])
    >>> float(agreement.spearman), float(agreement.kendall_w), float(agreement.pearson)
    (1.000, 1.000, 0.981)
    """
    check_number("level", level, above=0, below=1)
    check_count("resamples", resamples, 0)
    table = _table(scores)
    random = generator(rng)
    if table.ndim == 3:  # scores, groups, items
        parts = _statistics(table)
        groups = parts.shape[1]
        drawn = (random.integers(groups, size=groups) for _ in range(resamples))
        samples = np.array([_mean(parts[:, pick]) for pick in drawn])
        centre, undefined = _mean(parts), int(np.isnan(parts[0]).sum())
    else:
        items = table.shape[1]
        picks = random.integers(items, size=(resamples, items))
        samples = _statistics(table[:, picks]).T if resamples else np.empty((0, 3))
        centre = _statistics(table[:, None])[:, 0]
        undefined = int(np.isnan(centre[0]))
    return _dataset(centre, samples, level, undefined)


def spearman(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Spearman's correlations along the last axis, NaN where a score is constant: shape S of two (S, items).

    Examples
    --------
    >>> spearman(np.array([[1, 2, 3], [1, 2, 3]]), np.array([[1, 4, 9], [3, 2, 1]])).tolist()
    [1.000, -1.000]
    """
    return _correlation(rankdata(np.stack([first, second]), axis=-1))


def _table(scores: tuple[ArrayLike, ...]) -> np.ndarray:
    arrays = [np.asarray(score, float) for score in scores]
    if len(arrays) < 2:
        raise ValueError(f"scores: {len(arrays)} given; at least two are needed")
    shapes = {a.shape for a in arrays}
    if len(shapes) > 1 or arrays[0].ndim not in (1, 2):
        raise ValueError(f"scores: shapes {sorted(shapes)}; all must be (items,) or all (groups, items)")
    if arrays[0].shape[-1] < 3 or 0 in arrays[0].shape:
        raise ValueError(f"scores: {arrays[0].shape[-1]} items; at least 3 are needed to compare orders")
    if not all(np.isfinite(a).all() for a in arrays):
        raise ValueError("scores: hold NaN or infinite values; leave out such items first")
    return np.stack(arrays)


def _statistics(table: np.ndarray) -> np.ndarray:
    """Spearman, Pearson and W for scores (m, groups, k): shape (3, groups); NaN where a score is constant."""
    ranks = rankdata(table, axis=-1)
    return np.stack([_correlation(ranks), _correlation(table), _kendall_w(ranks)])


def _correlation(table: np.ndarray) -> np.ndarray:
    centred = table - table.mean(axis=-1, keepdims=True)
    size = np.sqrt((centred**2).sum(axis=-1, keepdims=True))
    constant = size <= 1e-14 * np.abs(table).max(axis=-1, keepdims=True)
    unit = np.divide(centred, size, out=np.full_like(centred, np.nan), where=~constant)
    pairs = [(unit[a] * unit[b]).sum(axis=-1) for a, b in combinations(range(len(table)), 2)]
    return np.mean(pairs, axis=0)


def _kendall_w(ranks: np.ndarray) -> np.ndarray:
    raters, _, items = ranks.shape
    total = ranks.sum(axis=0)
    spread = ((total - total.mean(axis=-1, keepdims=True)) ** 2).sum(axis=-1)
    # sum over tied sets of (t³ - t) = (k³ - k) - 12 × the sum of squares that is left in the ranks
    left = ((ranks - (items + 1) / 2) ** 2).sum(axis=-1)
    largest = raters * left.sum(axis=0)
    constant = (left == 0).any(axis=0)
    return np.divide(spread, largest, out=np.full(spread.shape, np.nan), where=~constant & (largest > 0))


def _mean(parts: np.ndarray) -> np.ndarray:
    """Mean over the groups where the statistics exist; NaN if there is none."""
    known = ~np.isnan(parts).any(axis=0)
    return parts[:, known].mean(axis=1) if known.any() else np.full(len(parts), np.nan)


def _dataset(centre: np.ndarray, samples: np.ndarray, level: float, undefined: int) -> xr.Dataset:
    known = samples[~np.isnan(samples).any(axis=1)]
    tail = 50 * (1 - level)
    variables: dict[str, tuple] = {"undefined": ((), undefined)}
    for place, name in enumerate(("spearman", "pearson", "kendall_w")):
        bounds = np.percentile(known[:, place], [tail, 100 - tail]) if len(known) else [np.nan, np.nan]
        variables[name] = ((), centre[place])
        variables[f"{name}_interval"] = ("bound", bounds)
    return xr.Dataset(variables, {"bound": ["low", "high"]}, {"level": level})
