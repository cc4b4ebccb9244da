"""Neurons that die, shrink or vanish while they slide, and starts where digits are easily lost."""

import numpy as np
import pytest

from firstlight.early_alignment.theory.align import align

RAY = np.array([[-2.25, -1.3, -0.27], [0.41, 0.54, -1], [1.75, -0.01, 1.31], [0.78, 2.94, 0.03]])
RAY_START = np.array([[1.3, 0.14, -0.88]])


def random_problem(seed, n, d, h=40):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(n, d)), rng.choice([-1, 1], n)
    return X, y, rng.normal(size=(h, d)), rng.choice([-1, 1], h)


def euler(X, y, w, v, t, step):
    """Rows w and v at time t, and when each row had no active datum first."""
    w, v, died = w.copy(), v.copy(), np.full(len(v), np.inf)
    for k in range(round(t / step)):
        active = w @ X.T > 0
        died = np.where(active.any(axis=1), died, np.minimum(died, k * step))
        c = (active * y) @ X
        w, v = w + step * v[:, None] * c, v + step * (w * c).sum(axis=1)
    return w, v, died


def levels(path, X, W):
    """Levels after the last event, by the events alone; every event must change one."""
    result = (W @ X.T > 0).astype(float)
    for event in path.events:
        assert result[event["neuron"], event["datum"]] != event["level"]
        result[event["neuron"], event["datum"]] = event["level"]
    return result


def test_deaths_on_walls_against_sixty_digits():
    """Reference: a walk with 60 digits that finds shares by trying every face of the box."""
    path = align(*random_problem(10, 4, 3))
    expected = {
        0: 1.20605169999343, 7: 10.135065668703236, 17: 1.46518297306191, 18: 0.6214712661258834,
        19: 0.40539548602397446, 21: 4.292653556964857, 22: 5.621387122368408, 23: 1.1974007319966917,
        24: 10.025699290907534, 25: 7.6037488550065, 27: 0.20070988006235224, 32: 2.82229585255417,
        34: 3.5643311871356573, 35: 12.726889373243848, 36: 2.2703993984389985, 39: 0.9332953697070275,
    }  # fmt: skip
    assert np.flatnonzero(path.fate == 0).tolist() == list(expected)
    # A neuron at distance r from its death amplifies rounding by 1/r, here up to about 1e3.
    assert np.allclose(path.death_time[list(expected)], list(expected.values()), rtol=1e-12, atol=0)


def test_no_neuron_runs_away_after_its_death():
    path = align(*random_problem(63, 6, 4))
    assert path.complete.all()
    assert path.death_time[22] == pytest.approx(0.3071356227994206, rel=1e-12)  # 60 digits, as above
    assert path.events["time"][path.events["neuron"] == 22].max() == path.death_time[22]
    X = [[-1, -2, 2, -1], [0, 0, 0, -2], [1, -2, -2, 1], [0, 2, -2, 0], [0, 1, -2, 1]]
    whole = align(X, [-1, -1, 1, -1, -1], [[-1, -1, 1, -2]], [1])
    assert len(whole.events) == 8
    assert whole.death_time[0] == pytest.approx(1.845103378098589, rel=1e-12)  # 60 digits


def test_a_share_at_its_bound_is_not_looked_at_for_ever():
    """Two data come to share 1 and stay on their walls, so that only rounding drives them across."""
    X = [
        [1, 2, -2, 2, -2], [2, -1, -1, -1, 2], [-2, -2, 0, -2, 2], [-2, 1, 2, 0, -1], [0, -2, -1, 0, 1],
        [-1, 0, 0, -2, 0], [-1, -2, -1, 1, -1], [0, 2, 0, 1, 1], [-1, -2, -1, 1, 1], [1, -1, 2, 2, -2],
        [1, -1, -2, 1, 1], [-1, 1, 2, 1, 1], [2, 0, -1, -2, 0], [-1, 2, -2, 2, 2],
    ]  # fmt: skip
    y = [1, 1, -1, 1, -1, 1, 1, -1, 1, 1, 1, 1, 1, 1]
    path = align(X, y, [[1, -2, 0, 0, 1]], second_layer=[-76.48767161055318])
    assert path.complete.all()
    assert len(path.events) == 18
    assert path.last_event == pytest.approx(0.10986696491219011, rel=1e-12)  # 60 digits, as above


