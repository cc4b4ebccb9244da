"""The pages that theories describe, as plain values for the browser; formulas become MathML here."""

import html
import re
import unicodedata
from functools import cache
from typing import Any, cast

from latex2mathml.converter import convert

from firstlight.maths.refusals import unknown
from firstlight.references import Entry
from firstlight.show.page import Page
from firstlight.study import registry


@cache
def page(name: str) -> Page:
    """Return the page of a theory.

    Examples
    --------
    >>> page("no_theory")
    Traceback (most recent call last):
    ValueError: page 'no_theory': unknown (known: ...)
    """
    theory = registry.theories().get(name)
    if theory is None or theory.page is None:
        raise unknown("page", name, drawn())
    return cast(Page, registry.resolve(theory.page, "page")())


def drawn() -> list[str]:
    """Return the names of the theories that have a page."""
    return [theory.name for theory in registry.theories().values() if theory.page]


def cards() -> list[dict[str, Any]]:
    """Return what the first page says about each theory at hand, with a page or without."""
    listed = []
    for theory in registry.theories().values():
        card = {name: getattr(theory, name) for name in ("name", "title", "question")}
        source = next(map(cited, theory.references.values()), "")
        card |= {"answer": "", "thumbnail": "", "source": source}
        card["missing"] = f"Of {registry.package(theory.name)}; it brings no page."
        try:
            described = page(theory.name) if theory.page else None
            card |= {"answer": described.answer, "thumbnail": described.thumbnail} if described else {}
        except Exception as error:  # somebody else's code, which takes no other theory with it
            card["missing"] = f"Of {registry.package(theory.name)}; its page fails: {error}"
        listed.append(card)
    return listed


@cache
def description(name: str) -> dict[str, Any]:
    """Return a page as plain values: controls, panels, presets, explanation."""
    theory, described = registry.theories()[name], page(name)
    return {
        "name": name,
        "title": theory.title,
        "question": theory.question,
        "answer": described.answer,
        "run": described.run,
        "controls": [control.describe() for control in described.controls],
        "panels": [vars(panel) for panel in described.panels],
        "presets": [vars(preset) for preset in described.presets],
        "explanation": [formatted(paragraph) for paragraph in described.explanation],
        "references": [cited(entry) for entry in theory.references.values()],
    }


def formatted(text: str) -> str:
    """Return a paragraph as HTML: escaped, with the formulas between dollars as MathML.

    Examples
    --------
    >>> formatted("a < b, and $x^2$")[:16]
    'a &lt; b, and <m'
    """
    parts = re.split(r"\$([^$]+)\$", text)
    return "".join(convert(part) if place % 2 else html.escape(part) for place, part in enumerate(parts))


def _spelt(bibtex: str) -> str:
    """Return a text of BibTeX as it is read: no braces, accents on their letters."""
    accents = {"'": "\u0301", "`": "\u0300", '"': "\u0308", "^": "\u0302", "~": "\u0303"}
    plain = re.sub(r"\\(['`\"^~])\{?(\w)\}?", lambda at: at[2] + accents[at[1]], bibtex)
    return unicodedata.normalize("NFC", re.sub(r"[{}]", "", plain))


def cited(entry: Entry) -> str:
    """Return a reference in one line: who, what, where, when.

    Examples
    --------
    >>> from firstlight.references import entry
    >>> cited(entry("article", author="Doe, Jo and Roe, Al", title="On light", year="2024"))
    'Jo Doe and Al Roe: On light, 2024'
    """
    fields = {name: _spelt(value) for name, value in entry.fields}
    people = [" ".join(reversed(one.split(", "))) for one in fields.get("author", "").split(" and ")]
    where = [fields[name] for name in ("booktitle", "journal", "note", "year") if name in fields]
    who = f"{' and '.join(people)}: " if "author" in fields else ""
    return who + ", ".join([fields.get("title", ""), *where])
