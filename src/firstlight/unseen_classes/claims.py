"""The published claims about unseen classes, each judged by what the networks of a study did.

The same claim has the same words in every study. A Spearman correlation whose interval lies between 0 and 0.3
counts as weak: the claim then holds in part.
"""

import xarray as xr

from firstlight.maths.agreement import mean_interval
from firstlight.study.claims import Claim, Estimate, exponent, judged, over_trials, rank_correlation

ALIGNMENT = "alignment of an unseen class rises with its similarity"
ELASTICITY = "elasticity of an unseen class rises with its similarity"
IDENTICAL = "alignment and elasticity emerge under identical conditions"
RECALL = "Recall@1 of unseen classes rises with their similarity"
FAVOURS = "the step changes Recall@1 in favour of similar classes"
RETRIEVED = "unseen classes that are better aligned are better retrieved"
HELPS = "training on other classes helps to retrieve unseen ones"
ALIKE = "similarity, alignment and Recall@1 rank unseen classes alike"
RANK_ONE = "the first gradient is of rank one, up to an error that falls like 1/√n"
NORMS = "operator norms are of order √n + √d, whatever the mean"

_STRONG = 0.3


def alignment(found: xr.Dataset) -> list[Claim]:
    """Judge ``unseen-classes/alignment-vs-similarity``: cosines and inner products by strength."""
    network = found.sel(arm="network")
    size = abs(network["cosine"])
    parts = _each("kappa", "Spearman, cosine, κ =", size, network["alignment"])
    return [judged(ALIGNMENT, [*parts, *_each("kappa", "inner product, κ =", size, network["cohesion"])])]


def elasticity(found: xr.Dataset) -> list[Claim]:
    """Judge ``unseen-classes/elasticity-vs-similarity`` at each strength of the step."""
    network = found.sel(arm="network")
    return [
        judged(ELASTICITY, _each("kappa", "Spearman, κ =", abs(network["cosine"]), network["elasticity"]))
    ]


def sides(found: xr.Dataset) -> list[Claim]:
    """Judge ``unseen-classes/recall-vs-similarity``: two unseen classes on opposite sides, or on the same."""
    network = found.sel(arm="network")
    change = network["mean_recall"] - network["mean_recall_before"]
    far = network["along"] > network["along"].mean()
    cases = {
        "opposite sides, similar": change.sel(side="opposite").where(far),
        "opposite sides, hardly similar": change.sel(side="opposite").where(~far),
        "same side": change.sel(side="same"),
    }
    changes = [Estimate(f"change, {name}", *over_trials(values, -1, 1)) for name, values in cases.items()]
    rises = [
        _ranks(f"Spearman, {name}", network["along"], network["mean_recall"].sel(side=side))
        for side, name in (("opposite", "opposite sides"), ("same", "same side"))
    ]
    return [judged(RECALL, rises), judged(HELPS, changes)]


def lengths(found: xr.Dataset) -> list[Claim]:
    """Judge ``unseen-classes/lengths``, set-up 1: longer unseen means are easier before the step as well."""
    network = found.sel(arm="network")
    change = network["mean_recall"] - network["mean_recall_before"]
    cases = {
        ALIGNMENT: ("Spearman, cohesion", network["cohesion"]),
        ELASTICITY: ("Spearman", network["elasticity"]),
        RECALL: ("Spearman", network["mean_recall"]),
        FAVOURS: ("Spearman, change of Recall@1", change),
    }
    return [judged(text, [_ranks(word, network["length"], y)]) for text, (word, y) in cases.items()]


def rotations(found: xr.Dataset) -> list[Claim]:
    """Judge ``unseen-classes/rotations``, set-up 2: classes that turn away from the training direction."""
    network = found.sel(arm="network")
    size, change = network["similarity"], network["mean_recall"] - network["mean_recall_before"]
    return [
        judged(ALIGNMENT, _each("length", "Spearman, length =", size, network["alignment"])),
        judged(ELASTICITY, _each("length", "Spearman, length =", size, network["elasticity"])),
        judged(
            IDENTICAL,
            _each("length", "Spearman of the two, length =", network["alignment"], network["elasticity"]),
        ),
        judged(FAVOURS, _each("length", "Spearman, change of Recall@1, length =", size, change)),
    ]


