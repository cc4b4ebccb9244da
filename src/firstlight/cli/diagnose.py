"""`firstlight diagnose`: what the theories say about a file of your own."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from firstlight.cli.study import AsJson, legible

if TYPE_CHECKING:
    from firstlight.diagnosis.clock import Clock

LABELS = "Column (or array) of the labels; in npy files its number. By default y, label, target or class."


@legible
def diagnose(
    file: Annotated[Path, typer.Argument(help="csv, tsv, npz, npy or parquet with features and labels.")],
    labels: Annotated[str | None, typer.Option(help=LABELS)] = None,
    without: Annotated[
        list[str] | None, typer.Option(help="Leave this column out: texts, dates, identifiers. Repeatable.")
    ] = None,
    task: Annotated[str, typer.Option(help="auto, classification or regression.")] = "auto",
    standardise: Annotated[
        bool, typer.Option("--standardise", help="Divide every column by its standard deviation.")
    ] = False,
    seconds: Annotated[float, typer.Option(help="About how long; the cheap parts come first.")] = 60.0,
    html: Annotated[Path | None, typer.Option(help="Write the page: one self-contained HTML file.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of all splits and networks.")] = 0,
    as_json: AsJson = False,
) -> None:
    """Say which theory speaks about your data, what it predicts, and what a network really does."""
    from firstlight.data.files import load
    from firstlight.diagnosis.run import diagnose
    from firstlight.diagnosis.text import text
    from firstlight.maths.files import check_apart

    if html is not None and (html.is_dir() or not html.parent.is_dir()):
        raise ValueError(f"html = {html}: must be a file in a folder that exists")
    if html is not None:
        check_apart("html", html, file)
    table = load(file, labels, without=without or ())
    if labels is None:
        typer.echo(f"labels: {table.label}", err=True)
    result = diagnose(
        table.features, table.labels, task=task, standardise=standardise, seconds=seconds,  # type: ignore[arg-type]
        names=table.names, source=file.name, rng=seed, say=_progress,
    )  # fmt: skip
    if sys.stderr.isatty():
        typer.echo("\r\x1b[K", nl=False, err=True)
    typer.echo(result.to_json() if as_json else text(result))
    if html is not None:
        typer.echo(f"wrote {result.to_html(html)}", err=True)


def _progress(said: str, clock: "Clock") -> None:
    if sys.stderr.isatty():
        typer.echo(f"\r\x1b[K{said[:70]:<70} at most {clock.left:3.0f} s left", nl=False, err=True)
