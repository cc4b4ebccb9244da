import numpy as np
import pytest

from firstlight.measure.error import ErrorTally, population_error


def test_blocks_add_up():
    rng = np.random.default_rng(0)
    y, classes = rng.normal(size=100), rng.integers(0, 3, 100)
    prediction = rng.normal(size=(100, 2))
    values = np.array([1.0, 0.0, -1.0])
    weights = np.array([0.2, 0.5, 0.3])
    whole, parts = ErrorTally(weights, 2, values), ErrorTally(weights, 2, values)
    whole.add(y, prediction, classes)
    for start in range(0, 100, 30):
        part, block = slice(start, start + 30), ErrorTally(weights, 2, values)
        block.add(y[part], prediction[part], classes[part])
        parts.merge(block)
    np.testing.assert_allclose(whole.mean_square, parts.mean_square)
    np.testing.assert_allclose(whole.by_class, parts.by_class)
    counts = (weights / np.bincount(classes))[classes]  # what a sample counts for
    np.testing.assert_allclose(whole.mean_square, counts @ (y[:, None] - prediction) ** 2)
    np.testing.assert_allclose(whole.by_class @ weights, whole.mean_square)
    nearest = np.argmin(np.abs(prediction[:, :, None] - values), axis=-1)  # normal numbers do not tie
    wrong = counts @ (nearest != classes[:, None])
    np.testing.assert_allclose(parts.misclassification, wrong)


@pytest.mark.parametrize("order", [[0, 1, 2], [2, 1, 0], [1, 2, 0]])
def test_equally_near_classes_share_the_answer_in_any_order(order):
    values, y = np.array([1.0, -1.0, 3.0]), np.array([1.0, 1.0, -1.0, -1.0, 3.0, 3.0])
    prediction = np.array([0.0, 1.0, -1.0, -5.0, 3.0, 0.0])  # wrong: 1/2, 0, 0, 0, 0, 1
    tally = ErrorTally(np.full(3, 1 / 3), 1, values[order])
    classes = np.argmax(y[:, None] == values[order], axis=1)
    tally.add(y, prediction[:, None], classes)
    np.testing.assert_allclose(tally.misclassification, 1.5 / 6)


def test_a_class_that_was_not_seen_is_nan():
    tally = ErrorTally(np.full(2, 0.5), 1)
    tally.add(np.ones(3), np.zeros((3, 1)), np.zeros(3, dtype=int))
    assert tally.by_class[0, 0] == 1
    assert np.isnan(tally.by_class[0, 1])
    assert np.isnan(tally.mean_square)


def test_population_error_is_a_quadratic():
    rng = np.random.default_rng(1)
    phi, y = rng.normal(size=(50, 4)), rng.normal(size=50)
    weights = rng.normal(size=(3, 4))
    error = population_error(weights, phi.T @ phi / 50, phi.T @ y / 50, float(np.mean(y**2)))
    np.testing.assert_allclose(error, ((y[:, None] - phi @ weights.T) ** 2).mean(axis=0))
