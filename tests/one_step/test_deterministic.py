import numpy as np
import pytest

from firstlight.data.labels import Classification, Regression
from firstlight.data.mixture import GaussianMixture, Spiked
from firstlight.data.structured import structured_data
from firstlight.maths.activations import activation
from firstlight.one_step.theory.classwise import classwise_equivalent
from firstlight.one_step.theory.deterministic import Resolvent, effective_ridge, pooled_equivalents
from firstlight.one_step.theory.first_layer import mean_features, stepped_first_layer
from firstlight.one_step.theory.moments import FeatureMoments, feature_moments

RELU = activation("relu")


def _moments(k=80, n=60, seed=0, **options):
    mixture, labels = structured_data(n, 6.0, **options)
    first_layer = np.random.default_rng(seed).normal(size=(k, n)) / np.sqrt(mixture.trace)
    return feature_moments(first_layer, RELU, mixture, labels)


@pytest.mark.parametrize("size", [1, 2, 3, 40])
def test_resolvent(size):
    rng = np.random.default_rng(0)
    root = rng.normal(size=(size, size))
    omega, b = root @ root.T, rng.normal(size=size)
    resolvent = Resolvent(omega, b)
    np.testing.assert_allclose(resolvent.values, np.linalg.eigvalsh(omega), rtol=1e-10, atol=1e-12)
    shifts = np.array([0.0, 1e-3, 5.0])
    for shift, each in zip(shifts, resolvent(shifts), strict=True):
        np.testing.assert_allclose(omega @ each + shift * each, b, atol=1e-9 * np.abs(b).max())


@pytest.mark.parametrize("size", [1, 2, 3, 5, 40])
def test_resolvent_at_many_places(size):
    """Far more columns than LAPACK's usual room for so few rows; a condition of 100 keeps 13 digits."""
    rng = np.random.default_rng(2)
    root = rng.normal(size=(size, size))
    omega = root @ root.T + np.eye(size)
    resolvent, shifts = Resolvent(omega, rng.normal(size=size)), rng.uniform(0, 3, 100)
    columns = rng.normal(size=(len(shifts), 40, size))
    solved = np.linalg.solve(omega + shifts[:, None, None] * np.eye(size), np.moveaxis(columns, 1, 2))
    np.testing.assert_allclose(resolvent.of(shifts, columns), np.moveaxis(solved, 1, 2), atol=1e-12)
    right = rng.normal(size=size)
    each = np.linalg.solve(omega + shifts[:, None, None] * np.eye(size), right[:, None])[..., 0]
    np.testing.assert_allclose(
        Resolvent(omega, right)(np.tile(shifts, 40)), np.tile(each, (40, 1)), atol=1e-12
    )
    forms = resolvent.forms(0.5, resolvent.turn(columns.reshape(-1, size).T))
    inside = columns.reshape(-1, size) @ np.linalg.inv(omega + 0.5 * np.eye(size))
    np.testing.assert_allclose(forms, np.vecdot(inside @ omega, inside), atol=1e-12)


def test_resolvent_of_a_singular_matrix_is_the_solution_of_least_norm():
    rng = np.random.default_rng(1)
    root = rng.normal(size=(30, 12))
    omega, b = root @ root.T, root @ rng.normal(size=12)
    result = Resolvent(omega, b)(np.zeros(1))[0]
    np.testing.assert_allclose(result, np.linalg.pinv(omega, rcond=1e-10) @ b, atol=1e-5)


