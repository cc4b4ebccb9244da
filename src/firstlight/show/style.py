"""The one style of all figures: theory is a line, experiment is points with error bars."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from firstlight.maths.drawing import COLOURS as COLOURS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
HEAT = "viridis"

_SETTINGS: dict[Any, Any] = {
    "figure.dpi": 110,
    "savefig.dpi": 160,
    "savefig.bbox": "tight",
    "svg.hashsalt": "firstlight",
    "font.size": 10,
    "axes.titlesize": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#dddddd",
    "grid.linewidth": 0.6,
    "lines.linewidth": 1.6,
    "lines.markersize": 4.5,
    "legend.frameon": False,
    "legend.fontsize": 8.5,
}


@contextmanager
def use() -> Iterator[None]:
    """Apply the style to the figures made inside a `with` block, and to nothing else.

    Examples
    --------
    >>> from matplotlib import rcParams
    >>> before = rcParams["font.size"], rcParams["axes.grid"]
    >>> with use():
    ...     inside = rcParams["axes.grid"]
    >>> inside, (rcParams["font.size"], rcParams["axes.grid"]) == before
    (True, True)
    """
    import matplotlib as mpl
    from cycler import cycler

    with mpl.rc_context({**_SETTINGS, "axes.prop_cycle": cycler(color=COLOURS)}):
        yield


def new(rows: int = 1, columns: int = 1, width: float = 4.6, height: float = 3.3) -> "Figure":
    """Make a figure of rows × columns panels; it belongs to no window and needs no display."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width * columns, height * rows), layout="constrained")
    figure.subplots(rows, columns, squeeze=False)
    return figure
