"""Functions compiled by numba, kept on disk, and compiled anew when any file of their folder changes.

Numba's own cache looks at the file of a function alone: edit a function that it calls in another file, and
the old machine code of both stays in use. Here the cache's folder carries a hash of all files beside it.
"""

import hashlib
import os
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from numba import config, njit
from numba.extending import register_jitable


def compiled(function: Callable[..., Any], **options: Any) -> Callable[..., Any]:
    """Compile a function that runs without the interpreter's lock, and keep the machine code on disk.

    Parameters
    ----------
    function : callable
        Of a module; what it calls, each a `part`, may stand in other modules of the same folder.
    **options
        As for `numba.njit`.

    Examples
    --------
    >>> from firstlight.early_alignment.theory.kernel.walk import trace  # compiled by this function
    >>> trace.targetoptions["nogil"]
    True
    """
    given: str = config.CACHE_DIR  # type: ignore[attr-defined]
    config.CACHE_DIR = str(_folder(Path(function.__code__.co_filename).parent, given))  # type: ignore[attr-defined]
    try:
        made: Callable[..., Any] = njit(nogil=True, cache=True, **options)(function)
        return made
    finally:
        config.CACHE_DIR = given  # type: ignore[attr-defined]


def part(function: Callable[..., Any], **options: Any) -> Callable[..., Any]:
    """Let compiled functions call this one, and compile it with them; it stays a function of Python's own.

    It is not kept on disk apart, nor has it an entry from Python: for many small functions of many arguments
    that would be half of the time to compile.

    Parameters
    ----------
    function : callable
    **options
        As for `numba.njit`.

    Examples
    --------
    >>> from firstlight.early_alignment.theory.kernel.state import dot  # a part
    >>> dot([1.0, 1.0], [1.0, 2.0])
    3.0
    """
    options |= {"nogil": True, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
    made: Callable[..., Any] = register_jitable(**options)(function)
    return made


@cache
def _folder(sources: Path, given: str) -> Path:
    """Return where machine code is kept: in the folder that numba is told, beside the sources, or at home."""
    texts = {path.name: path.read_bytes() for path in sorted(sources.glob("*.py"))}
    digest = hashlib.sha256(repr(texts).encode()).hexdigest()[:16]
    beside = sources / "__pycache__"
    if given:
        return Path(given) / digest
    return (beside if _writable(beside) else Path.home() / ".cache" / "firstlight") / digest


def _writable(folder: Path) -> bool:
    try:
        folder.mkdir(exist_ok=True)
    except OSError:
        return False
    return os.access(folder, os.W_OK)