def test_linear_network_with_orthonormal_rows_has_a_closed_form():
    # φ = x/√k for a linear σ and F = I: ridge regression with isotropic inputs of variance l = 1/k, whose
    # effective ridge solves κ² + κ(l - λ - l k/m) - λ l = 0 and whose errors are elementary
    k, m, ridge, noise = 50, 80, 3e-3, 0.3
    mixture = GaussianMixture([1.0], None, [np.eye(k)])
    labels = Regression(np.full(k, 0.2), "linear", noise)
    moments = feature_moments(np.eye(k), activation("linear"), mixture, labels)
    equivalents = pooled_equivalents(moments, [m], np.array([ridge]))[0][0]
    size = 1 / k
    slope = size - ridge - size * k / m
    kappa = 0.5 * (-slope + np.sqrt(slope**2 + 4 * ridge * size))
    gamma = k / m * (size / (size + kappa)) ** 2
    signal = k * 0.04
    test = (signal * (kappa / (size + kappa)) ** 2 + noise**2) / (1 - gamma)
    assert effective_ridge(np.full(k, size), m, ridge)[0] == pytest.approx(kappa, rel=1e-10)
    assert equivalents.test == pytest.approx(test, rel=1e-9)
    assert equivalents.train == pytest.approx(test * (ridge / kappa) ** 2, rel=1e-9)
    spread = k / m * size / (size + kappa) ** 2
    mean = signal * size / (size + kappa) ** 2
    assert equivalents.weight_square == pytest.approx(mean + test * spread, rel=1e-9)
    assert equivalents.by_class[0] == pytest.approx(test, rel=1e-9)


def test_classwise_is_the_pooled_equivalent_for_equal_laws():
    moments = _moments()
    same = FeatureMoments(moments.weights, [moments.second[0]] * 2, moments.cross, moments.label_square)
    for ridge in (1e-5, 1e-2, 3.0):
        one = pooled_equivalents(same, [70], np.array([ridge]))[0][0]
        two = classwise_equivalent(same, 70, ridge)
        assert two.converged
        for name in ("test", "train", "weight_square"):
            assert getattr(two, name) == pytest.approx(getattr(one, name), rel=1e-8)
        np.testing.assert_allclose(two.by_class, one.by_class, rtol=1e-8)
        np.testing.assert_allclose(two.readout, one.readout, atol=1e-8 * np.abs(one.readout).max())


@pytest.mark.parametrize("kind", ["pooled", "classwise"])
def test_limits(kind):
    moments = _moments(label_direction="spikes")

    def solve(m, ridge):
        if kind == "pooled":
            return pooled_equivalents(moments, [m], np.array([ridge]))[0][0]
        return classwise_equivalent(moments, m, ridge)

    omega, b, square = moments.pooled()
    best = square - b @ np.linalg.solve(omega, b)
    # k/m → 0: the best linear read-out, with a correction of order k/m
    many = solve(10**8, 1e-12)
    assert many.test == pytest.approx(best, rel=1e-5)
    assert many.train == pytest.approx(best, rel=1e-5)
    # ridge → ∞: nothing is learnt, with a correction of order 1/ridge
    stiff = solve(100, 1e7)
    assert stiff.test == pytest.approx(square, rel=1e-5)
    assert stiff.train == pytest.approx(square, rel=1e-5)
    assert stiff.weight_square < 1e-10
    # ridge → 0 with k > m: interpolation
    loose = solve(40, 0.0)
    assert loose.train < 1e-8 * loose.test
    assert loose.test == pytest.approx(solve(40, 1e-9).test, rel=1e-5)


@pytest.mark.parametrize("kind", ["pooled", "classwise"])
@pytest.mark.parametrize("power", [-200, -60, 100, 300])
def test_errors_do_not_depend_on_the_unit_of_the_features(kind, power):
    # features times 2^power, the ridge times its square: read-outs shrink, errors stay to rounding
    size = 2.0**power
    one = _moments(k=20, n=30, label_direction="spikes")
    other = FeatureMoments(
        one.weights, [size**2 * second for second in one.second], size * one.cross, one.label_square
    )
    for moments, ridge in ((one, 1e-3), (other, size**2 * 1e-3)):
        if kind == "pooled":
            result = pooled_equivalents(moments, [15], np.array([ridge]))[0][0]
        else:
            result = classwise_equivalent(moments, 15, ridge)
        assert result.converged
        if moments is one:
            expected = result
    assert result.test == pytest.approx(expected.test, rel=1e-9)
    assert result.train == pytest.approx(expected.train, rel=1e-9)
    assert size * result.weight_square * size == pytest.approx(expected.weight_square, rel=1e-9)


