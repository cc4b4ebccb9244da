"""What is run, judged and drawn."""

import xarray as xr

from firstlight.maths.intervals import over_trials
from firstlight.study import FigureSpec, Study
from firstlight.study.claims import Claim, Estimate, judged


def descent(results: xr.Dataset) -> list[Claim]:
    """Judge by the fits: with little ridge, is the error larger at n = d than at half as many samples?"""
    error = results["test_error"].sel(arm="simulation").isel(ridge=0)
    rise = over_trials(error.sel(samples=200) - error.sel(samples=100))
    return [judged("more samples can hurt", [Estimate("error at n = d, less that at n = d / 2", *rise)])]


STUDIES = (
    Study(
        name="ridge/double-descent",
        description="test error of ridge regression against the number of samples",
        problem="firstlight_ridge.problem:Problem",
        axes={"ridge": [0.01, 0.25], "samples": [100, 150, 200, 300, 400, 800]},
        fixed={"dimension": 200},
        trials=24,
        tolerance=0.1,  # at n = d one fit of this size scatters by 20 %
        claims="firstlight_ridge.studies:descent",
        figure=FigureSpec(x="samples", hue="ridge", log_x=True),
    ),
)
