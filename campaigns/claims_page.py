"""Write docs/claims.md from the evidence that is kept in docs/evidence.

python campaigns/claims_page.py
"""

import json
from pathlib import Path

from firstlight.show.claims import markdown, tally
from firstlight.show.evidence import claimed, read, stale

DOCS = Path(__file__).parents[1] / "docs"


def page() -> str:
    """Return the page: how to read it, how it was made, and one table for each theory."""
    files = sorted((DOCS / "evidence").glob("*.json"))
    rows = [row for path in files for row in read(path)]
    if old := stale(rows):
        raise SystemExit("make claims: " + "; ".join(old))
    made = [json.loads(path.read_text("utf-8")) for path in files]
    commands = "\n".join(f"- `{one['command']}` ({one['hours']:.2g} hours of computing)" for one in made)
    counts = ", ".join(f"{count} {verdict}" for verdict, count in tally(rows).items())
    about = (DOCS / "evidence" / "about.md").read_text("utf-8")
    wide = "---\nhtml_theme.sidebar_secondary.remove: true\n---\n\n"
    head = f"{wide}# What was published, and what holds\n\n{about}\n{len(rows)} rows: {counts}."
    silent = [study for study in claimed() if study.name not in {row.study for row in rows}]
    left = "\n".join(f"- `{study.name}`: {study.description}" for study in silent)
    none = f"No evidence is kept of\n\n{left}\n\n" if silent else ""
    return f"{head} Made by\n\n{commands}\n\n{none}{markdown(rows)}"


if __name__ == "__main__":
    (DOCS / "claims.md").write_text(page(), encoding="utf-8")
