"""`firstlight cite`: what to cite, as BibTeX or JSON."""

import json
from typing import Annotated

import typer

from firstlight.cli.study import AsJson, legible


@legible
def cite(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="[NAME...]", help="BibTeX keys or theories' names; none: everything."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Print what to cite for a theory, a method or a set of images."""
    from firstlight.references import bibtex, entries, keys_of

    keys = [key for name in names for key in keys_of(name)] if names else list(entries())
    if as_json:
        known = entries()
        plain = {key: {"type": known[key].kind, **dict(known[key].fields)} for key in keys}
        typer.echo(json.dumps(plain, indent=2, ensure_ascii=False))
    elif keys:
        typer.echo(bibtex(keys))
    else:
        typer.echo(f"{', '.join(names or ())}: announces no references", err=True)
