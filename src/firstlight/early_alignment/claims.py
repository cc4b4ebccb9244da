"""The published claims about early alignment, each judged by what networks did in a study.

Claims of the form "at most" are judged one-sidedly: the ends of their intervals are 95 % limits of their own.
"""

import numpy as np
import xarray as xr

from firstlight.maths.intervals import over_trials
from firstlight.study.claims import Claim, Estimate, Statement, judged

_SOURCE = "min2024early"
_NEARLY = 0.9  # a share of pairs, and a cosine, from which one may say "nearly" and "turned"
_FALLEN = 0.95  # of the loss at the start
_CLOSE = 0.05  # relative gap up to which two times are the same

SEPARABLE = Statement(
    "images of two digits are nearly orthogonally separable", _SOURCE, "Section 4, MNIST",
    "share of pairs of centred images whose cosine has the right sign",
    "holds above 0.9, in part above 0.5",
)  # fmt: skip
TURN = Statement(
    "neurons turn to the centre of their class before the loss falls", _SOURCE, "Figures 5, 10, 11",
    "mean cosine of live neurons to x₊ or x₋ when the loss has fallen by 5 %", "above 0.9",
)  # fmt: skip
ALL = Statement(
    "all neurons align with x₊ or x₋", _SOURCE, "Section 4, MNIST",
    "least cosine of a live neuron to the centre of its class when the loss has fallen by 5 %; share of dead "
    "neurons then",
    "least cosine above 0.9, dead at most 2 % (one-sided)",
)  # fmt: skip
RANK = Statement(
    "the trained network has a stable rank of at most 2", _SOURCE, "Theorem 1, low-rank bias",
    "stable rank of the first layer at the end of training", "at most 2 (one-sided)",
)  # fmt: skip
PHASES = Statement(
    "neurons turn first and grow later: two phases", _SOURCE, "Figure 1, Section 3",
    "shares of all turning and of all growth of the norms that happen before the loss has fallen by 5 %",
    "turning above 0.9, growth below 0.1 (one-sided)",
)  # fmt: skip
TIME = Statement(
    "the alignment time stays below the theorem's bound", _SOURCE, "Theorem 1, part 1",
    "alignment time of gradient flow over the bound, where that applies; the largest mean of all points",
    "below 1 (one-sided)",
)  # fmt: skip
SHARP = Statement(
    "the alignment time stays below the sharper bound O(log(1/μ) log n / √μ)", "",
    "ours: Theorem 1 with artanh in place of its inverse", TIME.estimand, TIME.rule,
)  # fmt: skip
SCALE = Statement(
    "a start as small as the theorem asks for suffices", _SOURCE, "Theorem 1, condition on ε",
    "alignment time over the theorem's bound with log ε = -4·10⁴, below what the theorem asks for",
    "below 1 (one-sided)",
)  # fmt: skip
NEEDED = Statement(
    "so small a start is needed", _SOURCE, "Theorem 1, condition on ε (it is sufficient; is it necessary?)",
    "relative gap of the alignment time at log ε = -6 to its limit ε → 0; the theorem wants log ε below -10⁵",
    f"needed if the gap is above {_CLOSE:.0%}",
)  # fmt: skip
LOSS = Statement(
    "the loss stays below the bound O(1/t)", _SOURCE, "Theorem 1, part 2",
    "loss of gradient flow over the bound, after the bound has begun to fall; the largest mean over time",
    "below 1 (one-sided)",
)  # fmt: skip
MONOTONE = Statement(
    "activation patterns change monotonically", _SOURCE, "Section 3.2",
    "share of switches that go against the neuron's own class", "below 0.01 (one-sided)",
)  # fmt: skip


def digits(results: xr.Dataset) -> list[Claim]:
    """Judge a study of two digits: pairs of images, cosines when the loss begins to fall, rank at the end."""
    descent = results.sel(arm="descent").isel(samples=-1)  # the largest sample
    fallen = _fallen(descent["loss"])
    ends = (("plus", "₊"), ("minus", "₋"))

    def cosine(name: str) -> tuple[float, float, float]:
        return over_trials(descent[name].where(fallen).max("time"), -1, 1)

    turned = [Estimate(f"cosine to x{sign}", *cosine(f"cosine_{end}"), border=_NEARLY) for end, sign in ends]
    least = [
        Estimate(f"least cosine to x{sign}", *cosine(f"cosine_{end}_min"), border=_NEARLY)
        for end, sign in ends
    ]
    dead = over_trials(descent["dead"].where(fallen).max("time"), 0, 1, one_sided=True)
    pairs = over_trials(descent["right_sign"], 0, 1)
    return [
        judged(SEPARABLE, [Estimate("share of right-signed cosines", *pairs, border=0.5, strong=_NEARLY)]),
        judged(TURN, turned),
        judged(ALL, [*least, Estimate("share of dead neurons", *dead, border=0.02, side="below")]),
        _rank(descent["stable_rank"].isel(time=-1)),
    ]


