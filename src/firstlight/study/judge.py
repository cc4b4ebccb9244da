"""The verdict: does experiment agree with theory, given its noise, and how does the gap shrink with size?"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike
from scipy.special import ndtri, stdtrit

AGREES, DIFFERS, UNDECIDED, NO_PREDICTION = "agrees", "differs", "undecided", "no prediction"
ROUNDING = 1e-12  # of an observable's scale: what sums of thousands of rounded products may leave of a zero


def trial_mean(values: xr.DataArray, dim: str = "trial") -> tuple[xr.DataArray, xr.DataArray]:
    """Return the mean over trials and its standard error; missing trials (NaN) do not count.

    Parameters
    ----------
    values : DataArray
        With the dimension `dim` of trials.
    dim : str, default "trial"

    Returns
    -------
    mean, sem : DataArray
        NaN without trials; the standard error is NaN with fewer than two, and of infinite values.

    Examples
    --------
    >>> mean, sem = trial_mean(xr.DataArray([1.0, 2.0, 3.0, np.nan], dims="trial"))
    >>> float(mean), float(sem)
    (2.0000, 0.577350)
    """
    parts = xr.apply_ufunc(_mean_and_error, values, input_core_dims=[[dim]], output_core_dims=[[], []])
    return parts[0], parts[1]


def _mean_and_error(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean and standard error over the last axis, without what is missing."""
    values = values.astype(float)
    there = ~np.isnan(values)
    count = there.sum(axis=-1)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.where(there, values, 0.0).sum(axis=-1) / np.where(count > 0, count, np.nan)
        # infinite values: NaN, and no error of 0
        square = np.where(there, (values - mean[..., None]) ** 2, 0.0).sum(axis=-1)
        return mean, np.sqrt(square / np.where(count > 1, count - 1, np.nan) / count)


def standard_errors(parts: xr.Dataset, dim: str) -> dict[str, xr.DataArray]:
    """Return the standard error of every variable's mean over independent repetitions, as ``name_sem``.

    Few repetitions tell an error poorly; it is widened so that 1.96 of it hold as often as Student's interval
    does. Where not all repetitions have a value, those that have count.

    Parameters
    ----------
    parts : Dataset
        With a dimension `dim` of repetitions.

    Returns
    -------
    dict of DataArray
        NaN with fewer than two repetitions.

    Examples
    --------
    >>> float(standard_errors(xr.Dataset({"x": ("draw", [1.0, 2.0, 3.0])}), "draw")["x_sem"])
    1.267
    """
    return {
        f"{name}_sem": _student(values.notnull().sum(dim)) / ndtri(0.975) * trial_mean(values, dim)[1]
        for name, values in parts.data_vars.items()
    }


def judge(
    values: xr.DataArray,
    predicted: xr.DataArray,
    predicted_sem: xr.DataArray | None = None,
    *,
    tolerance: float = 0.05,
    absolute: float = 0.0,
) -> xr.Dataset:
    """Compare trials with a prediction.

    Parameters
    ----------
    values : DataArray
        The experiment, with a dimension ``trial``. With ``attrs["binary"]`` each trial is a yes or no (1 or
        0); its error then is that of two more trials of either kind (Agresti and Coull), and never zero. With
        ``attrs["scale"]`` (or the prediction's) gaps below 1e-12 of it are rounding (see `with_scales`).
    predicted : DataArray
        The theory; NaN where it has nothing to say. With a dimension ``trial`` the comparison is paired: the
        noise that both share cancels in the differences.
    predicted_sem : DataArray, optional
        The prediction's own standard error; default 0. Not for a paired comparison, whose differences already
        spread by it.
    tolerance : float, default 0.05
        Relative gap up to which they agree.
    absolute : float, default 0.0
        Added to the allowed gap; the only allowance where the prediction is zero.

    Returns
    -------
    Dataset
        ``mean``, ``sem`` (of the trials), ``z`` (gap over its standard error), ``gap`` (relative, signed),
        ``gap_sem``, and ``verdict``: "agrees" where the 95 % interval of the gap (Student's, all errors
        counted) lies within the tolerance, "differs" where it lies wholly outside, "undecided" otherwise, and
        "no prediction". Where it is undecided ``trials_needed`` says about how many trials in all would
        decide if the gap stayed as it is (infinitely many where the prediction's own error is too large); it
        is NaN elsewhere, and where a single trial tells no error.

    Examples
    --------
    >>> verdict = judge(xr.DataArray([1.0, 1.02, 0.99], dims="trial"), xr.DataArray(1.0))
    >>> float(verdict["gap"]), str(verdict["verdict"].values)
    (0.0033, 'agrees')
    >>> verdict = judge(xr.DataArray([1.0, 1.1, 0.9], dims="trial"), xr.DataArray(1.0))
    >>> str(verdict["verdict"].values), float(verdict["trials_needed"])
    ('undecided', 18.0)
    """
    own = xr.DataArray(0.0) if predicted_sem is None else predicted_sem
    with xr.set_options(arithmetic_join="exact"):
        mean, sem = trial_mean(values)
        difference, noise = trial_mean(values - predicted)
        if values.attrs.get("binary"):
            noise = _binomial_sem(values)
        level = abs(trial_mean(predicted)[0] if "trial" in predicted.dims else predicted.astype(float))
        count = (values - predicted).notnull().sum("trial")
        rounding = ROUNDING * max(array.attrs.get("scale", 0.0) for array in (values, predicted))
        margin = abs(difference) - (tolerance * level + absolute + rounding)
        error = (noise**2 + own**2) ** 0.5
        reach = _student(count) * error
    with np.errstate(divide="ignore", invalid="ignore"):
        z, gap, gap_sem = difference / error, difference / level, error / level
        needed: Any = count * np.inf
        for _ in range(4):  # Student's factor depends on the answer
            left = (margin / _student(needed)) ** 2 - own**2  # for the variance of the mean over trials
            needed = np.ceil(count * noise**2 / left).where(left > 0, np.inf)
    silent, inside, outside = xr.broadcast(level.isnull(), margin + reach <= 0, margin - reach > 0)
    words = np.select([silent, inside, outside], [NO_PREDICTION, AGREES, DIFFERS], UNDECIDED)
    verdict = silent.copy(data=words)
    needed = np.maximum(needed, count + 1).where((verdict == UNDECIDED) & noise.notnull())
    parts = {"z": z, "gap": gap, "gap_sem": gap_sem, "verdict": verdict, "trials_needed": needed}
    return xr.Dataset({"mean": mean, "sem": sem, **parts})


