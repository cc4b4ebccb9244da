"""What a shell or a notebook shows of our objects: one or few lines of text, or a small table in HTML."""

import html
import textwrap
from collections.abc import Mapping
from dataclasses import Field, fields
from typing import Any

import numpy as np

from firstlight.maths.refusals import shown

_COLUMNS = 100
_FEW = 6  # entries that are shown one by one
_NESTED = 100  # letters of a value inside another


class Shown:
    """A base for dataclasses: ``repr`` names the fields that are not at their defaults, arrays by shape.

    Examples
    --------
    >>> from firstlight.data.covariance import Spiked
    >>> Spiked([3.0], np.eye(300)[:, :1])
    Spiked(strengths=[3.0], directions=<300 × 1 numbers>)
    >>> "<td>[3.0]</td>" in Spiked([3.0], np.eye(300)[:, :1])._repr_html_()
    True
    """

    def __init_subclass__(cls, **options: Any) -> None:
        """Keep this ``repr``: `dataclass` writes one of its own into classes that have none themselves."""
        super().__init_subclass__(**options)
        if "__repr__" not in vars(cls):
            cls.__repr__ = cls.__repr__  # type: ignore[method-assign]

    def __repr__(self) -> str:
        named = [
            f"{item.name}={_text(getattr(self, item.name))}"
            for item in fields(self)  # type: ignore[arg-type]
            if item.repr and not _is_default(item, getattr(self, item.name))
        ]
        line = f"{type(self).__name__}({', '.join(named)})"
        return textwrap.fill(line, _COLUMNS, subsequent_indent="    ", break_long_words=False)

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><th>{item.name}</th><td>{html.escape(_text(getattr(self, item.name)))}</td></tr>"
            for item in fields(self)  # type: ignore[arg-type]
            if not item.name.startswith("_")
        )
        return f"<table><caption>{type(self).__name__}</caption>{rows}</table>"


def short(value: Any) -> str:
    """Return a value's text, of a number to four digits.

    Examples
    --------
    >>> short(1 / 3), short("relu")
    ('0.3333', 'relu')
    """
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _is_default(item: "Field[Any]", value: Any) -> bool:
    """Say whether a plain value is its field's default; arrays and the like are always shown."""
    plain = isinstance(value, (bool, int, float, str, tuple, type(None)))
    return plain and type(value) is type(item.default) and value == item.default


def _text(value: Any) -> str:
    """Put a value in at most a line: few digits, few entries, shapes for the rest."""
    if isinstance(value, str):
        return shown(value, _NESTED)
    if isinstance(value, (float, np.floating)):
        return repr(float(f"{value:.6g}"))
    if isinstance(value, np.ndarray):
        few = value.size <= _FEW and value.ndim < 2
        return _text(value.tolist()) if few else f"<{' × '.join(map(str, value.shape))} numbers>"
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{key!r}: {_text(entry)}' for key, entry in value.items())}}}"
    if isinstance(value, (list, tuple)) and type(value) in (list, tuple):
        ends = "[]" if isinstance(value, list) else "()"
        more = [f"... {len(value)} in all"] if len(value) > _FEW else []
        inner = ", ".join([_text(entry) for entry in value[: 3 if more else None]] + more)
        return f"{ends[0]}{inner}{',' if ends == '()' and len(value) == 1 else ''}{ends[1]}"
    text = " ".join(repr(value).split())
    return text if len(text) <= _NESTED else f"{type(value).__name__}(...)"
