"""Figures of studies: theory as lines, experiment as points ± s.e.m., gaps where theory is silent."""

import itertools
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import xarray as xr

from firstlight.maths.drawing import THEORY
from firstlight.maths.shown import short
from firstlight.show import style
from firstlight.show.summary import observables, planned, summarise
from firstlight.study.registry import resolve
from firstlight.study.sweep import Study

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

_LINES = ("-", "--", ":", "-.")
_POINTS = 25  # a curve of many points is thinned to about that many; the table has all


def figure(study: Study, results: xr.Dataset) -> "Figure":
    """Draw what `firstlight.study.run` returned of a study, at its scale; its `figure` says what goes where.

    Examples
    --------
    >>> from firstlight import demo
    >>> len(figure(demo.STUDY, demo.results()).axes)
    2
    """
    with style.use():
        if study.figure.draw is not None:
            drawn: Figure = resolve(study.figure.draw, "figure.draw")(study, results)
        else:
            drawn = _heat_maps(study, results) if study.figure.y is not None else _curves(study, results)
        width = drawn.get_figwidth()
        # Letters of these sizes are about 1/13 and 1/18 inch wide.
        title = textwrap.fill(study.figure.title or study.description, int(13 * width))
        drawn.suptitle(title, fontsize=11)
        below = textwrap.fill(caption(study, results), int(18 * width))
        drawn.supxlabel(below, fontsize=7.5, color="#666666")
    return drawn


def caption(study: Study, results: xr.Dataset) -> str:
    """Say what stands behind a figure: sizes, trials, seed.

    Examples
    --------
    >>> study = Study("demo/x", "a demo", "math:sqrt", axes={"x": [1]}, fixed={"samples": 100}, trials=4)
    >>> caption(study, xr.Dataset())
    'demo/x: samples = 100; 4 trials, seed 0'
    """
    shown = {name: value for name, value in study.fixed.items() if isinstance(value, (int, float, str))}
    sizes = [f"{name} = {short(value)}" for name, value in shown.items() if not isinstance(value, bool)]
    failed = int((results["status"] == "failed").sum()) if "status" in results else 0
    grey = ["grey: no value"] if study.figure.y is not None else []
    words = [f"{study.trials} trials, seed {study.seed}"] + ([f"{failed} failed"] if failed else [])
    return f"{study.name}: " + "; ".join(([", ".join(sizes)] if sizes else []) + words + grey)


def _shown(study: Study, results: xr.Dataset) -> list[str]:
    """Return the observables that change along the horizontal axis; a single number is for the table."""
    chosen = [name for name in study.observables or observables(results) if name in observables(results)]
    if not chosen:
        raise ValueError(f"{study.name}: the store holds nothing to draw; run the study first")
    along = [name for name in chosen if across(study) in results[name].dims]
    if not along:
        dims = ", ".join(str(dim) for dim in results[chosen[0]].dims)
        raise ValueError(f"figure.x = {across(study)!r}: observable {chosen[0]} has only {dims}")
    return along


def across(study: Study) -> str:
    """Return what stands on the horizontal axis."""
    return study.figure.x or next(iter(study.axes))


def panels(study: Study, results: xr.Dataset) -> list[tuple[str, str, dict[str, Any]]]:
    """Return (title, observable, selection) of each panel."""
    spec, names = study.figure, _shown(study, results)
    if spec.panels is None:
        return [(spec.label(name) if len(names) > 1 else "", name, {}) for name in names]
    return [
        (f"{spec.label(spec.panels)} = {short(value)}", name, {spec.panels: value})
        for name in names
        for value in results[spec.panels].values.tolist()
    ]


