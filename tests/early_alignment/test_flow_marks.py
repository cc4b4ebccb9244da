"""The marks t1 and t2 of the flow, and the ends of its range, each against another route."""

import numpy as np
import pytest
from scipy.integrate import quad, solve_ivp

from firstlight import early_alignment as ea
from firstlight.data.separable import separable, toy
from firstlight.early_alignment.experiment import flow as flow_module


def cartesian(X, y, W, s, log_scale, until, **options):
    """W' = -dL/dW and v' = -dL/dv for the exponential loss, as they stand, in plain time."""
    X, y, W = np.asarray(X, dtype=float), np.asarray(y, dtype=float), np.exp(log_scale) * np.asarray(W, float)
    h, d = W.shape

    def parts(state):
        rows, v = state[: h * d].reshape(h, d), state[h * d :]
        hidden = np.maximum(X @ rows.T, 0)
        return v, hidden, hidden @ v

    def rhs(_, state):
        v, hidden, f = parts(state)
        pull = y * np.exp(-y * f)
        return np.concatenate([(((hidden > 0) * pull[:, None]).T @ X * v[:, None]).ravel(), pull @ hidden])

    first = np.concatenate([W.ravel(), s * np.linalg.norm(W, axis=1)])
    solution = solve_ivp(rhs, (0, until), first, "DOP853", rtol=1e-10, atol=1e-13, **options)
    return solution, parts


def test_t2_of_classes_that_rise_one_after_the_other():
    X, y = np.array([[3, 0], [3, 1], [-0.02, -0.005], [-0.02, 0.004]]), np.array([1, 1, -1, -1])
    rng = np.random.default_rng(0)
    W, s = rng.normal(size=(8, 2)), rng.choice([-1, 1], 8)
    marks = {ea.flow(X, y, W, s, -4.0, until=1e6, observations=count).t2 for count in (2, 4, 64)}
    assert len(marks) == 1  # not only close: outputs have no influence on the steps
    times = np.linspace(100, 115, 3001)
    slow, parts = cartesian(X, y, W, s, -4.0, 115, t_eval=times)
    late = np.array([np.abs(parts(state)[2][y < 0]).max() for state in slow.y.T])
    # f grows slowly between the times, so that a line between them does; the switch is at 1e-6.
    assert marks.pop() == pytest.approx(np.interp(0.25, late, times), rel=1e-5)


def test_t2_of_data_that_are_not_separable():
    """One neuron, one point with labels +, +, -: f' = 2f (2e^-f - e^f), so that t2 is an integral."""
    expected = quad(lambda f: 1 / (2 * f * (2 * np.exp(-f) - np.exp(f))), np.exp(-10), 0.25, limit=200)[0]
    for outputs in (4, [0.0, 1.0]):
        run = ea.flow([[1]] * 3, [1, 1, -1], [[1]], [1], -5.0, until=1e3, observations=outputs)
        assert run.t2 == pytest.approx(expected, rel=1e-5)  # the switch is at 1e-6


def test_t1_long_after_the_switch():
    rng = np.random.default_rng(0)
    X, y = separable(8, 3, 0.3, rng=rng, norms=(0.3, 2))
    W, s = rng.normal(size=(6, 3)), rng.choice([-1, 1], 6)
    marks = {ea.flow(X, y, W, s, -3.0, until=1e6, observations=count).t1 for count in (2, 16, 128)}
    assert len(marks) == 1
    times = np.linspace(0, 60, 6001)
    slow, parts = cartesian(X, y, W, s, -3.0, 60, t_eval=times)
    active = np.array([parts(state)[1] > 0 for state in slow.y.T])
    last = np.flatnonzero((active[1:] != active[:-1]).any(axis=(1, 2)))[-1]
    t1 = marks.pop()
    assert times[last] - 1e-3 < t1 < times[last + 1] + 1e-3  # kinks cost both some digits of 1e-9
    before = ea.flow(X, y, W, s, -3.0, until=float(times[last]), observations=4)
    assert before.t1 == np.inf  # one is still on its way at until


@pytest.mark.parametrize("seed", range(2))
def test_kinks_cost_a_few_steps_each(seed):
    """Every flip after the switch is a kink; a method that does not stop there takes hundreds of steps."""
    rng = np.random.default_rng(seed)
    X, y = separable(6, 3, 0.2, rng=rng, norms=(0.5, 2))
    W, s = rng.normal(size=(4, 3)), rng.choice([-1, 1], 4)
    run = ea.flow(X, y, W, s, np.log(1e-3), until=9.0, observations=[0.0, 9.0])
    slow, parts = cartesian(X, y, W, s, np.log(1e-3), 9.0)
    f = parts(slow.y[:, -1])[2]
    assert float(run.loss[-1]) == pytest.approx(
        np.exp(-y * f).sum(), rel=1e-6
    )  # kinks cost the slow one digits
    flips = len(ea.align(X, y, W, s).events)
    assert (
        run.evaluations < 40 * flips + 1000
    )  # a step, its dense output, and half a step that is thrown away
    assert bool(run.converged)


