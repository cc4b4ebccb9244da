"""`firstlight data`: sets of images, what is there and how to fetch it."""

import json
from typing import Annotated, Any

import typer

from firstlight.cli.study import AsJson, legible

app = typer.Typer(help="Sets of images: list them, fetch them, find them.", no_args_is_help=True)


@app.command("list")
@legible
def list_sets(as_json: AsJson = False) -> None:
    """List the known sets of images, and whether they are on this machine."""
    from firstlight.data.cache import KNOWN, folder_of

    row: dict[str, Any] = {"name": "digits", "here": True, "bytes": 0, "source": "scikit-learn"}
    rows = [row | {"folder": None}]
    for name, known in KNOWN.items():
        folder = folder_of(name)
        size = sum(file.stat().st_size for file in folder.glob("*"))
        source = ", or ".join(description for description, _ in known.sources)
        row = {"name": name, "here": folder.is_dir(), "bytes": size, "source": source, "folder": str(folder)}
        rows.append(row)
    if as_json:
        typer.echo(json.dumps(rows, indent=2))
        return
    typer.echo(f"{'name':<15}{'here':<6}{'size':<9}source")
    for row in rows:
        size_text = f"{row['bytes'] / 1e6:.1f} MB" if row["bytes"] else "-"
        typer.echo(f"{row['name']:<15}{'yes' if row['here'] else 'no':<6}{size_text:<9}{row['source']}")


@app.command()
@legible
def fetch(
    name: Annotated[str, typer.Argument(help="mnist or fashion-mnist (digits need nothing).")],
    force: Annotated[bool, typer.Option("--force", help="Fetch again even if the set is here.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing but errors.")] = False,
) -> None:
    """Fetch a set of images into the cache, and check it."""
    from firstlight.data.cache import fetch

    fetch(name, force=force, say=(lambda text: None) if quiet else typer.echo)


@app.command()
@legible
def path(
    name: Annotated[str | None, typer.Argument(help="A set; none: the whole cache.")] = None,
) -> None:
    """Print the cache folder, or the folder of one set; set FIRSTLIGHT_CACHE to move it."""
    from firstlight.data.cache import cache_folder, folder_of

    typer.echo(str(folder_of(name) if name else cache_folder()))
