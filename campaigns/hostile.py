"""Hostile expressions, files and events: refused in words, or survived with the same numbers.

    python campaigns/hostile.py [--count 1000] [--only files] [--log out/hostile.jsonl]

expressions: mangled formulas are read or refused with a ValueError that begins with "target".
files: mangled tables and studies are read or refused with a ValueError that begins with the file's name.
bits: a store with a flipped bit is refused, or gives right records only, and can be mended.
kills: a study whose driver, workers or both are killed resumes to the bits of an undisturbed one.
disk: a study whose disk is full at some write stops with a StoreError and resumes to the same bits.
drivers: of drivers on one store one writes, the others are refused or go on from what it left.
clocks: a study whose clock jumps by days, back and forth, has the same bits.
fetches: of fetches at once, cut off, corrupted or killed, none leaves a set that is not whole and right.
Exit code 1 if there is any failure.
"""

import dataclasses
import functools
import hashlib
import io
import multiprocessing
import os
import resource
import signal
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from endurance import arguments, campaign
from random_arguments import target

from firstlight.data import ImagesNotFetched, cache, fetch
from firstlight.data.cache import FetchFailed
from firstlight.data.files import load
from firstlight.data.parser import Formula
from firstlight.study.run import run
from firstlight.study.store import Store, StoreError
from firstlight.study.toml import read_study

sys.path += [str(Path(__file__).parents[1] / "tests" / part) for part in ("study", "data")]
import test_images as images
import test_store as stores  # what the tests write, read and flip
from driver import LONG

Rng = np.random.Generator
TOKENS = [
    "z1", "z0", "z9", "__import__('os')", "lambda: 1", "z1.real", "1e999", "**", "**99", "**0.3", "((", "))",
    "[", "]", ",", "sin", "exp(", "where(", "if", "==", "<", "@", "'", '"', "\\", "\n", "\x00", "é", "∞",
    "9" * 400, "-", "~", "not ", ":=", "f'{z1}'", "#", ";", "_", "1_0", "0x1f", "1j", "True", "e\u0301",
]  # fmt: skip
STUDY = """
name = "mine/width"
description = "d"
problem = "one_step"
trials = 3
fixed = { dimension = 20, samples = 20, alpha = 0.5, beta = 0.5 }
axes.width = [10, 20]
[arms.theory]
kind = "predict"
"""


def expressions(rng: Rng, folder: Path) -> str:
    """Read a hundred mangled formulas."""
    for _ in range(100):
        text = target(rng)
        for _ in range(int(rng.integers(0, 4))):
            at, piece = int(rng.integers(len(text) + 1)), TOKENS[int(rng.integers(len(TOKENS)))]
            text = text[:at] + piece + text[at + int(rng.integers(3)) :]
        if rng.random() < 0.02:
            text = text * int(rng.integers(1, 500))
        try:
            values = Formula(text)(rng.normal(size=(5, 9)))
            if values.shape != (5,) or values.dtype != float:
                return f"{text!r} gives {values!r}"
        except ValueError as error:
            if not str(error).startswith("target"):
                return f"{text!r}: {error}"
        except Exception as error:
            return f"{text!r}: {type(error).__name__}: {error}"
    return ""


@functools.cache
def _tables() -> dict[str, bytes]:
    """Return one good file of every kind."""
    import pandas as pd

    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(20, 3)), columns=["a", "b", "c"]).assign(y=["p", "q"] * 10)
    arrays = {"X": rng.normal(size=(20, 3)), "y": np.arange(20) % 2}
    npz, npy = io.BytesIO(), io.BytesIO()
    np.savez(npz, **arrays)
    np.save(npy, np.column_stack(list(arrays.values())))
    csv = frame.to_csv(index=False)
    return {
        "csv": csv.encode(), "tsv": csv.replace(",", "\t").encode(), "npz": npz.getvalue(),
        "npy": npy.getvalue(), "parquet": frame.to_parquet(), "toml": STUDY.encode(),
    }  # fmt: skip


