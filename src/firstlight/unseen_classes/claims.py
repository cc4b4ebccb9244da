"""The published claims about unseen classes, each judged by what the networks of a study did.

The same claim has the same words in every study. A Spearman correlation whose interval lies between 0 and 0.3
counts as weak: the claim then holds in part.
"""

from dataclasses import replace

import numpy as np
import xarray as xr

from firstlight.maths.intervals import exponent, mean_interval, over_classes, over_trials, rank_correlation
from firstlight.study.claims import Claim, Estimate, Side, Statement, judged

_SOURCE = "unseen2025emergence"
_RANK = "Spearman correlation with the train-unseen similarity |β·μ|"
_RANK_RULE = "above 0; in part where the whole interval lies below 0.3"
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
    "exponent in n of the norm over √n + √d", "below 1/4 for every law",
)  # fmt: skip
TELL_APART = Statement(
    "training directions between or beyond two unseen inputs tell them apart; one at their midpoint does not",
    "transfer2025classifier", "experiment on several training directions",
    "log of the squared distance of the two mean features, over that with an orthogonal direction",
    "above 0.1 between and beyond them, within 0.1 at the midpoint",
)  # fmt: skip
UNRELATED = Statement(
    "an unrelated training direction beside one that tells apart does not help", "transfer2025classifier",
    "experiment on several training directions",
    "log of the squared distance with the orthogonal direction beside it, over that without", "at most 0.1",
)  # fmt: skip

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
        Estimate(f"change, {name}{_beside(raw[name.split()[0]])}", *over_trials(values, -1, 1))
        for name, values in cases.items()
    ]
    rises = [
        _ranks(f"Spearman, {name}", network["along"], network["mean_recall"].sel(side=side))
        for side, name in (("opposite", "opposite sides"), ("same", "same side"))
    ]
    return [judged(RECALL, rises), judged(HELPS, changes)]


def lengths(results: xr.Dataset) -> list[Claim]:
    """Judge ``unseen-classes/lengths``, set-up 1: longer unseen means are easier before the step as well."""
    network = results.sel(arm="network")
    change = network["mean_recall"] - network["mean_recall_before"]
    cases = {
        ALIGNMENT: ("Spearman, cohesion", network["cohesion"]),
        ELASTICITY: ("Spearman", network["elasticity"]),
        RECALL: (f"Spearman{_beside(network['raw_recall'])}", network["mean_recall"]),
        FAVOURS: ("Spearman, change of Recall@1", change),
    }
    return [judged(text, [_ranks(word, network["length"], y)]) for text, (word, y) in cases.items()]


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
        judged(FAVOURS, _each("length", "Spearman, change of Recall@1, length =", size, change)),
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
    return [judged(NORMS, parts, every=True)]


def sets(results: xr.Dataset) -> list[Claim]:
    """Judge a study of many training sets; the intervals are over these."""
    network = results.sel(arm="network").mean("trial")

    def parts(label: str, relation: str) -> list[Estimate]:
        ranks = (network[f"spearman{end}"].sel(relation=relation).values for end in ("", "_low", "_high"))
        return [
            Estimate(f"Spearman, {label}, {images}", value, low, high, strong=_STRONG)
            for images, value, low, high in zip(network["images"].values, *ranks, strict=True)
        ]

    change = (network["recall"] - network["recall_before"]).mean("class")
    changes = [
        Estimate(
            f"mean change, {images}{_beside(network['raw_recall'].sel(images=images))}",
            *mean_interval(change.sel(images=images)),
        )
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


def spikes(results: xr.Dataset) -> list[Claim]:
    """Judge ``unseen-classes/spikes``: distances by the place of the training direction."""
    distance = xr.apply_ufunc(np.log, results["distance"].sel(arm="network"))

    def part(name: str, base: str, side: Side) -> Estimate:
        change = distance.sel(directions=name) - distance.sel(directions=base)
        return Estimate(f"{name} over {base}", *over_trials(change), border=0.1, side=side)

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
    change = network.isel(epoch=-1) - network.isel(epoch=0)
    [axis] = [dim for dim in change["kendall_w"].dims if dim not in ("trial", "class")]

    def cases(name: str, word: str, strong: float | None = None) -> list[Estimate]:
        parts = []
        for value in network[axis].values:
            at = {axis: value}
            unseen = network["unseen"].sel(at).transpose("trial", "class")
            levels = [float(network[name].sel(at).isel(epoch=end).mean()) for end in (0, -1)]
            label = f"{word}, {value} ({levels[0]:.2f} to {levels[1]:.2f}{_raw(network, name, at)})"
            parts.append(Estimate(label, *over_classes(change[name].sel(at), unseen, -2, 2), strong=strong))
        return parts

    pairs = {ALIGNMENT: "similarity_alignment", RECALL: "similarity_recall", RETRIEVED: "alignment_recall"}
    ranks = [
        judged(_grows(statement), cases(name, "change of Spearman"))
        for statement, name in pairs.items()
        if name in network
    ]
    alike = judged(_grows(ALIKE), cases("kendall_w", "change of Kendall's W"))
    return [*ranks, alike, judged(HELPS, cases("mean_recall", "change of Recall@1"))]


def _grows(statement: Statement) -> Statement:
    """Say the same of what deep training brings about, beyond what untrained networks show."""
    estimand = f"change from epoch 0 to the last: {statement.estimand}"
    return replace(statement, text=f"by training, {statement.text}", estimand=estimand, rule="above 0")


def _raw(network: xr.Dataset, name: str, at: dict) -> str:
    return f"; inputs {float(network['raw_recall'].sel(at).mean()):.2f}" if name == "mean_recall" else ""


def _beside(raw: xr.DataArray) -> str:
    """Say how well the inputs themselves do, without any network."""
    return f" (inputs: {float(raw.mean()):.2f})"


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
    sizes = values["dimension"].values
    fitted = exponent(sizes, values.transpose("trial", "dimension"))
    return Estimate(label, *fitted, border=border, side="below")
