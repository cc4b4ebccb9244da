"""One computation that several readers follow; it ends when the last of them has been gone for a moment."""

import asyncio
from collections.abc import AsyncIterator, Callable

_GRACE = 0.1  # seconds: a reader who moves a slider comes back at once for what has not changed


class Shared:
    """A source of texts, read once and followed by many, each from the last text on.

    Parameters
    ----------
    source : async iterator of str
    ended : callable
        Called once, with the last text if the source came to its end, else with None; from then on nobody
        should be sent here: what is being cancelled has nothing more to tell.
    """

    def __init__(self, source: AsyncIterator[str], ended: Callable[[str | None], None]) -> None:
        self._last: str | None = None
        self._count, self._readers = 0, 0
        self._error: Exception | None = None
        self._news = asyncio.Event()
        self._ended: Callable[[str | None], None] | None = ended
        self._task = asyncio.get_running_loop().create_task(self._read(source))

    async def _read(self, source: AsyncIterator[str]) -> None:
        complete = False
        try:
            async for item in source:
                self._last, self._count = item, self._count + 1
                self._wake()
            complete = True
        except Exception as error:  # told to every reader
            self._error = error
        finally:
            self._end(self._last if complete else None)
            self._wake()

    def _end(self, last: str | None) -> None:
        ended, self._ended = self._ended, None
        if ended is not None:
            ended(last)

    def _wake(self) -> None:
        self._news.set()
        self._news = asyncio.Event()

    async def follow(self) -> AsyncIterator[str]:
        """Yield the last text, and each that comes; what comes while the reader is busy is left out."""
        self._readers += 1
        seen = 0
        try:
            while True:
                news = self._news
                if self._count > seen and self._last is not None:
                    seen = self._count
                    yield self._last
                elif self._task.done() or self._error is not None:
                    break
                else:
                    await asyncio.wait([self._task, asyncio.ensure_future(news.wait())],
                                       return_when=asyncio.FIRST_COMPLETED)  # fmt: skip
            if self._error is not None:
                raise self._error
        finally:
            self._readers -= 1
            if not self._readers:
                asyncio.get_running_loop().call_later(_GRACE, self._leave)

    def _leave(self) -> None:
        if not self._readers and not self._task.done():
            self._end(None)  # before it has stopped, which may take a while
            self._task.cancel()
