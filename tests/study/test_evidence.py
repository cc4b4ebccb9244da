"""The evidence that the documentation shows was made by the theories in the tree."""

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


def test_a_claim_counts_once_by_the_largest_scale_that_decides():
    import claims_page

    [first, *_] = read(FILES[0])

    def row(scale, verdict):
        return replace(first, scale=scale, claim=replace(first.claim, verdict=verdict))

    quick, medium, paper = row("quick", "holds"), row("medium", "does not hold"), row("paper", "undecided")
    assert claims_page.spoken([quick, medium, paper]) == [medium]
    assert claims_page.spoken([quick, paper]) == [quick]
    assert claims_page.spoken([row("quick", "undecided"), paper]) == [paper]