def phases(results: xr.Dataset) -> list[Claim]:
    """Judge ``early-alignment/toy``: how much turning and growing is done when the loss begins to fall."""
    descent = results.sel(arm="descent").isel(data=0)
    before = _fallen(descent["loss"]).cumsum("time") == 0
    known = _fallen(descent["loss"]).any("time")
    parts = []
    for name, label, side in (
        ("direction_change", "share of the turning", "above"),
        ("norm_change", "share of the growth", "below"),
    ):  # fmt: skip
        change = abs(descent[name])
        share = (change * before).integrate("time") / change.integrate("time")
        interval = over_trials(share.where(known), 0, 1, one_sided=True)
        border = 0.9 if side == "above" else 0.1
        parts.append(Estimate(label, *interval, border=border, side=side))  # type: ignore[arg-type]
    return [judged(PHASES, parts)]


def times(results: xr.Dataset) -> list[Claim]:
    """Judge a study of alignment times by the theorem's bound and by the sharper one."""
    measured = results["alignment_time"].sel(arm="flow")
    ratios = {arm: measured / results["alignment_time"].sel(arm=arm) for arm in ("paper", "sharp")}
    bounds = [
        judged(statement, [_largest("time over bound", ratios[arm], border=1.0)])
        for statement, arm in ((TIME, "paper"), (SHARP, "sharp"))
    ]
    if "wrong_switches" not in results:
        return bounds
    wrong = results["wrong_switches"].sel(arm="flow")
    return [*bounds, judged(MONOTONE, [_largest("share of switches", wrong, border=0.01)])]


def scales(results: xr.Dataset) -> list[Claim]:
    """Judge ``early-alignment/time-vs-scale``: bounds, and from which ε on the limit ε → 0 is reached."""
    time = results["alignment_time"].sel(log_scale=-6.0)
    gap = time.sel(arm="flow") / time.sel(arm="exact") - 1
    part = Estimate("gap at log ε = -6", *over_trials(abs(gap)), border=_CLOSE)
    return [*times(results), judged(NEEDED, [part])]


def needed_scale(results: xr.Dataset) -> list[Claim]:
    """Judge ``early-alignment/needed-scale``: a start as small as the theorem wants it."""
    time = results["alignment_time"]
    ratio = time.sel(arm="flow") / time.sel(arm="paper")
    return [judged(SCALE, [_largest("time over bound", ratio, border=1.0)])]


def rate(results: xr.Dataset) -> list[Claim]:
    """Judge ``early-alignment/loss-rate`` at every time after the bound has begun to fall."""
    bound = results["loss"].sel(arm="rate")
    later = bound < 0.99 * bound.max("time")
    return [
        judged(
            LOSS, [_largest("loss over bound", (results["loss"].sel(arm="flow") / bound).where(later), 1.0)]
        )
    ]


def rank(results: xr.Dataset) -> list[Claim]:
    """Judge ``early-alignment/low-rank`` at its last time, at the separability where the rank is largest."""
    return [_rank(results["stable_rank"].sel(arm="flow").isel(time=-1))]


def _rank(values: xr.DataArray) -> Claim:
    return judged(RANK, [_largest("stable rank", values, border=2.0, lowest=1.0)])


def _fallen(loss: xr.DataArray) -> xr.DataArray:
    """Mark the first time at which the loss has fallen; where it never does, none, and nothing is known."""
    return (loss <= _FALLEN * loss.isel(time=0)).cumsum("time") == 1


def _largest(label: str, values: xr.DataArray, border: float, lowest: float = 0.0) -> Estimate:
    """Compare the largest mean over trials, of all points and times, with what it may be at most."""
    flat = values.transpose(..., "trial").values.reshape(-1, values.sizes["trial"])
    known = flat[np.isfinite(flat).any(axis=1)]
    if not len(known):
        return Estimate(label, np.nan, np.nan, np.nan, border=border, side="below")
    worst = known[np.nanargmax(np.nanmean(known, axis=1))]
    return Estimate(label, *over_trials(worst, lowest, one_sided=True), border=border, side="below")
