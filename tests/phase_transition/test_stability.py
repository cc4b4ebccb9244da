"""Steps that overshoot: where they begin to, and that training beyond is followed and told."""

from dataclasses import replace

import numpy as np
import pytest

from firstlight.phase_transition import (
    LearningProblem,
    Problem,
    Student,
    Training,
    delta_nn,
    dmft,
    gradient_flow,
    onset,
)
from firstlight.phase_transition.theory.stability import stable_below
from firstlight.phase_transition.theory.static import static_threshold

STEP = "sign(abs(z1) - 1.4820733)"
FLAT = np.ones((4, 1, 1)), np.full(4, 0.25)  # the curvature of a linear student, and shares


def algorithms(batches, count, seed):
    """Random algorithms, and samples per dimension."""
    rng = np.random.default_rng(seed)
    for number in range(count):
        momentum = rng.uniform(0.2, 0.7) * (number % 3 > 0)
        batch = float(np.exp(rng.uniform(np.log(0.05), np.log(0.6))))
        yield (
            Training(0.1, momentum=momentum, nesterov=number % 3 == 2, batch=batch, batches=batches),
            rng.uniform(0.7, 5.0),
        )


def radius(eta, training, strength):
    """Spectral radius of the second moments of (e_t, e_{t-1}) under one pass, e the error of regression."""
    beta = training.momentum
    ahead = np.array([1 + beta, -beta]) if training.nesterov else np.array([1.0, 0.0])
    plain = np.array([1 + beta, -beta])
    mean = np.array([plain - eta * ahead, [1.0, 0.0]])
    kick = np.array([eta * ahead, [0.0, 0.0]])
    return np.abs(np.linalg.eigvals(np.kron(mean, mean) + strength * np.kron(kick, kick))).max()


def test_one_pass_of_a_linear_student_by_second_moments():
    for training, delta in algorithms("one_pass", 24, 0):
        limit = stable_below(*FLAT, delta, 0.0, training)
        strength = 1 / (training.batch * delta)  # mean square of a batch's own error
        assert radius(0.999 * limit, training, strength) < 1 < radius(1.001 * limit, training, strength)
        if not training.momentum:
            assert limit == pytest.approx(2 / (1 + strength))
        for factor in (0.3, 1.7, 20.0):  # only the product of batch and samples matters
            other = replace(training, batch=min(1.0, training.batch / factor))
            again = stable_below(*FLAT, delta * training.batch / other.batch, 0.0, other)
            assert again == pytest.approx(limit)


