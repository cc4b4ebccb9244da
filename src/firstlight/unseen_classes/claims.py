"""The published claims about unseen classes, each judged by what the networks of a study did.

The same claim has the same words in every study. A Spearman correlation between 0 and 0.3 counts as weak: the
claim then holds in part. Beside numbers about Recall@1 stand those of the inputs, untouched by any network.
"""

from dataclasses import replace

import numpy as np
import xarray as xr
from scipy.stats import t

from firstlight.maths.intervals import exponent, over_classes, rank_correlation
from firstlight.maths.shown import short
from firstlight.study import estimates
from firstlight.study.claims import Claim, Estimate, Side, Statement, judged

_SOURCE = "unseen2025emergence"
_RANK = "Spearman correlation with the train-unseen similarity |β·μ|"
_RANK_RULE = "above 0.3; in part between 0 and 0.3"
_CHANGE = "change of Recall@1 by training; beside it Recall@1 of the inputs themselves"

ALIGNMENT = Statement(
    "alignment of an unseen class rises with its similarity",
    _SOURCE,
    "abstract, set-ups 1 to 3",
    _RANK,
    _RANK_RULE,
)
ELASTICITY = Statement(
    "elasticity of an unseen class rises with its similarity",
    _SOURCE,
    "abstract, set-ups 1, 2",
    _RANK,
    _RANK_RULE,
)
IDENTICAL = Statement(
    "alignment and elasticity emerge under identical conditions", _SOURCE, "abstract",
    "Spearman correlation of the two over unseen classes", _RANK_RULE,
)  # fmt: skip
RECALL = Statement(
    "Recall@1 of unseen classes rises with their similarity",
    _SOURCE,
    "abstract, set-ups 1 to 3",
    _RANK,
    _RANK_RULE,
)
FAVOURS = Statement(
    "the step changes Recall@1 in favour of similar classes", _SOURCE, "set-ups 1, 2, fair form",
    "Spearman correlation of the change of Recall@1 with the similarity", _RANK_RULE,
)  # fmt: skip
RETRIEVED = Statement(
    "unseen classes that are better aligned are better retrieved", _SOURCE, "abstract: metric learning",
    "Spearman correlation of alignment and Recall@1 over unseen classes", _RANK_RULE,
)  # fmt: skip
HELPS = Statement(
    "training on other classes helps to retrieve unseen ones", _SOURCE, "abstract: practical insights",
    _CHANGE, "above 0",
)  # fmt: skip
ALIKE = Statement(
    "similarity, alignment and Recall@1 rank unseen classes alike", _SOURCE, "set-ups 3, 4: Kendall's W",
    "Kendall's W of the three", "above 1/3, what chance gives",
)  # fmt: skip
RANK_ONE = Statement(
    "the first gradient is of rank one, up to an error that falls like 1/√n", _SOURCE, "decomposition",
    "exponent in n of |G - A|/|G|, in operator and in Frobenius norm", "below -1/4",
)  # fmt: skip
NORMS = Statement(
    "operator norms are of order √n + √d, whatever the mean", _SOURCE, "lemma on non-centred matrices",
    "exponent in n of the norm over √n + √d", "below 1/4 for every law", every=True,
)  # fmt: skip
TELL_APART = Statement(
    "training directions between or beyond two unseen inputs tell them apart; one at their midpoint does not",
    "transfer2025classifier", "experiment on several training directions",
    "log of the squared distance of the two mean features, over that with an orthogonal direction",
    "above 0.1 between and beyond them, and within 0.1 at the midpoint", every=True,
)  # fmt: skip
UNRELATED = Statement(
    "an unrelated training direction beside one that tells apart does not help", "transfer2025classifier",
    "experiment on several training directions",
    "log of the squared distance with the orthogonal direction beside it, over that without", "at most 0.1",
)  # fmt: skip

GROWS = {
    said: replace(
        said, text=f"by training, {said.text}", estimand=f"change from epoch 0 to the last: {said.estimand}",
        rule="above 0",
    )
    for said in (ALIGNMENT, RECALL, RETRIEVED, ALIKE)
}  # fmt: skip

_STRONG = 0.3


def alignment(results: xr.Dataset) -> list[Claim]:
    """Judge ``unseen-classes/alignment-vs-similarity``: cosines and inner products by strength."""
    network = results.sel(arm="network")
    size = abs(network["cosine"])
    parts = _each("strength", "Spearman, cosine, κ =", size, network["alignment"])
    return [judged(ALIGNMENT, [*parts, *_each("strength", "inner product, κ =", size, network["cohesion"])])]


def elasticity(results: xr.Dataset) -> list[Claim]:
    """Judge ``unseen-classes/elasticity-vs-similarity`` at each strength of the step."""
    network = results.sel(arm="network")
    return [
        judged(ELASTICITY, _each("strength", "Spearman, κ =", abs(network["cosine"]), network["elasticity"]))
    ]


