"""What one_step says of its own numbers: errors of predictions, models that do not serve, constant labels."""

import warnings

import numpy as np
import pytest

from firstlight.data.labels import Regression
from firstlight.data.mixture import GaussianMixture, Spiked
from firstlight.data.structured import structured_data
from firstlight.maths.activations import activation
from firstlight.one_step import DegreeWarning, Problem
from firstlight.one_step.theory.reduced import reduced_law
from firstlight.one_step.theory.scores import misclassification

SQUARE = {"dimension": 120, "width": 120, "samples": 120}
FREE = {"method": "asymptotic", "draws": 4, "nodes": 128}


@pytest.mark.parametrize("link", ["relu", "He_3"])
def test_network_free_predictions_carry_the_error_of_their_nodes(link):
    problem = Problem.scaled(**SQUARE, alpha=0.5, beta=0.5, link=link)
    result = [problem.predict(seed, **FREE) for seed in range(5)]
    for name in ("test_error", "train_error", "weight_norm"):
        values = np.array([float(one[name]) for one in result])
        told = np.sqrt(np.mean([float(one[f"{name}_sem"]) ** 2 for one in result]))
        # five seeds tell a spread to 35 %; batch averages are balanced, so that the spread told is too large
        assert values.std(ddof=1) < 1.6 * told
    assert all(bool(one.converged) for one in result)


def test_one_draw_has_no_error_to_tell_and_nodes_are_counted():
    problem = Problem.scaled(dimension=40, width=30, samples=40, alpha=0.5, beta=0.5)
    assert np.isnan(float(problem.predict(0, method="asymptotic", draws=1).test_error_sem))
    assert float(problem.predict(0, **{**FREE, "nodes": 64}).test_error) > 0
    with pytest.raises(ValueError, match="nodes"):
        problem.predict(0, **{**FREE, "nodes": 3})


def test_relative_and_half_errors_are_those_of_the_full_ones():
    problem = Problem.scaled(dimension=40, width=30, samples=40, alpha=0.5, beta=0.5, ridge=[1e-3, 1e-1])
    full, half = (problem.predict(0, **FREE, convention=convention) for convention in ("full", "half"))
    np.testing.assert_allclose(half.test_error_sem, full.test_error_sem / 2)
    relative = full.test_error_sem / full.label_variance
    np.testing.assert_allclose(full.relative_test_error_sem, relative)


@pytest.mark.parametrize("seed", range(12))
def test_labels_on_nodes_have_exact_moments(seed):
    # whatever the link, spike and rank: the mean and the mean square by one-dimensional quadrature
    rng = np.random.default_rng(seed)
    link = str(rng.choice(["relu", "tanh", "He_2", "He_3", "quadratic", "softplus"]))
    direction = str(rng.choice(["random", "spikes"]))
    mixture, labels = structured_data(
        30, float(10 ** rng.uniform(0, 2)), rank=int(rng.integers(1, 4)), link=link, label_direction=direction
    )
    law = reduced_law(mixture, labels)
    mean, square = labels.moments(mixture)
    for c in range(mixture.classes):
        y = law.place(rng.standard_normal((64, law.rank)), c)[1]
        assert y.mean() == pytest.approx(mean[c], abs=1e-9 * np.sqrt(square[c]))
        assert np.mean(y**2) == pytest.approx(square[c], rel=1e-9)


def _without_beta(alpha, beta, direction):
    known = Problem.scaled(**SQUARE, alpha=alpha, beta=beta, label_direction=direction)
    return Problem(
        known.mixture, known.labels, width=known.width, samples=known.samples, step_size=known.step_size
    )


@pytest.mark.parametrize("direction", ["spikes", "random"])
@pytest.mark.parametrize(("alpha", "beta"), [(0.0, 1.0), (0.0, 0.8), (1.0, 1.0)])
def test_the_hermite_model_warns_where_no_degree_serves(alpha, beta, direction):
    # along the spikes it is wrong by up to a factor 9, of which nothing was said without beta
    with pytest.warns(DegreeWarning, match="no polynomial is faithful"):
        _without_beta(alpha, beta, direction).simulate(0, method="hermite")


def test_the_hermite_model_is_silent_where_a_degree_serves():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        simulated = _without_beta(0.5, 0.4, "random").simulate(0, method="hermite")
    assert np.isfinite(float(simulated.test_error))


@pytest.mark.parametrize("strength", [50, 1000])
def test_what_gaussian_models_do_not_resolve_is_not_told(strength):
    # labels along a spike of 1000 n: 1e-7 of their variance is left, and both models are off by up to 70
    problem = Problem(*structured_data(60, 60.0 * strength, label_direction="spikes"), width=60, samples=60)
    predicted = problem.predict(0, **{**FREE, "draws": 2})
    assert not bool(predicted.converged)
    assert np.isnan(float(predicted.test_error))
    with pytest.warns(UserWarning, match="conditional_gaussian"):
        problem.simulate(0, method="conditional_gaussian")
    assert bool(problem.predict(0).converged)  # deterministic equivalents are right there


@pytest.mark.parametrize("value", [3.7, -0.1, 1e-3, 1e5])
def test_constant_labels_have_no_relative_error(value):
    constant = activation(lambda z: np.full_like(z, value))
    labels = Regression(np.eye(30)[0], link=constant)
    simulated = Problem(structured_data(30, 3.0)[0], labels, width=20, samples=40).simulate(0)
    assert float(simulated.label_variance) == 0
    assert np.isnan(float(simulated.relative_test_error))
    assert np.isfinite(float(simulated.test_error))


