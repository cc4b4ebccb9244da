"""The Problem that a factory makes of a point."""

from collections.abc import Mapping
from typing import Any

from firstlight.study.problem import Problem
from firstlight.study.registry import Reference, resolve
from firstlight.study.spec import Scalar

_NEEDED = ("theory", "version", "predict", "simulate")


def build(name: str, factory: Reference, fixed: Mapping[str, Any], point: Mapping[str, Scalar]) -> Problem:
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
    if missing := [kind for kind in _NEEDED if not hasattr(problem, kind)]:
        raise ValueError(f"{name} at {where}: {type(problem).__name__} has no {missing[0]!r}")
    return problem