def test_deaths_against_small_steps():
    X, y, W, s = random_problem(10, 4, 3)
    W = W / np.linalg.norm(W, axis=1, keepdims=True)
    path, t, step = align(X, y, W, s), 3.0, 2e-4
    _, _, died = euler(X, y, W, s.astype(float), t, step)
    dead = path.death_time < t - 0.1
    assert dead.sum() > 3
    assert np.array_equal(dead, died < t - 0.1)
    # First order in the step; a neuron that grazes its last wall takes about a hundred steps more or less.
    assert np.abs(path.death_time[dead] - died[dead]).max() < 100 * step


def test_a_neuron_held_on_a_ray_shrinks_for_ever():
    """Two walls in three dimensions leave a ray r. There log ‖w‖' = -<x, r>, x the only datum that is on."""
    path = align(RAY, [1] * 4, RAY_START, [-1])
    r = np.cross(RAY[0], RAY[2])
    r *= np.sign(r @ RAY[1]) / np.linalg.norm(r)
    assert path.fate.tolist() == [2]
    assert path.last_event < 1
    assert path.time_to_cosine(0.01)[0] == np.inf  # it points away from the centre for ever
    for t in (1.0, 70.0, 1e3, 1e9):
        assert np.abs(path.direction(t)[0] - r).max() < 1e-15
        assert path.log_growth(t)[0] - path.log_growth(1.0)[0] == pytest.approx(
            (1 - t) * (r @ RAY[1]), rel=1e-12
        )
    w, _, _ = euler(RAY, np.ones(4), RAY_START, -np.linalg.norm(RAY_START, axis=1), 3.0, 1e-4)
    assert np.abs(w[0] / np.linalg.norm(w) - r).max() < 1e-3  # a step of 1e-4 is some 3e-4 of ‖w‖


def test_an_unbalanced_neuron_vanishes_on_its_ray():
    """On the ray ‖w‖' = -|v| k and |v|' = -‖w‖ k: it ends where tanh kt is ‖w‖/|v|."""
    path = align(RAY, [1] * 4, RAY_START, second_layer=[-1.7])
    r = np.cross(RAY[0], RAY[2])
    k = abs(r @ RAY[1]) / np.linalg.norm(r)
    t = 0.6
    assert path.fate.tolist() == [0]
    assert path.death_time[0] == pytest.approx(t + np.arctanh(1 / abs(path.state(t)[2][0])) / k, rel=1e-12)
    assert path.log_growth(5.0)[0] == -np.inf
    assert "1 neurons shrink to nothing" in path.notes[0]
    w, _, _ = euler(RAY, np.ones(4), RAY_START, np.array([-1.7]), 2.0, 1e-4)
    assert path.log_growth(2.0)[0] == pytest.approx(
        np.log(np.linalg.norm(w) / np.linalg.norm(RAY_START)), abs=1e-2
    )


@pytest.mark.parametrize("balanced", [True, False])
@pytest.mark.parametrize("seed", range(12))
def test_nothing_drifts_off_its_walls(seed, balanced):
    rng = np.random.default_rng(seed)
    X, y, W, s = random_problem(seed, int(rng.integers(4, 9)), int(rng.integers(3, 6)))
    path = align(X, y, W, s) if balanced else align(X, y, W, second_layer=s * rng.uniform(0.3, 2, 40))
    assert path.complete.all()
    assert path.last_event < 30  # a later event would be rounding that has grown
    assert not np.isnan(path.time_to_cosine(0.01)).any()
    level = levels(path, X, W)[path.fate != 0]
    for t in (30.0, 1e3):
        q = path.direction(t)[path.fate != 0] @ X.T
        sliding = (level > 0) & (level < 1)
        assert np.abs(q[sliding]).max(initial=0) < 1e-13
        clear = ~sliding & (np.abs(q) > 1e-9)
        assert np.array_equal(q[clear] > 0, level[clear] == 1)


def test_time_to_cosine_where_v_turns():
    path = align([[1, 0], [1, 1], [-1, -0.5]], [1, 1, -1], [[1, 0.3]], second_layer=[-0.2])
    c = np.array([2, 1]) / np.sqrt(5)
    t = path.time_to_cosine(0.01)[0]
    assert t > np.arctanh(0.2 * np.sqrt(5) / 2.3) / np.sqrt(5)  # v is zero there: tanh ‖c‖t = -v/a
    assert path.direction(t)[0] @ c == pytest.approx(0.99, abs=1e-13)


