"""Child processes that compute: one job at a time each, answers as they come, stopped or killed at will.

A job is a function ``job(emit, *arguments)``; what it emits travels to the server as it is. When nobody wants
the answer any more, a signal raises `Stopped` within it, wherever it is: the child keeps what it has loaded.
A job that does not notice is killed after a while, with every process that it started, and a new child takes
its place.
"""

import asyncio
import contextlib
import multiprocessing
import os
import signal
import threading
import time
from collections.abc import AsyncIterator, Callable
from multiprocessing.connection import Connection
from types import FrameType
from typing import Any

Job = Callable[..., None]
PATIENCE = 1.0  # seconds between asking a job to stop and killing it


class Stopped(BaseException):
    """Raised within a job that is no longer wanted; no `except Exception` holds it up."""


class WorkerDied(RuntimeError):
    """The child is gone: killed, or out of memory."""


class JobFailed(ValueError):
    """The job raised an error; its text is meant for the reader."""


def _child(connection: Connection, parent: int) -> None:
    """Do jobs until the server closes the pipe, or is no more."""
    if hasattr(os, "setsid"):
        os.setsid()  # Ctrl-C is the server's business, and a kill takes our own children along
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if hasattr(signal, "SIGUSR1"):
        signal.signal(signal.SIGUSR1, _JOB.stop)
    threading.Thread(target=_leave_with, args=(parent,), daemon=True).start()
    with contextlib.suppress(EOFError, OSError):
        connection.send(("ready", None))
        while True:
            received = connection.recv()
            if received != "stop":  # a stop that came too late
                _perform(connection, *received)


def _leave_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(0.5)
    _kill_group(os.getpid())


class _Job:
    """Whether the job of this child may be interrupted, and whether it was asked to stop."""

    def __init__(self) -> None:
        self.interruptible = self.unwanted = False

    def stop(self, _: int, frame: FrameType | None) -> None:
        """Raise `Stopped` here and now; but at the next word if one is being said, or something is loaded."""
        self.unwanted = True
        if self.interruptible and not _loading(frame):
            self.interruptible = False
            raise Stopped


def _loading(frame: FrameType | None) -> bool:
    """Whether a module is being imported, or a function compiled: half of either would be of no use."""
    while frame is not None:
        if "importlib" in frame.f_code.co_filename or "numba" in frame.f_code.co_filename:
            return True
        frame = frame.f_back
    return False


_JOB = _Job()


def _perform(connection: Connection, job: Job, arguments: tuple[Any, ...]) -> None:
    def emit(message: Any) -> None:
        _JOB.interruptible = False  # a message is sent as a whole
        if _JOB.unwanted or (connection.poll() and connection.recv() == "stop"):
            raise Stopped
        connection.send(("item", message))
        _JOB.interruptible = True

    said: tuple[str, Any] = ("done", None)
    try:
        _JOB.unwanted, _JOB.interruptible = False, True
        try:
            job(emit, *arguments)
        finally:
            _JOB.interruptible = False
    except Stopped:
        pass
    except Exception as error:  # whatever a theory does must reach the reader, and not end the child
        text = str(error) if isinstance(error, (ValueError, OSError)) else f"{type(error).__name__}: {error}"
        said = ("error", " ".join(text.split()) or type(error).__name__)
    connection.send(said)


