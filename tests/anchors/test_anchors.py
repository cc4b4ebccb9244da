"""Numbers that others have published, within what their errors and ours allow."""

import sys
from dataclasses import replace
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
import compare

QUICK = {
    "closed forms": compare.closed_forms,
    "ReLU network": compare.dmft_relu,
    "second layer of ones": lambda: compare.all_ones(200, 8),
    "figure 1c": lambda: compare.demir_beta(slice(1, None, 3), draws=2),
    "figure 1a": lambda: compare.demir_width(slice(0, None, 5), draws=2),
    "one data set": compare.one_data_set,
}


@pytest.mark.parametrize("name", QUICK)
def test_published_numbers(name):
    result = QUICK[name]()
    assert result
    assert [
        f"{one.what}: {one.gap:.3g}, allowed {one.tolerance:.3g}" for one in result if not one.holds
    ] == []


def test_another_step_is_not_theirs(monkeypatch):
    """Half the step nearly doubles the error: far outside what a few draws of this size allow."""
    facts = compare.numbers("cui_one_step")
    halved = {"theory": {**facts["theory"], "step": facts["theory"]["step"] / 2}}
    monkeypatch.setattr(compare, "numbers", lambda name: {**facts, **halved})
    assert not compare.all_ones(100, 4)[0].holds


def test_a_threshold_that_is_one_percent_off_is_seen():
    assert all(one.holds for one in compare._algorithmic("", {"z1/z2": 1.0}))
    assert not any(one.holds for one in compare._algorithmic("", {"z1/z2": 1.01, "(z1**2 + z2**2)/2": 0.99}))


def test_every_step_of_the_simulations_counts(monkeypatch):
    """One of six published steps moved by five of its errors."""
    facts = compare.numbers("dmft_relu")
    facts["simulation"]["overlap_z1"][3] += 5 * facts["simulation"]["overlap_sem"][3]
    monkeypatch.setattr(compare, "numbers", lambda name: facts)
    assert [one.what for one in compare.dmft_relu() if not one.holds] == [
        "32 simulations, ReLU, D = 5000: overlap with z1, steps 1 to 6"
    ]


def test_the_page_has_every_anchor():
    text = (Path(__file__).parents[2] / "docs" / "anchors.md").read_text("utf-8")
    for one in compare.one_data_set():
        assert one.what in text
    targets = [
        name for file in ("closed_forms", "multi_index") for name in compare.numbers(file)["delta_alg"]
    ]
    for what in (
        *(f"delta_alg, {target} |" for target in targets),
        *("Annesi et al.", "Troiani et al.", "Dandi et al.", "Figure 1c", "Figure 1a", "Cui et al."),
        *("overlap with z2", "squared length of the rows", "inner product of the rows", "their DMFT"),
    ):
        assert what in text
    assert not replace(compare.one_data_set()[0], gap=4.0).holds
