"""Flow of data that are not separable: neurons slide along walls, which descent crosses to and fro."""

import numpy as np
import pytest

from firstlight import early_alignment as ea
from firstlight.early_alignment.definitions.alignment import regions
from firstlight.early_alignment.definitions.trajectory import Observer
from firstlight.early_alignment.definitions.walls import shortest
from firstlight.early_alignment.experiment.equations import Equations
from firstlight.early_alignment.experiment.flow import integrate
from firstlight.early_alignment.experiment.log_time import Clock
from firstlight.early_alignment.experiment.pieces import Piece
from firstlight.early_alignment.theory.align import align
from firstlight.maths.losses import margin_loss


def problem(n, d, h, rng):
    return rng.normal(size=(n, d)), rng.choice([-1, 1], n), rng.normal(size=(h, d)), rng.choice([-1, 1], h)


@pytest.mark.parametrize("seed", range(12))
def test_descent_with_small_steps_comes_to_the_flow(seed):
    rng = np.random.default_rng(seed)
    X, y, W, s = problem(*(int(rng.integers(*ends)) for ends in ((4, 25), (2, 6), (2, 10))), rng)
    scale = float(rng.uniform(-6, -1))
    run = ea.flow(X, y, W, s, scale, until=3.0, observations=[0.0, 1.0, 2.0, 3.0])
    assert bool(run.converged)
    first, errors = np.exp(scale) * W, []
    for step in (2e-3, 5e-4):
        slow = ea.descent(
            X, y, first, s * np.linalg.norm(first, axis=1), step_size=len(y) * step,
            observations=[round(t / step) for t in run.time.values],
        )  # fmt: skip
        errors.append(float(np.abs(slow.log_loss.values + np.log(len(y)) - run.log_loss.values).max()))
    # Euler's error is of first order: a quarter, 1e-3 being the step times rates of order one.
    assert errors[1] < min(0.4 * errors[0], 2e-3)


def test_many_walls_do_not_hold_it_up():
    """Thirty random labels: neurons slide on up to five walls at a time, for most of the way."""
    X, y, W, s = problem(30, 6, 20, np.random.default_rng(1))
    run = ea.flow(X, y, W, s, -8.0, until=5.0, observations=[0.0, 2.5, 5.0])
    assert bool(run.converged)
    assert run.evaluations < 30_000  # some ten for each event; walls of a width had spent 40 000 at t = 1.3
    assert (np.diff(run.loss) < 0).all()
    assert run.t1 == np.inf


def test_kinks_walked_over_until_they_hold_it_up(monkeypatch):
    """Where there are many pairs, steps go over the walls, until one that slides makes them very short."""
    X, y, W, s = problem(12, 3, 6, np.random.default_rng(3))
    u = W / np.linalg.norm(W, axis=1, keepdims=True)
    start = X, y, u, np.full(6, -3.0), s, [3.0]
    pieces = integrate(*start)
    monkeypatch.setattr("firstlight.early_alignment.experiment.flow._MANY", 1)
    monkeypatch.setattr("firstlight.early_alignment.experiment.solver._PATIENCE", 500)
    over = integrate(*start)
    assert over.converged
    assert over.evaluations > pieces.evaluations
    assert (over.sliding, pieces.sliding) == (True, True)
    # steps over walls have errors of some ten tolerances, 1e-9, each
    np.testing.assert_allclose(over.directions, pieces.directions, atol=1e-5)
    np.testing.assert_allclose(over.log_norms, pieces.log_norms, atol=1e-5)


def sliding_piece(loss):
    """Four neurons, the first on the walls of two data, which push it there from both sides."""
    rng = np.random.default_rng(0)
    X, y, u = rng.normal(size=(6, 4)), np.array([1.0, 1, 1, -1, -1, 1]), rng.normal(size=(4, 4))
    u[0] -= np.linalg.pinv(X[:2]) @ (X[:2] @ u[0])
    u /= np.linalg.norm(u, axis=1, keepdims=True)
    flow = Equations(X, y, np.array([-1.0, 1, -1, 1]), margin_loss(loss), Clock.of(X, 0.0, "sum", None))
    state = np.concatenate([u.ravel(), 0.3 * rng.normal(size=4)])
    on = u @ X.T > 0
    on[0, :2] = False
    return Piece(flow, on, {0: np.array([0, 1])}), state


@pytest.mark.parametrize("loss", ["exp", "logistic"])
def test_the_jacobian_against_differences(loss):
    piece, state = sliding_piece(loss)
    step = 1e-6
    differences = [
        (piece.slope(0.7, state + step * e) - piece.slope(0.7, state - step * e)) / (2 * step)
        for e in np.eye(len(state))
    ]
    # rounding 1e-16 / 1e-6 and third derivatives times 1e-12, of rates of order 10
    np.testing.assert_allclose(piece.jacobian(0.7, state), np.transpose(differences), rtol=1e-6, atol=1e-7)


