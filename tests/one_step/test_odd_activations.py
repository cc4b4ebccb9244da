"""Activations and steps that leave what can be integrated, or the range of numbers, and slopes that jump."""

import warnings

import numpy as np
import pytest

from firstlight.maths.activations import activation
from firstlight.one_step import GaussianMixture, Problem, Regression

WAVES = {"cos": np.cos, "fast": lambda z: np.cos(100 * z), "growing": lambda z: z * np.sin(3 * z)}


@pytest.mark.parametrize("task", ["regression", "classification"])
@pytest.mark.parametrize(
    ("wave", "step_size"), [("cos", 1e5), ("fast", 1.0), ("fast", 1e3), ("growing", 1e3)]
)
@pytest.mark.filterwarnings("ignore:misclassification")
def test_predictions_from_integrals_that_no_rule_resolves_are_not_told(task, wave, step_size):
    """They were: errors of 0.1 to 0.5 for networks with 1.1 to 1.6, as converged."""
    problem = Problem.scaled(
        dimension=40, width=30, samples=90, alpha=0.5, beta=0.5, activation=WAVES[wave], task=task,
        label_direction="spikes", step_size=step_size, ridge=1e-2,
    )  # fmt: skip
    answer = problem.predict(0)
    assert not answer.converged
    assert np.isnan(answer.test_error)
    with pytest.raises(ValueError, match="risk = 'population'"):
        problem.simulate(0, risk="population")


@pytest.mark.parametrize("speed", [30.0, 100.0, 1e4])
def test_labels_that_no_rule_resolves_are_not_told(speed):
    """The variance of cos(30 t), one half, was told as 0.38, and errors in units of it."""
    problem = Problem.scaled(
        dimension=40, width=30, samples=90, alpha=0.5, beta=0.5, label_direction="spikes", ridge=1e-2,
        link=activation(lambda t: np.cos(speed * t)),
    )  # fmt: skip
    for answer in (problem.predict(0), problem.predict(0, method="asymptotic", draws=2, nodes=64)):
        assert not answer.converged
        assert np.isnan([answer.test_error, answer.label_variance]).all()
    with pytest.warns(UserWarning, match="label_variance: not told"):
        trained = problem.simulate(0)
    assert np.isfinite(trained.test_error)
    assert np.isnan([trained.label_variance, trained.relative_test_error]).all()
    with pytest.raises(ValueError, match=r"risk = 'population'.* link"):
        problem.simulate(0, risk="population")


@pytest.mark.parametrize("speed", [1.0, 3.0, 10.0])
def test_waves_that_the_rule_resolves_are_told(speed):
    problem = Problem.scaled(
        dimension=40, width=30, samples=90, alpha=0.5, beta=0.5, label_direction="spikes", ridge=1e-2,
        link=activation(lambda t: np.cos(speed * t)),
    )  # fmt: skip
    std = problem.labels.index(problem.mixture)[1][0]
    angle = (speed * std) ** 2
    answer = problem.predict(0)
    assert answer.converged
    exact = 0.5 * (1 + np.exp(-2 * angle)) - np.exp(-angle)
    np.testing.assert_allclose(answer.label_variance, exact, rtol=1e-6)


@pytest.mark.parametrize("name", ["relu", "quadratic"])
@pytest.mark.parametrize("seed", range(3))
def test_misclassification_after_a_step_of_any_length(name, seed):
    """Spikes have length one beside the step's direction, which was all that was left from 1e11 on."""
    found = [
        Problem.scaled(
            dimension=30, width=20, samples=40, alpha=0.5, beta=0.5, activation=name,
            task="classification", step_size=step_size,
        ).predict(seed).misclassification
        for step_size in (1e6, 1e9, 1e12, 1e20)
    ]  # fmt: skip
    np.testing.assert_allclose(found, found[0], atol=2e-3)  # 256 nodes, scrambled anew


@pytest.mark.parametrize("step_size", [1e6, 1e8, 1e12, 1e20, 1e30])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_no_step_is_too_long_for_an_answer(step_size):
    for task in ("regression", "classification"):
        problem = Problem.scaled(
            dimension=30, width=20, samples=40, alpha=0.5, beta=0.5, activation="quadratic", task=task,
            step_size=step_size,
        )  # fmt: skip
        answer = problem.predict(0, method="asymptotic", draws=2, nodes=128)
        assert np.isfinite(answer.test_error) == answer.converged


@pytest.mark.parametrize("seed", range(6))
def test_an_iteration_that_leaves_the_range_of_numbers_is_told_and_warns_of_nothing(seed):
    """One neuron for two classes that are almost points, far apart."""
    rows = np.random.default_rng(seed).normal(size=(12, 7))
    y = np.tile([0, 1], 6)
    problem = Problem.from_data(30 * y[:, None] + 1e-3 * rows, y, spikes=1, width=1, samples=5, ridge=1e-4)
    answer = problem.predict(seed, method="asymptotic", nodes=64)
    assert np.isfinite(answer.test_error) == answer.converged


