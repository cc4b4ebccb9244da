import numpy as np
import pytest

from firstlight.activations import activation
from firstlight.features import Tabulated, cross_moments, second_moments

K = 6


def _law(rng, mean_size):
    root = rng.normal(size=(K + 1, K + 1)) / np.sqrt(K + 1)
    return mean_size * rng.normal(size=K + 1), root @ root.T + 0.05 * np.eye(K + 1)


@pytest.mark.parametrize("mean_size", [0.0, 0.7])
@pytest.mark.parametrize(("name", "link"), [("relu", "relu"), ("tanh", "relu"), ("sigmoid", "sin")])
def test_against_brute_force(name, link, mean_size):
    rng = np.random.default_rng(1)
    mean, covariance = _law(rng, mean_size)
    sigma, target = activation(name), activation(link)
    u = rng.multivariate_normal(mean, covariance, size=400_000)
    phi, y = sigma(u[:, :K]), target(u[:, K])
    products = phi[:, :, None] * phi[:, None, :]
    found = second_moments(sigma, mean[:K], covariance[:K, :K])
    error = products.std(axis=0) / np.sqrt(len(u))
    assert np.max(np.abs(products.mean(axis=0) - found) / error) < 5
    mixed = phi * y[:, None]
    found = cross_moments(
        sigma, mean[:K], np.diag(covariance)[:K], target, mean[K], covariance[K, K], covariance[K, :K]
    )
    assert np.max(np.abs(mixed.mean(axis=0) - found) / (mixed.std(axis=0) / np.sqrt(len(u)))) < 5


def test_series_and_closed_form_agree():
    # a mean of 1e-300 forces the series; correlations stay below 0.7, where 60 terms leave 1e-11
    rng = np.random.default_rng(2)
    rows = rng.normal(size=(30, 60)) / np.sqrt(60)
    covariance = rows @ rows.T
    relu = activation("relu")
    closed = second_moments(relu, np.zeros(30), covariance)
    series = second_moments(relu, np.full(30, 1e-300), covariance)
    np.testing.assert_allclose(series, closed, atol=1e-10)


@pytest.mark.parametrize("name", ["relu", "tanh", "step"])
def test_table_against_quadrature(name):
    rng = np.random.default_rng(3)
    sigma = activation(name)
    mean, std = rng.uniform(-4, 4, 500), rng.uniform(0.6, 1.4, 500)
    table = Tabulated(sigma, (-4, 4), (0.6, 1.4))(mean, std)
    exact = [*np.moveaxis(sigma.moments(mean, std, 2), -1, 0), sigma.mean_square(mean, std)]
    for found, value in zip(table, exact, strict=True):
        np.testing.assert_allclose(found, value, atol=5e-5)  # cubic splines, ten nodes per std


def test_table_refuses_a_vanishing_spread():
    with pytest.raises(ValueError, match="std_range"):
        Tabulated(activation("relu"), (-1, 1), (0.0, 1.0))