def test_a_sliding_neuron_stays_on_its_walls_by_the_shares_that_are_told():
    piece, state = sliding_piece("exp")
    X, y, u = piece.flow.X, piece.flow.y, state[:16].reshape(4, 4)
    f = (piece.flow.signs * np.exp(2 * state[16:])) @ np.maximum(u @ X.T, 0)
    pulls = -np.exp(piece.flow.clock.log_weight) * (y * np.exp(-y * f))[:, None] * X
    pulls -= np.outer(pulls @ u[0], u[0])
    motion = piece.slope(0.0, state)[:4]
    assert np.abs(X[:2] @ motion).max() < 1e-13
    shares = np.linalg.lstsq(pulls[:2].T, motion - piece.on[0] @ pulls, rcond=None)[0]
    np.testing.assert_allclose((piece.on[0] @ pulls) + shares @ pulls[:2], motion, atol=1e-13)
    np.testing.assert_allclose(piece.look(state)[0][0, :2], np.maximum(-shares, shares - 1), rtol=1e-9)


@pytest.mark.parametrize("seed", range(40, 80))
def test_neurons_that_shrink_on_their_walls_stay_there(seed):
    """While outputs are 0 the flow is the exact path, also where ‖w‖ falls by e⁶⁰ and drift grows."""
    rng = np.random.default_rng(seed)
    D, n, h = rng.integers(2, 5), rng.integers(3, 7), 4
    X, y = rng.normal(size=(n, D)), rng.choice([-1.0, 1.0], n)
    W, signs = rng.normal(size=(h, D)), rng.choice([-1.0, 1.0], h)
    W /= np.linalg.norm(W, axis=1, keepdims=True)
    times = np.array([0.0, 7.5, 15.0, 30.0])
    path, run = align(X, y, W, signs), integrate(X, y, W, np.full(h, -1000.0), signs, times)
    assert run.converged
    # The implicit method's 1e-8 a step, over up to 10⁴ steps.
    assert np.abs(run.directions - path.direction(times)).max() < 1e-4
    assert np.abs(run.log_norms + 1000 - path.log_growth(times)).max() < 1e-3


@pytest.mark.parametrize("seed", [5, 6, 13, 16, 23, 28, 32, 33, 35])
def test_a_guess_beyond_the_range_of_numbers_is_not_the_end(seed):
    """From e⁻¹⁰⁰⁰ to a fit: what grows by e⁴⁰ in a step overflows in the implicit method's guess."""
    rng = np.random.default_rng(seed)
    D, n, h = rng.integers(2, 5), rng.integers(3, 7), 4
    X, y = rng.normal(size=(n, D)) * 10 ** rng.uniform(-1, 1, (n, 1)), rng.choice([-1.0, 1.0], n)
    W, signs = rng.normal(size=(h, D)), rng.choice([-1.0, 1.0], h)
    W /= np.linalg.norm(W, axis=1, keepdims=True)
    times, lengths = np.array([0.0, 10.0, 1e3, 1e4]), []
    for tolerance in (1e-6, 1e-9):
        run = integrate(X, y, W, np.full(h, -1000.0), signs, times, reduction="mean", tolerance=tolerance)
        assert run.converged
        lengths.append(run.log_norms)
    moved = 1 + np.abs(lengths[1] + 1000).max(axis=0)
    # 1e-6 a step, and neurons that turn back from the ray of the other class tell it a hundredfold.
    assert (np.abs(lengths[0] - lengths[1]) < 1e-2 * moved).all()


@pytest.mark.parametrize("angle", [1e-2, 1e-4, 1e-6, 1e-8])
def test_neurons_that_shrink_for_long_keep_their_length(angle):
    """Against the only datum, a little beside its ray: first e⁻¹⁸ of its size, then it turns and lives on."""
    X, W = np.array([[1.0, 0.0]]), np.array([[np.cos(angle), np.sin(angle)]])
    path = align(X, [-1.0], W, [1.0])
    run = integrate(X, np.array([-1.0]), W, np.array([-1000.0]), np.ones(1), [0.0, 10.0, 30.0])
    exact = path.log_growth([0.0, 10.0, 30.0])
    assert run.converged
    assert np.abs(run.log_norms + 1000 - exact).max() < 1e-2  # 1e-9 a step, grown by 1/angle


@pytest.mark.parametrize("apart", [1e-6, 1e-7, 1e-8, 1e-9, 1e-10])
@pytest.mark.parametrize("seed", range(12))
def test_neurons_slide_on_walls_that_are_almost_one(seed, apart):
    """On both of two such walls, to rounding, a neuron may be far from where they meet."""
    rng = np.random.default_rng(seed)
    D, n, h = rng.integers(2, 5), rng.integers(2, 6), 4
    X, y = rng.normal(size=(n, D)), rng.choice([-1.0, 1.0], n)
    W, signs = rng.normal(size=(h, D)), rng.choice([-1.0, 1.0], h)
    W /= np.linalg.norm(W, axis=1, keepdims=True)
    X, y = np.concatenate([X, X + apart * rng.normal(size=X.shape)]), np.concatenate([y, y])
    times = np.array([0.0, 2.0, 8.0]) / np.linalg.norm(X, axis=1).sum()
    path, run = align(X, y, W, signs), integrate(X, y, W, np.full(h, -1000.0), signs, times)
    assert run.converged
    # 1e-10 beyond a wall, and 1e-9 a step.
    assert np.abs(run.directions - path.direction(times)).max() < 1e-7
    assert np.abs(run.log_norms + 1000 - path.log_growth(times)).max() < 1e-7


