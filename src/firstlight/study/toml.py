"""Studies from TOML files: every key and type is checked, and a refusal says where and what would be right.

A file names its problem, claims and special figure by the names of the registry, and nothing else: nothing
that stands in a file is imported or called. ::

    name = "mine/ridge"
    description = "error against the ridge penalty"
    problem = "one_step"            # a theory, or one of its problems, such as "one_step.by_width"
    trials = 8
    fixed = { dimension = 60, width = 40, samples = 50, alpha = 0.5, beta = 0.5 }
    axes.ridge = { start = 0.01, stop = 10, num = 5, log = true }
    observables = ["test_error"]
    arms.network = { kind = "simulate" }
    arms.theory = { kind = "predict" }
    figure = { x = "ridge", log_x = true }
    scales.paper = { trials = 40, fixed = { dimension = 600, width = 400, samples = 500 } }
"""

import os
import re
import stat
import tomllib
from collections.abc import Mapping
from dataclasses import MISSING, fields
from typing import Any, TypeVar

from firstlight.maths.refusals import check_table, refusal, unknown
from firstlight.study import registry
from firstlight.study.spec import Arm, FigureSpec, Range, Refine, Scale
from firstlight.study.sweep import Study

_LARGEST = 1_000_000
_DEEPEST = 32
Made = TypeVar("Made")


def read_study(path: str | os.PathLike[str]) -> Study:
    """Read a study from a TOML file.

    Parameters
    ----------
    path : path_like
        At most a megabyte, in UTF-8, tables nested at most 32 deep.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> text = '''
    ... name = "mine/norm"
    ... description = "operator norm against the size"
    ... problem = "unseen_classes.norm"
    ... axes.dimension = [64, 128]
    ... '''
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(f"{folder}/study.toml").write_text(text)
    ...     read_study(f"{folder}/study.toml").size
    2
    """
    file = os.fspath(path)
    try:
        text = _read(file).decode("utf-8-sig")
        if max(part.count(".") for part in re.split(r"[][,={}\n]", text)) > _DEEPEST:  # slow in tomllib
            raise ValueError(f"{file}: a key or text with more than {_DEEPEST} dots, which no study has")
        table = tomllib.loads(text)
    except OSError as error:
        raise ValueError(f"{file}: cannot be read ({error.strerror})") from error
    except RecursionError as error:
        raise ValueError(f"{file}: nested more than {_DEEPEST} levels deep") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{file}: is not TOML ({error})") from error
    except ValueError as error:
        if "int_max_str_digits" not in str(error):
            raise
        raise ValueError(f"{file}: an integer of thousands of digits; write it shorter, as 1e9") from error
    try:
        _check_depth(table)
        return _study(table, str(file))
    except ValueError as error:
        raise ValueError(f"{file}: {error}") from error


def _read(file: str) -> bytes:
    """Read a regular file of moderate size, through links too; no pipe or device is waited for."""
    handle = os.open(file, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    with os.fdopen(handle, "rb") as opened:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise ValueError(f"{file}: is not a regular file")
        content = opened.read(_LARGEST + 1)
    if len(content) > _LARGEST:
        raise ValueError(f"{file}: larger than {_LARGEST} bytes, which no study is")
    return content


def _check_depth(table: Any) -> None:
    level = [table]
    for _ in range(_DEEPEST):
        inside = [one.values() if isinstance(one, dict) else one for one in level]
        level = [value for values in inside for value in values if isinstance(value, (dict, list))]
    if level:
        raise ValueError(f"nested more than {_DEEPEST} levels deep")


def _study(table: dict[str, Any], source: str) -> Study:
    parts = dict(table)
    if "source" in parts:
        raise unknown("key", "source", _keys(Study) - {"source"})
    theory, parts["problem"] = registry.problem(parts.get("problem"))
    if "claims" in parts:
        parts["claims"] = _announced("claims", parts["claims"], theory.claims)
    parts["axes"] = _axes(check_table("axes", parts.get("axes")))
    if "arms" in parts:
        arms = check_table("arms", parts["arms"])
        parts["arms"] = {name: _make(Arm, arm, f"arms.{name}") for name, arm in arms.items()}
    if "figure" in parts:
        figure = dict(check_table("figure", parts["figure"]))
        if "draw" in figure:
            figure["draw"] = _announced("figure.draw", figure["draw"], theory.figures)
        parts["figure"] = _make(FigureSpec, figure, "figure")
    if "refine" in parts:
        parts["refine"] = _make(Refine, parts["refine"], "refine")
    if "scales" in parts:
        scales = check_table("scales", parts["scales"])
        parts["scales"] = {name: _scale(scale, f"scales.{name}") for name, scale in scales.items()}
    return _make(Study, {**parts, "source": source}, "")


def _announced(key: str, name: object, known: Mapping[str, registry.Reference]) -> registry.Reference:
    if not isinstance(name, str) or name not in known:
        raise unknown(key, name, known)
    return known[name]


def _scale(value: object, where: str) -> Scale:
    parts = dict(check_table(where, value))
    if "axes" in parts:
        parts["axes"] = _axes(check_table(f"{where}.axes", parts["axes"]), f"{where}.axes")
    if "refine" in parts:
        parts["refine"] = _make(Refine, parts["refine"], f"{where}.refine")
    return _make(Scale, parts, where)


def _axes(table: Mapping[str, Any], where: str = "axes") -> dict[str, Any]:
    made: dict[str, Any] = {}
    for name, values in table.items():
        if not isinstance(values, (list, Mapping)):
            raise refusal(f"{where}.{name}", values, "be a list, or a table of start, stop, num")
        made[name] = _make(Range, values, f"{where}.{name}") if isinstance(values, Mapping) else values
    return made


def _keys(kind: Any) -> set[str]:
    return {item.name for item in fields(kind)}


def _make(kind: type[Made], value: object, where: str) -> Made:
    """Build a dataclass from a table whose keys must be its fields."""
    table, prefix = check_table(where, value), f"{where}." if where else ""
    for key in table:
        if key not in _keys(kind):
            raise unknown(f"key {prefix}".strip(), key, _keys(kind) - {"source"})
    for item in fields(kind):  # type: ignore[arg-type]
        if item.default is MISSING and item.default_factory is MISSING and item.name not in table:
            raise ValueError(f"{prefix}{item.name}: is missing")
    try:
        return kind(**table)
    except ValueError as error:
        raise ValueError(f"{prefix}{error}") from error
