"""Studies from TOML files: every key and type is checked, and a refusal says where and what would be right.

::

    name = "mine/ridge"
    description = "error against the ridge penalty"
    problem = "one_step"            # a room, or "module:Class" of your own
    trials = 8
    fixed = { dimension = 200 }
    axes.ridge = { start = 0.01, stop = 10, num = 12, log = true }
    arms.network = { door = "simulate" }
    arms.theory = { door = "predict" }
    figure = { x = "ridge", log_x = true }
    scales.paper = { trials = 40, fixed = { dimension = 2000 } }
"""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import MISSING, fields
from os import PathLike
from pathlib import Path
from typing import Any, TypeVar

from firstlight.maths.checks import unknown
from firstlight.study.build import resolve
from firstlight.study.spec import Arm, FigureSpec, Range, Refine, Scale
from firstlight.study.sweep import Study

_LARGEST = 1_000_000
_ROOMS = ("early_alignment", "one_step", "phase_transition", "unseen_classes")
_CLAIMS = re.compile(r"firstlight\.[a-z_]+\.claims:[a-z]\w*")
_OURS = re.compile(r"firstlight\.(study\.catalogue\.)?[a-z_]+:[\w.]+")
_DOORS = ("room", "room_version", "predict", "simulate", "assumptions")
Made = TypeVar("Made")


def read_study(path: str | PathLike[str]) -> Study:
    """Read a study from a TOML file.

    Parameters
    ----------
    path : path_like
        At most a megabyte.

    Returns
    -------
    Study

    Examples
    --------
    >>> import tempfile
    >>> text = '''
    ... name = "mine/rate"
    ... description = "against the rate"
    ... problem = "firstlight.study.demo:Exponential"
    ... axes.rate = [1.0, 2.0]
    ... '''
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(f"{folder}/study.toml").write_text(text)
    ...     read_study(f"{folder}/study.toml").size
    2
    """
    file = Path(path)
    try:
        if file.stat().st_size > _LARGEST:
            raise ValueError(f"{file}: larger than {_LARGEST} bytes, which no study is")
        table = tomllib.loads(file.read_text("utf-8"))
    except OSError as error:
        raise ValueError(f"{file}: cannot be read ({error.strerror})") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{file}: is not TOML ({error})") from error
    try:
        return _study(table, str(file))
    except ValueError as error:
        raise ValueError(f"{file}: {error}") from error


def _study(table: dict[str, Any], source: str) -> Study:
    parts = dict(table)
    if "source" in parts:
        raise unknown("key", "source", _keys(Study) - {"source"})
    parts["problem"] = _factory(parts.get("problem"))
    if "claims" in parts:
        parts["claims"] = _judge(parts["claims"])
    parts["axes"] = _axes(_table("axes", parts.get("axes")))
    if "arms" in parts:
        arms = _table("arms", parts["arms"])
        parts["arms"] = {name: _make(Arm, arm, f"arms.{name}") for name, arm in arms.items()}
    if "figure" in parts:
        parts["figure"] = _make(FigureSpec, parts["figure"], "figure")
    if "refine" in parts:
        parts["refine"] = _make(Refine, parts["refine"], "refine")
    if "scales" in parts:
        scales = _table("scales", parts["scales"])
        parts["scales"] = {name: _scale(scale, f"scales.{name}") for name, scale in scales.items()}
    return _make(Study, {**parts, "source": source}, "")


def _scale(value: object, where: str) -> Scale:
    parts = dict(_table(where, value))
    if "axes" in parts:
        parts["axes"] = _axes(_table(f"{where}.axes", parts["axes"]), f"{where}.axes")
    if "refine" in parts:
        parts["refine"] = _make(Refine, parts["refine"], f"{where}.refine")
    return _make(Scale, parts, where)


def _axes(table: Mapping[str, Any], where: str = "axes") -> dict[str, Any]:
    made: dict[str, Any] = {}
    for name, values in table.items():
        if not isinstance(values, (list, Mapping)):
            raise ValueError(f"{where}.{name} = {values!r}: must be a list, or a table of start, stop, num")
        made[name] = _make(Range, values, f"{where}.{name}") if isinstance(values, Mapping) else values
    return made


def _table(where: str, value: object) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise ValueError(f"{where} = {value!r}: must be a table")
    return value


def _keys(kind: Any) -> set[str]:
    return {item.name for item in fields(kind)}


def _make(kind: type[Made], value: object, where: str) -> Made:
    """Build a dataclass from a table whose keys must be its fields."""
    table, prefix = _table(where, value), f"{where}." if where else ""
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


def _factory(name: object) -> str:
    """Accept rooms, catalogue functions and Problem classes only: a file must not call whatever it likes."""
    if not isinstance(name, str):
        raise ValueError(f"problem = {name!r}: must be the name of a room, or 'module:Class'")
    if ":" not in name:
        if name not in _ROOMS:
            raise unknown("problem", name, _ROOMS)
        return f"firstlight.{name}:Problem"
    if _OURS.fullmatch(name):
        return name
    found = resolve(name)
    if not isinstance(found, type) or any(not hasattr(found, door) for door in _DOORS):
        raise ValueError(f"problem = {name!r}: must be a Problem class (with {', '.join(_DOORS)})")
    return name


def _judge(name: object) -> str:
    """Accept the functions that a room's module of claims defines, and no others."""
    ours = isinstance(name, str) and _CLAIMS.fullmatch(name)
    if not ours or resolve(ours.string, "claims").__module__ != ours.string.partition(":")[0]:
        raise ValueError(f"claims = {name!r}: must be a room's own, 'firstlight.ROOM.claims:function'")
    return ours.string
