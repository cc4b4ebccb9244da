"""The DMFT in a growing frame: against response functions, real descents and a published run; its errors."""

from functools import partial

import numpy as np
import pytest
from scipy.stats import norm
from tests.phase_transition.responses import follow

from firstlight import MultiIndex, compare
from firstlight.maths.activations import activation
from firstlight.maths.tabulated import tabulated
from firstlight.phase_transition import (
    LearningProblem,
    Problem,
    SpectrumProblem,
    Student,
    ThresholdProblem,
    delta_nn,
    dmft,
    escape_time,
    hessian_spectrum,
)
from firstlight.phase_transition.theory.batches import equal_runs
from firstlight.phase_transition.theory.dmft import _joint, held_path
from firstlight.phase_transition.theory.frame import Frame
from firstlight.phase_transition.theory.hessian import empirical_law
from firstlight.phase_transition.theory.labels import LabelSample, draw, label_law
from firstlight.phase_transition.theory.path import spread
from firstlight.phase_transition.theory.subspaces import subspaces

STEP = "sign(abs(z1) - 1.4820733)"
STEPS = 6


def random_case(seed):
    """Draw a target, a network, the sizes, and whether the hard directions are held."""
    rng = np.random.default_rng(seed)
    held = bool(rng.random() < 0.7)
    targets = [STEP, "sign(z1*z2)", "tanh(z1 + 1.5*(z2**2 - 1))", "sign(z1 + z2**2 - 1)"]
    target, noise = str(rng.choice(targets)), 0.0
    logistic = target.startswith("sign") and rng.random() < 0.4
    if not held and not logistic and rng.random() < 0.7:
        noise = 0.5
    a = rng.uniform(0.5, 1.2, rng.integers(1, 3)) * rng.choice([-1, 1])
    if a.size == 2 and rng.random() < 0.5:
        a[1] *= -1
    student = Student(
        str(rng.choice(["tanh", "tanh_squared", "gelu", "erf", "softplus"])), tuple(a),
        rng.uniform(0.4, 1.0), "logistic" if logistic else "square", rng.choice([0.0, 0.2]),
        rng.uniform(-0.3, 0.3),
    )  # fmt: skip
    return MultiIndex(target, noise=noise), student, rng.uniform(1.5, 6.0), rng.uniform(0.1, 0.3), held


@pytest.mark.parametrize("seed", range(12))
def test_random_models_against_response_functions(seed):
    target, student, delta, step_size, held = random_case(seed)
    hard = subspaces(target).hard
    start = np.zeros((student.width, target.directions))
    if not held:
        start[:] = 0.3 * student.init_scale / np.sqrt(target.directions * student.width)
    path = dmft(
        target, student, delta, step_size, STEPS, 1 << 13, hold_hard=held, start_overlap=start,
    )  # fmt: skip
    others, labels = [], label_law(target) if held else None
    for scramble in range(4):
        rng, dim = np.random.default_rng([seed, scramble]), (STEPS + 1) * student.width
        sample = draw(labels, dim, 1 << 11, rng) if held else _joint(target, hard, dim, 1 << 11, rng)
        first = np.zeros((student.width, labels.easy.shape[1])) if held else start
        others.append(follow(student, sample, delta, step_size, STEPS, first))
    ours = (lambda run: run.train_loss, lambda run: run.norm, lambda run: run.overlap,
            lambda run: run.hard_variance)  # fmt: skip
    for mine, theirs in zip(ours, zip(*others, strict=True), strict=True):
        error = np.hypot(path.standard_error(mine), spread(np.array(theirs)))
        gap = np.abs(mine(path) - np.mean(theirs, axis=0))
        # 12 models × some 30 numbers: four standard errors, and the forces that are dropped
        assert (gap <= 4 * error + 1e-3 * (1 + np.abs(mine(path)))).all()


def ends_of_descents(target, student, delta, step_size, steps, d, rngs):
    """Train several by plain gradient descent, written out; losses, squared norms, overlaps at the end."""
    k, n, runs, m = target.directions, round(delta * d), len(rngs), student.width
    X, W = np.empty((runs, n, d)), np.zeros((runs, d, m))
    for rng, inputs, rows in zip(rngs, X, W, strict=True):
        inputs[:] = rng.standard_normal((n, d))
        rows[k:] = student.init_scale * np.linalg.qr(rng.standard_normal((d - k, m)))[0]
    y = target.law(X[:, :, :k].reshape(-1, k))
    for _ in range(steps):
        force = student.force(y, (X @ W).reshape(-1, m)).reshape(runs, n, m)
        W = (1 - step_size * student.ridge) * W - step_size * X.transpose(0, 2, 1) @ force / n
    loss = student.risk(y, (X @ W).reshape(-1, m)).reshape(runs, n).mean(axis=1)
    return np.hstack([loss[:, None], (W**2).sum(axis=1), W[:, :k].transpose(0, 2, 1).reshape(runs, -1)])


