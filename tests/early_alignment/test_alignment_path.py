"""The exact solver against closed forms, independent integration, and its own invariants."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import solve_ivp

from firstlight.data.separable import separable, toy, two_points
from firstlight.early_alignment.experiment.flow import integrate
from firstlight.early_alignment.theory.align import align


def unit(rows):
    return rows / np.linalg.norm(rows, axis=-1, keepdims=True)


def starts(rng, h, d):
    return unit(rng.normal(size=(h, d))), rng.choice([-1.0, 1.0], h)


def reference(X, y, W, v, t, rtol=1e-11):
    """The limit dynamics w' = v c(w), v' = <w, c(w)>, by an ODE solver, neuron by neuron."""

    def rhs(_, z):
        w, v = z[:-1], z[-1]
        c = y[X @ w > 0] @ X[X @ w > 0]
        return np.append(v * c, w @ c)

    ends = [solve_ivp(rhs, (0, t), np.append(w, b), "DOP853", rtol=rtol, atol=1e-13).y[:, -1]
            for w, b in zip(W, v, strict=True)]  # fmt: skip
    return np.array(ends)


@pytest.mark.parametrize("angle", [0.2, 1.0, 1.5])
@pytest.mark.parametrize("delta", [0.1, 1e-3, 1e-6])
def test_two_points_law(angle, delta):
    path = align(*two_points(delta), [[np.cos(angle), -np.sin(angle)]], [1])
    law = np.log(np.tan(angle / 2) / np.tan(delta / 2))
    assert path.fate.tolist() == [1]
    assert path.entry_time[0] == pytest.approx(law, rel=1e-12)


def test_one_segment_in_closed_form():
    """One datum, always active: cos(u, x) = tanh(t‖x‖ + artanh c0), and ‖w‖ grows by cosh + c0 sinh."""
    x, u0 = np.array([[1.2, -0.7, 0.3]]), unit(np.array([[1.0, 1.0, 1.0]]))
    C = np.linalg.norm(x)
    c0 = float(u0[0] @ x[0] / C)
    path = align(x, [1], u0, [1])
    for t in (0.0, 0.3, 2.0, 40.0):
        u, growth, second = path.state(t)
        assert u[0] @ x[0] / C == pytest.approx(np.tanh(C * t + np.arctanh(c0)), abs=1e-12)
        assert growth[0] == pytest.approx(np.log(np.cosh(C * t) + c0 * np.sinh(C * t)), abs=1e-12)
        assert second[0] == pytest.approx(1, abs=1e-12)
    gap = 1e-3
    expected = (np.arctanh(1 - gap) - np.arctanh(c0)) / C
    assert path.time_to_cosine(gap)[0] == pytest.approx(expected, rel=1e-12)
    assert path.state(1e300)[1][0] == pytest.approx(C * 1e300, rel=1e-12)


@pytest.mark.parametrize("angle", np.linspace(0.12, np.pi / 2 - 0.02, 9))
def test_dead_or_saved(angle):
    """A positive neuron that only sees a negative datum: saved if the positive one comes in sight first.

    With the negative datum at angle 0 and the neuron at angle a it walks w(sigma) = (cos a - sigma, sin a).
    It loses that datum at sigma = cos a, and gains the positive one, at angle p, where <w, x+> = 0.
    """
    p = np.pi / 2 + 0.9
    X, y = np.array([[1.0, 0.0], [np.cos(p), np.sin(p)]]), [-1, 1]
    gained = np.cos(angle) + np.sin(angle) * np.tan(
        p
    )  # sigma at which cos p (cos a - sigma) + sin p sin a = 0
    path = align(X, y, [[np.cos(angle), np.sin(angle)]], [1])
    if np.cos(angle) * np.cos(p) + np.sin(angle) * np.sin(p) > 0 or 0 < gained < np.cos(angle):
        assert path.fate.tolist() == [1]
    else:
        assert path.fate.tolist() == [0]
        # asinh of the way along c, which starts at -cos a and ends at 0, at distance sin a from the origin
        assert path.death_time[0] == pytest.approx(np.arcsinh(1 / np.tan(angle)), rel=1e-12)


def test_dead_or_saved_sees_both():
    p = np.pi / 2 + 0.9
    X, y = np.array([[1.0, 0.0], [np.cos(p), np.sin(p)]]), [-1, 1]
    a = np.linspace(-np.pi / 2 + 0.05, np.pi / 2 - 0.02, 40)
    fates = align(X, y, np.column_stack([np.cos(a), np.sin(a)]), np.ones(40)).fate
    assert set(fates.tolist()) == {0, 1}
    assert np.abs(np.diff(fates)).sum() == 1  # one boundary between death and rescue


def test_error_of_the_limit_falls_as_the_square_of_the_scale():
    X, y = separable(8, 4, 0.2, 1)
    W, s = starts(np.random.default_rng(2), 16, 4)
    t = 0.6
    exact = align(X, y, W, s).direction(t)
    errors = []
    for eps in (1e-2, 1e-3, 1e-4, 1e-8):
        run = integrate(X, y, W, np.full(16, np.log(eps)), s, [t], tolerance=1e-10)
        errors.append(np.abs(run.directions[0] - exact).max())
    assert 50 < errors[0] / errors[1] < 200  # 100 in the limit
    assert 50 < errors[1] / errors[2] < 200
    assert errors[3] < 5e-8  # the integrator's own error at the kinks


@pytest.mark.parametrize(("loss", "gain"), [("exp", 1.0), ("logistic", 0.5), ("logistic2", 1.0)])
@pytest.mark.parametrize("reduction", ["sum", "mean"])
def test_every_loss_has_its_own_speed(loss, gain, reduction):
    X, y = separable(6, 3, 0.3, 1)
    W, s = starts(np.random.default_rng(1), 6, 3)
    t = 0.5 / gain * (6 if reduction == "mean" else 1)
    exact = align(X, y, W, s, loss=loss, reduction=reduction).direction(t)
    run = integrate(X, y, W, np.full(6, -25.0), s, [t], loss=loss, reduction=reduction, tolerance=1e-9)
    assert np.abs(run.directions[0] - exact).max() < 1e-6  # kinks, at tolerance 1e-9


@pytest.mark.parametrize("seed", range(3))
def test_unbalanced_starts_against_integration(seed):
    rng = np.random.default_rng(seed)
    X, y = separable(7, 3, 0.3, rng, norms=(0.5, 2.0))
    W, _ = starts(rng, 5, 3)
    v = np.array([0.3, -0.5, 1.5, 0.05, -0.1])
    path = align(X, y, W, second_layer=v)
    t = 0.7
    end = reference(X, y, W, v, t)
    u, growth, second = path.state(t)
    lengths = np.linalg.norm(end[:, :-1], axis=1)
    # 1e-8: what DOP853 leaves at the kinks with rtol 1e-11
    assert np.abs(u - end[:, :-1] / lengths[:, None]).max() < 1e-8
    assert np.abs(growth - np.log(lengths)).max() < 1e-8
    assert np.abs(second - end[:, -1] / lengths).max() < 1e-8
    assert (np.sign(second) != np.sign(v)).any()  # the interesting case is among them
    # v² - ‖w‖² is conserved
    assert np.allclose((second**2 - 1) * np.exp(2 * growth), v**2 - 1, rtol=1e-10, atol=1e-11)


def test_lengths_matter_only_relative_to_the_second_layer():
    X, y = separable(9, 4, 0.3, 0)
    W, s = starts(np.random.default_rng(0), 10, 4)
    balanced = align(X, y, W, s)
    same = align(X, y, 3 * W, second_layer=3 * s)
    assert np.array_equal(balanced.fate, same.fate)
    assert np.allclose(balanced.entry_time, same.entry_time, rtol=1e-12)


@settings(max_examples=25, deadline=None, derandomize=True)
@given(st.integers(2, 16), st.integers(2, 6), st.floats(0.02, 0.9), st.integers(0, 10**6))
def test_patterns_are_monotone_and_events_at_most_n(n, d, mu, seed):
    rng = np.random.default_rng(seed)
    X, y = separable(n, d, mu, rng, norms=(0.5, 2.0))
    W, s = starts(rng, 20, d)
    path = align(X, y, W, s)
    events = path.events
    assert (np.diff(events["time"]) >= 0).all()
    assert set(np.unique(events["level"])) <= {0.0, 1.0}
    own = y[events["datum"]] == s[events["neuron"]]
    assert np.array_equal(events["level"] == 1, own)  # own class only on, the other only off
    assert len(np.unique(events[["neuron", "datum"]])) == len(events)
    assert path.complete.all()
    # the recorded events rebuild the patterns that the directions have
    for t in (0.5 * path.last_event, 1.1 * path.last_event):
        level = W @ X.T > 0
        for event in events[events["time"] <= t]:
            level[event["neuron"], event["datum"]] = event["level"]
        q = path.direction(t) @ X.T
        assert ((q > 0) == level)[np.abs(q) > 1e-12].all()


@pytest.mark.parametrize("kind", ["separable", "unbalanced", "random labels"])
def test_no_event_is_missed_among_many_data(kind):
    """The kernel looks only at the data that can be met soon; the patterns tell if it errs."""
    rng = np.random.default_rng(0)
    X, y = separable(180, 6, 0.1, rng, norms=(0.3, 3.0))
    if kind == "random labels":
        y = rng.choice([-1.0, 1.0], 180)
    W, s = starts(rng, 12, 6)
    path = (
        align(X, y, W, second_layer=s * rng.uniform(0.2, 2, 12))
        if kind == "unbalanced"
        else align(X, y, W, s)
    )
    assert path.complete.all()
    events = path.events
    assert len(events) > 500
    for event in events[::29]:  # at its event a datum lies on its wall
        assert abs(path.direction(event["time"])[event["neuron"]] @ X[event["datum"]]) < 1e-10
    level = (W @ X.T > 0).astype(float)
    done = 0
    for t in np.quantile(events["time"], np.linspace(0.02, 1, 40)):
        while done < len(events) and events["time"][done] <= t:
            level[events["neuron"][done], events["datum"][done]] = events["level"][done]
            done += 1
        q = path.direction(t) @ X.T
        clear = np.abs(q) > 1e-9
        assert np.array_equal(q[clear] > 0, level[clear] > 0.5)


def test_the_state_is_continuous_across_events():
    X, y = separable(30, 6, 0.1, 0)
    W, s = starts(np.random.default_rng(0), 10, 6)
    path = align(X, y, W, s)
    for t in path.events["time"][::25]:
        before, after = path.state(t * (1 - 1e-12)), path.state(t * (1 + 1e-12))
        for a, b in zip(before, after, strict=True):
            assert np.abs(a - b).max() < 1e-9


def test_more_dimensions_than_data_are_cut_without_loss():
    """Rotating into the span keeps the clock, because the rest of each row is kept as one coordinate."""
    rng = np.random.default_rng(0)
    X, y = separable(6, 40, 0.3, rng)
    W, s = starts(rng, 12, 40)
    path = align(X, y, W, s)
    padded = align(np.vstack([X, X * 1e-9]).repeat(4, axis=0), np.tile(y, 2).repeat(4), W, s)
    assert padded.X.shape[0] > 40  # no cut there
    assert np.array_equal(path.fate, padded.fate)
    assert np.allclose(path.entry_time, 4 * padded.entry_time, rtol=1e-6)  # four copies: four times as fast


def test_until_cuts_the_path():
    X, y = separable(20, 5, 0.2, 0)
    W, s = starts(np.random.default_rng(0), 20, 5)
    whole = align(X, y, W, s)
    half = 0.3 * whole.last_event
    part = align(X, y, W, s, until=half)
    assert part.last_event <= half
    assert not part.complete.all()
    assert np.allclose(part.direction(half), whole.direction(half), atol=1e-14)
    with pytest.raises(ValueError, match="t = "):
        part.direction(2 * half)


def test_results_do_not_depend_on_the_number_of_threads():
    import numba

    X, y = separable(20, 5, 0.2, 0)
    W, s = starts(np.random.default_rng(0), 40, 5)
    many = align(X, y, W, s)
    threads = numba.get_num_threads()
    try:
        numba.set_num_threads(1)
        one = align(X, y, W, s)
    finally:
        numba.set_num_threads(threads)
    assert np.array_equal(many.events, one.events)


def test_growth_beyond_floating_point():
    """log ‖w‖ is followed, not ‖w‖: hundreds of e-foldings are harmless."""
    X, y = toy()
    path = align(X, y, [[0.3, 1.0]], [1])
    assert path.log_growth(1e4)[0] == pytest.approx(1e4 * np.linalg.norm(X[y > 0].sum(axis=0)), rel=1e-3)


def test_a_start_on_the_dead_wall_is_frozen_with_a_note():
    path = align([[1, 0]], [1], [[0, 1], [1, 1]], [1, 1])
    assert path.fate.tolist() == [0, 1]
    assert path.death_time[0] == 0
    assert "frozen" in path.notes[0]
    assert path.direction(5.0)[0].tolist() == [0, 1]


def test_a_start_on_the_ray_of_the_other_centre_stays_there():
    path = align([[1, 0], [-1, 0]], [1, -1], [[-1.0, 0.0]], [1])
    assert path.fate.tolist() == [-1]
    assert path.log_growth(3.0)[0] == pytest.approx(-3.0)  # it shrinks for ever


def test_an_unbalanced_neuron_can_shrink_to_nothing():
    path = align([[1.0]], [-1], [[1.0]], second_layer=[2.0])
    # w' = -v, v' = -w: (w, v) = (cosh t - 2 sinh t, 2 cosh t - sinh t), zero at tanh t = 1/2
    assert path.fate.tolist() == [0]
    assert path.death_time[0] == pytest.approx(np.arctanh(0.5), rel=1e-12)
    assert path.log_growth(1.0)[0] == -np.inf
    assert path.log_growth(0.3)[0] == pytest.approx(np.log(np.cosh(0.3) - 2 * np.sinh(0.3)), abs=1e-12)


def test_duplicates_flip_together():
    X, y = separable(6, 3, 0.3, 0)
    W, s = starts(np.random.default_rng(0), 10, 3)
    twice = align(np.vstack([X, X]), np.tile(y, 2), W, s)
    once = align(X, y, W, s)
    assert np.array_equal(twice.fate, once.fate)
    assert len(twice.events) == 2 * len(once.events)
    assert np.allclose(2 * twice.entry_time, once.entry_time, rtol=1e-12)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"y": [1, 3]}, r"y\[1\] = 3"),
        ({"X": [[1, 0], [0, 0]]}, r"X\[1\] = 0"),
        ({"directions": [[0, 0]]}, r"directions\[0\] = 0"),
        ({"directions": [[1, 0, 0]]}, "directions: shape"),
        ({"directions": [[np.inf, 0]]}, "directions.0.: holds NaN"),
        ({"signs": [0]}, r"signs\[0\] = 0"),
        ({"signs": [1, 1]}, "signs: shape"),
        ({"signs": None}, "give one"),
        ({"second_layer": [-1.0]}, r"signs\[0\]: must be the sign of second_layer"),
        ({"signs": None, "second_layer": [np.nan]}, "second_layer"),
        ({"loss": "square"}, "loss = 'square'"),
        ({"reduction": "max"}, "reduction = 'max'"),
        ({"until": -1.0}, "until = -1"),
        ({"until": "soon"}, "until: must be"),
        ({"until": [1.0, 2.0]}, "until = .1.0, 2.0.: must be one number"),
        ({"directions": "up"}, "directions: "),
        ({"directions": [[1, 1], [1]]}, "directions: must be an array of real numbers"),
        ({"directions": [[1j, 1]]}, "directions: must be an array of real numbers"),
        ({"signs": ["+"]}, "signs: must be an array of real numbers"),
        ({"signs": None, "second_layer": "a"}, "second_layer: must be an array of real numbers"),
        ({"signs": None, "second_layer": [1j]}, "second_layer: must be an array of real numbers"),
        ({"signs": None, "second_layer": [1e200]}, r"second_layer\[0\] = 1e\+200: must be at most 1e\+140"),
    ],
)
def test_bad_arguments(change, message):
    good = {"X": [[1, 0], [0, 1]], "y": [1, -1], "directions": [[1, 1]], "signs": [1]}
    with pytest.raises(ValueError, match=message):
        align(**{**good, **change})


@pytest.mark.parametrize("t", ["soon", [[1.0]], [0.0, [1.0]], 1j, np.nan, None])
def test_bad_times(t):
    with pytest.raises(ValueError, match=r"t( = .*)?: must"):
        align([[1, 0]], [1], [[1, 1]], [1]).state(t)


def test_a_start_on_the_other_centre_s_ray_shrinks_for_ever():
    """Such a neuron points straight at 0, and is there only after an infinite time."""
    for seed in range(20):
        X, y = separable(11, 5, 0.3, seed)
        center = X[y < 0].sum(axis=0)
        path = align(X, y, [center], [1])
        assert path.fate.tolist() == [-1]
        assert len(path.events) == 0
        u, growth, second = path.state(1e3)
        assert np.allclose(u[0], center / np.linalg.norm(center), rtol=0, atol=1e-14)
        assert growth[0] == pytest.approx(-1e3 * np.linalg.norm(center), rel=1e-12)
        assert second[0] == pytest.approx(1)
    # In one dimension there is no other way to be opposed.
    line = align([[1.0], [2.0], [-3.0]], [1, 1, -1], [[1.0], [-1.0]], [-1, 1])
    assert line.fate.tolist() == [1, -1]
    assert line.log_growth(5.0).tolist() == [-15.0, -15.0]


def test_a_start_near_that_ray_leaves_it_in_the_time_of_the_closed_form():
    X, a = np.array([[-1.0, 0.0]]), 1e-9  # a positive neuron, a negative datum: it turns until it is off
    path = align(X, [-1], [[-np.cos(a), np.sin(a)]], [1])
    assert path.death_time[0] == pytest.approx(-np.log(np.tan(a / 2)), rel=1e-12)


def test_lengths_far_from_one_do_not_matter():
    X, y = toy()
    W, s = starts(np.random.default_rng(0), 20, 2)
    plain = align(X, y, W, s)
    for length in (1e-250, 1e250):
        assert np.allclose(align(X, y, length * W, s).entry_time, plain.entry_time, rtol=1e-12)
        unbalanced = align(X, y, length * W, second_layer=length * s)
        assert np.allclose(unbalanced.entry_time, plain.entry_time, rtol=1e-9)
    assert np.allclose(align(1e90 * X, y, W, s).entry_time, 1e-90 * plain.entry_time, rtol=1e-12)
    with pytest.raises(ValueError, match="rescale the data"):
        align(1e200 * X, y, W, s)


def test_arguments_in_the_order_of_their_importance_and_a_short_name():
    X, y = toy()
    path = align(X, y, [[1.0, 2.0], [-1.0, -2.0]], [1, -1], "logistic", None, 3.0)
    assert path.until == 3
    assert repr(path) == "AlignmentPath(2 neurons: 1 in S₊, 1 in S₋; 16 events to t = 0.1478)"
    both = align(X, y, [[1.0, 2.0]], [1], second_layer=[0.3])
    assert np.array_equal(both.direction(1.0), align(X, y, [[1.0, 2.0]], second_layer=[0.3]).direction(1.0))


def test_time_to_cosine_refuses_a_bad_gap():
    with pytest.raises(ValueError, match="gap = 2"):
        align([[1, 0]], [1], [[1, 1]], [1]).time_to_cosine(2)
