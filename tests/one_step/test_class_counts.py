"""Class counts are fixed in every training set; the equations have them vary, which scores must not show."""

import numpy as np
import pytest

from firstlight.one_step import Classification, GaussianMixture, Problem, Spiked
from firstlight.one_step.theory.classwise import classwise_equivalent
from firstlight.one_step.theory.deterministic import pooled_equivalents
from firstlight.one_step.theory.moments import FeatureMoments

VALUES = np.array([1.0, -1.0, 0.5])


def random_moments(seed, k=12):
    """Moments of three classes of features with means of their own, and these means and covariances."""
    rng = np.random.default_rng(seed)
    rho, means = rng.dirichlet(np.full(3, 5.0)), 0.3 + rng.normal(size=(3, k))
    roots = rng.normal(size=(3, k, k)) / np.sqrt(k)
    covariances = roots @ roots.mT
    second = [c + np.outer(mu, mu) for c, mu in zip(covariances, means, strict=True)]
    return FeatureMoments(rho, second, VALUES[:, None] * means, VALUES**2), covariances


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("equations", ["one covariance", "class-wise"])
def test_under_a_huge_ridge_scores_vary_as_sums_with_fixed_counts(seed, equations):
    """There w = Σ yᵢφᵢ/(mλ), and φᵀw varies by (1/m) Σ_c ρ_c y_c² φᵀ Cov_c φ/λ².

    The equations also count the square of the mean score over m, which is known.
    """
    moments, covariances = random_moments(seed)
    m, ridge = 50, 1e5
    if equations == "class-wise":
        cell = classwise_equivalent(moments, m, ridge)
    else:
        cell = pooled_equivalents(moments, [m], np.array([ridge]), counts=True)[0][0]
    noise = cell.by_class - moments.risk(cell.readout[None])[0]
    if equations == "one covariance":  # whose label noise is the same for all classes
        within, flat = np.zeros_like(covariances[0]), moments.weights @ VALUES**2
        for rho, omega, cross in zip(moments.weights, moments.second, moments.cross, strict=True):
            within += rho * (flat * omega - np.outer(cross, cross))
    else:
        within = np.tensordot(moments.weights * VALUES**2, covariances, axes=1)
    mean = moments.weights @ moments.cross
    within = (within + np.outer(mean, mean)) / m
    expected = [np.sum(omega * within) for omega in moments.second]
    told = (noise - cell.by_counts) * ridge**2
    if equations == "one covariance":  # it spreads the noise evenly
        told, expected = moments.weights @ told, moments.weights @ expected
    np.testing.assert_allclose(told, expected, rtol=2e-3)  # traces of about 20 over λ; 1e-5 by digits lost


@pytest.mark.parametrize("seed", range(5))
def test_the_answer_to_a_share_is_a_derivative(seed):
    moments, _ = random_moments(seed)
    cell = pooled_equivalents(moments, [40], np.array([0.3]), counts=True)[0][0]
    omega, b, _ = moments.pooled()
    kappa = np.linalg.norm(b - omega @ cell.readout) / np.linalg.norm(cell.readout)
    steps = []
    for c in range(3):
        ends = []
        for step in (1e-5, -1e-5):
            shares = moments.weights + step * (np.arange(3) == c)
            matrix = np.tensordot(shares, moments.second, axes=1) + kappa * np.eye(len(b))
            ends.append(np.linalg.solve(matrix, shares @ moments.cross))
        steps.append((ends[0] - ends[1]) / 2e-5)
    expected = moments.variance_by_counts(np.array(steps), 40)
    np.testing.assert_allclose(cell.by_counts, expected, rtol=1e-7)  # of central differences


@pytest.mark.parametrize("activation", ["relu", "sigmoid", "softplus"])
@pytest.mark.parametrize("ridge", [0.1, 1.0])
def test_networks_of_balanced_classes_have_the_predicted_misclassification(activation, ridge):
    """At n = 60 equations of finite size are off by a fifth; with counts that vary it was a half and more."""
    n, trials = 60, 12
    means = 2 * np.eye(n)[:1] * np.array([[1.0], [-1.0]])
    mixture = GaussianMixture([0.5, 0.5], means, [Spiked([], np.zeros((n, 0)))] * 2)
    problem = Problem(
        mixture, Classification(), width=n, samples=2 * n, step_size=8.0, ridge=ridge, activation=activation
    )
    measured, given_layers = np.transpose(
        [[getattr(problem, kind)(seed).misclassification.item() for kind in ("simulate", "predict")]
         for seed in range(trials)]
    )  # fmt: skip
    asymptotic = problem.predict(0, method="asymptotic").misclassification.item()
    for gaps in (given_layers - measured, asymptotic - measured):
        assert abs(gaps.mean()) < 0.25 * measured.mean() + 2 * gaps.std() / np.sqrt(trials)
