"""How a text file of numbers is written (encoding, delimiter, decimal point): guessed from its start."""

import re
from pathlib import Path

_HEAD = 1 << 20  # bytes that are looked at
MOST_COLUMNS = 50_000  # each costs Arrow some 8 kB and 80 µs, however few its rows


class Refusal(ValueError):
    """A reason, still without the file's name."""


def dialect(path: Path) -> tuple[str, str, str]:
    r"""Guess encoding, delimiter and decimal point.

    Parameters
    ----------
    path : Path
        A csv file with the columns' names in its first line.

    Returns
    -------
    encoding : {"utf-8", "utf-16", "cp1252"}
    delimiter : {",", ";", tab, "|"}
        What the names are divided by most often, outside quotes.
    decimal : {".", ","}
        A comma where it is not the delimiter and stands inside numbers.

    Raises
    ------
    Refusal
        Compressed, not a text, a single line, or too many columns.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "a.csv"
    >>> _ = path.write_text("width;kind\n1,5;u\n", encoding="utf-16")
    >>> dialect(path)
    ('utf-16', ';', ',')
    """
    with path.open("rb") as file:
        head = file.read(_HEAD)
    if head.startswith(b"\x1f\x8b"):
        raise Refusal("is compressed; unpack it first")
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        encoding = "utf-16"
    else:
        try:
            head[: head.rfind(b"\n") + 1].decode("utf-8")
            encoding = "utf-8"
        except UnicodeDecodeError:
            encoding = "cp1252"
    text = head.decode(encoding, "replace")
    if sum(character < " " and character not in "\t\n\r\f" for character in text[:4096]):
        raise Refusal("is not a text file")
    lines = [line for line in text.splitlines() if line.strip()]
    names = re.sub(r'"[^"]*"', "", lines[0]) if lines else ""
    delimiter = max(",;\t|", key=names.count)
    check_width(names.count(delimiter) + 1)
    if len(lines) < 2:
        raise Refusal("has no rows below the columns' names")
    number = re.compile(r'(^|[;\t|]) *"?-?\d+,\d+(e[-+]?\d+)?"? *([;\t|]|$)', re.IGNORECASE)
    commas = delimiter != "," and any(number.search(row) for row in lines[1:50])
    return encoding, delimiter, "," if commas else "."


def check_width(columns: int) -> None:
    """Refuse a table of too many columns, and say what to do."""
    if columns > MOST_COLUMNS:
        raise Refusal(
            f"has more than {MOST_COLUMNS:,} columns; save the features as one array, in an npz or npy file"
        )