def test_the_hermite_model_warns_where_the_rule_leaves_out_a_degree_that_shows():
    # the rule is one of large sizes: at n = 60 the second degree stands above the bulk already at beta = 0.3
    small = Problem.scaled(dimension=60, width=60, samples=60, alpha=0.0, beta=0.3)
    with pytest.warns(DegreeWarning, match="degree 2 stands out too"):
        small.simulate(0, method="hermite")


def _random_problem(rng, activation, gap, ridge, wide=False):
    """A problem whose features span R directions, and `gap` more samples than that."""
    n = int(rng.integers(40, 80))
    width = int(rng.integers(n + 5, 2 * n)) if wide else int(rng.integers(12, 2 * n))
    directions = min(width, n) if activation == "linear" else width
    spikes = np.linalg.qr(rng.standard_normal((n, 2)))[0]
    mixture = GaussianMixture([1.0], None, [Spiked(rng.uniform(1, 6, 2), spikes)])
    labels = Regression(spikes @ rng.standard_normal(2), "linear", noise=float(rng.uniform(0.3, 2)))
    step = float(10 ** rng.uniform(-1, 1))
    problem = Problem(
        mixture,
        labels,
        width=width,
        samples=directions + gap,
        activation=activation,
        ridge=ridge,
        step_size=step,
    )
    return problem, directions


@pytest.mark.parametrize("ridge", [0.0, 1e-11])
def test_linear_networks_without_a_ridge_are_least_squares(ridge):
    # σ² m/(m - n) whatever the spikes, the step and the width above n; nodes leave an error of a percent
    rng = np.random.default_rng(3)
    for _ in range(4):
        problem, n = _random_problem(rng, "linear", int(rng.integers(14, 30)), ridge, wide=True)
        exact = problem.labels.noise**2 * problem.samples / (problem.samples - n)
        for options, tolerance in [({}, 1e-6), (FREE, 0.02)]:
            predicted = problem.predict(rng=1, **options)
            assert predicted.converged
            np.testing.assert_allclose(predicted.test_error, exact, rtol=tolerance, err_msg=str(options))


@pytest.mark.parametrize("activation", ["linear", "relu", "tanh"])
def test_next_to_as_many_directions_as_samples_nothing_is_told(activation):
    # the mean error is infinite at a gap of -1 to 1, and twice what the equations say at 2
    rng = np.random.default_rng(4)
    for gap in (-2, -1, 0, 1, 2):
        problem, _ = _random_problem(rng, activation, gap, float(rng.choice([0.0, 1e-13])))
        for options in ({}, {"equivalent": "class-wise"}, FREE):
            predicted = problem.predict(rng=1, **options)
            assert not predicted.converged, (gap, options)
            assert np.isnan(predicted.test_error)


def test_predictions_with_and_without_a_network_agree_over_random_problems():
    # 4 standard errors of 16 first layers, and corrections of order 1/n, n = 40 to 80
    rng = np.random.default_rng(5)
    for sigma in ("linear", "relu", "tanh", "erf"):
        gap, ridge = int(rng.choice([-1, 1]) * rng.integers(8, 11)), float(10 ** rng.uniform(-3, -2))
        problem, _ = _random_problem(rng, sigma, gap, ridge, wide=True)
        given = np.array([float(problem.predict(rng=seed).test_error) for seed in range(16)])
        free = problem.predict(rng=1, method="asymptotic")
        error = 4 * np.hypot(given.std(ddof=1) / 4, float(free.test_error_sem)) + 0.02 * given.mean()
        np.testing.assert_allclose(free.test_error, given.mean(), rtol=0, atol=error, err_msg=sigma)


def test_one_draw_says_that_it_knows_no_error():
    problem = Problem.scaled(dimension=12, width=10, samples=20, alpha=0.5, beta=0.5)
    one, two = (problem.predict(0, method="asymptotic", draws=draws, nodes=64) for draws in (1, 2))
    assert np.isnan(one.test_error_sem)
    assert one.attrs["note"] == "one draw: its standard error is not known"
    assert np.isfinite(two.test_error_sem)
    assert "note" not in two.attrs


def test_no_share_of_wrong_classes_without_an_error():
    half, values, nodes = np.full(2, 0.5), np.array([1.0, -1.0]), [np.zeros(1), np.zeros(1)]
    assert np.isnan(
        misclassification(half, values, values, np.array([1.0, np.inf]), nodes, nodes)
    )  # and no warning


def test_an_unresolved_table_takes_misclassification_alone():
    """sin over pre-activations of some hundreds: the errors do not need the table."""
    problem = Problem.scaled(
        dimension=100, width=40, samples=80, alpha=0.5, beta=0.5, activation="sin", task="classification",
        step_size=400.0,
    )  # fmt: skip
    with pytest.warns(UserWarning, match="misclassification: not told"):
        answer = problem.predict(0)
    assert bool(answer.converged)
    assert np.isfinite([answer.test_error, answer.train_error, answer.weight_norm]).all()
    assert np.isnan(answer.misclassification)


def test_a_wave_over_some_tens_of_radians_has_a_stand_in():
    problem = Problem.scaled(
        dimension=200, width=40, samples=80, alpha=0.5, beta=1.0, activation="sin", task="classification"
    )
    assert np.isfinite(problem.simulate(0, method="conditional_gaussian").test_error)
