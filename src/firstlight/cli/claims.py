"""`firstlight claims`: what was published, what holds, and by which numbers."""

import json
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from firstlight.cli.study import STORE, AsJson, StorePath, legible, resumable

if TYPE_CHECKING:
    from firstlight.study.sweep import Study


@legible
def claims(
    theory: Annotated[str | None, typer.Option(help="Only the claims of this theory.")] = None,
    study: Annotated[
        list[str] | None, typer.Option(help="Only the claims of this study; again for more.")
    ] = None,
    scale: Annotated[str, typer.Option(help="quick (minutes), medium, or paper (hours to days).")] = "quick",
    within: Annotated[
        float | None,
        typer.Option(min=0, help="Leave out studies that take more minutes than this."),
    ] = None,
    store: StorePath = STORE,
    workers: Annotated[int | None, typer.Option(min=0, help="Processes; default: one per core.")] = None,
    as_json: AsJson = False,
    html: Annotated[Path | None, typer.Option(help="Also write the table as a page.")] = None,
    save: Annotated[Path | None, typer.Option(help="Also keep the table as a compact record.")] = None,
) -> None:
    """Judge every published claim, and ours: compute what is missing, print numbers and verdict of each."""
    from firstlight.maths.files import check_apart, replacing
    from firstlight.maths.refusals import unknown
    from firstlight.show.claims import citation, page, tallies
    from firstlight.show.evidence import claimed, rows
    from firstlight.show.evidence import save as keep
    from firstlight.study.run import run
    from firstlight.study.store import Store, StoreError

    for field, path in {"html": html, "save": save}.items():
        if path is not None and path.is_dir():
            raise ValueError(f"{path}: must be a file, and is a folder")
        if path is not None:
            check_apart(field, path, store)
    table, judging = [], {one.name: one for one in claimed(theory, scale)}
    for name in study or ():
        if name not in judging:
            raise unknown("study", name, judging)
    chosen = [one for name, one in judging.items() if not study or name in study]
    with resumable(), Store(store, write=True) as opened:
        for one in chosen:
            try:
                if within is None or _short(one, scale, within, alone=workers == 0):
                    run(one, opened, scale=scale, workers=workers)
                    table += rows(opened, [one], scale)
            except StoreError:
                raise  # no other study could be kept either
            except Exception as error:  # images or an extra are missing, or a plug-in fails
                typer.echo(f"{one.name}: not judged, {type(error).__name__}: {error}", err=True)
    if not table and (html or save):
        raise ValueError(f"{html or save}: not written, as no claim was judged")
    words = ["firstlight", "claims", *(["--theory", theory] if theory else [])]
    words += [word for name in study or () for word in ("--study", name)] + ["--scale", scale]
    words += [] if within is None else ["--within", f"{within:g}"]
    if html is not None:
        with replacing(html) as part:
            part.write_text(page(table), encoding="utf-8")
    if save is not None:
        keep(table, save, shlex.join([*words, "--save", save.name]))
    if as_json:
        typer.echo(json.dumps([row.plain() for row in table], indent=2, ensure_ascii=False))
        return
    for row in table:
        lines = [f"{row.verdict}: {row.claim.text}", citation(row), row.claim.evidence]
        lines += [f"{row.study}, {row.counted}: {row.sizes}", row.command]
        typer.echo("\n    ".join(line for line in lines if line))
    for kind, tally in tallies(table).items():
        counts = ", ".join(f"{count} {verdict}" for verdict, count in tally.items())
        typer.echo(f"{kind}: {counts}")


def _short(study: "Study", scale: str, minutes: float, alone: bool) -> bool:
    """Say whether a study takes at most so long, by its kept cost or a dry run; name one that does not.

    Both are times of one core; alone, no worker's start is counted.
    """
    from firstlight.study.dry_run import costs, dry_run
    from firstlight.study.problem import duration

    seconds = costs().get(study.name, {}).get(scale)
    if seconds is None:
        expected = dry_run(study.at(scale), workers=0 if alone else 1)
        if expected.failure:
            typer.echo(f"{study.name}: left out, trials fail: {expected.failure}", err=True)
            return False
        seconds = expected.seconds
    if seconds > 60 * minutes:
        typer.echo(f"{study.name}: left out, about {duration(seconds)}", err=True)
    return seconds <= 60 * minutes