def sides(results: xr.Dataset) -> list[Claim]:
    """Judge ``unseen-classes/recall-vs-similarity``: two unseen classes on opposite sides, or on the same."""
    network = results.sel(arm="network")
    change = network["mean_recall"] - network["mean_recall_before"]
    far = network["along"] > network["along"].mean()
    cases = {
        "opposite sides, similar": change.sel(side="opposite").where(far),
        "opposite sides, hardly similar": change.sel(side="opposite").where(~far),
        "same side": change.sel(side="same"),
    }
    raw = {
        "opposite": network["raw_recall"].sel(side="opposite"),
        "same": network["raw_recall"].sel(side="same"),
    }
    changes = [
        estimates.mean(f"change, {name}{_beside(raw[name.split()[0]])}", values, -1, 1)
        for name, values in cases.items()
    ]
    rises = [
        _ranks(f"Spearman, {name}", network["along"], network["mean_recall"].sel(side=side), raw[side])
        for side, name in (("opposite", "opposite sides"), ("same", "same side"))
    ]
    return [judged(RECALL, rises), judged(HELPS, changes)]


def lengths(results: xr.Dataset) -> list[Claim]:
    """Judge ``unseen-classes/lengths``, set-up 1: longer unseen means are easier before the step as well."""
    network = results.sel(arm="network")
    change = network["mean_recall"] - network["mean_recall_before"]
    raw = network["raw_recall"]
    length = network["length"]
    return [
        judged(ALIGNMENT, [_ranks("Spearman, cohesion", length, network["cohesion"])]),
        judged(ELASTICITY, [_ranks("Spearman", length, network["elasticity"])]),
        judged(RECALL, [_ranks("Spearman", length, network["mean_recall"], raw)]),
        judged(FAVOURS, [_ranks("Spearman, change of Recall@1", length, change, raw)]),
    ]


def rotations(results: xr.Dataset) -> list[Claim]:
    """Judge ``unseen-classes/rotations``, set-up 2: classes that turn away from the training direction."""
    network = results.sel(arm="network")
    size, change = network["similarity"], network["mean_recall"] - network["mean_recall_before"]
    return [
        judged(ALIGNMENT, _each("length", "Spearman, length =", size, network["alignment"])),
        judged(ELASTICITY, _each("length", "Spearman, length =", size, network["elasticity"])),
        judged(
            IDENTICAL,
            _each("length", "Spearman of the two, length =", network["alignment"], network["elasticity"]),
        ),
        judged(
            FAVOURS,
            _each("length", "Spearman, change of Recall@1, length =", size, change, network["raw_recall"]),
        ),
    ]


def gradient(results: xr.Dataset) -> list[Claim]:
    """Judge ``unseen-classes/rank-one`` in both norms; errors falling slower than n^(-1/4) do not count."""
    network = results.sel(arm="network")
    parts = [
        _power(
            f"exponent in {norm} norm, {name}", network[f"{norm.lower()}_error"].sel(activation=name), -0.25
        )
        for norm in ("operator", "Frobenius")
        for name in network["activation"].values
    ]
    return [judged(RANK_ONE, parts)]


def norms(results: xr.Dataset) -> list[Claim]:
    """Judge ``unseen-classes/operator-norm``: what outgrows √n + √d by n^(1/4) is another order."""
    ratio = results["over_published"].sel(arm="matrix")
    parts = [
        _power(f"exponent of norm / (√n + √d), {law}", ratio.sel(law=law), 0.25)
        for law in ratio["law"].values
    ]
    return [judged(NORMS, parts)]


def sets(results: xr.Dataset) -> list[Claim]:
    """Judge a study of many training sets of the same ten classes, which the intervals know.

    Trials redraw samples and networks of the same sets: more of them do not bring other classes.
    """
    network = results.sel(arm="network").mean("trial")
    ranks = network["spearman_by_set"]

    def part(label: str, values: xr.DataArray, images: str, strong: float | None = None) -> Estimate:
        unseen = network["alignment"].sel(images=images).transpose("train", "class").notnull()
        value, low, high = over_classes(values.sel(images=images), unseen, -1, 1)
        half = max(value - low, high - value)  # one side may be cut off at the end of the range
        return Estimate(f"{label}, {images}", value, low, high, strong=strong, fixed=half, stays=_REDRAWN)

    def parts(label: str, relation: str, raw: str = "") -> list[Estimate]:
        made = []
        for images in network["images"].values:
            base = float(ranks.sel(relation=raw, images=images).mean()) if raw else np.nan
            beside = f" ({_INPUTS} {base:.2f})" if raw else ""
            made.append(part(f"Spearman, {label}{beside}", ranks.sel(relation=relation), images, _STRONG))
        return made

    change = (network["recall"] - network["recall_before"]).mean("class")
    changes = [
        part(f"mean change{_beside(network['raw_recall'].sel(images=images))}", change, images)
        for images in network["images"].values
    ]
    aligned = parts("change", "similarity_alignment_change") + parts("level after", "similarity_alignment")
    raw = "similarity_raw_recall"
    return [
        judged(ALIGNMENT, aligned),
        judged(ELASTICITY, parts("movement", "similarity_elasticity")),
        judged(RECALL, parts("level after", "similarity_recall", raw)),
        judged(FAVOURS, parts("change", "similarity_recall_change", raw)),
        judged(RETRIEVED, parts("level after", "alignment_recall", "alignment_raw_recall")),
        judged(HELPS, changes),
    ]


