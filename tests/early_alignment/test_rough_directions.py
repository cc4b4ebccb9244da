"""Directions to a tolerance against the exact path: errors as asked for, and told."""

import numpy as np
import pytest

from firstlight import early_alignment as ea
from firstlight.data.separable import separable
from firstlight.early_alignment.theory import rough


def problem(seed, random=False):
    rng = np.random.default_rng(seed)
    n, d = int(10 ** rng.uniform(2.4, 3)), int(rng.integers(2, 25))
    X, y = (rng.normal(size=(n, d)), rng.choice([-1.0, 1.0], n)) if random else separable(n, d, 0.1, rng)
    return X, y, rng.normal(size=(15, d)), rng.choice([-1.0, 1.0], 15), float(10 ** rng.uniform(-4, -2))


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("loss", ["exp", "logistic"])
def test_the_error_is_the_one_that_is_told(seed, loss):
    X, y, W, s, tolerance = problem(seed)
    path = ea.align(X, y, W, s, loss, reduction="mean")
    times = np.linspace(0, 1.2 * path.last_event, 5)
    found = ea.directions_at(X, y, W, s, times, tolerance, loss, reduction="mean")
    error = np.abs(found.directions - path.direction(times)).max(axis=(0, 2))
    assert (error[~found.exact] <= found.error[~found.exact]).all()
    assert (error[found.exact] < 1e-12).all()
    assert found.error.max() <= tolerance
    assert not found.exact.all()
    # ‖w‖ is the integral of a cosine along the way
    rates = path.gain * np.linalg.norm(X, axis=1).sum() * times[-1]
    np.testing.assert_allclose(found.log_growth, path.log_growth(times), atol=tolerance * max(rates, 1))


@pytest.mark.parametrize("seed", range(3))
def test_neurons_that_slide_are_walked_exactly(seed):
    X, y, W, s, tolerance = problem(seed, random=True)
    path = ea.align(X, y, W, s)
    times = [0.5 * path.last_event, path.last_event]
    found = ea.directions_at(X, y, W, s, times, tolerance)
    error = np.abs(found.directions - path.direction(np.array(times))).max(axis=(0, 2))
    assert (error <= found.error + 1e-12).all()
    assert found.exact.any()


def test_few_data_are_walked_exactly():
    X, y = separable(20, 3, 0.2, 0)
    W, s = np.random.default_rng(0).normal(size=(5, 3)), np.ones(5)
    found = ea.directions_at(X, y, W, s, [0.1, 0.2])
    assert found.exact.all()
    path = ea.align(X, y, W, s)
    np.testing.assert_array_equal(found.directions, path.direction(np.array([0.1, 0.2])))
    np.testing.assert_array_equal(found.error, 0)


def test_dead_neurons_stay(monkeypatch):
    monkeypatch.setattr(rough, "_MANY", 1)
    found = ea.directions_at([[1, 0], [1, 1]], [1, 1], [[-1, -1]], [1], [0.0, 3.0])
    np.testing.assert_allclose(found.directions, np.full((2, 1, 2), -np.sqrt(0.5)))
    np.testing.assert_allclose(found.log_growth, 0, atol=1e-15)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"times": []}, "times"), ({"times": [-1.0]}, "times"), ({"times": [2.0, 1.0]}, "times"),
        ({"times": [np.nan]}, "times"), ({"tolerance": 1e-6}, "tolerance = 1e-06"),
        ({"tolerance": 1.0}, "tolerance = 1.0"), ({"loss": "hinge"}, "loss"), ({"signs": [2]}, "signs"),
    ],
)  # fmt: skip
def test_bad_arguments(change, message):
    with pytest.raises(ValueError, match=message):
        ea.directions_at(
            **{"X": [[1, 0]], "y": [1], "directions": [[1, 1]], "signs": [1], "times": [1.0], **change}
        )
