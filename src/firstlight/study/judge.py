"""The verdict: does an experiment agree with a theory, given its noise?"""

import numpy as np
import xarray as xr

AGREES, DIFFERS, UNDECIDED, NO_PREDICTION = "agrees", "differs", "undecided", "no prediction"


def trial_mean(values: xr.DataArray) -> tuple[xr.DataArray, xr.DataArray]:
    """Return the mean over trials and its standard error; missing trials (NaN) do not count.

    Parameters
    ----------
    values : DataArray
        With a dimension ``trial``.

    Returns
    -------
    mean, sem : DataArray
        NaN without trials; the standard error is NaN with fewer than two.

    Examples
    --------
    >>> mean, sem = trial_mean(xr.DataArray([1.0, 2.0, 3.0, np.nan], dims="trial"))
    >>> float(mean), round(float(sem), 6)
    (2.0, 0.57735)
    """
    values = values.astype(float)
    count = values.notnull().sum("trial")
    mean = values.sum("trial") / count.where(count > 0)
    spread = ((values - mean) ** 2).sum("trial") / (count - 1).where(count > 1)
    return mean, (spread / count.where(count > 0)) ** 0.5


def judge(
    values: xr.DataArray, predicted: xr.DataArray, *, tolerance: float = 0.05, absolute: float = 0.0
) -> xr.Dataset:
    """Compare trials with a prediction.

    Parameters
    ----------
    values : DataArray
        The experiment, with a dimension ``trial``.
    predicted : DataArray
        The theory; NaN where it has nothing to say. With a dimension ``trial`` the comparison is paired: the
        noise that both share cancels in the differences.
    tolerance : float, default 0.05
        Relative gap up to which they agree.
    absolute : float, default 0.0
        Added to the allowed gap; the only allowance where the prediction is zero.

    Returns
    -------
    Dataset
        ``mean``, ``sem`` (of the trials), ``z`` (gap over its standard error), ``gap`` (relative, signed),
        ``gap_sem``, and ``verdict``: "agrees" where the interval gap ± 2 standard errors lies within the
        tolerance, "differs" where it lies wholly outside, "undecided" otherwise (more trials would tell), and
        "no prediction".

    Examples
    --------
    >>> found = judge(xr.DataArray([1.0, 1.02, 0.99], dims="trial"), xr.DataArray(1.0))
    >>> round(float(found["gap"]), 4), str(found["verdict"].values)
    (0.0033, 'agrees')
    """
    with xr.set_options(arithmetic_join="exact"):
        mean, sem = trial_mean(values)
        difference, difference_sem = trial_mean(values - predicted)
        level = abs(trial_mean(predicted)[0] if "trial" in predicted.dims else predicted.astype(float))
        allowed = tolerance * level + absolute
        inside = abs(difference) + 2 * difference_sem <= allowed
        outside = abs(difference) - 2 * difference_sem > allowed
    with np.errstate(divide="ignore", invalid="ignore"):
        z, gap, gap_sem = difference / difference_sem, difference / level, difference_sem / level
    silent, inside, outside = xr.broadcast(level.isnull(), inside, outside)
    words = np.select([silent, inside, outside], [NO_PREDICTION, AGREES, DIFFERS], UNDECIDED)
    verdict = silent.copy(data=words)
    return xr.Dataset(
        {"mean": mean, "sem": sem, "z": z, "gap": gap, "gap_sem": gap_sem, "verdict": verdict},
    )


def overall(verdicts: xr.DataArray | np.ndarray) -> str:
    """Sum up many verdicts in one line.

    Parameters
    ----------
    verdicts : array of str
        As `judge` gives them.

    Returns
    -------
    str

    Examples
    --------
    >>> overall(np.array(["agrees", "agrees", "undecided"]))
    'agrees at 2 of 3 points (1 undecided)'
    >>> overall(np.array(["agrees", "no prediction", "no prediction"]))
    'agrees at 1 of 1 points (no prediction at 2)'
    """
    words = np.asarray(verdicts).ravel()
    agreeing, differing, open_, silent = (
        int((words == word).sum()) for word in (AGREES, DIFFERS, UNDECIDED, NO_PREDICTION)
    )
    if silent == words.size:
        return "has nothing to compare with"
    counts = {
        f"{differing} differ": differing,
        f"{open_} undecided": open_,
        f"no prediction at {silent}": silent,
    }
    rest = ", ".join(text for text, count in counts.items() if count)
    return f"agrees at {agreeing} of {words.size - silent} points" + (f" ({rest})" if rest else "")
