"""Pictures of the room `unseen_classes`: a user's classes, and the rank relations of studies on images."""

from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

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
}


def classes(found: xr.Dataset) -> "Figure":
    """Draw a user's unseen classes: alignment, elasticity and recall against |t|, with intervals.

    Parameters
    ----------
    found : Dataset
        From `firstlight.unseen_classes.analysis.analyse`.

    Returns
    -------
    matplotlib.figure.Figure

    Examples
    --------
    See `firstlight unseen --figure`.
    """
    with style.use():
        drawn = style.new(1, 3, width=4.0)
        x = np.abs(found["similarity"].values)
        for ax, name in zip(drawn.axes, ("alignment", "elasticity", "recall"), strict=True):
            y, bounds = found[name].values, found[f"{name}_interval"].values
            spread = np.abs(bounds - y[:, None]).T
            ax.errorbar(x, y, yerr=spread, fmt="o", color=style.COLOURS[0], capsize=2, label="after the step")
            if f"{name}_before" in found:
                ax.plot(x, found[f"{name}_before"], "x", color="#888888", label="before")
            for a, b, label in zip(x, y, found["class"].values, strict=True):
                if np.isfinite(b):
                    ax.annotate(f" {label}", (a, b), fontsize=7)
            ax.set_xlabel("train-unseen similarity |β·μ|")
            ax.set_title({"recall": "Recall@1", "alignment": "alignment (cosine)"}.get(name, name))
        drawn.axes[0].legend()
    return drawn


def relations(study: Any, found: xr.Dataset) -> "Figure":
    """Draw the rank relations of a study over training sets: mean Spearman and its bootstrap interval, by
    arm.

    Parameters
    ----------
    study : Study
        One axis: the training classes.
    found : Dataset
        As `firstlight.study.run` returns it.

    Returns
    -------
    matplotlib.figure.Figure

    Examples
    --------
    See the catalogue: ``unseen/digits-pairs``.
    """
    axis = next(iter(study.axes))
    with style.use():
        drawn = style.new(1, 2, width=5.6, height=3.8)
        left, right = drawn.axes
        names = [name for name in _WORDS if name in found]
        for shift, (arm, colour) in enumerate(zip(study.arms, style.COLOURS, strict=False)):
            for place, name in enumerate(names):
                mean, low, high = mean_interval(found[name].sel(arm=arm).mean("trial").values.ravel())
                height = place + 0.18 * (shift - (len(study.arms) - 1) / 2)
                label = (study.arms[arm].label or arm) if place == 0 else None
                left.plot([low, high], [height, height], color=colour)
                left.plot(mean, height, "o", color=colour, label=label)
        left.set_yticks(range(len(names)), [_WORDS[name] for name in names])
        left.invert_yaxis()
        left.axvline(0, color="#999999", linewidth=0.8)
        left.set_xlabel(f"Spearman over unseen classes, mean over {found.sizes[axis]} training sets, 95 %")
        left.legend(loc="lower left")
        _predicted_against_measured(right, study, found)
        drawn.suptitle(study.figure.title or study.description, fontsize=11)
    return drawn


def mean_interval(values: np.ndarray, level: float = 0.95) -> tuple[float, float, float]:
    """Mean over training sets and its percentile bootstrap interval; sets without a value do not count.

    Examples
    --------
    >>> mean, low, high = mean_interval(np.array([0.2, 0.4, 0.6, np.nan]))
    >>> round(mean, 6), low < mean < high
    (0.4, True)
    """
    known = values[np.isfinite(values)]
    if not len(known):
        return np.nan, np.nan, np.nan
    picks = np.random.default_rng(0).integers(len(known), size=(4000, len(known)))
    low, high = np.percentile(known[picks].mean(axis=1), [50 - 50 * level, 50 + 50 * level])
    return float(known.mean()), float(low), float(high)


def _predicted_against_measured(ax: Any, study: Any, found: xr.Dataset) -> None:
    arms = list(study.arms)
    theory = study.reference
    network = next((arm for arm in arms if arm != theory), None)
    if theory is None or network is None:
        ax.set_axis_off()
        return
    for name, colour in zip(("alignment", "recall", "elasticity"), style.COLOURS, strict=False):
        if name in found:
            x, y = (found[name].sel(arm=arm).mean("trial").values.ravel() for arm in (theory, network))
            known = np.isfinite(x) & np.isfinite(y)
            ax.plot(x[known], y[known], ".", markersize=3, color=colour, label=name)
    low, high = ax.get_xlim()
    ax.plot([low, high], [low, high], color="#999999", linewidth=0.8)
    ax.set_xlabel("predicted")
    ax.set_ylabel("network")
    ax.legend()
