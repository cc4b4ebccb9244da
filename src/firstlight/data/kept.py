"""Tables that a user brought, kept on this machine under a name made of their content.

A problem that names such a table means the same numbers for ever, so its records can be kept as any others.
"""

import contextlib
import hashlib
import os
import re
from functools import lru_cache
from pathlib import Path
from zipfile import BadZipFile

import numpy as np
from numpy.typing import ArrayLike

from firstlight.data.cache import cache_folder
from firstlight.data.labelled import labelled
from firstlight.maths.files import replacing
from firstlight.maths.refusals import refusal

LARGEST = 20_000_000  # numbers of a table: 160 MB
TOTAL = 1_000_000_000  # bytes of all tables on disk
_NAME = re.compile(r"[0-9a-f]{16}")


def keep(features: ArrayLike, labels: ArrayLike) -> str:
    """Keep rows and their labels, which become texts, in the user's cache folder; return their name.

    All tables together take at most a gigabyte: those that were brought longest ago go.

    Examples
    --------
    >>> import os, tempfile
    >>> from unittest.mock import patch
    >>> with tempfile.TemporaryDirectory() as folder, patch.dict(os.environ, FIRSTLIGHT_CACHE=folder):
    ...     name = keep([[1.0], [2.0], [3.0]], ["b", "a", "b"])
    ...     rows, index, classes = kept(name)
    >>> name, index.tolist(), classes
    ('d4aaf15a281a878a', [1, 0, 1], ('a', 'b'))
    """
    table = labelled(features, labels)
    if table.features.size > LARGEST:
        raise refusal("features", f"{table.features.size} numbers", f"be at most {LARGEST}")
    rows = np.ascontiguousarray(table.features, dtype=np.float64)
    texts = np.array([str(one) for one in np.asarray(labels).tolist()])
    digest = hashlib.sha256(repr((rows.shape, texts.tolist())).encode() + rows.tobytes()).hexdigest()
    path = _path(digest[:16])
    if not path.exists():
        with replacing(path) as part, part.open("wb") as file:
            part.chmod(0o600)  # a user's own rows
            np.savez_compressed(file, features=rows, labels=texts)
    with contextlib.suppress(FileNotFoundError):  # another process may have removed it just now
        os.utime(path)
    _remove_oldest(path)
    return digest[:16]


def _remove_oldest(newest: Path) -> None:
    """Remove the tables that were brought longest ago, until all fit; never the newest."""
    tables = []
    for path in newest.parent.glob("*.npz"):
        with contextlib.suppress(FileNotFoundError):  # another process may be removing some as well
            tables.append((path.stat().st_mtime_ns, path.stat().st_size, path))
    total = sum(size for _, size, _ in tables)
    for _, size, path in sorted(tables):
        if total <= TOTAL:
            return
        if path != newest:
            path.unlink(missing_ok=True)
            total -= size


def kept(name: str) -> tuple[np.ndarray, np.ndarray, tuple[str, ...]]:
    """Return the rows (n, d) of a kept table, the class of each as a number, and the classes' names.

    Raises
    ------
    ValueError
        No table of this name is kept on this machine.
    """
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise refusal("table", name, "be sixteen digits from 0 to f, as `keep` returns them")
    return _read(_path(name))


def _path(name: str) -> Path:
    return cache_folder() / "tables" / f"{name}.npz"


@lru_cache(maxsize=1)
def _read(path: Path) -> tuple[np.ndarray, np.ndarray, tuple[str, ...]]:
    """Keep what was read in memory: a run asks for the same table in every trial."""
    if not path.exists():
        raise ValueError(f"table = {path.stem!r}: is not kept on this machine; bring the file once more")
    try:
        with np.load(path, allow_pickle=False) as archive:
            table = labelled(archive["features"], archive["labels"])
    except (OSError, KeyError, BadZipFile):
        raise ValueError(
            f"table = {path.stem!r}: is damaged; remove {path.name} and bring the file again"
        ) from None
    table.features.flags.writeable = False
    return table.features, table.index, tuple(str(one) for one in table.classes)