@pytest.mark.parametrize("seed", range(8))
def test_neurons_that_die_on_three_walls_at_once_are_dead(seed):
    """Three data in one plane: 1e-10 off the wall of one, a neuron at rest was alive for an observer."""
    rng = np.random.default_rng(seed)
    X, y = np.array([[-1.0, -1, -2], [1, 0, 1], [-2, -2, -2], [0, 0, 1]]), np.array([1.0, 1, -1, -1])
    X = X @ np.linalg.qr(rng.normal(size=(6, 3)))[0].T
    W = rng.normal(size=(20, 3)) @ np.linalg.pinv(X[[0, 1, 3]]).T
    W /= np.linalg.norm(W, axis=1, keepdims=True)
    path = align(X, y, W, np.ones(20))
    for t in (2.0, 5.0, 10.0):
        run = integrate(X, y, W, np.full(20, -1000.0), np.ones(20), [t])
        assert np.array_equal(regions(run.directions[0], X, y) == 0, path.death_time <= t)
    assert (path.fate == 0).any()


@pytest.mark.parametrize("seed", [7, 55, 72, 106, 137, 217, 280, 287])
@pytest.mark.parametrize("whole", [True, False])
def test_walls_that_come_together_along_another_wall_are_one_event(seed, whole):
    """Data of whole numbers, or in a plane: some stopped where one datum goes off as another comes on."""
    rng = np.random.default_rng(seed)
    D, n, h = int(rng.integers(2, 5)), int(rng.integers(3, 7)), 5
    X = rng.normal(size=(n, D))
    if whole:
        X = rng.integers(-2, 3, size=(n, D)) + 0.0
        X[~X.any(axis=1)] = 1.0
    elif D > 2:
        X = rng.normal(size=(n, D - 1)) @ rng.normal(size=(D - 1, D))
    y, W, signs = rng.choice([-1.0, 1.0], n), rng.normal(size=(h, D)), rng.choice([-1.0, 1.0], h)
    W /= np.linalg.norm(W, axis=1, keepdims=True)
    times = np.array([0.0, 4.0, 16.0, 30.0]) / np.linalg.norm(X, axis=1).sum()
    path, run = align(X, y, W, signs), integrate(X, y, W, np.full(h, -1000.0), signs, times)
    assert run.converged
    assert np.abs(run.directions - path.direction(times)).max() < 1e-3  # 1e-10 at an event, grown by e¹⁵
    assert np.abs(run.log_norms + 1000 - path.log_growth(times)).max() < 1e-3


@pytest.mark.parametrize("span", [0, 2, 4, 6])
def test_shares_are_the_shortest_whatever_the_sizes(span):
    """No share that is free to move leaves a pull along its datum, in units of what that one pulls."""
    for seed in range(100):
        rng = np.random.default_rng(seed)
        many = int(rng.integers(1, 6))
        parts = rng.normal(size=(many, many + 2)) * 10 ** rng.uniform(-span, span, (many, 1))
        rest = -rng.uniform(-0.3, 1.3, many) @ parts
        shares = shortest(rest, parts)
        left = parts @ (rest + shares @ parts) / (parts**2).sum(axis=1)
        low, high = shares < 1e-12, shares > 1 - 1e-12
        # Rounding of the largest part, 1e-16, in units of the least: 10^(2 span).
        assert np.abs(left[~low & ~high]).max(initial=0) < 1e-14 * 10 ** (2 * span)
        assert left[low].min(initial=0) > -1e-14 * 10 ** (2 * span)
        assert left[high].max(initial=0) < 1e-14 * 10 ** (2 * span)


@pytest.mark.parametrize("factor", [1e-8, 1e-5, 1e-3, 1e5, 1e8])
def test_how_fast_sliding_neurons_turn_in_other_units(factor):
    """Below 1e-4 all sums of pulls counted as zero, and the shares were where the search had begun."""
    for seed in range(20):
        X, y, W, s = problem(10, 4, 12, np.random.default_rng(seed))
        path = align(X, y, W, s)
        u = path.direction(0.3 * path.last_event)
        seen = [
            Observer(f * X, y, np.negative, np.negative, False, sliding=1e-9)(
                u, np.full(12, -0.5 * np.log(f)), s
            )
            for f in (1.0, factor)
        ]
        fast, scaled = (one["direction_change"] for one in seen)
        assert scaled / factor == pytest.approx(fast, rel=1e-9)  # rounding, times the condition of walls
