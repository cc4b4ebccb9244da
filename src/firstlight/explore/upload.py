"""A reader's own file: taken in pieces, bounded, read as any file is, diagnosed in a child, and forgotten."""

import json
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path, PurePosixPath
from typing import Any

from starlette.requests import Request

from firstlight.explore.workers import Pool

LARGEST = 200_000_000  # bytes of a file, packed and unpacked
LONGEST = 300.0  # seconds that a diagnosis may be given


def diagnose(
    emit: Any, path: str, source: str, labels: str, task: str, standardise: bool, seconds: float
) -> None:
    """Emit what is being done, and at the end the diagnosis as a page: no scripts, everything escaped."""
    from firstlight.data.files import load
    from firstlight.diagnosis.page import page
    from firstlight.diagnosis.run import diagnose as ask

    column = int(labels) if path.endswith(".npy") and labels.lstrip("-").isdigit() else labels or None
    try:
        table = load(path, column, max_bytes=LARGEST)
    except ValueError as error:
        raise ValueError(str(error).replace(path, source)) from None
    assert table.labels is not None, "without labels a file is refused"
    emit(json.dumps({"said": f"{table.features.shape[0]} rows, {table.features.shape[1]} columns"}))
    found = ask(
        table.features, table.labels, task=task, standardise=standardise, seconds=seconds,  # type: ignore[arg-type]
        names=table.names, source=source,
        say=lambda said, clock: emit(json.dumps({"said": said, "left": clock.left})),
    )  # fmt: skip
    emit(json.dumps({"page": page(found), "json": found.to_json()}))


async def diagnosed(request: Request, pool: Pool) -> AsyncIterator[str]:
    """Take the file that a request brings; return the progress and the result of its diagnosis."""
    asked = request.query_params
    source = PurePosixPath(asked.get("name", "file").replace("\\", "/")).name[:100]
    suffix = PurePosixPath(source).suffix.lower()
    if suffix not in (".csv", ".tsv", ".txt", ".npz", ".npy", ".parquet"):
        raise ValueError(f"{source}: unknown ending {suffix!r}; a file ends in .csv, .npz, .npy or .parquet")
    task = asked.get("task", "auto")
    if task not in ("auto", "classification", "regression"):
        raise ValueError("task: must be auto, classification or regression")
    try:
        seconds = float(asked.get("seconds", "30"))
    except ValueError:
        seconds = 0.0
    if not 0 < seconds <= LONGEST:
        raise ValueError(f"seconds: must be above 0 and at most {LONGEST:g}")
    folder = tempfile.TemporaryDirectory(prefix="firstlight-")
    path = Path(folder.name) / f"data{suffix}"
    try:
        await _receive(request, path)
    except BaseException:
        folder.cleanup()
        raise
    labels, standardise = asked.get("labels", "")[:200], asked.get("standardise") == "yes"
    return _streamed(folder, pool.stream(diagnose, str(path), source, labels, task, standardise, seconds))


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
    with path.open("wb") as file:
        async for chunk in request.stream():
            size += len(chunk)
            if size > LARGEST:
                raise ValueError(
                    f"the file is larger than {LARGEST // 1_000_000} MB; use firstlight diagnose"
                )
            file.write(chunk)
