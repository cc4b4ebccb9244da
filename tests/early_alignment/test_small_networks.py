"""Networks of a few neurons from starts of any scale: the early path serves only while outputs do nothing."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from firstlight.data.separable import separable, toy
from firstlight.early_alignment import Problem, align, flow
from firstlight.maths.losses import MARGIN_LOSSES


def plain_loss(X, y, W, s, times, loss):
    """Gradient flow of the weights themselves, by a method that knows nothing."""
    chosen, (h, d) = MARGIN_LOSSES[loss], W.shape

    def rhs(_, state):
        w, v = state[: h * d].reshape(h, d), state[h * d :]
        hidden = np.maximum(w @ X.T, 0)
        pull = -chosen.first(y, v @ hidden)
        return np.concatenate([(v[:, None] * (hidden > 0) * pull @ X).ravel(), hidden @ pull])

    first = np.concatenate([W.ravel(), s * np.linalg.norm(W, axis=1)])
    run = solve_ivp(rhs, (0, times[-1]), first, t_eval=times, rtol=1e-9, atol=1e-12)
    return [
        chosen.value(y, state[h * d :] @ np.maximum(state[: h * d].reshape(h, d) @ X.T, 0)).sum()
        for state in run.y.T
    ]


def test_a_neuron_that_shrinks_before_it_fits():
    """Large at first, small at its last event: there is no time at which one may say that f was small."""
    angles = np.radians([170, 30])
    W = np.column_stack([np.cos(angles), np.sin(angles)]) * [[1], [1e-6]]
    X, s = np.array([[1, 0], [-0.6, 0.8]]), np.array([-1.0, 1.0])
    run = flow(X, [1, 1], W, s, 0.5, observations=[0.05])
    [loss] = plain_loss(X, np.ones(2), np.exp(0.5) * W, s, [0.05], "exp")
    assert loss == pytest.approx(4.313, abs=1e-3)
    assert float(run.loss[0]) == pytest.approx(loss, rel=1e-6)


@pytest.mark.parametrize("seed", range(8))
def test_flow_of_few_neurons_is_the_plain_flow(seed):
    rng = np.random.default_rng(seed)
    for trial in range(5):
        X, y = toy() if trial < 3 else separable(int(rng.integers(2, 7)), 2 + trial % 2, 0.1, rng)
        h = 1 if trial < 2 else int(rng.integers(1, 6))
        W, s = rng.normal(size=(h, X.shape[1])), rng.choice([-1.0, 1.0], h)
        W *= 10 ** rng.uniform(-3, 0, size=(h, 1)) / np.linalg.norm(W, axis=1, keepdims=True)
        scale = 0.3 / np.abs(W).max() if trial < 2 else 10 ** rng.uniform(-2.5, 0.3)
        loss = str(rng.choice(list(MARGIN_LOSSES)))
        times = np.array([0.3, 1.0, 2.0]) * 6 / np.linalg.norm(X, axis=1).sum()
        run = flow(X, y, W, s, np.log(scale), loss, until=100 * times[-1], observations=times)
        # 1e-6 is the switch; kinks cost both integrators up to 1e-6
        np.testing.assert_allclose(run.loss, plain_loss(X, y, scale * W, s, times, loss), rtol=1e-5)


def test_contradictory_labels_move_a_neuron_that_the_path_leaves_alone():
    """Labels ± on one point: the path stands still, the flow shrinks as w' = -2 w³: however small."""
    run = flow([[1.0], [1.0]], [1, -1], [[1.0]], [1], np.log(1e-3), until=1e7, observations=[1e4, 1e7])
    exact = 1 / (1e6 + 4 * np.array([1e4, 1e7]))  # w²; e^f - e^-f is 2 f to 1e-12
    np.testing.assert_allclose(np.exp(run.log_norm), exact, rtol=1e-5)


