"""The command line: one module per group of commands; heavy imports happen inside the commands."""

import typer

app = typer.Typer(
    name="firstlight",
    help="When, and what, does a two-layer network learn first? Theory and experiment, side by side.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


def main() -> None:
    """Run the command line."""
    app()
