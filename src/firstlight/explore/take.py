"""A study as text to take away: Python, and a command with the study in a file."""

import json
from typing import Any

from firstlight.study import registry
from firstlight.study.spec import Arm, Range
from firstlight.study.sweep import Study


def as_python(study: Study) -> str:
    """Return a program that runs the study; its records are those that a page shows.

    Examples
    --------
    >>> study = Study("demo/x", "a demo", "fractions:Fraction", axes={"numerator": [1, 2]}, trials=4)
    >>> print(as_python(study))
    from firstlight.study import Arm, Study, run
    <BLANKLINE>
    study = Study(
        name='demo/x',
        description='a demo',
        problem='fractions:Fraction',
        axes={'numerator': [1, 2]},
        fixed={},
        arms={'simulation': Arm('simulate', {}), 'theory': Arm('predict', {})},
        trials=4,
        seed=0,
        observables=[],
    )
    results = run(study)  # theory and experiment, an xarray.Dataset; run again, and nothing is computed twice
    print(results)
    <BLANKLINE>
    """
    fields = {name: repr(value) for name, value in _plain(study).items()}
    arms = ", ".join(f"{name!r}: {_arm(arm)}" for name, arm in study.arms.items())
    lines = [f"    {name}={'{' + arms + '}' if name == 'arms' else text},\n" for name, text in fields.items()]
    return (
        "from firstlight.study import Arm, Study, run\n\nstudy = Study(\n" + "".join(lines) + ")\n"
        "results = run(study)  # theory and experiment, an xarray.Dataset; run again, and nothing is "
        "computed twice\nprint(results)\n"
    )


def as_command(study: Study) -> str:
    """Return a command for a shell: it writes the study to a file, and runs it.

    Examples
    --------
    >>> from firstlight.study.registry import study
    >>> as_command(study("one-step/width")).splitlines()[0]
    "cat > one-step-width.toml <<'END'"
    """
    file = study.name.replace("/", "-") + ".toml"
    return f"cat > {file} <<'END'\n{as_toml(study)}END\nfirstlight study run {file}\n"


def as_toml(study: Study) -> str:
    """Return the study as a file that `firstlight.study.toml.read_study` reads."""
    fields = _plain(study) | {"problem": _registered(str(study.problem))}
    arms = fields.pop("arms")
    lines = [f"{name} = {_toml(value)}" for name, value in fields.items() if value != []]
    lines += [f"arms.{name} = {_toml(arm)}" for name, arm in arms.items()]
    return "\n".join(lines) + "\n"


def _plain(study: Study) -> dict[str, Any]:
    return {
        "name": study.name,
        "description": study.description,
        "problem": study.problem,
        "axes": {name: list(values) for name, values in study.axes.items()},
        "fixed": dict(study.fixed),
        "arms": {name: _table(arm) for name, arm in study.arms.items()},
        "trials": study.trials,
        "seed": study.seed,
        "observables": list(study.observables),
    }


def _table(arm: Arm) -> dict[str, Any]:
    made: dict[str, Any] = {"kind": arm.kind, "options": dict(arm.options)}
    return made | ({} if arm.paired is None else {"paired": arm.paired})


def _arm(arm: Arm) -> str:
    paired = "" if arm.paired is None else f", paired={arm.paired}"
    return f"Arm({arm.kind!r}, {dict(arm.options)!r}{paired})"


def _registered(reference: str) -> str:
    """Return the name by which the registry knows a problem."""
    for theory in registry.theories().values():
        for name, known in theory.problems.items():
            if known == reference:
                return f"{theory.name}.{name}"
    raise ValueError(f"problem = {reference!r}: no theory announces it")


def _toml(value: Any) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{name} = {_toml(one)}" for name, one in value.items()) + " }"
    if isinstance(value, (list, tuple, Range)):
        return "[" + ", ".join(_toml(one) for one in value) + "]"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    return str(value).lower() if isinstance(value, bool) else repr(value)
