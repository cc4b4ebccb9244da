"""A study's curves for a browser: one plotly figure for each panel of the printed figure.

They are drawn from the same numbers as the printed ones, with the same colours; hovering shows the values.
"""

import html
import re
from typing import Any

import xarray as xr

from firstlight.show import figures
from firstlight.show.interactive import figure as interactive
from firstlight.show.pictures import Picture, Trace, plain
from firstlight.show.summary import planned, summarise
from firstlight.study.sweep import Study

_DASHES = ("solid", "dash", "dot", "dashdot")
_OF_TEX = {"sqrt": "√", "cdot": "·", "infty": "∞", "to": "→", ",": " "}  # what HTML calls otherwise
_OF_TEX |= dict.fromkeys(("mathrm", "mathbf", "mathcal", "text", "left", "right"), "")
_SYMBOLS = ("circle", "square", "triangle-up", "diamond", "triangle-down", "cross", "x", "star")


def panels(study: Study, results: xr.Dataset) -> list[dict[str, Any]]:
    """Return the panels of the figure of what `firstlight.study.run` returned, as plotly figures.

    Returns
    -------
    list of dict
        ``data`` and ``layout`` in plain values; empty for maps and for pictures that a theory draws itself.

    Examples
    --------
    >>> from firstlight import demo
    >>> [panel["layout"]["yaxis"]["title"]["text"] for panel in panels(demo.STUDY, demo.results())]
    ['mean', 'variance']
    """
    if study.figure.draw is not None or study.figure.y is not None:
        return []
    summary, visited = summarise(study, results), planned(results)
    return [
        _panel(study, summary, visited, title, name, where)
        for title, name, where in figures.panels(study, results)
    ]


def _panel(
    study: Study, summary: xr.Dataset, visited: xr.DataArray, title: str, name: str, where: dict[str, Any]
) -> dict[str, Any]:
    x, label = figures.across(study), plain_label(study.figure.label(name))
    traces = [_trace(study, line) for line in figures.lines(study, summary, visited, name, where)]
    shown = [Trace(name=one["name"], x=one["x"], y=one["y"]) for one in traces]  # for the axes' ticks
    drawn = interactive(
        Picture(
            x=plain_label(study.figure.label(x)),
            y=label,
            traces=shown,
            log_x=study.figure.log_x,
            log_y=study.figure.log_y,
        )
    )
    drawn["data"] = [trace for trace in traces if any(value is not None for value in trace["y"])]
    drawn["layout"] |= {
        "title": {"text": "" if plain_label(title) == label else plain_label(title), "font": {"size": 14}},
        "showlegend": len(traces) > 1,
        "legend": {"orientation": "h", "y": -0.25, "font": {"size": 11}},
        "height": 340 + 14 * len(traces),  # a narrow page has one entry of the legend in a line
    }
    return drawn


def plain_label(text: str) -> str:
    r"""Turn a label with TeX between dollars into what plotly reads without another library.

    Examples
    --------
    >>> plain_label(r"$1/\delta_{alg}$ of $x^2$")
    '1/δ<sub>alg</sub> of x<sup>2</sup>'
    >>> plain_label(r"rotation $\epsilon\sqrt{d}$")
    'rotation ε√d'
    """

    def symbol(name: re.Match[str]) -> str:
        found = html.unescape(f"&{name[1]};")
        return _OF_TEX.get(name[1], name[1] if found.startswith("&") else found)

    def formula(match: re.Match[str]) -> str:
        text = re.sub(r"\\sqrt{([^}]{2,})}", r"√(\1)", match[1])
        symbols = re.sub(r"\\([A-Za-z]+|.)", symbol, text)
        for mark, tag in (("_", "sub"), ("^", "sup")):
            symbols = re.sub(rf"\{mark}(?:{{([^}}]*)}}|(.))", rf"<{tag}>\1\2</{tag}>", symbols)
        return re.sub("[{}]", "", symbols)

    return re.sub(r"\$([^$]*)\$", formula, text)


def _trace(study: Study, line: figures.Line) -> dict[str, Any]:
    spec = study.arms[line.arm]
    look = figures.of_arm(study, line.arm, _SYMBOLS, _DASHES)
    name = ", ".join(part for part in (spec.label or line.arm, line.family) if part)
    drawn: dict[str, Any] = {"name": name, "x": plain(line.x), "y": plain(line.mean), "type": "scatter"}
    if spec.kind == "simulate":
        error = {"type": "data", "array": plain(line.sem), "thickness": 1.2, "width": 3}
        marker = {"color": line.colour, "symbol": look, "size": 7}
        return drawn | {"mode": "markers", "marker": marker, "error_y": error}
    if line.x.dtype.kind == "U":  # words have no order: dashes instead of a line
        marker = {"color": line.colour, "symbol": "line-ew-open", "size": 16}
        return drawn | {"mode": "markers", "marker": marker}
    return drawn | {"mode": "lines", "line": {"color": line.colour, "dash": look}}
