import numpy as np
import pytest

from firstlight.maths.activations import activation
from firstlight.network.two_layer import TwoLayer, features, ridge_readout


@pytest.mark.parametrize("outputs", [(), (3,)])
def test_descent_direction_is_minus_the_gradient(outputs):
    rng = np.random.default_rng(0)
    network = TwoLayer.draw(4, 5, 0.2, activation("tanh"), rng, outputs)
    x, y = rng.normal(size=(7, 5)), rng.normal(size=(7, *outputs))

    def loss(first_layer):
        moved = TwoLayer(first_layer, network.second_layer, network.activation)
        return 0.5 * np.sum((y - moved(x)) ** 2) / len(y)

    result = network.descent_direction(x, y)
    step = 1e-6
    for i, j in [(0, 0), (2, 3), (3, 4)]:
        shift = np.zeros((4, 5))
        shift[i, j] = step
        slope = (loss(network.first_layer + shift) - loss(network.first_layer - shift)) / (2 * step)
        assert result[i, j] == pytest.approx(-slope, abs=1e-9)  # central differences: step² and rounding
    moved = network.step(x, y, 0.3)
    np.testing.assert_allclose(moved.first_layer, network.first_layer + 0.3 * result)


@pytest.mark.parametrize(("m", "k"), [(30, 12), (12, 30), (20, 20)])
@pytest.mark.parametrize("shape", [(), (2,)])
def test_ridge_solves_the_normal_equations(m, k, shape):
    rng = np.random.default_rng(1)
    phi, y = rng.normal(size=(m, k)), rng.normal(size=(m, *shape))
    ridges = np.array([1e-3, 0.1, 5.0])
    path = ridge_readout(phi, y, ridges)
    for ridge, weights in zip(ridges, path, strict=True):
        stationary = phi.T @ (phi @ weights - y) / m + ridge * weights
        assert np.max(np.abs(stationary)) < 1e-10
        np.testing.assert_allclose(ridge_readout(phi, y, np.array([ridge]))[0], weights, atol=1e-8)


@pytest.mark.parametrize(("m", "k", "rank"), [(10, 25, 10), (25, 10, 10), (20, 30, 7)])
def test_zero_ridge_is_the_least_norm_solution(m, k, rank):
    rng = np.random.default_rng(2)
    phi = rng.normal(size=(m, rank)) @ rng.normal(size=(rank, k))
    y = rng.normal(size=m)
    result = ridge_readout(phi, y, np.array([0.0]))[0]
    np.testing.assert_allclose(result, np.linalg.lstsq(phi, y, rcond=None)[0], atol=1e-10)
    np.testing.assert_allclose(result, ridge_readout(phi, y, np.array([1e-11]))[0], atol=1e-6)


@pytest.mark.parametrize("size", [1e155, 1e200, 1e300])
@pytest.mark.parametrize(("m", "k"), [(8, 5), (5, 8), (1, 6)])
def test_features_whose_squares_overflow_are_fitted_all_the_same(m, k, size):
    """Beside them any ridge is none. Their weights were 0, and the training error 1."""
    rng = np.random.default_rng(m)
    phi, y, ridges = rng.normal(size=(m, k)), rng.normal(size=m), np.array([0.0, 1e4])
    with np.errstate(over="ignore"):
        found = ridge_readout(size * phi, y, ridges)
    np.testing.assert_allclose(size * found, np.linalg.lstsq(phi, y, rcond=None)[0][None] * np.ones((2, 1)))


def test_features_carry_the_width():
    phi = features(np.ones((2, 3)), np.ones((4, 3)), activation("linear"))
    np.testing.assert_allclose(phi, 1.5)
