"""Files whose disk is full at some byte: exports, figures, pages, evidence, kept tables, image sets."""

import os
import resource
import signal
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from kills import Rng, child, quiet

BEFORE = b"what was there before"
_NOT_SAID, _NO_ERROR = 4, 5  # exit codes


def _export(kind: str) -> Callable[[Path], Callable[[], object]]:
    def prepare(folder: Path) -> Callable[[], object]:
        from firstlight import demo
        from firstlight.show.summary import export

        results = demo.results()
        return lambda: export(demo.STUDY, results, kind, folder / f"results.{kind}")

    return prepare


def _figure(folder: Path) -> Callable[[], object]:
    from firstlight import demo
    from firstlight.show.save import save

    results = demo.results()
    return lambda: save(demo.STUDY, results, folder)


def _page(folder: Path) -> Callable[[], object]:
    from firstlight.diagnosis import diagnose

    x = np.random.default_rng(0).normal(size=(40, 3))
    found = replace(diagnose(x, x[:, 0] > 0, seconds=1), sections=(), seconds=0.0)  # which vary
    return lambda: found.to_html(folder / "page.html")


def _evidence(folder: Path) -> Callable[[], object]:
    from firstlight.show.evidence import save

    return lambda: save([], folder / "evidence.json", "firstlight claims")


def _table(folder: Path) -> Callable[[], object]:
    from firstlight.data.kept import keep

    os.environ["FIRSTLIGHT_CACHE"] = str(folder)
    x = np.random.default_rng(0).normal(size=(200, 5))
    return lambda: keep(x, x[:, 0] > 0)


def _images(folder: Path) -> Callable[[], object]:
    from disasters import known

    from firstlight.data import fetch

    os.environ["FIRSTLIGHT_CACHE"] = str(folder)
    known(0, 0.0)
    return lambda: fetch("mnist", force=True, say=lambda _: None)


WRITERS = {
    "csv": _export("csv"), "nc": _export("nc"), "parquet": _export("parquet"), "figure": _figure,
    "page": _page, "evidence": _evidence, "table": _table, "images": _images,
}  # fmt: skip
KEPT = ("table", "images")  # where the same content is known by its name, so that nothing is replaced


def files(folder: Path) -> dict[str, bytes]:
    """Return all that lies in a folder."""
    found = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in found}


def _write(name: str, folder: Path, limit: int) -> None:
    """Write where files may have at most so many bytes, or any number; tell by the exit code how it ends."""
    quiet()
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    write = WRITERS[name](folder)
    if limit >= 0:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
    try:
        write()
    except (OSError, RuntimeError) as error:
        sys.exit(3 if str(folder) in str(error) else _NOT_SAID)
    sys.exit(_NO_ERROR)


def _ended(*given: Any) -> int | None:
    process = child(_write, *given)
    process.start()
    process.join()
    return process.exitcode


@cache
def _whole(name: str, folder: Path) -> dict[str, int]:
    """Return the sizes of the files that a writer makes when nothing is in its way."""
    if _ended(name, folder, -1) != _NO_ERROR:
        raise RuntimeError(f"{name}: cannot be written at all")
    return {file: len(content) for file, content in files(folder).items()}


def writes(rng: Rng, folder: Path) -> str:
    """Fill the disk once while each writer works, at any byte of its longest file; then let it be done."""
    for name in WRITERS:
        whole = _whole(name, folder / f"whole {name}")
        place, limit = folder / name, int(rng.integers(max(whole.values())))
        for file in whole if name not in KEPT else ():
            (place / file).parent.mkdir(parents=True, exist_ok=True)
            (place / file).write_bytes(BEFORE)
        before = files(place)
        if (code := _ended(name, place, limit)) != 3:
            return f"{name}, full at {limit}: exit code {code}"
        after = files(place)
        if after.keys() - whole.keys():
            return f"{name}, full at {limit}: leaves {sorted(after.keys() - whole.keys())}"
        changed = [file for file, content in after.items() if content != before.get(file)]
        if torn := [file for file in changed if len(after[file]) != whole[file]]:
            return f"{name}, full at {limit}: {torn} are not whole"
        if _ended(name, place, -1) != _NO_ERROR or {f: len(c) for f, c in files(place).items()} != whole:
            return f"{name}, full at {limit}: is not done afterwards"
    return ""
