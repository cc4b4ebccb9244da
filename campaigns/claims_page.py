"""Write docs/claims.md from the evidence that is kept in docs/evidence.

python campaigns/claims_page.py
"""

import json
from collections.abc import Sequence
from pathlib import Path

from firstlight.show.claims import markdown, tally
from firstlight.show.evidence import Row, claimed, read, stale
from firstlight.study import registry
from firstlight.study.claims import FAILS, HOLDS, IN_PART, UNDECIDED
from firstlight.study.dry_run import costs
from firstlight.study.problem import duration

DOCS = Path(__file__).parents[1] / "docs"
SCALES = ("paper", "medium", "quick")  # the larger scale speaks, where it decides


_NOT_RUN = """## Not run at the papers' scale

By dry runs, or by parts that were run, these take {total} on one core. A medium scale was chosen to decide
the claims, or to look at the quick verdict again at a larger size; its reason stands where the study is
defined. Where there is only a quick one, its rows are decided, or more trials do not help, or a limit did not
converge and its number is missing.

| study | would take | judged at |
|---|---|---|
"""


def page() -> str:
    """Return the page: how to read it, what is undecided, how it was made, and a table for each theory."""
    files = sorted((DOCS / "evidence").glob("*.json"))
    kept = [row for path in files for row in read(path)]
    if old := stale(kept):
        raise SystemExit("make claims: " + "; ".join(old))
    rows = _ordered(kept)
    made = [json.loads(path.read_text("utf-8")) for path in files]
    commands = "\n".join(f"- `{one['command']}` ({one['hours']:.2g} hours of computing)" for one in made)
    about = (DOCS / "evidence" / "about.md").read_text("utf-8")
    wide = "---\nhtml_theme.sidebar_secondary.remove: true\n---\n\n"
    head = f"{wide}# What was published, and what holds\n\n{_summary(rows)}\n{about}"
    silent = [study for study in claimed() if study.name not in {row.study for row in rows}]
    left = "\n".join(f"- `{study.name}`: {study.description}" for study in silent)
    none = f"No evidence is kept of\n\n{left}\n\n" if silent else ""
    parts = (head, _undecided(rows), _shrunk(rows), f"## How it was made\n\n{commands}\n")
    return "\n".join(parts) + f"\n{none}{markdown(rows)}"


def _ordered(rows: Sequence[Row]) -> list[Row]:
    """Put the rows of one claim beside each other, the one that speaks first, studies as in the catalogue."""
    studies, claims = list(registry.studies()), dict[tuple[str, str], int]()
    first = {id(row) for row in spoken(rows)}
    for row in rows:
        claims.setdefault((row.study, row.claim.text), len(claims))

    def place(row: Row) -> tuple[int, int, bool, int]:
        claim = claims[row.study, row.claim.text]
        return studies.index(row.study), claim, id(row) not in first, SCALES.index(row.scale)

    return sorted(rows, key=place)


def largest(rows: Sequence[Row]) -> list[Row]:
    """Return one row for each claim of each study: of the largest scale."""
    return [group[0] for group in _by_claim(rows)]


def spoken(rows: Sequence[Row]) -> list[Row]:
    """Return one row for each claim of each study: of the largest scale that decides, else of the largest."""
    decided = ([row for row in group if row.claim.verdict != UNDECIDED] for group in _by_claim(rows))
    return [(own or [first])[0] for own, first in zip(decided, largest(rows), strict=True)]


def _by_claim(rows: Sequence[Row]) -> list[list[Row]]:
    """Return the rows of each claim of each study, the largest scale first."""
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in sorted(rows, key=lambda row: SCALES.index(row.scale)):
        groups.setdefault((row.study, row.claim.text), []).append(row)
    return list(groups.values())


def smaller(rows: Sequence[Row]) -> list[tuple[Row, Row]]:
    """Return what only a smaller scale decides: the row of the largest scale, and the one that decides."""
    pairs = zip(largest(rows), spoken(rows), strict=True)
    return [(large, small) for large, small in pairs if large is not small]


def _summary(rows: Sequence[Row]) -> str:
    claims = spoken(rows)
    own = sum(not row.published for row in claims)
    return (
        f"{len(claims)} claims, each of one study, {own} of them ours. "
        "By the largest scale alone at which they were judged:\n"
        f"{_counted(largest(rows))}.\n\nBy the largest scale that decides, a smaller one for "
        f"{len(smaller(rows))} of them, named below:\n{_counted(claims)}.\n\n"
        "The tables below have one line for each claim, with the numbers of the scale that decides.\n"
        f"Rules, commands and the other scales unfold; of all {len(rows)} verdicts {_counted(rows)}.\n"
    )


_PLURAL = {HOLDS: "hold", IN_PART: "hold in part", FAILS: "do not", UNDECIDED: "are undecided"}


def _counted(rows: Sequence[Row]) -> str:
    return ", ".join(f"{count} {_PLURAL[verdict]}" for verdict, count in tally(rows).items())


def _undecided(rows: Sequence[Row]) -> str:
    """List what no scale decides, by what would decide it, and what only a smaller scale decides."""
    reasons: dict[str, list[Row]] = {}
    for row in spoken(rows):
        if row.claim.verdict == UNDECIDED:
            why = row.verdict.partition(": ")[2]
            kind = "more trials would decide" if why.startswith("about") else why
            reasons.setdefault(kind, []).append(row)
    lines = ["## What is undecided, and why", ""]
    for kind in sorted(reasons):
        lines += [f"**{kind[0].upper()}{kind[1:]}**", ""]
        for row in reasons[kind]:
            more = row.verdict.partition(": ")[2] if kind == "more trials would decide" else ""
            what = f"{row.scale}, {row.counted}" + (f", {more}" if more else "")
            lines.append(f"- `{row.study}`: {row.claim.text} ({what})")
        lines.append("")
    lines += ["**Undecided at the larger scale, decided at the smaller**", ""]
    for large, small in smaller(rows):
        why = large.verdict.partition(": ")[2]
        what = f"{large.scale}, {large.counted}, {why}; {small.scale}, {small.counted}: {small.verdict}"
        lines.append(f"- `{large.study}`: {large.claim.text} ({what})")
    return "\n".join([*lines, ""])


def _shrunk(rows: Sequence[Row]) -> str:
    """List the studies that were not run at the papers' scale, and what judges them instead."""
    judges: dict[str, Row] = {}
    for one in sorted(rows, key=lambda row: SCALES.index(row.scale)):
        judges.setdefault(one.study, one)
    seconds = costs()
    lines, total = [], 0.0
    for study in claimed():
        row = judges.get(study.name)
        if row is not None and row.scale != "paper" and "paper" in study.scales:
            needed = seconds[study.name]["paper"]
            total += needed
            judged = f"{row.scale}, {row.planned} trials: {row.sizes}"
            lines.append(f"| `{study.name}` | {duration(needed)} | {judged} |")
    return _NOT_RUN.format(total=duration(total)) + "\n".join([*lines, ""]) if lines else ""


if __name__ == "__main__":
    (DOCS / "claims.md").write_text(page(), encoding="utf-8")
