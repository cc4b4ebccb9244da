import numpy as np
import pytest

from firstlight.data import cache
from firstlight.data.noisy_images import _noisy_images, noisy_images
from firstlight.one_step.families import by_share, by_width, images


@pytest.mark.parametrize("centring", ["class", "global"])
def test_the_mixture_has_the_moments_of_the_images(centring):
    source = noisy_images("digits", 3, 8, centring)
    x, classes = source.sample(60_000, rng=0)
    for c in range(2):
        part = x[classes == c]
        covariance = source.mixture.covariances[c].dense()
        mean = np.zeros(64) if source.mixture.means is None else source.mixture.means[c]
        error = np.sqrt(np.diag(covariance) / len(part))
        assert np.max(np.abs(part.mean(axis=0) - mean) / error) < 5
        d = np.diag(covariance)
        # pixels have heavier tails than normals: twice the normal error
        error = 2 * np.sqrt((np.outer(d, d) + covariance**2) / len(part))
        assert np.max(np.abs(np.cov(part.T) - covariance) / error) < 5
    np.testing.assert_allclose(source.mixture.traces, 128)
    assert (source.mixture.means is None) == (centring == "class")


def test_families():
    problem = by_width(0.5, dimension=30, samples=40, alpha=0.5, beta=0.5)
    assert (problem.width, problem.samples) == (20, 40)
    assert by_share(0.25, dimension=30, width=5, samples=5, alpha=0.5, beta=0.5).mixture.weights.tolist() == [
        0.25,
        0.75,
    ]
    for bad in (0.0, -1.0, float("nan")):
        with pytest.raises(ValueError, match="ratio"):
            by_width(bad, dimension=30, samples=40, alpha=0.5, beta=0.5)


def test_real_images_in_theory_and_experiment():
    problem = images(1.0, 60, "0,1", images="digits", alpha=0.5)
    assert problem.step_size == pytest.approx(8.0)
    seen, theory = problem.simulate(0), problem.predict(0)
    assert theory.attrs["equivalent"] == "class-wise"
    assert set(seen) == set(theory) - {"converged"}
    assert problem.assumptions()[3].verdict == "not checkable"
    problem.simulate(0, method="hermite", degree=2)


def test_theory_sees_only_the_moments_and_still_predicts():
    # 300 noisy digits: one trial spreads by 8 %, so twelve paired ones are good to 3 %
    problem = images(0.5, 300, "3,8", images="digits", ridge=1e-3)
    seen = np.mean([float(problem.simulate(seed).test_error) for seed in range(12)])
    result = np.mean([float(problem.predict(seed).test_error) for seed in range(12)])
    assert result == pytest.approx(seen, rel=0.1)


def test_refusals(tmp_path, monkeypatch):
    with pytest.raises(ValueError, match="centring"):
        noisy_images("digits", 0, 1, "none")
    with pytest.raises(ValueError, match="alpha"):
        images(1.0, 60, "0,1", images="digits", alpha=2.0)
    with pytest.raises(ValueError, match="count"):
        noisy_images("digits", 0, 1).sample(0)
    monkeypatch.setenv("FIRSTLIGHT_CACHE", str(tmp_path))
    _noisy_images.cache_clear()
    with pytest.raises(cache.ImagesNotFetched, match="fetch"):
        images(1.0, 60, "0,1")
