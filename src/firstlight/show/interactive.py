"""Pictures for a browser: figures in plotly's JSON, in one style, light or dark.

Theory is a line, experiment is points with ± one standard error, as in the printed figures.
"""

import math
import re
from collections.abc import Callable, Sequence
from typing import Any, Literal

from firstlight.show.pictures import Mark, Picture, Trace, plain

Theme = Literal["light", "dark", "open"]

COLOURS: dict[str, dict[str, str]] = {
    "light": {
        "theory": "#22344f", "bound": "#93a0ae", "experiment": "#c94c20", "second": "#1b8077",
        "positive": "#cf4257", "negative": "#2c6fbb", "dead": "#bcc4cc", "quiet": "#6b7681",
        "accent": "#7450c4", "text": "#2b3440", "grid": "#e8ebee", "paper": "rgba(0,0,0,0)",
        "card": "rgba(255,255,255,0.8)",
    },
    "dark": {
        "theory": "#e4eaf2", "bound": "#7d8997", "experiment": "#ff8f63", "second": "#4fc4b7",
        "positive": "#ff7488", "negative": "#68abff", "dead": "#47525e", "quiet": "#7f8b98",
        "accent": "#b497ff", "text": "#d5dce4", "grid": "#27313c", "paper": "rgba(0,0,0,0)",
        "card": "rgba(23,30,38,0.8)",
    },
}  # fmt: skip
COLOURS["open"] = {role: f"@{role}@" for role in COLOURS["light"]}  # to be filled in by `coloured`
_SYMBOLS = {"second": "circle-open", "accent": "diamond-open"}  # what lies beneath stays visible
_FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', sans-serif"


def figure(picture: Picture, theme: Theme = "light") -> dict[str, Any]:
    """Return a picture as a figure that plotly.js draws: ``data`` and ``layout``, plain values.

    Parameters
    ----------
    theme : {"light", "dark", "open"}
        Open: the colours are left to `coloured`, so that one picture serves both themes.

    Examples
    --------
    >>> drawn = figure(Picture(x="t", y="loss", traces=[Trace(name="theory", x=[0, 1], y=[1.0, 0.5])]))
    >>> drawn["data"][0]["mode"], drawn["layout"]["xaxis"]["title"]["text"]
    ('lines', 't')
    """
    colours = COLOURS[theme]
    return {
        "data": [trace(one, theme) for one in picture.traces],
        "layout": {
            "xaxis": _axis(picture, "x", colours),
            "yaxis": _axis(picture, "y", colours),
            "shapes": [_line(mark, colours) for mark in picture.marks],
            "annotations": [
                _caption(mark, place, picture, colours) for place, mark in enumerate(picture.marks)
            ],
            "paper_bgcolor": colours["paper"],
            "plot_bgcolor": colours["paper"],
            "font": {"family": _FONT, "size": 13, "color": colours["text"]},
            "margin": {"l": 62, "r": 18, "t": 34, "b": 52},
            "legend": {
                "orientation": "h",
                "x": 0,
                "y": 1.02,
                "yanchor": "bottom",
                "bgcolor": "rgba(0,0,0,0)",
                "font": {"size": 11.5},
            },
            "showlegend": len(picture.traces) > 1,
            "hovermode": "closest",
            "bargap": 0.35,
        },
    }


def coloured(text: str, theme: str) -> str:
    """Fill the colours of a theme into figures that were made with the theme "open", as JSON.

    Examples
    --------
    >>> coloured('{"color": "@theory@"}', "light")
    '{"color": "#22344f"}'
    """
    return re.sub("@([a-z]+)@", lambda match: COLOURS[theme].get(match[1], match[0]), text)


