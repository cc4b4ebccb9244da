import numpy as np
import pytest

from firstlight.data.labels import Classification, Regression, label_variance
from firstlight.data.mixture import GaussianMixture, Spiked
from firstlight.data.structured import structured_data


def test_moments_against_sampling():
    rng = np.random.default_rng(0)
    means = 0.3 * rng.normal(size=(2, 8))
    mixture = GaussianMixture([0.3, 0.7], means, [Spiked([3.0], np.eye(8)[:, :1]), 0.5 * np.eye(8)])
    labels = Regression(np.full(8, 0.4), "relu", noise=0.2)
    x, classes = mixture.sample(400_000, rng)
    y = labels(x, classes, rng)
    mean, square = labels.moments(mixture)
    for c in range(2):
        part = y[classes == c]
        assert part.mean() == pytest.approx(mean[c], abs=5 * part.std() / np.sqrt(part.size))
        assert (part**2).mean() == pytest.approx(square[c], abs=5 * (part**2).std() / np.sqrt(part.size))
    spread = ((y - y.mean()) ** 2).std() / np.sqrt(y.size)
    assert y.var() == pytest.approx(label_variance(labels, mixture), abs=5 * spread)


def test_structured_family():
    mixture, labels = structured_data(50, 7.0, rank=3, weights=(0.2, 0.3, 0.5), spike_alignment=0.6)
    np.testing.assert_allclose(mixture.traces, 50 + 7 * (1 + 2 + 3) / 3)
    first, second = (law.directions for law in mixture.covariances[:2])
    np.testing.assert_allclose(np.diag(first.T @ second), 0.6)
    average = np.tensordot(mixture.weights, [law.dense() for law in mixture.covariances], 1)
    assert np.linalg.norm(labels.direction) ** -2 == pytest.approx(np.linalg.eigvalsh(average)[-1])
    _, classes = structured_data(50, 7.0, task="classification", weights=(0.2, 0.3, 0.5))
    assert classes.values == (1.0, 0.0, -1.0)
    assert label_variance(classes, mixture) == pytest.approx(0.7 - 0.3**2)


@pytest.mark.parametrize(
    ("build", "name"),
    [
        (lambda: Classification((1.0,)), "values = .*: must be two or more"),
        (lambda: Classification((1.0, 1.0)), "values = .*: must be two or more"),
        (lambda: Classification((1.0, np.nan)), "values = nan"),
        (lambda: Regression(np.zeros(3)), "direction"),
        (lambda: Regression(np.ones(3), noise=-1.0), "noise"),
        (lambda: Regression(np.ones(3), "rellu"), "rellu"),
        (lambda: structured_data(10, 1.0, task="sorting"), "task"),
        (lambda: structured_data(10, 1.0, label_direction="up"), "label_direction"),
        (lambda: structured_data(10, 1.0, rank=0), "rank"),
        (lambda: structured_data(10, 1.0, rank=5), "n = 10"),
        (lambda: structured_data(10, 1.0, spike_alignment=1.5), "spike_alignment"),
        (lambda: structured_data(10, 1.0, spike_alignment=-1.0, label_direction="spikes"), "cancel"),
        (lambda: structured_data(10, 1.0, weights=(0.5, 0.6)), "weights"),
    ],
)
def test_refusals_name_the_field(build, name):
    with pytest.raises(ValueError, match=name):
        build()


def test_a_link_for_each_class():
    """Class-wise moments against 4e5 draws: standard errors below 0.005."""
    mixture = GaussianMixture([0.3, 0.7], None, [np.eye(3), 2 * np.eye(3)])
    labels = Regression([1.0, -1.0, 0.5], link=("relu", "tanh"), noise=0.2)
    labels.check(mixture)
    rng = np.random.default_rng(0)
    classes = rng.integers(2, size=400_000)
    x = rng.standard_normal((len(classes), 3)) * np.sqrt(1 + classes)[:, None]
    y = labels(x, classes, rng)
    mean, square = labels.moments(mixture)
    for c in (0, 1):
        assert y[classes == c].mean() == pytest.approx(mean[c], abs=0.01)
        assert (y[classes == c] ** 2).mean() == pytest.approx(square[c], abs=0.02)
    same = Regression([1.0, -1.0, 0.5], link=("relu", "relu")).moments(mixture)
    np.testing.assert_allclose(same, Regression([1.0, -1.0, 0.5]).moments(mixture))
    with pytest.raises(ValueError, match="3 links for a mixture of 2"):
        Regression([1.0, 0.0, 0.0], link=("relu",) * 3).check(mixture)
    for bad in ((), ("relu", "nothing"), 3):
        with pytest.raises(ValueError, match="link"):
            Regression([1.0, 0.0, 0.0], link=bad)
