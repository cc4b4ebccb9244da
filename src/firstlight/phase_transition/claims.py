"""The published claims about phase transitions of feature learning, judged by what networks did in a study.

The source is known to us by its abstract alone: our delta_NN is a reconstruction, and claims about it say so.
"""

from dataclasses import replace

import numpy as np
import xarray as xr

from firstlight.maths.intervals import exponent
from firstlight.maths.shown import short
from firstlight.study import estimates
from firstlight.study.claims import Claim, Estimate, Statement, judged

_SOURCE, _PLACE = "montanari2026phase", "abstract"
_OURS = "abstract; our delta_NN is a reconstruction"
_NEAR = 0.3  # relative gap up to which an onset at finite size is said to lie at a limit
_PREDICTED = 0.2  # the same, at the onset that theory predicts for that size
_MATTERS = 0.1
_FOUND = 0.1  # squared cosine that counts as having found something

FAILS_BELOW = Statement(
    "below delta_alg the best spectral method finds nothing", _SOURCE, _PLACE,
    "exponent of the squared overlap of the top eigenvector in d, at δ = 0.6 delta_alg",
    "below -0.25: it falls with the size",
)  # fmt: skip
SUCCEEDS_ABOVE = Statement(
    "above delta_alg the best spectral method finds the direction", _SOURCE, _PLACE,
    "squared overlap of the top eigenvector at the largest d, at δ = 1.5 and 2.5 delta_alg",
    f"above {_FOUND}",
)  # fmt: skip
ABOVE_ALG = Statement(
    "delta_NN is at least delta_alg", _SOURCE, _OURS,
    "delta_NN over delta_alg, with twice the error that the computation tells; the smallest of all networks",
    "above 1 (one-sided)",
)  # fmt: skip
GRADIENTS = Statement(
    "training first moves along large gradients", _SOURCE, _PLACE,
    "step at which half of the easy overlap is learnt over that for the hard one; gradient norm on the "
    "plateau between them over that at the start",
    "below 0.5 and below 0.25 (one-sided)", every=True,
)  # fmt: skip
CURVATURE = Statement(
    "then training moves along negative curvature", _SOURCE, _PLACE,
    "lowest eigenvalue of the Hessian on the plateau, and its growth from there to the end",
    "below 0, and above 0: negative before the hard direction is learnt, less so after (one-sided)",
    every=True,
)  # fmt: skip
SEPARATES = Statement(
    "the Hessian's transition at the end of the first phase separates success from failure", _SOURCE, _OURS,
    "onset: samples per dimension at which descents of finite size begin to succeed (mean over trials, each "
    "by its number of successes on a grid), over delta_NN, less 1; the interval counts delta_NN's own error",
    f"within {_NEAR:.0%}",
)  # fmt: skip
PREDICTED = Statement(
    "the growth of small overlaps, V(t), tells where descents of finite size begin to succeed", "", "ours",
    "their onset over the one that V(t) predicts at that size, less 1; V(t) is theory's d times the mean "
    "squared overlap with the hidden direction after t steps",
    f"within {_PREDICTED:.0%}",
)  # fmt: skip
DELAY = Statement(
    "descents escape later in higher dimension: the delay behind grokking grows with d", _SOURCE,
    "talk abstract: grokking", "slope of the escape time in log d, trial by trial",
    "above 0; whether the growth is logarithmic is not judged",
)  # fmt: skip
GROKKING = Statement(
    "the test error falls later than the training error", _SOURCE, "talk abstract: grokking",
    "step at which half of the fall of the test error is done, less that of the training error; read in "
    "straight lines between recorded steps",
    "above 0",
)  # fmt: skip


DEPENDS = {
    axis: Statement(
        f"the threshold depends on the {what}, in this setting", _SOURCE, _OURS,
        "log ratio of the onsets of success of descents of finite size, first and last value of the axis, "
        "for one target",
        f"beyond {_MATTERS}",
    )
    for axis, what in (
        ("activation", "activation"), ("width", "width"), ("loss", "loss"),
        ("init_scale", "initial length of the weights"),
    )
}  # fmt: skip
LOWERS = {
    axis: Statement(
        f"{what} lowers the samples at which descents of finite size succeed", _SOURCE,
        "abstract: opens the way to study training algorithm and architecture; the question is ours",
        "log ratio of the onsets of success, by each trial's number of successes over a grid of samples per "
        "dimension, last value of the axis over the first",
        "below 0",
    )
    for axis, what in (("batch", "SGD"), ("momentum", "heavy-ball momentum"), ("width", "width"))
}  # fmt: skip


