"""Momentum, batches, schedules and trained second layers: theory against closed forms and real training."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.special import ndtr

from firstlight import MultiIndex, activation
from firstlight.phase_transition import Problem, Student, Training, dmft, gradient_flow, rank
from firstlight.phase_transition.experiment.descent import descend, orthogonal_start
from firstlight.phase_transition.learning import LearningProblem
from firstlight.phase_transition.theory.delta_nn import NetworkThreshold
from firstlight.phase_transition.theory.hard import HardOverlaps

STEP = "sign(abs(z1) - 1.4820733)"
BASE = Student("tanh_squared", 1.0, 0.8)
CUBIC = "tanh(z1 + z2**3 - 3*z2)"
RELU = Student("relu", (2**-0.5, -(2**-0.5)), 1.0)
HALF = Student("relu", (1.0, -0.5), 1.0)


def end(run):
    """Losses, first squared norm, first overlaps, second layer, biases, offset at the last step."""
    return np.array([run.train_loss[-1], run.test_loss[-1], run.norm[-1, 0], *run.overlap[-1, 0],
                     *run.second_layer[-1], *run.biases[-1], run.offset[-1]])  # fmt: skip


# computed apart with N = 2^16 to 2^17 and checked there against 12 to 16 descents at d = 1000
KNOWN = [
    (RELU, Training(0.4, batch=0.25), 16, [0.1772, 0.3544, 0.945, 0.274, -0.226]),
    (RELU, Training(0.4, batch=0.25, batches="one_pass"), 16, [0.2842, 0.2843, 0.766, 0.357, -0.298]),
    (RELU, Training(0.15, momentum=0.8), 16, [0.1499, 0.3665, 1.138, 0.371, -0.297]),
    (RELU, Training(0.15, momentum=0.8, nesterov=True), 16, [0.1472, 0.3602, 1.072, 0.346, -0.278]),
    (HALF, Training(0.4, second_layer_step=0.4), 16, [0.1724, 0.3472, 0.762, 0.289, -0.233, 0.814, -0.531]),
    (RELU, Training(0.2, momentum=0.6, batch=0.25), 32, [0.1392, 0.3743, 1.209, 0.365, -0.304]),
]


@pytest.mark.parametrize(("student", "training", "steps", "known"), KNOWN)
def test_known_runs(student, training, steps, known):
    path = dmft(CUBIC, student, 3.0, training, steps, 1 << 14, hold_hard=False)
    count = len(known)
    error = path.standard_error(end)[:count]
    assert (error < 0.03).all()
    # six runs × some six numbers: four standard errors of ours, and theirs of at most .003
    assert (np.abs(end(path)[:count] - known) < 4 * error + 0.003).all()


def linear_loss(training, delta, steps, start):
    """Test loss of linear regression on a noiseless line, from the law of Marchenko and Pastur.

    The error w - θ is p_t(H) times that at the start, p_t the polynomial that momentum makes at each
    eigenvalue of the sample covariance.
    """
    ratio = 1 / delta
    low, high = (1 - ratio**0.5) ** 2, (1 + ratio**0.5) ** 2
    angle = (np.arange(4000) + 0.5) * np.pi / 4000
    x = 0.5 * (low + high) - 0.5 * (high - low) * np.cos(angle)
    density = np.sqrt((high - x) * (x - low)) / (2 * np.pi * ratio * x)
    weight = density * 0.5 * (high - low) * np.sin(angle) * np.pi / 4000
    p, v, losses = np.ones_like(x), np.zeros_like(x), []
    for factor in (*training.factors(steps), 0.0):
        losses.append(0.5 * (1 + start**2) * float(weight @ p**2))
        ahead = p + training.momentum * v if training.nesterov else p
        v = training.momentum * v - factor * training.step_size * x * ahead
        p = p + v
    return np.array(losses)


@pytest.mark.parametrize(
    "training",
    [
        Training(0.4, momentum=0.7),
        Training(0.4, momentum=0.7, nesterov=True),
        Training(0.6, schedule="cosine"),
        Training(0.5, momentum=0.5, schedule=(0.2, 0.4, 0.8, 1.0, 1.0, 0.7, 0.5, 0.1)),
    ],
)
def test_linear_regression_in_closed_form(training):
    path = dmft("z1", Student("linear", 1.0, 0.6), 3.0, training, 8, 1 << 14, hold_hard=False)
    # 8 steps in four cases: four standard errors, and the rounding of 2^14 samples
    error = path.standard_error(lambda run: run.test_loss)
    assert (np.abs(path.test_loss - linear_loss(training, 3.0, 8, 0.6)) < 4 * error + 1e-4).all()


def online(student, share, eta, steps):
    """Follow q = |w|² and V of one pass for one neuron without easy directions, by quadrature."""
    z, weight = np.polynomial.hermite_e.hermegauss(120)
    weight, far = weight / weight.sum(), 2 * ndtr(-1.4820733)
    labels, mass = np.array([-1.0, 1.0]), np.array([1 - far, far])
    density = np.exp(-0.5 * 1.4820733**2) / np.sqrt(2 * np.pi)
    second = 1 + np.array([-1, 1]) * 2 * 1.4820733 * density / mass  # E[z² | y]
    q, V, rows = student.init_scale**2, student.init_scale**2, []
    for _ in range(steps + 1):
        rows.append((q, V))
        h = np.sqrt(q) * z[:, None]
        means = np.zeros(4)
        for y, p, C in zip(labels, mass, second, strict=True):
            at = np.full(len(h), y)
            psi, D = student.force(at, h)[:, 0], student.curvature(at, h)[:, 0, 0]
            means += p * np.array([weight @ D, weight @ psi**2, C * (weight @ D), C * (weight @ psi**2)])
        q = q * (1 - eta * means[0]) ** 2 + eta**2 * means[1] / share
        V = V * (1 - eta * means[2]) ** 2 + eta**2 * means[3] / share
    return np.array(rows)


def test_one_pass_by_quadrature():
    # E[ψ w·x] = E[D] w: no memory, so that norm and V obey two recursions of one-dimensional integrals
    path = dmft(STEP, BASE, 2.0, Training(0.3, batch=0.25, batches="one_pass"), 12, 1 << 14)
    known = online(BASE, 0.5, 0.3, 12)
    for column, of in ((0, lambda run: run.norm[:, 0]), (1, lambda run: run.hard_variance[:, 0, 0])):
        error = path.standard_error(of)
        assert (np.abs(of(path) - known[:, column]) < 4 * error + 1e-3 * known[:, column]).all()
    # only the product of batch and samples per dimension matters
    other = dmft(STEP, BASE, 50.0, Training(0.3, batch=0.01, batches="one_pass"), 12, 1 << 14)
    np.testing.assert_allclose(other.hard_variance, path.hard_variance, rtol=1e-9)


@pytest.mark.parametrize("batch", [1e-3, 1e-9])
def test_cyclic_batches_hold_samples(batch):
    """A batch of 1e-9 ran for minutes and filled the memory; one of 1e-3 was empty for some steps."""
    with pytest.raises(ValueError, match=r"^batch = .*: less than two of the 128 samples"):
        dmft(STEP, BASE, 3.0, Training(0.2, batch=batch, batches="cyclic"), 4, 1 << 10)


def test_the_first_cycle_is_one_pass():
    # until the first batch comes again, cyclic batches are samples never seen
    cyclic, once = (
        dmft(CUBIC, RELU, 3.0, Training(0.4, batch=0.25, batches=how), 4, 1 << 15, hold_hard=False)
        for how in ("cyclic", "one_pass")
    )

    def unseen(run):
        return np.array([run.test_loss[-1], run.norm[-1, 0], *run.overlap[-1, 0]])

    error = np.hypot(cyclic.standard_error(unseen), once.standard_error(unseen))
    assert (np.abs(unseen(cyclic) - unseen(once)) < 4 * error).all()
    # but it remembers: its own samples fit better
    assert cyclic.train_loss[-1] < once.train_loss[-1] - 0.01


def test_variance_and_outlier_under_momentum_and_batches():
    # computed apart: V(16) at δ = 2.2, and outlier and overlap at δ = 5 with descents of d = 800 beside
    for training, V, tolerance, outlier, overlap in (
        (Training(0.25, momentum=0.6), 3.68, 0.05, -0.542, 0.686),
        (Training(0.25, batch=0.25), 1.134, 0.04, -0.420, 0.674),
    ):
        path = dmft(STEP, BASE, 2.2, training, 16, 1 << 15)
        error = path.standard_error(lambda run: run.hard_variance[16, 0, 0])
        assert abs(path.hard_variance[16, 0, 0] - V) < 4 * error + 0.01 * V
        assert error < tolerance * V
        lowest = dmft(STEP, BASE, 5.0, training, 16, 1 << 14, times=(16,)).spectrum(0).outliers[0]
        assert lowest.value == pytest.approx(outlier, abs=0.015)
        assert lowest.overlap == pytest.approx(overlap, abs=0.01)


def trained(target, student, delta, training, steps, d, seed):
    """Train a real network; its end in the order of `end`."""
    rng = np.random.default_rng([d, seed])
    drawn = target.sample(round(delta * d), d, rng)
    fresh = target.sample(500, d, rng, drawn.directions)
    W = orthogonal_start(d, student.width, student.init_scale, rng)
    W -= (W @ drawn.directions) @ drawn.directions.T  # no overlap at the start, and the same lengths
    W *= student.init_scale / np.linalg.norm(W, axis=1, keepdims=True)

    def supply(count):
        more = target.sample(count, d, rng, drawn.directions)
        return more.X, more.y

    path = descend(
        student, (drawn.X, drawn.y), (fresh.X, fresh.y), W, drawn.directions, training, steps,
        times=(steps,), supply=supply, rng=rng,
    )  # fmt: skip
    return np.array([path.train_loss[0], path.test_loss[0], path.gram[0, 0, 0], *path.overlap[0, 0],
                     *path.second_layer[0], *path.biases[0], path.offset[0]])  # fmt: skip


ALL = {"second_layer_step": 0.3, "bias_step": 0.3, "offset_step": 0.2}


@pytest.mark.parametrize(
    "training",
    [
        Training(0.4, batch=0.25),
        Training(0.4, batch=0.25, batches="cyclic"),
        Training(0.4, batch=0.25, batches="one_pass", **ALL),
        Training(0.2, momentum=0.7, batch=0.5, batches="cyclic", **ALL),
        Training(0.2, momentum=0.7, nesterov=True, schedule="linear", **ALL),
        Training(0.3, momentum=0.4, nesterov=True, batch=0.5, **ALL),
    ],
)
def test_the_gap_to_real_training_shrinks_with_size(training):
    target, student = MultiIndex("tanh(2*z1)"), Student("gelu", (1.0, -0.6), 0.8, ridge=0.1)
    path = dmft(target, student, 2.0, training, 8, 1 << 15, hold_hard=False)
    gaps = {}
    for d, runs in ((6, 600), (160, 40)):
        ends = np.array([trained(target, student, 2.0, training, 8, d, seed) for seed in range(runs)])
        error = np.hypot(ends.std(axis=0) / runs**0.5, path.standard_error(end)) + 1e-12
        gaps[d] = np.abs(ends.mean(axis=0) - end(path)), error
    assert (gaps[6][0] > 5 * gaps[6][1]).any()  # at d = 6 the finite size is plain to see
    # and falls as 1/d: 27 times smaller, below four standard errors of 40 runs
    assert (gaps[160][0] < 4 * gaps[160][1]).all()
    assert gaps[160][0].max() < 0.5 * gaps[6][0].max()


def test_spectra_after_other_algorithms():
    # outliers along the weights need the forces that were really applied: eigenvalues of real Hessians
    for changes in (
        {"momentum": 0.6, "step_size": 0.15},
        {"batch": 0.5, "batches": "cyclic", "second_layer_step": 0.1, "bias_step": 0.1},
        {"batch": 0.25, "batches": "one_pass"},
    ):
        problem = Problem(samples_per_dimension=6.0, dimension=200, steps=4, **changes)
        theory = problem.predict(draws=1 << 11)
        runs = [problem.simulate(rng=seed) for seed in range(8)]
        for name, tolerance in (("largest_eigenvalue", 0.12), ("hidden_eigenvalue", 0.06), ("norm", 0.05)):
            mean = np.mean([run[name].values[-1] for run in runs], axis=0)
            # class fractions move the whole spectrum, the mean of eight runs at d = 200 by some 0.02; the
            # largest eigenvalue stays below its edge by d^(-2/3) times some 3
            np.testing.assert_allclose(theory[name].values[-1], mean, atol=tolerance)


def test_impossible_algorithms_are_refused():
    with pytest.raises(ValueError, match="schedule = '2 factors': must have one for each of the 4 steps"):
        dmft(STEP, BASE, 3.0, Training(0.1, schedule=(1.0, 1.0)), 4)
    with pytest.raises(ValueError, match="nesterov = True: must come with a momentum above 0"):
        Training(0.1, nesterov=True)
    with pytest.raises(ValueError, match="batch = 1e-05: must leave at least one of the"):
        Problem(batch=1e-5)
    with pytest.raises(ValueError, match=r"momentum = -0\.1"):
        Problem(momentum=-0.1)
    # few theory samples for many forces: said so
    assert not dmft(STEP, BASE, 3.0, Training(0.2, batch=0.5), 64, 1 << 9).converged


def test_gradient_flow():
    # linear regression: the error along an eigenvalue x of the covariance falls as exp(-x s)
    flow = gradient_flow("z1", Student("linear", 1.0, 0.6), 3.0, 3.0, 12, 1 << 14, hold_hard=False)
    loss, error = flow(lambda path: path.test_loss)
    small = linear_loss(Training(3.0 / 3000), 3.0, 3000, 0.6)[::250]
    assert (np.abs(loss - small) < 4 * error + 1e-3).all()
    plain = np.abs(flow.fine.test_loss[::2] - small).max()
    assert np.abs(loss - small).max() < 0.3 * plain  # first order is gone
    # a network that is really integrated, by an adaptive solver that knows nothing of steps
    student, target = Student("gelu", (1.0, -0.6), 0.8), MultiIndex("tanh(2*z1)")
    result = gradient_flow(target, student, 2.0, 3.0, 12, 1 << 14, hold_hard=False)
    norms, error = result(lambda path: path.norm[:, 0])
    ends = []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((240, 120))
        y, W = np.tanh(2 * X[:, 0]), np.zeros((120, 2))
        W[1:] = 0.8 * np.linalg.qr(rng.standard_normal((119, 2)))[0]

        def down(s, w, X=X, y=y):
            return -(X.T @ student.force(y, X @ w.reshape(120, 2)) / len(y)).ravel()

        ends.append(
            (solve_ivp(down, (0, 3.0), W.ravel(), rtol=1e-6).y[:, -1].reshape(120, 2)[:, 0] ** 2).sum()
        )
    spread = np.std(ends) / len(ends) ** 0.5
    # forty runs at d = 120: four standard errors, and the size's own 1/d
    assert abs(np.mean(ends) - norms[-1]) < 4 * np.hypot(spread, error[-1]) + 1 / 120


def test_noise_on_labels_with_the_square_loss():
    # D is unbounded below, so that no threshold exists, but training and V(t) are clear
    target = MultiIndex(STEP, noise=0.5)
    path = dmft(target, BASE, 4.0, 0.25, 8, 1 << 14)
    with pytest.raises(ValueError, match="unbounded below"):
        path.spectrum(-1)
    ends, grown = [], []
    for seed in range(150):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((800, 200))
        y = np.sign(np.abs(X[:, 0]) - 1.4820733) + 0.5 * rng.standard_normal(800)
        w = rng.standard_normal((200, 1))
        w *= 0.8 / np.linalg.norm(w)
        for _ in range(8):
            w = w - 0.25 * X.T @ BASE.force(y, X @ w) / 800
        ends.append(np.mean(BASE.risk(y, X @ w)))
        grown.append(200 * w[0, 0] ** 2)
    error = np.hypot(np.std(ends) / 150**0.5, path.standard_error(lambda run: run.train_loss[8]))
    assert abs(np.mean(ends) - path.train_loss[8]) < 4 * error + 0.002  # overlaps that grow lower it by 1/d
    # a mean of 150 squares is good to 12 %; saturation takes some per cent at d = 200
    assert np.mean(grown) == pytest.approx(path.hard_variance[8, 0, 0], rel=0.45)


def test_the_order_of_networks(monkeypatch):
    none = np.zeros(0)

    def known(target, student, *rest, **options):
        value, error, good = {
            0.1: (3.0, 0.1, True), 0.2: (3.1, 0.1, True), 0.3: (2.0, 0.1, True), 0.4: (1.0, 5.0, False),
            0.5: (np.inf, np.inf, True),
        }[student.init_scale]  # fmt: skip
        return NetworkThreshold(value, error, 1, good, "static", none, none, none, 0.1, 0.5)

    monkeypatch.setattr("firstlight.phase_transition.theory.ranking.delta_nn", known)
    students = {str(scale): Student("gelu", 1.0, scale) for scale in (0.1, 0.2, 0.3, 0.4, 0.5)}
    order = rank(STEP, students)
    assert order.names == ("0.3", "0.1", "0.2", "0.4", "0.5")
    # 2.0 ± 0.1 is below 3.0 ± 0.1, which is not told from 3.1 ± 0.1; what did not converge settles nothing
    assert order.settled == (True, False, False, False)
    assert "0.4: 1 ± 5 (static), not converged" in str(order)
    with pytest.raises(ValueError, match="students"):
        rank(STEP, {"one": RELU})


def test_weights_that_the_ridge_takes_to_zero_are_refused_on_both_sides():
    # no sample reaches the slope of this unit, so a step of 1/ridge leaves nothing
    far = activation(lambda z: np.maximum(z, 2), derivative=lambda z: (z > 2) * 1.0, kinks=[2.0])
    fields = {"activation": far, "init_scale": 0.01, "ridge": 2.0, "step_size": 0.5, "dimension": 6}
    problem = Problem(**fields, steps=2, spectrum=False)
    for side in (problem.simulate, lambda rng: problem.predict(rng, draws=64)):
        with pytest.raises(ValueError, match=r"ridge = 2.0: .* zero at step 1"):
            side(0)
    learning = LearningProblem(**fields, steps=4, theory_steps=3)
    with pytest.raises(ValueError, match=r"ridge = 2.0: .* zero at step 1"):
        learning.predict(0, draws=64)


def test_a_network_that_no_sample_reaches_has_the_curvature_of_its_ridge():
    problem = Problem(step_size=1e5, ridge=1e-9, dimension=4, samples_per_dimension=2.0, steps=5)
    predicted, measured = problem.predict(100218, draws=336), problem.simulate(0)
    for name in ("smallest_eigenvalue", "largest_eigenvalue"):
        # a tanh² that is saturated has no curvature to rounding
        np.testing.assert_allclose(predicted[name][1:], 1e-9, atol=1e-15)
        np.testing.assert_allclose(measured[name][1:], 1e-9, atol=1e-15)


@pytest.mark.parametrize("init_scale", [0.05, 0.8, 100.0])
@pytest.mark.parametrize("fields", [{}, {"batches": "one_pass"}, {"batch": 0.5}])
def test_forces_and_curvatures_of_any_size_end_in_numbers_or_flags(fields, init_scale):
    # saturated units: forces that are zero, and curvatures whose squares are not numbers
    for step_size in (1e2, 1e3, 1e5):
        problem = Problem(**fields, init_scale=init_scale, step_size=step_size, dimension=10, steps=2)
        predicted = problem.predict(3, draws=160)
        known = np.isfinite(predicted.smallest_eigenvalue)
        assert bool((known | ~predicted.converged).all())


@pytest.mark.parametrize("batch", [1.0, 0.5])
def test_forces_that_vanish_for_some_steps_do_not_break_those_that_follow(batch):
    # the second layer is trained, so that forces of the first come and go; ridge and bias empty the network
    fields = {"ridge": 100.0, "second_layer_step": 5.0, "bias_step": 5.0, "momentum": 0.5, "batch": batch}
    for seed in range(4):
        problem = LearningProblem(
            **fields, second_layer=1.0, width=2, init_scale=5.0, offset=10.0, step_size=0.25, dimension=28,
            samples_per_dimension=2.0, steps=11, theory_steps=8, schedule="inverse_sqrt", batches="one_pass",
        )  # fmt: skip
        try:
            assert 0 <= float(problem.predict(seed, draws=83).success) <= 1
        except ValueError as error:
            assert "step_size" in str(error)  # noqa: PT017 - either is an answer


def test_alike_neurons_of_one_pass_share_all_their_noise():
    """Two linear neurons with the same weight: the second's noise is the first's, up to rounding."""
    pair = Student("linear", (-0.5, -0.5), 5.0, offset=-0.5)
    path = dmft("z1**2", pair, 2.0, Training(0.5, batch=1.0, batches="one_pass"), 6, 64)
    assert np.isfinite(path.norm).all()


@pytest.mark.parametrize("seed", range(40))
def test_the_noise_of_any_forces_has_their_covariance(seed):
    """Forces that depend on each other, are the same, nothing, or of any size, and one or two directions."""
    rng = np.random.default_rng(seed)
    count, h, draws = rng.integers(2, 9), rng.integers(1, 3), 40
    mixed = rng.normal(size=(count, rng.integers(1, count + 1))) * 10.0 ** rng.integers(-80, 80, (count, 1))
    mixed[-1] = mixed[0]
    mixed[rng.integers(count)] *= rng.integers(2)
    forces, half = mixed @ rng.normal(size=(mixed.shape[1], draws)), rng.normal(size=(draws, h, h))
    products = np.einsum("in,jn,nab,ncb->iajc", forces, forces, half, half)
    noise = object.__new__(HardOverlaps)
    noise.h, noise.root = h, np.zeros((count * h, count * h))
    for new in range(count):
        noise._grow(new, products[new, :, : new + 1].transpose(0, 2, 1), 1e-12)
    exact = products.reshape(count * h, -1)
    size = np.sqrt(np.diag(exact))[:, None]
    assert (np.abs(noise.root @ noise.root.T - exact) <= 1e-11 * size * size.T).all()  # ten times its share


def test_forces_that_share_nothing_with_the_past_divide_by_nothing():
    far = LearningProblem(
        noise=0.1, activation="quadratic", init_scale=100.0, ridge=100.0, offset=-0.5, step_size=5e-5,
        momentum=0.95, batches="one_pass", offset_step=0.1, samples_per_dimension=2.0, dimension=5, steps=6,
        theory_steps=2,
    )  # fmt: skip
    assert "converged" in far.predict(320796, draws=75)


@pytest.mark.parametrize("name", ["tanh", "tanh_squared", "erf", "quadratic"])
@pytest.mark.parametrize("seed", range(3))
def test_an_activation_made_from_a_built_in_one_has_its_own_derivatives(name, seed):
    rng = np.random.default_rng(seed)
    (size, rate), given = rng.uniform(0.5, 3, 2), activation(name)
    other = replace(
        given, name="other", function=lambda z: size * given(rate * z),
        first=lambda z: size * rate * given.derivative(rate * z),
        second=lambda z: size * rate**2 * given.second_derivative(rate * z),
    )  # fmt: skip
    y, h = rng.normal(size=6), rng.normal(size=(6, 2))
    student = Student(other, second_layer=(1.0, -0.5))
    force, curvature = student.force_and_curvature(y, h)[:2]
    np.testing.assert_allclose(force, student.force(y, h), rtol=1e-12)
    step = 1e-3  # across some cells of the table that derivatives come from, which is good to 1e-4
    for j in range(2):
        ahead = step * np.eye(2)[j]
        slope = (student.force(y, h + ahead) - student.force(y, h - ahead)) / (2 * step)
        np.testing.assert_allclose(curvature[..., j], slope, atol=1e-3 * np.abs(curvature).max())
