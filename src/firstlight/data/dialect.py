"""How a text file of numbers is written (encoding, delimiter, decimal point): guessed from its start."""

import re
from pathlib import Path

_HEAD = 1 << 20  # bytes that are looked at


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
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        encoding = "utf-16"
    else:
        try:
            head[: head.rfind(b"\n") + 1].decode("utf-8")
            encoding = "utf-8"
        except UnicodeDecodeError:
            encoding = "cp1252"
    lines = [line for line in head.decode(encoding, "replace").splitlines() if line.strip()]
    names = re.sub(r'"[^"]*"', "", lines[0]) if lines else ""
    delimiter = max(",;\t|", key=names.count)
    commas = delimiter != "," and any(re.search(r"(^|[;\t|])-?\d+,\d+([;\t|]|$)", row) for row in lines[1:50])
    return encoding, delimiter, "," if commas else "."
