"""The command line: words, JSON, exit codes."""

import json
import math
import os
import sqlite3
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from tiny import THEORY
from typer.testing import CliRunner

from firstlight import demo
from firstlight.cli.study import app
from firstlight.study import registry
from firstlight.study.spec import Scale

TOML = """
name = "tiny/cli"
description = "mean against the rate"
problem = "tiny"
trials = 3
fixed = { samples = 20, broken_at = -1.0 }
axes.rate = [1.0, 2.0]
scales.paper = { trials = 5 }
"""


@pytest.fixture
def study(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(registry.theories(), "tiny", THEORY)
    Path("study.toml").write_text(TOML)
    return "study.toml"


def call(*arguments, code=0):
    said = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert said.exit_code == code, said.output
    return said


def test_a_study_from_first_to_last(study):
    first = call("run", study, "--workers", 0)
    assert "8 computed, 0 kept, 0 failed" in first.stdout
    assert first.stderr == ""  # no bar where there is no terminal
    assert Path("out/study.sqlite").exists()
    more = json.loads(call("run", study, "--workers", 0, "--scale", "paper", "--json").stdout)
    assert (more["computed"], more["kept"]) == (4, 8)
    assert json.loads(call("status", "--json").stdout)["integrity"] == "ok"
    assert "tiny/cli: 12 results" in call("status").stdout
    shown = json.loads(call("show", study, "--json").stdout)
    assert shown["attrs"]["command"] == "firstlight study run study.toml --scale quick --trials 3 --seed 0"
    assert len(shown["rows"]) == 4
    assert "undecided" in call("show", study).stdout
    assert call("figure", study).stdout.split()[0] == "out/figures/tiny-cli-quick.png"
    for kind in ("nc", "parquet", "csv"):
        assert Path(call("export", study, "--to", kind).stdout.strip()).exists()


def test_json_has_the_digits_that_the_records_have(study, monkeypatch):
    """Fifteen places after the point are few for what is small: 1.2345e-14 was told as 1.2e-14."""
    call("run", study, "--workers", 0)
    frame = pd.DataFrame(
        {"x": [1.2345e-14, 3.25e-15, -1.5e-300, 1 / 3, 1e22, math.nan], "arm": list("abcdef")}
    )
    monkeypatch.setattr("firstlight.show.summary.table", lambda study, results: frame)
    rows = json.loads(call("show", study, "--json").stdout)["rows"]
    assert [row["x"] for row in rows] == [*frame.x[:-1], None]
    assert [row["arm"] for row in rows] == list("abcdef")


def test_a_dry_run_writes_nothing(study):
    said = json.loads(call("run", study, "--dry-run", "--json").stdout)
    assert (said["points"], said["records"], said["missing"]) == (2, 8, 8)
    assert "about" in call("run", study, "--dry-run", "--workers", 0).stdout
    assert not Path("out").exists()


def test_failed_trials_are_told_and_counted_in_the_exit_code(study):
    Path(study).write_text(TOML.replace("broken_at = -1.0", "broken_at = 2.0"))
    answer = call("run", study, "--workers", 0, code=1)
    assert "3 failed" in answer.stdout
    assert "broken on purpose" in answer.stderr
    assert "broken on purpose" in call("show", study).stdout


def test_missing_records_are_told(study):
    call("run", study, "--workers", 0)
    assert "4 records are missing" in call("show", study, "--trials", 5).stdout
    for command in ("figure", "export"):  # what they write does not say so
        told = call(command, study, "--trials", 5)
        assert "4 records are missing; run: firstlight study run" in told.stderr
        assert "missing" not in told.stdout
        assert not call(command, study).stderr


def test_nothing_is_no_export(study):
    """It was an empty file, or a Dataset without a value, and took the place of the last one."""
    call("run", study, "--workers", 0)
    Path("old.csv").write_text("old")
    for kind in ("csv", "parquet", "nc"):
        refused = call("export", study, "--seed", 9, "--to", kind, "--output", "old.csv", code=2)
        assert "holds nothing to export" in refused.stderr
    assert Path("old.csv").read_text() == "old"


def test_a_billion_points(study):
    Path(study).write_text(TOML.replace("[1.0, 2.0]", "{ start = 1, stop = 2, num = 1000000000 }"))
    assert "1000000000 points" in call("run", study, "--dry-run", "--workers", 0).stdout
    refused = call("run", study, "--workers", 0, code=2)
    assert "--force" in refused.stderr
    assert len(refused.stderr.strip().splitlines()) == 1


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        (("run", "no/such"), "study 'no/such': unknown"),
        (("run", "missing.toml"), "cannot be read"),
        (("run", "study.toml", "--scale", "huge"), "scale 'huge': unknown"),
        (("run", "study.toml", "--trials", 0), ""),
        (("run", "study.toml", "--seed", -1), ""),
        (("run", "study.toml", "--workers", -1), ""),
        (("run", "study.toml", "--store", "study.toml"), "not a database"),
        (("run", "study.toml", "--cluster", "nonsense://x"), "cluster = 'nonsense://x'"),
        (("show", "study.toml"), "no such store"),
        (("status",), "no such store"),
        (("export", "study.toml", "--to", "xlsx"), "no such store"),
        (("figure", "study.toml", "--store", "study.toml"), "not a database"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_two(study, arguments, match):
    refused = call(*arguments, code=2)
    assert match in refused.stderr
    assert "Traceback" not in refused.output


@pytest.mark.parametrize(
    "words",
    [
        "diagnose {0} --seconds 0.01 --html ./{0}",
        "study export demo/rate --store {0} --output ./{0}",
        "study export {0} --output ./{0}",
        "claims --study early-alignment/loss-rate --workers 0 --store {0} --html ./{0}",
        "claims --study early-alignment/loss-rate --workers 0 --store {0} --save ./{0}",
        "report --scale quick --offline --store {0} --to ./{0}",
    ],
)
def test_what_is_read_is_not_written_over(words, study, monkeypatch):
    """A page took the place of the rows that it was about, an export that of the store with its records."""
    from firstlight.cli import app as commands

    monkeypatch.setattr(registry, "studies", lambda: {"demo/rate": demo.STUDY})
    monkeypatch.setattr(registry, "featured", list)
    name = study if "export {0}" in words else "rows.csv"
    if name == "rows.csv":
        Path(name).write_text("a,y\n" + "1,1\n2,0\n3,1\n1,0\n" * 9)
    before = Path(name).read_bytes()
    said = CliRunner().invoke(commands, words.format(name).split())
    assert said.exit_code == 2
    assert f"must be another file than {name}, which is read" in said.stderr
    assert Path(name).read_bytes() == before


def test_a_negative_size_names_its_point(study):
    Path(study).write_text(TOML.replace("samples = 20", "samples = -20"))
    refused = call("run", study, code=2)
    assert "tiny/cli at rate = 1.0: samples = -20: must be at least 1" in refused.stderr


def test_the_list_tells_names_and_costs(monkeypatch):
    untimed = replace(demo.STUDY, name="demo/untimed", scales={"paper": Scale(trials=8)})
    known = {study.name: study for study in (demo.STUDY, untimed)}
    monkeypatch.setattr(registry, "studies", lambda: known)
    monkeypatch.setattr("firstlight.study.dry_run.costs", lambda: {"demo/rate": {"quick": 90.0}})
    rows = {row["name"]: row["scales"] for row in json.loads(call("list", "--json").stdout)}
    assert rows["demo/rate"]["quick"] == {"points": 3, "records": 15, "seconds": 90.0}
    assert rows["demo/untimed"]["paper"] == {"points": 3, "records": 27, "seconds": None}
    lines = call("list").stdout.splitlines()
    assert lines[0].startswith("demo/rate     mean and variance of waiting times against the rate")
    assert lines[0].endswith("(quick: 15 records, 1.5 min)")
    assert len(lines) == 2


@pytest.mark.filterwarnings("default::firstlight.study.store.DamagedRecords")
def test_damage_is_told_and_mended(study):
    call("run", study, "--workers", 0)
    with sqlite3.connect("out/study.sqlite") as connection:
        connection.execute("UPDATE records SET seconds = seconds + 1 WHERE rowid = 3")
    connection.close()
    assert "1 damaged record: tiny/cli at" in call("status", code=1).stdout
    shown = call("show", study)
    assert "warning: out/study.sqlite: 1 damaged record: tiny/cli at" in shown.stderr
    assert "1 records are missing; run: firstlight study run study.toml" in shown.stdout
    assert "1 computed, 7 kept" in call("run", study, "--workers", 0).stdout
    assert "integrity ok" in call("status").stdout


def test_the_shell_completes_our_commands(tmp_path):
    code = "import sys; sys.argv[0] = 'firstlight'\nfrom firstlight.cli import main; main()"
    variables = {**os.environ, "HOME": str(tmp_path), "COMP_WORDS": "firstlight stu", "COMP_CWORD": "1"}
    command = [sys.executable, "-c", code]
    # which shell it is for is seen from the parent process, which must be bash, whatever runs the tests
    install = ["bash", "-c", '"$@"; exit $?', "bash", *command, "--install-completion", "bash"]
    done = subprocess.run(install, env=variables, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "_FIRSTLIGHT_COMPLETE=complete_bash" in (tmp_path / ".bash_completions/firstlight.sh").read_text()
    asked = {**variables, "_FIRSTLIGHT_COMPLETE": "complete_bash"}
    assert subprocess.run(command, env=asked, capture_output=True, text=True).stdout.split() == ["study"]


_COMMAND = [sys.executable, "-c", "from firstlight.cli import main; main()"]


@pytest.mark.parametrize("encoding", ["cp1252", "ascii"])
def test_words_and_json_come_whatever_letters_a_terminal_has(encoding):
    """Where δ is no letter, nothing was printed at all, after everything had been computed."""

    def said(command, encoding):
        variables = {**os.environ, "PYTHONIOENCODING": encoding}
        done = subprocess.run([*_COMMAND, *command], env=variables, capture_output=True)
        assert (done.returncode, done.stderr) == (0, b"")
        return done.stdout

    assert b"one-step/width" in said(["study", "list"], encoding)
    cited = said(["cite", "--json"], encoding)
    written = "utf-8" if encoding == "ascii" else encoding  # click mistrusts ASCII
    assert json.loads(cited.decode(written)) == json.loads(said(["cite", "--json"], "utf-8"))


@pytest.mark.parametrize("encoding", ["latin-1", "cp437"])
def test_names_of_classes_are_json_in_any_encoding(encoding, tmp_path):
    r"""Python writes \xe3 and \U0001f600, which are no letters of JSON."""
    names = {"größer", "ã", "😀", "δ"}
    rows = [f"{i % 7},{i * i % 11},{name}" for i, name in enumerate(sorted(names) * 8)]
    file = tmp_path / "rows.csv"
    file.write_text("\n".join(["a,b,y", *rows]), encoding="utf-8")
    command = [*_COMMAND, "diagnose", str(file), "--seconds", "0.01", "--json"]
    variables = {**os.environ, "PYTHONIOENCODING": encoding}
    told = subprocess.run(command, env=variables, capture_output=True, check=True).stdout
    assert set(json.loads(told.decode(encoding))["classes"]) == names


@pytest.mark.parametrize("command", [["theories"], ["data", "list"], ["study", "list"], ["cite"]])
def test_whoever_reads_may_stop(command):
    with subprocess.Popen([*_COMMAND, *command], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as said:
        said.stdout.close()
        assert (said.stderr.read(), said.wait()) == (b"", 0)
