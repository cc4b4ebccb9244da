"""Multi-index data: the law, the samples, and what is refused when it is built."""

import dataclasses
import pickle

import numpy as np
import pytest

import firstlight
from firstlight.data import MultiIndex


def product(z):
    return z[..., 0] * z[..., 1]


def test_labels_are_the_law_of_the_hidden_coordinates():
    drawn = MultiIndex("z1*z2 + sign(z3)").sample(50, 12, rng=3)
    np.testing.assert_allclose(drawn.z, drawn.X @ drawn.directions, rtol=1e-14)
    expected = drawn.z[:, 0] * drawn.z[:, 1] + np.sign(drawn.z[:, 2])
    np.testing.assert_array_equal(drawn.y, expected)
    np.testing.assert_allclose(drawn.directions.T @ drawn.directions, np.eye(3), atol=1e-14)


def test_noise_has_the_stated_size_and_keeps_the_inputs():
    quiet = MultiIndex("z1").sample(20_000, 3, rng=5)
    noisy = MultiIndex("z1", noise=0.3).sample(20_000, 3, rng=5)
    np.testing.assert_array_equal(quiet.X, noisy.X)
    # s.e. of a standard deviation from N normals is sigma / sqrt(2 N) = 0.0015; five of them
    assert np.std(noisy.y - quiet.y) == pytest.approx(0.3, abs=0.0075)


def test_inputs_are_standard_normal_and_directions_uniform():
    X = MultiIndex("z1").sample(40_000, 4, rng=1).X
    # entries of the covariance have s.e. at most sqrt(2 / 40000) = 0.0071
    np.testing.assert_allclose(X.T @ X / len(X), np.eye(4), atol=0.036)
    thetas = np.array([MultiIndex("z1").sample(1, 3, rng=seed).directions[:, 0] for seed in range(2000)])
    np.testing.assert_allclose(thetas.mean(0), 0, atol=5 * np.sqrt(1 / 3 / 2000))
    np.testing.assert_allclose(thetas.T @ thetas / 2000, np.eye(3) / 3, atol=5 * 0.3 / np.sqrt(2000))


def test_same_seed_same_sample():
    a, b = (MultiIndex("z1*z2", noise=1.0).sample(6, 4, rng=9) for _ in range(2))
    for left, right in zip(a, b, strict=True):
        np.testing.assert_array_equal(left, right)


def test_given_directions_are_used():
    theta = np.eye(5)[:, [3, 1]]
    drawn = MultiIndex(product, directions=2).sample(7, 5, rng=0, directions=theta)
    np.testing.assert_array_equal(drawn.y, drawn.X[:, 3] * drawn.X[:, 1])


def test_text_and_function_give_the_same_data():
    a = MultiIndex("z1*z2", noise=0.5).sample(8, 6, rng=2)
    b = MultiIndex(product, directions=2, noise=0.5).sample(8, 6, rng=2)
    np.testing.assert_array_equal(a.y, b.y)


def test_k_is_the_highest_index_or_larger():
    assert MultiIndex("z3").directions == 3
    assert MultiIndex("z1", directions=4).sample(2, 4, rng=0).z.shape == (2, 4)
    with pytest.raises(ValueError, match=r"directions = 2: must be an integer of at least 3"):
        MultiIndex("z1 + z3", directions=2)


def test_equality_pickle_and_text():
    data = MultiIndex(" z1*z2 ", noise=0.25)
    assert data == MultiIndex("z1*z2", noise=0.25)
    assert hash(data) == hash(MultiIndex("z1*z2", noise=0.25))
    assert data != MultiIndex("z1*z2")
    assert pickle.loads(pickle.dumps(data)) == data
    assert pickle.loads(pickle.dumps(MultiIndex(product, directions=2))).law([2.0, 5.0]) == 10
    assert str(data) == "y = z1*z2 + 0.25 noise"
    assert MultiIndex(product, directions=2).expression == "product"
    assert [field.name for field in dataclasses.fields(data)] == ["target", "directions", "noise"]
    assert dataclasses.replace(data, noise=0.0) == MultiIndex("z1*z2")


@pytest.mark.parametrize("text", ["1/z1", "log(abs(z1))", "tan(z1)"])
def test_a_null_set_of_bad_points_is_allowed(text):
    assert np.isfinite(MultiIndex(text).sample(100, 2, rng=0).y).all()


@pytest.mark.parametrize("text", ["log(z1)", "sqrt(z1)", "1/(z1-z1)", "exp(exp(exp(exp(z1))))", "z1 + 1/0"])
def test_targets_that_are_not_finite_are_refused(text):
    with pytest.raises(ValueError, match=r"not finite at \d+ of 4096"):
        MultiIndex(text)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"target": 3}, "must be a text"),
        ({"target": None}, "must be a text"),
        ({"target": "z1", "noise": -1.0}, "noise = -1.0"),
        ({"target": "z1", "noise": np.nan}, "noise = nan"),
        ({"target": "z1", "noise": np.inf}, "noise = inf"),
        ({"target": "z1", "noise": "1"}, "noise = '1'"),
        ({"target": "z1", "noise": True}, "noise = True"),
        ({"target": product}, "directions = 0: must be given"),
        ({"target": product, "directions": -1}, "directions = -1: must be an integer of at least 1"),
        ({"target": product, "directions": False}, "directions = False"),
        ({"target": "z1", "directions": False}, "directions = False"),
        ({"target": product, "directions": 1.5}, "directions = 1.5"),
        ({"target": product, "directions": True}, "directions = True"),
        ({"target": lambda z: z, "directions": 2}, "expected real values of shape"),
        ({"target": lambda z: z[..., 0].sum(), "directions": 2}, "expected real values of shape"),
        ({"target": lambda z: z[..., 0] + 1j, "directions": 2}, "expected real values"),
        ({"target": lambda z: np.sqrt(z[..., 0]), "directions": 2}, "not finite"),
    ],
)
def test_bad_fields_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        MultiIndex(**arguments)


@pytest.mark.parametrize("noise", [np.float32(0.5), np.float64(0.5), np.int64(1), 1])
def test_numbers_of_numpy_are_numbers(noise):
    data = MultiIndex("z1*z2", directions=np.int64(3), noise=noise)
    assert data == MultiIndex("z1*z2", directions=3, noise=float(noise))
    assert type(data.directions) is int
    assert type(data.noise) is float


def test_bad_samples_are_refused():
    data = MultiIndex("z1*z2")
    with pytest.raises(ValueError, match="samples = 0"):
        data.sample(0, 5)
    with pytest.raises(ValueError, match="dimension = 1: must be an integer of at least 2"):
        data.sample(5, 1)
    with pytest.raises(ValueError, match=r"must be \(3, 2\)"):
        data.sample(5, 3, directions=np.eye(2))
    with pytest.raises(ValueError, match="not orthonormal"):
        data.sample(5, 3, directions=np.ones((3, 2)))
    with pytest.raises(ValueError, match="directions: holds NaN"):
        data.sample(5, 3, directions=np.full((3, 2), np.nan))
    with pytest.raises(ValueError, match=r"expected \(\.\.\., 2\)"):
        data.law(np.zeros((4, 3)))
    with pytest.raises(ValueError, match="tails"):
        MultiIndex("exp(z1**16/1e7)").sample(100_000, 1, rng=0)


def test_public_name_loads_lazily():
    assert firstlight.MultiIndex is MultiIndex
