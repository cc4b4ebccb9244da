"""Directions in data: found where they are, not where they are not, and what a network learns of them."""

import re

import numpy as np
import pytest
from sklearn.datasets import make_circles

from firstlight.diagnosis import Clock, user_data
from firstlight.diagnosis.result import drawn
from firstlight.phase_transition.diagnosis import _predictions, _says, diagnose
from firstlight.phase_transition.experiment.learnt import overlap
from firstlight.phase_transition.own_advice import advice, outstanding
from firstlight.phase_transition.own_data import State, begin, halve, visible_from
from firstlight.phase_transition.theory.delta_data import inverse_delta
from firstlight.phase_transition.theory.hidden import (
    Found,
    blocks,
    directions_of,
    easy_directions,
    hard_directions,
    permuted,
    slices,
    spread_matrix,
    whitened,
)


def elliptic(n, d, rng):
    """Rows of one random length each: not Gaussian, and squares of coordinates go together."""
    return rng.normal(size=(n, d)) * np.sqrt(3 / rng.chisquare(3, size=(n, 1)))


def found(x, y, classes, seed, permutations=99):
    rng = np.random.default_rng(seed)
    z = whitened(x)
    easy = easy_directions(z, slices(y, classes), permutations, rng)
    return easy, hard_directions(z, y, classes, easy.directions, permutations, rng)


def test_whitening_does_not_depend_on_units():
    x = np.random.default_rng(0).normal(size=(200, 3))
    one, other = whitened(x), whitened(x * [1, 1e6, 1e-6] + 5)
    assert np.allclose(np.abs(one), np.abs(other), rtol=1e-6, atol=1e-8)


def test_columns_that_add_up_to_others_are_no_hidden_direction():
    """One column too many (all of a category's indicators) is a direction of variance zero in every class."""
    rng = np.random.default_rng(0)
    x = np.column_stack([rng.normal(size=(300, 4)), np.eye(3)[rng.integers(3, size=300)]])
    z = whitened(x)
    assert z.shape == (300, 6)
    assert np.allclose(z.var(axis=0), 1, atol=0.1)  # Ledoit-Wolf shrinks by a few per cent
    assert whitened(x[:6]).shape == (6, 7)  # too few rows to tell


def test_blocks_hold_every_row_once_and_permutations_stay_inside():
    scores = np.random.default_rng(0).normal(size=(137, 2))
    groups = blocks(scores)
    assert np.array_equal(np.sort(np.concatenate(groups)), np.arange(137))
    order = permuted(137, groups, np.random.default_rng(1))
    for group in groups:
        assert set(order[group]) == set(group)


@pytest.mark.parametrize("law", ["gaussian", "elliptic"])
def test_false_alarms_of_noise_and_of_a_linear_signal(law):
    """At 5 % of 60 sets, eight or more alarms have a chance below 1 %; without projection most alarm."""
    alarms = {"easy": 0, "hard": 0, "hard beside linear": 0}
    for seed in range(60):
        rng = np.random.default_rng(seed)
        x = rng.normal(size=(100, 6)) if law == "gaussian" else elliptic(100, 6, rng)
        easy, hard = found(x, rng.normal(size=100), 0, seed, 39)
        alarms["easy"] += easy.p[0] <= 0.05
        alarms["hard"] += hard.p[0] <= 0.05
        _, hard = found(x, x[:, 0] + 0.3 * rng.normal(size=100), 0, seed, 39)
        alarms["hard beside linear"] += hard.p[0] <= 0.05
    assert all(count < 8 for count in alarms.values()), alarms


@pytest.mark.parametrize(
    ("link", "classes", "easy", "hard"),
    [
        (lambda z: z[:, 0], 0, 1, 0),
        (lambda z: z[:, 0] ** 2, 0, 0, 1),
        (lambda z: z[:, 0] + z[:, 1] ** 2, 0, 1, 1),
        (lambda z: (z[:, 0] * z[:, 1] > 0).astype(int), 2, 0, 2),
        (lambda z: np.digitize(np.arctan2(z[:, 0], z[:, 1]), [-1, 1]), 3, 2, 0),
    ],
)
def test_the_right_number_of_directions(link, classes, easy, hard):
    x = np.random.default_rng(3).normal(size=(600, 12))
    one, two = found(x, link(x), classes, 0, 199)
    assert (one.count, two.count) == (easy, hard)


