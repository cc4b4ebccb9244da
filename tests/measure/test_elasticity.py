"""Movement of features and He and Su's local elasticity, on a linear model that is known by hand."""

from dataclasses import dataclass

import numpy as np
import pytest

from firstlight.measure.elasticity import elasticity, local_elasticity


@dataclass
class Linear:
    weights: np.ndarray

    def __call__(self, x):
        return x @ self.weights

    def residual(self, x, y):
        return y - self(x)

    def sgd(self, x, y, step_size):
        return Linear(self.weights + step_size * x.T @ self.residual(x, y) / len(y))


@pytest.fixture
def samples():
    rng = np.random.default_rng(0)
    return rng.normal(size=(9, 4)), rng.normal(size=9)


def test_movement_equals_a_loop():
    rng = np.random.default_rng(0)
    before, after, y = rng.normal(size=(20, 3)), rng.normal(size=(20, 3)), rng.integers(3, size=20)
    movement = elasticity(before, after, y, memory=100)
    for c in range(3):
        expected = np.mean([((after[i] - before[i]) ** 2).sum() for i in np.flatnonzero(y == c)])
        assert float(movement.sel({"class": c})) == pytest.approx(expected, rel=1e-13)


def test_updates_of_a_linear_model_are_its_kernel(samples):
    x, y = samples
    kernel = x @ x.T
    # a linear model changes exactly linearly: only the rounding of the difference, 1e-16 / step_size, is left
    np.testing.assert_allclose(local_elasticity(Linear(np.ones(4)), x, y), kernel, atol=1e-10)
    relative = local_elasticity(Linear(np.ones(4)), x, y, kind="relative")
    np.testing.assert_allclose(relative, np.abs(kernel) / np.diag(kernel)[:, None], atol=1e-10)


def test_symmetric_and_normalised():
    score = np.array([[4.0, 1.0], [3.0, 9.0]])
    assert local_elasticity(score, symmetric=True).tolist() == [[4, 2], [2, 9]]
    np.testing.assert_allclose(
        local_elasticity(score, symmetric=True, normalised=True), [[1, 1 / 3], [1 / 3, 1]]
    )


def test_a_sample_that_is_fitted_already_moves_nothing(samples):
    x, y = samples
    model = Linear(np.ones(4))
    y[2] = model(x)[2]
    movement = local_elasticity(model, x, y)
    assert np.isnan(movement[2]).all()
    assert np.isfinite(np.delete(movement, 2, axis=0)).all()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: local_elasticity(np.ones((2, 3))), "must be square"),
        (lambda: local_elasticity(np.eye(2), kind="other"), "kind = 'other'"),
        (lambda: local_elasticity(np.eye(2), x=np.eye(2)), "only for a model"),
        (lambda: local_elasticity(Linear(np.ones(2))), "needs samples and targets"),
        (lambda: local_elasticity(Linear(np.ones(2)), np.eye(2), [1.0]), "y: shape"),
        (lambda: local_elasticity(Linear(np.ones(2)), np.eye(2), [1.0, 2.0], step_size=0), "step_size = 0"),
        (lambda: local_elasticity(Linear(np.ones(2)), np.eye(2), [1.0, np.nan]), "y: holds NaN or infinity"),
        (lambda: local_elasticity(Linear(np.ones(2)), np.eye(2), ["1", "2"]), "y: must be an array of real"),
        (lambda: local_elasticity(lambda x: x[:, 0], np.eye(2), [1.0, 2.0]), "has no 'residual'"),
        (lambda: elasticity(np.ones((2, 2)), np.ones((2, 3)), [0, 1]), "features_before: shape"),
        (
            lambda: elasticity(np.zeros((2, 2)), [[1e160, 0], [1, 1]], [0, 1]),
            "beyond floating point; rescale",
        ),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(ValueError, match=message):
        call()
