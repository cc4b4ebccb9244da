"""The README's Python examples, and comparisons of every theory, pass mypy and pyright."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from test_readme import EXAMPLES

SOURCE = Path(__file__).parents[1] / "src"
EVERY_THEORY = """
import firstlight
from firstlight import early_alignment, one_step, phase_transition, unseen_classes

firstlight.compare(one_step.Problem.scaled(30, 20, 20, alpha=0.0, beta=0.5), predict={"method": "asymptotic"})
firstlight.compare(early_alignment.Problem()).plot(observable="margin_plus").set_title("margins")
firstlight.compare(phase_transition.Problem())
firstlight.compare(unseen_classes.Problem())
"""
WRONG = "import firstlight\nfirstlight.compare(3)\n"


@pytest.fixture(scope="module")
def code(tmp_path_factory):
    folder = tmp_path_factory.mktemp("code")
    for number, text in enumerate([*EXAMPLES, EVERY_THEORY]):
        (folder / f"example_{number}.py").write_text(text)
    (folder / "wrong.py").write_text(WRONG)
    return folder


def check(folder, *command):
    return subprocess.run(
        [sys.executable, "-m", *command],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, "MYPYPATH": str(SOURCE)},
    )


@pytest.mark.slow
def test_mypy(code):
    # with the project's own settings and cache: after `make lint` only the examples are left to check
    done = check(SOURCE.parent, "mypy", *sorted(code.glob("*.py")))
    errors = [line for line in done.stdout.splitlines() if ": error:" in line]
    assert len(errors) == 1, done.stdout
    assert "wrong.py:2: error: Argument 1" in errors[0]


@pytest.mark.slow
def test_pyright(code):
    settings = {
        "typeCheckingMode": "standard",
        "extraPaths": [str(SOURCE)],
        "reportMissingTypeStubs": False,
        "reportMissingModuleSource": False,
    }
    (code / "pyrightconfig.json").write_text(json.dumps(settings))
    done = check(code, "basedpyright", "--outputjson", "--pythonpath", sys.executable, "-p", code)
    answer = json.loads(done.stdout)
    errors = [one for one in answer["generalDiagnostics"] if one["severity"] == "error"]
    assert [Path(one["file"]).name for one in errors] == ["wrong.py"], errors
    assert answer["summary"]["filesAnalyzed"] == len(EXAMPLES) + 2
