"""Predictions do not depend on units: inputs times c, labels' direction over c, step size over c²."""

from dataclasses import replace

import numpy as np
import pytest

from firstlight.data.labels import Classification, Regression
from firstlight.data.mixture import GaussianMixture, Spiked
from firstlight.one_step import Problem
from firstlight.one_step.theory.classwise import solve_classwise
from firstlight.one_step.theory.first_layer import strong_basis
from firstlight.one_step.theory.moments import FeatureMoments
from firstlight.one_step.theory.predictions import choose_equivalent
from firstlight.one_step.theory.reduced import reduced_law

UNITS = (1e-8, 1e-5, 1e-2, 30.0, 1e4, 1e8)


def _problem(seed, task, n=20):
    """Two classes with spikes, means and scales of their own."""
    rng = np.random.default_rng([31, seed])
    spikes = rng.normal(size=(2, n, 1 + seed % 2))
    spikes /= np.linalg.norm(spikes, axis=1, keepdims=True)
    pairs = zip(spikes, (1.0, 1.7), strict=True)
    laws = [Spiked(rng.uniform(1, 9, g.shape[1]), g, scale) for g, scale in pairs]
    mixture = GaussianMixture([0.4, 0.6], 3 * rng.normal(size=(2, n)) / np.sqrt(n), laws)
    xi = rng.normal(size=n) / np.sqrt(n) + 0.5 * spikes[0, :, 0]
    labels = Classification() if task == "classes" else Regression(xi, "tanh", 0.3)
    return Problem(mixture, labels, width=15, samples=40, step_size=8.0, ridge=1e-2)


def _in_units(problem, c):
    """Return the same problem for inputs that are c times as large."""
    mixture, labels = problem.mixture, problem.labels
    laws = [Spiked(law.strengths, law.directions, c**2 * law.scale) for law in mixture.covariances]
    if isinstance(labels, Regression):
        labels = replace(labels, direction=labels.direction / c)
    mixture = GaussianMixture(mixture.weights, c * mixture.means, laws)
    return replace(problem, mixture=mixture, labels=labels, step_size=problem.step_size / c**2)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_reduced_law_is_that_of_the_full_space_in_all_units(seed, offset):
    problem = _problem(seed, "regression")
    mixture = problem.mixture
    shifted = replace(mixture, means=mixture.means + offset / np.sqrt(mixture.dimension))
    problem = replace(problem, mixture=shifted)
    ranks = set()
    for c in UNITS:
        same = _in_units(problem, c)
        mixture, labels = same.mixture, same.labels
        law = reduced_law(mixture, labels)
        ranks.add(law.rank)
        index_mean, index_std = labels.index(mixture)
        # orthonormal coordinates keep inner products to rounding: 1e-15 of the lengths, offset included
        rounding = 1e-14 * (1 + offset)
        np.testing.assert_allclose(law.means @ law.index, index_mean, atol=10 * rounding)
        apart = np.linalg.norm(np.diff(law.means, axis=0)), np.linalg.norm(np.diff(mixture.means, axis=0))
        assert apart[0] == pytest.approx(apart[1], rel=10 * rounding)
        for root, std, one in zip(law.roots, index_std, mixture.covariances, strict=True):
            assert np.linalg.norm(root @ law.index) == pytest.approx(std, rel=1e-12)
            inside = root @ root.T / one.scale
            spikes = one.strengths.size
            expected = np.linalg.eigvalsh(one.dense() / one.scale)[-spikes:]
            np.testing.assert_allclose(np.linalg.eigvalsh(inside)[-spikes:], expected, rtol=1e-12)
    assert ranks == {2 * (1 + seed % 2) + 3}


def test_means_that_are_zero_up_to_rounding_are_no_directions():
    problem = _problem(1, "regression")
    mixture = replace(problem.mixture, means=1e-16 * problem.mixture.means)
    assert reduced_law(mixture, problem.labels).rank == 5  # four spikes and the labels' direction