def test_time_to_cosine_of_every_unbalanced_neuron():
    rng = np.random.default_rng(0)
    X, y, W, _ = random_problem(1, 6, 3, 200)
    path = align(X, y, W, second_layer=rng.normal(size=200) * rng.choice([0.1, 1, 1e7], 200))
    gap = 1e-3
    times = path.time_to_cosine(gap)
    assert not np.isnan(times).any()
    far = path.direction(1e3)
    for j in np.flatnonzero(np.isfinite(times)):
        last = path.events["time"][path.events["neuron"] == j].max(initial=0)
        reached = path.direction(times[j])[j] @ far[j]
        assert reached == pytest.approx(1 - gap, abs=1e-9) or (times[j] == last and reached > 1 - gap)
        later = path.direction(times[j] + np.geomspace(1e-9, 10, 20))[:, j] @ far[j]
        assert later.min() > 1 - gap - 1e-9


@pytest.mark.parametrize(
    ("X", "y", "w"),
    [
        ([[1, 1], [-1, 1]], [1, -1], [0, 1]),
        ([[0, 1, 2, 1, -1], [-2, -2, 2, -2, -2]], [1, -1], [1.0, 0, 2, -1, 1]),
    ],
)
def test_nothing_moves_where_v_is_zero_and_w_orthogonal_to_the_centre(X, y, w):
    """v' = <w, c> = 0 and w' = v c = 0; with the second start that is so only up to rounding."""
    path = align(X, y, [w], second_layer=[0])
    for t in (0.0, 1.0, 300.0, 1e6):
        u, growth, second = path.state(t)
        assert np.abs(u[0] - np.array(w) / np.linalg.norm(w)).max() < 1e-15
        assert growth[0] == pytest.approx(0, abs=1e-15)
        assert second[0] == 0
    assert len(path.events) == 0


def test_a_wall_under_a_neuron_without_v_is_met_at_once():
    path = align([[-1, 1, -2], [2, -2, 0], [-2, 2, 0]], [-1, 1, -1], [[2, 2, -2]], second_layer=[0])
    assert path.events["time"].tolist() == [0.0]
    assert path.events["datum"].tolist() == [2]


@pytest.mark.parametrize("v", [1e6, -1e10, 1e15, -1e100])
def test_a_dominant_second_layer_walks_straight(v):
    """While ‖w‖ is far below |v|, v stays as it is: w walks its polyline at the speed |v|.

    One datum leaves, the other stays: w = (1, 2), then c = (-1, 1) per v until <w, e1> = 0, then (0, 1).
    """
    X, y = np.eye(2), np.array([-1, 1]) * np.sign(v)
    path = align(X, y, [[1.0, 2.0]], second_layer=[v])
    assert path.death_time[0] == np.inf
    # v grows by <w, c> t, which is 1/v² of it: below rounding from 1e8 on.
    assert path.events["time"][0] * abs(v) == pytest.approx(1, rel=max(1e-14, 4 / v**2))
    times = np.array([0.0, 0.25, 0.5, 1.0, 3.0]) / abs(v)
    expected = np.array([[1, 2], [0.75, 2.25], [0.5, 2.5], [0, 3], [0, 5]])
    u = path.direction(times)[:, 0]
    lengths = np.linalg.norm(expected, axis=1)
    assert np.abs(u - expected / lengths[:, None]).max() < max(1e-14, 10 / v**2)
    assert np.allclose(np.exp(path.log_growth(times)[:, 0]) * np.sqrt(5), lengths, rtol=max(1e-14, 20 / v**2))


def test_copies_share_a_wall_to_the_last_digit():
    """Copies of e1 and (0.3, 1): along the wall of e1 the copies must make up for 0.3, whoever of them."""
    X, y = [[1.0, 0.0], [1.0, 0.0], [0.3, 1.0]], [-1, -1, 1]
    path = align(X, y, [[1.0, 1.0]], [1])
    assert levels(path, np.array(X), np.array([[1.0, 1.0]]))[0, :2].sum() == pytest.approx(0.3, abs=2e-16)
    # From (1, 1) along c = (-1.7, 1) the wall is met at sigma = 1/1.7; the clock as on any straight leg.
    C, a = np.sqrt(1.7**2 + 1), -0.7 / np.sqrt(1.7**2 + 1)
    across = np.sqrt(2 - a**2)
    law = (np.arcsinh((a + C / 1.7) / across) - np.arcsinh(a / across)) / C
    assert path.events["time"] == pytest.approx(law, rel=1e-15)


