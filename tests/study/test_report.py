"""The report says what could not be computed, and why, and goes on."""

from tiny import Tiny

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