def test_the_direction_itself_is_found():
    x = np.random.default_rng(0).normal(size=(800, 10)) @ np.diag(np.arange(1.0, 11))
    y = (x[:, 4] / 5) ** 2
    z = whitened(x)
    direction = directions_of(z, y, 0, 0, 1, 1)[1]
    assert abs(np.corrcoef(z @ direction[:, 0], x[:, 4])[0, 1]) > 0.9


@pytest.mark.parametrize(("link", "rank", "truth"), [("band", 1, 1 / 0.76658), ("product", 2, 4 / np.pi**2)])
def test_delta_alg_of_classes_is_in_its_interval(link, rank, truth):
    """Coverage at n/d ≥ 25 is .80 to 1.00 of 90 % intervals: of 6 seeds at least 4."""
    inside = 0
    for seed in range(6):
        rng = np.random.default_rng(seed)
        x = rng.normal(size=(1000, 20))
        y = (np.abs(x[:, 0]) > 1.4821) if link == "band" else (x[:, 0] * x[:, 1] > 0)
        value, error = inverse_delta(whitened(x), y.astype(int), rank, rng)
        inside += abs(value - truth) < 1.6449 * error
    assert inside >= 4


def test_overlap_is_a_share():
    q = np.linalg.qr(np.random.default_rng(0).normal(size=(5, 5)))[0]
    assert overlap(q[:, :2], q) == pytest.approx(1)
    assert overlap(q[:, :2], q[:, 2:]) == pytest.approx(0, abs=1e-12)


def last(x, y):
    return list(diagnose(user_data(x, y), Clock(1e9)))[-1]


def test_a_hidden_direction_is_told_and_a_network_finds_it():
    x = np.random.default_rng(0).normal(size=(1500, 20))
    one = last(x, (np.abs(x[:, 3]) > 0.7).astype(int))
    assert "No linear signal" in one.says
    assert "one hidden direction" in one.says
    assert "column 4" in one.tables[0].rows[1][2]
    delta, hidden = one.predictions
    assert 1 / 3 < delta.predicted < 3
    assert 1.5 * delta.low < delta.measured < 6 * delta.high  # what tests with few columns take
    assert "very many columns" in delta.verdict
    assert hidden.measured > 0.7


def test_rows_that_are_not_gaussian_are_named_beside_a_threshold_that_is_off():
    rng = np.random.default_rng(0)
    x = rng.standard_cauchy(size=(300, 5))
    one = last(x, (x[:, 0] > 0).astype(int))
    (delta,) = (p for p in one.predictions if "delta_alg" in p.what)
    assert delta.agrees is False
    assert "rows are not Gaussian" in delta.verdict
    linear, network = map(float, re.findall(r"(\d+\.\d+) ± ", one.measured)[:2])
    assert network > 0.7 * linear  # so that nobody is told to use it
    assert "does not beat a linear model" in one.advice[0]


def test_nothing_is_told_as_nothing():
    rng = np.random.default_rng(5)
    one = last(rng.normal(size=(120, 20)), rng.normal(size=120))
    assert "No linear signal" in one.says
    assert "nothing shows at 6.00 rows per column" in one.says
    assert "No signal" in one.advice[0]
    assert one.predictions == ()


def test_a_signal_in_the_rows_lengths_is_not_called_nothing():
    """No direction is special on a circle: the test sees none, and a network answers nearly all rows."""
    one = last(*make_circles(300, noise=0.1, factor=0.5, random_state=0))
    assert "no single direction shows" in one.says
    assert "nothing shows" not in one.says
    assert one.advice[0].startswith("Use a network")


def test_equal_labels_are_not_told_apart_by_the_order_of_rows():
    """Rows sorted by a column, seven labels in ten zero: five alarms of 20 at 5 % have a chance of 0.3 %.

    Cut by the order of rows, the zeros would follow the column and every set would show a signal.
    """
    alarms = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        x = rng.normal(size=(120, 3))
        x = x[np.argsort(x[:, 0])]
        y = np.where(rng.random(120) < 0.7, 0, rng.exponential(size=120))
        alarms += min(signal.p[0] for signal in found(x, y, 0, seed, 39)) <= 0.025
    assert alarms < 5


