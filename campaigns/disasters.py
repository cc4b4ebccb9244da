"""Disasters: kills, full disks, other drivers, clocks that jump, dying clusters, broken fetches.

    python campaigns/disasters.py [--count 1000] [--only kills] [--log out/disasters.jsonl]

kills: a study whose driver is killed, alone or after workers, resumes to the bits of an undisturbed one; one
  whose workers alone are killed ends by itself. A try counts if the store's books say: amid its run.
phases: a study whose driver is killed at any statement of its store, from the first table on, does so too.
disk: a study whose disk is full at some write stops with a StoreError and resumes to the same bits.
writes: of any other file whose disk is full that is told by name; what was there stays, and no part is left.
drivers: of drivers on one store one writes, the others are refused or go on from what it left; none begins
  while another one that has not ended its run lives.
clocks: a study whose clock jumps by days, back and forth, has the same bits.
clusters: a study whose Dask workers or scheduler are killed goes on, or says so and resumes to the same bits.
fetches: of fetches at once, cut off, corrupted or killed, none leaves a set that is not whole and right.
Exit code 1 if there is any failure.
"""

import asyncio
import dataclasses
import functools
import hashlib
import itertools
import multiprocessing
import os
import resource
import signal
import sqlite3
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import psutil
from endurance import PATIENCE, campaign_by_kind
from kills import LONG, SHORT, child, kills, quiet, resumed
from writes import WRITERS, writes

from firstlight.data import ImagesNotFetched, cache, fetch
from firstlight.data.cache import FetchFailed
from firstlight.study import database
from firstlight.study.run import run
from firstlight.study.store import Store, StoreError

sys.path += [str(Path(__file__).parents[1] / "tests" / part) for part in ("study", "data")]
import test_images as images

Rng = np.random.Generator


def _until(path: Path, last: int, delay: float) -> None:
    """Run until the store begins its statement `last`, and die there: at once, or a moment later."""
    connect, begun = database.connect, itertools.count(1)

    def die() -> None:
        time.sleep(delay)
        os.kill(os.getpid(), signal.SIGKILL)

    def watch(_: str) -> None:
        if next(begun) == last:
            threading.Thread(target=die).start() if delay else die()

    def watched(name: str, **options: Any) -> sqlite3.Connection:
        connection = connect(name, **options)
        connection.set_trace_callback(watch)
        return connection

    database.connect = watched
    run(SHORT, path, workers=0)
    if not last:
        path.with_suffix(".count").write_text(str(next(begun) - 1))


@functools.cache
def _statements() -> int:
    """Count what the store of an undisturbed study is told, from opening to closing."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "s.sqlite"
        process = child(_until, path, 0, 0.0)
        process.start()
        process.join()
        return int(path.with_suffix(".count").read_text())


def phases(rng: Rng, folder: Path) -> str:
    """Kill ten new runs, each at a statement of its store or within 2 ms of it; finish each."""
    for i in range(10):
        path, last = folder / f"{i}.sqlite", int(rng.integers(1, _statements() + 1))
        process = child(_until, path, last, float(rng.choice([0.0, rng.uniform(0, 2e-3)])))
        process.start()
        process.join()
        if process.exitcode != -signal.SIGKILL:
            return f"statement {last}: exit code {process.exitcode}"
        if wrong := resumed(path, SHORT):
            return f"statement {last}: {wrong}"
    return ""


def _run_on_full_disk(path: Path, record: int, spare: int) -> None:
    """Run until some record is written and the journal has so many bytes left; 3 if the store said so."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    journal, put, count = path.with_name(path.name + "-wal"), Store.put, itertools.count()

    def full(store: Store, records: Any) -> None:
        if next(count) == record:
            size = journal.stat().st_size + spare
            resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
        put(store, records)

    Store.put = full  # type: ignore[method-assign]
    if record < 0:  # from the beginning
        resource.setrlimit(resource.RLIMIT_FSIZE, (spare, spare))
    try:
        run(SHORT, path, workers=0)
    except StoreError:
        sys.exit(3)


def disk(rng: Rng, folder: Path) -> str:
    """Fill the disk five times: when the store is opened, before, within and after the write of a record."""
    record = int(rng.integers(SHORT.records))
    for i, spare in enumerate((0, 24, int(rng.integers(1, 4096)), 4120, None)):
        path = folder / f"{i}.sqlite"
        at = (record, spare) if spare is not None else (-1, int(10 ** rng.uniform(0, 5)))
        process = child(_run_on_full_disk, path, *at)
        process.start()
        process.join()
        if process.exitcode not in (0, 3):
            return f"{at}: exit code {process.exitcode}"
        if wrong := resumed(path, SHORT):
            return f"{at}: {wrong}"
    return ""


def _lives(number: int) -> bool:
    """Say whether a process does not end; one that was killed just now has some time to do so."""
    for _ in range(100):
        try:
            if psutil.Process(number).status() == psutil.STATUS_ZOMBIE:
                return False
        except psutil.NoSuchProcess:
            return False
        time.sleep(0.01)
    return True


def _second_run(path: Path) -> None:
    """Run beside others; exit code 3 says that the store is theirs, and 5 that two hold it."""
    begin = Store.begin_run

    def alone(store: Store, *given: Any) -> int:
        number = begin(store, *given)
        others = [one["process"] for one in store.runs() if one["ended"] is None and one["id"] != number]
        if any(_lives(other) for other in others):
            os._exit(5)
        return number

    Store.begin_run = alone  # type: ignore[method-assign]
    try:
        run(LONG, path, workers=0)
    except StoreError:
        sys.exit(3)


