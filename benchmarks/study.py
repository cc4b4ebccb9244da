"""Studies: the engine's overhead per record, two workers against one, and a hundred thousand records."""

import contextlib
import json
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import ClassVar

import numpy as np
import psutil
import xarray as xr

from benchmarks import best_of
from firstlight.maths.rng import generator
from firstlight.study.engines import Engine, Local, Serial
from firstlight.study.record import pack
from firstlight.study.registry import studies
from firstlight.study.run import advance, dataset
from firstlight.study.spec import Arm
from firstlight.study.store import Store
from firstlight.study.sweep import Study
from firstlight.study.trial import one_thread, perform, tasks

RECORDS = 100_000
CLI = "from firstlight.cli.study import app; app()"
TARGET_OVERHEAD, TARGET_SECONDS, TARGET_MEGABYTES = 5e-3, 10.0, 500.0


@dataclass(frozen=True)
class Work:
    """A trial that multiplies matrices for a while, with BLAS on one thread."""

    value: int
    size: int = 4
    repeats: int = 1

    theory: ClassVar[str] = "benchmark"
    version: ClassVar[int] = 1
    references: ClassVar[tuple[str, ...]] = ()

    def simulate(self, rng=None, **options):
        matrix = generator(rng).normal(size=(self.size, self.size)) / self.size
        product = matrix
        for _ in range(self.repeats):
            product = product @ matrix
        return xr.Dataset({"trace": np.trace(product)})

    predict = simulate

    def assumptions(self):
        return ()


def study(points: int, trials: int, **fixed: int) -> Study:
    arms = {"work": Arm("simulate")}
    return Study("benchmark/work", "work", Work, {"value": range(points)}, fixed, arms, trials)


def timed(chosen: Study, machine: Engine, path: Path) -> float:
    """Return the wall time of a run."""
    with Store(path, write=True) as store:
        return advance(chosen, store, machine).seconds


def warm(workers: int) -> Local:
    """Return an engine whose workers have started and imported what they need."""
    machine = Local(workers)
    warming = replace(study(1, 1), seed=1)
    for future in [machine.submit(time.sleep, 0.5) for _ in range(workers)]:
        future.result()
    for future in [
        machine.submit(perform, task) for task in list(tasks(warming, warming.points())) * 4 * workers
    ]:
        future.result()
    return machine


