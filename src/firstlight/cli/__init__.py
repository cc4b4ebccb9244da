"""The command line: one module per group of commands; heavy imports happen inside the commands."""

import sys
from typing import Annotated

import typer

from firstlight import __version__
from firstlight.cli.cite import cite
from firstlight.cli.data import app as data_app
from firstlight.cli.report import report
from firstlight.cli.study import app as study_app
from firstlight.early_alignment.commands import animate
from firstlight.phase_transition.commands import delta_alg, delta_nn, staircase
from firstlight.unseen_classes.commands import unseen

app = typer.Typer(
    name="firstlight",
    help="When, and what, does a two-layer network learn first? Theory and experiment, side by side.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(__version__)
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Hold the options that come before any command."""


app.command()(animate)
app.command()(cite)
app.command()(report)
for name, command in (("delta-alg", delta_alg), ("delta-nn", delta_nn), ("staircase", staircase)):
    # a target such as '-z1**2' is no option
    app.command(name, context_settings={"ignore_unknown_options": True})(command)
app.command()(unseen)
app.add_typer(data_app, name="data")
app.add_typer(study_app, name="study")


def main() -> None:
    """Run the command line; bad input ends in one line on standard error and exit code 2."""
    try:
        app()
    except (ValueError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)
