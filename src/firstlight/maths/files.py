"""Files that appear complete or not at all."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4


def regular(target: Path) -> Path:
    """Return the file that a path leads to, there or still to be made; refuse a device, a pipe or a folder.

    Examples
    --------
    >>> regular(Path("/"))
    Traceback (most recent call last):
    ValueError: /: exists and is no regular file; name another
    """
    if target.exists() and not target.is_file():
        raise ValueError(f"{target}: exists and is no regular file; name another")
    return Path(os.path.realpath(target))


def check_apart(field: str, target: Path, *read: Path) -> None:
    """Refuse to write where there is what is read: a user's data, or a store of records.

    Examples
    --------
    >>> check_apart("html", Path("rows.csv"), Path("./rows.csv"))
    Traceback (most recent call last):
    ValueError: html = rows.csv: must be another file than rows.csv, which is read
    """
    for one in read:
        if regular(target) == Path(os.path.realpath(one)):
            raise ValueError(f"{field} = {target}: must be another file than {one}, which is read")


@contextmanager
def replacing(target: Path) -> Iterator[Path]:
    """Yield where to write: a file beside `target` that takes its place at the end; an error leaves none.

    The folder is made. Several writers, in one process or in many, do not meet. A link stays, and the file
    that it leads to is written; what is no regular file is refused before anything is.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with replacing(Path(folder) / "new" / "a.txt") as part:
    ...         _ = part.write_text("all of it")
    ...     [path.name for path in part.parent.iterdir()]
    ['a.txt']
    """
    target = regular(target)
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_name(f".{target.name}.{uuid4().hex}.part")
    try:
        with named(target, part):
            yield part
            part.replace(target)
    finally:
        part.unlink(missing_ok=True)


@contextmanager
def named(target: Path, part: Path) -> Iterator[None]:
    """Let what goes wrong with `part`, a file or a folder of them, be said of the target.

    A full disk names no file at all.

    Examples
    --------
    >>> with named(Path("a.txt"), Path("a.part")):
    ...     raise OSError(28, "No space left on device")
    Traceback (most recent call last):
    OSError: [Errno 28] No space left on device: 'a.txt'
    """
    try:
        yield
    except OSError as error:
        unnamed = error.filename is None and error.errno is not None  # a sentence of ours stays as it is
        if unnamed or (error.filename and Path(str(error.filename)).is_relative_to(part)):
            error.filename = str(target)
        raise
