"""The warnings of a trial, kept with its record instead of being printed by some worker."""

import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

_said: ContextVar[list[str] | None] = ContextVar("said", default=None)
_lock = threading.Lock()
_listeners = 0
_before: Any = None  # the process's own handling of warnings, while somebody listens


@contextmanager
def heard() -> Iterator[list[str]]:
    """Collect the warnings of the calling thread; a Dask worker runs several trials in one process.

    Yields
    ------
    list of str
        Filled as warnings come: each text once, with its category, and without the place in the code.

    Examples
    --------
    >>> with heard() as said:
    ...     warnings.warn("too few samples", stacklevel=1)
    >>> said
    ['UserWarning: too few samples']
    """
    said: list[str] = []
    token = _said.set(said)
    _listen()
    try:
        yield said
    finally:
        _rest()
        _said.reset(token)


def _listen() -> None:
    global _listeners, _before
    with _lock:
        if _listeners == 0:
            _before = warnings.catch_warnings()
            _before.__enter__()
            warnings.simplefilter("ignore")  # what libraries tell developers is no part of a result
            for category in (UserWarning, RuntimeWarning):
                warnings.simplefilter("always", category)
            warnings.showwarning = _note
        _listeners += 1


def _rest() -> None:
    global _listeners
    with _lock:
        _listeners -= 1
        if _listeners == 0:
            _before.__exit__(None, None, None)


def _note(message: Warning | str, category: type[Warning], *place: Any, **more: Any) -> None:
    said, text = _said.get(), f"{category.__name__}: {message}"
    if said is not None and text not in said:
        said.append(text)
