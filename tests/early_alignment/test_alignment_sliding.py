"""Data that are not separable: neurons slide along walls; against small Euler steps and a second solver."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import lsq_linear

from firstlight.early_alignment.theory.align import align
from firstlight.early_alignment.theory.kernel.shares import _shares


def euler(X, y, W, v, t, step):
    w, v = W.copy(), v.copy()
    for _ in range(round(t / step)):
        c = ((w @ X.T > 0) * y) @ X
        w, v = w + step * v[:, None] * c, v + step * (w * c).sum(axis=1)
    lengths = np.linalg.norm(w, axis=1, keepdims=True)
    return w / lengths, np.log(lengths[:, 0])


def random_problem(seed, n=10, d=3, h=20):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(n, d)), rng.choice([-1, 1], n)
    W = rng.normal(size=(h, d))
    return X, y, W / np.linalg.norm(W, axis=1, keepdims=True), rng


@pytest.mark.parametrize("balanced", [True, False])
def test_sliding_against_small_steps(balanced):
    X, y, W, rng = random_problem(3)
    v = rng.choice([-1.0, 1.0], len(W)) if balanced else 0.7 * rng.normal(size=len(W))
    path = align(X, y, W, v) if balanced else align(X, y, W, second_layer=v)
    slides = (path.events["level"] > 0) & (path.events["level"] < 1)
    assert len(np.unique(path.events["neuron"][slides])) > len(W) / 3
    t = 0.5
    u, growth, _ = path.state(t)
    errors = []
    for step in (2e-3, 2e-4, 2e-5):
        rows, log_norms = euler(X, y, W, v, t, step)
        errors.append(max(np.abs(rows - u).max(), np.abs(log_norms - growth).max()))
    assert errors[2] < 1e-3
    # First order: a factor of 10 per decade, and more scatter where steps chatter across walls.
    assert 4 < errors[0] / errors[1] < 25
    assert 4 < errors[1] / errors[2] < 25


def test_on_a_wall_by_hand():
    """Two data, e1 negative and (0.3, 1) positive: from (1, 1) a positive neuron comes to slide on e1."""
    X, y = np.array([[1.0, 0.0], [0.3, 1.0]]), [-1, 1]
    path = align(X, y, [[1.0, 1.0]], [1])
    # c = (-0.7, 1): e1's wall is met at sigma = 1/0.7 (w of length sqrt 2); off it, c = (0.3, 1) drives back.
    events = path.events
    assert events["datum"].tolist() == [0]
    assert events["level"][0] == pytest.approx(0.3)  # the share that makes c point along the wall
    assert path.fate.tolist() == [2]
    later = path.direction(1e3)[0]
    assert later == pytest.approx([0, 1], abs=1e-12)


def test_sliding_directions_stay_on_their_walls():
    X, y, W, rng = random_problem(5)
    path = align(X, y, W, rng.choice([-1, 1], len(W)))
    held = {}
    for event in path.events:
        key = (event["neuron"], event["datum"])
        held[key] = 0 < event["level"] < 1
    u = path.direction(2 * path.last_event)
    on_wall = [(j, i) for (j, i), slides in held.items() if slides]
    assert on_wall
    assert max(abs(u[j] @ X[i]) for j, i in on_wall) < 1e-11


@settings(max_examples=40, deadline=None, derandomize=True)
@given(st.integers(2, 6), st.integers(0, 10**6))
def test_shares_against_bounded_least_squares(size, seed):
    """min ‖c - Σ δᵢ xᵢ‖ with share + δ in the unit box, by SciPy."""
    rng = np.random.default_rng(seed)
    points, c, share = rng.normal(size=(size, 7)), rng.normal(size=7), rng.integers(0, 2, size).astype(float)
    expected = lsq_linear(points.T, c + share @ points, (0, 1), method="bvls", tol=1e-14).x
    _shares(points @ points.T, points @ c, share)  # by the interpreter: the same text that is compiled
    assert share == pytest.approx(expected, abs=1e-9)


def test_contradictory_labels_still_run():
    X = np.array([[1.0, 0.2], [1.0, 0.2], [0.1, 1.0]])
    path = align(X, [1, -1, 1], [[1.0, 1.0], [-1.0, 0.5], [1.0, -1.0]], [1, -1, 1])
    assert path.complete.all()
    # The two copies cancel, and where nothing else is active the neuron stands still.
    u = path.direction(10.0)
    assert np.isfinite(u).all()
    assert u[2] == pytest.approx([np.sqrt(0.5), -np.sqrt(0.5)], abs=1e-12)


def test_orthogonal_data_stop_where_they_are():
    """mu = 0: no datum is ever gained or lost."""
    path = align(np.eye(3), [1, 1, 1], [[1, -1, -1], [1, 1, -1], [1, 1, 1]], [1, 1, 1])
    assert len(path.events) == 0
    assert path.fate.tolist() == [2, 2, 1]


@pytest.mark.parametrize("seed", range(4))
def test_random_labels_in_higher_dimension_are_walked_to_the_end(seed):
    rng = np.random.default_rng(seed)
    X, y, W = rng.normal(size=(60, 8)), rng.choice([-1, 1], 60), rng.normal(size=(30, 8))
    path = align(X, y, W, second_layer=rng.normal(size=30))
    assert path.complete.all()
    assert np.isfinite(path.direction(2 * path.last_event)).all()