def test_a_class_that_is_missing_from_a_part_of_the_rows_is_no_signal():
    """Two rows of 9000 and only 4000 are looked at: without them there are three classes, not four."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2, 3], [4000, 3000, 2, 1998])
    x = rng.normal(size=(9000, 3))
    for seed in range(3):
        assert "No linear signal" in next(diagnose(user_data(x, y, seed=seed), Clock(1e9))).says
    assert np.isfinite(spread_matrix(x[:40], np.repeat([0, 2], 20))).all()


def test_as_many_classes_as_columns_leave_nothing_hidden():
    """Four linear directions in four columns: there is no other left, neither to test nor to draw."""
    rng = np.random.default_rng(0)
    y = np.arange(240) % 6
    one = last(3 * rng.normal(size=(6, 4))[y] + rng.normal(size=(240, 4)), y)
    assert "A linear signal in 4 directions" in one.says
    assert one.figure.panels == 1
    drawn(one.figure)


def test_delta_is_refused_below_25_rows_per_column():
    x = np.random.default_rng(0).normal(size=(400, 20))
    one = last(x, x[:, 0] ** 2)
    assert "cannot be told below 25 rows per column" in one.says


def test_too_few_rows_or_columns():
    assert last(np.random.default_rng(0).normal(size=(20, 3)), np.arange(20) % 2).speaks == "no"
    assert last(np.random.default_rng(0).normal(size=(80, 1)), np.arange(80) % 2).speaks == "no"


def test_a_network_with_few_rows_finds_what_the_statistic_finds():
    """With little weight decay it keeps the directions it starts with: an overlap of 0.01, as by chance.

    Mean over three halves, as good as that of the statistic itself within a factor of two.
    """
    rng = np.random.default_rng(0)
    y = np.arange(160) % 2
    x = rng.normal(size=(160, 100)) + 0.5 * (2 * y[:, None] - 1) * (np.arange(100) < 10)
    one = last(x, y)
    (linear,) = (p for p in one.predictions if "linear" in p.what)
    assert linear.measured > 0.5 * linear.predicted > 0.05


def test_too_few_rows_are_counted_in_words():
    rng = np.random.default_rng(0)
    (finding,) = diagnose(user_data(rng.normal(size=(20, 3)), rng.normal(size=20)), Clock(1.0))
    assert finding.speaks == "no"
    assert finding.why.endswith("these are 20 rows and 3 columns.")


# --- what is said of what is known so far ------------------------------------------------------------------


def known(p_easy, p_hard, halves=(), **more):
    """A state with signals of these p-values (None: not looked for), and errors of both models in halves."""
    rng = np.random.default_rng(0)
    z = rng.normal(size=(200, 4))
    data = user_data(z, z[:, 0])
    signals = [
        None if p is None else Found(np.eye(4)[:, [i]] if p <= 0.05 else np.zeros((4, 0)), (p,))
        for i, p in enumerate((p_easy, p_hard))
    ]
    errors = [{"linear": linear, "network": network} for linear, network in halves]
    return data, State(z, z, data.y, 1.0, *signals, halves=errors, **more)


@pytest.mark.parametrize("rare", [2, 3, 7])
def test_no_half_is_without_a_class(rare, monkeypatch):
    """Drawn from all rows alike, every other half held both of two rare rows, and was left out in silence."""
    data = user_data(np.random.default_rng(0).normal(size=(200, 3)), np.arange(200) < rare)
    state, seen = begin(data), []
    module = "firstlight.phase_transition.own_data"
    monkeypatch.setattr(f"{module}.train", lambda z, y, *_, **__: seen.append(np.bincount(y)))
    monkeypatch.setattr(f"{module}.leading_directions", lambda *_: np.zeros((3, 0)))
    monkeypatch.setattr(f"{module}.directions_of", lambda *_: (np.zeros((3, 0)), np.zeros((3, 0))))

    def errors(_, other, *rest):
        seen.append(np.bincount(other[1]))
        return 0.0, 0.0

    monkeypatch.setattr(f"{module}.held_out_errors", errors)
    for half in range(1, 9):  # the first is drawn as well
        halve(data, state, half, Clock(1e9))
    assert len(seen) == 16
    assert all(abs(counts[1] - rare / 2) < 1 and counts.sum() == 100 for counts in seen)


@pytest.mark.parametrize(
    ("easy", "hard", "halves", "words"),
    [
        (0.005, 0.005, 0, "A hidden direction shows; whether a network uses it was not measured"),
        (0.005, 0.005, 2, "A hidden direction shows; .* uses it was measured on 2 of 3 halves, not enough"),
        (0.005, 0.005, 3, "A linear model misses what is hidden: use a network, or the square of column 2"),
        (0.005, 0.5, 0, "Begin with a linear model: it sees all that shows.*does better was not measured"),
        (0.005, 0.5, 2, "Begin with a linear model.*does better was measured on 2 of 3 halves, not enough"),
        (0.005, 0.5, 3, "Use a network: the labels do not follow a line"),
        (0.005, 0.03, 0, "Begin with a linear model: it sees all that shows.*but for a hint of a hidden dir"),
        (0.005, None, 0, "Begin with a linear model; hidden directions were not looked for.*--seconds"),
        (0.03, 0.5, 0, "Only a hint of a signal"),
        (0.03, None, 0, "Only a hint of a signal: .*; hidden directions were not looked for.*--seconds"),
        (0.5, 0.03, 0, "Only a hint of a hidden direction: collect more rows"),
        (0.5, 0.5, 0, "No signal was found.*; whether a network sees more was not measured"),
        (0.5, None, 0, "No linear signal was found, and hidden ones were not looked for.*--seconds"),
    ],
)
def test_advice_waits_for_all_halves(easy, hard, halves, words):
    """Networks far better than lines, yet two halves of three are no reason to say so."""
    data, state = known(easy, hard, [(0.9, 0.3), (0.91, 0.31), (0.9, 0.3)][:halves])
    assert re.match(words, advice(data, state)[0])


def test_what_time_left_out_is_not_taken_for_what_rows_do_not_show():
    """200 rows of four columns tell delta_alg (from 25 rows per column on); its time had not come."""
    assert "Hidden ones were not looked for in the time given" in _says(known(0.5, None)[1])
    said = _says(known(0.5, 0.005)[1])
    assert "delta_alg) was not worked out in the time given" in said
    assert "below 25 rows" not in said


@pytest.mark.parametrize("seed", range(3))
def test_columns_that_do_not_matter_are_not_named(seed):
    """A direction is known up to noise: of one or two columns among twelve those are named, of many none."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(300, 12)) * rng.uniform(0.1, 10, size=12)
    z = x / x.std(axis=0)
    noise = 0.1 * z @ rng.normal(size=12)
    one, two = rng.choice(12, size=2, replace=False)
    assert outstanding(x, z[:, one] + noise) == [one]
    assert set(outstanding(x, z[:, one] - z[:, two] + noise)) == {one, two}
    assert outstanding(x, z.sum(axis=1)) == []
    assert outstanding(x, z[:, one] + 0.45 * (z.sum(axis=1) - z[:, one])) == []  # others matter more


