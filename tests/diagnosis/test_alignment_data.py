"""Early alignment on own rows: cosines of pairs, the practical scale, descent from it, the command, files."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from firstlight import early_alignment
from firstlight.cli import app
from firstlight.data.separable import separability, separable
from firstlight.diagnosis import Clock, Prediction, user_data
from firstlight.early_alignment.diagnosis import diagnose
from firstlight.early_alignment.experiment.own_data import descend
from firstlight.early_alignment.theory.own_data import course, pair_cosines, right_active, right_by_chance


def two_clouds(n, d, shift, seed):
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n) % 2, 1.0, -1.0)
    return rng.normal(size=(n, d)) + shift * y[:, None] * np.eye(d)[0], y


def first_followed(turns):
    """Return the first finding about neurons that were followed; code may have to be compiled before."""
    return next(found for found in turns if found.predictions)


def test_cosines_of_pairs_agree_with_a_double_loop():
    X, y = two_clouds(12, 4, 1.0, 0)
    found = pair_cosines(X, y)
    slow = [
        y[i] * y[k] * (X[i] @ X[k]) / np.linalg.norm(X[i]) / np.linalg.norm(X[k])
        for i in range(12)
        for k in range(i + 1, 12)
    ]
    assert np.allclose(np.sort(found.values), np.sort(slow))
    assert found.mu == pytest.approx(separability(X, y))
    assert found.violating.mean() == pytest.approx(found.share)
    assert pair_cosines(*separable(20, 6, 0.2, 0)).word == "holds"


@pytest.mark.parametrize("shift", [0.0, 2.0**24, 2.0**30])
def test_every_pair_is_in_the_picture_wherever_rows_lie(shift):
    """Cosines of 1 + 1e-16 fell off the last bin: 422 of 2775 pairs were left."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(80, 4)) + shift, np.arange(80) % 2
    finding = next(iter(diagnose(user_data(X, y), Clock(1e9))))
    pairs = [sum(finding.figure.data[name]) for name in ("as they are", "mean row subtracted")]
    assert pairs == [60 * 59 // 2] * 2


def test_outputs_reach_one_per_cent_from_the_practical_scale_and_a_hundredth_of_that_from_a_tenth():
    """|f| grows as ε²; the exact path neglects outputs of at most 0.01, so a few per cent of tolerance."""
    X, y = separable(16, 5, 0.2, 0)
    rng = np.random.default_rng(1)
    W = rng.normal(size=(40, 5))
    W /= np.linalg.norm(W, axis=1, keepdims=True)
    signs = np.where(np.arange(40) % 2, 1, -1)
    way = course(X, y, W, signs)
    times = np.array([0.0, way.time])
    outputs = [descend(X, y, W, signs, scale * np.exp(way.log_scale), times).output for scale in (1.0, 0.1)]
    assert outputs[0] == pytest.approx(0.01, rel=0.08)
    assert outputs[0] / outputs[1] == pytest.approx(100, rel=0.08)


def test_dead_neurons_do_not_count_as_right():
    X, y = np.eye(2), np.array([1.0, -1.0])
    assert right_active(np.array([[1.0, 0.0], [-1.0, -1.0]]), np.array([1, 1]), X, y) == 1.0


@pytest.mark.parametrize(("shift", "speaks"), [(6.0, "yes"), (0.8, "in part")])
def test_diagnosis_agrees_with_descent(shift, speaks):
    X, y = two_clouds(80, 6, shift, 0)
    turns = diagnose(user_data(X + 10, y), Clock(1e9))
    found = first_followed(turns)
    assert found.speaks == speaks
    assert "Subtract the mean row" in found.advice[1]
    assert all(one.agrees for one in found.predictions), found.predictions
    assert found.predictions[0].measured == pytest.approx(found.predictions[0].predicted, abs=0.01)


def test_coin_flips_are_not_praised_and_their_error_counts_the_rows():
    """Two standard errors of the few unseen rows: of four sets of noise two or more have a chance below 1 %.

    The error over starts alone was some twenty times smaller, as all starts are asked about the same rows.
    """
    praised = 0
    for seed in range(4):
        rng = np.random.default_rng(seed)
        turns = diagnose(user_data(rng.normal(size=(40, 3)), rng.permutation(40) % 2), Clock(1e9))
        found = first_followed(turns)
        right = found.predictions[0]
        assert right.uncertainty == pytest.approx(0.5 / np.sqrt(10), rel=0.2)  # a quarter of the rows
        assert "on 10 unseen rows" in found.measured
        praised += "no better than chance" not in found.measured
    assert praised < 2


def test_a_real_signal_is_praised_and_shares_stay_below_one():
    turns = diagnose(user_data(*two_clouds(80, 6, 6.0, 0)), Clock(1e9))
    found = first_followed(turns)
    assert "by chance 50 %)" in found.measured
    assert "no better than chance" not in found.measured
    right = found.predictions[0]
    assert (right.measured, right.high) == (1.0, 1.0)
    assert 0 < right.uncertainty < 0.05


def test_rows_in_common_do_not_excuse_a_gap():
    """Both are asked about the same rows: their sampling error is shown and cancels in the comparison."""
    one = Prediction("share", 0.6, 0.59, 0.61, 0.7, 0.001, common=0.05)
    assert one.agrees is False
    assert one.uncertainty == pytest.approx(0.05, rel=0.01)
    assert Prediction("share", 0.6, measured=0.6, common=0.05).uncertainty == 0.05


def test_chance_is_the_mean_over_permuted_labels():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 3)) + 0.5, np.where(np.arange(30) % 3, 1, -1)
    W, signs = rng.normal(size=(20, 3)), rng.choice([-1, 1], 20, p=[0.2, 0.8])
    shuffled = [right_active(W, signs, X, rng.permutation(y)) for _ in range(400)]
    error = np.std(shuffled) / 20
    assert right_by_chance(W, signs, X, y) == pytest.approx(np.mean(shuffled), abs=4 * error)


