"""Quick pictures of single results: theory is a line, experiment is points with error bars."""

from typing import TYPE_CHECKING

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLOURS = ("#0b5394", "#cc4125", "#38761d", "#7b3fa0", "#b45f06", "#0f8b8d", "#8c564b", "#555555")
THEORY = "#333333"


def axes(ax: "Axes | None" = None) -> "Axes":
    """Return the axes to draw on: those given, or new ones, which a notebook shows by itself.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> ax = Figure().subplots()
    >>> axes(ax) is ax
    True
    """
    if ax is not None:
        return ax
    from matplotlib import pyplot as plt

    return plt.subplots(layout="constrained")[1]


def as_written(name: object, most: int | None = None) -> str:
    r"""Return a user's name such that matplotlib writes it letter by letter, at most so many of them.

    What stands between dollar signs is no formula, and an underscore first keeps no label out of a legend.

    Examples
    --------
    >>> as_written("$5_$9"), as_written("_other", 4)
    ('\\$5_\\$9', ' _oth')
    """
    text = str(name)[:most].replace("$", r"\$")
    return f" {text}" if text.startswith("_") else text


def steps(ax: "Axes", times: ArrayLike, label: str, colour: str) -> None:
    """Draw how many of some events have happened by each time; those at infinity never do.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> ax = Figure().subplots()
    >>> steps(ax, [2.0, 1.0, np.inf], "arrived", "black")
    >>> ax.lines[0].get_ydata().tolist()
    [0, 1, 2]
    """
    given = np.asarray(times, dtype=float)
    known = np.sort(given[np.isfinite(given)])
    ax.step([0.0, *known], np.arange(len(known) + 1), where="post", color=colour, label=label)


class Comparison(xr.Dataset):
    """What `firstlight.compare` found: a Dataset that can draw itself."""

    __slots__ = ()

    def plot(self, ax: "Axes | None" = None, *, observable: str | None = None) -> "Axes":  # type: ignore[override]
        """Draw one observable, theory beside the mean of the trials ± its standard error.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Default: new ones.
        observable : str, optional
            Default: the test error if it is there, else the first.
        """
        known = [str(name)[: -len("_verdict")] for name in self.data_vars if str(name).endswith("_verdict")]
        default = "test_error" if "test_error" in known else known[0]
        name = default if observable is None else observable
        if name not in known:
            raise ValueError(f"observable = {name!r}: must be one of {', '.join(known)}")
        theory = self[f"{name}_predicted"]
        theory = theory.mean("trial") if "trial" in theory.dims else theory
        parts = [_rows(part) for part in (theory, self[f"{name}_mean"], self[f"{name}_sem"])]
        ax, along = axes(ax), theory.dims[0] if theory.dims else None
        x = np.zeros(1) if along is None else theory[along].values
        place = x if x.dtype.kind in "iuf" else np.arange(len(x))
        for row, (line, mean, sem) in enumerate(zip(*parts, strict=True)):
            colour, labels = COLOURS[row % len(COLOURS)], (None, None) if row else ("theory", "experiment")
            dark = colour if len(parts[0]) > 1 else THEORY
            ax.plot(place, line, "_" if along is None else "-", markersize=30, color=dark, label=labels[0])
            error = np.nan_to_num(sem)
            ax.errorbar(place, mean, error, fmt="o", capsize=2, color=colour, label=labels[1])
        if along is None or place is not x:
            ax.set_xticks(place, [""] if along is None else [str(one) for one in x])
        ax.set(xlabel=str(along).replace("_", " ") if along else "", ylabel=name.replace("_", " "))
        ax.legend()
        return ax


def _rows(values: xr.DataArray) -> np.ndarray:
    """Return one row per line to draw, along the first dimension."""
    return values.values.reshape(values.shape[0], -1).T if values.ndim else values.values.reshape(1, 1)