def bulk(path: str) -> None:
    """Write many small records and read them back as a Dataset; print seconds and the peak in megabytes."""
    chosen = study(RECORDS // 100, 100)
    layout, body = pack(xr.Dataset({"trace": 1.0, "error": 0.5}))
    start = time.perf_counter()
    with Store(path, write=True) as store:
        every = tasks(chosen, chosen.points())
        while batch := list(islice(every, 1000)):
            store.put(task.record(layout=layout, body=body, seconds=0.0) for task in batch)
        data = dataset(chosen, store)
    seconds = time.perf_counter() - start
    assert data["error"].shape == (1, RECORDS // 100, 100)
    assert (data["error"] == 0.5).all()
    print(seconds, peak_megabytes())


def peak_megabytes() -> float:
    """Peak memory of this process; getrusage would count that of the process that started it, too."""
    status = Path("/proc/self/status")
    if status.exists():
        return int(re.search(r"VmHWM:\s+(\d+)", status.read_text())[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def run() -> list[tuple[str, float, float, float, str]]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rows = [overhead("this process", Serial, folder), overhead("one worker", lambda: warm(1), folder)]
        rows += two_against_one(folder)
        code = "import sys; from benchmarks.study import bulk; bulk(sys.argv[1])"
        tries = []
        for turn in range(2):
            line = [sys.executable, "-c", code, str(folder / f"bulk{turn}.sqlite")]
            said = subprocess.run(line, capture_output=True, text=True, check=True).stdout
            tries.append(tuple(map(float, said.split())))
    seconds, peak = min(tries)
    label = f"{RECORDS} records written and read as a Dataset"
    rows.append((f"{label}, s over the limit", seconds, TARGET_SECONDS, seconds / TARGET_SECONDS, "<= 1"))
    rows.append((f"{label}, MB over the limit", peak, TARGET_MEGABYTES, peak / TARGET_MEGABYTES, "<= 1"))
    first = {
        name.split("/")[0]: name for name in reversed(studies())
    }  # one of each theory; `python -m benchmarks.study` does all
    return rows + [row for name in first.values() for row in dry_run(name)]


def dry_run(name: str, scale: str = "quick") -> list[tuple[str, float, float, float, str]]:
    """Compare what a dry run says of a study with what the run then takes, in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        line = [sys.executable, "-c", CLI, "run", name, "--scale", scale, "--json"]
        line += ["--store", f"{folder}/s.sqlite"]
        dry = subprocess.run([*line, "--dry-run"], capture_output=True, text=True, check=True)
        said = json.loads(dry.stdout)
        process = psutil.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        peak = 0
        while process.poll() is None:
            peak = max(peak, resident(process))
            time.sleep(0.05)
        wall = json.loads(process.stdout.read())["seconds"]
    rows = []
    for what, measured, predicted in (("seconds", wall, said["seconds"]), ("bytes", peak, said["memory"])):
        off = max(measured / predicted, predicted / measured)
        rows.append((f"dry run of {name}, {what}: factor off", measured, predicted, off, "<= 2"))
    return rows


def resident(process: psutil.Popen) -> int:
    """Add up the memory of a process and its workers."""
    total = 0
    for each in (process, *process.children(recursive=True)):
        with contextlib.suppress(psutil.Error):
            total += each.memory_info().rss
    return total


def overhead(name: str, start: Callable[[], Engine], folder: Path) -> tuple[str, float, float, float, str]:
    """Subtract the bare trial from the time per record of a run of many small ones."""
    small = study(100, 5)
    bare = best_of(lambda: Work(0).simulate(0))
    walls = [timed(small, start(), folder / f"{name}{turn}.sqlite") for turn in range(3)]
    each = min(walls) / small.records - bare
    label = f"overhead per record, {name}, s over the limit"
    return (label, each, TARGET_OVERHEAD, each / TARGET_OVERHEAD, "<= 1")


def two_against_one(folder: Path) -> list[tuple[str, float, float, float, str]]:
    """Take turns between one worker and two, and keep the best of each: other work on the machine passes.

    The second row holds the engine against two bare processes, which is what the machine has to give.
    """
    repeats = repeats_for(0.3)
    large = study(6, 4, size=700, repeats=repeats)
    best = dict.fromkeys(((kind, count) for kind in ("engine", "bare") for count in (1, 2)), float("inf"))
    for turn in range(2):
        for kind, count in best:
            if kind == "engine":
                wall = timed(large, warm(count), folder / f"{count}-{turn}.sqlite")
            else:
                wall = bare(count, large.records // count, repeats)
            best[kind, count] = min(best[kind, count], wall)
    gain, given = (best[kind, 1] / best[kind, 2] for kind in ("engine", "bare"))
    label = "two workers against one, trials of 0.3 s"
    return [
        (label, best["engine", 1], best["engine", 2], gain, ">= 1.8"),
        (f"{label}: that gain over the gain of two bare processes", gain, given, gain / given, ">= 0.9"),
    ]


def bare(count: int, trials: int, repeats: int) -> float:
    """Return the time of the slowest of some processes that do their trials with nothing around them."""
    code = f"from benchmarks.study import burn; burn({trials}, {repeats})"
    started = [
        subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
        for _ in range(count)
    ]
    return max(float(process.communicate()[0]) for process in started)


def burn(trials: int, repeats: int) -> None:
    """Do trials one after the other and print the seconds."""
    with one_thread():
        Work(0, 700, 1).simulate(0)
        start = time.perf_counter()
        for trial in range(trials):
            Work(0, 700, repeats).simulate(trial)
    print(time.perf_counter() - start)


def repeats_for(seconds: float) -> int:
    """Return how many products make a trial of that length on this machine."""
    problem = Work(0, size=700, repeats=3)
    with one_thread():
        problem.simulate(0)
        start = time.perf_counter()
        problem.simulate(0)
    return max(1, round(3 * seconds / (time.perf_counter() - start)))


if (
    __name__ == "__main__"
):  # python -m benchmarks.study [NAME ...]: the dry run of each study, or of those named
    for study_name in sys.argv[1:] or studies():
        for label, measured, predicted, off, _ in dry_run(study_name):
            print(
                f"{label}: measured {measured:.3g}, predicted {predicted:.3g}, off by {off:.2f}", flush=True
            )
