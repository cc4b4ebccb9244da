"""Pictures of `one_step` that are not curves over an axis: the (α, β) square, and the degrees."""

from typing import TYPE_CHECKING

import numpy as np
import xarray as xr

from firstlight.show import style
from firstlight.study.judge import trial_mean
from firstlight.study.sweep import Study

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_TICKS = (-100, -30, -10, -5, 0, 5, 10, 30, 100, 300, 1000, 3000, 10_000)


def _paired_gap(
    results: xr.Dataset, arm: str, reference: str = "network"
) -> tuple[xr.DataArray, xr.DataArray]:
    """Relative gap of an arm's test error to the network's in percent, over paired trials: mean and s.e.m."""
    ours, theirs = results.test_error.sel(arm=arm), results.test_error.sel(arm=reference)
    return trial_mean(100 * (ours - theirs) / theirs.mean("trial"))


def square(study: Study, results: xr.Dataset) -> "Figure":
    """Draw the network's error over the (α, β) square, theory's, and the gap of the degree-1 model.

    For studies with axes ``alpha`` and ``beta`` and arms ``network``, ``linear`` and a prediction.
    """
    error = results.test_error.mean("trial")
    gap = np.abs(_paired_gap(results, "linear")[0]).clip(max=100)
    panels = [
        ("network: test error", error.sel(arm="network"), None),
        ("theory: test error", error.sel(arm=study.reference), None),
        ("gap of the degree-1 model, % (100 or more: 100)", gap, 100.0),
    ]
    top = float(error.max())
    drawn = style.new(1, 3, width=4.2, height=3.6)
    for ax, (title, values, limit) in zip(drawn.axes[:3], panels, strict=True):
        table = values.transpose("beta", "alpha")
        mesh = ax.pcolormesh(
            table.alpha, table.beta, np.ma.masked_invalid(table.values), shading="nearest",
            cmap=style.HEAT, vmin=0, vmax=limit or top,
        )  # fmt: skip
        ax.set(title=title, xlabel="weighting α (0: data, 1: step)", ylabel="strength β")
        ax.grid(False)
        ax.set_facecolor("#bbbbbb")
        drawn.colorbar(mesh, ax=ax)
    return drawn


def degrees(study: Study, results: xr.Dataset) -> "Figure":
    """Draw the gap of each surrogate to the network, over its degree; the conditional Gaussian as a line.

    For studies with an axis ``beta`` and arms ``network``, ``degree_1``, ``degree_2``, ...,
    ``conditional_gaussian``.
    """
    arms = {int(arm.removeprefix("degree_")): arm for arm in study.arms if arm.startswith("degree_")}
    gaps = {degree: _paired_gap(results, arm) for degree, arm in arms.items()}
    level = _paired_gap(results, "conditional_gaussian")
    betas = results.beta.values
    drawn = style.new(1, len(betas), width=3.2, height=3.2)
    for ax, beta in zip(drawn.axes, betas, strict=True):
        mean = np.array([float(gaps[degree][0].sel(beta=beta).squeeze()) for degree in arms])
        error = np.array([float(gaps[degree][1].sel(beta=beta).squeeze()) for degree in arms])
        ax.errorbar(
            list(arms), mean, error, fmt="o", color=style.COLOURS[0], capsize=2, label="Hermite model"
        )
        centre, spread = (float(part.sel(beta=beta).squeeze()) for part in level)
        ax.axhspan(centre - spread, centre + spread, color=style.COLOURS[1], alpha=0.25, linewidth=0)
        ax.axhline(centre, color=style.COLOURS[1], label="conditional Gaussian ± s.e.m.")
        ax.axhline(0, color="#333333", linewidth=0.8)
        ax.set_yscale("symlog", linthresh=10, linscale=1.5)
        low = min(-12.0, 1.5 * float(np.nanmin(mean - error)))
        ax.set(ylim=(low, max(30.0, 1.8 * float(np.nanmax(mean + error)))), xticks=list(arms))
        ax.set_yticks([t for t in _TICKS if low <= t <= ax.get_ylim()[1]], minor=False)
        ax.set_yticks([], minor=True)
        ax.yaxis.set_major_formatter("{x:g}")
        ax.set(title=f"β = {beta:g}", xlabel="degree of the surrogate")
    drawn.axes[0].set_ylabel("test error minus the network's, %")
    drawn.legend(*drawn.axes[0].get_legend_handles_labels(), loc="outside right center")
    return drawn