def test_a_direction_through_many_columns_is_called_so():
    data, state = known(0.5, 0.005, [(0.9, 0.3), (0.91, 0.31), (0.9, 0.3)])
    state.hard.directions[:] = 0.5
    assert "a direction through many columns: use a network" in advice(data, state)[0]


@pytest.mark.parametrize(("share", "words"), [(0.2, "Use a network: .* more than"), (0.8, "A linear model")])
def test_columns_are_named_only_if_the_network_uses_them(share, words):
    data, state = known(0.005, 0.005, [(0.9, 0.3), (0.91, 0.31), (0.9, 0.3)])
    for half in state.halves:
        half["hard network"] = share
    assert re.match(words, advice(data, state)[0])


def test_a_line_is_kept_if_networks_are_no_better():
    data, state = known(0.005, 0.5, [(0.5, 0.5), (0.5, 0.49), (0.5, 0.51)])
    assert advice(data, state)[0].startswith("Begin with a linear model: it sees all that shows")
    data, state = known(0.005, 0.5, [(0.5, 0.5), (0.5, 0.45), (0.5, 0.49)])
    assert re.search(
        "; a network leads, but [0-9,]+ rows tell from chance only leads above ", advice(data, state)[0]
    )


@pytest.mark.parametrize(
    ("visible", "reason"),
    [
        (None, "not checked (not reached in the time given)"),
        ((np.nan, np.nan), "not checked (it shows in the smallest parts of the rows too)"),
        ((9.0, 0.5), "off: measured is 9.00 × predicted (the limit of very many columns"),
        ((1.1, 0.2), "agrees"),
    ],
)
def test_a_threshold_that_was_not_checked_says_why(visible, reason):
    (one,) = _predictions(known(0.5, 0.005, delta=(1.0, 0.05), visible=visible)[1])
    assert one.verdict.startswith(reason)


def test_where_a_direction_becomes_visible_is_a_number_with_an_error():
    """z1² and noise in ten columns: half the time at some 12 rows per column, 9 to 17 over ten seeds."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(600, 10))
    data = user_data(x, x[:, 0] ** 2 + 2 * rng.normal(size=600))
    state = begin(data)
    state.easy = Found(np.zeros((10, 0)), (0.5,))
    value, error = visible_from(data, state, Clock(1e9))
    assert 5 < value < 30
    assert 0 < error < value / 2