def _curves(study: Study, results: xr.Dataset) -> "Figure":
    shown = panels(study, results)
    columns = 2 if len(shown) == 4 else min(len(shown), 3)
    drawn = style.new(-(-len(shown) // columns), columns, width=6.4 if columns == 1 else 4.6)
    summary, visited, colours = summarise(study, results), planned(results), dict[str, str]()
    for ax, (title, name, where) in zip(drawn.axes, shown, strict=False):
        for line in lines(study, summary, visited, name, where):
            _draw(ax, study, line)
            colours |= {line.family: line.colour} if line.family else {}
        x = across(study)
        _dress(ax, study, x, name, title)
        kind = summary[f"{name}_mean"][x].dtype.kind
        if kind not in "iuf":
            _word_ticks(ax, drawn.get_figwidth() / columns)
        elif kind in "iu" and not study.figure.log_x:
            ax.locator_params("x", integer=True)
    for ax in drawn.axes[len(shown) :]:
        ax.set_visible(False)
    _legend(drawn, study, colours)
    return drawn


def _legend(drawn: "Figure", study: Study, families: Mapping[str, str]) -> None:
    """Name the arms by line and marker, and the families by colour."""
    from matplotlib.lines import Line2D

    entries = {}
    for arm, spec in study.arms.items():
        colour = THEORY if families else arm_colour(study, arm)
        mark = of_arm(study, arm, style.MARKERS, _LINES)
        look = {"linestyle": mark} if spec.kind == "predict" else {"linestyle": "none", "marker": mark}
        entries[spec.label or arm] = Line2D([], [], color=colour, **look)  # type: ignore[arg-type]
    for label, colour in families.items():
        entries[label] = Line2D([], [], color=colour, linewidth=4)
    if len(entries) > 3:
        drawn.legend(list(entries.values()), list(entries), loc="outside right center")
    elif len(entries) > 1:
        drawn.axes[0].legend(list(entries.values()), list(entries))


def of_arm(study: Study, arm: str, experiment: Sequence[str], theory: Sequence[str]) -> str:
    """Return the look of an arm: one of those for its kind, by its place among the arms of that kind."""
    kind = study.arms[arm].kind
    place = [name for name, other in study.arms.items() if other.kind == kind].index(arm)
    looks = theory if kind == "predict" else experiment
    return looks[place % len(looks)]


class Line(NamedTuple):
    """One curve of one arm: the points that the study visited, in order."""

    arm: str
    family: str
    colour: str
    x: np.ndarray
    mean: np.ndarray
    sem: np.ndarray


def lines(
    study: Study, summary: xr.Dataset, visited: xr.DataArray, name: str, where: Mapping[str, Any]
) -> Iterator[Line]:
    """Yield the curves of one panel, family by family and arm by arm."""
    mean, sem = (summary[f"{name}_{part}"].sel(where) for part in ("mean", "sem"))
    for family, colour, chosen in _families(study, mean, across(study)):
        there = visited.sel({dim: at for dim, at in {**where, **chosen}.items() if dim in visited.dims})
        for arm in study.arms:
            values = mean.sel(arm=arm, **chosen)
            mask = there.broadcast_like(values).transpose(*values.dims).values.astype(bool)
            x, error = values[across(study)].values[mask], sem.sel(arm=arm, **chosen).values[mask]
            if x.dtype.kind not in "iuf":
                x = np.array([short(value) for value in x.tolist()])
            shade = colour or arm_colour(study, arm)
            yield Line(arm, family, shade, x, values.values[mask], error)


def _draw(ax: "Axes", study: Study, line: Line) -> None:
    """Draw one arm; theory over words (no order between them) becomes dashes instead of a line."""
    look, colour = of_arm(study, line.arm, style.MARKERS, _LINES), line.colour
    if study.arms[line.arm].kind == "simulate":
        few = slice(None, None, -(-len(line.x) // _POINTS) if len(line.x) > 2 * _POINTS else 1)
        ax.errorbar(
            line.x[few], line.mean[few], line.sem[few], marker=look, linestyle="none", color=colour, zorder=3,
            capsize=2, elinewidth=1,
        )  # fmt: skip
        return
    if line.x.dtype.kind == "U":
        ax.plot(line.x, line.mean, "_", color=colour, markersize=18, markeredgewidth=2)
        return
    known = np.isfinite(line.mean)
    alone = known & ~np.r_[False, known[:-1]] & ~np.r_[known[1:], False]
    ax.plot(line.x, line.mean, look, color=colour)
    # A line of one point would be invisible.
    ax.plot(line.x[alone], line.mean[alone], "_", color=colour, markersize=8)


def _families(study: Study, mean: xr.DataArray, x: str) -> list[tuple[str, str | None, dict[str, Any]]]:
    """Return (label, colour, selection) for each combination of the dimensions that are not on the x axis."""
    free = [str(dim) for dim in mean.dims if dim not in (x, "arm")]
    free.sort(key=lambda dim: dim != study.figure.hue)
    if all(mean.sizes[dim] == 1 for dim in free):
        return [("", None, {dim: mean[dim].values.tolist()[0] for dim in free})]
    combinations = list(itertools.product(*(mean[dim].values.tolist() for dim in free)))
    named = [dim for dim in free if mean.sizes[dim] > 1]
    made: list[tuple[str, str | None, dict[str, Any]]] = []
    for colour, combination in zip(_palette(len(combinations)), combinations, strict=True):
        chosen = dict(zip(free, combination, strict=True))
        label = ", ".join(f"{study.figure.label(dim)} = {short(chosen[dim])}" for dim in named)
        made.append((label, colour, chosen))
    return made


def _palette(count: int) -> Sequence[str]:
    if count <= len(style.COLOURS):
        return style.COLOURS[:count]
    import matplotlib as mpl

    shades = mpl.colormaps[style.HEAT](np.linspace(0.0, 0.9, count))
    return [mpl.colors.to_hex(shade) for shade in shades]


def arm_colour(study: Study, arm: str) -> str:
    """Keep the colours for the experiments, so that points stand out on a dark line of theory."""
    return of_arm(study, arm, style.COLOURS, (THEORY, "#999999", "#c9a227"))


def _dress(ax: "Axes", study: Study, x: str, name: str, title: str) -> None:
    label = study.figure.label(name)
    ax.set(xlabel=study.figure.label(x), ylabel="" if title == label else label, title=title)
    for log, axis, scale in (
        (study.figure.log_x, ax.xaxis, ax.set_xscale),
        (study.figure.log_y, ax.yaxis, ax.set_yscale),
    ):
        if log:
            scale("log")
            _log_ticks(axis)


def _log_ticks(axis: "Axis") -> None:
    """Label more than powers of ten within one or two decades, where these alone would say too little."""
    from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

    low, high = axis.get_data_interval()
    axis.set_minor_formatter(NullFormatter())
    if 0 < low < high < 100 * low:
        axis.set_major_locator(
            LogLocator(subs=(1.0, 2.0, 5.0) if high > 8 * low else (1.0, 1.5, 2.0, 3.0, 5.0, 7.0))
        )
        axis.set_major_formatter(StrMethodFormatter("{x:g}"))


def _word_ticks(ax: "Axes", width: float) -> None:
    """Slant words that would run into each other; a letter is about 1/10 inch wide."""
    labels = ax.get_xticklabels()
    if sum(len(label.get_text()) + 2 for label in labels) > 10 * width:
        for label in labels:
            label.set(rotation=40, horizontalalignment="right", rotation_mode="anchor")


def _heat_maps(study: Study, results: xr.Dataset) -> "Figure":
    """Draw one map per observable and arm over the two axes; an observable's maps share their colours."""
    spec, names = study.figure, _shown(study, results)
    x, y = across(study), str(spec.y)
    summary = summarise(study, results)
    drawn = style.new(len(names), len(study.arms))
    grid = iter(drawn.axes)
    for name in names:
        mean = summary[f"{name}_mean"].transpose("arm", y, x, ...)
        if mean.ndim > 3:
            mean = mean.squeeze()
        if mean.ndim != 3 or {x, y} - set(mean.dims):
            raise ValueError(f"figure: a heat map over {x} and {y} needs one number of {name} for each pair")
        low, high = float(mean.min()), float(mean.max())
        row = [next(grid) for _ in study.arms]
        for ax, arm in zip(row, study.arms, strict=True):
            mesh = _map(ax, mean.sel(arm=arm), study, low, high)
            ax.set_title(study.arms[arm].label or arm)
        drawn.colorbar(mesh, ax=row, label=spec.label(name))
    return drawn


def _map(ax: "Axes", values: xr.DataArray, study: Study, low: float, high: float) -> Any:
    y, x = (str(dim) for dim in values.dims)
    ax.set_facecolor("#bbbbbb")  # shows where there is no value
    ax.grid(False)
    edges = [
        _edges(values[dim].values, log) for dim, log in ((x, study.figure.log_x), (y, study.figure.log_y))
    ]
    mesh = ax.pcolormesh(*edges, np.ma.masked_invalid(values.values), cmap=style.HEAT, vmin=low, vmax=high)
    for dim, axis in ((x, ax.xaxis), (y, ax.yaxis)):
        if values[dim].dtype.kind not in "iuf":
            axis.set_ticks(range(values.sizes[dim]), [short(value) for value in values[dim].values.tolist()])
    _dress(ax, study, x, y, "")
    return mesh


def _edges(centres: np.ndarray, log: bool) -> np.ndarray:
    """Return the cells' borders: halfway between the axis values, as the axis is drawn."""
    if centres.dtype.kind not in "iuf":
        return np.arange(len(centres) + 1) - 0.5
    place = np.log(centres) if log else centres.astype(float)
    gaps = np.diff(place) if len(place) > 1 else np.ones(1)
    middle = 0.5 * (place[1:] + place[:-1])
    borders = np.concatenate([place[:1] - gaps[0] / 2, middle, place[-1:] + gaps[-1] / 2])
    return np.exp(borders) if log else borders
