"""Estimates from the trials of a study: of a mean, of the largest of several means, of a share."""

import math
from typing import Any

import numpy as np
import xarray as xr
from scipy.stats import binomtest, t

from firstlight.maths.intervals import over_trials
from firstlight.study.claims import FEWEST, Estimate


def mean(
    label: str,
    values: xr.DataArray,
    lowest: float = -math.inf,
    highest: float = math.inf,
    *,
    one_sided: bool = False,
    **rule: Any,
) -> Estimate:
    """Estimate a mean over trials; trials without a value do not count.

    Values that are all the same have no interval: with few trials, no spread is no certainty.

    Parameters
    ----------
    values : DataArray
        Dims: ``trial``, and any other.
    lowest, highest, one_sided
        As in `over_trials`.
    **rule
        Border and side of the `Estimate`.

    Examples
    --------
    >>> print(mean("gap", xr.DataArray([1.0, 2.0, 3.0, np.nan], dims="trial")))
    gap: 2.00 [-0.48, 4.48], no effect seen
    >>> print(mean("gap", xr.DataArray([1.0, 1.0, 1.0], dims="trial")))
    gap: 1.00, no interval
    """
    value, low, high = over_trials(values, lowest, highest, one_sided=one_sided)
    seen = values.notnull()
    trials = int(seen.any([dim for dim in seen.dims if dim != "trial"]).sum())
    if trials > 1 and float(values.max()) == float(values.min()):
        low = high = math.nan
    return Estimate(label, value, low, high, **rule, trials=trials)


def largest(
    label: str, values: xr.DataArray, lowest: float = 0.0, *, one_sided: bool = True, **rule: Any
) -> Estimate:
    """Estimate the largest of several means over trials, of which a claim says that none is too large.

    The claim holds if it does at every point, so the upper end is the largest of the points' own 95 % limits.
    Refuting it takes one of many points: the lower end is the largest of their limits at 95 % together
    (Bonferroni), for the largest of many is large by chance as well.

    Parameters
    ----------
    values : DataArray
        Dims: any, and ``trial``. Points with fewer than three trials are left out.
    lowest : float, default 0
        The least that is possible.

    Returns
    -------
    Estimate
        The value is the largest mean.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> ratios = xr.DataArray(1 + 0.1 * rng.normal(size=(50, 4)), dims=("n", "trial"))  # all of mean 1
    >>> print(largest("ratio", ratios, border=1.0, side="below"))
    ratio: 1.09 [0.92, 1.25], not decided
    """
    flat = values.transpose(..., "trial").values.reshape(-1, values.sizes["trial"])
    known = flat[np.isfinite(flat).sum(axis=1) >= FEWEST]
    if not len(known):
        return Estimate(label, math.nan, math.nan, math.nan, **rule)
    counts, means = np.isfinite(known).sum(axis=1), np.nanmean(known, axis=1)
    error, tail = np.nanstd(known, axis=1, ddof=1) / np.sqrt(counts), 0.05 if one_sided else 0.025
    lows = means - t.ppf(1 - tail / len(known), counts - 1) * error
    highs = means + t.ppf(1 - tail, counts - 1) * error
    value, spread = float(means.max()), error > 0
    low, high = (float(ends[spread].max()) if spread.any() else math.nan for ends in (lows, highs))
    return Estimate(
        label, value, min(max(low, lowest), value), max(high, value), **rule, trials=int(counts.min())
    )


def share(label: str, found: int, of: int, *, trials: int, one_sided: bool = False, **rule: Any) -> Estimate:
    """Estimate a share of independent cases by Clopper and Pearson's interval, which knows that 0 is luck.

    Parameters
    ----------
    found, of : int
        How many cases of how many.
    trials : int
        In how many trials they were seen.
    one_sided : bool, default False
        Each end is a 95 % limit of its own.

    Examples
    --------
    >>> print(share("dead", 0, 150, trials=3, one_sided=True, border=0.02, side="below"))
    dead: 0.0000 [0.0000, 0.0198]
    """
    if not of:
        return Estimate(label, math.nan, math.nan, math.nan, **rule, trials=trials)
    ends = binomtest(found, of).proportion_ci(0.9 if one_sided else 0.95, method="exact")
    return Estimate(label, found / of, float(ends.low), float(ends.high), **rule, trials=trials)
