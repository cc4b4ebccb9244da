"""Data that share a wall: copies, multiples and opposites of one another, whose labels agree or do not."""

from itertools import product

import numpy as np
import pytest

from firstlight.early_alignment.theory.align import align

MULTIPLES = [0.3, 0.5, 0.7, 1.0, 1.0, 2.0, 3.0]


def split(X, y, rng):
    """Rows on the rays of X whose labelled lengths add up to those of X, and rays where they add up to 0."""
    rows, labels = [], []
    for x, label in [*zip(X, y, strict=True), (rng.normal(size=X.shape[1]), 0.0)]:
        lengths, signs = rng.choice(MULTIPLES, rng.integers(0, 3)), rng.choice([-1.0, 1.0], 2)
        signs = signs[: len(lengths)]
        last = label - lengths @ signs
        whole = np.append(lengths, abs(last)), np.append(signs, np.sign(last))
        some = whole[0] > 1e-9
        rows += list(whole[0][some, None] * x)
        labels += list(whole[1][some])
    order = rng.permutation(len(rows))
    return np.array(rows)[order], np.array(labels)[order]


def shared(seed, d):
    """Random data, most of them on few lines: on both sides of 0, with labels at random."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(int(rng.integers(1, 4)), d))
    for x in rng.normal(size=(2, d)):
        X = np.vstack([X, rng.choice([-2, -1.5, -1, -0.5, 0.3, 1, 2, 3], (4, 1)) * x])
    if seed % 2:  # lines by chance, as integers have them
        X = rng.integers(-1, 2, size=(20, d)).astype(float)
        X = X[X.any(axis=1)]
    W = rng.normal(size=(10, d))
    return X, rng.choice([-1.0, 1.0], len(X)), W, rng.choice([-1.0, 1.0], 10)


def steps_of_euler(X, y, W, signs, times, step):
    """Directions at the times, by plain steps of w' = v c and v' = <w, c>."""
    w, v = W / np.linalg.norm(W, axis=1, keepdims=True), signs.copy()
    found, done = [], 0
    for t in times:
        for _ in range(round(t / step) - done):
            c = ((w @ X.T > 0) * y) @ X
            w, v = w + step * v[:, None] * c, v + step * (w * c).sum(axis=1)
        done = round(t / step)
        found.append(w / np.linalg.norm(w, axis=1, keepdims=True))
    return np.array(found)


def last_levels(path, X, W):
    """Levels after the last event, by the events alone; every event must change one."""
    result = (W @ X.T > 0).astype(float)
    for event in path.events:
        assert result[event["neuron"], event["datum"]] != event["level"]
        result[event["neuron"], event["datum"]] = event["level"]
    return result


@pytest.mark.parametrize("d", [2, 3, 5, 40])
def test_a_datum_in_parts_is_that_datum(d):
    for seed in range(60):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(int(rng.integers(2, 8)), d))
        y = rng.choice([-1.0, 1.0], len(X))
        W, signs = rng.normal(size=(10, d)), rng.choice([-1, 1], 10)
        whole, parts = align(X, y, W, signs), align(*split(X, y, rng), W, signs)
        assert (whole.complete == parts.complete).all()
        end = 1.2 * max(whole.last_event, 0.1)
        alive = ~(
            (whole.fate == 0) & (whole.death_time <= end)
        )  # the dead stop, others go on by what has no pull
        for t in np.linspace(0, end, 7):
            (u, growth, _), (other, grown, _) = whole.state(t), parts.state(t)
            # Exact but for rounding, which a neuron that came near to 0 amplifies.
            near = np.exp(-np.minimum(growth, 0))
            assert (np.abs(u - other).max(axis=1) <= 1e-9 * near)[alive].all()
            assert (np.abs(growth - grown) <= 1e-9 * near)[alive].all()


@pytest.mark.parametrize("d", [2, 3, 4])
def test_shared_walls_against_small_steps(d):
    """Euler's error falls with the step; an error of the path would stay."""
    times, steps, compared = np.array([0.1, 0.3, 0.6]), (1e-3, 2.5e-4), 0
    for seed in range(24):
        X, y, W, signs = shared(seed, d)
        path = align(X, y, W, signs)
        assert path.complete.all()
        assert not path.notes
        u = path.direction(times)
        coarse, fine = (
            np.abs(steps_of_euler(X, y, W, signs, times, step) - u).max(axis=(0, 2)) for step in steps
        )
        alive = (path.death_time > 0.7) & (path.log_growth(times).min(axis=0) > -3)
        assert (fine <= np.maximum(0.5 * coarse, 40 * steps[1]))[alive].all()
        compared += alive.sum()
    assert compared > 120