def trace(one: Trace, theme: Theme = "light") -> dict[str, Any]:
    """Return a trace in plotly's words."""
    colour = COLOURS[theme][one.role]
    drawn: dict[str, Any] = {"name": one.name, "x": plain(one.x), "y": plain(one.y), "type": "scatter"}
    if one.kind == "bars":
        drawn |= {"type": "bar", "marker": {"color": f"{colour}59"}}
    elif one.kind == "points":
        marker = {"color": colour, "size": 8, "symbol": _SYMBOLS.get(one.role, "circle")}
        drawn |= {"mode": "markers", "marker": marker}
    else:
        dash = "dot" if one.dashed else "solid"
        drawn |= {"mode": "lines", "line": {"color": colour, "width": 2.2, "dash": dash}}
        if one.kind == "area":
            drawn |= {"fill": "tozeroy", "fillcolor": f"{colour}22"}
    if one.error is not None:
        bars = {"type": "data", "array": plain(one.error), "color": colour, "thickness": 1.2, "width": 3}
        drawn["error_y"] = bars
    return drawn


def _axis(picture: Picture, name: Literal["x", "y"], colours: dict[str, str]) -> dict[str, Any]:
    title, log, limits = (getattr(picture, part) for part in (name, f"log_{name}", f"{name}_range"))
    made: dict[str, Any] = {
        "title": {"text": title, "standoff": 10}, "type": "log" if log else "-", "zeroline": False,
        "gridcolor": colours["grid"], "linecolor": colours["grid"], "ticks": "", "automargin": True,
        "tickfont": {"color": colours["quiet"], "size": 12},
    }  # fmt: skip
    if any(isinstance(value, str) for one in picture.traces for value in getattr(one, name)):
        made["type"] = "category"  # names, also where all of them are digits
    if not title:  # nothing is measured along it
        made |= {"showticklabels": False, "showgrid": False}
    if log:
        data = [value for one in picture.traces for value in plain(getattr(one, name))]
        made |= _ticks(limits or [value for value in data if value and value > 0])
    if limits is not None:
        made["range"] = [math.log10(value) for value in limits] if log else list(limits)
    return made


def _ticks(values: Sequence[float]) -> dict[str, Any]:
    """Return round numbers for an axis of ratios, some five of them: powers of ten, or 1, 2, 5 within few."""
    least, most = min(values, default=1.0), max(values, default=1.0)
    decades = range(math.floor(math.log10(least)) - 1, math.ceil(math.log10(most)) + 1)
    wide = math.log10(most / least)
    step = max(1, round(wide / 5))
    heads = (1,) if wide > 2.5 else (1, 2, 5) if wide > 0.9 else (1, 1.5, 2, 3, 4, 5, 7)
    ticks = [head * 10.0**power for power in decades for head in heads if head > 1 or power % step == 0]
    return {"tickmode": "array", "tickvals": ticks, "ticktext": [_text(tick) for tick in ticks]}


def _text(tick: float) -> str:
    if 1e-3 <= tick < 1e5:
        return f"{tick:g}"
    return f"10<sup>{round(math.log10(tick))}</sup>"


def _line(mark: Mark, colours: dict[str, str]) -> dict[str, Any]:
    return {
        "type": "line", "xref": "x", "yref": "paper", "x0": mark.x, "x1": mark.x, "y0": 0, "y1": 1,
        "line": {"color": colours[mark.role], "width": 1.4, "dash": "dash"},
    }  # fmt: skip


def _caption(mark: Mark, place: int, picture: Picture, colours: dict[str, str]) -> dict[str, Any]:
    """Write at a mark, on the side where there is more room."""
    scale: Callable[[float], float] = math.log10 if picture.log_x else float
    numbers = [at for one in picture.traces for at in plain(one.x) if isinstance(at, (int, float))]
    drawn = [at for at in numbers if at > 0 or not picture.log_x]
    x, ends = scale(mark.x), [scale(value) for value in picture.x_range or drawn]
    left = 2 * x > min(ends, default=x) + max(ends, default=x)
    return {
        "x": x, "y": 1 - 0.09 * place, "xref": "x", "yref": "paper", "yanchor": "top", "showarrow": False,
        "xanchor": "right" if left else "left", "xshift": -4 if left else 4, "text": mark.label,
        "bgcolor": colours["card"], "borderpad": 1,
        "font": {"color": colours[mark.role], "size": 12},
    }  # fmt: skip