@pytest.mark.parametrize("seed", range(6))
def test_exact_curves_are_the_flow_while_they_are_told(seed):
    rng = np.random.default_rng(seed)
    fields = {"data": "toy", "width": int(rng.integers(1, 4)), "log_scale": float(rng.uniform(-5, 0.5))}
    problem = Problem(**fields, horizon=0.5, observations=26)
    exact, result = problem.predict(seed), problem.simulate(seed, tolerance=1e-9)
    known = exact.loss.notnull()
    # directions and lengths to 1 %: outputs to 2 %, and log losses are outputs of at most 1/50
    assert float(np.abs(exact.log_loss - result.log_loss).where(known).max()) < 1e-2
    assert bool(known[0])


def test_bound_on_the_effect_of_outputs_grows_with_time():
    """Its reason: log Σ (‖w‖² + v²) is convex along every path, balanced or not, with any data."""
    rng = np.random.default_rng(0)
    for _ in range(20):
        X, y, W = rng.normal(size=(6, 3)), rng.choice([-1, 1], 6), rng.normal(size=(3, 3))
        path = align(X, y, W, second_layer=rng.normal(size=3))
        times = np.linspace(0, max(2 * path.last_event, 1.0), 200)
        start = np.log(np.linalg.norm(W, axis=1))
        _, growth, ratio = path.state(times)
        alive = np.isfinite(growth).all(axis=0)  # one may shrink to nothing
        squares = 2 * (start + growth)[:, alive] + np.log1p(ratio[:, alive] ** 2)
        assert np.diff(squares, 2, axis=0).min() > -1e-9  # rounding
        assert np.diff([path.log_effect(t, start) for t in times[1:]]).min() > -1e-9


@pytest.mark.parametrize("form", ["sharp", "path", "paper", "rate"])
def test_bounds_are_told_only_where_they_hold(form):
    rng, told = np.random.default_rng(1), 0
    name = "loss" if form == "rate" else "alignment_time"
    for seed in range(8):
        fields = {"samples": int(rng.integers(2, 8)), "dimension": 3, "mu": float(rng.uniform(0.05, 0.5))}
        fields |= {"width": int(rng.integers(1, 6)), "log_scale": float(rng.uniform(-12, 0))}
        problem = Problem(**fields, horizon=1e3, observations=20, log_times=True)
        bound, result = problem.predict(seed, method=form), problem.simulate(seed)
        assert bool(bound.converged) == (not bound.attrs["note"]) == bool(bound[name].notnull().all())
        if bound.converged:
            told += 1
            assert not bool((result[name] > bound[name] * (1 + 1e-6)).any())
    assert 2 <= told <= 6
    loud = Problem(log_scale=0.0).predict(method=form)
    assert not bool(loud.converged)
    assert "the theorem needs at most" in loud.attrs["note"]
    unbalanced = Problem(start="gaussian", log_scale=-1e7).predict(method=form)
    assert not bool(unbalanced.converged)
    assert "balanced" in unbalanced.attrs["note"]
    assert bool(unbalanced[name].isnull().all())


@pytest.mark.parametrize("loss", MARGIN_LOSSES)
def test_fitting_time_is_bounded_closely(loss):
    """t₂ of the flow, which the limit path puts too early: fitting slows growth down."""
    from firstlight.early_alignment.theory.fitting import fitting_bound

    for seed in range(3):
        X, y = separable(8, 3, 0.2, seed)
        rng = np.random.default_rng(seed)
        W, s = rng.normal(size=(10, 3)), np.repeat([-1.0, 1.0], 5)
        W /= np.linalg.norm(W, axis=1, keepdims=True)
        bound = fitting_bound(align(X, y, W, s, loss=loss), np.full(10, -12.0), loss, 1e3)
        t2 = flow(X, y, W, s, -12.0, loss, until=100.0, observations=2).t2
        assert t2 < bound < 1.01 * t2  # it gives away 0.01 in log f, and less where slopes have fallen
