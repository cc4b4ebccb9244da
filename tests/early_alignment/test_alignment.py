"""Measures of where neurons lie, on cases that can be counted by hand."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from firstlight.early_alignment.definitions.alignment import cosines, regions, right_sign_fraction
from firstlight.early_alignment.definitions.trajectory import Observer, stable_rank
from firstlight.early_alignment.experiment.descent import descent
from firstlight.early_alignment.theory.align import align
from firstlight.early_alignment.trajectory import flow


def test_stable_rank():
    rng = np.random.default_rng(0)
    u, v = rng.normal(size=5), rng.normal(size=3)
    assert stable_rank(np.outer(u, v)) == pytest.approx(1)
    assert stable_rank(np.eye(4)) == pytest.approx(4)
    W = rng.normal(size=(6, 4))
    assert stable_rank(W) == pytest.approx(np.linalg.norm(W) ** 2 / np.linalg.norm(W, 2) ** 2)
    assert np.isnan(stable_rank(np.zeros((2, 2))))


def test_right_sign_fraction_against_a_loop(monkeypatch):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(23, 4)), rng.choice([-1, 1], 23)
    pairs = [y[i] * y[k] * (X[i] @ X[k]) > 0 for i in range(23) for k in range(23) if i != k]
    assert right_sign_fraction(X, y) == pytest.approx(np.mean(pairs))
    monkeypatch.setattr("firstlight.early_alignment.definitions.alignment._BLOCK", 5)
    assert right_sign_fraction(X, y) == pytest.approx(np.mean(pairs))
    with pytest.raises(ValueError, match="at least 2"):
        right_sign_fraction(X[:1], y[:1])


def test_regions_count_a_wall_as_inactive():
    X, y = np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([1, -1])
    rows = np.array([[1.0, 1e-15], [1e-15, 1.0], [-1.0, -1e-15], [1.0, 1.0], [1e-15, 1e-15]])
    assert regions(rows * 1e-30, X, y).tolist() == [1, -1, 0, 2, 2]


def test_cosines():
    assert cosines(np.array([[2.0, 0.0], [0.0, -3.0]]), np.array([1.0, 1.0])) == pytest.approx(
        [np.sqrt(0.5), -np.sqrt(0.5)]
    )
    assert np.isnan(cosines(np.eye(2), np.zeros(2))).all()


def test_a_step_that_leaps_over_walls_does_not_slide():
    # lengths of 1e-6 beside second weights of 1: one step turns by radians, so that no wall is slid on
    rng = np.random.default_rng(5)
    X, y = rng.standard_normal((12, 3)), rng.choice([-1.0, 1.0], 12)
    directions = rng.standard_normal((6, 3))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    ratios = 1e6 * rng.choice([-1.0, 1.0], 6)
    still, stepping = (
        Observer(X, y, np.negative, np.negative, mean=True, step_size=step)(
            directions, np.full(6, np.log(1e-9)), ratios
        )["direction_change"]
        for step in (0.0, 2e-3)
    )
    assert stepping == pytest.approx(still, rel=1e-9)  # the same sums


def test_the_rates_of_change_are_derivatives():
    """direction_change and norm_change against one small step of gradient descent."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(8, 3)), rng.choice([-1.0, 1.0], 8)
    W, v = rng.normal(size=(5, 3)), rng.normal(size=5)
    norms = np.linalg.norm(W, axis=1)
    see = Observer(X, y, np.negative, np.negative, mean=True)
    seen = see(W / norms[:, None], np.log(norms), v / norms)
    hidden = np.maximum(X @ W.T, 0)
    f = hidden @ v
    assert seen["loss"] == pytest.approx(np.exp(-y * f).mean())
    assert seen["margin_plus"] == pytest.approx((y * f)[y > 0].min())
    step = 1e-7
    W1 = W + step * ((hidden > 0) * (y * np.exp(-y * f) / 8)[:, None]).T @ X * v[:, None]
    turned = np.linalg.norm(W1 / np.linalg.norm(W1, axis=1)[:, None] - W / norms[:, None], axis=1).sum()
    assert seen["direction_change"] == pytest.approx(turned / step, rel=1e-5)  # first-order difference
    assert seen["norm_change"] == pytest.approx(((W1**2).sum() - (W**2).sum()) / step, rel=1e-5)
    assert seen["log_norm"] == pytest.approx(np.log((W**2).sum()))


