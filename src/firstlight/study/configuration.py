"""A study put in words: its resolved configuration, and the command that runs it again."""

import json
import shlex
from dataclasses import fields
from typing import Any

from firstlight.study.catalogue import catalogue
from firstlight.study.provenance import describe, provenance
from firstlight.study.sweep import Study


def configuration(study: Study) -> str:
    """Return the resolved study as JSON.

    Examples
    --------
    >>> configuration(Study("demo/x", "a demo", "math:sqrt", axes={"x": [1]}, trials=2))[:45]
    '{"name": "demo/x", "description": "a demo", "'
    """
    return json.dumps(_plain(study))


def _plain(study: Study) -> dict[str, Any]:
    shown = {item.name: getattr(study, item.name) for item in fields(study) if item.name != "scales"}
    return {name: describe(value) for name, value in shown.items()}


def command(study: Study, scale: str) -> str:
    """Return the command line that computes the study again; a study made in Python has its call instead.

    Parameters
    ----------
    study : Study
    scale : str

    Returns
    -------
    str

    Examples
    --------
    >>> command(Study("demo/x", "a demo", "math:sqrt", axes={"x": [1]}, trials=2), "quick")
    "firstlight.study.run(study, scale='quick')"
    """
    if study.source is None and study.name not in catalogue():
        return f"firstlight.study.run(study, scale={scale!r})"
    name = shlex.quote(study.source or study.name)
    return f"firstlight study run {name} --scale {scale} --trials {study.trials} --seed {study.seed}"


def attributes(study: Study, scale: str) -> dict[str, str | int]:
    """Return the ``attrs`` of a study's Dataset.

    Examples
    --------
    >>> attributes(Study("demo/x", "a demo", "math:sqrt", axes={"x": [1]}), "quick")["study"]
    'demo/x'
    """
    return {
        "study": study.name,
        "description": study.description,
        "scale": scale,
        "trials": study.trials,
        **provenance(_plain(study), study.seed, command(study, scale)),
    }
