"""A diagnosis as a page of HTML: one file, no scripts, nothing fetched, everything from the data escaped."""

import io
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from firstlight.diagnosis.finding import Figure, Prediction
from firstlight.diagnosis.result import drawn
from firstlight.diagnosis.words import interval, number, with_error

if TYPE_CHECKING:
    from jinja2 import Template

    from firstlight.diagnosis.result import Diagnosis

_FOLDER = Path(__file__).parent
COLUMNS = (
    "Theory",
    "Does it speak about your data?",
    "Why",
    "What it predicts",
    "What we measured",
    "What you can do",
)


def page(diagnosis: "Diagnosis") -> str:
    """Return the whole page."""
    from firstlight import __version__

    return _template("page.html").render(**_parts(diagnosis), version=__version__)


def fragment(diagnosis: "Diagnosis") -> str:
    """Return the table of theories alone, for notebooks."""
    return _template("fragment.html").render(**_parts(diagnosis))


def _parts(diagnosis: "Diagnosis") -> dict[str, Any]:
    data, sections = diagnosis.data, diagnosis.sections
    return {"diagnosis": diagnosis, "data": data, "sections": sections, "columns": COLUMNS}


def _template(name: str) -> "Template":
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(_FOLDER), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True,
    )  # fmt: skip
    environment.filters |= {"number": number, "svg": svg, "predicted": _predicted, "measured": _measured}
    return environment.get_template(name)


def svg(figure: Figure) -> str:
    """Draw a figure as an SVG element that fits the width of the page.

    Examples
    --------
    >>> str(svg(Figure({}, lambda data, canvas: None, "Nothing.")))[:4]
    '<svg'
    """
    from markupsafe import Markup

    from firstlight.show import style

    buffer = io.StringIO()
    with style.use():
        drawn(figure).savefig(buffer, format="svg", metadata={"Date": None})
    text = buffer.getvalue()
    text = text[text.index("<svg") :]
    # the height follows the width; what matplotlib drew is geometry and escaped text
    return Markup(re.sub(r'(<svg[^>]*?) height="[^"]*"', r"\1", text, count=1))


def _predicted(one: Prediction) -> str:
    return f"{number(one.predicted)}{interval(one.low, one.high)}"


def _measured(one: Prediction) -> str:
    return with_error(one.measured, one.uncertainty) if one.checked else "not checked"