def end_of_path(path):
    return np.array([path.train_loss[-1], *path.norm[-1], *path.overlap[-1].ravel()])


@pytest.mark.parametrize(
    ("target", "student", "delta", "step_size"),
    [
        ("sign(z1 + z2)", Student("leaky_relu", (1.0, -0.6), 0.8, "logistic", ridge=0.1), 2.0, 0.5),
        ("tanh(2*z1)", Student("gelu", 1.0, 0.8), 2.0, 0.5),
    ],
)
def test_the_gap_to_real_descents_shrinks_with_size(target, student, delta, step_size):
    target = MultiIndex(target)
    path = dmft(target, student, delta, step_size, 8, 1 << 16, hold_hard=False)
    own, gaps = path.standard_error(end_of_path), {}
    for d, runs in ((12, 3000), (192, 300)):
        rngs = [np.random.default_rng([d, seed, 1]) for seed in range(runs)]
        few = 1200 // d  # so that their inputs stay in the cache
        ends = np.vstack(
            [
                ends_of_descents(target, student, delta, step_size, 8, d, rngs[first : first + few])
                for first in range(0, runs, few)
            ]
        )
        error = np.hypot(ends.std(axis=0) / runs**0.5, own)
        gaps[d] = np.abs(ends.mean(axis=0) - end_of_path(path)), error
    assert (gaps[12][0] > 5 * gaps[12][1]).any()  # at d = 12 the finite size is plain to see
    # and falls as 1/d: 16 times smaller, below four standard errors of 300 runs
    assert (gaps[192][0] < 4 * gaps[192][1]).all()
    assert gaps[192][0].max() < 0.5 * gaps[12][0].max()


def test_relu_against_a_published_run():
    # Dandi et al. 2024, stored results: D = 5000, 32 runs, step 6, with their standard errors
    student = Student("relu", (2**-0.5, -(2**-0.5)), 1.0)
    path = dmft("tanh(z1 + z2**3 - 3*z2)", student, 3.0, 0.6, 6, 1 << 17, hold_hard=False)
    published = [(0.21464, 0.00135), (0.17253, 0.00135), (0.35042, 0.00054)]
    # ours at N = 2^19, computed apart, spread below 1e-4; and 500 descents at d = 1000
    apart = [(0.2149, 1e-4), (0.1742, 1e-4), (0.3500, 1e-4)]
    descents = [(0.2148, 5e-4), (0.1740, 6e-4), (0.3502, 2e-4)]

    def result(run):
        signed = run.overlap[6] * np.array([[1, -1], [-1, 1]])  # both neurons alike: their mean
        return np.array([*signed.mean(axis=0), run.test_loss[6]])

    error = path.standard_error(result)
    assert (error < 1e-3).all()
    for rows in (published, apart, descents):
        value, theirs = np.transpose(rows)
        assert (np.abs(result(path) - value) < 3 * np.hypot(error, theirs)).all()
    # after one step in closed form: |w|² = 0.853558, where dropping the kink's point mass leaves 0.80
    assert path.norm[1].mean() == pytest.approx(0.853558, abs=3e-4)


def test_the_response_of_a_kink():
    # E ∂ψ/∂h at the start with the point mass of σ'' counted: a²/2 - a E[y]/(√(2π) r), by Stein's lemma
    student, r = Student("relu", 1.0, 0.7), 0.7
    path = dmft(STEP, student, 2.0, 0.3, 1, 1 << 16)
    mean = 2 * 0.13832 - 1  # P(|z| > 1.4820733) = 0.13832
    response = 0.5 - mean / (np.sqrt(2 * np.pi) * r)
    assert path.covariance[1, 0, 0, 0] == pytest.approx(r**2 * (1 - 0.3 * response), rel=1e-3)


def test_variance_of_hard_overlaps_with_kinks():
    # 7500 descents at d = 300, computed apart: .909(15) .121(12) 1.060(17), the first 2 % low by saturation
    student = Student("relu", (1.0, -0.6), 1.0)
    path = dmft(STEP, student, 2.2, 0.4, 12, 1 << 14).hard_variance[12]
    np.testing.assert_allclose(path[[0, 0, 1], [0, 1, 1]], [0.927, 0.121, 1.060], atol=0.05)
    assert escape_time(STEP, student, 2.2, 0.4, 1000, steps=8, draws=1 << 10).cosine.shape == (9,)
    learnt = LearningProblem(
        activation="relu", samples_per_dimension=3.0, dimension=100, steps=20, theory_steps=16
    )
    assert 0 <= float(learnt.predict(draws=1 << 10).success) <= 1


