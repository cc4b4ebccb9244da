import numpy as np
import pytest

import firstlight
from firstlight.maths.activations import activation
from firstlight.maths.feature_moments import Tabulated, cross_moments, second_moments
from firstlight.maths.quadrature import expectation

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
    moments = second_moments(sigma, mean[:K], covariance[:K, :K])
    error = products.std(axis=0) / np.sqrt(len(u))
    assert np.max(np.abs(products.mean(axis=0) - moments) / error) < 5
    mixed = phi * y[:, None]
    moments = cross_moments(
        sigma, mean[:K], np.diag(covariance)[:K], target, mean[K], covariance[K, K], covariance[K, :K]
    )
    assert np.max(np.abs(mixed.mean(axis=0) - moments) / (mixed.std(axis=0) / np.sqrt(len(u)))) < 5


def test_series_and_closed_form_agree():
    # a mean of 1e-300 forces the series; correlations stay below 0.7, where 60 terms leave 1e-11
    rng = np.random.default_rng(2)
    rows = rng.normal(size=(30, 60)) / np.sqrt(60)
    covariance = rows @ rows.T
    relu = activation("relu")
    closed = second_moments(relu, np.zeros(30), covariance)
    series = second_moments(relu, np.full(30, 1e-300), covariance)
    np.testing.assert_allclose(series, closed, atol=1e-10)


def _kinked(z):
    return np.where(z > 1, 1 + np.sin(z - 1), np.where(z > -0.5, z, 0.0))  # a jump, a kink, and it curves


@pytest.mark.parametrize("name", ["relu", "step", "tanh", "gelu", "leaky_relu", "own"])
@pytest.mark.parametrize(("mean", "std"), [((0.3, 0.3), (1.0, 1.0)), ((0.4, -1.0), (0.7, 3.0))])
def test_any_correlation_against_integrals_in_the_plane(name, mean, std):
    # the series may leave 1e-9 of the root of the second moments, and ten nodes on a piece leave 1e-10
    sigma = activation(_kinked, kinks=(-0.5, 1.0)) if name == "own" else activation(name)
    mean, std = np.array(mean), np.array(std)
    square = sigma.mean_square(mean, std)
    for rho in (0.9, 0.99, 0.999, 0.999999, 1.0, -0.99, -1.0):
        covariance = np.outer(std, std) * np.array([[1.0, rho], [rho, 1.0]])
        exact = expectation(
            lambda u, v: sigma(u) * sigma(v), dim=2, mean=mean, covariance=covariance, kinks=sigma.kinks
        )
        tolerance = 2e-9 * np.sqrt(square.prod())
        pair = second_moments(sigma, mean, covariance)
        np.testing.assert_allclose(pair[[0, 1], [1, 0]], exact, rtol=0, atol=tolerance)
        np.testing.assert_allclose(np.diag(pair), square, rtol=1e-12)
        with_link = cross_moments(
            sigma, mean[:1], std[:1] ** 2, sigma, mean[1], std[1] ** 2, covariance[:1, 1]
        )
        np.testing.assert_allclose(with_link, exact, rtol=0, atol=tolerance)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.filterwarnings("ignore:E:firstlight.maths.quadrature.QuadratureWarning")
def test_a_kink_beside_a_bend_far_from_it(seed):
    """Straight but for a bump, which a look at few points took for a straight line: 6 to 90 % off."""
    rng = np.random.default_rng([17, seed])
    kink, width = rng.uniform(-1, 1), rng.uniform(0.25, 0.35)
    place = kink + rng.choice([-1, 1]) * rng.uniform(3, 7)
    sigma = activation(
        lambda z: np.maximum(z - kink, 0) + 2 * np.exp(-((z - place) ** 2) / (2 * width**2)), kinks=[kink]
    )
    mean, std = place + rng.uniform(-1, 1, 2), rng.uniform(0.7, 1.5, 2)
    size = np.sqrt(sigma.mean_square(mean, std).prod())
    for rho in (0.9, 0.99, -0.95, 1.0):
        covariance = np.outer(std, std) * np.array([[1.0, rho], [rho, 1.0]])
        exact = expectation(
            lambda u, v: sigma(u) * sigma(v), dim=2, mean=mean, covariance=covariance, kinks=[kink]
        )
        # ten nodes on a piece of up to three standard deviations, where the bump may be a tenth of that
        assert abs(second_moments(sigma, mean, covariance)[0, 1] - exact) < 1e-2 * size


@pytest.mark.parametrize("name", ["relu", "erf"])
def test_strong_and_weak_correlations_together(name):
    # a mean of 1e-300 keeps σ from its closed form; standard deviations are near 8, and one neuron's is zero
    rng = np.random.default_rng(4)
    rows = rng.normal(size=(20, 20)) * np.where(np.arange(20) == 0, 8.0, 1.0)
    rows[1], rows[2], rows[3] = rows[0], -2 * rows[0], 0.0
    covariance = rows @ rows.T
    sigma = activation(name)
    closed = second_moments(sigma, np.zeros(20), covariance)
    root = np.sqrt(np.maximum(np.diag(closed), 1e-9))
    moments = second_moments(sigma, np.full(20, 1e-300), covariance)
    # the tolerance is the one above: a ρ rounded next to ±1 moves a pair without jumps by rounding only
    assert np.all(np.abs(moments - closed) <= 2e-9 * root[:, None] * root)


@pytest.mark.parametrize("name", ["relu", "tanh", "step", "gelu"])
@pytest.mark.parametrize(("reach", "low", "high"), [(4, 0.6, 1.4), (200, 0.8, 40), (2e4, 7, 4000)])
def test_table_against_quadrature(name, reach, low, high):
    rng = np.random.default_rng(3)
    sigma = activation(name)
    std = np.exp(rng.uniform(*np.log([low, high]), 500))
    mean = np.clip(3 * std * rng.standard_normal(500), -reach, reach)
    table = Tabulated(sigma, (-reach, reach), (low, high))
    exact = [*np.moveaxis(sigma.moments(mean, std, 2), -1, 0), sigma.mean_square(mean, std)]
    # what the table says of itself, from 512 places, and thrice that for those that it did not look at
    size = np.sqrt(sigma.mean_square(np.full(500, float(reach)), std))
    for each, value, scale in zip(table(mean, std), exact, (size, size, size, size**2), strict=True):
        assert np.abs((each - value) / scale).max() <= 3 * table.error
    assert table.error < 1e-4  # cubic splines at forty nodes per e-fold of M and s, or ten over wide ranges


def test_table_says_that_it_cannot_resolve_a_wave():
    assert Tabulated(firstlight.activation(np.cos), (-170, 170), (0.8, 40)).error > 0.1


@pytest.mark.parametrize("decades", [1, 5, 20, 60])
def test_tables_stay_small_over_any_range(decades):
    """Sixty decades (of networks that diverged) took 1.4 million entries; the error tells what is lost."""
    entries = []

    def seen(x):
        entries.append(len(x))  # the places of one call, each with all its nodes
        return np.tanh(x)

    table = Tabulated(firstlight.activation(seen), (-(10.0**decades), 10.0**decades), (1.0, 10.0**decades))
    assert sum(entries) < 1.4 * 40_000  # of the last, and a quarter and a sixteenth of it before
    assert table.usable == (decades <= 5)


def test_table_refuses_a_vanishing_spread():
    with pytest.raises(ValueError, match="std_range"):
        Tabulated(activation("relu"), (-1, 1), (0.0, 1.0))
