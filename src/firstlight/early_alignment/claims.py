"""The published claims about early alignment, each judged by what networks did in a study.

Claims of the form "at most" are judged one-sidedly: the ends of their intervals are 95 % limits of their own.
"""

import json
from dataclasses import replace
from typing import Any

import numpy as np
import xarray as xr

from firstlight.study import estimates
from firstlight.study.claims import FAILS, Claim, Estimate, Statement, judged

_SOURCE = "min2024early"
_NEARLY = 0.9  # a share of pairs, and a cosine, from which one may say "nearly" and "turned"
_FALLEN = 0.95  # of the loss at the start
_CLOSE = 0.05  # relative gap up to which two times are the same

SEPARABLE = Statement(
    "images of two digits are nearly orthogonally separable", _SOURCE, "Section 4, MNIST",
    "share of pairs of centred images whose cosine has the right sign",
    "above 0.9; in part between 0.5 and 0.9",
)  # fmt: skip
TURN = Statement(
    "neurons turn to the centre of their class before the loss falls", _SOURCE, "Figures 5, 10, 11",
    "mean cosine of live neurons to x₊ and to x₋ when the loss has fallen by 5 %",
    "both above 0.9 (one-sided)", every=True,
)  # fmt: skip
ALL = Statement(
    "all neurons align with x₊ or x₋", _SOURCE, "Section 4, MNIST",
    "least cosine of a live neuron to the centre of its class when the loss has fallen by 5 %; share of dead "
    "neurons then, of those of all trials (Clopper and Pearson)",
    "both least cosines above 0.9, and dead at most 2 % (one-sided)", every=True,
)  # fmt: skip
RANK = Statement(
    "the trained network has a stable rank of at most 2", _SOURCE, "Theorem 1, low-rank bias",
    "stable rank of the first layer at the end of training", "at most 2 (one-sided)",
)  # fmt: skip
PHASES = Statement(
    "neurons turn first and grow later: two phases", _SOURCE, "Figures 1, 6, Section 3",
    "shares of all turning and of all growth of the norms that happen before the loss has fallen by 5 %",
    "turning above 0.9 and growth below 0.1 (one-sided)", every=True,
)  # fmt: skip
TIME = Statement(
    "the alignment time stays below the theorem's bound", _SOURCE, "Theorem 1, part 1",
    "alignment time of gradient flow over the bound, where the theorem's condition on ε is met; the largest "
    "mean of all points",
    "below 1 (one-sided)",
)  # fmt: skip
SHARP = Statement(
    "the alignment time stays below the sharper bound O(log(1/μ) log n / √μ)", "",
    "ours: Theorem 1 with artanh in place of its inverse", TIME.estimand, TIME.rule,
)  # fmt: skip
SCALE = Statement(
    "a start as small as the theorem asks for suffices", _SOURCE, "Theorem 1, condition on ε",
    "alignment time over the theorem's bound with log ε = -4·10⁴, where that is below what the theorem asks "
    "for; the largest mean of all points",
    "below 1 (one-sided)",
)  # fmt: skip
NEEDED = Statement(
    "so small a start is needed", _SOURCE, "Theorem 1, condition on ε (it is sufficient; is it necessary?)",
    "relative gap of the alignment time at log ε = -6 to its limit ε → 0; the theorem wants log ε below -10⁵",
    f"needed if the size of the gap is above {_CLOSE:.0%} (one-sided)",
)  # fmt: skip
LOSS = Statement(
    "the loss stays below the bound O(1/t)", _SOURCE, "Theorem 1, part 2",
    "loss of gradient flow over the bound, at the recorded times from where the bound has begun to fall, the "
    "earliest of which is named; the largest mean",
    "below 1 (one-sided)",
)  # fmt: skip
MONOTONE = Statement(
    "activation patterns change monotonically", _SOURCE, "Section 3.2",
    "share of switches that go against the neuron's own class, of those of all trials; interval of Clopper "
    "and Pearson, or over trials if that is wider; at the point where its limit is highest",
    "below 0.01 (one-sided)",
)  # fmt: skip
BEYOND = {
    said: replace(
        said,
        text=f"{said.text}, beyond its condition",
        estimand=said.estimand.replace(
            "where the theorem's condition on ε is met", "with an ε that is larger than the theorem asks for"
        ),
        place=f"{said.place}; ε is larger than its condition asks for",
    )
    for said in (TIME, SHARP, LOSS)
}


