"""`firstlight explore`: the laboratory in a browser."""

from pathlib import Path
from typing import Annotated

import typer

from firstlight.cli.study import STORE, StorePath, legible


@legible
def explore(
    port: Annotated[int, typer.Option(min=0, max=65535, help="0: any free one.")] = 8765,
    store: StorePath = STORE,
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Only print the address.")] = False,
    host: Annotated[
        str, typer.Option(help="Let other machines connect at this address; needs --token.")
    ] = "",
    token: Annotated[str, typer.Option(help="What other machines must know, 16 characters or more.")] = "",
) -> None:
    """Explore every theory in a browser: move a slider, see the prediction; press run, see networks train."""
    from firstlight.explore.server import serve

    serve(str(Path(store)), port=port, host=host, token=token, browser=not no_browser)
