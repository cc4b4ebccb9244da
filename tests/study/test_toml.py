"""Studies from TOML: what a file may say, and how a wrong one is refused."""

import json
import os
import re
import sys
import threading
from textwrap import dedent

import numpy as np
import pytest
from tiny import THEORY, Tiny
from typer.testing import CliRunner

from firstlight.cli import app
from firstlight.study import registry, toml
from firstlight.study.registry import resolve
from firstlight.study.run import run
from firstlight.study.spec import Range
from firstlight.study.toml import read_study

GOOD = """
name = "tiny/toml"
description = "mean against the rate"
problem = "tiny"
trials = 4
axes.rate = { start = 1, stop = 4, num = 3, log = true }
axes.samples = [10, 20]
arms.simulation = { kind = "simulate", options = { shift = 0.0 } }
arms.theory = { kind = "predict" }
figure = { x = "rate", log_x = true, labels = { rate = "the rate" } }
refine = { axis = "rate", observable = "mean", arm = "theory", budget = 2 }
scales.paper = { trials = 10, axes = { samples = [1000] } }
"""


@pytest.fixture
def write(tmp_path, monkeypatch):
    monkeypatch.setitem(registry.theories(), "tiny", THEORY)

    def write(text):
        path = tmp_path / "study.toml"
        path.write_text(text, "utf-8")
        return path

    return write


def test_a_file_says_everything_a_study_can(write):
    study = read_study(write(GOOD))
    assert study.size == 6
    assert study.axes["rate"] == Range(1, 4, 3, log=True)
    assert study.at("paper").axes["samples"] == (1000,)
    assert study.refine.budget == 2
    assert study.source.endswith("study.toml")
    assert study.build(study.point(0)) == Tiny(1.0, 10)


@pytest.mark.parametrize(
    ("old", "new", "match"),
    [
        ("trials = 4", "trails = 4", "key 'trails': unknown, did you mean 'trials'"),
        ("trials = 4", "trials = -4", "trials = -4: must be an integer of at least 1"),
        ("trials = 4", 'trials = "4"', "trials = '4'"),
        ("trials = 4", "trials = 4.0", "trials = 4.0"),
        ("trials = 4", "seed = -1", "seed = -1"),
        ("trials = 4", 'source = "x"', "key 'source': unknown"),
        ("log = true }\n", "lgo = true }\n", "key axes.rate. 'lgo': unknown, did you mean 'log'"),
        ("num = 3", "num = -3", "axes.rate.num = -3: must be an integer of at least 2"),
        ("num = 3", "num = 3.0", "axes.rate.num = 3.0"),
        ("start = 1,", "", "axes.rate.start: is missing"),
        ("axes.samples = [10, 20]", "axes.samples = 10", "axes.samples = 10: must be a list"),
        ('kind = "predict"', 'kin = "predict"', "key arms.theory. 'kin': unknown, did you mean 'kind'"),
        ('kind = "predict"', 'kind = "theory"', "arms.theory.kind = 'theory'"),
        ("arms.theory = {", "arms.theory = [", "is not TOML"),
        ("budget = 2", "budget = 0", "refine.budget = 0"),
        ('x = "rate"', "x = 3", "figure.x = 3"),
        ("scales.paper = { trials = 10,", "scales.paper = { trials = 0,", "scales.paper.trials = 0"),
        ("samples = [1000]", "sample = [1000]", "did you mean 'samples'"),
        ('problem = "tiny"', 'problem = "one_stpe"', "did you mean 'one_step'"),
        ('problem = "tiny"', 'problem = "tiny.maen"', "did you mean 'tiny.mean'"),
        ('problem = "tiny"', "problem = 3", "problem = 3"),
        ('problem = "tiny"\n', "", "problem = None"),
        ('x = "rate"', 'draw = "os.system"', "figure.draw 'os.system': unknown"),
        ('x = "rate"', "draw = 3", "figure.draw 3: unknown"),
        ("trials = 4", 'claims = "os:system"', "claims 'os:system': unknown"),
        ('name = "tiny/toml"', "name = 3", "name = 3"),
        ('name = "tiny/toml"\n', "", "name: is missing"),
    ],
)
def test_refusals_say_where(write, old, new, match):
    assert old in GOOD
    with pytest.raises(ValueError, match=r"study\.toml") as caught:
        read_study(write(GOOD.replace(old, new, 1)))
    assert match in str(caught.value)


def test_files_that_are_none(tmp_path):
    with pytest.raises(ValueError, match="cannot be read"):
        read_study(tmp_path / "missing.toml")
    with pytest.raises(ValueError, match="cannot be read"):
        read_study(tmp_path)
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ValueError, match="is not TOML"):
        read_study(tmp_path / "binary.toml")
    (tmp_path / "large.toml").write_bytes(b"#" * 1_000_001)
    with pytest.raises(ValueError, match="larger than"):
        read_study(tmp_path / "large.toml")


