"""Experiments that were asked for: a queue, one at a time, in a child that can be killed."""

import asyncio
import itertools
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

from firstlight.explore import jobs
from firstlight.explore.workers import JobFailed, Pool, WorkerDied

_KEPT = 50  # runs that are remembered, and that may wait at once


@dataclass
class Run:
    """One run: what was asked, and how far it is."""

    number: int
    theory: str
    values: dict[str, Any]
    confirmed: bool = False
    state: str = "waiting"  # running, asks, done, failed, cancelled
    done: int = 0
    total: int = 0
    left: float | None = None
    message: str = ""
    points: dict[str, Any] = field(default_factory=dict)
    version: int = 0
    changed: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def over(self) -> bool:
        """Whether nothing more will come."""
        return self.state in ("done", "failed", "cancelled")

    def tell(self, **news: Any) -> None:
        """Note news, and wake those who watch."""
        for name, value in news.items():
            setattr(self, name, value)
        self.version += 1
        self.changed.set()
        self.changed = asyncio.Event()

    def shown(self) -> dict[str, Any]:
        """Return plain values, without the points."""
        names = ("number", "theory", "values", "state", "done", "total", "left", "message")
        return {name: getattr(self, name) for name in names}


class Runs:
    """The queue.

    Parameters
    ----------
    store : str
        Path of the store; the runs' records are ordinary ones.
    """

    def __init__(self, store: str) -> None:
        self.store, self.all = store, dict[int, Run]()
        self._numbers = itertools.count(1)
        self._waiting: asyncio.Queue[Run] = asyncio.Queue()
        self._pool = Pool(1)
        self._current: tuple[Run, asyncio.Task[None]] | None = None
        self._loop = asyncio.get_running_loop().create_task(self._work())

    def add(self, theory: str, values: dict[str, Any]) -> Run:
        """Queue a run; the same one that waits or runs already is not added twice."""
        for run in self.all.values():
            if not run.over and (run.theory, run.values) == (theory, values):
                return run
        if sum(not run.over for run in self.all.values()) >= _KEPT:
            raise ValueError(f"{_KEPT} runs are waiting; cancel some, or wait")
        run = Run(next(self._numbers), theory, values)
        self.all[run.number] = run
        for number in [one.number for one in self.all.values() if one.over][: max(len(self.all) - _KEPT, 0)]:
            del self.all[number]
        self._waiting.put_nowait(run)
        return run

    def confirm(self, run: Run) -> None:
        """Go on with a run that asked."""
        if run.state == "asks":
            run.confirmed = True
            run.tell(state="waiting", message="")
            self._waiting.put_nowait(run)

    def cancel(self, run: Run) -> None:
        """Stop a run; every record that it has made stays."""
        if run.over:
            return
        if self._current is not None and self._current[0] is run:
            self._current[1].cancel()
        run.tell(state="cancelled", left=None)

    async def _work(self) -> None:
        while True:
            run = await self._waiting.get()
            if run.state != "waiting":
                continue
            task = asyncio.get_running_loop().create_task(self._perform(run))
            self._current = (run, task)
            await asyncio.wait([task])
            self._current = None

    async def _perform(self, run: Run) -> None:
        run.tell(state="running")
        try:
            async for news in self._pool.stream(jobs.run, run.theory, run.values, self.store, run.confirmed):
                if "asks" in news:
                    run.tell(state="asks", message=news["asks"], left=None)
                    return
                failed = news.pop("failed", 0)
                if failed:
                    news["message"] = f"{failed} trials failed: {news.pop('message', '')}"
                news.pop("stored", None)
                run.tell(**news)
            run.tell(state="done", left=None)
        except (JobFailed, WorkerDied) as error:
            run.tell(state="failed", message=str(error), left=None)

    async def watch(self, run: Run) -> AsyncIterator[Run]:
        """Yield the run whenever there is news, at most ten times a second, until it is over."""
        seen = -1
        while True:
            event = run.changed
            if run.version != seen:
                seen = run.version
                yield run
                if run.over:
                    return
                await asyncio.sleep(0.1)
            else:
                await event.wait()

    def close(self) -> None:
        """End all work at once."""
        self._loop.cancel()
        self._pool.close()