def growth(delta, training, rng, d=150, steps=150):
    """Rate at which the squared residuals of a real linear regression without noise grow."""
    n = round(delta * d)
    X, e, v, logs = rng.standard_normal((n, d)), rng.standard_normal(d), np.zeros(d), []
    size = round(training.batch * n)
    for _ in range(steps):
        at = e + training.momentum * v * training.nesterov
        x = rng.standard_normal((size, d)) if training.one_pass else X[rng.choice(n, size, replace=False)]
        v = training.momentum * v - training.step_size * x.T @ (x @ at) / size
        e = e + v
        logs.append(np.log((e @ e) if training.one_pass else ((X @ e) ** 2).sum()))
    return np.polyfit(np.arange(steps // 3, steps), logs[steps // 3 :], 1)[0]


@pytest.mark.parametrize("batches", ["fresh", "one_pass"])
def test_real_regressions_grow_beyond_the_limit_only(batches):
    rng = np.random.default_rng(1)
    for training, delta in algorithms(batches, 6, 2):
        limit = stable_below(*FLAT, delta, 0.0, training)
        rates = [
            np.mean([growth(delta, replace(training, step_size=share * limit), rng) for _ in range(2)])
            for share in (0.85, 1.15)  # d = 150 moves the limit by some per cent
        ]
        assert rates[0] < 0 < rates[1]


def linear(delta, batch, eta, steps=16):
    student, training = Student("linear", 1.0, 0.5), Training(eta, batch=batch, batches="one_pass")
    return dmft("z1", student, delta, training, steps, 1 << 10, hold_hard=False, start_overlap=0.1)


def test_one_pass_is_told_by_the_product_of_batch_and_samples():
    rng = np.random.default_rng(3)
    for share in rng.uniform(0.5, 2.0, 4):
        for part in (0.9, 1.1):
            eta = part * 2 / (1 + 1 / share)
            paths = [linear(share / batch, batch, eta) for batch in (1.0, 0.1, 0.01)]
            assert {path.overshoots for path in paths} == {part > 1}
            for path in paths[1:]:
                np.testing.assert_allclose(path.norm, paths[0].norm, rtol=1e-9)
    with pytest.raises(ValueError, match="gradient descent diverges at step 12"):
        linear(100.0, 0.001, 1.0, 30)


def test_one_pass_of_relu_diverges_beyond_the_limit_only():
    # when its row is long, labels no longer count, and q ← q ((1 - ηa²/2)² + η²a⁴/(2bδ))
    rng = np.random.default_rng(4)
    for a, share in zip(rng.uniform(0.5, 2, 4), rng.uniform(0.3, 1.5, 4), strict=True):
        student = Student("relu", a, 0.5)
        limit = 2 / (a**2 * (0.5 + 1 / share))
        for part in (0.85, 1.15):
            training = Training(part * limit, batch=0.2, batches="one_pass")
            path = dmft(STEP, student, 5 * share, training, 40, 1 << 10, scrambles=2)
            assert path.stable_below == pytest.approx(limit, rel=0.05)  # of 1024 samples
            assert path.overshoots == (part > 1)
            assert (path.norm[40, 0] > 2 * path.norm[20, 0]) == (part > 1)


def test_small_changes_that_noise_makes_grow_are_no_overshoot():
    base = Student("tanh_squared", 1.0, 0.8)
    found = delta_nn(STEP, base, Training(0.25, batch=0.25, batches="one_pass"), 8, draws=1 << 10)
    assert np.isfinite(found.curve[-2:]).all()


@pytest.mark.parametrize("step_size", [1.1, 1.4, 1.6])
def test_relu_beyond_a_stable_start_trains_as_theory_says(step_size):
    fields = {"activation": "relu", "target": "tanh(z1)", "hold_hard": False, "spectrum": False}
    problem = Problem(**fields, step_size=step_size, steps=8, dimension=60)
    [said] = [one for one in problem.assumptions() if "overshoot" in one.name]
    assert said.verdict == ("fails" if step_size > 1.2 else "holds")
    theory = problem.predict(draws=1 << 12)
    runs = np.array([problem.simulate(rng=seed).test_loss[-1] for seed in range(60)])
    error = np.hypot(np.std(runs) / 60**0.5, float(theory.test_loss_sem[-1]))
    # four standard errors, and 0.004 of the size: it was 0.0026, 0.0026, 0.0016 in 120 runs at d = 50
    assert abs(runs.mean() - float(theory.test_loss[-1])) < 4 * error + 0.004


def test_what_overshoots_is_said():
    # with all samples: 2 (1 + β) over the right edge of the Hessian, or over 1 + 2β with Nesterov's rule
    base = Student("tanh_squared", 1.0, 0.8)
    limits = [
        dmft(STEP, base, 3.0, training, 1, 1 << 10).stable_below
        for training in (Training(9.0), Training(9.0, momentum=0.5), Training(9.0, 0.5, nesterov=True))
    ]
    np.testing.assert_allclose(np.divide(limits, limits[0]), [1, 1.5, 0.75], rtol=1e-9)
    assert limits[0] == pytest.approx(0.754, rel=0.02)  # of 2048 other samples
    half = dmft(STEP, base, 3.0, Training(9.0, schedule=(0.5,)), 1, 1 << 10).stable_below
    assert half == pytest.approx(2 * limits[0])
    cyclic = LearningProblem(batch=0.5, batches="cyclic").assumptions()
    assert {one.name: one.verdict for one in cyclic}["first steps do not overshoot"] == "not checkable"
    with pytest.raises(ValueError, match=r"steps = 4: must be at least 26\d for until = 200"):
        gradient_flow(STEP, base, 3.0, 200.0, 4, 1 << 10)
    for method in ("pilot", "theory"):
        result = onset(STEP, base, 30.0, 100, 20, method=method, pilot_dimension=50, trials=8)
        assert "step_size = 30 is unstable at the start" in result.refused
        assert "plateau" not in result.refused


@pytest.mark.parametrize("scale", [0.1, 1.0, 7.0])
def test_an_activation_without_gradients_is_refused(scale):
    with pytest.raises(ValueError, match="activation = step: its derivative is zero almost everywhere"):
        Student("step", 1.0, scale)


@pytest.mark.parametrize("noise", [0.1, 0.5])
def test_noise_names_what_can_still_be_done(noise):
    small = {"noise": noise, "dimension": 50, "steps": 2}
    with pytest.raises(ValueError, match=r"unbounded below.*Problem\(spectrum=False\)"):
        Problem(**small).predict(draws=1 << 9)
    assert np.isfinite(Problem(**small, spectrum=False).predict(draws=1 << 9).test_loss).all()


@pytest.fixture
def one_static_search(monkeypatch):
    """Share the static equations, which know of no steps, between searches that differ in these alone."""
    known = {}

    def once(student, labels, floor, draws, seeds):
        key = student, labels.name, floor, draws, *seeds
        if key not in known:
            known[key] = static_threshold(student, labels, floor, draws, seeds)
        return known[key]

    monkeypatch.setattr("firstlight.phase_transition.theory.delta_nn.static_threshold", once)


def test_a_step_and_a_schedule_of_the_same_product_have_one_fate(one_static_search):
    base, factors = Student("tanh_squared", 1.0, 0.8), (1.0, 0.5, 4.0)
    limits = []
    for factor in factors:
        training = Training(0.25 / factor, schedule=(factor,) * 16)
        limits.append(dmft(STEP, base, 3.0, training, 1, 1 << 10).stable_below * factor)
        found = delta_nn(STEP, base, training, 16, draws=1 << 10)
        limits.append(found.curve[-1])
    np.testing.assert_allclose(limits[::2], limits[0], rtol=1e-12)
    np.testing.assert_allclose(limits[1::2], limits[1], rtol=1e-9)
    with pytest.raises(ValueError, match="unstable at the start"):
        delta_nn(STEP, base, Training(0.25, schedule=(20.0,) * 16), 16, draws=1 << 10)
    for ends in ("linear", "cosine"):
        with pytest.raises(ValueError, match=f"schedule = '{ends}': must go on"):
            delta_nn(STEP, base, Training(0.25, schedule=ends), 16, draws=1 << 10)


def test_a_warm_up_and_other_trained_parameters_are_not_called_stable():
    line = {"target": "z1", "activation": "linear", "samples_per_dimension": 4.0, "spectrum": False}

    def verdict(**fields):
        told = Problem(**line, dimension=100, steps=20, **fields).assumptions()
        return {one.name: one.verdict for one in told}["first steps do not overshoot"]

    assert verdict(step_size=0.5) == "holds"
    assert verdict(step_size=50.0, schedule=(0.001,) + (1.0,) * 20) == "fails"
    assert verdict(step_size=0.1, second_layer_step=50.0) == "not checkable"