def lowers_batch(results: xr.Dataset) -> list[Claim]:
    """Judge ``phase-transition/batch-and-success``."""
    return [_earlier(results, "batch")]


def lowers_momentum(results: xr.Dataset) -> list[Claim]:
    """Judge ``phase-transition/momentum-and-success``."""
    return [_earlier(results, "momentum")]


def lowers_width(results: xr.Dataset) -> list[Claim]:
    """Judge ``phase-transition/width-and-success``."""
    return [_earlier(results, "width")]


def _earlier(results: xr.Dataset, axis: str) -> Claim:
    wins = results["success"].sel(arm="descent").sum("samples_per_dimension", skipna=False)
    spacing = float(np.diff(np.log(results["samples_per_dimension"].values)).mean())
    shift = -spacing * (wins.isel({axis: -1}) - wins.isel({axis: 0}))
    values = results[axis].values
    label = f"log ratio of onsets, {axis} {values[-1]:g} over {values[0]:g}"
    return judged(LOWERS[axis], [estimates.mean(label, shift, side="below")])


def spectral(results: xr.Dataset) -> list[Claim]:
    """Judge ``phase-transition/spectral-method`` below and above the threshold."""
    overlap, ratios = results["overlap"].sel(arm="estimator"), results["delta_over_alg"].sel(arm="theory")
    sizes, place = overlap["dimension"].values, ratios.mean(["trial", "dimension"])
    below, above = [], []
    for ratio in overlap["samples_per_dimension"].values:
        one, times = overlap.sel(samples_per_dimension=ratio), float(place.sel(samples_per_dimension=ratio))
        if times < 1:
            power = exponent(sizes, one.transpose("trial", "dimension"))
            trials = int(one.notnull().all("dimension").sum())
            label = f"exponent at {times:.2g} delta_alg"
            below.append(Estimate(label, *power, border=-0.25, side="below", trials=trials))
        else:
            last = one.isel(dimension=-1)
            above.append(
                estimates.mean(f"squared overlap at {times:.2g} delta_alg", last, 0, 1, border=_FOUND)
            )
    return [judged(FAILS_BELOW, below), judged(SUCCEEDS_ABOVE, above)]


def above_algorithmic(results: xr.Dataset) -> list[Claim]:
    """Judge ``phase-transition/above-algorithmic`` at the network whose ratio is the smallest."""
    theory = results.sel(arm="theory").isel(trial=0)
    ratio, error = theory["delta_nn"] / theory["delta_alg"], 2 * theory["delta_nn_sem"] / theory["delta_alg"]
    if not np.isfinite(ratio).any():
        return [judged(ABOVE_ALG, [Estimate("smallest ratio", np.nan, np.nan, np.nan, border=1.0)])]
    place = np.unravel_index(int(np.nanargmin((ratio - error).values)), ratio.shape)
    value, half = float(ratio.values[place]), float(error.values[place])
    return [judged(ABOVE_ALG, [Estimate("smallest ratio", value, value - half, value + half, border=1.0)])]


def phases(results: xr.Dataset) -> list[Claim]:
    """Judge ``phase-transition/two-phases`` at its last delta: what is learnt when, and the plateau."""
    descent = results.sel(arm="descent").isel(samples_per_dimension=-1)
    easy, hard = descent["easy_cosine"], descent["hard_cosine"]
    learnt = hard.max("time") > _FOUND  # a network that finds nothing has no second phase
    late = _half_time(hard)
    early = descent["time"] < late
    gradient, low = descent["gradient_norm"], descent["smallest_eigenvalue"]
    plateau = gradient.where(early).fillna(np.inf).argmin("time")
    there = gradient.isel(time=plateau) / gradient.isel(time=0)
    depth = low.isel(time=plateau)

    def part(label: str, values: xr.DataArray, border: float, side: str = "below") -> Estimate:
        return estimates.mean(label, values.where(learnt), one_sided=True, border=border, side=side)

    turned = part("half-time, easy over hard", _half_time(easy.where(early, easy.min("time"))) / late, 0.5)
    return [
        judged(GRADIENTS, [turned, part("gradient norm on the plateau", there, 0.25)]),
        judged(
            CURVATURE,
            [
                part("lowest eigenvalue on the plateau", depth, 0.0),
                part("its growth to the end", low.isel(time=-1) - depth, 0.0, "above"),
            ],
        ),
    ]


