"""How cost grows with size, measured and fitted: `python -m benchmarks.scale [NAME ...] [--save FILE]`.

Every size runs in a process of its own, on one thread: CPU seconds, and the most memory it ever held. The
exponent is the slope of log cost against log size over the three largest sizes.
"""

import argparse
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from benchmarks._cluster import Slow
from benchmarks._cluster import study as naps
from benchmarks._table import rounded, write
from benchmarks.study import peak_megabytes
from firstlight import phase_transition
from firstlight.measure.retrieval import recall_at_k
from firstlight.one_step import Problem
from firstlight.study.engines import Serial
from firstlight.study.run import advance
from firstlight.study.store import Store


def one_step_trial(n: int) -> Callable[[], object]:
    problem = Problem.scaled(dimension=n, width=n, samples=n, alpha=0.5, beta=0.74)
    return lambda: problem.simulate(0)


def one_step_prediction(n: int) -> Callable[[], object]:
    problem = Problem.scaled(dimension=n, width=n, samples=n, alpha=0.5, beta=0.74)
    return lambda: problem.predict(0)


def network_free(n: int) -> Callable[[], object]:
    problem = Problem.scaled(dimension=n, width=n, samples=n, alpha=0.5, beta=0.74)
    return lambda: problem.predict(0, method="asymptotic")


def descent(d: int) -> Callable[[], object]:
    problem = phase_transition.Problem(dimension=d, samples_per_dimension=2.0, steps=20, spectrum=False)
    return lambda: problem.simulate(0)


def long_descent(d: int) -> Callable[[], object]:
    problem = phase_transition.Problem(dimension=d, samples_per_dimension=1000 / d, steps=20, spectrum=False)
    return lambda: problem.simulate(0)


def dmft(steps: int) -> Callable[[], object]:
    target = "sign(abs(z1) - 1.4820733)"
    student = phase_transition.Student("tanh_squared", 1.0, 0.8)
    phase_transition.dmft(target, student, 3.0, 0.25, 2, 1 << 10)
    return lambda: phase_transition.dmft(target, student, 3.0, 0.25, steps, 1 << 13, times=(steps,))


def recall(rows: int) -> Callable[[], object]:
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(rows, 100)), rng.integers(10, size=rows)
    return lambda: recall_at_k(x, y, metric="euclidean")


def store(records: int) -> Callable[[], object]:
    import benchmarks.study

    benchmarks.study.RECORDS = records

    def job() -> None:
        with tempfile.TemporaryDirectory() as folder:
            benchmarks.study.bulk(f"{folder}/store.sqlite")

    return job


def sweep(points: int) -> Callable[[], object]:
    """Compute tiny trials in this process; nothing is read back."""

    def job() -> None:
        with tempfile.TemporaryDirectory() as folder, Store(f"{folder}/s.sqlite", write=True) as opened:
            advance(naps(points), opened, Serial())

    return job


def cluster_sweep(points: int) -> Callable[[], object]:
    """Send tiny trials to two workers; time and memory are the driver's."""
    folder = tempfile.mkdtemp()
    slow = Slow(2, 0.0, folder)
    machine = slow.engine()

    def job() -> None:
        with slow, Store(f"{folder}/s.sqlite", write=True) as opened:
            advance(naps(points), opened, machine)
            for part in ("scheduler", "worker"):
                print(f"{part}: {1e3 * slow.seconds(part) / points:.3g} ms of CPU a record", file=sys.stderr)
            print(f"{slow.moved() / points / 1e3:.3g} kB a record", file=sys.stderr)
        shutil.rmtree(folder)

    return job


JOBS: dict[str, tuple[Callable[[int], Callable[[], object]], str, list[int]]] = {
    "one_step trial": (one_step_trial, "n = k = m", [250, 500, 1000, 2000, 4000, 8000]),
    "one_step deterministic": (one_step_prediction, "n = k = m", [250, 500, 1000, 2000, 4000, 8000]),
    "one_step network-free": (network_free, "n = k = m", [1000, 10_000, 100_000]),
    "descent, 20 steps": (descent, "dimension", [500, 1000, 2000, 4000, 8000]),
    "descent, 20 steps, 1000 samples": (long_descent, "dimension", [12_500, 25_000, 50_000, 100_000]),
    "DMFT, 8192 samples": (dmft, "steps", [32, 64, 128, 256, 512]),
    "Recall@1, 100 columns": (recall, "rows", [2000, 4000, 8000, 16_000, 32_000]),
    "store: write and read": (store, "records", [10_000, 100_000, 1_000_000]),
    "sweep of tiny trials": (sweep, "points", [1000, 10_000, 100_000]),
    "sweep of tiny trials, Dask": (cluster_sweep, "points", [1000, 10_000, 100_000]),
}


def measure(name: str, size: int) -> None:
    """Do one job at one size; print CPU seconds and the peak of this process in megabytes."""
    job = JOBS[name][0](size)
    start = time.process_time()
    job()
    print(f"\n{time.process_time() - start} {peak_megabytes()}")


def slope(sizes: list[int], values: list[float]) -> float:
    """Exponent of a power law through the last three points."""
    return float(np.polyfit(np.log(sizes[-3:]), np.log(values[-3:]), 1)[0])


def grow(name: str) -> dict[str, object]:
    """Measure a job at every size."""
    _, unit, sizes = JOBS[name]
    seconds, memory = [], []
    for size in sizes:
        line = [sys.executable, "-m", "benchmarks.scale", "--measure", name, str(size)]
        said = subprocess.run(line, stdout=subprocess.PIPE, text=True, check=True).stdout
        spent, peak = map(float, said.split("\n")[-2].split())
        print(f"{name}, {unit} = {size}: {spent:.3g} s, {peak:.0f} MB", flush=True)
        seconds.append(spent)
        memory.append(peak)
    exponents = rounded({"time exponent": slope(sizes, seconds), "memory exponent": slope(sizes, memory)})
    return {
        "part": name, "unit": unit, "sizes": sizes, "seconds": [float(f"{s:.3g}") for s in seconds],
        "megabytes": [round(peak) for peak in memory], **exponents,
    }  # fmt: skip


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scale", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(JOBS))
    parser.add_argument("--save", metavar="FILE", type=Path)
    parser.add_argument("--measure", nargs=2, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.measure:
        measure(given.measure[0], int(given.measure[1]))
    else:
        for chosen in given.names or JOBS:
            row = grow(chosen)
            if given.save:
                write(given.save, [row])