@pytest.mark.parametrize("equivalent", ["one covariance", "class-wise"])
@pytest.mark.parametrize(("width", "degree"), [(1, 3), (7, 4)])
def test_features_whose_squares_leave_the_range_of_numbers_are_told(width, degree, equivalent):
    """Two classes that are almost points, far apart, and a strong step."""
    rows = np.random.default_rng(degree).normal(size=(6, 5))
    y = np.tile([0, 1], 3)
    problem = Problem.from_data(
        30 * y[:, None] + 1e-2 * rows, y, spikes=1, width=width, samples=4, activation=f"He_{degree}",
        step_size=1e6,
    )  # fmt: skip
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        answer = problem.predict(degree, equivalent=equivalent)
    said = [str(one.message) for one in caught]
    assert not said or (len(said) == 1 and said[0].startswith("misclassification: not told"))
    assert np.isfinite(answer.misclassification) or not answer.converged or said


@pytest.mark.parametrize("step_size", [1e31, 1e200, 1e300, np.inf])
def test_steps_beyond_the_range_of_numbers_are_refused(step_size):
    with pytest.raises(ValueError, match="step_size"):
        Problem.scaled(dimension=30, width=20, samples=40, alpha=0.5, beta=0.5, step_size=step_size)


@pytest.mark.parametrize("steep", [np.exp, np.sinh, lambda z: np.where(np.abs(z) > 30, np.nan, z)])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_an_activation_that_leaves_the_range_of_numbers_is_named(steep):
    problem = Problem.scaled(
        dimension=30, width=20, samples=40, alpha=0.5, beta=0.5, activation=steep, step_size=1e5
    )
    for ask in (
        lambda: problem.simulate(0),
        lambda: problem.simulate(0, method="conditional_gaussian"),
        lambda: problem.predict(0),
    ):
        with pytest.raises(ValueError, match="activation"):
            ask()


@pytest.mark.parametrize("seed", range(2))
def test_the_slope_of_an_activation_that_jumps_has_no_point_mass(seed):
    """A network of step functions does not move; without one it was said to learn, from 0.27 to 0.15."""
    still, moved = (
        Problem.scaled(
            dimension=100, width=80, samples=200, alpha=0.5, beta=0.5, activation="step",
            label_direction="spikes", step_size=step_size, ridge=1e-2,
        ).predict(seed, method="asymptotic", draws=2)
        for step_size in (0.0, 300.0)
    )  # fmt: skip
    np.testing.assert_allclose(moved.test_error, still.test_error, rtol=1e-12)
    np.testing.assert_allclose(moved.weight_norm, still.weight_norm, rtol=1e-12)


@pytest.mark.parametrize("step_size", [30.0, 100.0, 300.0])
def test_a_jump_beside_a_slope(step_size):
    jump = activation(
        lambda z: np.tanh(z) - 2 * (z > 0.3),
        kinks=[0.3],
        derivative=lambda z: 1 / np.cosh(np.clip(z, -300, 300)) ** 2,
    )
    problem = Problem.scaled(
        dimension=100, width=80, samples=200, alpha=0.5, beta=0.5, activation=jump, label_direction="spikes",
        step_size=step_size, ridge=1e-2,
    )  # fmt: skip
    trained = np.mean([float(problem.simulate(seed).test_error) for seed in range(30)])
    without = float(problem.predict(0, method="asymptotic").test_error)
    assert without == pytest.approx(trained, rel=0.05)  # 80 neurons; the mean of the networks is good to 2 %


@pytest.mark.parametrize("seed", range(6))
def test_a_network_whose_weights_are_beyond_numbers_is_refused_by_its_ridge(seed):
    """Features of 1e-200 need weights of 1e200 if there is no ridge: errors were infinite, without a word."""
    problem = Problem.scaled(
        dimension=10,
        width=4,
        samples=9,
        alpha=0.5,
        beta=0.5,
        ridge=0.0,
        step_size=0.0,
        activation=lambda z: 1e-200 * np.tanh(z),
    )
    with pytest.raises(ValueError, match="ridge = 0: weight_norm is beyond floating point"):
        problem.simulate(seed)


@pytest.mark.parametrize("seed", range(4))
def test_labels_whose_noise_agrees_by_chance_with_that_of_one_rule(seed):
    """In 12 of 6000 random waves means up to .2 off were told, as resolved by two rules that agreed."""
    rng = np.random.default_rng([41, seed])
    waves = [(54.53075652833059, 3.7986946593404185, 5.406031147072922, 2.2392690447908596)]
    waves += zip(
        10 ** rng.uniform(2, 5, 60), rng.normal(size=60), 10 ** rng.uniform(0, 1, 60), [0.0] * 60, strict=True
    )
    for speed, mean, std, phase in waves:
        wave = activation(lambda t, speed=speed, phase=phase: np.cos(speed * t + phase))
        law = GaussianMixture([1.0], [[mean / std, 0.0]], [np.eye(2)])
        labels = Regression([std, 0.0], link=wave)
        if labels.resolved(law):
            np.testing.assert_allclose(np.ravel(labels.moments(law)), [0.0, 0.5], atol=0.02)  # 1 % of one
