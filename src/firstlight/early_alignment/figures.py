"""Pictures of early alignment in the plane: data, neurons and the three phases, still and moving."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from firstlight.maths.rng import stream
from firstlight.show import style
from firstlight.study.sweep import Study
from firstlight.study.trial import tasks

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_CURVES = (
    ("direction_change", "change of directions"),
    ("norm_change", "change of norms"),
    ("loss", "loss"),
)


def toy(study: Study, results: xr.Dataset) -> "Figure":
    """Draw the toy: neurons at the start, aligned and fitted above; the rates and the loss in time below.

    For studies of a problem in the plane.
    """
    experiment, theory = (
        next(name for name, arm in study.arms.items() if arm.kind == kind) for kind in ("simulate", "predict")
    )
    first = results.isel(dict.fromkeys(study.axes, 0))
    trained, exact = first.sel(arm=experiment).isel(trial=0), first.sel(arm=theory).isel(trial=0)
    X, y = study.build(study.point(0)).draw(0)[:2]  # type: ignore[attr-defined]
    moments, neurons = _moments(trained), _once_more(study, experiment)
    drawn = style.new(2, 3, width=4.2, height=3.6)
    for ax, (title, k) in zip(drawn.axes[:3], moments.items(), strict=True):
        _plane(ax, X, y)
        _neurons(ax, neurons.isel(time=k))
        ax.set_title(f"{title}, t = {float(trained.time[k]):.3g}")
    for ax, (name, label) in zip(drawn.axes[3:], _CURVES, strict=True):
        ax.plot(trained.time, trained[name], ".", color=style.COLOURS[0], label="gradient descent")
        ax.plot(exact.time, exact[name], color="#333333", label="exact path")
        for k in moments.values():
            ax.axvline(float(trained.time[k]), color="#999999", linewidth=0.8, linestyle=":")
        ax.set(xlabel="time", title=label)
    drawn.axes[3].legend()
    return drawn


def animate(file: str | Path, results: xr.Dataset, X: np.ndarray, y: np.ndarray, *, frames: int = 60) -> Path:
    """Write a GIF of neurons in the plane, from one run that kept them.

    Parameters
    ----------
    file : str or Path
        Where to write; it should end in ``.gif``.
    results : Dataset
        From ``problem.simulate(rng, neurons=True)`` of a problem in the plane.
    X, y : ndarray of shape (n, 2) and (n,)
        The problem's data.
    frames : int, default 60
        How many pictures, spread evenly over the outputs.

    Returns
    -------
    Path
        The file.
    """
    from matplotlib.animation import PillowWriter

    if results.sizes.get("coordinate") != 2:
        raise ValueError("results: needs the variable 'direction' with two coordinates, from neurons=True")
    file = Path(file)
    with style.use():
        drawn = style.new(1, 2, width=4.2, height=4.0)
        writer = PillowWriter(fps=12)
        with writer.saving(drawn, str(file), dpi=80):
            for k in np.unique(np.linspace(0, results.sizes["time"] - 1, frames).round().astype(int)):
                for ax in drawn.axes:
                    ax.clear()
                _plane(drawn.axes[0], X, y)
                _neurons(drawn.axes[0], results.isel(time=k))
                drawn.axes[0].set_title(f"t = {float(results.time[k]):.1f}")
                drawn.axes[1].plot(results.time, results.loss, color="#bbbbbb")
                drawn.axes[1].plot(results.time[: k + 1], results.loss[: k + 1], color=style.COLOURS[0])
                drawn.axes[1].set(xlabel="time", title="loss", ylim=(0, 1.05 * float(results.loss.max())))
                writer.grab_frame()
                drawn.set_layout_engine("none")  # as it is now: laying out every frame would double the time
    return file


def _once_more(study: Study, arm: str) -> xr.Dataset:
    """Repeat the recorded run of the first trial, and keep its neurons, which the records do not hold."""
    task = next(task for task in tasks(study, study.points()) if task.arm == arm)
    rng = stream(task.seed, "point", task.key, "trial", task.trial)
    return task.problem().simulate(rng, **{**task.options, "neurons": True})


def _moments(trained: xr.Dataset) -> dict[str, int]:
    """Find the outputs that stand for the three phases: start, aligned (the loss is still there), fitted."""
    loss = trained.loss.values
    aligned = int(np.flatnonzero(loss > 0.98 * loss[0])[-1])
    return {"start": 0, "aligned": aligned, "fitted": len(loss) - 1}


def _plane(ax: "Axes", X: np.ndarray, y: np.ndarray) -> None:
    for label, colour, name in ((1, style.COLOURS[1], "positive"), (-1, style.COLOURS[0], "negative")):
        ax.plot(*X[y == label].T, "x", color=colour, markersize=6, label=f"{name} data")
    angle = np.linspace(0, 2 * np.pi, 200)
    ax.plot(np.cos(angle), np.sin(angle), color="#cccccc", linewidth=0.8, zorder=0)
    ax.set(aspect="equal", xlim=(-1.25, 1.25), ylim=(-1.4, 1.1), xticks=[], yticks=[])
    ax.legend(loc="lower center", ncols=2, frameon=False, fontsize=7.5)
    ax.grid(False)
    ax.spines[:].set_visible(False)


def _neurons(ax: "Axes", state: xr.Dataset) -> None:
    """Draw each neuron's direction as a ray to the circle, its length relative to the longest as a dot."""
    u = state.direction.values
    lengths: Any = np.exp(state.log_length.values - state.log_length.values.max())
    ax.plot(
        *np.stack([0 * u, u], axis=1).transpose(2, 1, 0), color="#555555", linewidth=0.6, alpha=0.6, zorder=1
    )
    ax.plot(*(lengths[:, None] * u).T, "o", color="#222222", markersize=3, zorder=2)
