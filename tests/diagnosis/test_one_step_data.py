"""One step on own data: the cross-fitted prediction against trained networks, and what is said of it."""

import re
from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import load_digits

from firstlight import GaussianMixture, one_step
from firstlight.diagnosis import Clock, user_data
from firstlight.maths.activations import activation
from firstlight.one_step.diagnosis import _advice, _prediction, _says, _speaks, _tame, diagnose
from firstlight.one_step.own_curves import RIDGES, STEPS, Best, _sized
from firstlight.one_step.own_data import Answer, Fold, Network, Question, needed
from firstlight.one_step.theory.held_out import (
    Rows,
    drawn_from,
    misclassified,
    read_out,
    scaled,
    squared_error,
    stepped,
)


def mixture_rows(n, d, shift, seed):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    x = rng.normal(size=(n, d))
    x[:, 0] += shift * (2 * y - 1)
    return x, y


def stream(*keys):
    return np.random.default_rng(
        [abs(hash(key)) % 2**31 if isinstance(key, int) else len(key) for key in keys]
    )


# --- theory on held-out rows -----------------------------------------------------------------------------


def test_on_its_own_law_the_prediction_is_the_share_of_trained_read_outs():
    """Average of 200 ridge fits on draws of the law itself: s.e. about 1 %, and 1/m corrections of some %."""
    x, y = mixture_rows(400, 10, 1.0, 0)
    rows = scaled(x, 2.0 * y - 1, y, np.arange(400))
    law = GaussianMixture.fit(rows.x, rows.classes)
    rng = np.random.default_rng(1)
    layer = stepped(rows, law, width=40, samples=40, step_size=10.0, activation=activation("relu"), rng=rng)
    found = read_out(layer, 60, 1e-2)
    test = drawn_from(law, rows, rng)
    phi = layer.features(test.x)
    wrong = []
    for _ in range(200):
        train = drawn_from(law, rows, rng).part(rng.permutation(2000)[:60])
        f = layer.features(train.x)
        w = np.linalg.solve(f.T @ f / 60 + 1e-2 * np.eye(40), f.T @ train.y / 60)
        wrong.append(np.mean(np.sign(phi @ w) != np.sign(test.y)))
    assert misclassified(found, layer, test) == pytest.approx(np.mean(wrong), rel=0.06)


def test_squared_error_of_numbers_on_fresh_rows():
    """Rows of one Gaussian; the same comparison as above for the squared error."""
    rng = np.random.default_rng(0)
    draw = lambda n: (x := rng.normal(size=(n, 8)), np.tanh(x[:, 0]) + 0.3 * rng.normal(size=n))  # noqa: E731
    x, y = draw(4000)
    rows = scaled(x, y, np.zeros(4000, int), np.arange(4000))
    layer = stepped(rows, None, width=30, samples=50, step_size=8.0, activation=activation("relu"), rng=rng)
    found = read_out(layer, 80, 1e-2)
    phi, errors = layer.features(rows.x), []
    for _ in range(300):
        train = rows.part(rng.choice(4000, 80, replace=False))
        f = layer.features(train.x)
        w = np.linalg.solve(f.T @ f / 80 + 1e-2 * np.eye(30), f.T @ train.y / 80)
        errors.append(np.mean((rows.y - phi @ w) ** 2))
    assert squared_error(found, layer, rows) == pytest.approx(np.mean(errors), rel=0.05)


def test_labels_swapped_or_inputs_moved_change_nothing():
    x, y = mixture_rows(120, 6, 0.7, 3)
    values = []
    for inputs, labels in ((x, y), (x * 7 + 100, y), (x, 1 - y)):
        question = Question("q", inputs, labels.astype(float), False, stream)
        next(question.ask(Network(30, 20, 6.0)))
        values.append(question.answer(Network(30, 20, 6.0)).predicted)
    assert values[1] == pytest.approx(values[0], rel=1e-9)
    assert values[2] == pytest.approx(values[0], rel=0.35)  # other draws of the layer, the same law


@pytest.mark.parametrize("name", ["mixture", "digits 4 and 9"])
def test_measured_lies_in_the_interval_and_shapes_are_named(name):
    """Handwritten 4 and 9 have tails towards each other: Gaussians of their moments err less."""
    if name == "mixture":
        data = user_data(*mixture_rows(300, 12, 1.0, 5))
    else:
        X, y = load_digits(return_X_y=True)
        data = user_data(X[(y == 4) | (y == 9)], y[(y == 4) | (y == 9)])
    found = next(diagnose(data, Clock(1e9)))
    assert found.predictions[0].checked
    assert found.predictions[0].agrees
    assert found.speaks == ("yes" if name == "mixture" else "in part"), found.why


