"""Run many cases in a child process that may die: limits on time and memory, a log, and how to go on from it.

A case is a JSON list of texts and numbers, such as a name and a seed. Campaigns give a function `work` that
takes a case and returns "" or what went wrong; `limits` begins the allowance of one call within it.
"""

import argparse
import ctypes
import faulthandler
import functools
import json
import multiprocessing
import os
import resource
import signal
import sys
import tempfile
import time
import warnings
import zlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from firstlight import __version__

SECONDS, GIGABYTES = 20, 2.0  # of one call: CPU time and memory
PATIENCE = 1800.0  # s without an answer, whatever the machine does beside it: a hang
_GIGABYTE = 1 << 30

Work = Callable[[list], str]
Kinds = dict[str, tuple[Callable[[np.random.Generator, Path], str], int]]  # what is tried, how often a case


class Outcome(NamedTuple):
    """How a case ended: "" or what went wrong, and its CPU time in seconds."""

    case: list
    failure: str
    seconds: float


_allowance = SECONDS  # of this process


def limits() -> None:
    """Allow the following call its seconds; a process that takes more is killed."""
    hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
    resource.setrlimit(resource.RLIMIT_CPU, (int(time.process_time()) + _allowance + 1, hard))


def _serve(work: Work, pipe: Any, trace: str) -> None:
    """Answer cases until the pipe is closed; on too much CPU time leave a trace and die.

    What is printed is a failure, too: so some libraries of C and Fortran tell of one, and go on.
    """
    global _allowance
    inherited = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1 << 20)  # a fork's is its parent's
    hard = resource.getrlimit(resource.RLIMIT_DATA)[1]
    resource.setrlimit(resource.RLIMIT_DATA, (int(3 * GIGABYTES * _GIGABYTE), hard))  # spares the machine
    with open(trace, "w") as file, open(f"{trace}.printed", "w+") as printed:
        faulthandler.register(signal.SIGXCPU, file, chain=True)
        os.dup2(printed.fileno(), 1)
        while True:
            try:
                case, _allowance = pipe.recv()
            except EOFError:
                return
            start = time.process_time()
            limits()
            failure = work(case) or _printed()
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1 << 20) - inherited
            if not failure and peak > GIGABYTES:
                failure = f"memory: {peak:.1f} GB"
            pipe.send((failure, time.process_time() - start, peak > GIGABYTES))


def _printed() -> str:
    """Say what has come to standard output, a file, since the last time."""
    sys.stdout.flush()
    ctypes.CDLL(None).fflush(None)
    if not os.lseek(1, 0, os.SEEK_CUR):
        return ""
    os.lseek(1, 0, os.SEEK_SET)
    text = os.read(1, 300).decode(errors="replace")
    os.ftruncate(1, os.lseek(1, 0, os.SEEK_SET))
    return f"printed: {text.strip()}"


class Child:
    """A process that works through cases, and is started anew when it dies."""

    def __init__(self, work: Work) -> None:
        self.work = work
        self.trace = Path(tempfile.mkdtemp()) / "trace"
        self.process: Any = None

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipe, other = context.Pipe()
        self.process = context.Process(target=_serve, args=(self.work, other, str(self.trace)))
        self.process.start()
        other.close()

    def __call__(self, case: list) -> Outcome:
        """Run a case. One that dies while it compiles gets time to do so, and is run again."""
        result = self._once(case)
        if result.failure.startswith("died") and "/numba/" in result.failure:
            self._once(case, 6 * SECONDS)
            return self._once(case)
        return result

    def _once(self, case: list, seconds: float = SECONDS) -> Outcome:
        if self.process is None:
            self._start()
        self.pipe.send((case, seconds))
        try:
            if not self.pipe.poll(PATIENCE):
                self.stop()
                return Outcome(case, f"died: no answer in {PATIENCE:.0f} s", PATIENCE)
            failure, spent, large = self.pipe.recv()
        except EOFError:
            self.process.join()
            code = self.process.exitcode
            self.process = None
            where = self.trace.read_text().replace("\n", " ")[:1500] if code == -signal.SIGXCPU else ""
            return Outcome(case, f"died: {signal.Signals(-code).name if code < 0 else code} {where}", SECONDS)
        if large:
            self.stop()
        return Outcome(case, failure, spent)

    def stop(self) -> None:
        """End the process."""
        if self.process is not None:
            self.process.kill()
            self.process.join()
        self.process = None