def mangled(raw: bytes, rng: Rng) -> bytes:
    """Flip, cut, repeat, move, or replace some bytes."""
    for _ in range(int(rng.integers(1, 6))):
        at, to = (int(one) for one in np.sort(rng.integers(len(raw) + 1, size=2)))
        kind = rng.integers(6)
        if kind == 0:
            raw = raw[:at] + rng.bytes(int(rng.integers(1, 9))) + raw[at:]
        elif kind == 1:
            raw = raw[:at] + raw[at + int(rng.integers(1, 9)) :]
        elif kind == 2 and raw[at : at + 1]:
            raw = raw[:at] + bytes([raw[at] ^ (1 << int(rng.integers(8)))]) + raw[at + 1 :]
        elif kind == 3:
            raw = raw[:at] + raw[at:to][:200] * int(rng.integers(1, 4)) + raw[at:]
        elif kind == 4 and rng.random() < 0.3:
            raw = raw[:at]
        else:
            piece = [
                b"nan",
                b"inf",
                b"1e999",
                b"\n",
                b",",
                b"=",
                b'"',
                b"[",
                b"\x00",
                b"\xff\xfe",
                b"-1",
                b"a",
            ]
            raw = raw[:at] + piece[int(rng.integers(len(piece)))] + raw[at + 1 :]
    return raw


def files(rng: Rng, folder: Path) -> str:
    """Read ten mangled files of every kind."""
    for _ in range(10):
        for kind, good in _tables().items():
            path = folder / f"hostile.{kind}"
            path.write_bytes(mangled(good, rng))
            try:
                if kind == "toml":
                    read_study(path)
                elif not np.isfinite(load(path, -1 if kind == "npy" else None).features).all():
                    return f"{kind}: features are not finite: {path.read_bytes()!r}"
            except ValueError as error:
                if not str(error).startswith(str(path)):
                    return f"{kind}: {error}: {path.read_bytes()!r}"
            except Exception as error:
                return f"{kind}: {type(error).__name__}: {error}: {path.read_bytes()!r}"
    return ""


def bits(rng: Rng, folder: Path) -> str:
    """Flip ten bits of one store, one at a time: anywhere, or where the schema and the layouts are."""
    path = folder / "bits.sqlite"
    made = stores.random_records(rng)
    with Store(path, write=True) as store:
        for one in made.values():
            store.put([one])
    raw = path.read_bytes()
    for _ in range(10):
        bit = int(rng.integers(8 * (len(raw) if rng.random() < 0.5 else 3 * 4096)))
        for ending in ("-wal", "-shm"):
            path.with_name(path.name + ending).unlink(missing_ok=True)
        path.write_bytes(stores.flipped(raw, bit))
        try:
            rows, _ = stores.read(path, list(made))
            if rows != stores.content({address: made[address] for address in rows}):
                return f"bit {bit}: another value"
            with Store(path, write=True) as store:
                store.put([one for address, one in made.items() if address not in rows])
            if stores.read(path, list(made)) != (stores.content(made), ""):
                return f"bit {bit}: not mended"
        except StoreError:
            continue
    return ""


@functools.cache
def undisturbed() -> str:
    """Return the fingerprint of the study that is killed below."""
    with tempfile.TemporaryDirectory() as folder:
        return str(run(LONG, Path(folder) / "s.sqlite", workers=0).attrs["fingerprint"])


def _resumed(path: Path) -> str:
    """Finish a study; return what is wrong with it then."""
    results = run(LONG, path, workers=0).attrs["fingerprint"]
    with Store(path) as store:
        state = store.check()
    return "" if (results, state) == (undisturbed(), "ok") else f"fingerprint {results}, integrity {state}"