def drivers(rng: Rng, folder: Path) -> str:
    """Start ten drivers on one store, one shortly after the other, and kill some; then finish."""
    path, started = folder / "drivers.sqlite", []
    for _ in range(10):
        started.append(child(_second_run, path))
        started[-1].start()
        time.sleep(float(rng.exponential(0.2)))
        if rng.random() < 0.3:
            started[int(rng.integers(len(started)))].kill()
    for process in started:
        process.join()
        if process.exitcode not in (0, 3, -signal.SIGKILL):
            return f"exit code {process.exitcode}"
    return resumed(path)


def _run_in_jumping_time(path: Path, seed: int) -> None:
    rng, now = np.random.default_rng(seed), time.time
    time.time = lambda: now() + 86400 * float(rng.normal(0, 10))
    run(LONG, path, workers=0)


def clocks(rng: Rng, folder: Path) -> str:
    """Run while the clock jumps, kill it in between, and finish with the clock set back."""
    path = folder / "clocks.sqlite"
    for seed in rng.integers(1 << 31, size=3):
        process = child(_run_in_jumping_time, path, int(seed))
        process.start()
        process.join(float(rng.exponential(0.5)))
        process.kill()
        process.join()
        if path.exists():
            os.utime(path, (float(rng.uniform(0, 4e9)),) * 2)
    return resumed(path)


def _scheduler(line: Any) -> None:
    from distributed import Scheduler

    async def serve() -> None:
        async with Scheduler(host="127.0.0.1", port=0, dashboard=False) as scheduler:
            line.send(scheduler.address)
            await scheduler.finished()

    quiet()
    asyncio.run(serve())


def _worker(address: str) -> None:
    from distributed import Worker

    async def serve() -> None:
        async with Worker(address, nthreads=1, host="127.0.0.1", dashboard=False) as worker:
            await worker.finished()

    quiet()
    asyncio.run(serve())


def _drive(path: Path, address: str) -> None:
    """Run on a cluster; 3 if it was said to be gone, or not to be there."""
    quiet()
    try:
        run(SHORT, path, cluster=address)
    except (RuntimeError, ValueError) as error:
        sys.exit(3 if "cluster" in str(error) else 4)


def clusters(rng: Rng, folder: Path) -> str:
    """Kill a scheduler, one of two workers, both, or a driver, five times on one store; then finish."""
    path, codes = folder / "clusters.sqlite", []
    for _ in range(5):
        line, other = multiprocessing.Pipe()
        scheduler = child(_scheduler, other)
        scheduler.start()
        address = line.recv()
        parts = [child(_worker, address), child(_worker, address), child(_drive, path, address)]
        for process in parts:
            process.start()
        time.sleep(float(rng.exponential(2.0)))
        victims = [[scheduler], parts[:1], parts[:2], parts[2:], [scheduler, parts[0]]][int(rng.integers(5))]
        for process in victims:
            process.kill()
        if victims == parts[:2]:
            parts.append(child(_worker, address))
            parts[-1].start()
        parts[2].join(PATIENCE)
        codes.append(parts[2].exitcode)
        for process in (scheduler, *parts):
            process.kill()
            process.join()
        if codes[-1] not in (0, 3, -signal.SIGKILL):
            return f"the driver ends so: {codes}"
    return resumed(path, SHORT)


def known(seed: int, slow: float) -> None:
    """Let the set of the tests come slowly: right, another one, cut off, or not at all."""
    rng = np.random.default_rng(seed)

    def source(scratch: Path) -> Any:
        time.sleep(slow * float(rng.exponential()))
        kinds = [images.good, images.good, images.wrong, images.partial, images.absent]
        return kinds[int(rng.integers(5)) if slow else 0](scratch)

    sums = tuple(hashlib.sha256(array.tobytes()).hexdigest() for array in images.tiny())
    cache.KNOWN["mnist"] = dataclasses.replace(
        cache.KNOWN["mnist"], sources=(("source", source),), checksums=sums
    )


def _fetch(folder: Path, seed: int, slow: float = 0.1) -> None:
    os.environ["FIRSTLIGHT_CACHE"] = str(folder)
    known(seed, slow)
    try:
        fetch("mnist", force=bool(seed % 2), say=lambda _: None)
        for mine, read in zip(images.tiny(), cache.read_cached("mnist"), strict=True):
            np.testing.assert_array_equal(read, mine)
    except (FetchFailed, ImagesNotFetched):
        sys.exit(3)


def fetches(rng: Rng, folder: Path) -> str:
    """Fetch a set ten times at once, kill some, and read it after each; then once more undisturbed."""
    started = []
    for seed in [*rng.integers(1 << 31, size=10).tolist(), 0]:
        started.append(child(_fetch, folder, seed, 0.1 if seed else 0.0))
        if not seed:
            for process in started[:-1]:
                process.join()
        started[-1].start()
        time.sleep(float(rng.exponential(0.05)))
        if seed and rng.random() < 0.3:
            started[-1].kill()
    started[-1].join()
    codes = [process.exitcode for process in started]
    left = sorted(file.name for file in folder.rglob("*") if file.is_file() and file.parent.name == "mnist")
    whole = codes[-1] == 0 and left == sorted(images.FILES)
    return "" if whole and set(codes) <= {0, 3, -signal.SIGKILL} else f"exit codes {codes}, files {left}"


# what is tried, and how often in one case
KINDS = {
    "kills": (kills, 10), "phases": (phases, 10), "disk": (disk, 5), "writes": (writes, len(WRITERS)),
    "drivers": (drivers, 10), "clocks": (clocks, 3), "clusters": (clusters, 5), "fetches": (fetches, 10),
}  # fmt: skip

if __name__ == "__main__":
    sys.exit(campaign_by_kind(__doc__, KINDS))
