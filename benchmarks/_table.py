"""Measured rows as a small JSON file, with what the machine was and how busy."""

import json
import os
import platform
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_info


def rounded(values: Mapping[str, float]) -> dict[str, float]:
    """Keep three digits: more would be noise."""
    return {name: float(f"{value:.3g}") for name, value in values.items()}


def machine() -> dict[str, Any]:
    """Describe the machine, and how busy it is: processes that wait for a core, over the last minute."""
    return {
        "processor": platform.machine(), "cores": os.cpu_count(), "python": platform.python_version(),
        "blas threads": max((part["num_threads"] for part in threadpool_info()), default=1),
        "load": round(os.getloadavg()[0], 1),
    }  # fmt: skip


def write(file: str | Path, rows: Iterable[Mapping[str, Any]], key: str = "part") -> None:
    """Write the rows; those of other parts that the file already has stay."""
    file, rows = Path(file), [{"load": machine()["load"]} | dict(row) for row in rows]
    new = {row[key] for row in rows}
    old = json.loads(file.read_text("utf-8"))["rows"] if file.exists() else []
    kept = [row for row in old if row[key] not in new]
    text = json.dumps({"machine": machine(), "rows": sorted(kept + rows, key=lambda row: row[key])}, indent=1)
    file.write_text(text + "\n", "utf-8")
