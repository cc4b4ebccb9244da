"""Class counts are fixed whole numbers in every training set; scores vary accordingly, beside any ridge."""

from dataclasses import replace

import numpy as np
import pytest

from firstlight.maths.activations import activation
from firstlight.one_step import Classification, GaussianMixture, Problem, Regression, Spiked
from firstlight.one_step.theory.classwise import classwise_equivalent
from firstlight.one_step.theory.deterministic import pooled_equivalents
from firstlight.one_step.theory.moments import FeatureMoments
from firstlight.one_step.theory.neurons import batch_average, own_pull
from firstlight.one_step.theory.reduced import reduced_law

VALUES = np.array([1.0, -1.0, 0.5])


def random_moments(seed, k=12, equal=False, size=1.0):
    """Moments of three classes of features with means of their own, and these means and covariances."""
    rng = np.random.default_rng(seed)
    counts = rng.permutation([2, 3, 5])
    means = 0.3 + rng.normal(size=(3, k))
    roots = rng.normal(size=(1 if equal else 3, k, k)) * np.sqrt(size / k)
    covariances = np.broadcast_to(roots @ roots.mT, (3, k, k))
    second = [c + np.outer(mu, mu) for c, mu in zip(covariances, means, strict=True)]
    cross, square = VALUES[:, None] * means, VALUES**2
    return FeatureMoments(counts / 10, second, cross, square, True, means, VALUES), covariances


def solved(moments, m, ridge, equations, features=None):
    if equations == "class-wise":
        return classwise_equivalent(moments, m, ridge, features)
    return pooled_equivalents(moments, [m], np.array([ridge]), features)[0][0]


EQUATIONS = pytest.mark.parametrize("equations", ["one covariance", "class-wise"])


@pytest.mark.parametrize("seed", range(5))
@EQUATIONS
def test_under_a_huge_ridge_scores_vary_as_sums_with_fixed_counts(seed, equations):
    """There w = Σ yᵢφᵢ/(mλ) has the covariance Σ_c ρ_c y_c² Cov_c/(mλ²); one equation averages the Cov_c."""
    moments, covariances = random_moments(seed)
    m, ridge, mean = 50, 1e6, moments.mean
    cell = solved(moments, m, ridge, equations)
    common = np.tensordot(moments.weights, moments.second, axes=1) - (mean.T * moments.weights) @ mean
    seen = covariances if equations == "class-wise" else np.array([common] * 3)
    noise = np.tensordot(moments.weights * VALUES**2, seen, axes=1) / m
    readout = moments.weights @ moments.cross
    expected = [
        readout @ own @ readout + np.sum(there * noise) + mu @ noise @ mu
        for own, there, mu in zip(covariances, seen, mean, strict=True)
    ]
    told = cell.score_variance * ridge**2
    np.testing.assert_allclose(told, expected, rtol=2e-4)  # traces of about 20 over λ


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("size", [1.0, 0.01])
@pytest.mark.parametrize("ridge", [0.03, 0.5, 20.0])
@EQUATIONS
def test_scores_of_gaussian_features_vary_as_told(seed, size, ridge, equations):
    """Many training sets with fixed counts, each with the exact law of its scores; the gap shrinks as 1/m.

    It is 5 to 9 % at m = 40, where classes have 8 samples in 12 dimensions, and 1 to 2 % at 160; the variance
    over 1000 sets is noisy by as much as that of means of classes, a part of it: 1 %.
    """
    moments, covariances = random_moments(seed, equal=equations == "one covariance", size=size)
    rng, k, sets = np.random.default_rng([7, seed]), moments.mean.shape[1], 1000
    roots = np.linalg.cholesky(covariances)
    for m in (40, 160):
        classes = np.repeat(np.arange(3), np.round(moments.weights * m).astype(int))
        phi = moments.mean[classes] + np.einsum("smk,mjk->smj", rng.normal(size=(sets, m, k)), roots[classes])
        gram = phi.mT @ phi / m + ridge * np.eye(k)
        w = np.linalg.solve(gram, (VALUES[classes] @ phi / m)[:, :, None])[:, :, 0]
        measured = np.einsum("sk,ckl,sl->c", w, covariances, w) / sets + (w @ moments.mean.T).var(axis=0)
        features = [moments.mean[c] + 2 * rng.normal(size=(40, k)) @ roots[c].T for c in range(3)]
        cell = solved(moments, m, ridge, equations, features)
        np.testing.assert_allclose(cell.score_variance, measured, rtol=4 / m + 0.01)
        for told, rows in zip(cell.fluctuations, features, strict=True):
            # a variance over 1000 sets is good to 4.5 %, the mean of 40 in few dimensions to 2 %
            np.testing.assert_allclose(told.mean(), (w @ rows.T).var(axis=0).mean(), rtol=8 / m + 0.06)
            np.testing.assert_allclose(told, (w @ rows.T).var(axis=0), rtol=20 / m + 0.25)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("ridge", [0.01, 0.1, 1.0, 100.0])