def _child(job: Callable[..., None], *arguments: Any) -> multiprocessing.Process:
    """Return a process that is still to be started; what studies import is loaded once for all of them."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["firstlight.study.run", "dask.array"])
    return context.Process(target=job, args=arguments)


def _run(path: Path, workers: int) -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # what dying workers say is expected
    run(LONG, path, workers=workers)


def kills(rng: Rng, folder: Path) -> str:
    """Kill ten runs: the driver, one of two workers and then the driver, or workers only; then finish."""
    import psutil

    path = folder / "kills.sqlite"
    for _ in range(10):
        workers = int(rng.choice([0, 0, 0, 2]))
        process = _child(_run, path, workers)
        process.start()
        time.sleep(float(rng.exponential(3.0 if workers else 0.3)))
        try:
            children = psutil.Process(process.pid).children(recursive=True) if workers else []
            for child in children[: int(rng.integers(0, 3))]:
                child.kill()
                time.sleep(float(rng.exponential(0.1)))
        except psutil.NoSuchProcess:
            pass
        process.kill()
        process.join()
    return _resumed(path)


def _run_on_small_disk(path: Path, size: int) -> None:
    """Run until a file would be larger than allowed; exit code 3 says that the store told so."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
    try:
        run(LONG, path, workers=0)
    except StoreError:
        sys.exit(3)


def disk(rng: Rng, folder: Path) -> str:
    """Fill the disk at five moments of a run, later and later; then finish it."""
    path = folder / "disk.sqlite"
    for size in np.sort(10 ** rng.uniform(3, 5.5, size=5)).astype(int):
        process = _child(_run_on_small_disk, path, int(size))
        process.start()
        process.join()
        if process.exitcode not in (0, 3):
            return f"{size} bytes: exit code {process.exitcode}"
    return _resumed(path)


def _second_run(path: Path) -> None:
    """Run beside others; exit code 3 says that the store is theirs."""
    try:
        run(LONG, path, workers=0)
    except StoreError:
        sys.exit(3)


def drivers(rng: Rng, folder: Path) -> str:
    """Start ten drivers on one store, one shortly after the other, and kill some; then finish."""
    path, started = folder / "drivers.sqlite", []
    for _ in range(10):
        started.append(_child(_second_run, path))
        started[-1].start()
        time.sleep(float(rng.exponential(0.2)))
        if rng.random() < 0.3:
            started[int(rng.integers(len(started)))].kill()
    for process in started:
        process.join()
        if process.exitcode not in (0, 3, -signal.SIGKILL):
            return f"exit code {process.exitcode}"
    return _resumed(path)


def _run_in_jumping_time(path: Path, seed: int) -> None:
    rng, now = np.random.default_rng(seed), time.time
    time.time = lambda: now() + 86400 * float(rng.normal(0, 10))
    run(LONG, path, workers=0)


def clocks(rng: Rng, folder: Path) -> str:
    """Run while the clock jumps, kill it in between, and finish with the clock set back."""
    path = folder / "clocks.sqlite"
    for seed in rng.integers(1 << 31, size=3):
        process = _child(_run_in_jumping_time, path, int(seed))
        process.start()
        process.join(float(rng.exponential(0.5)))
        process.kill()
        process.join()
        if path.exists():
            os.utime(path, (float(rng.uniform(0, 4e9)),) * 2)
    return _resumed(path)


def _known(seed: int, slow: float) -> None:
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
    _known(seed, slow)
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
        started.append(_child(_fetch, folder, seed, 0.1 if seed else 0.0))
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


KINDS: dict[str, Callable[[Rng, Path], str]] = {
    "expressions": expressions, "files": files, "bits": bits, "kills": kills, "disk": disk,
    "drivers": drivers, "clocks": clocks, "fetches": fetches,
}  # fmt: skip
TRIES = {
    "expressions": 100, "files": 60, "bits": 10, "kills": 10, "disk": 5, "drivers": 10, "clocks": 3,
    "fetches": 10,
}  # fmt: skip  # in one case


def work(case: list) -> str:
    """Do all tries of one seed."""
    kind, seed = case
    rng = np.random.default_rng([seed, list(KINDS).index(kind)])
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("error")
        return KINDS[kind](rng, Path(folder))


def cases(options: Any) -> Iterator[list]:
    """Yield every kind with one seed after another."""
    for seed in range(options.first, options.first + options.count):
        yield from ([kind, seed] for kind in KINDS if kind.startswith(options.only))


if __name__ == "__main__":
    parser = arguments(__doc__, 1000)
    parser.add_argument("--only", default="", choices=["", *KINDS], help="one kind")
    given = parser.parse_args()
    sys.exit(campaign(work, cases(given), given, TRIES))