def _kill_group(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if hasattr(os, "killpg"):
            os.killpg(pid, signal.SIGKILL)
        else:
            os.kill(pid, signal.SIGTERM)


_ALIVE: "set[Worker]" = set()


def kill_all() -> None:
    """End every child of this process; for an end that came before anybody could tidy up."""
    for worker in list(_ALIVE):
        worker.kill()


class Worker:
    """One child process; to be made while an event loop runs."""

    def __init__(self) -> None:
        context = multiprocessing.get_context("spawn")
        self._pipe, far = context.Pipe()
        self.process = context.Process(target=_child, args=(far, os.getpid()))
        self.process.start()
        far.close()
        _ALIVE.add(self)
        self._ready = False
        self.topics: set[str] = set()  # first arguments of its jobs: what it has loaded
        self._messages: asyncio.Queue[tuple[str, Any]] = asyncio.Queue()
        loop = asyncio.get_running_loop()
        # A thread of its own listens: a read that is cancelled half-way would swallow an answer.
        threading.Thread(target=self._listen, args=(loop,), daemon=True).start()

    def _listen(self, loop: asyncio.AbstractEventLoop) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed
            try:
                while True:
                    message = self._pipe.recv()
                    if message[0] == "ready":  # from now on a signal is understood
                        self._ready = True
                    else:
                        loop.call_soon_threadsafe(self._messages.put_nowait, message)
            except (EOFError, OSError, TypeError):  # TypeError: closed while it was read
                loop.call_soon_threadsafe(self._messages.put_nowait, ("gone", None))

    async def run(self, job: Job, arguments: tuple[Any, ...]) -> AsyncIterator[Any]:
        """Yield what a job emits."""
        try:
            self._pipe.send((job, arguments))
        except OSError as error:
            raise WorkerDied("the process that computes is gone") from error
        while True:
            kind, value = await self._messages.get()
            if kind == "item":
                yield value
            elif kind == "error":
                raise JobFailed(value)
            elif kind == "gone":
                raise WorkerDied("the process that computed this is gone")
            else:
                return

    async def settled(self) -> bool:
        """Ask the job to stop at its next message; False if it takes too long, or the child is gone."""
        try:
            self._pipe.send("stop")
            if self._ready and hasattr(signal, "SIGUSR1") and self.process.pid is not None:
                os.kill(self.process.pid, signal.SIGUSR1)
            async with asyncio.timeout(PATIENCE):
                while (kind := (await self._messages.get())[0]) == "item":
                    pass
        except (OSError, TimeoutError):
            return False
        return kind != "gone"

    def kill(self) -> None:
        """End the child and all that it started, at once."""
        if self.process.pid is not None:
            _kill_group(self.process.pid)
            self.process.kill()  # if it was not yet the leader of its group
        self.process.join(2)
        self._pipe.close()
        _ALIVE.discard(self)


class Pool:
    """Some children; jobs wait for a free one, and get one that has loaded what they need, if there is."""

    def __init__(self, size: int) -> None:
        self._free: list[Worker] = []
        self._places = asyncio.Semaphore(0)
        self._all: set[Worker] = set()
        self._mending: set[asyncio.Task[None]] = set()
        self._closed = False
        for _ in range(size):
            self._give(self._new())

    def _new(self) -> Worker:
        worker = Worker()
        self._all.add(worker)
        return worker

    async def stream(self, job: Job, *arguments: Any) -> AsyncIterator[Any]:
        """Yield what a job emits; if its child dies before the first word, another tries once more."""
        for last in (False, True):
            if self._closed:
                raise WorkerDied("the laboratory is closing")
            worker, finished, said = await self._take(str(arguments[:1])), False, False
            try:
                async for item in worker.run(job, arguments):
                    said = True
                    yield item
                finished = True
                return
            except JobFailed:
                finished = True
                raise
            except WorkerDied:
                if said or last:
                    raise
            finally:
                if finished:
                    self._give(worker)
                elif not self._closed:  # nobody may wait for it here: the reader is gone
                    task = asyncio.get_running_loop().create_task(self._mend(worker))
                    self._mending.add(task)
                    task.add_done_callback(self._mending.discard)

    def _give(self, worker: Worker) -> None:
        self._free.append(worker)
        self._places.release()

    async def _take(self, topic: str) -> Worker:
        """Wait for a free child, at best one that knows the topic; one that died when idle is replaced."""
        await self._places.acquire()
        if self._closed or not self._free:
            self._places.release()  # whoever waits behind is told too
            raise WorkerDied("the laboratory is closing")
        worker = max(self._free, key=lambda one: (topic in one.topics, len(one.topics)))
        self._free.remove(worker)
        if not worker.process.is_alive():
            self._all.discard(worker)
            worker.kill()
            worker = self._new()
        worker.topics.add(topic)
        return worker

    async def one(self, job: Job, *arguments: Any) -> Any:
        """Return the first message of a job."""
        first = None
        async for item in self.stream(job, *arguments):
            first = item if first is None else first
        return first

    async def _mend(self, worker: Worker) -> None:
        """Bring a worker back whose job was dropped, or put a new one in its place."""
        if not await worker.settled():
            self._all.discard(worker)
            worker.kill()
            worker = self._new()
        self._give(worker)

    def processes(self) -> list[int]:
        """Return the ids of the children."""
        return [worker.process.pid for worker in self._all if worker.process.pid is not None]

    def close(self) -> None:
        """End all children at once; none is put in their place."""
        self._closed = True
        for task in self._mending:
            task.cancel()
        for worker in self._all:
            worker.kill()
        self._all.clear()
        self._free.clear()
        self._places.release()
