import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firstlight.data.mixture import Dense, GaussianMixture, Spiked

N = 12


def _unit(rng, count, n=N):
    directions = rng.normal(size=(n, count))
    return directions / np.linalg.norm(directions, axis=0)


def _three_classes(rng):
    root = rng.normal(size=(N, N)) / np.sqrt(N)
    covariances = [
        Spiked([4.0, 1.5], _unit(rng, 2), scale=0.7),
        root @ root.T + 0.2 * np.eye(N),
        Spiked([], np.empty((N, 0))),
    ]
    return GaussianMixture([0.2, 0.5, 0.3], rng.normal(size=(3, N)), covariances)


@settings(deadline=None, derandomize=True, max_examples=30)
@given(st.integers(0, 4), st.floats(0.1, 3), st.integers(0, 2**31))
def test_spiked_never_forms_the_matrix_but_agrees_with_it(rank, scale, seed):
    rng = np.random.default_rng(seed)
    law = Spiked(rng.uniform(0, 5, rank), _unit(rng, rank), scale)
    full = Dense(law.dense())
    rows, other = rng.normal(size=(5, N)), rng.normal(size=(3, N))
    # exact identities: rounding only
    np.testing.assert_allclose(law.quadratic(rows), full.quadratic(rows), atol=1e-10)
    np.testing.assert_allclose(law.quadratic(rows, other), rows @ law.dense() @ other.T, atol=1e-10)
    np.testing.assert_allclose(full.quadratic(rows, other), rows @ law.dense() @ other.T, atol=1e-10)
    np.testing.assert_allclose(law.apply(rows), full.apply(rows), atol=1e-10)
    assert law.trace == pytest.approx(full.trace, rel=1e-12)
    assert law.norm == pytest.approx(np.linalg.eigvalsh(law.dense())[-1], rel=1e-10)
    # colouring the rows of the identity gives a square root A with A A^T = covariance
    root = law.colour(np.eye(N)).T
    np.testing.assert_allclose(root @ root.T, law.dense(), atol=1e-10)


def test_negative_spike_is_a_squeezed_direction():
    law = Spiked([-0.75], np.eye(N)[:, :1])
    assert np.linalg.eigvalsh(law.dense())[0] == pytest.approx(0.25)
    assert law.norm == 1.0


@pytest.mark.parametrize("counts", ["deterministic", "random"])
def test_sampled_moments(counts):
    mixture = _three_classes(np.random.default_rng(0))
    count = 200_000
    x, labels = mixture.sample(count, rng=1, counts=counts)
    for c in range(3):
        part = x[labels == c]
        covariance = mixture.covariances[c].dense()
        error = np.sqrt(np.diag(covariance) / len(part))
        assert np.max(np.abs(part.mean(0) - mixture.means[c]) / error) < 5  # 5 s.e. over 12 entries
        d = np.diag(covariance)
        error = np.sqrt((np.outer(d, d) + covariance**2) / len(part))  # Isserlis
        assert np.max(np.abs(np.cov(part.T) - covariance) / error) < 5
    mean, covariance = mixture.moments()
    spread = np.sqrt(np.diag(covariance))
    assert np.max(np.abs(x.mean(0) - mean) / spread) < 5 / np.sqrt(count)
    # not Gaussian overall: entries' s.e. is at most about twice the Gaussian one here
    assert np.max(np.abs(np.cov(x.T) - covariance) / np.outer(spread, spread)) < 12 / np.sqrt(count)


def test_class_counts():
    mixture = GaussianMixture([0.5, 0.3, 0.2], None, [np.eye(2)] * 3)
    assert mixture.counts(10).tolist() == [5, 3, 2]
    assert mixture.counts(1).sum() == 1
    assert mixture.counts(7).sum() == 7
    _, labels = mixture.sample(1000, rng=3, counts="random")
    shares = np.bincount(labels) / 1000
    assert np.all(np.abs(shares - mixture.weights) < 5 * np.sqrt(mixture.weights / 1000))
    assert not np.array_equal(np.bincount(labels), mixture.counts(1000))


def test_projected_means_and_traces():
    mixture = _three_classes(np.random.default_rng(2))
    rows = np.random.default_rng(3).normal(size=(4, N))
    np.testing.assert_allclose(mixture.project(rows), mixture.means @ rows.T)
    traces = [np.trace(law.dense()) for law in mixture.covariances]
    np.testing.assert_allclose(mixture.traces, traces)
    assert mixture.trace == pytest.approx(np.dot(mixture.weights, traces))
    centred = GaussianMixture([1.0], np.zeros((1, N)), [np.eye(N)])
    assert centred.means is None
    assert not centred.project(rows).any()


@pytest.mark.parametrize(
    ("build", "name"),
    [
        (lambda: GaussianMixture([0.5, 0.4], None, [np.eye(2)] * 2), "weights"),
        (lambda: GaussianMixture([1.0, 0.0], None, [np.eye(2)] * 2), "weights"),
        (lambda: GaussianMixture([np.nan, 1.0], None, [np.eye(2)] * 2), "weights"),
        (lambda: GaussianMixture([1.0], None, [np.eye(2)] * 2), "covariances"),
        (lambda: GaussianMixture([0.5, 0.5], None, [np.eye(2), np.eye(3)]), "covariances"),
        (lambda: GaussianMixture([1.0], np.zeros((1, 3)), [np.eye(2)]), "means"),
        (lambda: GaussianMixture([1.0], None, [np.diag([1.0, -1.0])]), "positive definite"),
        (lambda: GaussianMixture([1.0], None, [np.array([[1.0, 0.5], [0.0, 1.0]])]), "symmetric"),
        (lambda: GaussianMixture([1.0], None, [np.ones((2, 3))]), "covariance"),
        (lambda: Dense(np.full((2, 2), np.nan)), "matrix"),
        (lambda: Spiked([-1.0], np.eye(3)[:, :1]), "strengths"),
        (lambda: Spiked([1.0], np.ones((3, 1))), "directions"),
        (lambda: Spiked([1.0, 2.0], np.eye(3)[:, :1]), "directions"),
        (lambda: Spiked([np.inf], np.eye(3)[:, :1]), "finite"),
        (lambda: Spiked([1.0], np.eye(3)[:, :1], scale=0.0), "scale"),
        (lambda: GaussianMixture([1.0], None, [np.eye(2)]).sample(0), "count"),
        (lambda: GaussianMixture([1.0], None, [np.eye(2)]).sample(3, counts="some"), "counts"),
    ],
)
def test_refusals_name_the_field(build, name):
    with pytest.raises(ValueError, match=name):
        build()


def test_a_class_may_be_too_rare_to_appear():
    mixture = GaussianMixture([0.999, 0.001], None, [Spiked([2.0], np.eye(5)[:, :1]), np.eye(5)])
    x, classes = mixture.sample(10, rng=0)
    assert x.shape == (10, 5)
    assert not classes.any()
    swapped = GaussianMixture([0.001, 0.999], None, [Spiked([2.0], np.eye(5)[:, :1]), np.eye(5)])
    assert swapped.sample(10, rng=0)[1].all()
