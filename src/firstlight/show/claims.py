"""The table of claims as a page, and as Markdown for the documentation."""

from collections import Counter
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from firstlight.references import entries
from firstlight.show.evidence import Row
from firstlight.study import registry
from firstlight.study.claims import FAILS, HOLDS, IN_PART, UNDECIDED
from firstlight.study.provenance import machine

if TYPE_CHECKING:
    from jinja2 import Environment


def environment() -> "Environment":
    """Return where the templates are found, with everything escaped."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    return Environment(
        autoescape=True, undefined=StrictUndefined, loader=FileSystemLoader(Path(__file__).parent)
    )


def page(rows: Sequence[Row]) -> str:
    """Return the table as a page of its own, which needs no other file."""
    made = " · ".join(f"{key} {value}" for key, value in machine().items())
    return environment().get_template("claims_page.html").render(made=made, **parts(rows))


def parts(rows: Sequence[Row]) -> dict[str, Any]:
    """Return what the template's table needs: rows by theory, and how often each verdict was given."""
    groups = [
        (_title(theory), [_shown(row) for row in members])
        for theory, members in groupby(rows, key=lambda row: row.theory)
    ]
    return {"groups": groups, "tallies": tallies(rows)}


def tallies(rows: Sequence[Row]) -> dict[str, dict[str, int]]:
    """Count the verdicts on published claims, and apart from them those on our own, if there are any.

    Examples
    --------
    >>> from firstlight.study.claims import Estimate, Statement, judged
    >>> said = [judged(Statement("x", source), [Estimate("x", 1, 0.5, 2)]) for source in ("min2024", "")]
    >>> tallies([Row("t", "t/s", "quick", one, "", 3, 3, 0, "", 1, 0.0) for one in said])
    {'published claims': {'holds': 1}, 'claims of our own': {'holds': 1}}
    """
    kinds = {
        "published claims": [row for row in rows if row.published],
        "claims of our own": [row for row in rows if not row.published],
    }
    return {kind: tally(members) for kind, members in kinds.items() if members}


def tally(rows: Sequence[Row]) -> dict[str, int]:
    """Count how often each verdict was given."""
    counts = Counter(row.claim.verdict for row in rows)
    return {verdict: counts[verdict] for verdict in (HOLDS, IN_PART, FAILS, UNDECIDED) if counts[verdict]}


def _title(theory: str) -> str:
    known = registry.theories()
    return known[theory].title if theory in known else theory


def _shown(row: Row) -> dict[str, Any]:
    parts = [str(part) for part in row.claim.estimates] or [row.claim.evidence]
    shown = {"verdict": row.verdict, "counted": row.counted, "citation": citation(row), "numbers": parts}
    return {**vars(row), **shown}


def citation(row: Row) -> str:
    """Say where a claim was published: authors, year, place."""
    said, known = row.claim.statement, entries()
    words = [_authors(known[said.source].fields)] if said.source in known else [said.source]
    return ", ".join(part for part in (*words, said.place) if part)


def _authors(fields: Any) -> str:
    table = dict(fields)
    names = [name.split(",")[0] for name in table["author"].split(" and ")] if "author" in table else []
    short = " & ".join(names) if len(names) < 3 else f"{names[0]} et al."
    return f"{short or table['title']} ({table['year']})"


def markdown(rows: Sequence[Row]) -> str:
    """Return the table in Markdown, one part for each theory, one line for each claim of a study.

    The first of a claim's rows speaks; its rule, its command and the other scales unfold.
    """
    lines: list[str] = []
    for theory, members in groupby(rows, key=lambda row: row.theory):
        lines += [f"## {_title(theory)}", "", "| verdict | claim, source | found |", "|---|---|---|"]
        for _, alike in groupby(members, key=lambda row: (row.study, row.claim.text)):
            row, *others = alike
            said = row.claim.statement
            scales = "".join(f"<br><small>{one.scale}: {one.claim.verdict}</small>" for one in others)
            cells = (
                f"**{row.verdict}**{scales}",
                f"{row.claim.text}<br><small>{citation(row)}</small>"
                + _unfolding("rule", f"{said.estimand}: {said.rule}"),
                f"{_numbers(row)}<br><small>`{row.study}`, {row.scale}, {row.counted}: {row.sizes}</small>"
                + _unfolding("command", f"`{row.command}`")
                + "".join(_unfolding(f"{one.scale}, {one.counted}", _other(one)) for one in others),
            )
            lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
        lines.append("")
    return "\n".join(lines)


def _numbers(row: Row) -> str:
    return "<br>".join(str(part) for part in row.claim.estimates) or row.claim.evidence


def _other(row: Row) -> str:
    return f"**{row.verdict}**<br>{_numbers(row)}<br>{row.sizes}<br>`{row.command}`"


def _unfolding(title: str, text: str) -> str:
    return f"<details><summary>{title}</summary>{text}</details>"