@pytest.mark.parametrize("seed", range(6))
def test_directions_of_the_mean_features_are_the_same_in_all_units(seed):
    mixture = _problem(seed, "classes").mixture
    rng = np.random.default_rng(seed)
    first, update = rng.normal(size=(15, 20)), 10.0 ** rng.uniform(-3, 3) * rng.normal(size=20)
    projectors = []
    for c in (1.0, *UNITS):
        laws = [replace(law, scale=c**2 * law.scale) for law in mixture.covariances]
        basis = strong_basis(first / c, update / c, laws, c * mixture.means)
        projectors.append(basis @ basis.T)
    for projector in projectors:
        # what is less than 1e-5 of a vector may be left out
        np.testing.assert_allclose(projector, projectors[0], atol=2e-5)
    assert np.trace(projectors[0]) == pytest.approx(2 * (1 + seed % 2) + 3)


@pytest.mark.parametrize("task", ["regression", "classes"])
def test_predictions_given_a_first_layer_do_not_depend_on_units(task):
    problem = _problem(0, task)
    expected = problem.predict(0, equivalent="class-wise")
    for c in UNITS:
        result = _in_units(problem, c).predict(0, equivalent="class-wise")
        assert bool(result.converged)
        for name in ("test_error", "train_error", "test_error_by_class", "weight_norm"):
            # rounding times the condition of the features' covariance and the ridge, 1e2
            np.testing.assert_allclose(result[name], expected[name], rtol=1e-10)
        if task == "classes":
            wrong = float(expected.misclassification)
            # 256 nodes for each of two classes, no worse than random ones
            assert abs(float(result.misclassification) - wrong) < 3 * np.sqrt(wrong / 512)


@pytest.mark.parametrize("task", ["regression", "classes"])
def test_predictions_without_a_network_do_not_depend_on_units(task):
    problem = _problem(1, task)
    free = {"method": "asymptotic", "draws": 4, "nodes": 64}
    expected = problem.predict(0, **free)
    names = ["test_error", "train_error", "weight_norm"] + ["misclassification"] * (task == "classes")
    for c in (1e-8, 1e8):
        result = _in_units(problem, c).predict(0, **free)
        assert bool(result.converged)
        for name in names:
            # axes of another order have other nodes: the error that both tell, to four standard deviations
            told = np.hypot(float(expected[f"{name}_sem"]), float(result[f"{name}_sem"]))
            assert abs(float(result[name]) - float(expected[name])) < 4 * told


@pytest.mark.parametrize("seed", range(4))
def test_the_stand_in_model_does_not_depend_on_units(seed):
    problem = _problem(seed, "classes" if seed < 2 else "regression")
    expected = problem.simulate(0, method="conditional_gaussian")
    for c in (1e-12, *UNITS, 1e12):
        result = _in_units(problem, c).simulate(0, method="conditional_gaussian")
        for name in ("test_error", "train_error", "weight_norm"):
            # as above: rounding times a condition of 1e2, and what interpolation in other units may add
            np.testing.assert_allclose(result[name], expected[name], rtol=1e-9)


def test_moments_whose_noise_outweighs_the_ridge_have_no_solution():
    # ten features that are one and the same, integrated to 1e-9: some eigenvalues are below zero
    noise = np.random.default_rng(0).normal(size=(10, 10))
    omega = np.full((10, 10), 0.05) + 5e-11 * (noise + noise.T)
    moments = FeatureMoments(np.full(2, 0.5), [omega, 2 * omega], np.full((2, 10), 0.1), np.ones(2))
    solved = solve_classwise(moments, 30, 0.0)
    assert not solved.converged
    assert np.isnan(solved.readout).all()
    assert solve_classwise(moments, 30, 1e-3).converged


def test_dependent_features_without_a_ridge_are_no_crash():
    none = np.zeros((1, 0))
    mixture = GaussianMixture([0.5, 0.5], None, [Spiked([], none, 1.0), Spiked([], none, 4.0)])
    labels = Regression(np.ones(1), "tanh")
    problem = Problem(mixture, labels, width=10, samples=30, activation="step", ridge=0.0, step_size=0.0)
    result = problem.predict(0)
    assert not bool(result.converged)
    assert np.isnan(float(result.test_error))


@pytest.mark.parametrize("unit", [1.0, *UNITS])
@pytest.mark.parametrize(("ratio", "expected"), [(1.0, "one covariance"), (4.0, "class-wise")])
def test_which_equations_serve_does_not_depend_on_units(unit, ratio, expected):
    laws = [Spiked([], np.zeros((4, 0)), unit**2 * scale) for scale in (1.0, ratio)]
    assert choose_equivalent(GaussianMixture([0.5, 0.5], None, laws)) == expected
