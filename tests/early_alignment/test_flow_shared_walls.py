"""Flow of data that share a wall: their slopes differ, but on the wall they act with one share."""

import numpy as np
import pytest

from firstlight import early_alignment as ea
from firstlight.early_alignment.definitions.walls import common_walls
from firstlight.early_alignment.experiment.flow import integrate


def problem(seed, d):
    """Random data on few lines, on both sides of 0, or integers, with labels at random; four neurons."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(int(rng.integers(1, 4)), d))
    for x in rng.normal(size=(2, d)):
        X = np.vstack([X, rng.choice([-2, -1.5, -1, -0.5, 0.3, 1, 2, 3], (4, 1)) * x])
    if seed % 2:
        X = rng.integers(-1, 2, size=(12, d)).astype(float)
        X = X[X.any(axis=1)]
    W = rng.normal(size=(4, d))
    return X, rng.choice([-1.0, 1.0], len(X)), W, rng.choice([-1.0, 1.0], 4), float(rng.uniform(-3, -0.5))


@pytest.mark.parametrize("d", [2, 3, 4])
@pytest.mark.parametrize("seed", range(15, 31))
def test_descent_with_small_steps_comes_to_the_flow(seed, d):
    X, y, W, s, scale = problem(seed, d)
    run = ea.flow(X, y, W, s, scale, until=3.0, observations=[0.0, 1.0, 2.0, 3.0])
    assert bool(run.converged)
    first, errors = np.exp(scale) * W, []
    for step in (2e-3, 5e-4):
        slow = ea.descent(
            X, y, first, s * np.linalg.norm(first, axis=1), step_size=len(y) * step,
            observations=[round(t / step) for t in run.time.values],
        )  # fmt: skip
        errors.append(float(np.abs(slow.log_loss.values + np.log(len(y)) - run.log_loss.values).max()))
    # Euler's error is of first order; where a neuron chatters about its walls it falls, but not smoothly.
    assert errors[1] < max(0.6 * errors[0], 2e-4)


def test_more_walls_than_coordinates_are_left():
    """Three walls through one axis hold a neuron there: the shares that hold it are not unique."""
    X, y, W, s, scale = problem(3, 3)
    run = ea.flow(X, y, W, s, scale, until=3.0, observations=[0.0, 3.0])
    assert bool(run.converged)
    assert run.evaluations < 20_000


@pytest.mark.parametrize("d", [1, 2, 7])
@pytest.mark.parametrize("factor", [1e-300, 1.0, 1e300])
def test_walls_are_found_whatever_the_lengths(d, factor):
    rng = np.random.default_rng(d)
    lines, sizes = rng.integers(0, 5, 40), rng.choice([-3, -1, -0.1, 0.7, 1, 1e6], 40)
    X = factor * sizes[:, None] * rng.normal(size=(5, d))[lines]
    first, side = common_walls(X)
    lines = np.zeros(40, int) if d == 1 else lines
    expected = np.array([np.flatnonzero(lines == line)[0] for line in lines])
    assert first.tolist() == expected.tolist()
    assert side.tolist() == np.sign(((X / factor) * (X[expected] / factor)).sum(axis=1)).tolist()
    assert common_walls(rng.normal(size=(40, max(d, 2)))) is None


@pytest.mark.parametrize("many", [False, True])
def test_who_starts_on_the_wall_of_the_dead_region_stays_there(many, monkeypatch):
    """Whole numbers, so that only rounding decides on which side of its wall a unit row lies: neither."""
    if many:  # as where kinks are walked over
        monkeypatch.setattr("firstlight.early_alignment.experiment.flow._MANY", 0)
    beyond = 0
    for seed in range(60 if many else 120):
        rng = np.random.default_rng(seed)
        X = rng.integers(-3, 4, size=(4, int(rng.integers(2, 4)))).astype(float)
        X = X[X.any(axis=1)]
        W = rng.integers(-5, 6, size=(200, X.shape[1])).astype(float)
        q = W @ X.T
        W = W[W.any(axis=1) & (q <= 0).all(axis=1) & (q == 0).any(axis=1)][:5]
        if not len(W):
            continue
        y, s = rng.choice([-1.0, 1.0], len(X)), rng.choice([-1.0, 1.0], len(W) + 1)
        W = np.vstack([W, X[0]])  # one that lives
        u = W / np.linalg.norm(W, axis=1, keepdims=True)
        rounded = (u[:-1] @ X.T > 0).any()
        if many and not rounded:  # others take long
            continue
        beyond += rounded
        run = integrate(X, y, u, np.full(len(W), -3.0), s, [50 / np.linalg.norm(X, axis=1).sum()])
        assert (ea.align(X, y, W, s).fate[:-1] == 0).all()
        assert np.abs(run.directions[0] - u)[:-1].max() < 1e-15
        assert (run.log_norms[0, :-1] == -3).all()
    assert beyond > (5 if many else 20)