def digits(results: xr.Dataset) -> list[Claim]:
    """Judge a study of two digits: pairs of images, cosines when the loss begins to fall, rank at the end."""
    descent = results.sel(arm="descent").isel(samples=-1)  # the largest sample
    fallen = _fallen(descent["loss"])

    def cosines(word: str, ending: str) -> list[Estimate]:
        return [
            estimates.mean(
                f"{word} to x{sign}", descent[f"cosine_{end}{ending}"].where(fallen).max("time"), -1, 1,
                one_sided=True, border=_NEARLY,
            )
            for end, sign in (("plus", "₊"), ("minus", "₋"))
        ]  # fmt: skip

    dead = descent["dead"].where(fallen).max("time").dropna("trial")
    neurons, trials = _fixed(results, "width"), dead.sizes["trial"]
    gone = estimates.share(
        "share of dead neurons", round(neurons * float(dead.sum())), neurons * trials, trials=trials,
        one_sided=True, border=0.02, side="below",
    )  # fmt: skip
    pairs = estimates.mean(
        "share of right-signed cosines", descent["right_sign"], 0, 1, border=0.5, strong=_NEARLY
    )
    return [
        judged(SEPARABLE, [pairs]),
        judged(TURN, cosines("cosine", "")),
        judged(ALL, [*cosines("least cosine", "_min"), gone]),
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
        border = 0.9 if side == "above" else 0.1
        parts.append(
            estimates.mean(label, share.where(known), 0, 1, one_sided=True, border=border, side=side)
        )
    return [judged(PHASES, parts)]


def times(results: xr.Dataset) -> list[Claim]:
    """Judge a study of alignment times by the theorem's bound and by the sharper one."""
    measured, met = results["alignment_time"].sel(arm="flow"), _met(results)
    claims = []
    for said, arm in ((TIME, "paper"), (SHARP, "sharp")):
        ratio = measured / results["alignment_time"].sel(arm=arm)
        seen = ratio.where(met) if met.any() else ratio
        claims.append(judged(said if met.any() else BEYOND[said], [_largest("time over bound", seen, 1.0)]))
    if "switches" in results:
        claims.append(judged(MONOTONE, [_wrong(results.sel(arm="flow"))]))
    return claims


def _wrong(flow: xr.Dataset) -> Estimate:
    """Estimate the share of wrong switches at the point that refutes, else is unknown, else is highest."""
    shares, counts = (
        flow[name].transpose(..., "trial").values.reshape(-1, flow.sizes["trial"])
        for name in ("wrong_switches", "switches")
    )
    parts = [_wrong_at(*point) for point in zip(shares, counts, strict=True)]
    return max(parts, key=lambda part: (part.verdict == FAILS, not part.known, part.high))


def _wrong_at(shares: np.ndarray, counts: np.ndarray) -> Estimate:
    """Estimate one share, by the wider of two intervals: switches, and trials, as independent cases."""
    found, of = round(np.nansum(shares * counts)), round(np.nansum(counts))
    rule: dict[str, Any] = {"one_sided": True, "border": 0.01, "side": "below"}
    exact = estimates.share("share of switches", found, of, trials=int(np.isfinite(counts).sum()), **rule)
    trials = estimates.mean("share of switches", xr.DataArray(shares, dims="trial"), 0, 1, **rule)
    if not (exact.known and trials.known):
        return exact
    return replace(exact, low=min(exact.low, trials.low), high=max(exact.high, trials.high))


def scales(results: xr.Dataset) -> list[Claim]:
    """Judge ``early-alignment/time-vs-scale``: bounds, and from which ε on the limit ε → 0 is reached."""
    time = results["alignment_time"].sel(log_scale=-6.0)
    gap = abs(time.sel(arm="flow") / time.sel(arm="exact") - 1)
    part = estimates.mean("gap at log ε = -6", gap, 0, one_sided=True, border=_CLOSE)
    return [*times(results), judged(NEEDED, [part])]


def needed_scale(results: xr.Dataset) -> list[Claim]:
    """Judge ``early-alignment/needed-scale``: a start as small as the theorem wants it, and both bounds."""
    time = results["alignment_time"]
    ratio = time.sel(arm="flow") / time.sel(arm="paper")
    enough = judged(SCALE, [_largest("time over bound", ratio.where(_met(results)), 1.0)])
    return [enough, *times(results)]


def rate(results: xr.Dataset) -> list[Claim]:
    """Judge a study of the loss at every recorded time from where the bound has begun to fall.

    ``early-alignment/loss-rate`` starts at log ε = -20, of which the theorem says nothing;
    ``early-alignment/loss-bound`` as small as the theorem asks for.
    """
    bound, loss = results["loss"].sel(arm="rate"), results["loss"].sel(arm="flow")
    within = "alignment_time" in results
    later = bound < 0.99 * bound.max("time")
    counted = later & _met(results, "rate") if within else later
    first = float(bound["time"].where(counted).min())
    since = f"from t = {first:.2g}" if np.isfinite(first) else "ε nowhere small enough"
    label = f"loss over bound, {since}"
    said = LOSS if within else BEYOND[LOSS]
    return [judged(said, [_largest(label, (loss / bound).where(counted), 1.0)])]


def rank(results: xr.Dataset) -> list[Claim]:
    """Judge ``early-alignment/low-rank`` at its last time, at the separability where the rank is largest."""
    return [_rank(results["stable_rank"].sel(arm="flow").isel(time=-1))]


def _rank(values: xr.DataArray) -> Claim:
    return judged(RANK, [_largest("stable rank", values, 2.0, lowest=1.0)])


def _met(results: xr.Dataset, arm: str = "paper") -> xr.DataArray:
    """Say in which trials ε is as small as the theorem asks for, by its bound t₁ on data of length one.

    It wants all weights small until then: log ε + log(h)/2 + 4 n t₁ at most 0.
    """
    bound = results["alignment_time"].sel(arm=arm)
    n, h, log_scale = (_fixed(results, name) for name in ("samples", "width", "log_scale"))
    return log_scale + np.log(h) / 2 + 4 * n * bound <= 0


def _fixed(results: xr.Dataset, name: str) -> Any:
    """Return the values of an axis, or what the study keeps fixed."""
    if name in results.coords:
        return results[name]
    return json.loads(results.attrs["configuration"])["fixed"][name]


def _fallen(loss: xr.DataArray) -> xr.DataArray:
    """Mark the first time at which the loss has fallen; where it never does, none, and nothing is known."""
    return (loss <= _FALLEN * loss.isel(time=0)).cumsum("time") == 1


def _largest(label: str, values: xr.DataArray, border: float, lowest: float = 0.0) -> Estimate:
    """Compare the largest mean over trials, of all points and times, with what it may be at most."""
    return estimates.largest(label, values, lowest, border=border, side="below")