def test_no_signal_is_said():
    x, _ = mixture_rows(200, 10, 0.0, 0)
    found = next(diagnose(user_data(x, np.random.default_rng(9).permutation(200) % 2), Clock(1e9)))
    assert found.advice[0].startswith("This network is no better than always")


def test_a_rare_class_that_is_never_answered_is_not_called_noise():
    """One row in twenty, two standard deviations apart: linear tests see it, the share of errors does not."""
    rng = np.random.default_rng(0)
    y = (np.arange(400) % 20 == 0).astype(int)
    x = rng.normal(size=(400, 4)) + 2 * y[:, None] * np.eye(4)[0]
    advice = next(diagnose(user_data(x, y), Clock(1e9))).advice[0]
    assert advice.startswith("This network is no better than always")
    assert "5 % of the rows in the smaller class" in advice
    assert "no signal" not in advice


def test_numbers_are_predicted_too():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(300, 10))
    found = next(diagnose(user_data(x, np.abs(x[:, 0]) + x[:, 1]), Clock(1e9)))
    one = found.predictions[0]
    assert "variance" in one.what
    assert one.predicted == pytest.approx(one.measured, rel=0.2)


def test_errors_of_numbers_are_in_units_of_all_rows():
    """A ridge without end answers the mean: an error of 1, as `guess` says, though one row is all variance.

    The means are of 80 rows and of the 40 that a network sees: their squared errors are some 1/80 and 1/40 of
    the variance, with one row in them or not five times as much at most.
    """
    rng = np.random.default_rng(0)
    y = rng.normal(size=100)
    y[7] = 60.0
    question = Question("the number", rng.normal(size=(100, 3)), y, True, stream)
    network = Network(40, 20, 3.0, (1e9,))
    list(question.ask(network))
    answer = question.answer(network)
    assert answer.predicted == pytest.approx(1, abs=0.05)
    assert answer.measured == pytest.approx(1, abs=0.15)


def test_what_classes_are_called_changes_nothing():
    x, y = mixture_rows(60, 3, 0.8, 0)
    numbers, names = (
        next(diagnose(user_data(x, labels), Clock(1e9))).predictions[0]
        for labels in (y, np.array(["ant", "bee"])[y])
    )
    assert (numbers.predicted, numbers.measured) == (names.predicted, names.measured)


def test_heavy_tails_of_the_number_are_named():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(100, 3))
    one = next(diagnose(user_data(x, x[:, 0] + rng.standard_t(1.2, size=100)), Clock(1e9)))
    assert "the number to predict has heavy tails" in one.why
    assert one.advice[0].startswith("Clip the number to predict")  # of both signs


# --- advice ------------------------------------------------------------------------------------------------

MAIN = Question("a against b", *mixture_rows(400, 10, 0.5, 0), False, stream)


def answered(predicted, measured, high=None):
    return Answer(predicted, predicted - 0.03, high or predicted + 0.03, measured, 0.01, 0.2, 1.0, 15)


def best(gain, error, step=3.0, ridge=1e-3, measured=0.3):
    rows = tuple((s, r, 0.3, 0.3) for s in STEPS for r in RIDGES)
    return Best(step, ridge, answered(0.3, measured), 0.29, measured + gain, gain, error, rows)


@pytest.mark.parametrize(
    ("chosen", "words"),
    [
        (
            best(0.05, 0.01),
            "Take a step of 30.0 .* same 15 splits it gains 5.0 ± 1.0 % over .*30.0 % .*35.0 % .*largest",
        ),
        (
            best(0.05, 0.01, 0.3, 1e-2),
            r"Take a step of 3.00 .* over a step of 10 and a ridge .* \(30.0 % against 35.0 % measured\)",
        ),
        (
            best(0.01, 0.01),
            "Keep a step of 10 and a ridge of 0.01: theory would take .* 1.0 ± 1.0 %, is chance",
        ),
        (best(-0.02, 0.01), "Keep a step of 10 .*: theory would take .* networks gain nothing by it"),
        (best(0.0, 0.0, 1.0, 1e-2), "Keep a step of 10 .* of 25 settings theory finds none better"),
    ],
)
def test_a_step_is_advised_only_if_networks_gain_by_it(chosen, words):
    assert re.match(words, _advice(MAIN, answered(0.35, 0.35), chosen, False)[0])


