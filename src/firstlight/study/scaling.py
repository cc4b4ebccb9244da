"""Finite-size scaling: how fast does the gap between theory and experiment shrink with the size?"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike

from firstlight.maths.checks import check_count
from firstlight.maths.rng import RNGLike, SeedLike
from firstlight.study.compare import compare, seed_of
from firstlight.study.problem import Problem
from firstlight.study.provenance import provenance


@dataclass(frozen=True)
class Rate:
    """A power law ``|gap| ~ size**slope``, fitted in logarithms.

    Attributes
    ----------
    slope, sem : float
        The exponent and its standard error from the noise of the gaps; NaN where no fit is possible.
    note : str
        In words: the rate, or why there is none.

    Examples
    --------
    >>> Rate(-0.5, 0.1, "gap ~ size^(-0.50 ± 0.10)").slope
    -0.5
    """

    slope: float
    sem: float
    note: str


def fit_rate(sizes: ArrayLike, gap: ArrayLike, gap_sem: ArrayLike, *, power: int = 1) -> Rate:
    """Fit the exponent with which a gap shrinks, by weighted least squares in the logarithms.

    Parameters
    ----------
    sizes : array_like
        At least two different positive sizes.
    gap, gap_sem : array_like
        The (signed) gap at each size, and its standard error.
    power : int, default 1
        2 if `gap` holds squares (with the noise's share taken off); the rate is that of the gap all the same.

    Returns
    -------
    Rate
        Without a slope when a gap is within two standard errors of zero: only noise could be fitted then.

    Examples
    --------
    >>> fit_rate([100, 200, 400], [0.1, 0.05, 0.025], [0.001, 0.001, 0.001]).note
    'gap ~ size^(-1.00 ± 0.02)'
    >>> fit_rate([100, 200], [0.1, 0.001], [0.01, 0.01]).note
    'no rate: the gap at size 200 is within two standard errors of zero; run more trials'
    """
    size, height, noise = (np.asarray(column, dtype=float) for column in (sizes, gap, gap_sem))
    usable = np.isfinite(height) & np.isfinite(noise) & (size > 0)
    size, noise = size[usable], noise[usable]
    height = np.abs(height[usable]) if power == 1 else height[usable]
    if np.unique(size).size < 2:
        return Rate(np.nan, np.nan, "no rate: it needs two sizes with a gap and two trials each")
    if (buried := height <= 2 * noise).any():
        worst = size[np.flatnonzero(buried)[0]]
        note = f"no rate: the gap at size {worst:g} is within two standard errors of zero; run more trials"
        return Rate(np.nan, np.nan, note)
    # The logarithm of a gap has standard error noise / gap; exact gaps (noise 0) are weighted alike.
    error = noise / height
    weight = np.ones_like(error) if (error == 0).any() else error**-2
    x = np.log(size) - np.average(np.log(size), weights=weight)
    slope = float(np.sum(weight * x * np.log(height)) / np.sum(weight * x**2)) / power
    sem = float(np.sqrt(np.sum((weight * x * error) ** 2)) / np.sum(weight * x**2)) / power
    return Rate(slope, sem, f"gap ~ size^({slope:.2f} ± {sem:.2f})")


def scaling(
    make_problem: Callable[[int], Problem],
    sizes: int | Sequence[int],
    trials: int = 8,
    rng: RNGLike | SeedLike = None,
    **options: Any,
) -> xr.Dataset:
    """Run one comparison at several sizes and fit how its gap shrinks.

    Parameters
    ----------
    make_problem : callable
        Makes the Problem of a given size; what grows with the size is its own affair.
    sizes : int or sequence of int
        A single n stands for (n, 2n, 4n).
    trials : int, default 8
        Trials at each size.
    rng : int, Generator, SeedSequence, BitGenerator or None
        As in `compare`.
    **options
        Handed to `compare`.

    Returns
    -------
    xarray.Dataset
        What `compare` returns, along a dimension ``size``; and for each observable ``o`` the exponent
        ``o_rate``, its standard error ``o_rate_sem``, and ``o_rate_note`` in words.

    Examples
    --------
    >>> from firstlight.study.demo import Exponential
    >>> found = scaling(lambda n: Exponential(samples=n), 3, trials=800, rng=1)
    >>> found["size"].values.tolist(), str(found["variance_rate_note"].values)
    ([3, 6, 12], 'gap ~ size^(-1.06 ± 0.18)')
    """
    chosen = [sizes, 2 * sizes, 4 * sizes] if isinstance(sizes, (int, np.integer)) else list(sizes)
    for size in chosen:
        check_count("sizes", size, 1)
    if len(set(chosen)) < 2:
        raise ValueError(f"sizes = {chosen}: must hold at least two different sizes")
    seed = seed_of(rng)
    runs = [compare(make_problem(size), trials, seed, **options) for size in chosen]
    joined = xr.concat(
        runs, xr.Variable("size", chosen), data_vars="all", coords="minimal", compat="override",
        join="exact", combine_attrs="drop",
    )  # fmt: skip
    for name in [str(name)[: -len("_gap")] for name in joined.data_vars if str(name).endswith("_gap")]:
        gap, noise = (joined[f"{name}_{part}"].transpose("size", ...) for part in ("gap", "gap_sem"))
        shape = gap.shape[1:]
        columns = zip(
            gap.values.reshape(len(chosen), -1).T, noise.values.reshape(len(chosen), -1).T, strict=True
        )
        rates = [fit_rate(chosen, *column) for column in columns]
        for part, values in _columns(rates).items():
            joined[f"{name}_{part}"] = (gap.dims[1:], np.reshape(values, shape))
    shown = {"sizes": chosen, "trials": trials, **options}
    command = f"firstlight.study.scaling(make_problem, {chosen}, trials={trials}, rng={seed})"
    return joined.assign_attrs(provenance(shown, seed, command))


def _columns(rates: Sequence[Rate]) -> dict[str, list[Any]]:
    return {
        "rate": [rate.slope for rate in rates],
        "rate_sem": [rate.sem for rate in rates],
        "rate_note": [rate.note for rate in rates],
    }