def spikes(results: xr.Dataset) -> list[Claim]:
    """Judge ``unseen-classes/spikes``: distances by the place of the training direction."""
    distance = xr.apply_ufunc(np.log, results["distance"].sel(arm="network"))

    def part(name: str, base: str, side: Side) -> Estimate:
        change = distance.sel(directions=name) - distance.sel(directions=base)
        return estimates.mean(f"{name} over {base}", change, border=0.1, side=side)

    single = "extrapolation"
    placed = [part(name, "orthogonal", "above") for name in ("interpolation", single)]
    return [
        judged(TELL_APART, [*placed, part("midpoint", "orthogonal", "within")]),
        judged(UNRELATED, [part(f"{single}, orthogonal", single, "below")]),
    ]


def deep(results: xr.Dataset) -> list[Claim]:
    """Judge a study of deep networks along its first axis (images or losses), by what training changed.

    Ranks agree as well before training: the claims are judged on the change from epoch 0 to the last. The
    trials redraw the same ten classes, which the intervals know (`over_classes`).
    """
    network = results.sel(arm="network")
    [axis] = [dim for dim in network["kendall_w"].dims if dim not in ("trial", "epoch")]

    def cases(name: str, word: str) -> list[Estimate]:
        parts = []
        for value in network[axis].values:
            at = {axis: value}
            levels = [float(network[name].sel(at).isel(epoch=end).mean()) for end in (0, -1)]
            raw = "" if name == "similarity_alignment" else _beside(network["raw_recall"].sel(at))
            label = f"{word}, {value}, {levels[0]:.2f} to {levels[1]:.2f}{raw}"
            change = network[name].sel(at).isel(epoch=-1) - network[name].sel(at).isel(epoch=0)
            parts.append(_redrawn(label, change, network["unseen"].sel(at)))
        return parts

    pairs = {ALIGNMENT: "similarity_alignment", RECALL: "similarity_recall", RETRIEVED: "alignment_recall"}
    ranks = [
        judged(GROWS[said], cases(name, "change of Spearman"))
        for said, name in pairs.items()
        if name in network
    ]
    alike = judged(GROWS[ALIKE], cases("kendall_w", "change of Kendall's W"))
    return [*ranks, alike, judged(HELPS, cases("mean_recall", "change of Recall@1"))]


def _redrawn(label: str, values: xr.DataArray, unseen: xr.DataArray) -> Estimate:
    """Estimate a mean over trials that redraw the same classes; more trials leave the part of the classes."""
    classes, known = unseen.transpose("trial", "class"), values.dropna("trial")
    value, low, high = over_classes(values, classes, -2, 2)
    count = known.sizes["trial"]
    wide = t.ppf(0.975, min(count, unseen.sizes["class"]) - 1) if count > 1 else np.nan
    noise = wide**2 * float(known.var("trial", ddof=1)) / count if count > 1 else 0.0
    left = float(np.sqrt(max(((high - low) / 2) ** 2 - noise, 0)))
    return Estimate(label, value, low, high, fixed=left, trials=count, stays=_REDRAWN)


_REDRAWN = "they redraw the same ten classes"
_INPUTS = "inputs:"


def _beside(raw: xr.DataArray) -> str:
    """Say how well the inputs themselves do, without any network."""
    return f" (Recall@1 of {_INPUTS} {float(raw.mean()):.2f})"


def _ranks(label: str, x: xr.DataArray, y: xr.DataArray, raw: xr.DataArray | None = None) -> Estimate:
    """Spearman over all points and trials, each of which has samples and a network of its own.

    Beside it that of Recall@1 of the inputs, where a claim is about Recall@1.
    """
    beside = "" if raw is None else f" ({_INPUTS} {rank_correlation(*xr.broadcast(x, raw))[0]:.2f})"
    return Estimate(label + beside, *rank_correlation(*xr.broadcast(x, y)), strong=_STRONG)


def _each(
    axis: str, label: str, x: xr.DataArray, y: xr.DataArray, raw: xr.DataArray | None = None
) -> list[Estimate]:
    """Spearman correlations at each value of an axis."""
    parts = []
    for value in y[axis].values:
        columns = [
            one if one is None or axis not in one.dims else one.sel({axis: value}) for one in (x, y, raw)
        ]
        parts.append(_ranks(f"{label} {short(value)}", *columns))  # type: ignore[arg-type]
    return parts


def _power(label: str, values: xr.DataArray, border: float) -> Estimate:
    sizes = values["dimension"].values
    fitted = exponent(sizes, values.transpose("trial", "dimension"))
    trials = int(values.notnull().all("dimension").sum())
    return Estimate(label, *fitted, border=border, side="below", trials=trials)
