"""Pictures of phase transitions: how delta_NN's limit is found, and learning curves with thresholds."""

from typing import TYPE_CHECKING

import numpy as np
import xarray as xr

from firstlight.show import style
from firstlight.study.sweep import Study

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def limit(study: Study, results: xr.Dataset) -> "Figure":
    """Draw delta_NN(T) against T, and against the bulk's edge with the line to its limit."""
    axis = next(iter(study.axes))
    theory = results.sel(arm=study.reference).isel(trial=0)
    drawn = style.new(1, 2)
    for colour, value in zip(style.COLOURS, theory[axis].values, strict=False):
        one = theory.sel({axis: value})
        label, trained = f"{study.figure.label(axis)} = {value:g}", one.time.values > 0
        drawn.axes[0].plot(one.time[trained], one.threshold[trained], ".-", color=colour, label=label)
        late = one.time.values >= one.time.values.max() / 3
        drawn.axes[1].plot(one.edge[trained], one.threshold[trained], ".", color=colour)
        if not bool(np.isnan(one.delta_nn)):
            ends = [0.0, float(one.edge[late].min())]
            line = np.polynomial.Polynomial.fit(one.edge[late], one.threshold[late], 1)
            drawn.axes[1].plot(ends, line(np.array(ends)), "--", color=colour)
            drawn.axes[1].plot(0.0, float(one.delta_nn), "*", color=colour, markersize=11)
    drawn.axes[0].set(xlabel="step T", title="threshold at step T", xscale="log")
    ticks = [t for t in 2 ** np.arange(12) if 4 <= t <= theory.time.values.max()]
    drawn.axes[0].set_xticks(ticks, [str(t) for t in ticks], minor=False)
    drawn.axes[0].minorticks_off()
    drawn.axes[1].set(xlabel="left edge of the bulk", title="and its limit where the edge reaches 0")
    drawn.axes[0].legend()
    return drawn


def spectra(study: Study, results: xr.Dataset) -> "Figure":
    """Draw the Hessian's density, theory over eigenvalues, with the lowest of each."""
    ends = results.boundary.values
    middle = 0.5 * (ends[1:] + ends[:-1])
    density = results.share_below.diff("boundary") / np.diff(ends)
    experiment = next(name for name, arm in study.arms.items() if arm.kind == "simulate")
    looks = {experiment: (style.COLOURS[0], "v", "eigenvalues"), study.reference: ("#333333", "^", "theory")}
    drawn = style.new(results.samples_per_dimension.size, results.width.size, width=3.4, height=2.5)
    deltas, widths = results.samples_per_dimension.values, results.width.values
    panels = ((delta, width) for delta in deltas for width in widths)
    for ax, (delta, width) in zip(drawn.axes, panels, strict=True):
        for arm, (colour, marker, label) in looks.items():
            where = {"samples_per_dimension": delta, "width": width, "arm": arm}
            curve = density.sel(where).mean("trial")
            if arm == experiment:
                ax.stairs(curve, ends, fill=True, color=colour, alpha=0.35, label=label)
            else:
                ax.plot(middle, curve, color=colour, label=label)
            lowest = results.smallest_eigenvalue.sel(where).mean("trial")
            ax.plot(lowest, 0, marker, color=colour, clip_on=False, label=f"lowest of {label}")
        ax.set(xlabel="eigenvalue")
        ax.set_title(f"m = {width}, δ = {delta:g}", fontsize=9)
    drawn.axes[0].legend(fontsize=7)
    return drawn


def learning(study: Study, results: xr.Dataset) -> "Figure":
    """Draw how often descent succeeds, V(t)'s prediction and onset at each size, delta_alg and delta_NN."""
    from firstlight.phase_transition import delta_nn

    first = study.build(study.point(0))
    limits = delta_nn(first.law, first.student, first.training, 48, draws=1 << 12)  # type: ignore[attr-defined]
    experiment = next(name for name, arm in study.arms.items() if arm.kind == "simulate")
    drawn = style.new(width=6.4, height=3.8)
    ax = drawn.axes[0]
    for colour, marker, d in zip(style.COLOURS, style.MARKERS, results.dimension.values, strict=False):
        runs = results.success.sel(dimension=d, arm=experiment)
        mean, count = runs.mean("trial"), runs.notnull().sum("trial")
        error = np.sqrt(mean * (1 - mean) / count)
        ax.errorbar(
            results.samples_per_dimension, mean, error, fmt=marker, color=colour, label=f"descent, d = {d}"
        )
        theory = results.success.sel(dimension=d, arm=study.reference).isel(trial=0)
        ax.plot(results.samples_per_dimension, theory, color=colour, label=f"V(t), d = {d}")
        if (onset := _half(results.samples_per_dimension.values, theory.values)) is not None:
            ax.axvline(onset, ymax=0.5, color=colour, linewidth=0.8, label=f"onset {onset:.2f}, d = {d}")
    ax.axvline(limits.delta_alg, color="#888888", linestyle=":", label="$δ_{alg}$")
    if np.isfinite(limits.value):
        ax.axvline(limits.value, color="#444444", linestyle="--", label="$δ_{NN}$ (d → ∞)")
    ax.set(xlabel="samples per dimension δ", title="probability of success")
    ax.legend(fontsize=7)
    return drawn


def _half(deltas: np.ndarray, chances: np.ndarray) -> float | None:
    """Return where the chance of success first passes one half; None if it does not."""
    above = np.flatnonzero(chances >= 0.5)
    if not above.size or above[0] == 0:
        return None
    i = int(above[0])
    return float(np.interp(0.5, chances[i - 1 : i + 1], deltas[i - 1 : i + 1]))