def onset(results: xr.Dataset) -> list[Claim]:
    """Judge a study of delta_NN: where descents of finite size succeed, and what the threshold depends on."""
    [axis] = [str(dim) for dim in results["delta_nn"].dims if dim not in ("arm", "trial")]
    onsets, values = results["delta_nn"], results[axis].values
    descents = onsets.sel(arm="descent")
    parts, finite = [], []
    for value in values:
        at, name = {axis: value}, f"{axis.replace('_', ' ')} = {short(value)}"
        limit, sized = (float(onsets.sel(arm=arm, **at).isel(trial=0)) for arm in ("limit", "finite"))
        error = float(results["delta_nn_sem"].sel(arm="limit", **at).isel(trial=0))
        onset = float(descents.sel(at).mean(skipna=False))
        seen = f"{name}, onset {f'{onset:.3g}' if np.isfinite(onset) else 'not reached by all'}"
        parts.append(_over(f"{seen}, limit {_known(limit)}", descents.sel(at), limit, _NEAR, error))
        finite.append(_over(f"{seen}, V(t) {_known(sized)}", descents.sel(at), sized, _PREDICTED))
    change = xr.apply_ufunc(np.log, descents.sel({axis: values[-1]}) / descents.sel({axis: values[0]}))
    label = f"{short(values[-1])} over {short(values[0])}"
    effect = estimates.mean(label, _of_all(change), border=_MATTERS, side="beyond")
    claims = [judged(SEPARATES, parts), judged(PREDICTED, finite)]
    if axis in DEPENDS:
        claims.append(judged(DEPENDS[axis], [effect]))
    return claims


def _of_all(values: xr.DataArray) -> xr.DataArray:
    """Return the trials; nothing is known where one has no value: its descents never succeeded."""
    return values.where(~values.isnull().any())


def _known(limit: float) -> str:
    return f"{limit:.3g}" if np.isfinite(limit) else "not converged"


def _over(label: str, onsets: xr.DataArray, to: float, border: float, error: float = 0.0) -> Estimate:
    """Judge the mean onset over a prediction, less 1; the interval counts the prediction's own error."""
    found = estimates.mean(label, _of_all(onsets / to - 1), border=border, side="within")
    own = float(np.nan_to_num(1.96 * (1 + found.value) * error / to))
    low = found.value - float(np.hypot(found.value - found.low, own))
    high = found.value + float(np.hypot(found.high - found.value, own))
    why = "delta_NN has an error of its own" if own else ""
    return replace(found, low=low, high=high, fixed=own, stays=why)


def delay(results: xr.Dataset) -> list[Claim]:
    """Judge ``phase-transition/escape-time``: each trial's slope in log d."""
    time = results["escape_time"].sel(arm="descent")
    size = np.log(time["dimension"].astype(float))
    size = size - size.mean()
    slope = (time.transpose("trial", "dimension") * size).sum("dimension", skipna=False) / (size**2).sum()
    return [judged(DELAY, [estimates.mean("steps per unit of log d", slope)])]


def grokking(results: xr.Dataset) -> list[Claim]:
    """Judge ``phase-transition/grokking`` at its largest size."""
    descent = results.sel(arm="descent").isel(dimension=-1)
    train, test = (_half_time(-descent[name]) for name in ("train_error", "test_error"))
    return [
        judged(
            GROKKING,
            [estimates.mean(f"steps at d = {int(descent['dimension'])}", test - train)],
        )
    ]


def _half_time(curve: xr.DataArray) -> xr.DataArray:
    """Return when a curve has made half of its way from the start to its top, between recorded steps too."""
    half = (curve.isel(time=0) + curve.max("time")) / 2
    at = (curve >= half).argmax("time")
    (since, low), (until, high) = (
        (curve["time"].isel(time=i), curve.isel(time=i)) for i in (np.maximum(at - 1, 0), at)
    )
    between = ((high - half) / (high - low)).where(at > 0, 0.0)
    return (until - (until - since) * between).where(half.notnull())
