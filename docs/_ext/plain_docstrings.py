"""Docstrings are read as they stand: marks of reStructuredText in their prose mean themselves."""

import re
from typing import Any

from sphinx.application import Sphinx

_CODE = re.compile(r"(``.+?``|`[^`]+`)")
_MARKS = re.compile(r"([|*\\]|(?<=\w)_(?!\w))")


def plain(line: str) -> str:
    """Escape what would be markup, outside of code.

    Examples
    --------
    >>> plain("|w| * x_ as `a|b`")
    '\\\\|w\\\\| \\\\* x\\\\_ as ``a|b``'
    """
    parts = _CODE.split(line)
    return "".join(
        ("``" + part.strip("`") + "``") if place % 2 else _MARKS.sub(r"\\\1", part)
        for place, part in enumerate(parts)
    )


def process(app: Sphinx, what: str, name: str, thing: object, options: object, lines: list[str]) -> None:
    """Rewrite a docstring's prose in place; examples, code blocks and directives stay."""
    in_example = False
    for place, line in enumerate(lines):
        bare = line.strip()
        in_example = bare.startswith(">>>") or (in_example and bool(bare))
        if not in_example and not bare.startswith(("..", ":")):
            lines[place] = plain(line)


def together(app: Sphinx, what: str, name: str, thing: object, options: object, lines: list[str]) -> None:
    """Keep attributes that share a line together: Sphinx takes all before the last blank for a type."""
    for place, line in enumerate(lines):
        if line.startswith((":ivar ", ":vartype ")):
            names, text = line[1:].split(":", 1)
            lines[place] = f":{names.replace(', ', ',')}:{text}"


def setup(app: Sphinx) -> dict[str, Any]:
    # before napoleon (priority 500) turns sections into fields
    app.connect("autodoc-process-docstring", process, priority=400)
    app.connect("autodoc-process-docstring", together, priority=600)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