@pytest.mark.parametrize("balanced", [True, False])
@pytest.mark.parametrize("d", [1, 2, 3, 5])
def test_events_tell_of_every_datum(d, balanced):
    """Unbalanced neurons may vanish: then all data are off, on whichever side of a wall."""
    for seed in range(60):
        X, y, W, signs = shared(seed, d)
        ratio = 1.0 if balanced else np.random.default_rng(seed).uniform(0.3, 2, len(signs))
        path = align(X, y, W, second_layer=signs * ratio * np.linalg.norm(W, axis=1))
        level, u = last_levels(path, X, W), path.direction(path.last_event + 1)
        q = u @ X.T / np.linalg.norm(X, axis=1)
        clear, alive = (np.abs(q) > 1e-9) & (level % 1 == 0), path.fate != 0
        assert ((q > 0) == (level == 1))[clear & alive[:, None]].all()
        assert (np.abs(q) < 1e-9)[(level % 1 != 0) & alive[:, None]].all()
        assert ((level == 0).all(axis=1) == (path.fate == 0)).all()
        for fate in (1, -1):
            expected = (level == (y == fate)).all(axis=1) & (level != 0).any(axis=1)
            assert ((path.fate == fate) == expected).all()


def test_data_that_cancel_pull_nothing():
    """(x, +) and (x, -): no neuron moves by them, nor reads as one of a class while both are on."""
    X, y = np.array([[0.0, 1, 0], [0, 1, 0], [1, 0.5, 0], [0.1, 0.2, 1]]), np.array([1.0, -1, 1, 1])
    W = np.array([[1.0, -1.0, 0.3], [0.0, -1.0, -1.0]])
    with_them, without = align(X, y, W, [1, 1]), align(X[2:], y[2:], W, [1, 1])
    t = without.last_event + 1
    np.testing.assert_allclose(with_them.direction(t), without.direction(t), atol=1e-13)
    assert without.fate.tolist() == [1, 0]
    assert with_them.fate.tolist() == [2, 0]


def test_states_are_numbers_at_any_time():
    """A neuron that shrinks for ever along its line, and others, at infinity and where times overflow."""
    path = align([[1.0, 0.0]], [-1], [[1.0, 0.0], [1.0, 1.0], [-1.0, 0.5]], [1, 1, 1])
    with np.errstate(over="ignore"):
        for t in (1e300, 1.7e308, np.inf):
            for factor in (1.0, 1e60):
                scaled = align([[factor, 0.0]], [-1], path.start, [1, 1, 1])
                u, growth, ratio = scaled.state(t)
                assert np.isfinite(u).all()
                assert np.isfinite(ratio).all()
                assert not np.isnan(growth).any()
    assert path.log_growth(np.inf)[0] == -np.inf
    assert path.direction(np.inf)[0].tolist() == [1.0, 0.0]


def test_a_neuron_that_comes_to_nothing_by_what_is_always_on():
    """Opposite data that agree pull it straight to 0: ‖w‖ is 0 where tanh t = 1/v; no row of theirs is on."""
    X, y = [[1.0, 0.0], [-1.0, 0.0], [0.2, 1.0]], [1, -1, -1]
    path = align(X, y, [[-1.0, 0.0]], second_layer=[3.0])
    assert path.death_time[0] == pytest.approx(np.arctanh(1 / 3), rel=1e-12)
    assert path.log_growth(0.9 * path.death_time[0])[0] > -3
    assert path.events.tolist() == [(path.death_time[0], 0, 1, 0.0)]


def test_a_start_on_a_wall_of_opposite_data_that_agree_is_told():
    """It slides on one of them, as the derivative at 0 has the other off, where both push it across."""
    X, y = np.array([[1.0, 0.0], [-0.5, 0.0], [0.75, 1.0]]), np.array([-1.0, 1.0, 1.0])
    aside, on = np.array([[1e-9, 1.0]]), np.array([[0.0, 1.0]])
    told = align(X, y, on, [1])
    assert "slide on a wall on which one started" in told.notes[0]
    for W in (aside, -aside * [1, -1], on * [1, -1]):
        assert not any("slide" in note for note in align(X, y, W, [1]).notes)
    both = align(X, y, np.vstack([aside, on]), [1, 1])  # what one starts on stays apart for all of them
    assert both.notes[0].startswith("2 neurons slide")


KINDS = ("lines", "copies", "rank", "few")


