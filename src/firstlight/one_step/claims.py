"""The published claims about one gradient step, each judged by what networks and models did in a study.

The source draws raw errors. With a random label direction these change with Var(y), which is a change of
units; so each claim about an effect is judged twice, raw and over Var(y).
"""

from dataclasses import replace
from math import ceil

import numpy as np
import xarray as xr

from firstlight.study import estimates
from firstlight.study.claims import Claim, Estimate, Side, Statement, judged

_SOURCE = "demir2025onestep"
_SAME = 0.05  # mean relative gap over a sweep up to which two models are said to align
_POINT = 0.1  # the same at each single point
_MATTERS = 0.1  # relative change of the error from which on a property is said to matter
_RAW, _FAIR = "test_error", "relative_test_error"

_GAP = (
    "relative gap of the model's error to the network's, trained on the same samples: mean over the sweep, "
    "and at the point where it is largest"
)
_GAP_RULE = f"of every curve: mean within {_SAME:.0%} and largest within {_POINT:.0%}"


SUFFICES = Statement(
    "degree l-1 suffices where (l-2)/(l-1) < β < (l-1)/l", _SOURCE, "Theorem on the Hermite model",
    "relative gap of that Hermite model's test error to the network's, trained on the same samples",
    f"within {_SAME:.0%} at each β below 0.8, spikes in the data and labels along them", every=True,
)  # fmt: skip
NEEDED = Statement(
    "a lower degree than l-1 does not suffice", _SOURCE, "Theorem on the Hermite model",
    "relative gap of the next smaller Hermite model (for ReLU that below degree 3 is of degree 1: h₃ = 0)",
    f"beyond {_SAME:.0%} at each β", every=True,
)  # fmt: skip
GAUSSIAN = Statement(
    "network and conditional Gaussian model have the same test error", _SOURCE,
    "Theorem on conditional Gaussian equivalence", _GAP, _GAP_RULE, every=True,
)  # fmt: skip
IMAGES = Statement(
    "network and Hermite model have the same test error on Fashion-MNIST", _SOURCE, "Figures 3, 8",
    _GAP, _GAP_RULE, every=True,
)  # fmt: skip
IMAGES_THEORY = Statement(
    "class means and covariances of Fashion-MNIST predict the network's test error", "", "ours",
    "relative gap of the deterministic equivalent to the network", _GAP_RULE, every=True,
)  # fmt: skip
SPREAD = Statement(
    "higher data spread (α = 0) beats a higher learning rate (α = 1)", _SOURCE, "Figure 1b",
    "log of the test error at α = 1 over that at α = 0", "above 0",
)  # fmt: skip
SPREAD_ALIGNED = Statement(
    "higher data spread beats a higher learning rate, labels along the spikes", _SOURCE, "Figure 4a",
    f"{SPREAD.estimand}, where Var(y) hardly changes", "above 0 at each β from 0.4 on",
)  # fmt: skip
STRENGTH = Statement(
    "larger β improves generalisation", _SOURCE, "Figures 1c, 5",
    "log of the test error at the largest β over that at β = 0", "below 0",
)  # fmt: skip
SHARE, ALIGNMENT, RANK = (
    Statement(
        f"{what} matters for the test error", _SOURCE, figure, f"log of the test error at {contrast}",
        f"beyond {_MATTERS:g} in size",
    )
    for what, figure, contrast in (
        ("the mixture ratio", "Figure 2a", "equal shares over that at a share of 0.05"),
        ("the alignment of the spikes", "Figure 2b", "full alignment over that at none"),
        ("the rank of the covariance", "Figure 2c", "the largest rank over that at rank 1"),
    )
)  # fmt: skip