def gradient(found: xr.Dataset) -> list[Claim]:
    """Judge ``unseen-classes/rank-one`` in both norms; errors falling slower than n^(-1/4) do not count."""
    network = found.sel(arm="network")
    parts = [
        _power(
            f"exponent in {norm} norm, {name}", network[f"{norm.lower()}_error"].sel(activation=name), -0.25
        )
        for norm in ("operator", "Frobenius")
        for name in network["activation"].values
    ]
    return [judged(RANK_ONE, parts)]


def norms(found: xr.Dataset) -> list[Claim]:
    """Judge ``unseen-classes/operator-norm``: what outgrows √n + √d by n^(1/4) is another order."""
    ratio = found["over_published"].sel(arm="matrix")
    parts = [
        _power(f"exponent of norm / (√n + √d), {law}", ratio.sel(law=law), 0.25)
        for law in ratio["law"].values
    ]
    return [judged(NORMS, parts, every=True)]


def sets(found: xr.Dataset) -> list[Claim]:
    """Judge a study of many training sets; the intervals are over these."""
    network = found.sel(arm="network").mean("trial")

    def parts(label: str, relation: str) -> list[Estimate]:
        ranks = (network[f"spearman{end}"].sel(relation=relation).values for end in ("", "_low", "_high"))
        return [
            Estimate(f"Spearman, {label}, {images}", value, low, high, strong=_STRONG)
            for images, value, low, high in zip(network["images"].values, *ranks, strict=True)
        ]

    change = (network["recall"] - network["recall_before"]).mean("class")
    changes = [
        Estimate(f"mean change, {images}", *mean_interval(change.sel(images=images)))
        for images in network["images"].values
    ]
    aligned = parts("change", "similarity_alignment_change") + parts("level after", "similarity_alignment")
    return [
        judged(ALIGNMENT, aligned),
        judged(ELASTICITY, parts("movement", "similarity_elasticity")),
        judged(RECALL, parts("level after", "similarity_recall")),
        judged(FAVOURS, parts("change", "similarity_recall_change")),
        judged(RETRIEVED, parts("level after", "alignment_recall")),
        judged(HELPS, changes),
    ]


def deep(found: xr.Dataset) -> list[Claim]:
    """Judge a study of deep networks after the last epoch, along its first axis (images or losses)."""
    network = found.sel(arm="network")
    last = network.isel(epoch=-1)
    [axis] = [dim for dim in last["kendall_w"].dims if dim != "trial"]

    def cases(
        values: xr.DataArray, word: str, border: float = 0.0, strong: float | None = None
    ) -> list[Estimate]:
        return [
            Estimate(
                f"{word}, {name}",
                *over_trials(values.sel({axis: name}), 0 if border else -1, 1),
                border=border,
                strong=strong,
            )
            for name in values[axis].values
        ]

    pairs = {ALIGNMENT: "similarity_alignment", RECALL: "similarity_recall", RETRIEVED: "alignment_recall"}
    change = network["mean_recall"] - network["mean_recall"].isel(epoch=0)
    return [
        *(
            judged(text, cases(last[name], "Spearman", strong=_STRONG))
            for text, name in pairs.items()
            if name in last
        ),
        judged(ALIKE, cases(last["kendall_w"], "Kendall's W (by chance 1/3)", border=1 / 3)),
        judged(HELPS, cases(change.isel(epoch=-1), "change of Recall@1")),
    ]


def _ranks(label: str, x: xr.DataArray, y: xr.DataArray) -> Estimate:
    """Spearman over all points and trials, each of which has samples and a network of its own."""
    return Estimate(label, *rank_correlation(*xr.broadcast(x, y)), strong=_STRONG)


def _each(axis: str, label: str, x: xr.DataArray, y: xr.DataArray) -> list[Estimate]:
    """Spearman correlations at each value of an axis."""
    parts = []
    for value in y[axis].values:
        one = x.sel({axis: value}) if axis in x.dims else x
        shown = value if isinstance(value, str) else f"{value:g}"
        parts.append(_ranks(f"{label} {shown}", one, y.sel({axis: value})))
    return parts


def _power(label: str, values: xr.DataArray, border: float) -> Estimate:
    sizes = values["size"].values
    found = exponent(sizes, values.transpose("trial", "size"))
    return Estimate(label, *found, border=border, side="below")