def test_no_error_is_negative_where_the_fit_is_perfect():
    rng = np.random.default_rng(0)
    for size in 10.0 ** rng.uniform(-80, 3, 100):  # one feature that is the label, up to rounding
        moments = FeatureMoments(
            np.ones(1), [np.full((1, 1), 0.3)], np.full((1, 1), 0.3 * size), np.array([0.3 * size**2])
        )
        assert moments.risk(np.full((1, 1), size)).min() >= 0
        assert classwise_equivalent(moments, 22, 0.0).test >= 0


def test_zero_ridge_with_fewer_features_than_samples():
    omega, b, square = _moments(k=30).pooled()
    moments = FeatureMoments(np.ones(1), [omega], b[None], np.array([square]))
    equivalents = pooled_equivalents(moments, [120], np.array([0.0]))[0][0]
    best = square - b @ np.linalg.solve(omega, b)
    # ordinary least squares: exact for Gaussian features up to terms of order 1/m
    assert equivalents.test == pytest.approx(best / (1 - 30 / 120), rel=1e-9)
    assert equivalents.train == pytest.approx(best * (1 - 30 / 120), rel=1e-9)


def test_at_the_interpolation_threshold_without_ridge_the_error_is_infinite():
    equivalents = pooled_equivalents(_moments(k=40), [40], np.array([0.0]))[0][0]
    assert equivalents.test > 1e6


def test_path_equals_single_solves():
    moments = _moments()
    ridges = np.array([1e-4, 1e-1])
    table = pooled_equivalents(moments, [50, 90], ridges)
    for row, m in zip(table, [50, 90], strict=True):
        for cell, ridge in zip(row, ridges, strict=True):
            alone = pooled_equivalents(moments, [m], np.array([ridge]))[0][0]
            # products of another shape round otherwise: 1e-16 times the condition of the covariance, 200
            assert (cell.test, cell.train) == pytest.approx((alone.test, alone.train), rel=1e-12)
            assert moments.weights @ cell.by_class == pytest.approx(cell.test, rel=1e-10)


def test_stepped_first_layer_by_hand():
    # one sample, one neuron: F + η (w/√k) (y - f) σ'(F x) x with every factor known
    first, second = np.array([[1.0, 2.0]]), np.array([0.5])
    x, y = np.array([[3.0, -1.0]]), np.array([2.0])
    moved = stepped_first_layer(first, second, RELU, x, y, 0.1)
    np.testing.assert_allclose(moved, first + 0.1 * 0.5 * (2.0 - 0.5) * x)
    silent = stepped_first_layer(-first, second, RELU, x, y, 0.1)
    np.testing.assert_allclose(silent, -first)


def test_mean_features_average_to_the_class_means():
    rng = np.random.default_rng(1)
    laws = [Spiked([5.0], np.eye(40)[:, :1]), Spiked([], np.empty((40, 0)), 0.6)]
    mixture = GaussianMixture([0.5, 0.5], 0.2 * rng.normal(size=(2, 40)), laws)
    first_layer = rng.normal(size=(10, 40)) / np.sqrt(40)
    nodes, resolved = mean_features(first_layer, rng.normal(size=40), RELU, mixture, 4096, rng)
    assert resolved
    exact = feature_moments(first_layer, RELU, mixture, Classification())
    for c in range(2):
        mean = exact.cross[c] / Classification().values[c]
        np.testing.assert_allclose(nodes[c].mean(axis=0), mean, rtol=3e-3)  # 4096 quasi-random nodes


def test_mean_features_say_that_a_wave_is_not_resolved():
    """Over pre-activations of ± 170 a table of cos(x), at ten nodes per e-fold, is noise."""
    rng = np.random.default_rng(1)
    mixture = GaussianMixture([1.0], None, [Spiked([900.0], np.eye(40)[:, :1])])
    first_layer = rng.normal(size=(10, 40)) * np.geomspace(0.1, 5, 10)[:, None] / np.sqrt(40)
    assert not mean_features(first_layer, np.zeros(40), activation(np.cos), mixture, 64, rng)[1]
    assert mean_features(first_layer, np.zeros(40), RELU, mixture, 64, rng)[1]
