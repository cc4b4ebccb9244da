"""Training classes for given unseen ones: brute force, planted structure, names, refusals."""

from itertools import combinations

import numpy as np
import pytest

from firstlight.unseen_classes import Step, choose_classes
from firstlight.unseen_classes.own_data import Halves, predicted_recall

STEP = Step(width=64)


def planted(seed, rows=40, d=20):
    """Draw seven classes: 0 to 3 along one direction, the others elsewhere, turned at random."""
    rng = np.random.default_rng(seed)
    turn = np.linalg.qr(rng.normal(size=(d, d)))[0]
    means = np.zeros((7, d))
    means[:4, 0] = 2.0, -2.0, 6.0, -6.0
    means[[4, 5, 6], [1, 2, 3]] = 6.0
    y = np.repeat(np.arange(7), rows)
    return (means[y] + rng.normal(size=(7 * rows, d))) @ turn, y


@pytest.mark.parametrize("seed", range(2))
def test_networks_measure_what_theory_predicts_for_the_choice_and_for_random_sets(seed):
    X, y = planted(seed, 80)
    choice = choose_classes(X, y, [0, 1], step=Step(width=512), most=2, check=True, rng=seed)
    assert not set(choice.classes) & {0, 1}
    # 40 queries, of which a finite width changes a few: three differences of 1/40
    assert np.mean(choice.measured) == pytest.approx(choice.predicted, abs=0.08)
    assert len(choice.random) == 5
    gaps = [measured - predicted for _, predicted, measured in choice.random]
    assert np.mean(gaps) == pytest.approx(0, abs=0.08)


@pytest.mark.parametrize(("classes", "others"), [(4, 0), (5, 2), (7, 5)])
def test_random_sets_are_others_and_each_comes_once(classes, others):
    X, y = planted(1)
    rows = y < classes
    choice = choose_classes(X[rows], y[rows], [0, 1], step=STEP, most=2, check=True)
    sets = [set(one) for one, *_ in choice.random]
    assert len(sets) == others
    assert set(choice.classes) not in sets
    assert len({tuple(sorted(one)) for one in sets}) == others


@pytest.mark.parametrize("seed", range(3))
def test_the_pair_is_the_best_of_all(seed):
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(5), 24)
    X = rng.normal(size=(5, 6))[y] + rng.normal(size=(120, 6))
    from firstlight.maths.rng import generator, stream

    first, _ = Halves.draw(X, y, 60, stream(int(generator(seed).integers(2**63)), "halves")).halved()
    choice = choose_classes(X, y, [4], step=STEP, most=2, rng=seed)
    table = {pair: predicted_recall(first, (4,), pair, STEP) for pair in combinations(range(4), 2)}
    assert table[choice.classes] == max(table.values())


def test_names_units_and_order_of_classes_do_not_matter():
    X, y = planted(3)
    plain = choose_classes(X, y, [0, 1], step=STEP, rng=1)
    words = np.array(["cat", "dog", "eel", "fox", "gnu", "hen", "ibis"])
    named = choose_classes(1e3 * X, words[y], ["cat", "dog"], step=STEP, rng=1)
    assert named.classes == tuple(words[list(plain.classes)])
    assert named.predicted == pytest.approx(plain.predicted, abs=1e-12)  # the same counts
    assert choose_classes(X, y, ["0", "1"], step=STEP, rng=1).classes == plain.classes
    assert choose_classes(X, y.astype(float), np.array([0, 1]), step=STEP, rng=1).classes == plain.classes
    assert choose_classes(X, y, [0, "0", 1], step=STEP, rng=1).unseen == (0, 1)
    assert str(named).startswith("to find cat, dog untrained, train on ")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"unseen": []}, "unseen = .*must be a list"),
        ({"unseen": "01"}, "unseen = .*must be a list"),
        ({"unseen": np.array([[0, 1]])}, "unseen = .*must be a list"),
        ({"unseen": [9]}, "unseen 9: unknown"),
        ({"unseen": range(6)}, "unseen = .*two classes of four rows"),
        ({"most": 1}, "most = 1"),
        ({"step": 3}, "step"),
        ({"check": 1}, "check"),
        ({"y": [0] * 5 + [1] * 275}, "y: 2 class"),
        ({"y": np.r_[[6] * 5, np.arange(275) % 6], "unseen": [6]}, "6 has 5 rows, needs 8"),
    ],
)
def test_refusals(change, message):
    X, y = planted(0)
    given = {"y": y, "unseen": [0, 1], "step": STEP, **change}
    with pytest.raises(ValueError, match=message):
        choose_classes(X, **given)