@EQUATIONS
def test_read_outs_of_gaussian_features_are_as_long_as_told(seed, ridge, equations):
    """Of two classes with almost one mean, as features with few signs have it: with counts left to chance
    squares were told up to three times as large. The gap shrinks as 1/m; the mean over sets is good to 1 %.
    """
    rng, k, sets = np.random.default_rng([5, seed]), 12, 2000
    means = rng.normal(size=k) + 0.1 * rng.normal(size=(2, k))
    roots = rng.normal(size=(1 if equations == "one covariance" else 2, k, k)) * np.sqrt(0.1 / k)
    covariances, y = np.broadcast_to(roots @ roots.mT, (2, k, k)), np.array([1.0, -1.0])
    second = [c + np.outer(mu, mu) for c, mu in zip(covariances, means, strict=True)]
    moments = FeatureMoments(np.full(2, 0.5), second, y[:, None] * means, y**2, True, means, y)
    for m in (40, 160):
        classes = np.repeat([0, 1], m // 2)
        noise = np.einsum(
            "smk,mjk->smj", rng.normal(size=(sets, m, k)), np.linalg.cholesky(covariances)[classes]
        )
        phi = means[classes] + noise
        gram = phi.mT @ phi / m + ridge * np.eye(k)
        w = np.linalg.solve(gram, (y[classes] @ phi / m)[:, :, None])[:, :, 0]
        told = solved(moments, m, ridge, equations).weight_square
        np.testing.assert_allclose(told, (w**2).sum(axis=1).mean(), rtol=3 / m + 0.01)


@pytest.mark.parametrize("second_layer", ["gaussian", "ones"])
@pytest.mark.parametrize("task", ["classes", "regression"])
def test_networks_have_read_outs_of_the_predicted_length_beside_a_large_ridge(task, second_layer):
    """Labels of opposite signs in two classes that features hardly tell apart: up to half too long before."""
    n, trials = 60, 24
    laws = [Spiked([6.0], np.eye(n)[:, :1]), Spiked([6.0], np.eye(n)[:, 1:2])]
    labels = Classification()
    if task == "regression":
        labels = Regression(np.eye(n)[2], link=("cos", activation(lambda z: -np.cos(z))))
    problem = Problem(
        GaussianMixture([0.5, 0.5], None, laws), labels, width=n, samples=n, step_size=5.0, ridge=1.0,
        activation="sigmoid", second_layer=second_layer,
    )  # fmt: skip
    measured, given_layers = np.transpose(
        [[getattr(problem, kind)(seed).weight_norm.item() for kind in ("simulate", "predict")]
         for seed in range(trials)]
    )  # fmt: skip
    asymptotic = problem.predict(0, method="asymptotic").weight_norm.item()
    for gaps in (given_layers - measured, asymptotic - measured):
        assert abs(gaps.mean()) < 0.02 * measured.mean() + 3 * gaps.std() / np.sqrt(trials)


@pytest.mark.parametrize("activation", ["erf", "relu", "sigmoid", "sin", "tanh"])
@pytest.mark.parametrize("weights", [(0.5, 0.5), (0.3, 0.7)])
def test_beside_a_huge_ridge_its_size_does_not_matter(activation, weights):
    """There w ∝ 1/λ, and no 0/1 error depends on its length; it went from .18 to .29 between 1 and 1e6."""
    n = 40
    means = 1.5 * np.eye(n)[:1] * np.array([[1.0], [-1.0]])
    laws = [Spiked([5.0], np.eye(n)[:, 1:2]), Spiked([2.5], np.eye(n)[:, 2:3])]
    problem = Problem(
        GaussianMixture(weights, means, laws), Classification(), width=n, samples=80, step_size=1.0,
        ridge=[1e4, 1e6, 1e9], activation=activation,
    )  # fmt: skip
    for options in (
        {"equivalent": "one covariance"}, {"equivalent": "class-wise"},
        {"method": "asymptotic", "draws": 2, "nodes": 128},
    ):  # fmt: skip
        found = problem.predict(3, **options).misclassification.values
        np.testing.assert_allclose(found, found[0], atol=2e-3)  # traces of some tens over λ


def assert_predicted(problem, trials, share):
    """Networks' 0/1 error is that of both predictions, to a share of it and two standard errors."""
    measured, given_layers = np.transpose(
        [[getattr(problem, kind)(seed).misclassification.item() for kind in ("simulate", "predict")]
         for seed in range(trials)]
    )  # fmt: skip
    asymptotic = problem.predict(0, method="asymptotic").misclassification.item()
    for gaps in (given_layers - measured, asymptotic - measured):
        assert abs(gaps.mean()) < share * measured.mean() + 2 * gaps.std() / np.sqrt(trials)


@pytest.mark.parametrize("activation", ["relu", "sigmoid", "softplus"])
@pytest.mark.parametrize("ridge", [0.1, 1.0])
def test_networks_of_balanced_classes_have_the_predicted_misclassification(activation, ridge):
    n, trials = 60, 12
    means = 2 * np.eye(n)[:1] * np.array([[1.0], [-1.0]])
    mixture = GaussianMixture([0.5, 0.5], means, [Spiked([], np.zeros((n, 0)))] * 2)
    problem = Problem(
        mixture, Classification(), width=n, samples=2 * n, step_size=8.0, ridge=ridge, activation=activation
    )
    assert_predicted(problem, trials, 0.2)  # equations of infinite sizes, at n = 60


@pytest.mark.parametrize("seed", range(3))
def test_misclassification_of_classes_with_strong_spikes(seed):
    """Of one direction that carries most: given first layers it was .071 for networks' .019."""
    rng = np.random.default_rng([23, seed])
    n, trials, strengths = 30, 12, 10 ** rng.uniform(2.5, 3.3, 2)
    laws = [
        Spiked([strength], np.eye(n)[:, c : c + 1], n / (n + strength))
        for c, strength in enumerate(strengths)
    ]
    means = 0.2 * np.eye(n)[2] * np.array([[1.0], [-1.0]])
    problem = Problem(
        GaussianMixture([0.5, 0.5], means, laws), Classification(), width=50, samples=40, step_size=float(n),
        ridge=1e-2,
    )  # fmt: skip
    assert_predicted(problem, trials, 0.2)  # equations of infinite sizes, at n = 30


@pytest.mark.parametrize(("ridge", "samples"), [(1.0, 51), (0.1, 51), (1.0, 101), (1.0, 100)])
def test_counts_are_whole_numbers(ridge, samples):
    """Halves of 51 are 26 and 25: at ridge 1 networks have .48, the equations of halves had .26."""
    n, trials = 100, 16
    means = 1.5 * np.eye(n)[:1] * np.array([[1.0], [-1.0]])
    mixture = GaussianMixture([0.5, 0.5], means, [Spiked([], np.zeros((n, 0)))] * 2)
    problem = Problem(
        mixture, Classification(), width=n, samples=samples, gradient_samples=100, step_size=1.0,
        ridge=ridge, activation="sigmoid",
    )  # fmt: skip
    assert_predicted(problem, trials, 0.1)


@pytest.mark.parametrize("ridge", [0.0, 1e-3])
@pytest.mark.parametrize("dead", [(0,), (1,), (0, 1, 2)])
@EQUATIONS
def test_classes_without_samples_or_features(ridge, dead, equations):
    """A network may answer no sample of a class, and few samples may all be of that class."""
    moments, _ = random_moments(0)
    kept = np.array([[c not in dead] for c in range(3)])
    second = [omega * alive for omega, alive in zip(moments.second, kept, strict=True)]
    for weights in ([1.0, 0.0, 0.0], [0.5, 0.5, 0.0]):
        law = FeatureMoments(
            np.array(weights), second, moments.cross * kept, VALUES**2, True, moments.mean * kept, VALUES
        )
        cell = solved(law, 2, ridge, equations)
        assert np.isfinite(cell.by_class).all() or not cell.converged
        assert np.isfinite(cell.score_variance).all() or not cell.converged
        if not kept[np.array(weights) > 0].any():  # nothing is learnt
            np.testing.assert_allclose(cell.by_class, VALUES**2)


@pytest.mark.parametrize("seed", range(6))
def test_fresh_samples_tell_the_exact_errors_however_few_they_are(seed):
    """Classes count by their probabilities; by their shares of 5 m samples errors were up to 17 % too low."""
    rng = np.random.default_rng([13, seed])
    classes, n, trials = int(rng.integers(2, 4)), 10, 100
    rare = 10 ** rng.uniform(-2.5, -0.5, classes - 1)
    mixture = GaussianMixture(
        [1 - rare.sum(), *rare], rng.normal(size=(classes, n)), [Spiked([], np.zeros((n, 0)))] * classes
    )
    problem = Problem(
        mixture, Classification(tuple(np.linspace(1, -1, classes))), width=8,
        samples=int(rng.integers(1, 6)), ridge=0.1,
    )  # fmt: skip
    sampled, exact = (
        [problem.simulate(trial, risk=risk) for trial in range(trials)] for risk in ("sample", "population")
    )
    assert all(np.isfinite(one.test_error_by_class).all() for one in sampled)
    gaps = [float(one.test_error - other.test_error) for one, other in zip(sampled, exact, strict=True)]
    assert abs(np.mean(gaps)) < 4 * np.std(gaps) / np.sqrt(trials)


@pytest.mark.parametrize("seed", range(4))
def test_batch_averages_vary_as_those_of_batches_with_fixed_counts(seed):
    """Along a mean that classes share, their counts were said to move the average of y κ."""
    rng = np.random.default_rng([29, seed])
    n, count, batches = 5, int(rng.integers(3, 30)), 4000
    means = rng.normal(size=(2, n)) * [6, 1, 0, 0, 0] + [4, 0, 0, 0, 0]
    laws = [Spiked(rng.uniform(1, 9, 1), np.eye(n)[:, [c + 1]], 2.0**c) for c in range(2)]
    mixture = GaussianMixture([0.4, 0.6], means, laws)
    law, sizes = reduced_law(mixture, Classification()), mixture.counts(count)
    step = batch_average(replace(law, weights=sizes / count), count, 0.0, rng)
    averages = np.empty((batches, law.rank))
    for batch in averages:
        x, classes = mixture.draw(sizes, rng)
        batch[:] = np.mean(x[:, :3] * Classification()(x, classes, None)[:, None], axis=0)
    expected = np.linalg.eigvalsh(np.cov(averages.T))
    np.testing.assert_allclose(np.linalg.eigvalsh(step.spread @ step.spread.T), expected, rtol=0.12)  # 4 s.e.
    np.testing.assert_allclose(
        np.linalg.norm(step.signal), np.linalg.norm(averages.mean(axis=0)),
        atol=4 * np.sqrt(expected.sum() / batches),
    )  # fmt: skip


def test_classes_of_the_same_law_without_any_direction():
    """Nothing tells two such classes apart: without a network, too, all there is to learn is their mean."""
    laws = [Spiked([], np.zeros((20, 0)))] * 2
    problem = Problem(
        GaussianMixture([0.3, 0.7], None, laws),
        Classification(),
        width=20,
        samples=400,
        step_size=5.0,
        ridge=0.1,
    )
    answer = problem.predict(0, method="asymptotic", draws=2, nodes=64)
    np.testing.assert_allclose(answer.misclassification, 0.3, atol=0.01)  # scores vary a little
    np.testing.assert_allclose(answer.relative_test_error, 1.0, rtol=0.05)  # 400 samples, ridge .1


@pytest.mark.parametrize("seed", range(3))
def test_batch_averages_of_networks_outputs_vary_over_networks(seed):
    """Every sample of a batch sees the same output, which does not fade in their average."""
    rng = np.random.default_rng([37, seed])
    n, width, networks = 6, 4, 20000
    means = rng.normal(size=(2, n)) * [6, 1, 0, 0, 0, 0] + [4, 0, 0, 0, 0, 0]
    laws = [Spiked(rng.uniform(1, 9, 1), np.eye(n)[:, [c + 1]], 2.0**c) for c in range(2)]
    mixture = GaussianMixture([0.4, 0.6], means, laws)
    told = own_pull(reduced_law(mixture, Classification()), np.array([0.7, 1.3]), width)  # of 0.7 + 1.3 z
    parts = [law.dense() + np.outer(mu, mu) for law, mu in zip(laws, means, strict=True)]
    centre, second = mixture.weights @ means, np.tensordot(mixture.weights, parts, axes=1)
    first = rng.normal(size=(networks, width, n)) / np.sqrt(mixture.trace)
    outer = rng.normal(size=(networks, width)) / width  # with the 1/√k of the features
    linear = 1.3 * np.einsum("sk,skn->sn", outer, first)
    averages = 0.7 * outer.sum(axis=1)[:, None] * centre + linear @ second
    expected = np.linalg.eigvalsh(np.cov(averages[:, :3].T))
    np.testing.assert_allclose(np.linalg.eigvalsh(told), expected, rtol=0.06)  # 4 s.e. of products of normals


@pytest.mark.parametrize(("activation", "mean", "n"), [("tanh", 8.0, 120), ("softplus", 16.0, 60)])
def test_networks_after_steps_on_balanced_classes_with_a_common_mean(activation, mean, n):
    """Errors were told 13 % too high for tanh, with counts of the batch left to chance; for softplus 12 % too
    low with these fixed, as the network's own output, by which all samples pull along the mean, was not seen.
    """
    trials = 32
    laws = [Spiked([0.3 * n], np.eye(n)[:, [c]]) for c in range(2)]
    problem = Problem(
        GaussianMixture([0.5, 0.5], np.tile(mean * np.eye(n)[2], (2, 1)), laws), Classification(), width=n,
        samples=3 * n, gradient_samples=60, step_size=2.0 * n, ridge=1e-2, activation=activation,
    )  # fmt: skip
    measured = [problem.simulate(seed).test_error for seed in range(trials)]
    told = problem.predict(0, method="asymptotic", draws=64, nodes=128)
    slack = 3 * np.hypot(np.std(measured) / np.sqrt(trials), told.test_error_sem)
    assert abs(float(told.test_error) - np.mean(measured)) < 0.03 * np.mean(measured) + slack  # at n = 60


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("ridge", [0.1, 1.0, 100.0])
@EQUATIONS
def test_errors_of_a_class_between_others_are_those_with_fixed_counts(seed, ridge, equations):
    """Of Gaussian features that hardly tell classes apart: with counts left to chance the error of the class
    in the middle was told three times to seventy times too large. One equation takes all laws for one.
    """
    rng, k, sets, m = np.random.default_rng([31, seed]), 12, 2000, 120
    laws, y = 1 if equations == "one covariance" else 3, np.array([1.0, 0.0, -1.0])
    means = np.broadcast_to(rng.normal(size=k) + 0.1 * rng.normal(size=(laws, k)), (3, k))
    roots = rng.normal(size=(laws, k, k)) * np.sqrt(0.1 / k)
    covariances = np.broadcast_to(roots @ roots.mT, (3, k, k))
    second = [c + np.outer(mu, mu) for c, mu in zip(covariances, means, strict=True)]
    moments = FeatureMoments(np.full(3, 1 / 3), second, y[:, None] * means, y**2)
    classes = np.repeat([0, 1, 2], m // 3)
    noise = np.einsum("smk,mjk->smj", rng.normal(size=(sets, m, k)), np.linalg.cholesky(covariances)[classes])
    phi = means[classes] + noise
    gram = phi.mT @ phi / m + ridge * np.eye(k)
    w = np.linalg.solve(gram, (y[classes] @ phi / m)[:, :, None])[:, :, 0]
    errors = (y - w @ means.T) ** 2 + np.einsum("sk,ckl,sl->sc", w, covariances, w)
    told = solved(moments, m, ridge, equations).by_class
    np.testing.assert_allclose(told, errors.mean(axis=0), rtol=6 / m + 0.05)  # 2000 sets: 2 %


@pytest.mark.parametrize("ridge", [0.1, 1.0])
def test_networks_errors_of_a_class_between_others(ridge):
    """Of three balanced classes labelled 1, 0 and -1: the middle one's was told 3 to 1000 times too large."""
    n, trials = 60, 12
    laws = [Spiked([5.0], np.eye(n)[:, [c]]) for c in range(3)]
    problem = Problem(
        GaussianMixture([1 / 3] * 3, None, laws), Classification((1.0, 0.0, -1.0)), width=n, samples=2 * n,
        step_size=3.0, ridge=ridge,
    )  # fmt: skip
    measured = np.array(
        [problem.simulate(seed, risk="population").test_error_by_class for seed in range(trials)]
    )
    slack = 0.1 * measured.mean(axis=0) + 3 * measured.std(axis=0) / np.sqrt(trials)
    for options in ({"equivalent": "one covariance"}, {"equivalent": "class-wise"}, {"method": "asymptotic"}):
        told = problem.predict(0, **options).test_error_by_class
        assert (np.abs(told - measured.mean(axis=0)) < slack).all()


@pytest.mark.parametrize("first", [1.0, -1.0])
def test_classes_to_which_no_neuron_responds_are_not_guessed_by_their_order(first):
    """ReLUs that a long step has turned the same way answer 0 to half of a class: right if the class
    came first: .13 or .39 by the order of the classes, where .26 is told.
    """
    n, trials = 60, 24
    means = 2.5 * np.eye(n)[:1] * np.array([[first], [-first]]) + 3 * np.eye(n)[1]
    problem = Problem(
        GaussianMixture([0.5, 0.5], means, [Spiked([], np.zeros((n, 0)))] * 2),
        Classification((first, -first)), width=n, samples=3 * n, gradient_samples=n // 2, step_size=float(n),
        ridge=1e-2, second_layer="ones",
    )  # fmt: skip
    measured, told = np.transpose(
        [[getattr(problem, kind)(seed).misclassification.item() for kind in ("simulate", "predict")]
         for seed in range(trials)]
    )  # fmt: skip
    gaps = told - measured
    assert abs(gaps.mean()) < 0.1 * told.mean() + 3 * gaps.std() / np.sqrt(trials)