def test_a_network_that_is_better_at_its_best_step_is_not_called_useless():
    """As on signs of products: theory and the usual network near the constant answer, the best one not."""
    usual = answered(0.47, 0.45, high=0.51)
    assert _advice(MAIN, usual, None, False)[0].startswith("This network is no better")
    said = _advice(MAIN, usual, best(0.05, 0.01, measured=0.4), False)
    assert said[0].endswith("trained networks do better: 40.0 %.")
    assert said[1].startswith("Take a step")
    assert _speaks(MAIN, usual)[0] == "in part"


@pytest.mark.parametrize(
    ("last", "words"), [(0.30, "More rows still help"), (0.345, "More rows of the same kind")]
)
def test_more_rows_help_if_the_last_doubling_did(last, words):
    question = replace(MAIN, folds={})
    for size, network in _sized(question):
        error = {160: last, 80: 0.35}.get(size, 0.5)
        question.folds[network] = [Fold(*np.full((3, 1), error), np.array([0.35]))] * 5
    advice = _advice(question, answered(0.35, 0.35), None, True)
    assert advice[0].endswith("--standardise.")
    assert advice[1].startswith(words)
    assert "at 80 rows to" in advice[1]
    network = dict(_sized(question))[160]
    question.folds[network] = [Fold(*np.full((3, 1), last), np.array([0.2]))] * 5  # whatever theory says
    assert _advice(question, answered(0.35, 0.35), None, True)[1].startswith("More rows still help")


@pytest.mark.parametrize("few", [1e-3, 1e-9, 1e-47])
def test_less_than_half_a_row_in_error_is_no_help(few):
    """It said "from 0.0 % to 0.0 %" that more rows still help, and measured more errors with more of them."""
    question = replace(MAIN, folds={})
    for size, network in _sized(question):
        error = few**2 if size == 160 else few
        question.folds[network] = [Fold(*np.full((3, 1), error), np.array([0.01]))] * 5
    assert _advice(question, answered(few, 0.01), None, False)[0].startswith("More rows of the same kind")


@pytest.mark.parametrize(("measured", "speaks"), [(0.24, "in part"), (0.3, "yes"), (0.36, "in part")])
def test_who_is_off_does_not_speak_without_reserve(measured, speaks):
    """400 rows of ten columns are not few: what fails is the shape, whichever the sign of the gap."""
    found, why = _speaks(MAIN, answered(0.3, measured))
    assert found == speaks
    assert ("rows of a class are not Gaussian" in why) == (speaks == "in part")


@pytest.mark.parametrize("columns", [2, 10, 20, 35])
@pytest.mark.parametrize("measured", [0.2, 0.4])
@pytest.mark.parametrize("regression", [False, True])
def test_few_rows_are_blamed_only_where_they_are_few_and_make_theory_hopeful(columns, measured, regression):
    """Moments fitted to the rows themselves promise too much, never too little."""
    x, y = mixture_rows(100, columns, 0.5, 0)
    question = Question("", x, y + (0.1 * x[:, 0] if regression else 0.0), regression, stream)
    because = _prediction("", answered(0.3, measured), question, 8).because
    assert ("few rows" in because) == (columns >= 20 and measured > 0.3)


@pytest.mark.parametrize(("measured", "told"), [(0.14, True), (0.5, False)])
def test_rows_for_an_error_are_told_only_where_networks_follow_the_curve(measured, told):
    """It said that 1 % takes 27 rows, behind 4.7 % measured with 30 rows, and 1.7 % with 120."""
    question = replace(MAIN, folds={})
    for size, network in _sized(question):
        error = 1.5 / np.sqrt(size)
        network_error = measured if size == 160 else error
        question.folds[network] = [Fold(*np.full((3, 1), error), np.array([network_error]))] * 5
    advice = _advice(question, answered(0.2, 0.2), None, False)[0]
    assert ("An error of 20.0 % takes about 58 training rows" in advice) == told


def test_too_few_rows_of_a_class_are_blamed_before_its_shape():
    """Gaussian rows, one in twenty of a class: most tens of them have none, but networks get one."""
    x, y = mixture_rows(400, 5, 0.5, 0)
    rare = Question("", x, (np.arange(400) % 20 == 0).astype(int), False, stream)
    assert _prediction("", answered(0.05, 0.1), rare, 10).because.startswith("networks get a row")
    for question, samples in ((rare, 40), (replace(rare, y=y), 10)):
        assert _prediction("", answered(0.05, 0.1), question, samples).because.startswith("rows of a class")