def test_a_neuron_in_the_other_class_s_region_has_not_arrived():
    X, y = np.array([[1, 0], [-1, 0.1]]), [1, -1]
    start = np.array([-1, 0.5])  # active on exactly the negative datum, with a positive sign
    assert (X @ start > 0).tolist() == [False, True]
    early, late = (ea.flow(X, y, [start], [1], -20.0, until=until).t1 for until in (0.1, 10.0))
    assert early == np.inf
    # Against a plain walk in small steps.
    u, step, flips = start / np.linalg.norm(start), 1e-4, []
    for k in range(20_000):
        active = X @ u > 0
        u = u + step * (active * y) @ X
        u = u / np.linalg.norm(u)
        flips += [(k + 1) * step] if ((X @ u > 0) != active).any() else []
    assert late == pytest.approx(flips[-1], abs=1e-3)  # Euler's error, of the order of the step
    # On the ray of the other class's centre it stays there for ever.
    assert ea.flow(X, y, [[-1, 0.1]], [1], -20.0, until=10.0).t1 == np.inf


def test_two_outputs_are_the_ends():
    run = ea.flow([[1, 0], [1, 1]], [1, 1], [[1, 2]], [1], -20.0, until=1e6, observations=2)
    assert run.time.values.tolist() == [0, 1e6]


@pytest.mark.parametrize("log_scale", [301.0, 400.0, 1e5])
def test_a_start_that_overflows_is_refused(log_scale):
    with pytest.raises(ValueError, match=rf"log_scale = {log_scale}: must be at most 299\.65"):
        ea.flow([[1, 0], [1, 1]], [1, 1], [[1, 1]], [1], log_scale)
    with pytest.raises(ValueError, match=f"log_scale = {log_scale}: must be at most"):
        ea.Problem(data="toy", log_scale=log_scale).simulate(0)


def test_a_start_that_is_exponentially_wrong_is_refused():
    """yf = -e^{2 log_scale}: the slope of the exponential loss is e^300 at log_scale = log(300)/2 = 2.852."""
    assert bool(ea.flow([[1]], [1], [[1]], [-1], 2.8, until=1.0, observations=2).converged)
    with pytest.raises(ValueError, match=r"must be at most 2\.85189"):
        ea.flow([[1]], [1], [[1]], [-1], 2.9)
    assert bool(ea.flow([[1]], [1], [[1]], [-1], 200.0, "logistic", until=1.0, observations=2).converged)


@pytest.mark.parametrize("wanted", ["both", "one class", "all dead"])
def test_width_free_form_counts_the_dead(wanted):
    X, y = toy()
    if wanted != "both":
        X, y = X[y > 0], y[y > 0]
    rng = np.random.default_rng(4)
    W, s = rng.normal(size=(40, 2)), rng.choice([-1, 1], 40)
    if wanted == "all dead":
        W = -X[:5] - X.sum(axis=0)
        s = np.ones(5)
    runs = [
        ea.flow(X, y, W, s, -30.0, until=1e4, observations=6, method=form) for form in ("neurons", "classes")
    ]
    assert float(runs[0].dead[-1]) > 0
    for name in ("log_norm", "stable_rank", "log_loss"):
        # both integrate at tolerance 1e-9; the small singular values differ by their squares
        assert np.allclose(runs[0][name], runs[1][name], rtol=1e-6, atol=1e-6)


def test_the_last_flip_is_the_same_whether_kinks_are_met_or_walked_over(monkeypatch):
    # At a tolerance of 1e-9, with a margin for what a kink costs the explicit method.
    X, y = separable(10, 3, 0.2, 0)
    W, s = np.eye(3)[[0, 1, 2, 0, 1, 2]] * np.repeat([1.0, -1.0], 3)[:, None], np.array([1.0, -1.0] * 3)
    setting = X, y, W, np.full(6, -8.0), s, [100.0]
    met = flow_module.integrate(*setting).last_flip
    monkeypatch.setattr(flow_module, "_MANY", 0)
    assert 0 < met < 10
    assert flow_module.integrate(*setting).last_flip == pytest.approx(met, abs=1e-6)
