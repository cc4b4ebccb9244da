"""The theorem's bounds: never violated, in the right order, and finite at absurdly small scales."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firstlight.data.separable import separable, toy, two_points
from firstlight.early_alignment.experiment.flow import integrate, outputs
from firstlight.early_alignment.theory.align import align
from firstlight.early_alignment.theory.bounds import bounds, worst_path
from firstlight.early_alignment.theory.geometry import geometry


def adversarial(X, y, rng, count):
    """Random directions, and some very close to the centre they must leave."""
    W, s = rng.normal(size=(count, X.shape[1])), rng.choice([-1, 1], count)
    for j in range(0, count, 3):
        other = X[y == -s[j]].sum(axis=0)
        if other.any():
            W[j] = other / np.linalg.norm(other) + rng.choice([1e-1, 1e-3, 1e-5]) * W[j]
    return W, s


@settings(max_examples=40, deadline=None, derandomize=True)
@given(
    st.integers(2, 14), st.integers(2, 6), st.floats(0.01, 0.95), st.integers(0, 10**6), st.floats(0.0, 1.0)
)
def test_bounds_are_never_violated(n, d, mu, seed, balance):
    rng = np.random.default_rng(seed)
    X, y = separable(n, d, mu, rng, balance=balance, norms=(0.3, 3.0))
    W, s = adversarial(X, y, rng, 30)
    promised = bounds(geometry(X, y, W, s), 30, -1e6)
    path = align(X, y, W, s)
    measured = np.where(np.abs(path.fate) == 1, path.entry_time, path.death_time)
    assert np.isfinite(measured).all()
    assert ((path.fate == s) | (path.fate == 0)).all()
    times = promised.alignment_time
    # 1 + 1e-9: rounding only, the bounds hold exactly
    assert measured.max() <= times["sharp"] * (1 + 1e-9)
    assert times["sharp"] <= times["path"] <= times["paper"]
    own = ((W @ X.T > 0) & (y == s[:, None])).any(axis=1)
    assert (path.fate[own] == s[own]).all()  # active on a datum of its own class: never dies


def test_a_violated_bound_would_be_seen():
    """The bound is within a factor of 5 of what happens on two almost orthogonal points."""
    X, y = two_points(1e-6)
    W = [[np.cos(1.5), -np.sin(1.5)]]
    sharp = bounds(geometry(X, y, W, [1]), 1, -1e6).alignment_time["sharp"]
    measured = align(X, y, W, [1]).last_event
    assert sharp / 5 < measured < sharp


@pytest.mark.parametrize("own", range(5))
@pytest.mark.parametrize("other", range(5))
def test_the_worst_path_against_all_paths(own, other):
    """Enumerate every way of dropping the other class and collecting the own one, never losing all data."""

    def slowest(off, on):
        if off == 0 and on in (own, 0):
            return 0.0
        ways = []
        if off and not (off == 1 and on == 0 and own):
            ways.append(slowest(off - 1, on))
        if on < own:
            ways.append(slowest(off, on + 1))
        return 1 / (off + on) + max(ways)

    starts = [(other, 0)] if other else [(0, on) for on in range(1, own + 1)]
    expected = max((slowest(*start) for start in starts), default=0.0)
    path = worst_path(own, other)
    assert (1 / path).sum() == pytest.approx(expected, rel=1e-12)


def test_scales_far_below_floating_point():
    X, y = toy()
    rng = np.random.default_rng(0)
    angles = geometry(X, y, rng.normal(size=(50, 2)), rng.choice([-1, 1], 50))
    promised = bounds(angles, 50, -100_000 * np.log(10))
    assert np.isfinite([*promised.alignment_time.values(), *promised.fitting_time.values()]).all()
    assert promised.phase_end > 0
    assert np.isfinite(promised.log_rank_excess)
    needed = promised.required_log_scale
    assert needed["paper"] < needed["path"] < needed["sharp"] < -100
    assert bounds(angles, 50, needed["paper"]).applies
    assert not bounds(angles, 50, needed["paper"] + 1).applies
    assert bounds(angles, 50, -np.inf).phase_end == np.inf


def test_the_formulas_on_a_case_by_hand():
    # Two positive points at right angles less delta, unit length: mu = sin(delta), m = mu^2 = xi.
    mu = 0.5
    X = np.array([[1.0, 0.0], [mu, np.sqrt(1 - mu**2)]])
    promised = bounds(geometry(X, [1, 1]), width=4, log_scale=-1000.0)
    m = mu**2
    # path for V+: one residence with 1 active datum; for V-: 2 active, then 1
    assert promised.alignment_time["path"] == pytest.approx(4 * 1.5 / (m * np.sqrt(mu)))
    assert promised.alignment_time["paper"] == pytest.approx(16 * np.log(2) / (m * np.sqrt(mu)))
    span = 2 * np.arctanh(np.sqrt(1 - m))
    assert promised.alignment_time["sharp"] == pytest.approx(span * (1 + 1 / np.sqrt(2 * (1 + mu))))
    assert promised.phase_end == pytest.approx((1000 - np.log(2)) / 8)
    assert promised.fitting_rate == pytest.approx(mu**2 / 32)
    assert promised.log_rank_excess == pytest.approx(np.log(8) - 1000)
    # The alignment must end before T = (-log ε - log √h) / 8; at a finite ε the sharp time counts twice.
    required, times = promised.required_log_scale, promised.alignment_time
    for name, factor in (("paper", 1), ("path", 1), ("sharp", 2)):
        assert required[name] == pytest.approx(-np.log(2) - 8 * factor * times[name])
    late = 6 + 4 * (np.log(2 / np.sqrt(mu)) + 2000)
    for name, factor in (("paper", 1), ("path", 1), ("sharp", 2)):
        t1 = factor * times[name]
        assert promised.fitting_time[name] == pytest.approx(t1 + (late + 32 * t1) / (2 * np.sqrt(mu)))


def test_time_scales_with_the_loss_but_rates_do_not():
    angles = geometry(*toy())
    base = bounds(angles, 10, -50.0)
    slow = bounds(angles, 10, -50.0, loss="logistic", reduction="mean")
    assert slow.alignment_time["sharp"] == pytest.approx(2 * 25 * base.alignment_time["sharp"])
    assert slow.phase_end == pytest.approx(50 * base.phase_end)
    assert slow.fitting_rate == base.fitting_rate


def test_the_lemma_on_small_weights():
    """Up to T all norms and outputs are as small as Lemma 1 says; eps = 1e-3."""
    X, y = separable(8, 4, 0.3, 0)
    rng = np.random.default_rng(0)
    h, eps = 12, 1e-3
    u, s = rng.normal(size=(h, 4)), rng.choice([-1.0, 1.0], h)
    u /= np.linalg.norm(u, axis=1, keepdims=True)
    end = bounds(geometry(X, y), h, np.log(eps)).phase_end
    run = integrate(X, y, u, np.full(h, np.log(eps)), s, np.linspace(0, end, 9), tolerance=1e-8)
    assert np.exp(2 * run.log_norms).max() <= 2 * eps / np.sqrt(h)
    largest = max(
        np.abs(outputs(X, *one, s)).max() for one in zip(run.directions, run.log_norms, strict=True)
    )
    assert largest <= 2 * eps * np.sqrt(h)


def test_what_does_not_qualify_gives_nan_and_a_reason():
    angles = geometry([[1, 0], [0, 1], [0, 1]], [1, 1, -1])
    promised = bounds(angles, 5, -10.0)
    assert not promised.applies
    assert "mu" in promised.reason
    assert np.isnan([*promised.alignment_time.values(), promised.phase_end]).all()
    single = bounds(geometry([[1.0, 0]], [1]), 5, -1e3)
    assert np.isnan(single.alignment_time["paper"])  # 16 log 1 = 0 is no bound
    assert np.isnan([single.required_log_scale["paper"], single.fitting_time["paper"]]).all()
    assert single.alignment_time["path"] > 0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"width": 0}, "width = 0"),
        ({"log_scale": np.nan}, "log_scale = nan"),
        ({"loss": "hinge"}, "loss = 'hinge'"),
        ({"reduction": "median"}, "reduction = 'median'"),
        ({"start_norms": (2.0, 1.0)}, "start_norms"),
    ],
)
def test_bad_arguments(change, message):
    with pytest.raises(ValueError, match=message):
        bounds(geometry(*toy()), **{"width": 3, "log_scale": -5.0, **change})
