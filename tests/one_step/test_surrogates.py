import numpy as np
import pytest

from firstlight.maths.activations import activation
from firstlight.one_step import Problem
from firstlight.one_step.experiment.surrogates import (
    ConditionalGaussianFeatures,
    HermiteFeatures,
    NetworkFeatures,
)


def test_hermite_model_of_high_degree_is_the_network():
    # tanh at std 1: the terms beyond degree 14 hold 1e-5 of its variance, which the noise replaces
    rng = np.random.default_rng(0)
    first_layer = rng.normal(size=(40, 400)) / 20
    first_layer /= np.linalg.norm(first_layer, axis=1, keepdims=True)
    x = np.clip(rng.normal(size=(50, 400)), -2, 2)
    exact = NetworkFeatures(first_layer, activation("tanh"))(x, None, rng)
    model = HermiteFeatures(first_layer, activation("tanh"), 1.0, 14)(x, None, rng)
    assert np.mean((model - exact) ** 2) < 3e-3 * np.mean(exact**2)


def test_hermite_model_keeps_the_second_moment():
    rng = np.random.default_rng(1)
    first_layer = rng.normal(size=(30, 200))
    first_layer *= 0.8 / np.linalg.norm(first_layer, axis=1, keepdims=True)
    x = rng.normal(size=(20_000, 200))
    relu = activation("relu")
    for degree in (1, 2, 4):
        phi = HermiteFeatures(first_layer, relu, 0.8, degree)(x, None, rng)
        # 20 000 x 30 weakly dependent entries: a fifth moment's worth of spread is under 1 %
        assert np.mean(phi**2) * 30 == pytest.approx(float(relu.second_moment(0.8)), rel=0.02)


@pytest.mark.parametrize("name", ["relu", "tanh"])
def test_conditional_gaussian_matches_the_moments_at_fixed_strong_coordinates(name):
    rng = np.random.default_rng(2)
    n, k, count = 60, 4, 200_000
    sigma, basis = activation(name), np.eye(n)[:, :2]
    first_layer = rng.normal(size=(k, n)) / np.sqrt(n)
    first_layer[:, :2] += rng.normal(size=(k, 2))
    scales = np.array([1.0, 0.5])
    model = ConditionalGaussianFeatures(first_layer, sigma, basis, scales, 10.0)
    x = np.sqrt(0.5) * rng.normal(size=(count, n))
    x[:, :2] = [0.8, -1.1]  # κ held fixed; the rest has the second class's scale
    exact = sigma(x @ first_layer.T) / np.sqrt(k)
    phi = model(x, np.ones(count, dtype=int), rng)
    error = (exact.std(axis=0) + phi.std(axis=0)) / np.sqrt(count)
    assert np.all(np.abs(phi.mean(axis=0) - exact.mean(axis=0)) < 5 * error)
    np.testing.assert_allclose(phi.var(axis=0), exact.var(axis=0), rtol=0.02)  # kurtosis 5: 1 % is 2 s.e.
    along = x[:, 2:] @ first_layer[:, 2:].T
    for ours, theirs in zip((phi * along).T, (exact * along).T, strict=True):
        assert ours.mean() == pytest.approx(theirs.mean(), abs=5 * (ours - theirs).std() / np.sqrt(count))


def test_conditional_gaussian_of_a_span_that_fills_the_space_is_the_network():
    rng = np.random.default_rng(5)
    first_layer, x = rng.normal(size=(6, 3)), rng.normal(size=(20, 3))
    basis = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    model = ConditionalGaussianFeatures(first_layer, activation("relu"), basis, np.ones(1), 8.0)
    exact = NetworkFeatures(first_layer, activation("relu"))(x, None, rng)
    np.testing.assert_array_equal(model(x, np.zeros(20, dtype=int), rng), exact)  # no noise, no table
    problem = Problem.scaled(dimension=3, width=10, samples=30, alpha=0.5, beta=1.0)
    result, network = problem.simulate(0, method="conditional_gaussian"), problem.simulate(0)
    assert float(result.test_error) == float(network.test_error)
