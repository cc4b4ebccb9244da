"""Classes left out of own data: Recall@1 by theory, by networks and by the rows, and what to train on."""

import re
from dataclasses import replace

import numpy as np
import pytest

from firstlight.diagnosis import Clock, user_data
from firstlight.unseen_classes import Step
from firstlight.unseen_classes.diagnosis import _advice, _State, diagnose
from firstlight.unseen_classes.experiment.own_data import raw_recall, trained_recall
from firstlight.unseen_classes.own_data import Halves, LeftOut, choose_training, leave_out, predicted_recall


def clouds(classes, rows, d, spread, seed):
    rng = np.random.default_rng(seed)
    centres = spread * rng.normal(size=(classes, d))
    y = np.repeat(np.arange(classes), rows)
    return centres[y] + rng.normal(size=(classes * rows, d)), y


def test_no_row_is_both_trained_on_and_queried():
    X, y = clouds(4, 20, 5, 1.0, 0)
    halves = Halves.draw(X, y, 8, np.random.default_rng(0))
    assert not set(halves.train) & set(halves.query)
    assert np.bincount(y[halves.train]).tolist() == [8] * 4
    data = halves.without((2,))
    assert set(np.unique(data.train_labels)) == {0, 1, 3}
    assert len(data.unseen) == 32  # every row that is not trained on can be found


def test_recall_of_rows_agrees_with_a_double_loop():
    X, y = clouds(3, 12, 4, 0.7, 1)
    distance = np.linalg.norm(X[:, None] - X, axis=2) + np.diag(np.full(36, np.inf))
    hit = y[distance.argmin(axis=1)] == y
    assert np.allclose(raw_recall(X, y, False), [hit[y == c].mean() for c in range(3)])


@pytest.mark.parametrize("seed", range(8))
def test_constant_columns_and_where_columns_lie_play_no_part(seed):
    """A mean of equal numbers is rounded, so that they seem to vary by 1e-17: 0.95 became the 1/3 of chance.

    Moved by up to 1e9, columns lose seven of their sixteen digits: no two rows change places by that.
    """
    X, y = clouds(3, 30, 4, 3.0, seed)
    rng = np.random.default_rng(seed)
    constant = np.broadcast_to(np.round(rng.normal(size=3), 1), (90, 3))
    moved = X + 10 ** rng.uniform(3, 9, 4)
    for flag in (False, True):
        alone = raw_recall(X, y, flag)
        np.testing.assert_array_equal(raw_recall(np.hstack([X, constant]), y, flag), alone)
        np.testing.assert_array_equal(raw_recall(moved, y, flag), alone)


def test_theory_is_near_the_network_on_gaussian_classes():
    """Width 512: 40 queries, of which a finite width changes a few; three differences of 1/40."""
    X, y = clouds(5, 80, 10, 0.8, 0)
    halves = Halves.draw(X, y, 40, np.random.default_rng(0))
    one = leave_out(halves, 1, Step(width=512), np.random.default_rng(1))
    assert one.queries == 40
    assert one.measured["recall"] == pytest.approx(one.predicted["recall"], abs=0.08)
    assert one.measured["alignment"] == pytest.approx(one.predicted["alignment"], abs=0.05)
    assert one.measured["elasticity"] == pytest.approx(one.predicted["elasticity"], rel=0.25)


def test_a_trained_network_needs_no_rows_of_the_class():
    X, y = clouds(3, 40, 6, 3.0, 0)
    found = trained_recall((X[y < 2], y[y < 2]), X, y, np.random.default_rng(0))
    assert found.shape == (3,)
    assert found[2] > 0.8


def test_the_greedy_choice_is_at_least_the_best_pair():
    X, y = clouds(5, 30, 6, 0.8, 2)
    halves = Halves.draw(X, y, 15, np.random.default_rng(0))
    classes, value = choose_training(halves, (0, 1), Step(width=128))
    assert not set(classes) & {0, 1}
    assert value == pytest.approx(predicted_recall(halves, (0, 1), classes, Step(width=128)))
    for pair in ((2, 3), (2, 4), (3, 4)):
        assert value >= predicted_recall(halves, (0, 1), pair, Step(width=128))


def test_two_classes_get_the_raw_baseline_and_numbers_nothing():
    X, y = clouds(2, 30, 4, 1.0, 0)
    found = next(diagnose(user_data(X, y), Clock(1e9)))
    assert found.speaks == "no"
    assert found.says == ""  # the baseline is measured, not predicted
    assert "% of 15 rows of 0 (90 % interval" in found.measured
    assert next(diagnose(user_data(X, X[:, 0]), Clock(1e9))).speaks == "no"


def test_a_rare_class_does_not_share_the_numbers_of_a_common_one():
    """Ten rows among 300 that look alike: nearly all of their neighbours are of the other class."""
    X = np.random.default_rng(0).normal(size=(300, 4))
    said = next(diagnose(user_data(X, np.arange(300) % 30 == 0), Clock(1e9))).measured
    common, rare = (int(one) for one in re.findall(r"(\d+) % of \d+ rows", said))
    assert common > 80
    assert rare < 50


