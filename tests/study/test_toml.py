"""Studies from TOML: what a file may say, and how a wrong one is refused."""

import pytest
from tiny import Tiny

from firstlight.study.spec import Range
from firstlight.study.toml import read_study

GOOD = """
name = "tiny/toml"
description = "mean against the rate"
problem = "tiny:Tiny"
trials = 4
axes.rate = { start = 1, stop = 4, num = 3, log = true }
axes.samples = [10, 20]
arms.simulation = { door = "simulate", options = { shift = 0.0 } }
arms.theory = { door = "predict" }
figure = { x = "rate", log_x = true, labels = { rate = "the rate" } }
refine = { axis = "rate", observable = "mean", arm = "theory", budget = 2 }
scales.paper = { trials = 10, axes = { samples = [1000] } }
"""


@pytest.fixture
def write(tmp_path):
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
        ('door = "predict"', 'dor = "predict"', "key arms.theory. 'dor': unknown, did you mean 'door'"),
        ('door = "predict"', 'door = "theory"', "arms.theory.door = 'theory'"),
        ("arms.theory = {", "arms.theory = [", "is not TOML"),
        ("budget = 2", "budget = 0", "refine.budget = 0"),
        ('x = "rate"', "x = 3", "figure.x = 3"),
        ("scales.paper = { trials = 10,", "scales.paper = { trials = 0,", "scales.paper.trials = 0"),
        ("samples = [1000]", "sample = [1000]", "did you mean 'samples'"),
        ('problem = "tiny:Tiny"', 'problem = "one_stpe"', "did you mean 'one_step'"),
        ('problem = "tiny:Tiny"', "problem = 3", "problem = 3"),
        ('problem = "tiny:Tiny"', 'problem = "tiny:Nothing"', "Nothing"),
        ('problem = "tiny:Tiny"\n', "", "problem = None"),
        ('problem = "tiny:Tiny"', 'problem = "os:system"', "must be a Problem class"),
        ('problem = "tiny:Tiny"', 'problem = "builtins:dict"', "must be a Problem class"),
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