def test_numbers_and_tiny_classes_are_told():
    assert next(diagnose(user_data(np.eye(30), np.arange(30) / 7), Clock(1e9))).speaks == "no"
    assert next(diagnose(user_data(np.eye(6), [0, 0, 0, 1, 1, 1]), Clock(1e9))).speaks == "no"


def test_own_rows_in_a_problem():
    X, y = two_clouds(20, 4, 2.0, 3)
    problem = early_alignment.Problem.from_data(
        X, np.where(y > 0, "b", "a"), width=10, horizon=3.0, observations=5
    )
    assert problem == early_alignment.Problem.from_data(X * 8, y, width=10, horizon=3.0, observations=5)
    theory, experiment = problem.predict(rng=1), problem.simulate(rng=1)
    assert float(theory.fate_plus) == pytest.approx(float(experiment.fate_plus))
    with pytest.raises(ValueError, match="own: must be given"):
        early_alignment.Problem(data="own")
    for wrong in (5, "ab", (X,), (X, y[:3]), (X, 2 * y)):
        with pytest.raises(ValueError, match=r"^own"):
            early_alignment.Problem(data="own", own=wrong)
    with pytest.raises(ValueError, match="3 classes"):
        early_alignment.Problem.from_data(X, np.arange(20) % 3)


@pytest.fixture
def file(tmp_path):
    X, y = two_clouds(40, 3, 2.0, 0)
    path = tmp_path / "rows.csv"
    lines = (f"{a},{b},{c},{'cat' if t > 0 else 'dog'}" for (a, b, c), t in zip(X, y, strict=True))
    path.write_text("a,b,c,kind\n" + "\n".join(lines))
    return path


def test_align_lists_every_neuron(file):
    found = CliRunner().invoke(app, ["align", str(file), "--labels", "kind", "--width", "6", "--json"])
    facts = json.loads(found.output)
    assert [row["neuron"] for row in facts["neurons"]] == list(range(6))
    assert facts["rows"] == 40
    text = CliRunner().invoke(app, ["align", str(file), "--labels", "kind", "--width", "6"]).output
    assert text.count("\n") == 4 + 6
    assert "dog (+) against cat (-)" in text


def test_a_problem_of_a_file_names_what_is_wrong(file):
    build = early_alignment.Problem.from_file
    assert build(str(file), "kind", "cat", "dog", most=5).shape == (10, 3)
    with pytest.raises(ValueError, match="did you mean 'cat'"):
        build(str(file), "kind", "cats", "dog")
    with pytest.raises(ValueError, match="must differ"):
        build(str(file), "kind", "dog", "dog")


def test_of_three_classes_each_is_asked_against_the_rest():
    rng = np.random.default_rng(0)
    centres = 4 * np.eye(3)
    X = np.repeat(centres, 20, axis=0) + rng.normal(size=(60, 3))
    turns = diagnose(user_data(X, np.repeat(["a", "b", "c"], 20)), Clock(1e9))
    rows = next(turns).tables[0].rows
    assert [row[0] for row in rows[3:]] == ["a against the rest", "b against the rest", "c against the rest"]
    assert len({row[0] for row in rows}) == 6
    found = [next(turns) for _ in range(4)][-1]  # three pairs, then one against the rest
    assert found.progress == "4 of 12 starts"
    assert "against the rest" in found.predictions[-1].what
    assert found.predictions[-1].agrees


def test_a_start_too_small_for_a_computer_is_said(monkeypatch):
    X, y = two_clouds(20, 3, 2.0, 0)
    for module in ("own_data", "diagnosis"):
        monkeypatch.setattr(f"firstlight.early_alignment.{module}.SMALLEST", 0.0)  # as if it were
    turns = diagnose(user_data(X, y), Clock(1e9))
    found = first_followed(turns)
    assert "not run" in found.measured
    assert all(not one.checked for one in found.predictions)
    assert all(one.verdict.startswith("not checked (no computer holds") for one in found.predictions)
    assert "10^-" in found.says


def test_nobody_waits_for_a_compiler_in_ten_seconds(monkeypatch):
    monkeypatch.setattr("firstlight.early_alignment.diagnosis.is_compiled", lambda: False)
    X, y = two_clouds(20, 3, 2.0, 0)
    found = list(diagnose(user_data(X, y), Clock(10.0)))
    assert len(found) == 2
    assert "compiled at first use" in found[-1].measured
    assert (
        "compiling"
        in [next(turns) for turns in [diagnose(user_data(X, y), Clock(60.0))] for _ in "ab"][-1].progress
    )