def _binomial_sem(values: xr.DataArray) -> xr.DataArray:
    count = values.notnull().sum("trial") + 4
    share = (values.sum("trial") + 2) / count
    return (share * (1 - share) / count) ** 0.5


def _student(count: Any) -> Any:
    """Half the length of a 95 % interval of a mean over `count` values, in standard errors."""
    return stdtrit(np.maximum(count - 1, 1), 0.975)


def overall(verdicts: ArrayLike, trials_needed: ArrayLike | None = None) -> str:
    """Sum up many verdicts, and how many trials are needed, in one line; both as `judge` gives them.

    Examples
    --------
    >>> overall(np.array(["agrees", "agrees", "undecided"]))
    'agrees at 2 of 3 points (1 undecided)'
    >>> overall(np.array(["agrees", "no prediction", "no prediction"]))
    'agrees at 1 of 1 points (no prediction at 2)'
    >>> overall(np.array(["undecided", "undecided"]), np.array([30.0, 50.0]))
    'undecided at 2 of 2 points (about 30 to 50 trials would decide)'
    """
    words = np.asarray(verdicts).ravel()
    agreeing, differing, open_, silent = (
        int((words == word).sum()) for word in (AGREES, DIFFERS, UNDECIDED, NO_PREDICTION)
    )
    if silent == words.size:
        return "has nothing to compare with"
    # the first of these leads, so that "agrees at 0" never stands for "too few trials"
    counts = {"agrees": agreeing, "differs": differing, "undecided": open_}
    lead = next(word for word, count in counts.items() if count)
    rest = {
        f"{differing} differ": differing and lead != "differs",
        f"{open_} undecided": open_ and lead != "undecided",
        _how_many(trials_needed): open_ and trials_needed is not None,
        f"no prediction at {silent}": silent,
    }
    said = ", ".join(text for text, wanted in rest.items() if wanted)
    return f"{lead} at {counts[lead]} of {words.size - silent} points" + (f" ({said})" if said else "")


def _how_many(trials_needed: ArrayLike | None) -> str:
    """Say how many trials would decide the undecided ones."""
    needed = np.asarray([] if trials_needed is None else trials_needed, dtype=float).ravel()
    needed = needed[~np.isnan(needed)]
    if not needed.size:
        return "one trial has no standard error"
    finite = needed[np.isfinite(needed)]
    if not finite.size:
        return "the prediction's own error is too large to decide"
    low, high = (f"{float(f'{value:.2g}'):,.0f}" for value in (finite.min(), finite.max()))
    return f"about {low} trials would decide" if low == high else f"about {low} to {high} trials would decide"


@dataclass(frozen=True)
class Rate:
    """A power law ``|gap| ~ size**slope``, fitted in logarithms.

    Attributes
    ----------
    slope, sem : float
        The exponent and its standard error from the noise of the gaps; NaN where no fit is possible.
    note : str
        In words: the rate, or why there is none.
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