_ERRORS = {_RAW: "test error", "train_error": "training error"}
ALIKE = {
    (axis, name): Statement(
        f"network and Hermite model have the same {word} along {axis}", _SOURCE, figure, _GAP, _GAP_RULE,
        every=True,
    )
    for axis, figure in (
        ("k/m", "Figures 1a, 6"), ("α", "Figure 1b"), ("β", "Figures 1c, 5"),
        ("the mixture ratio", "Figure 2a"), ("the alignment", "Figure 2b"), ("the rank", "Figure 2c"),
    )
    for name, word in _ERRORS.items()
}  # fmt: skip
EFFECTS = {
    (said, name): replace(said, text=f"{said.text} ({word})")
    for said in (SPREAD, STRENGTH, SHARE, ALIGNMENT, RANK)
    for name, word in ((_RAW, "raw error"), (_FAIR, "error over Var(y)"))
}


def width(results: xr.Dataset) -> list[Claim]:
    """Judge ``one-step/width``: test and training error along k/m."""
    return _alike(results, "k/m")


def alpha(results: xr.Dataset) -> list[Claim]:
    """Judge ``one-step/alpha``: the Hermite model, and data spread against learning rate."""
    return [
        *_alike(results, "α"),
        *_effect(SPREAD, results, "alpha", 1.0, 0.0, "above"),
    ]


def beta(results: xr.Dataset) -> list[Claim]:
    """Judge ``one-step/beta``: the Hermite model where it has a degree (β < 0.8), and the effect of β."""
    below = results.sel(beta=results["beta"] < 0.8)
    top = float(results["beta"].max())
    return [
        *_alike(below, "β", hue="alpha"),
        *_effect(STRENGTH, results, "beta", top, 0.0, "below", hue="alpha"),
    ]


