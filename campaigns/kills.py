"""Studies whose driver or workers are killed, and what all disasters are judged by: the same bits at last."""

import contextlib
import dataclasses
import functools
import multiprocessing
import os
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import psutil
from endurance import PATIENCE

from firstlight.study.run import run
from firstlight.study.store import Store, StoreError
from firstlight.study.sweep import Study

sys.path += [str(Path(__file__).parents[1] / "tests" / part) for part in ("study", "data")]
from driver import LONG

Rng = np.random.Generator
SHORT = dataclasses.replace(LONG, name="tiny/short", fixed={}, trials=1)
STUDIES = {study.name: study for study in (LONG, SHORT)}


def finished(path: Path, study: Study) -> tuple[str, str]:
    """Finish a study; return its fingerprint, and what is wrong with the store beside that."""
    results = run(study, path, workers=0)
    with Store(path) as store:
        state, counts = store.check(), store.counts()
    done = {name: numbers[:2] for name, numbers in counts.items()}
    planned = results["status"].values != "unplanned"
    holes = sum(int((~np.isfinite(results[name].values[planned])).sum()) for name in ("mean", "variance"))
    wrong = [f"integrity {state}"] if state != "ok" else []
    wrong += [f"results and failures {done}"] if done != {study.name: (study.records, 0)} else []
    if holes or planned.sum() != study.records:
        wrong += [f"{planned.sum()} planned, {holes} values are no numbers"]
    return str(results.attrs["fingerprint"]), ", ".join(wrong)


@functools.cache
def undisturbed(name: str) -> str:
    """Return the fingerprint of a study that nothing happens to, and of which nothing is missing."""
    with tempfile.TemporaryDirectory() as folder:
        fingerprint, wrong = finished(Path(folder) / "s.sqlite", STUDIES[name])
    if wrong:
        raise RuntimeError(f"undisturbed: {wrong}")
    return fingerprint


def resumed(path: Path, study: Study = LONG) -> str:
    """Finish a study; return what is wrong with it then."""
    fingerprint, wrong = finished(path, study)
    return wrong or ("" if fingerprint == undisturbed(study.name) else f"fingerprint {fingerprint}")


def child(job: Callable[..., None], *arguments: Any) -> multiprocessing.Process:
    """Return a process that is still to be started; what studies import is loaded once for all of them."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["firstlight.study.run", "dask.array", "distributed"])
    return context.Process(target=job, args=arguments)


def quiet() -> None:
    """Let this process say no more."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # what the dying say is expected


def _run(path: Path, workers: int) -> None:
    quiet()
    run(LONG, path, workers=workers)


def _amid(path: Path, process: multiprocessing.Process) -> bool:
    """Say whether by the store's books a driver has begun a run and not ended it."""
    try:
        with Store(path) as store:
            runs = store.runs()
    except StoreError:  # none yet
        return False
    return bool(runs) and runs[-1]["process"] == process.pid and runs[-1]["ended"] is None


def _workers(process: multiprocessing.Process) -> list[psutil.Process]:
    try:
        below = psutil.Process(process.pid).children(recursive=True)
        return [one for one in below if "resource_tracker" not in " ".join(one.cmdline())]
    except psutil.Error:
        return []


def _killed(path: Path, victims: str, rng: Rng) -> tuple[bool, str]:
    """Kill the driver, workers, or both, of a run; return whether it was amid its run, and what is wrong."""
    alone = victims == "driver"
    process = child(_run, path, 0 if alone else 2)
    process.start()
    while process.is_alive() and not (_amid(path, process) and (alone or _workers(process))):
        time.sleep(0.02)
    time.sleep(float(rng.exponential(0.2 if alone else 0.5)))
    chosen = [] if alone else _workers(process)[: int(rng.integers(1, 3))]
    amid = alone or (bool(chosen) and _amid(path, process))
    for worker in chosen:
        with contextlib.suppress(psutil.NoSuchProcess):
            worker.kill()
        time.sleep(float(rng.exponential(0.1)))
    if victims == "workers":
        process.join(PATIENCE)
        return (
            amid,
            "" if process.exitcode == 0 else f"workers killed: the driver ends with {process.exitcode}",
        )
    process.kill()
    process.join()
    if process.exitcode not in (0, -signal.SIGKILL):
        return False, f"the driver ends with {process.exitcode}"
    return amid and process.exitcode == -signal.SIGKILL and _amid(path, process), ""


def kills(rng: Rng, folder: Path) -> str:
    """Kill ten runs amid their work: the driver, workers and then the driver, or workers only.

    Runs that ended before do not count. Each study is finished and looked at: one of which the driver was
    killed after some more kills, one whose workers alone were killed at once.
    """
    counted = 0
    path = folder / "0.sqlite"
    for number in range(1, 60):
        victims = str(rng.choice(["driver", "driver", "driver", "both", "workers"]))
        amid, wrong = _killed(path, victims, rng)
        counted += amid
        complete = victims == "workers" or not amid
        if complete or counted == 10:
            wrong = wrong or resumed(path)
            path = folder / f"{number}.sqlite"
        if wrong:
            return f"{victims}: {wrong}"
        if counted == 10:
            return ""
    return f"of 59 runs only {counted} were amid their work when they were killed"


if __name__ == "__main__":
    sys.exit("a part of the campaigns; run disasters.py")
