"""Records as points of a picture: means over trials with standard errors."""

from typing import Any

import xarray as xr

from firstlight.show.pictures import Role, Trace
from firstlight.study.judge import trial_mean


def measured(
    results: xr.Dataset,
    arm: str,
    observable: str,
    over: str,
    *,
    name: str,
    role: Role = "experiment",
    **where: Any,
) -> Trace | None:
    """Return the mean over trials of one arm's observable as points, or None if there is nothing yet.

    Parameters
    ----------
    results : Dataset
        As `firstlight.study.run` returns it.
    over : str
        The dimension of the picture's horizontal axis; another dimension must have length 1.
    name, role : str
        Of the trace.
    **where
        Coordinates of other dimensions.

    Examples
    --------
    >>> from firstlight import demo
    >>> points = measured(demo.results(), "experiment", "mean", "rate", name="trials")
    >>> points.kind, len(points.x)
    ('points', 3)
    """
    if observable not in results:
        return None
    mean, sem = trial_mean(results[observable].sel(arm=arm, **where))
    other = [dim for dim in mean.dims if dim != over]
    mean, sem = mean.squeeze(other, drop=True), sem.squeeze(other, drop=True)
    known = mean.notnull().values
    if not known.any():
        return None
    return Trace(
        name=name, role=role, kind="points", x=mean[over].values[known].tolist(),
        y=mean.values[known].tolist(), error=sem.values[known].tolist(),
    )  # fmt: skip
