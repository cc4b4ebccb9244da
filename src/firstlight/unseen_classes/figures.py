"""Pictures of `unseen_classes`: a user's classes, and the rank relations of studies on images."""

from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from firstlight.maths.drawing import as_written
from firstlight.show import style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_WORDS = {
    "similarity_alignment": "|t| → alignment",
    "similarity_alignment_change": "|t| → change of alignment",
    "snr_alignment": "SNR → alignment",
    "similarity_elasticity": "|t| → elasticity",
    "similarity_recall": "|t| → Recall@1",
    "similarity_recall_change": "|t| → change of Recall@1",
    "alignment_recall": "alignment → Recall@1",
    "similarity_raw_recall": "|t| → Recall@1 of inputs",
    "alignment_raw_recall": "alignment → that of inputs",
}
_MOST_NAMES = 30
_TITLES = {"alignment": "alignment (cosine)", "elasticity": "elasticity per neuron", "recall": "Recall@1"}


def classes(results: xr.Dataset) -> "Figure":
    """Draw a user's unseen classes: alignment, elasticity and recall against |t|, with intervals.

    Parameters
    ----------
    results : Dataset
        From `firstlight.unseen_classes.analysis.analyse`.
    """
    with style.use():
        drawn = style.new(1, 3, width=4.0)
        x = np.abs(results["similarity"].values)
        label = f"after the step, {results.attrs['level']:.0%} interval"
        for ax, name in zip(drawn.axes, ("alignment", "elasticity", "recall"), strict=True):
            y, bounds = results[name].values, results[f"{name}_interval"].values
            spread = np.abs(bounds - y[:, None]).T
            ax.errorbar(x, y, yerr=spread, fmt="o", color=style.COLOURS[0], capsize=2, label=label)
            if f"{name}_before" in results:
                ax.plot(x, results[f"{name}_before"], "x", color="#888888", label="before")
            ax.margins(x=0.12)
            _name_points(ax, x, y, results["class"].values)
            ax.set_xlabel("train-unseen similarity |β·μ|")
            ax.set_title(_TITLES[name])
        drawn.axes[0].legend()
    return drawn


def _name_points(ax: Any, x: np.ndarray, y: np.ndarray, names: np.ndarray) -> None:
    """Write each class beside its point, above and below in turn; not when there are too many to read."""
    if len(names) > _MOST_NAMES:
        return
    for turn, place in enumerate(np.argsort(x)):
        if np.isfinite(y[place]):
            shift = (4, 5 if turn % 2 else -9)
            ax.annotate(
                as_written(names[place]), (x[place], y[place]), shift, textcoords="offset points", fontsize=7
            )


def relations(study: Any, results: xr.Dataset) -> "Figure":
    """Draw the rank relations of a study over training sets, by arm, and predictions against networks.

    For studies of a `SetsProblem`.
    """
    one = results.isel(dict.fromkeys(study.axes, 0)).mean("trial")
    drawn = style.new(1, 4, width=3.1, height=3.8)
    left, *right = drawn.axes
    names = one["relation"].values.tolist()
    for shift, (arm, colour) in enumerate(zip(study.arms, style.COLOURS, strict=False)):
        mean, low, high = (one[f"spearman{end}"].sel(arm=arm).values for end in ("", "_low", "_high"))
        height = np.arange(len(names)) + 0.2 * (shift - (len(study.arms) - 1) / 2)
        left.errorbar(
            mean, height, xerr=[mean - low, high - mean], fmt="o", color=colour, markersize=4,
            label=study.arms[arm].label or arm,
        )  # fmt: skip
    left.set_yticks(range(len(names)), [_WORDS[name] for name in names])
    left.set_ylim(len(names) - 0.5, -2.0)
    left.axvline(0, color="#999999", linewidth=0.8)
    left.set_xlabel("mean Spearman, 95 % interval")
    left.legend(loc="upper left")
    left.set_title(f"over {one.sizes['train']} training sets")
    for ax, name in zip(right, ("alignment", "elasticity", "recall"), strict=True):
        _predicted_against_measured(ax, study, one, name)
    return drawn


def _predicted_against_measured(ax: Any, study: Any, one: xr.Dataset, name: str) -> None:
    theory = study.reference
    network = next(arm for arm in study.arms if arm != theory)
    x, y = (one[name].sel(arm=arm).values.ravel() for arm in (theory, network))
    ax.plot(x, y, ".", markersize=3, color=style.COLOURS[0])
    ends = [np.nanmin([x, y]), np.nanmax([x, y])]
    ax.plot(ends, ends, color="#999999", linewidth=0.8)
    ax.set_xlabel("predicted")
    ax.set_ylabel("network")
    ax.set_title(_TITLES[name])
