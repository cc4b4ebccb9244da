"""Mixtures fitted to own rows: covariances, spikes, and classes without full rank."""

import numpy as np
import pytest

from firstlight import GaussianMixture
from firstlight.data.covariance import Spiked
from firstlight.data.fitting import fitted_covariance, strong_directions


def test_the_fitted_covariance_is_positive_definite_and_near_the_truth():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(5000, 4)) * [1, 2, 3, 0]  # one column without variance
    law = fitted_covariance(rows)
    assert np.allclose(np.diag(law.matrix), [1, 4, 9, 0], rtol=0.06, atol=0.02)
    assert np.linalg.eigvalsh(law.matrix)[0] > 0
    assert fitted_covariance(np.ones((3, 2)) * [[1.0], [1.0], [1.0]]).trace > 0


def test_spikes_are_counted_and_freed_of_noise():
    """Strengths 10, 5, 3 × √γ in a flat bulk, as in the published tables of counts: all three are found."""
    rng = np.random.default_rng(0)
    n, d = 400, 50
    basis = np.linalg.qr(rng.normal(size=(d, 3)))[0]
    strengths = np.array([10.0, 5.0, 3.0])
    law = Spiked(strengths, basis)
    rows = law.colour(rng.normal(size=(n, d)))
    mixture = GaussianMixture.fit(np.vstack([rows, rows + 5]), np.repeat(["a", "b"], n), spikes="auto")
    found = mixture.covariances[0]
    assert found.strengths.size == 3
    assert np.allclose(np.sort(found.strengths)[::-1], strengths, rtol=0.25)  # √(2/n)(1+θ)/θ, three sd
    assert strong_directions(rng.normal(size=(n, d))) == 0
    assert np.allclose(mixture.means[1] - mixture.means[0], 5)


@pytest.mark.parametrize("spikes", [None, "auto", 1])
@pytest.mark.parametrize("kind", ["equal rows", "one direction", "a column twice", "fewer rows than columns"])
def test_degenerate_classes_are_welcome(kind, spikes):
    """Covariances without full rank: the trace stays that of the rows, within what shrinking moves."""
    rng = np.random.default_rng(0)
    rows = {
        "equal rows": np.ones((20, 3)),
        "one direction": rng.normal(size=(40, 1)) * np.ones(4),
        "a column twice": rng.normal(size=(40, 3))[:, [0, 1, 1]],
        "fewer rows than columns": rng.normal(size=(10, 30)),
    }[kind]
    law = GaussianMixture.fit(np.vstack([rows, rows + 1]), np.repeat([0, 1], len(rows)), spikes=spikes)
    assert np.isfinite(law.sample(50, 0)[0]).all()
    trace = rows.var(axis=0, ddof=1).sum()
    assert law.covariances[0].trace == pytest.approx(trace, rel=0.25, abs=1e-200)
