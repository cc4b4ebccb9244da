"""The command line: one module per group of commands; heavy imports happen inside the commands."""

import codecs
import io
import sys
from typing import Annotated, cast

import typer

from firstlight import __version__
from firstlight.cli.cite import cite
from firstlight.cli.claims import claims
from firstlight.cli.data import app as data_app
from firstlight.cli.diagnose import diagnose
from firstlight.cli.explore import explore
from firstlight.cli.report import report
from firstlight.cli.study import app as study_app
from firstlight.cli.theories import theories
from firstlight.study import registry

app = typer.Typer(
    name="firstlight",
    help="When, and what, does a two-layer network learn first? Theory and experiment, side by side.",
    no_args_is_help=True,
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


app.command("cite")(cite)
app.command("claims")(claims)
app.command("diagnose")(diagnose)
app.command("explore")(explore)
app.command("report")(report)
app.command("theories")(theories)
app.add_typer(data_app, name="data")
app.add_typer(study_app, name="study")
_taken = {*(one.name for one in app.registered_commands), *(one.name for one in app.registered_groups)}


def _add_commands(theory: registry.Theory) -> None:
    """Put a theory's commands beside those that are there; a second one of the same name would hide it."""
    own = cast(typer.Typer, registry.resolve(theory.commands or "", "commands"))
    names = typer.main.get_group(own).commands
    if doubled := [name for name in names if name in _taken]:
        raise ValueError(f"the command {doubled[0]!r} is there already")
    _taken.update(names)
    app.add_typer(own)


for _theory in registry.theories().values():
    if _theory.commands is not None:
        try:
            _add_commands(_theory)
        except (Exception, SystemExit) as error:  # a plug-in's commands must not take ours with them
            registry.mark_broken(_theory.name, error, "commands")


def main() -> None:
    """Run the command line; bad input ends in one line on standard error and exit code 2."""
    codecs.register_error("as in JSON", _spelt)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # δ is no letter of Latin-1
            stream.reconfigure(errors="as in JSON")
    named = _tell_broken(0)
    try:
        app()
    except (ValueError, OSError, MemoryError) as error:
        print(f"error: {error or 'not enough memory'}", file=sys.stderr)
        sys.exit(2)
    finally:
        _tell_broken(named)  # studies are read by the commands that need them


def _spelt(error: UnicodeError) -> tuple[str, int]:
    r"""Write letters that an encoding has not as JSON does: δ as \u03b4, those beyond four digits as two."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    halves = error.object[error.start : error.end].encode("utf-16-be", "surrogatepass").hex(" ", 2)
    return "".join(rf"\u{half}" for half in halves.split()), error.end


def _tell_broken(named: int) -> int:
    """Name what of theories cannot be used, all but the first few that were named already; count it."""
    failed = registry.broken()
    for one in failed[named:]:
        print(f"theory {one.name} of {one.package}: {one.consequence}", file=sys.stderr)
    return len(failed)