def test_three_classes_are_left_out_in_turn_and_the_clock_ends_it():
    X, y = clouds(3, 30, 4, 1.5, 0)
    found = list(diagnose(user_data(X, y), Clock(1e9)))
    assert len(found) == 3
    assert len(found[-1].predictions) == 3
    assert all(one.checked for one in found[-1].predictions)
    assert "raw rows" in found[-1].measured
    assert len(list(diagnose(user_data(X, y), Clock(1e-9)))) == 1


def test_six_classes_get_a_choice_with_random_sets_beside_it():
    X, y = clouds(6, 24, 5, 0.8, 0)
    found = list(diagnose(user_data(X, y), Clock(1e9)))[-1]
    assert len(found.tables) == 2
    assert [row[1] for row in found.tables[1].rows] == ["chosen"] + ["random"] * 5
    assert "theory would train on" in found.advice[-1]
    assert re.search(r"raw rows [\d.]+, random classes \d", found.advice[-1])


@pytest.mark.parametrize("seed", [2, 5, 9])
def test_a_choice_among_classes_that_are_all_alike_is_not_praised(seed):
    """Checked with the rows that decided, the best of many looked good in half of all such sets."""
    x = np.random.default_rng(seed).normal(size=(144, 4))
    *_, found = diagnose(user_data(x, np.arange(144) % 6, seed=seed), Clock(1e9))
    assert found.advice[-1].endswith("the choice matters little here.")


@pytest.mark.parametrize(("classes", "rows"), [(3, 8), (5, 8), (5, 6), (13, 6), (6, 5)])
def test_the_last_finding_says_so(classes, rows):
    """With a choice and without: if the time is up then, it is not called unfinished."""
    found = list(diagnose(user_data(*clouds(classes, rows, 3, 2.0, 0), task="classification"), Clock(1e9)))
    assert [one.last for one in found] == [False] * (len(found) - 1) + [True]


@pytest.mark.parametrize(
    ("queries", "missed", "told"), [(5, 1, 0), (5, 2, 0), (20, 20, 1), (40, 1, 0), (40, 9, 1)]
)
def test_one_row_in_fifteen_is_no_reason_to_standardise(queries, missed, told):
    """Where one way misses none, a spread of √(p (1 - p)) would be 0, and any other row a reason."""
    known = {"recall": 1.0}
    one = LeftOut(0, queries, 1.0, 1.0, known, known, 1.0)
    for other in (replace(one, raw=1 - missed / queries), replace(one, standardised=1 - missed / queries)):
        state = _State(None, [one, one, other])
        said = _advice(user_data(*clouds(3, 10, 2, 1.0, 0)), state)
        assert sum("tandardise the columns" in line for line in said) == told


def test_classes_of_few_rows_get_no_choice():
    """Of five rows three are queries: too few to choose with some and to check with others."""
    X, y = clouds(6, 5, 3, 2.0, 0)
    *_, found = diagnose(user_data(X, y), Clock(1e9))
    assert all(one.checked for one in found.predictions)
    assert "theory would train" not in " ".join(found.advice)


def test_no_class_is_favoured_where_rows_are_equally_near():
    """Columns of ±1 with no class in them, sorted by class; by order it was 0.65, 0.27 and 0.08.

    A class's mean over draws has an error of 0.03; the range of three stays below four of a difference.
    """
    rng, shares = np.random.default_rng(0), []
    for _ in range(8):
        X, y = rng.choice([-1.0, 1.0], size=(120, 6)), np.arange(120) // 40
        halves = Halves.draw(X, y, 20, rng)
        raw = raw_recall(X[halves.query], y[halves.query], False)
        rest = ((1, 2), (0, 2), (0, 1))
        shares.append([raw, [predicted_recall(halves, (c,), rest[c], Step(width=64)) for c in range(3)]])
    assert (np.ptp(np.mean(shares, axis=0), axis=1) < 0.17).all()


def test_two_classes_of_signs_get_the_same_numbers_whichever_is_called_first():
    """The parity of three signs: 92 and 38 % when the first class won all ties."""
    X = np.random.default_rng(0).choice([-1.0, 1.0], size=(300, 8))
    y = X[:, :3].prod(axis=1)
    for sign in (1, -1):
        said = next(diagnose(user_data(X, sign * y), Clock(1e9))).measured
        first, second = (int(one) for one in re.findall(r"(\d+) % of \d+ rows", said))
        assert abs(first - second) < 25  # 60 rows each: two errors of a difference are 16


def test_rows_that_decide_are_not_those_that_check():
    X, y = clouds(5, 20, 3, 1.0, 0)
    first, second = Halves.draw(X, y, 10, np.random.default_rng(0)).halved()
    assert not set(first.query) & set(second.query)
    assert np.bincount(y[first.query]).tolist() == np.bincount(y[second.query]).tolist() == [5] * 5
