"""The evidence that the documentation shows was made by the theories in the tree."""

import json
import re
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from firstlight.show.evidence import read, stale

ROOT = Path(__file__).parents[2]
FILES = sorted((ROOT / "docs" / "evidence").glob("*.json"))
sys.path.insert(0, str(ROOT / "campaigns"))


def test_every_theory_has_evidence():
    theories = {row.theory for path in FILES for row in read(path)}
    assert {"early_alignment", "one_step", "phase_transition", "unseen_classes"} <= theories


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_evidence_speaks_of_what_is_installed(path):
    rows = read(path)
    assert stale(rows) == []
    for row in rows:
        assert row.claim.estimates
        assert row.command
        assert row.claim.statement.rule
        assert row.claim.statement.estimand


def test_the_page_is_made_from_the_evidence():
    import claims_page

    assert (ROOT / "docs" / "claims.md").read_text("utf-8") == claims_page.page()


def _as(row, scale, verdict):
    return replace(row, scale=scale, claim=replace(row.claim, verdict=verdict))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_kept_rows_say_what_would_decide_by_their_own_numbers(path):
    kept = [row["verdict"] for row in json.loads(path.read_text("utf-8"))["rows"]]
    assert kept == [row.verdict for row in read(path)]


def test_a_claim_counts_once_by_the_largest_scale_that_decides():
    import claims_page

    [first, *_] = read(FILES[0])
    quick, medium = _as(first, "quick", "holds"), _as(first, "medium", "does not hold")
    paper, open_quick = _as(first, "paper", "undecided"), _as(first, "quick", "undecided")
    assert claims_page.spoken([quick, medium, paper]) == [medium]
    assert claims_page.spoken([quick, paper]) == [quick]
    assert claims_page.spoken([open_quick, paper]) == [paper]
    for rows in ([quick, medium, paper], [quick, paper], [open_quick, paper]):
        assert claims_page.largest(rows) == [paper]
    assert claims_page.smaller([quick, paper]) == [(paper, quick)]
    assert claims_page.smaller([open_quick, paper]) == claims_page.smaller([quick, medium]) == []


def test_the_tables_have_one_line_for_each_claim_with_every_scale_in_it():
    import claims_page

    rows = [row for path in FILES for row in read(path)]
    tables = claims_page.page().partition("## How it was made")[2]
    assert tables.count("\n| **") == len(claims_page.spoken(rows)) < len(rows)
    for row in claims_page.spoken(rows):
        [line] = [
            line for line in tables.splitlines() if row.claim.text in line and f"`{row.command}`" in line
        ]
        assert line.startswith(f"| **{row.verdict}**")
        alike = [one for one in rows if (one.study, one.claim.text) == (row.study, row.claim.text)]
        assert all(f"`{one.command}`" in line and str(one.claim.estimates[0]) in line for one in alike)


def test_the_page_counts_both_ways_and_names_what_differs():
    import claims_page

    page, rows = claims_page.page(), [row for path in FILES for row in read(path)]
    differ = claims_page.smaller(rows)
    assert f"a smaller one for {len(differ)} of them" in page
    [undecided] = re.findall("By the largest scale alone .*?, ([0-9]+) are undecided", page, re.DOTALL)
    [at_no_scale] = re.findall(
        "By the largest scale that decides.*?, ([0-9]+) are undecided", page, re.DOTALL
    )
    assert int(undecided) - int(at_no_scale) == len(differ) > 0
    listed = page.partition("**Undecided at the larger scale, decided at the smaller**")[2].partition("##")[0]
    assert listed.count("\n- ") == len(differ)
    for large, small in differ:
        assert f"`{large.study}`: {large.claim.text} ({large.scale}" in listed
        assert small.claim.verdict != "undecided" == large.claim.verdict
