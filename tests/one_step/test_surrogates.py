from math import factorial

import numpy as np
import pytest
from numpy.polynomial.hermite_e import hermegauss, hermeval

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


@pytest.mark.parametrize("degree", [3, 5, 9])
def test_hermite_model_of_sin_is_its_series_by_hand(degree):
    rng, b = np.random.default_rng(7), 0.9
    first_layer, x = rng.normal(size=(5, 8)), rng.normal(size=(20, 8))
    # E[sin(b z) He_j(z)] = ± b^j exp(-b²/2) for odd j, and E sin(b z)² = exp(-b²) sinh(b²)
    series = np.zeros(degree + 1)
    for j in range(1, degree + 1, 2):
        series[j] = (-1) ** (j // 2) * b**j * np.exp(-(b**2) / 2) / factorial(j)
    kept = sum(c**2 * factorial(j) for j, c in enumerate(series))
    noise = np.random.default_rng(8).standard_normal((20, 5))
    expected = hermeval(x @ first_layer.T / b, series)
    expected += np.sqrt(np.exp(-(b**2)) * np.sinh(b**2) - kept) * noise
    model = HermiteFeatures(first_layer, activation("sin"), b, degree)
    # what degree 9 leaves to the noise is a difference of numbers near 1: its root is right to about 1e-9
    np.testing.assert_allclose(
        model(x, None, np.random.default_rng(8)), expected / np.sqrt(5), rtol=1e-9, atol=1e-8
    )


@pytest.mark.parametrize("square", [0.001, 0.05, 0.19])
def test_the_third_degree_stands_out_more_in_its_hermite_model_than_in_the_network(square):
    """What docs/one_step.md says of sin: eigenvalues of E ν ν over neurons, a q z being the spike's part."""
    b, sin = 0.9, activation("sin")
    nodes, weights = hermegauss(40)
    root = np.sqrt(weights / weights.sum())
    field = np.sqrt(square) * np.outer(nodes, nodes)  # neurons times inputs
    h = sin.hermite(3, b)
    network = sin.moments(field.ravel(), np.full(field.size, b), 0)[:, 0].reshape(field.shape)
    model = h[1] * field / b + h[3] / 6 * (field / b) ** 3
    found, cut = (np.linalg.svd(root[:, None] * mean * root)[1] ** 2 for mean in (network, model))
    shrink = 2 / (1 + 2 * square + np.sqrt(1 + 4 * square))
    closed = np.exp(-(b**2)) * np.sqrt(shrink) * (square * shrink) ** np.array([1, 3])
    np.testing.assert_allclose(found[:2], closed, rtol=1e-6)  # the kernel's trace is 1: rounding is 1e-16
    assert cut[0] * cut[1] == pytest.approx(np.exp(-2 * b**2) * square**4, rel=1e-6)
    assert cut[1] / found[1] > 1 + 10 * square * (1 - 5 * square)  # to first order 1 + 10 a²
    if square < 0.01:
        assert cut[1] / found[1] == pytest.approx(1 + 10 * square, abs=100 * square**2)


def test_conditional_gaussian_refuses_what_it_cannot_tabulate():
    first_layer = np.random.default_rng(3).normal(size=(8, 30)) * np.geomspace(0.1, 5, 8)[:, None]
    with pytest.raises(ValueError, match="activation: its moments are not resolved"):
        ConditionalGaussianFeatures(first_layer, activation(np.cos), np.eye(30)[:, :1], np.ones(1), 200.0)