def test_a_neuron_that_turns_straight_back_vanishes():
    """From (2, 0) along -(3, -1) to the wall of the first datum: there w is (0.8, 0.4), and c is (2, 1)."""
    path = align([[1, -2], [-1, 2], [2, 1]], [1, 1, 1], [[2, 0]], second_layer=[-82.0])
    assert path.fate.tolist() == [0]
    assert path.death_time[0] == pytest.approx(0.8 / 82, rel=1e-3)  # v falls by (‖w‖/v)² on the way
    assert path.log_growth(1.0)[0] == -np.inf
    assert np.isfinite(path.direction(1.0)).all()
    assert "shrink to nothing" in path.notes[0]


def line_problem(seed):
    """Data, a start and a second layer on one line, where a neuron can only go straight through 0."""
    rng = np.random.default_rng(seed)
    n, h = rng.integers(1, 8), 6
    x = rng.normal(size=n) * rng.choice([0.1, 1, 3], n)
    return x[:, None], rng.choice([-1, 1], n), rng.normal(size=(h, 1)), 3 * rng.normal(size=h)


def line_time(X, seed):
    return (0.5 + seed % 3) / np.abs(X).sum()


@pytest.mark.parametrize("seed", range(50))
def test_on_a_line_neurons_go_through_zero(seed):
    """Euler's error falls with its step; a neuron that both sides drive to 0 stays there."""
    X, y, W, v = line_problem(seed)
    path = align(X, y, W, second_layer=v)
    t = line_time(X, seed)
    gaps = []
    for step in (t / 500, t / 4000):
        w, _, _ = euler(X, y, W, v, t, step)
        moved = path.direction(t)[:, 0] * np.exp(path.log_growth(t)) * np.abs(W[:, 0])
        gaps.append(np.abs(moved - w[:, 0]) / (np.abs(W[:, 0]) + np.abs(v)))
    # Of first order; about 0 Euler goes to and fro by a step of v c.
    assert gaps[0].max() < 0.04  # 500 steps of up to 1/200, and growth by e²·⁵
    assert gaps[1].max() < 0.04 / 8


def test_some_neurons_on_lines_cross_and_some_stay():
    """Or the test above says nothing."""
    crossed = stayed = 0
    for seed in range(50):
        X, y, W, v = line_problem(seed)
        path = align(X, y, W, second_layer=v)
        t = line_time(X, seed)
        crossed += (path.direction(t)[:, 0] * W[:, 0] < 0).sum()
        stayed += (path.log_growth(t) == -np.inf).sum()
    assert crossed >= 8
    assert stayed >= 12


@pytest.mark.parametrize("seed", range(25))
def test_a_line_in_space_is_a_line(seed):
    """In 3 dimensions, along a random direction; and passing 0 at a distance of 1e-9 comes to the same."""
    X, y, W, v = line_problem(seed)
    rng = np.random.default_rng(seed)
    e = np.array([[2.0, -1.0, 2.0]]) / 3
    aside = np.cross(e[0], rng.normal(size=3)) * 1e-9
    plain, space, near = (
        align(points, y, rows, second_layer=v)
        for points, rows in ((X, W), (X @ e, W @ e), (X @ e, W @ e + aside))
    )
    assert space.fate.tolist() == plain.fate.tolist()
    moved = np.exp(plain.log_growth(0.7))[:, None] * plain.direction(0.7) * e * np.abs(W)
    for path, lengths in ((space, np.abs(W)), (near, np.linalg.norm(W @ e + aside, axis=1, keepdims=True))):
        other = np.exp(path.log_growth(0.7))[:, None] * path.direction(0.7) * lengths
        assert np.abs(other - moved).max() <= 1e-7 * max(1, np.abs(moved).max())


