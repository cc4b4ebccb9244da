"""The report says what could not be computed, and why, and goes on."""

from dataclasses import replace

import pytest
from tiny import Tiny
from typer.testing import CliRunner

from firstlight.cli import app
from firstlight.show.report import report
from firstlight.study.sweep import Study


def test_a_study_whose_trials_all_fail_is_reported_with_the_reason(tmp_path, monkeypatch):
    monkeypatch.setattr("firstlight.show.foundation.CHAPTERS", {})  # ten seconds that have their own doctests

    def study(name, **fixed):
        return Study(name, "a tiny study", Tiny, axes={"rate": [2.0]}, trials=1, fixed=fixed)

    broken = Study(
        "tiny/broken", "never works", Tiny, axes={"rate": [2.0]}, fixed={"broken_at": 2.0}, trials=1,
        arms={"simulation": study("tiny/a").arms["simulation"]},
    )  # fmt: skip
    said = {}
    page = report(
        [broken, study("tiny/good")], store=tmp_path / "s.sqlite", destination=tmp_path / "r.html", workers=1,
        say=lambda title, verdict, seconds: said.update({title: verdict}),
    ).read_text()  # fmt: skip
    assert "broken on purpose" in said["tiny/broken"]
    assert said["tiny/broken"] in page
    assert not said["tiny/good"].startswith("not run")


@pytest.mark.parametrize("damage", ["text", "folder"])
def test_a_store_that_cannot_be_used_ends_the_report_with_its_reason(tmp_path, monkeypatch, damage):
    monkeypatch.setattr("firstlight.show.foundation.CHAPTERS", {})
    path, page = tmp_path / "s.sqlite", tmp_path / "r.html"
    if damage == "text":
        path.write_text("this is no database, it is a letter to a friend " * 10)
    else:
        path.mkdir()
    said = CliRunner().invoke(app, ["report", "--store", str(path), "--to", str(page), "--workers", "0"])
    assert said.exit_code == 2
    assert said.stderr.startswith(f"error: {path}: ")
    assert len(said.stderr.splitlines()) == 1
    assert not page.exists()


def test_ctrl_c_in_a_report_says_how_to_resume(tmp_path, monkeypatch):
    def interrupted(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr("firstlight.show.report.chapter", interrupted)
    monkeypatch.setattr("firstlight.show.foundation.CHAPTERS", {})
    monkeypatch.setattr("sys.argv", ["/somewhere/firstlight", "report", "--to", "my page.html"])
    said = CliRunner().invoke(app, ["report", "--to", str(tmp_path / "r.html")])
    assert said.exit_code == 130
    assert "every finished trial is kept. To resume" in said.stderr
    assert "firstlight report --to 'my page.html'" in said.stderr


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--scale", "ppaper"), "scale 'ppaper': unknown, did you mean 'paper'?"),
        (("--workers", "-1"), "Invalid value for '--workers'"),
        (("--to", "."), "destination = .: must be a file, and is a folder"),
    ],
)
def test_what_no_study_can_be_run_with_is_refused_before_anything_is_done(
    tmp_path, monkeypatch, options, said
):
    def never(*arguments, **named):
        raise AssertionError("something was done")

    monkeypatch.setattr("firstlight.data.cache.folder_of", never)
    monkeypatch.setattr("firstlight.show.report.chapter", never)
    monkeypatch.setattr("firstlight.show.foundation.CHAPTERS", {})
    page = tmp_path / "r.html"
    page.write_text("a good report")
    answer = CliRunner().invoke(app, ["report", "--to", str(page), *options], env={"COLUMNS": "200"})
    assert answer.exit_code == 2
    assert said in answer.stderr
    assert page.read_text() == "a good report"


def test_a_report_in_which_no_study_ran_is_not_written(tmp_path, monkeypatch):
    monkeypatch.setattr("firstlight.show.foundation.CHAPTERS", {})
    whole = Study("tiny/broken", "", Tiny, {"rate": [2.0]}, fixed={"broken_at": 2.0}, trials=1)
    broken = replace(whole, arms={"simulation": whole.arms["simulation"]})
    page = tmp_path / "r.html"
    page.write_text("a good report")
    with pytest.raises(RuntimeError, match=r"r.html: not written, as none of the 1 studies could be run"):
        report([broken], store=tmp_path / "s.sqlite", destination=page, workers=0)
    assert page.read_text() == "a good report"
