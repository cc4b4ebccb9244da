"""The page of all commands, written from the commands themselves when the site is built."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer
from sphinx.application import Sphinx

from firstlight.cli import app


def leaves(command: Any, path: tuple[str, ...] = ("firstlight",)) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Walk through a group of commands, in its own order."""
    if hasattr(command, "commands"):
        for name, one in command.commands.items():
            yield from leaves(one, (*path, name))
    elif not command.hidden:
        yield path, command


def row(parameter: Any) -> str:
    """Return an argument or option as a line of a table."""
    argument = parameter.param_type_name == "argument"
    name = parameter.name.upper() if argument else ", ".join(parameter.opts)
    default = "required" if parameter.required else parameter.default
    shown = "" if default is None or default is False or callable(default) else f"`{default}`"
    text = (getattr(parameter, "help", None) or "").replace("|", "\\|")
    return f"| `{name}` | {text} | {shown} |"


def page() -> str:
    """Return the page as Markdown."""
    lines = ["# Commands", "", "Every command has `--help`. Made from the commands themselves.", ""]
    for path, command in leaves(typer.main.get_command(app)):
        lines += [f"## {' '.join(path)}", "", (command.help or "").strip(), ""]
        shown = [one for one in command.params if one.name != "help"]
        if shown:
            lines += ["| | | default |", "|---|---|---|", *map(row, shown), ""]
    return "\n".join(lines)


def write(sphinx: Sphinx) -> None:
    """Write the page, unless it is there already as it would be."""
    file = Path(sphinx.srcdir, "reference", "commands.md")
    text = page()
    if not file.exists() or file.read_text("utf-8") != text:
        file.write_text(text, "utf-8")


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("builder-inited", write)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
