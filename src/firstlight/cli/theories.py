"""`firstlight theories`: which theories are at hand, and from which package."""

import json
from typing import Any

import typer

from firstlight.cli.study import AsJson, legible


@legible
def theories(
    as_json: AsJson = False,
) -> None:
    """List the theories that are installed: the question of each, its problems, and who brings it."""
    from dataclasses import asdict

    from firstlight.study import registry

    known = registry.studies()
    rows: list[dict[str, Any]] = [
        {
            "name": theory.name,
            "title": theory.title,
            "question": theory.question,
            "package": registry.package(theory.name),
            "problems": list(theory.problems),
            "studies": [name for name in known if name.startswith(f"{theory.slug}/")],
            "source": next(iter(theory.references), None),
        }
        for theory in registry.theories().values()
    ]
    failed = registry.broken()
    if as_json:
        said = {"theories": rows, "broken": [asdict(one) for one in failed]}
        typer.echo(json.dumps(said, indent=2, ensure_ascii=False))
        return
    for row in rows:
        typer.echo(f"{row['name']} ({row['package']}): {row['title']}")
        typer.echo(f"    {row['question']}")
        count = len(row["studies"])
        studies = "1 study" if count == 1 else f"{count} studies"
        typer.echo(f"    problems: {', '.join(row['problems'])}; {studies}")
    for one in failed:
        typer.echo(f"{one.name} ({one.package}): {one.consequence}")
