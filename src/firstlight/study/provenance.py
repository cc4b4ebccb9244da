"""Where a result came from: configuration, seed, versions, machine, date, and how to make it again."""

import json
import os
import platform
import shlex
from collections.abc import Mapping, Sequence, Set
from dataclasses import fields, is_dataclass
from datetime import UTC, datetime
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from firstlight.study.registry import studies
from firstlight.study.sweep import Study

_SHOWN = 16


def provenance(configuration: Mapping[str, Any], seed: int, command: str) -> dict[str, str | int]:
    """Return the attributes that every result carries; all are strings or ints, so NetCDF keeps them.

    Parameters
    ----------
    configuration : mapping
        What was run, resolved; made legible with `describe`.
    seed : int
        The seed behind all random streams.
    command : str
        What to type to get the same numbers again.

    Returns
    -------
    dict
        ``configuration`` (JSON), ``seed``, ``command``, ``date``, ``cpu``, ``python``, ``firstlight``,
        ``numpy``, ``scipy``, ``blas``.

    Examples
    --------
    >>> provenance({"width": 3}, seed=1, command="firstlight study run demo/width")["configuration"]
    '{"width": 3}'
    """
    return {
        "configuration": json.dumps(describe(configuration)),
        # NetCDF has no integers above 64 bits, and a seed may be longer.
        "seed": seed if seed < 2**63 else str(seed),
        "command": command,
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        **machine(),
    }


@lru_cache(maxsize=1)
def machine() -> dict[str, str]:
    """Return the versions and the processor that decide the last bits of every number."""
    import scipy
    from threadpoolctl import threadpool_info

    from firstlight import __version__

    about = ("internal_api", "version", "architecture")
    found = [item for item in threadpool_info() if item["user_api"] == "blas"]
    blas = sorted({" ".join(str(item[key]) for key in about if item.get(key)) for item in found})
    return {
        "firstlight": __version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "blas": ", ".join(blas) or "unknown",
        "cpu": f"{_cpu_model()} ({os.cpu_count()} cores)",
    }


def _cpu_model() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine() or "unknown"


def describe(value: Any) -> Any:
    """Turn any configuration into plain JSON values that a reader understands.

    Parameters
    ----------
    value : object
        Dataclasses become tables with their class under ``"is"``; large arrays are named by shape.

    Examples
    --------
    >>> describe({"rate": np.float64(0.5), "weights": np.zeros((100, 3)), "f": np.tanh})
    {'rate': 0.5, 'weights': 'array float64 (100, 3)', 'f': 'tanh'}
    """
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if np.isfinite(value) else str(value)
    if isinstance(value, np.ndarray):
        small = value.size <= _SHOWN
        return describe(value.tolist()) if small else f"array {value.dtype} {value.shape}"
    if is_dataclass(value) and not isinstance(value, type):
        shown = {item.name: describe(getattr(value, item.name)) for item in fields(value) if item.repr}
        return {"is": f"{type(value).__module__}:{type(value).__qualname__}", **shown}
    if isinstance(value, Mapping):
        return {str(key): describe(item) for key, item in value.items()}
    if isinstance(value, (Sequence, Set)):
        return [describe(item) for item in value]
    if isinstance(value, partial):
        return f"partial of {describe(value.func)}"
    if callable(value):
        return getattr(value, "__qualname__", getattr(value, "__name__", repr(value)))
    return repr(value)


def configuration(study: Study) -> str:
    """Return the resolved study as JSON."""
    return json.dumps(_plain(study))


def _plain(study: Study) -> dict[str, Any]:
    shown = {item.name: getattr(study, item.name) for item in fields(study) if item.name != "scales"}
    return {name: describe(value) for name, value in shown.items()}


def command(study: Study, scale: str) -> str:
    """Return the command line that computes the study again; a study made in Python has its call instead.

    Examples
    --------
    >>> command(Study("demo/x", "a demo", "math:sqrt", axes={"x": [1]}, trials=2), "quick")
    "firstlight.study.run(study, scale='quick')"
    """
    if study.source is None and study.name not in studies():
        return f"firstlight.study.run(study, scale={scale!r})"
    name = shlex.quote(study.source or study.name)
    return f"firstlight study run {name} --scale {scale} --trials {study.trials} --seed {study.seed}"


def attributes(study: Study, scale: str) -> dict[str, str | int]:
    """Return the ``attrs`` of a study's Dataset."""
    return {
        "study": study.name,
        "description": study.description,
        "scale": scale,
        "trials": study.trials,
        **provenance(_plain(study), study.seed, command(study, scale)),
    }
