"""What stands behind an address, and the Problem that a factory makes of a point."""

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

from firstlight.study.problem import Problem
from firstlight.study.spec import Scalar

_DOORS = ("room", "room_version", "predict", "simulate")


def resolve(address: str | Callable[..., Any], what: str = "problem") -> Callable[..., Any]:
    """Return the callable behind ``"module:qualname"``; a callable is passed through.

    Parameters
    ----------
    address : callable or str
    what : str, default "problem"
        The field that it stands in, for the refusal.

    Returns
    -------
    callable

    Examples
    --------
    >>> resolve("math:sqrt")(4)
    2.0
    """
    if not isinstance(address, str):
        return address
    module, _, qualname = address.partition(":")
    try:
        found: Any = import_module(module)
        for part in qualname.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError) as error:
        raise ValueError(f"{what} = {address!r}: {error}") from error
    if not callable(found):
        raise ValueError(f"{what} = {address!r}: is not callable")
    return found


def build(
    name: str, factory: str | Callable[..., Any], fixed: Mapping[str, Any], point: Mapping[str, Scalar]
) -> Problem:
    """Make a Problem from its factory and fields; a refusal names the study and the point.

    Parameters
    ----------
    name : str
        The study's.
    factory : callable or str
    fixed, point : mapping
        The fields.

    Returns
    -------
    Problem

    Examples
    --------
    >>> build("demo/x", "firstlight.study.demo:Exponential", {"samples": 10}, {"rate": 2.0})
    Exponential(rate=2.0, samples=10)
    """
    where = ", ".join(f"{axis} = {value!r}" for axis, value in point.items())
    try:
        problem = resolve(factory)(**fixed, **point)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} at {where}: {error}") from error
    if missing := [door for door in _DOORS if not hasattr(problem, door)]:
        raise ValueError(f"{name} at {where}: {type(problem).__name__} has no {missing[0]!r}")
    return problem
