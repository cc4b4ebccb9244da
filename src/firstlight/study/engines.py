"""Where trials run: in this process, in worker processes, on a Dask cluster, or on any executor."""

import contextlib
import os
import signal
import threading
import time
from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import Any

from firstlight.maths.checks import check_count

_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS")
# Trials differ in size: loky would take a large one after a small one for a leak, warn, and start afresh.
_WORKER = dict.fromkeys(_THREADS, "1") | {"LOKY_MAX_MEMORY_LEAK_SIZE": "1e15"}
_PATIENCE = 5.0  # seconds in which a scheduler must answer


class Engine:
    """Any `concurrent.futures.Executor`, with what a study asks beyond it.

    Parameters
    ----------
    executor : Executor
        The user's own; it is not shut down.
    slots : int, default 2
        How many trials it can do at once, as far as is known.

    Examples
    --------
    >>> from concurrent.futures import ThreadPoolExecutor
    >>> with ThreadPoolExecutor(1) as pool:
    ...     Engine(pool).submit(pow, 2, 3).result()
    8
    """

    def __init__(self, executor: Executor, slots: int | None = None) -> None:
        self.executor = executor
        self.slots = slots or getattr(executor, "_max_workers", None) or 2

    def submit(self, function: Callable[..., Any], *arguments: Any) -> "Future[Any]":
        """Start one call."""
        return self.executor.submit(function, *arguments)

    def renew(self) -> bool:
        """Replace a broken executor; False if that is not ours to do."""
        return False

    def lost(self) -> int:
        """Return how many workers have vanished so far without breaking the executor."""
        return 0

    def close(self, *, kill: bool = False) -> None:
        """Let the workers go; with `kill`, at once."""


class Serial(Engine):
    """The driving process itself: one trial at a time, no workers to start."""

    def __init__(self) -> None:
        self.slots = 1

    def submit(self, function: Callable[..., Any], *arguments: Any) -> "Future[Any]":
        """Do the call before returning."""
        future: Future[Any] = Future()
        future.set_result(function(*arguments))
        return future


class Local(Engine):
    """Worker processes on this machine (loky), each with one BLAS thread."""

    def __init__(self, workers: int) -> None:
        self.slots = workers
        self.renew()

    def renew(self) -> bool:
        """Start fresh workers; loky gives up a whole pool when one of its processes dies."""
        from loky import ProcessPoolExecutor

        self.executor = ProcessPoolExecutor(
            self.slots, initializer=_settle, initargs=(os.getpid(),), env=_WORKER
        )
        return True

    def close(self, *, kill: bool = False) -> None:
        """Let the workers go; with `kill`, at once."""
        self.executor.shutdown(wait=True, kill_workers=kill)  # type: ignore[call-arg]


def _settle(driver: int) -> None:
    """Prepare a worker: Ctrl-C is the driver's business, and a worker must not outlive a killed driver."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def watch() -> None:
        while os.getppid() == driver:
            time.sleep(0.5)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


class Cluster(Engine):
    """An existing Dask scheduler.

    Parameters
    ----------
    address : str
        Such as ``"tcp://10.0.0.5:8786"``.
    """

    def __init__(self, address: str) -> None:
        try:
            from distributed import Client
        except ImportError as error:
            raise ValueError(
                f"cluster = {address!r}: needs dask.distributed; pip install 'firstlight[cluster]'"
            ) from error
        try:
            self.client = Client(address, timeout=_PATIENCE, set_as_default=False)
        except (OSError, ValueError) as error:
            raise ValueError(f"cluster = {address!r}: no scheduler answers there ({error})") from error
        self.executor = self.client.get_executor(pure=False)
        self._workers: set[str] = set()
        self._asked = 0.0
        self.lost()
        if not self._workers:
            raise ValueError(f"cluster = {address!r}: the scheduler has no workers")

    def lost(self) -> int:
        """Count the workers that were seen and are gone; the scheduler has moved their trials already."""
        if time.monotonic() - self._asked > 0.5:
            try:
                self._present = self.client.nthreads()
            except Exception as error:  # whatever the connection raises, it means the same to us
                raise RuntimeError("the cluster is gone; run again to resume") from error
            self._workers |= set(self._present)
            self.slots = max(1, sum(self._present.values()))
            self._asked = time.monotonic()
        return len(self._workers - set(self._present))

    def close(self, *, kill: bool = False) -> None:
        """Cancel what is left and disconnect; the cluster itself stays."""
        with contextlib.suppress(Exception):  # a scheduler that is gone must not hide why
            self.executor.shutdown(wait=not kill)
        with contextlib.suppress(Exception):
            self.client.close(timeout=1)


def engine(
    workers: int | None = None, cluster: str | None = None, executor: Executor | None = None
) -> Engine:
    """Choose where trials run.

    Parameters
    ----------
    workers : int, optional
        Local processes; 0 means this process itself; default: one per core.
    cluster : str, optional
        The address of a Dask scheduler.
    executor : Executor, optional
        Any other.

    Examples
    --------
    >>> engine(workers=0).slots
    1
    """
    if executor is not None:
        return Engine(executor)
    if cluster is not None:
        return Cluster(cluster)
    if workers is not None:
        check_count("workers", workers, 0)
    return Serial() if workers == 0 else Local(workers or cores())


def cores() -> int:
    """Return how many cores this process may use."""
    from loky import cpu_count

    return int(cpu_count())