@pytest.mark.parametrize("seed", range(8))
def test_normals_are_uncorrelated_with_all_that_is_known(seed):
    # for each label and times each element of C that varies; the ridge of 1e-10 leaves less than 1e-8
    rng = np.random.default_rng(seed)
    n, easy, hard, m = 600, int(rng.integers(3)), int(rng.integers(3)), int(rng.integers(1, 4))
    y = np.repeat([-1.0, 1.0], [200, 400])
    second = rng.normal(size=(n, hard, hard)) * np.exp(rng.uniform(-3, 3))
    sample = LabelSample(
        y, np.full(n, 1 / n), rng.normal(size=(n, easy)), second + second.transpose(0, 2, 1),
        rng.normal(size=(n, 2 + m)), np.arange(n),
    )  # fmt: skip
    frame = Frame(sample, m, 2.0, 5 * m, rng, equal_runs(y))
    for _ in range(5):
        psi = rng.normal(size=(m, n)) * np.exp(rng.uniform(-3, 3, m))[:, None]
        frame.add(psi, (sample.weight * psi) @ frame.known.T)
    elements = np.vstack([np.ones(n), sample.second[:, *np.triu_indices(hard)].T])
    for where in equal_runs(y):
        known, times = frame.known[:, where], elements[:, where]
        for k in range(frame.first + 1, frame.size, 2):  # the normal of each force
            z, conditions = known[k], (known[:k, None] * times).reshape(-1, len(known[k]))
            assert z @ z == pytest.approx(len(z))
            cosines = conditions @ z / np.linalg.norm(conditions, axis=1) / np.linalg.norm(z)
            assert np.abs(cosines).max() < 1e-8


def test_standard_errors_cover():
    # losses, norms, overlaps and V at eight scrambles of 256 samples against many more samples
    target, student = "tanh(z1 + 1.5*(z2**2 - 1))", Student("gelu", 1.0, 0.8)
    labels = label_law(MultiIndex(target))

    def numbers(run):
        return np.array([run.train_loss[-1], run.test_loss[-1], run.norm[-1, 0], run.overlap[-1, 0, 0],
                         run.hard_variance[-1, 0, 0]])  # fmt: skip

    truth = numbers(held_path(labels, student, 4.0, 0.3, 12, 1 << 17, 10**6, scrambles=8))
    hits = []
    for seed in range(40):
        path = held_path(labels, student, 4.0, 0.3, 12, 1 << 11, seed, scrambles=8)
        hits.append(np.abs(numbers(path) - truth) < 2 * path.standard_error(numbers))
    covered = np.mean(hits, axis=0)
    # 95 % nominal; 40 repetitions scatter by 3.4 %, and 256 samples have a bias of their own
    assert (covered > 0.8).all()
    assert covered.mean() > 0.9


def test_opposite_signs_at_default_samples():
    # |w_2|² scattered from 2.26 to 2.59 between scrambles of the response functions, and told no error
    problem = Problem(second_layer=(1.0, -1.0), steps=32, spectrum=False)
    values = [problem.predict(rng=seed) for seed in range(3)]
    norms = np.array([float(one.norm[-1, 1]) for one in values])
    errors = np.array([float(one.norm_sem[-1, 1]) for one in values])
    assert (errors < 0.01 * norms).all()
    assert np.ptp(norms) < 4 * errors.max()
    assert all(bool(one.converged.all()) for one in values)


def test_predictions_tell_their_errors():
    for problem in (
        Problem(samples_per_dimension=3.0, dimension=300, steps=8),
        Problem(samples_per_dimension=6.0, dimension=300, steps=8, hold_hard=False),
        Problem(
            target="tanh(2*z1)",
            activation="relu",
            samples_per_dimension=3.0,
            dimension=300,
            steps=8,
            hold_hard=False,
        ),
    ):
        predicted = problem.predict(draws=1 << 11)
        names = [name for name in predicted.data_vars if not name.endswith("_sem") and name != "converged"]
        for name in names:
            assert predicted[f"{name}_sem"].dims == predicted[name].dims
        assert (predicted.test_loss_sem[1:] > 0).all()
        # eight times the samples: about a third of the error, itself known to a quarter
        more = problem.predict(draws=1 << 14)
        assert float(more.test_loss_sem.mean()) < 0.7 * float(predicted.test_loss_sem.mean())
        assert bool(more.converged.all())
    few = Problem(second_layer=(1.0, -1.0), steps=32, spectrum=False).predict(draws=1 << 9)
    assert not few.converged.all()  # 64 samples in a scramble are too few for 64 forces
    assert not dmft(STEP, Student("tanh_squared", (1.0, -1.0), 0.8), 3.0, 0.25, 32, 1 << 9).converged
    assert dmft(STEP, Student("tanh_squared", 1.0, 0.8), 3.0, 0.25, 8, 1 << 11).converged


