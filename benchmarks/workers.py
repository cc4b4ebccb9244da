"""Studies on a Dask cluster over a slow network: `python -m benchmarks.workers [--save FILE]`.

Scheduler, workers and driver are processes of this machine. All that they say to one another passes a relay
that holds every byte back for a while, and counts it. The trials sleep: with more workers than cores,
efficiency then means what scheduling costs, not how the cores are shared. It is the time that the trials
need, over the time that all workers had; CPU seconds are per record, of the process that is named. Trials
that take no time show what a record costs at least.
"""

import argparse
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks._cluster import Slow, study
from benchmarks._table import rounded, write
from firstlight.study.engines import Engine
from firstlight.study.run import advance
from firstlight.study.store import Store


def measure(workers: int, delay: float, trial: float, each: int) -> dict[str, Any]:
    """Run a study of naps of so many seconds, so many for each worker; return what it took."""
    with tempfile.TemporaryDirectory() as folder, Slow(workers, delay, folder) as slow:
        machine = slow.engine()
        chosen = study(each * workers, trial)
        with Store(f"{folder}/s.sqlite", write=True) as store:
            advance(study(2 * workers, 0.01), store, Engine(machine.executor, workers))  # which stays open
            before = slow.moved(), slow.seconds("scheduler"), slow.seconds("worker"), time.process_time()
            outcome = advance(chosen, store, machine)
            after = slow.moved(), slow.seconds("scheduler"), slow.seconds("worker"), time.process_time()
    assert outcome.computed == chosen.records, outcome
    spent = [(b - a) / chosen.records for a, b in zip(before, after, strict=True)]
    values = {
        "efficiency": each * trial / outcome.seconds, "kB": spent[0] / 1e3, "scheduler ms": 1e3 * spent[1],
        "worker ms": 1e3 * spent[2], "driver ms": 1e3 * spent[3],
    }  # fmt: skip
    part = f"{workers} workers, {1e3 * delay:g} ms each way, trials of {trial:g} s"
    return {"part": part, "workers": workers, "delay": delay, "trial": trial, **rounded(values)}


def main() -> None:
    """Measure with more and more workers, on a fast and on a slow network; and what a record costs alone."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.workers", description=__doc__)
    parser.add_argument("counts", nargs="*", metavar="WORKERS", type=int, default=[2, 4, 8])
    parser.add_argument("--save", metavar="FILE", type=Path)
    given = parser.parse_args()
    naps = [(workers, delay, 1.0, 10) for delay in (0.0, 0.025) for workers in given.counts]
    for workers, delay, trial, each in [*naps, (2, 0.0, 0.0, 5000)]:
        row = measure(workers, delay, trial, each)
        print(row, flush=True)
        if given.save:
            write(given.save, [row])


if __name__ == "__main__":
    main()