@pytest.mark.parametrize("far", [1.0, 1e-4, 1e-9, 1.1e-12])
@pytest.mark.parametrize("v", [1 + 1e-13, 1 + 1e-8, 1.25, 1.75, 10.0, 1e6, 1e15])
def test_a_neuron_goes_through_zero_at_its_time(far, v):
    """However weak the pull beyond and however long v: w is 0 where tanh t = 1/v, and grows with sinh."""
    path = align([[1.0], [-far]], [-1, 1], [[1.0]], second_layer=[v])
    t, rest = np.arctanh(1 / v), (v - 1) ** 0.5 * (v + 1) ** 0.5
    assert path.entry_time[0] == pytest.approx(t, rel=1e-3 if v < 1.1 else 1e-12)  # v - 1 is rounded
    t = path.entry_time[0]
    later = t * np.array([1 - 1e-12, 1 - 1e-15, 1, 1 + 1e-15, 1 + 1e-12])
    assert np.abs(np.abs(path.direction(later)) - 1).max() < 1e-14
    assert path.direction([0.9 * t, t, 1.1 * t]).ravel().tolist() == [1.0, -1.0, -1.0]
    moved = np.exp(path.log_growth(2 * t)[0])
    assert moved == pytest.approx(rest * np.sinh(far * t), rel=1e-3 if v < 1.1 else 1e-9, abs=1e-12)
    assert path.time_to_cosine(0.1)[0] == pytest.approx(t, rel=1e-12)


@pytest.mark.parametrize("aside", [0.0, 5e-15, 1.5e-14, 5e-14, 9e-14, 2e-13, 1e-9])
def test_passing_zero_at_any_distance_comes_to_the_same(aside):
    path = align([[1, 0], [-2, 0]], [-1, 1], [[1, aside]], second_layer=[1.25])
    assert path.fate.tolist() == [1]
    assert path.entry_time[0] == pytest.approx(np.arctanh(0.8), rel=1e-6)
    assert np.exp(path.log_growth(1.5)[0]) == pytest.approx(0.75 * np.sinh(2 * (1.5 - np.arctanh(0.8))))


def test_balanced_but_for_rounding_is_balanced():
    rng = np.random.default_rng(0)
    W, x = rng.normal(size=(200, 1)) @ [[1.0, -2.0, 0.3]], np.array([[1.0, -2.0, 0.3], [-2.0, 4.0, -0.6]])
    size = np.linalg.norm(W, axis=1)
    given, by_sign = align(x, [-1, 1], W, second_layer=size), align(x, [-1, 1], W, signs=np.ones(200))
    assert given.fate.tolist() == by_sign.fate.tolist()


def test_a_neuron_through_zero_by_hand():
    """One datum on each side: w is 0 where tanh t = 1/v₀, and from there √(v₀² - 1) sinh 2(t - t₀)."""
    path = align([[1.0], [-2.0]], [-1, 1], [[1.0]], second_layer=[1.25])
    t0 = np.arctanh(1 / 1.25)
    assert path.fate.tolist() == [1]
    assert path.entry_time[0] == pytest.approx(t0, rel=1e-12)
    assert path.direction([t0 - 1e-6, t0 + 1e-6])[:, 0, 0] == pytest.approx([1.0, -1.0], abs=1e-9)
    assert np.exp(path.log_growth(t0 + 0.3)[0]) == pytest.approx(0.75 * np.sinh(0.6), rel=1e-12)
    assert np.isfinite(path.direction(t0)).all()
    assert path.time_to_cosine(0.1)[0] == pytest.approx(t0, rel=1e-12)


@pytest.mark.parametrize("aside", [1e-3, 1e-9, 1.1e-13])
@pytest.mark.parametrize("v", [1e20, 1e100, 1e140, 1e148, 1e150])
def test_passing_zero_with_a_very_long_v(aside, v):
    """v/‖w‖ grows by 1/aside on the way; where its square would overflow the start is refused."""
    given = [[1, 0], [-1, 0]], [-1, 1], [[1, aside]]
    if v > 1e140:
        with pytest.raises(ValueError, match=r"second_layer\[0\]"):
            align(*given, second_layer=[v])
        return
    path = align(*given, second_layer=[v])
    assert path.fate.tolist() == [1]
    length = np.log(v) + np.log(np.sinh(1.0)) - np.log(np.hypot(1.0, aside))
    assert path.log_growth(1.0)[0] == pytest.approx(length, rel=1e-12)
    assert path.direction(1.0)[0, 0] == pytest.approx(-1.0)