def arguments(about: str, count: int) -> argparse.ArgumentParser:
    """Return the options that all campaigns share."""
    parser = argparse.ArgumentParser(description=about.partition("\n")[0])
    parser.add_argument("--count", type=int, default=count, help="seeds")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="stop after so much time")
    parser.add_argument("--log", type=Path, help="JSON lines; cases in it are not run again")
    parser.add_argument("--save", type=Path, help="add the new cases to the sums in this JSON file")
    return parser


def outcomes(
    work: Work, cases: Iterable[list], options: argparse.Namespace
) -> Iterator[tuple[bool, Outcome]]:
    """Yield whether a case is new and how it ended: those of the log first, new ones while there is time."""
    known = {}
    if options.log and options.log.exists():
        lines = [json.loads(line) for line in options.log.read_text().splitlines() if line.endswith("]")]
        known = {json.dumps(case): Outcome(case, failure, seconds) for case, failure, seconds in lines}
    yield from ((False, one) for one in known.values())
    end = time.monotonic() + options.seconds
    child = Child(work)
    try:
        for case in cases:
            if time.monotonic() > end:
                return
            if json.dumps(case) in known:
                continue
            result = child(case)
            if options.log:
                with options.log.open("a") as file:
                    file.write(json.dumps(result) + "\n")
            yield True, result
    finally:
        child.stop()


def campaign(
    work: Work, cases: Iterable[list], options: argparse.Namespace, tries: dict[str, int] | None = None
) -> int:
    """Run cases, print failures and a summary by the first word of a case; 1 if any failed.

    A case counts as `tries` of its name. With ``--save`` the new cases are added to the sums in a file that
    the documentation shows; cases of the log were added when they were new.
    """
    result: dict[str, dict[str, Any]] = {}
    new: dict[str, dict[str, Any]] = {}
    for fresh, one in outcomes(work, cases, options):
        name, seed = str(one.case[0]).partition(".")[0], one.case[1]
        row = {
            "tries": (tries or {}).get(name, 1), "failures": int(bool(one.failure)), "seeds": [[seed, seed]],
            "slowest": round(one.seconds, 1),
        }  # fmt: skip
        for table in [result, new] if fresh else [result]:
            table[name] = summed(table[name], row) if name in table else row
        if one.failure:
            print(f"{one.case}: {one.failure}", flush=True)
    for name, row in sorted(result.items()):
        print(f"{name}: {row['tries']} tried, {row['failures']} failed, slowest {row['slowest']} s")
    if options.save:
        known = json.loads(options.save.read_text()) if options.save.exists() else {}
        for name, row in new.items():
            row = summed(known[name], row) if name in known else row
            known[name] = {**row, "script": Path(sys.argv[0]).stem, "version": __version__}
        options.save.write_text(json.dumps(known, indent=1, sort_keys=True) + "\n")
    return int(any(row["failures"] for row in result.values()))


def summed(first: dict[str, Any], second: dict[str, Any]) -> dict[str, Any]:
    """Add two rows; stretches of seeds that lie further apart than a thousand stay apart."""
    seeds: list[list[int]] = []
    for low, high in sorted(first["seeds"] + second["seeds"]):
        if seeds and low <= seeds[-1][1] + 1000:
            seeds[-1][1] = max(seeds[-1][1], high)
        else:
            seeds.append([low, high])
    added = {name: first[name] + second[name] for name in ("tries", "failures")}
    return {**added, "seeds": seeds, "slowest": max(first["slowest"], second["slowest"])}


def _try(kinds: Kinds, case: list) -> str:
    """Do all tries of one kind and seed, in a folder of their own; warnings are failures."""
    kind, seed = case
    rng = np.random.default_rng([seed, zlib.crc32(kind.encode())])
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("error")
        return kinds[kind][0](rng, Path(folder))


def campaign_by_kind(about: str, kinds: Kinds) -> int:
    """Read the command line, and run every kind with one seed after another."""
    parser = arguments(about, 1000)
    parser.add_argument("--only", choices=list(kinds), help="one kind")
    options = parser.parse_args()
    seeds = range(options.first, options.first + options.count)
    cases = ([kind, seed] for seed in seeds for kind in kinds if options.only in (None, kind))
    tries = {kind: count for kind, (_, count) in kinds.items()}
    return campaign(functools.partial(_try, kinds), cases, options, tries)


if __name__ == "__main__":
    sys.exit("a part of the campaigns; run one of those")
