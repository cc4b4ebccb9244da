"""A file of the reader's own: taken in pieces, bounded, read in a child; diagnosed, or kept as a table."""

import json
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path, PurePosixPath
from typing import Any

from starlette.requests import Request

from firstlight.explore.workers import Pool
from firstlight.maths.files import named

LARGEST = 200_000_000  # bytes of a file, packed and unpacked
_CLASSES = 60
LONGEST = 300.0  # seconds that a diagnosis may be given


def diagnose(
    emit: Any,
    path: str,
    source: str,
    labels: str,
    without: list[str],
    task: str,
    standardise: bool,
    seconds: float,
) -> None:
    """Emit what is being done, and at the end the diagnosis as a page: no scripts, everything escaped."""
    from firstlight.diagnosis.page import page
    from firstlight.diagnosis.run import diagnose as ask

    table = _table(path, source, labels, without)
    emit(json.dumps({"said": f"{table.features.shape[0]} rows, {table.features.shape[1]} columns"}))
    diagnosis = ask(
        table.features, table.labels, task=task, standardise=standardise, seconds=seconds,  # type: ignore[arg-type]
        names=table.names, source=source,
        say=lambda said, clock: emit(json.dumps({"said": said, "left": clock.left})),
    )  # fmt: skip
    emit(json.dumps({"page": page(diagnosis), "json": diagnosis.to_json()}))


def keep(emit: Any, path: str, source: str, labels: str, without: list[str]) -> None:
    """Keep a file of classes under a name made of its content; emit what `kept` does."""
    from firstlight.data.kept import keep as kept_as

    table = _table(path, source, labels, without)
    if not 4 <= len(table.classes) <= _CLASSES:
        raise ValueError(
            f"{source}: {len(table.classes)} classes; 4 to {_CLASSES} are needed, some of which stay unseen"
        )
    kept(emit, kept_as(table.features, table.labels))


def kept(emit: Any, name: str) -> None:
    """Emit what is in a kept table, as JSON."""
    from firstlight.data.kept import kept as read

    rows, _, classes = read(name)
    contents = {"table": name, "classes": classes, "rows": rows.shape[0], "columns": rows.shape[1]}
    emit(json.dumps(contents))


def _table(path: str, source: str, labels: str, without: list[str]) -> Any:
    """Read a file; what is wrong with it is said of the name that the reader knows."""
    from firstlight.data.files import load

    try:
        return load(path, labels or None, without=without, max_bytes=LARGEST)
    except ValueError as error:
        raise ValueError(str(error).replace(path, source)) from None


async def diagnosed(request: Request, pool: Pool) -> AsyncIterator[str]:
    """Take the file that a request brings; return the progress and the result of its diagnosis."""
    asked = request.query_params
    task = asked.get("task", "auto")
    if task not in ("auto", "classification", "regression"):
        raise ValueError("task: must be auto, classification or regression")
    try:
        seconds = float(asked.get("seconds", "30"))
    except ValueError:
        seconds = 0.0
    if not 0 < seconds <= LONGEST:
        raise ValueError(f"seconds: must be above 0 and at most {LONGEST:g}")
    standardise = asked.get("standardise") == "yes"
    folder, *file = await _received(request)
    return _streamed(folder, pool.stream(diagnose, *file, task, standardise, seconds))


async def brought(request: Request, pool: Pool) -> str:
    """Take the file that a request brings, and keep it; return what is in it."""
    folder, *file = await _received(request)
    with folder:
        contents: str = await pool.one(keep, *file)
    return contents


async def _received(request: Request) -> "tuple[tempfile.TemporaryDirectory[str], str, str, str, list[str]]":
    """Return a folder to be emptied, the file within, its name, the labels' column, and those left out."""
    asked = request.query_params
    source = PurePosixPath(asked.get("name", "file").replace("\\", "/")).name[:100]
    suffix = PurePosixPath(source).suffix.lower()
    if suffix not in (".csv", ".tsv", ".txt", ".npz", ".npy", ".parquet"):
        raise ValueError(f"{source}: unknown ending {suffix!r}; a file ends in .csv, .npz, .npy or .parquet")
    folder = tempfile.TemporaryDirectory(prefix="firstlight-")
    path = Path(folder.name) / f"data{suffix}"
    try:
        await _receive(request, path)
    except BaseException:
        folder.cleanup()
        raise
    without = [one.strip() for one in asked.get("without", "")[:2000].split(",") if one.strip()]
    return folder, str(path), source, asked.get("labels", "")[:200], without


async def _streamed(
    folder: "tempfile.TemporaryDirectory[str]", source: AsyncIterator[str]
) -> AsyncIterator[str]:
    """Pass on a diagnosis; the file is gone when it ends, however it ends."""
    with folder:
        async for item in source:
            yield item


async def _receive(request: Request, path: Path) -> None:
    """Write what comes to a file; what is too much is not kept."""
    size = 0
    with named(path, path), path.open("wb") as file:
        async for chunk in request.stream():
            size += len(chunk)
            if size > LARGEST:
                raise ValueError(
                    f"the file is larger than {LARGEST // 1_000_000} MB; use firstlight diagnose"
                )
            file.write(chunk)