def test_what_a_file_names_is_never_imported_or_called(write, tmp_path, monkeypatch):
    """Each of these ran code, or imported a module before it was refused."""
    (tmp_path / "trap.py").write_text("raise SystemExit('imported')\nclass Problem: pass\n")
    np.save(tmp_path / "pickle.npy", np.array([Tiny()], dtype=object), allow_pickle=True)
    monkeypatch.syspath_prepend(tmp_path)
    for name in (
        "trap:Problem", "trap", "trap.Problem", "firstlight.features:np.load", "firstlight.one_step:Problem",
        "one_step:Problem", "firstlight.maths.checks:np.load", "os:system", "__builtins__",
        "one_step.__init__", "one_step.scaled.scaled", "one_step.Problem", "one_step ", "one_step\\n", "",
        "tiny:Tiny", "../x",
    ):  # fmt: skip
        with pytest.raises(ValueError, match=r"study\.toml: problem"):
            read_study(write(GOOD.replace('problem = "tiny"', f'problem = "{name}"')))
    load = """
        name = "mine/x"
        description = "x"
        problem = "firstlight.maths.checks:np.load"
        fixed = { file = "pickle.npy", allow_pickle = true }
        axes.max_header_size = [10000]
        """
    with pytest.raises(ValueError, match=r"problem = .*must be a theory"):
        read_study(write(dedent(load)))
    assert "trap" not in sys.modules


def test_every_registered_name_stands_for_something():
    for theory in registry.theories().values():
        assert re.fullmatch("[a-z_]+", theory.name)
        for names in (theory.problems, theory.claims, theory.figures):
            assert all(
                re.fullmatch("[a-z_]+", name) and callable(resolve(ref)) for name, ref in names.items()
            )
        assert registry.problem(theory.name) == registry.problem(
            f"{theory.name}.{next(iter(theory.problems))}"
        )


def test_the_example_of_the_docstring_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = dedent(toml.__doc__.partition("::\n")[2])
    (tmp_path / "ridge.toml").write_text(text)
    study = read_study(tmp_path / "ridge.toml")
    assert study.build(study.point(0)).beta == 0.5  # the scaled family
    done = CliRunner().invoke(
        app, ["study", "run", "ridge.toml", "--workers", "0", "--trials", "2", "--json"]
    )
    assert done.exit_code == 0, done.output
    said = json.loads(done.stdout)
    assert said["failed"] == 0
    assert said["computed"] > 0


def test_a_byte_order_mark_is_accepted(write):
    path = write("\ufeff" + GOOD)
    assert path.read_bytes().startswith(b"\xef\xbb\xbf")
    assert read_study(path).size == 6


@pytest.mark.parametrize(
    "text",
    [
        "axes = " + "[" * 5000,
        "fixed = " + "{a = " * 5000,
        "fixed = " + "[" * 40 + "]" * 40,
        ".".join("a" * 50_000) + " = 1",
    ],
    ids=["brackets", "tables", "deep", "key"],
)
def test_what_is_nested_too_deeply_is_refused_at_once(write, text):
    with pytest.raises(ValueError, match=r"study\.toml: (nested|a key)"):
        read_study(write(text + "\n"))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes or devices here")
def test_pipes_and_devices_are_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe.toml")
    (tmp_path / "zero.toml").symlink_to("/dev/zero")
    (tmp_path / "null.toml").symlink_to("/dev/null")
    (tmp_path / "loop.toml").symlink_to("loop.toml")
    for name, match in (
        ("pipe", "not a regular file"), ("zero", "not a regular file"), ("null", "not a regular file"),
        ("loop", "cannot be read"),
    ):  # fmt: skip
        refused = []
        reader = threading.Thread(
            target=lambda name=name, refused=refused: refused.append(_refusal(tmp_path / f"{name}.toml")),
            daemon=True,
        )
        reader.start()
        reader.join(timeout=20)
        assert refused, f"{name}: still waiting"
        assert match in refused[0]


def _refusal(path):
    try:
        read_study(path)
    except ValueError as error:
        return str(error)
    return "read"


def test_the_example_runs(tmp_path):
    text = re.search(r"'''(.*?)'''", read_study.__doc__, re.DOTALL)[1].replace("... ", "")
    (tmp_path / "study.toml").write_text(text.replace("64, 128", "8, 16") + "trials = 2", "utf-8")
    results = run(read_study(tmp_path / "study.toml"), tmp_path / "s.sqlite", workers=0)
    assert results.attrs["failed"] == 0
    assert results["operator_norm"].isel(trial=0).notnull().all()


@pytest.mark.parametrize("digits", [4301, 5000, 100_000])
def test_an_integer_that_python_will_not_read_is_refused_with_the_files_name(write, digits):
    text = GOOD.replace("trials = 4", f"trials = {'9' * digits}")
    with pytest.raises(ValueError, match=r"study\.toml: an integer of thousands of digits; write it shorter"):
        read_study(write(text))