@pytest.mark.parametrize("kind", KINDS)
def test_who_rests_with_nothing_on_is_dead(kind):
    """On walls alone, with shares that add up to nothing, or data that cancel, it read 'elsewhere'."""
    dead = at_rest = 0
    for seed in range(250):
        rng = np.random.default_rng([KINDS.index(kind), seed])
        d, n = int(rng.integers(2, 5)), int(rng.integers(2, 9))
        if kind == "rank":
            X = rng.normal(size=(n, d)) @ rng.normal(size=(d, d + 2))
        elif kind == "few":
            X = rng.integers(-2, 3, size=(n, d)).astype(float) @ np.eye(d, d + 1)
        else:
            rows = rng.normal(size=(2, d))[rng.integers(0, 2, n)]
            X = rng.choice([-2, -1, 0.5, 1, 3], n)[:, None] * rows if kind == "lines" else rows
        X = X[X.any(axis=1)] if X.any() else np.ones((1, X.shape[1]))
        y, W = rng.choice([-1.0, 1.0], len(X)), rng.normal(size=(20, X.shape[1]))
        path = align(X, y, W, rng.choice([-1, 1], 20))
        times = path.last_event + np.array([1e-6, 1.0])
        (u, late), (growth, grown), _ = path.state(times)
        rests = (np.abs(u - late).max(axis=1) < 1e-12) & (np.abs(growth - grown) < 1e-12)
        active = (u @ X.T > 1e-11 * np.linalg.norm(X, axis=1)).any(axis=1)
        assert (path.fate[rests & ~active] == 0).all()
        assert not active[path.fate == 0].any()
        level = last_levels(path, X, W)
        assert ((level == 0).all(axis=1) == (path.fate == 0)).all()
        dead, at_rest = dead + (path.fate == 0).sum(), at_rest + (rests & ~active).sum()
    assert at_rest > 500
    assert dead >= at_rest


@pytest.mark.parametrize("turned", [False, True])
def test_a_neuron_is_not_on_both_sides_of_a_wall(turned):
    """Opposite data of one label: what cancels of their shares is 0 on both, in whatever order they come."""
    lines = np.array(list(product([-1.0, 0.0, 1.0], repeat=3)))[:13]  # the other half of the grid is opposite
    for seed in range(150):
        rng = np.random.default_rng(seed)
        X = rng.permutation(lines)[:5]
        y = rng.choice([-1.0, 1.0], len(X))
        X, y = np.vstack([X, -X * rng.choice([1.0, 2.0], (len(X), 1))]), np.append(y, y)
        W, signs = rng.normal(size=(10, 3)), rng.choice([-1, 1], 10)
        order = rng.permutation(len(X)) if turned else np.arange(len(X))
        path, other = align(X, y, W, signs), align(X[order], y[order], W, signs)
        assert other.fate.tolist() == path.fate.tolist()
        units = X[order] / np.linalg.norm(X, axis=1)[order, None]
        facing = np.argwhere((units @ units.T < -1 + 1e-12) & (y[order, None] == y[order]))
        level, events = (W @ X[order].T > 0).astype(float), other.events
        for k, event in enumerate(events):
            level[event["neuron"], event["datum"]] = event["level"]
            if k + 1 == len(events) or events[k + 1]["time"] > event["time"]:
                assert (np.minimum(*(level[:, side] for side in facing.T)) == 0).all()


def test_who_rests_on_walls_beside_data_that_are_off_is_dead():
    """Opposite data that agree pull always, from their wall too; beside them others are off for good."""
    at_rest = 0
    for seed in range(600):
        rng = np.random.default_rng([seed, 77])
        d = int(rng.integers(2, 5))
        k = int(rng.integers(1, d))  # what pulls lies in so many directions
        basis = rng.normal(size=(k, d)) if seed % 2 else np.eye(d)[:k]
        rows = rng.integers(-2, 3, size=(int(rng.integers(2, 7)), k)) @ basis
        rows = rows[np.abs(rows).max(axis=1) > 1e-9]
        if not len(rows):
            continue
        opposite = -rows[rng.integers(len(rows), size=2)] * rng.choice([0.5, 1, 2], (2, 1))
        X = np.vstack([rows, opposite, rng.normal(size=(int(rng.integers(0, 3)), d))])
        y, W = rng.choice([-1.0, 1.0], len(X)), rng.normal(size=(20, d))
        path = align(X, y, W, rng.choice([-1.0, 1.0], 20))
        (u, late), _, _ = path.state(path.last_event + np.array([1e-6, 1.0]))
        # one that comes ever closer to its walls, and is 1e-13 from them by then, is alive
        active = (u @ X.T > 1e-14 * np.linalg.norm(X, axis=1)).any(axis=1)
        rests = (np.abs(u - late).max(axis=1) < 1e-12) & ~active
        assert (path.fate[rests] == 0).all()
        assert ((last_levels(path, X, W) == 0).all(axis=1) == (path.fate == 0)).all()
        at_rest += rests.sum()
    assert at_rest > 500