def test_no_live_neurons_and_no_class_give_nan():
    see = Observer(
        np.array([[1.0, 0.0]]), np.ones(1), np.negative, np.negative, False, {"to_plus": np.ones(2)}
    )
    seen = see(np.array([[-1.0, 0.0]]), np.zeros(1), np.ones(1))
    assert np.isnan([seen["cosine_plus"], seen["margin_minus"], seen["to_plus"]]).all()
    assert seen["dead"] == 1


def interleaved(dimension, seed):
    """Draw labels that no direction separates, so that neurons slide on walls, and a start."""
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(10, dimension)), np.repeat([1.0, -1.0], 5)
    W, v = rng.normal(size=(12, dimension)), np.repeat([1.0, -1.0], 6)
    return X / np.linalg.norm(X, axis=1)[:, None], y, W / np.linalg.norm(W, axis=1)[:, None], v


def turning_of_small_starts(X, y, W, v, times, width=1e-5):
    """Integrate u' = v (c - ⟨u, c⟩ u) where data go off in a short ramp; return Σ‖u'‖ at the times."""

    def slope(t, state):
        u = state.reshape(W.shape)
        q = u @ X.T
        share = np.where(v[:, None] * y < 0, np.clip(0.5 + q / (2 * width), 0, 1), q > 0)
        c = v[:, None] * ((share * y) @ X) / len(y)
        return (c - (u * c).sum(axis=1)[:, None] * u).ravel()

    run = solve_ivp(slope, (0, times[-1]), W.ravel(), "LSODA", times, rtol=1e-8, atol=1e-10)
    return [np.linalg.norm(slope(0, one).reshape(W.shape), axis=1).sum() for one in run.y.T]


@pytest.mark.parametrize(("dimension", "seed"), [(2, 1), (3, 2), (4, 3)])
def test_a_neuron_that_slides_on_a_wall_turns_as_fast_as_it_moves(dimension, seed):
    """The gradient on either side of a wall is not the speed of one that rests or slides on it."""
    X, y, W, v = interleaved(dimension, seed)
    times = np.array([0.0, 1.5, 4.0, 9.0])
    expected = turning_of_small_starts(X, y, W, v, times)
    states = align(X, y, W, v, reduction="mean").state(times)
    see = Observer(X, y, np.negative, np.negative, mean=True)
    seen = [see(u, rho - 40.0, ratio)["direction_change"] for u, rho, ratio in zip(*states, strict=True)]
    # the ramp's width, over the time that a neuron takes to cross it
    assert seen == pytest.approx(expected, abs=2e-4)
    assert expected[-1] < 0.5 * seen[0]  # most have come to rest


def test_flow_and_descent_see_how_fast_a_sliding_neuron_moves():
    X, y, W, v = interleaved(2, 1)
    times = np.array([0.0, 1.5, 4.0, 9.0])
    expected = np.array(turning_of_small_starts(X, y, W, v, times))
    walked = flow(X, y, W, v, -40.0, until=9.0, observations=times, reduction="mean", switch_error=1e-18)
    stepped = descent(X, y, 1e-9 * W, 1e-9 * v, step_size=1e-3, observations=[0, 1500, 4000, 9000])
    assert walked.direction_change.values == pytest.approx(expected, abs=1e-3)  # walls are 1e-4 wide
    assert stepped.direction_change.values == pytest.approx(expected, abs=2e-2)  # a step is 1e-3 long
