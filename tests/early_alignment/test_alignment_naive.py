"""The compiled walk against a plain one: no Gram matrix, no shortcuts, all data looked at in every event."""

from dataclasses import replace

import numpy as np
import pytest

from firstlight.data.separable import separable
from firstlight.early_alignment.theory.align import align


def plain_walk(X, y, w, sign):
    """Events (time, datum, on) of one balanced neuron on separable data, its last direction and log ‖w‖."""
    w, time, log_norm, events = w / np.linalg.norm(w), 0.0, 0.0, []
    active = X @ w > 0
    while active.any():
        c = sign * (y[active] @ X[active])
        q, b, C = X @ w, X @ c, np.linalg.norm(c)
        with np.errstate(divide="ignore", invalid="ignore"):
            distance = np.where(active == (b < 0), np.maximum(-q / b, 0), np.inf)
        i = int(np.argmin(distance))
        if distance[i] == np.inf:
            break
        a = w @ c / C
        across = np.linalg.norm(w - a * c / C)
        time += (np.arcsinh((a + C * distance[i]) / across) - np.arcsinh(a / across)) / C
        w = w + distance[i] * c
        log_norm += np.log(np.linalg.norm(w))
        w /= np.linalg.norm(w)
        active[i] ^= True
        events.append((time, i, bool(active[i])))
    return events, w, log_norm


@pytest.mark.parametrize(
    ("n", "d", "mu", "balance"),
    [(3, 2, 0.5, 0.5), (40, 3, 0.02, 0.3), (150, 12, 0.1, 0.5), (60, 90, 0.4, 1.0), (2100, 4, 0.05, 0.5)],
)
def test_every_event_of_every_neuron(n, d, mu, balance):
    rng = np.random.default_rng(n)
    X, y = separable(n, d, mu, rng, balance=balance, norms=(0.3, 2.0))
    h = 12 if n < 1000 else 2
    W, signs = rng.normal(size=(h, d)), rng.choice([-1, 1], h)
    path = align(X, y, W, signs)
    result = path.events
    for j in range(h):
        events, w, log_norm = plain_walk(X, y, W[j], signs[j])
        mine = result[result["neuron"] == j]
        assert mine["datum"].tolist() == [datum for _, datum, _ in events]
        assert mine["level"].tolist() == [float(on) for _, _, on in events]
        # Both walks round in each of up to n events.
        assert np.allclose(mine["time"], [time for time, _, _ in events], rtol=1e-11, atol=0)
        if events:
            u, growth, ratio = (part[j] for part in path.state(events[-1][0]))
            assert np.allclose(u, w, rtol=0, atol=1e-12)
            assert growth == pytest.approx(log_norm, abs=1e-11)
            assert ratio == pytest.approx(signs[j], abs=1e-12)


@pytest.mark.parametrize("seed", range(8))
def test_turned_scaled_and_reordered_problems_have_the_same_paths(seed):
    """Rotations of all, orders of data and neurons, and units of the data, which set the time."""
    rng = np.random.default_rng(seed)
    n, d, h = int(rng.integers(20, 300)), int(rng.integers(2, 9)), 10
    if seed % 2:  # walls that attract: sliding, and data that flip many times
        X, y = rng.normal(size=(n, d)), rng.choice([-1.0, 1.0], n)
    else:
        X, y = separable(n, d, 0.1, rng, norms=(0.2, 3.0))
    W = rng.normal(size=(h, d))
    v = rng.normal(size=h) if seed % 4 > 1 else rng.choice([-1, 1], h) * np.linalg.norm(W, axis=1)
    path = align(X, y, W, second_layer=v)
    turn = np.linalg.qr(rng.normal(size=(d, d)))[0]
    data, neurons, unit = rng.permutation(n), rng.permutation(h), 2.0 ** rng.integers(-20, 20)
    other = align(unit * (X @ turn)[data], y[data], (W @ turn)[neurons], second_layer=v[neurons])
    np.testing.assert_array_equal(other.fate, path.fate[neurons])
    np.testing.assert_array_equal(other.complete, path.complete[neurons])
    assert len(other.events) == len(path.events)
    # exact but for rounding, which the events of random data amplify
    np.testing.assert_allclose(unit * other.entry_time, path.entry_time[neurons], rtol=1e-9)
    np.testing.assert_allclose(unit * other.death_time, path.death_time[neurons], rtol=1e-9)
    times = np.linspace(0, path.last_event, 6)
    np.testing.assert_allclose(
        other.direction(times / unit), (path.direction(times) @ turn)[:, neurons], atol=1e-8
    )


def test_norms_over_eleven_decades():
    """What a long datum leaves behind in sums is not rounding of the short ones that remain."""
    rng = np.random.default_rng(0)
    for _ in range(5):
        X, y = separable(8, 4, 0.2, rng)
        X = X * 10 ** rng.uniform(-5.5, 5.5, (8, 1))
        W, signs = rng.normal(size=(12, 4)), rng.choice([-1, 1], 12)
        path = align(X, y, W, signs).events
        for j in range(12):
            events, _, _ = plain_walk(X, y, W[j], signs[j])
            mine = path[path["neuron"] == j]
            assert mine["datum"].tolist() == [datum for _, datum, _ in events]
            # w comes as near to 0 as 1e-4 of its start, where rounding is 1e4 times as large.
            assert np.allclose(mine["time"], [time for time, _, _ in events], rtol=1e-10, atol=0)


def test_a_list_of_times_is_those_times_one_by_one():
    rng = np.random.default_rng(0)
    X, y = separable(30, 5, 0.2, rng)
    path = align(X, y, rng.normal(size=(7, 5)), second_layer=rng.normal(size=7))
    times = np.array([0.3, 0.0, 1e3, 0.05, 0.3]) * path.last_event
    together = path.state(times)
    assert together[0].shape == (5, 7, 5)
    for k, t in enumerate(times):
        for part, alone in zip(together, path.state(t), strict=True):
            np.testing.assert_allclose(part[k], alone, rtol=1e-12, atol=1e-14)  # products of other sizes
    np.testing.assert_allclose(path.direction(times), together[0], rtol=1e-12, atol=1e-14)
    assert [part.shape for part in path.state([])] == [(0, 7, 5), (0, 7), (0, 7)]
    with pytest.raises(ValueError, match="t = "):
        path.direction(np.array([0.0, -1.0]))


@pytest.mark.parametrize("seed", range(20))
def test_the_kept_end_is_where_the_events_lead(seed):
    """Data separable or not, balanced or not: the last state, kept, against all events replayed."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(2, 60)), int(rng.integers(2, 12))
    X, y = separable(n, d, 0.2, rng) if seed % 2 else (rng.normal(size=(n, d)), rng.choice([-1, 1], n))
    path = align(X, y, rng.normal(size=(9, d)), second_layer=rng.normal(size=9))
    rows, centres, known = path._ends
    assert known.any() or seed % 2 == 0  # on other data neurons may end elsewhere, sliding
    plain = replace(path, _ends=(rows, centres, np.zeros_like(known)))
    for t in (path.last_event, 2 * path.last_event + 1, np.sort(path.entry_time)[0]):
        for kept, walked in zip(path.state(min(t, 1e6)), plain.state(min(t, 1e6)), strict=True):
            # Rounding of a few hundred sums.
            np.testing.assert_allclose(kept, walked, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(path.time_to_cosine(0.01), plain.time_to_cosine(0.01), rtol=1e-11)