def test_an_interval_that_holds_everything_tells_nothing():
    """One split: from no error to that of the constant answer, and no word on whether a network is of use."""
    nothing = Answer(0.493, 0.0, 1.0, 0.45, float("nan"), 0.4, 1.0, 1)
    assert _says(MAIN, nothing).startswith("a against b: Nothing can be told after 1 of 15 splits")
    assert _advice(MAIN, nothing, None, False)[0].endswith("with a larger --seconds.")
    found = next(diagnose(user_data(*mixture_rows(40, 2, 0.0, 0)), Clock(1e-9)))
    assert "0.0 to 100.0" not in found.says
    assert found.predictions == ()
    assert "over 1 split;" in found.measured


def test_too_few_rows_are_told():
    found = next(diagnose(user_data(*mixture_rows(12, 3, 1.0, 0)), Clock(1e9)))
    assert found.speaks == "no"


def test_the_clock_is_looked_at_between_splits():
    data = user_data(*mixture_rows(200, 5, 1.0, 0))
    found = list(diagnose(data, Clock(1e-9)))
    assert len(found) == 1
    assert found[0].progress.startswith("1 of")


def test_targets_only_within_the_curve():
    curve = [(10, 0.4), (20, 0.3), (40, 0.31), (80, 0.1)]
    assert needed(curve, 0.5) == 0
    assert np.isnan(needed(curve, 0.05))
    assert 40 < needed(curve, 0.2) < 80


# --- from rows to a problem, and rows that are odd ---------------------------------------------------------


def test_a_problem_from_data():
    x, y = mixture_rows(300, 6, 1.0, 0)
    problem = one_step.Problem.from_data(x, y, width=40, samples=60)
    theory, network = problem.predict(rng=0), problem.simulate(rng=0)
    assert float(theory.misclassification) == pytest.approx(float(network.misclassification), abs=0.06)
    assert problem.step_size == 6
    assert {one.name: one.verdict for one in problem.assumptions()}["Gaussian inputs"] == "not checkable"
    with pytest.raises(ValueError, match="3 classes; must be two"):
        one_step.Problem.from_data(x, np.arange(300) % 3, width=4, samples=6)
    with pytest.raises(ValueError, match="one row"):
        GaussianMixture.fit(x[:3], [0, 0, 1])


def test_rows_keep_their_parts():
    rows = Rows(np.eye(3), np.arange(3.0), np.array([0, 1, 0]))
    assert rows.part(np.array([2])).y.tolist() == [2.0]


def test_a_rare_class_is_in_every_split():
    """5000 rows of which 10 are rare: a share of 1500 rows would leave three, too few for five splits."""
    x, _ = mixture_rows(5000, 3, 0.0, 0)
    rare = np.where(np.arange(5000) % 500 == 0, "rare", "common")
    found = next(diagnose(user_data(x, rare), Clock(1e9)))
    assert found.predictions[0].checked
    assert found.advice[0].startswith("This network is no better than always")


def test_heavy_tails_are_named():
    rng = np.random.default_rng(0)
    x = rng.standard_cauchy(size=(200, 3))
    found = next(diagnose(user_data(x, x[:, 0] > 0), Clock(1e9)))
    assert found.speaks == "in part"
    assert "heavy tails" in found.why
    assert "heavy tails" in found.predictions[0].because
    assert found.advice[0].startswith("Clip columns with heavy tails; they are not positive")


@pytest.mark.parametrize("seed", range(3))
def test_logarithms_are_advised_of_positive_numbers_only(seed):
    rng = np.random.default_rng(seed)
    plain, heavy = rng.normal(size=(200, 2)), np.exp(3 * rng.normal(size=(200, 2)))
    for sign, first in (
        ([1, 1], "Take log"),
        ([1, -1], "Clip .* logarithms of those"),
        ([-1, -1], "Clip .*;"),
    ):
        columns = Question("", np.column_stack([plain, heavy * sign]), plain[:, 0], True, stream)
        assert re.match(first, _tame(columns))
    for labels, first in ((heavy[:, 0], "Take the log"), (-heavy[:, 0], "Clip"), (heavy[:, 0] - 1, "Clip")):
        assert _tame(Question("", plain, labels, True, stream)).startswith(first)


def test_errors_where_the_gaussian_model_has_none_are_the_shape_of_the_rows():
    # columns: predicted, what Gaussian rows would have, on the own rows, measured
    table = np.array([[0.2, 0.0, 0.1, 0.2]] * 3)
    assert not Answer.of(table, 100, regression=False).gaussian_enough
    assert Answer.of(np.zeros((3, 4)), 100, regression=False).gaussian_enough