def share(results: xr.Dataset) -> list[Claim]:
    """Judge ``one-step/mixture-ratio``: the middle of the sweep against its end."""
    shares = results["share"].values
    ends = float(shares[len(shares) // 2]), float(shares[0])
    return [
        *_alike(results, "the mixture ratio"),
        *_effect(SHARE, results, "share", *ends, "beyond"),
    ]


def spike_alignment(results: xr.Dataset) -> list[Claim]:
    """Judge ``one-step/spike-alignment``: aligned spikes against orthogonal ones."""
    values = results["spike_alignment"].values
    none = float(values[np.abs(values).argmin()])
    return [
        *_alike(results, "the alignment"),
        *_effect(ALIGNMENT, results, "spike_alignment", 1.0, none, "beyond"),
    ]


def rank(results: xr.Dataset) -> list[Claim]:
    """Judge ``one-step/rank``: many spikes against one."""
    most = float(results["rank"].max())
    return [
        *_alike(results, "the rank"),
        *_effect(RANK, results, "rank", most, 1.0, "beyond"),
    ]


def square(results: xr.Dataset) -> list[Claim]:
    """Judge ``one-step/alpha-beta-map``: labels along the spikes, where Var(y) hardly changes."""
    error = xr.apply_ufunc(np.log, results[_RAW].sel(arm="network"))
    change = error.sel(alpha=1.0) - error.sel(alpha=0.0)
    parts = [
        estimates.mean(f"β = {strength:.2g}", change.sel(beta=strength))
        for strength in results["beta"].values
        if strength >= 0.4
    ]
    return [judged(SPREAD_ALIGNED, parts)]


def degree(results: xr.Dataset) -> list[Claim]:
    """Judge ``one-step/degree``: the theorem's degree, one less, and the conditional Gaussian model."""
    strengths = [float(value) for value in results["beta"].values if value < 0.8]
    enough, less = [], []
    for strength in strengths:
        needed = ceil(strength / (1 - strength))
        at = results.sel(beta=[strength])
        label = f"β = {strength:g}, degree"
        enough.append(_gap(f"{label} {needed}", at, _RAW, f"degree_{needed}", "within", _SAME))
        errors = {d: at[_RAW].sel(arm=f"degree_{d}") for d in range(1, needed + 1)}
        others = [d for d in errors if not np.allclose(errors[d], errors[needed], rtol=1e-6, equal_nan=True)]
        if others:  # where h_l = 0 degree l has the model of degree l - 1
            less.append(_gap(f"{label} {others[-1]}", at, _RAW, f"degree_{others[-1]}", "beyond", _SAME))
    below = results.sel(beta=strengths)
    return [
        judged(SUFFICES, enough),
        judged(NEEDED, less),
        judged(GAUSSIAN, _gaps(below, _RAW, "conditional_gaussian")),
    ]


def images(results: xr.Dataset) -> list[Claim]:
    """Judge a study of two classes of images: Hermite model and prediction beside the network."""
    return [
        judged(IMAGES, _gaps(results, _RAW, "hermite")),
        judged(IMAGES_THEORY, _gaps(results, _RAW, "deterministic")),
    ]


def _alike(results: xr.Dataset, axis: str, hue: str = "activation") -> list[Claim]:
    """Judge whether the Hermite model has the network's test and training error."""
    return [judged(ALIKE[axis, name], _gaps(results, name, "hermite", hue)) for name in _ERRORS]


def _gaps(results: xr.Dataset, name: str, model: str, hue: str = "activation") -> list[Estimate]:
    """Judge relative gaps of a model to the network: their mean over the sweep, and the largest."""
    parts = []
    for value in results[hue].values if hue in results.dims else [None]:
        one = results if value is None else results.sel({hue: value})
        label = "gap" if value is None else f"gap, {_word(hue, value)}"
        parts.append(_gap(f"mean {label}", one, name, model, "within", _SAME))
        parts.append(_largest_gap(f"largest {label}", _relative(one, name, model)))
    return parts


def _largest_gap(label: str, gaps: xr.DataArray) -> Estimate:
    """Judge the gap of largest size, with its sign."""
    means = gaps.mean("trial")
    [axis] = means.dims
    worst = int(np.nanargmax(abs(means)))
    name = f"{label}, at {_word(str(axis), means[axis].values[worst])}"
    sizes = gaps * np.sign(means)
    found = estimates.largest(name, sizes, one_sided=False, border=_POINT, side="within")
    if means.values[worst] >= 0:
        return found
    return replace(found, value=-found.value, low=-found.high, high=-found.low)


def _relative(results: xr.Dataset, name: str, model: str) -> xr.DataArray:
    """Return each trial's gap over the network's mean error there; ratios of single trials are skewed."""
    network = results[name].sel(arm="network")
    return (results[name].sel(arm=model) - network) / network.mean("trial")


def _gap(label: str, results: xr.Dataset, name: str, model: str, side: Side, border: float) -> Estimate:
    gaps = _relative(results, name, model)
    one = gaps.mean([dim for dim in gaps.dims if dim != "trial"])
    return estimates.mean(label, one, border=border, side=side)


def _effect(
    statement: Statement,
    results: xr.Dataset,
    axis: str,
    there: float,
    here: float,
    side: Side,
    hue: str = "activation",
) -> list[Claim]:
    """Judge log ratios of the network's errors at two values of an axis: raw, and over Var(y)."""
    claims = []
    border = _MATTERS if side == "beyond" else 0.0
    for name in (_RAW, _FAIR):
        error = xr.apply_ufunc(np.log, results[name].sel(arm="network"))
        ends = (error.sel({axis: value}, method="nearest", drop=True) for value in (there, here))
        change = next(ends) - next(ends)
        parts = [
            estimates.mean(_word(hue, value), change.sel({hue: value}), border=border, side=side)
            for value in results[hue].values
        ]
        claims.append(judged(EFFECTS[statement, name], parts))
    return claims


def _word(axis: str, value: object) -> str:
    if isinstance(value, str):
        return value
    return f"{ {'alpha': 'α', 'beta': 'β', 'ratio': 'k/m'}.get(axis, axis.replace('_', ' ')) } = {value:.2g}"
