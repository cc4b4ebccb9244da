"""What is run, judged and drawn."""

from collections.abc import Sequence

import xarray as xr

from firstlight.maths.intervals import over_trials
from firstlight.study.claims import Claim, Estimate, judged
from firstlight.study.spec import FigureSpec, Scale
from firstlight.study.sweep import Study


def descent(results: xr.Dataset) -> Sequence[Claim]:
    """Judge by the fits: with little ridge, is the error larger at n = d than at half as many samples?"""
    error = results["test_error"].sel(arm="simulation").isel(ridge=0)
    few = error["samples"][0]  # d / 2 at both scales
    rise = over_trials(error.sel(samples=2 * few) - error.sel(samples=few))
    return [judged("more samples can hurt", [Estimate("error at n = d, less that at n = d / 2", *rise)])]


def _samples(dimension: int) -> list[int]:
    return [int(ratio * dimension) for ratio in (0.5, 0.75, 1, 1.5, 2, 4)]


STUDIES = (
    Study(
        name="ridge/double-descent",
        description="test error of ridge regression against the number of samples",
        problem="firstlight_ridge.problem:Problem",
        axes={"ridge": [0.01, 0.25], "samples": _samples(200)},
        fixed={"dimension": 200},
        trials=24,
        tolerance=0.1,  # at n = d one fit of this size scatters by 20 %
        claims="firstlight_ridge.studies:descent",
        figure=FigureSpec(x="samples", hue="ridge", log_x=True, labels={"ridge": "ridge $\\lambda$"}),
        scales={"paper": Scale(fixed={"dimension": 2000}, axes={"samples": _samples(2000)})},
    ),
)
