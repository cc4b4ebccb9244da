"""`firstlight report`: the self-contained HTML report of all theories."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from firstlight.cli.study import legible, resumable


@legible
def report(
    scale: Annotated[str, typer.Option(help="quick or paper.")] = "quick",
    to: Annotated[Path, typer.Option(help="The HTML file to write.")] = Path("out/report.html"),
    store: Annotated[Path, typer.Option(help="The store of records.")] = Path("out/study.sqlite"),
    workers: Annotated[int | None, typer.Option(min=0, help="Processes; by default one per core.")] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="All studies, not only the featured ones.")
    ] = False,
    offline: Annotated[
        bool, typer.Option("--offline", help="Do not fetch images; leave their studies out.")
    ] = False,
) -> None:
    """Compute what is missing of the theories' studies, print a table and write one HTML file."""
    from rich.console import Console
    from rich.markup import escape

    from firstlight.maths.files import check_apart
    from firstlight.show.report import check
    from firstlight.show.report import report as write
    from firstlight.study.registry import featured, studies

    console = Console(soft_wrap=True)

    def say(title: str, verdict: str, seconds: float) -> None:
        first_line = escape(verdict.partition("\n")[0])
        console.print(f"[bold]{title:<36}[/] {seconds:6.1f} s   {first_line}")

    chosen = list(studies().values()) if everything else featured()
    check(chosen, scale, to, workers)
    check_apart("to", to, store)
    if not offline:
        _fetch_images(console.print)
    with resumable():
        path = write(chosen, scale=scale, store=store, destination=to, workers=workers, say=say)
    console.print(f"written: {path}")


def _fetch_images(say: Callable[[str], None]) -> None:
    """Fetch the sets of images that are not here; without a network their studies say what is missing."""
    from firstlight.data.cache import KNOWN, FetchFailed, fetch, folder_of

    for name in KNOWN:
        if not folder_of(name).is_dir():
            try:
                fetch(name, say=say)
            except (FetchFailed, OSError) as error:
                say(f"{name} is left out: {error}")
