"""Files that appear complete or not at all."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4


@contextmanager
def replacing(target: Path) -> Iterator[Path]:
    """Yield where to write: a file beside `target` that takes its place at the end; an error leaves none.

    The folder is made. Several writers, in one process or in many, do not meet.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with replacing(Path(folder) / "new" / "a.txt") as part:
    ...         _ = part.write_text("all of it")
    ...     [path.name for path in part.parent.iterdir()]
    ['a.txt']
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_name(f".{target.name}.{uuid4().hex}.part")
    try:
        yield part
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)