def test_verdicts_count_the_errors_of_theory():
    problem = Problem(samples_per_dimension=3.0, dimension=100, steps=4, spectrum=False)
    comparison = compare(problem, trials=3, rng=0, predict={"draws": 1 << 10})
    np.testing.assert_array_equal(comparison.test_loss_predicted_sem.dims, ("time",))
    assert (comparison.test_loss_predicted_sem[1:] > 0).all()


def test_success_tells_its_error():
    predicted = LearningProblem(samples_per_dimension=2.2, dimension=120, steps=100, theory_steps=32).predict(
        draws=1 << 11
    )
    assert 0 < float(predicted.success_sem) < 0.1
    assert bool(predicted.converged)
    time = escape_time(STEP, Student("tanh_squared", 1.5, 0.8, offset=-0.5), 6.0, 0.12, 500, steps=48)
    assert 0 < time.error < 0.05 * time.time


def test_a_kink_has_no_hessian():
    relu = Student("relu", 1.0, 0.8)
    path = dmft(STEP, relu, 3.0, 0.25, 2, 1 << 9)
    for call in (
        partial(delta_nn, STEP, relu),
        partial(hessian_spectrum, STEP, relu, 3.0),
        partial(empirical_law, STEP, relu, np.ones(2), np.zeros((2, 1))),
        partial(path.spectrum, 0),
        partial(Problem, activation="relu"),
        partial(SpectrumProblem, activation="relu"),
        partial(ThresholdProblem, activation="leaky_relu"),
    ):
        with pytest.raises(ValueError, match=r"relu: has kinks.*delta_NN.*V\(t\)"):
            call()
    verdicts = {one.name: one.verdict for one in Problem(activation="relu", spectrum=False).assumptions()}
    assert verdicts["smooth activation"] == "fails"


def test_a_function_of_ones_own_costs_what_a_built_in_one_does():
    asked = []

    def softplus(z):
        asked.append(np.size(z))
        return np.logaddexp(0, z)

    own, known = Student(softplus), Student("softplus")
    path = dmft(STEP, own, 3.0, 0.2, 2, 1 << 10)
    before = sum(asked)
    path = dmft(STEP, own, 3.0, 0.2, 24, 1 << 12)
    # twice per sample and step, for losses on the training and on fresh samples, and once for the force;
    # numerical derivatives at each would ask 20 times as often
    assert sum(asked) - before < 4 * 25 * (1 << 12) + 1e5
    expected = dmft(STEP, known, 3.0, 0.2, 24, 1 << 12)
    np.testing.assert_allclose(path.test_loss, expected.test_loss, rtol=1e-7)


@pytest.mark.parametrize("kinks", [(), (0.3,), (-1.0, 1.0)])
def test_tables_of_derivatives(kinks):
    def function(z):
        return np.tanh(z) + sum(0.5 * np.abs(z - kink) for kink in kinks)

    sigma = activation(function, kinks=kinks)
    z = np.concatenate([np.random.default_rng(0).normal(0, 3, 500), kinks, [-50.0, 50.0]])
    slope, bend = tabulated(sigma.derivative, sigma.second_derivative, kinks)
    np.testing.assert_allclose(slope(z), sigma.derivative(z), atol=1e-9)
    np.testing.assert_allclose(bend(z), sigma.second_derivative(z), atol=1e-5)
    # what cannot be tabulated is computed as before: a kink that nobody named
    jump = partial(np.sign)
    assert tabulated(jump, jump, ())[0] is jump


@pytest.mark.parametrize("seed", range(16))
def test_noisy_labels_have_the_right_sign(seed):
    """No label stands for both signs: errors of predicted signs were off by up to 0.05, errors told 0.001."""
    rng = np.random.default_rng([13, seed])
    a, b = rng.uniform(-1.5, 1.5, 2).round(2)
    text, plain = [
        (f"{a} + abs(z1)", lambda z: a + np.abs(z)), (f"{a} + z1**2", lambda z: a + z**2),
        (f"{a} + cos(2*z1)", lambda z: a + np.cos(2 * z)),
        (f"sign(abs(z1) - {abs(b)})", lambda z: np.sign(np.abs(z) - abs(b))),
    ][seed % 4]  # fmt: skip
    noise = round(float(10 ** rng.uniform(-1.5, 0.7)), 4)
    law = label_law(MultiIndex(text, noise=noise))
    z = np.linspace(-8, 8, 400_001)
    exact = norm.pdf(z) @ norm.cdf(-plain(z) / noise) * (z[1] - z[0])
    # the midpoint rule: step² /24 of the density's slope at zero, at most 1/4 in units of the noise
    assert law.weight[law.y < 0].sum() == pytest.approx(exact, abs=0.25**2 / 24 * 0.25 + 1e-4)
