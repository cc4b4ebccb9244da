"""Class-level alignment and elasticity against sampled neurons, duals, small steps and published numbers."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

from firstlight.maths.activations import activation
from firstlight.unseen_classes.definitions.covariance import mean_slope
from firstlight.unseen_classes.theory.classes import class_alignment, class_elasticity
from firstlight.unseen_classes.theory.emergence import emergence

MOMENTS = {
    "similarity": (1.5, -0.7), "spread": (0.6, 0.9), "norm": (1.1, 0.9), "overlap": -0.2,
    "bulk": (0.4, 0.3), "bulk_overlap": 0.1,
}  # fmt: skip


def heads(kind, rng, count):
    if not isinstance(kind, str):
        return rng.choice(kind, count) * np.sqrt(len(kind))
    return rng.normal(size=count) if kind == "gaussian" else rng.choice([-1.0, 1.0], count)


GIVEN = np.random.default_rng(9).standard_t(6, size=1000) / np.sqrt(1000)


@pytest.mark.parametrize("name", ["relu", "shifted_relu", "erf", "tanh", "softplus"])
@pytest.mark.parametrize("head", ["gaussian", "rademacher", GIVEN], ids=["gaussian", "rademacher", "given"])
def test_equals_sampled_neurons(name, head):
    sigma, tau, count = activation(name), 0.8, 400_000
    rng = np.random.default_rng(0)
    t, s, q, v = (MOMENTS[k] for k in ("similarity", "spread", "norm", "bulk"))
    base = rng.multivariate_normal([0, 0], [[q[0], -0.2], [-0.2, q[1]]], count)
    noise = rng.multivariate_normal([0, 0], [[v[0], 0.1], [0.1, v[1]]], count)
    b = np.array(t) + np.array(s) * rng.normal(size=(count, 2))
    shift = (tau * heads(head, rng, count))[:, None] * (b + noise)
    before, after = sigma(base), sigma(base + shift)
    product, moved = after[:, 0] * after[:, 1], (after[:, 0] - before[:, 0]) ** 2
    value = class_alignment(**MOMENTS, tau=tau, activation=sigma, head=head)
    assert abs(value - product.mean()) < 5 * product.std() / np.sqrt(count)
    one = {k: MOMENTS[k][0] for k in ("similarity", "spread", "norm", "bulk")}
    value = class_elasticity(**one, tau=tau, activation=sigma, head=head)
    assert abs(value - moved.mean()) < 5 * moved.std() / np.sqrt(count)


@pytest.mark.parametrize("name", ["relu", "erf"])
def test_cosine_is_the_average_of_ratios(name):
    # rank one: given (b, b') the kernel and the norms are closed duals; average their ratio over a fine grid
    sigma, tau, q, c = activation(name), 0.7, 1.1, 0.3
    t, s = (1.2, 2.0), (0.8, 0.5)
    z, w = np.polynomial.hermite_e.hermegauss(80)
    b, b2 = t[0] + s[0] * z[:, None], t[1] + s[1] * z
    first, second = q + tau**2 * b**2, q + tau**2 * b2**2
    ratio = sigma.dual(first, second, c + tau**2 * b * b2)
    ratio = ratio / np.sqrt(sigma.second_moment(np.sqrt(first)) * sigma.second_moment(np.sqrt(second)))
    expected = w @ ratio @ w / w.sum() ** 2
    law = {"similarity": t, "spread": s, "norm": (q, q), "overlap": c, "tau": tau, "activation": sigma}
    assert class_alignment(**law, kind="cosine") == pytest.approx(expected, rel=1e-6)
    assert class_alignment(**law, kind="cosine", head="rademacher") < 1


@pytest.mark.parametrize("seed", range(4))
def test_cosines_after_strong_steps_are_those_of_signs(seed):
    """A saturating σ tells the sign of ταb: E sign b E sign b'. Through 200 nodes it was off by up to .03."""
    rng = np.random.default_rng(seed)
    t, s, tau = rng.uniform(-1, 1, 2), rng.uniform(0.5, 1.5, 2), 3e5
    expected = np.prod(1 - 2 * norm.cdf(-t / s))
    law = {"similarity": t, "spread": s, "norm": (1.0, 1.0), "overlap": 0.0, "tau": tau, "activation": "erf"}
    # where |ταb| is about one: √q/(τ s) of either class, and as much again near α = 0
    found = class_alignment(**law, kind="cosine")
    assert found == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize("name", ["tanh", "sigmoid"])
@pytest.mark.parametrize("shift", [30.0, 300.0])
def test_steps_of_short_samples_are_as_long_as_the_activation_is_wide(name, shift):
    """Against a fine grid; heads were fine only where shifts were about √q, up to half a per cent off."""
    sigma, q = activation(name), 1e-4
    z, w = np.polynomial.hermite_e.hermegauss(40)
    alpha = np.linspace(-8.5, 8.5, 40_001)
    chance = np.exp(-(alpha**2) / 2) / np.exp(-(alpha**2) / 2).sum()
    before, after = sigma(np.sqrt(q) * z), sigma(np.sqrt(q) * z[:, None] + shift * alpha)
    moved = w @ (after - before[:, None]) ** 2 @ chance / w.sum()
    alike = (w @ after / w.sum()) ** 2 @ chance
    # 1e-6: of the spline that movements are looked up in
    assert class_elasticity(shift, 0.0, q, tau=1.0, activation=name) == pytest.approx(moved, rel=1e-6)
    two = {"similarity": (shift, shift), "spread": (0.0, 0.0), "norm": (q, q), "overlap": 0.0}
    assert class_alignment(**two, tau=1.0, activation=name) == pytest.approx(alike, rel=1e-6)


def test_waves_that_alignment_does_not_follow_are_told():
    two = {"similarity": (-7.3, -7.3), "spread": (0.0, 0.0), "norm": (0.02, 0.02), "overlap": 0.004}
    with pytest.warns(UserWarning, match="alignment of cos is not resolved"):  # in the heads
        class_alignment(**two, tau=1500.0, activation="cos")
    with pytest.warns(UserWarning, match="alignment of cos is not resolved"):  # within a neuron
        class_alignment(**{**two, "spread": (5.0, 5.0)}, tau=10.0, activation="cos", head="rademacher")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert class_alignment(**two, tau=0.5, activation="cos") == pytest.approx(0.5, abs=0.02)


def test_the_order_of_arguments():
    law = {"similarity": 1.0, "spread": 0.5, "norm": 1.2, "bulk": 0.1, "tau": 0.6, "activation": "relu"}
    assert class_elasticity(1.0, 0.5, 1.2, 0.1, 0.6, "relu") == class_elasticity(**law)
    with pytest.raises(ValueError, match="tau = nan"):
        class_elasticity(1.0, 0.5, 1.2)


def test_rank_one_without_spread_is_the_dual():
    for name in ("relu", "tanh"):
        sigma, tau, t, q, c = activation(name), 0.6, 2.0, 1.2, 0.4
        law = {"similarity": (t, t), "spread": (0.0, 0.0), "norm": (q, q), "overlap": c, "tau": tau}
        big = q + tau**2 * t**2
        expected = float(sigma.dual(big, big, c + tau**2 * t**2))
        assert class_alignment(**law, activation=sigma) == pytest.approx(expected, rel=1e-7)
        moved = sigma.dual(big, big, big) + sigma.dual(q, q, q) - 2 * sigma.dual(q, big, q)
        value = class_elasticity(similarity=t, spread=0.0, norm=q, tau=tau, activation=sigma)
        assert value == pytest.approx(float(moved), rel=1e-6)


@pytest.mark.parametrize("name", ["relu", "erf", "tanh"])
def test_small_steps(name):
    sigma, tau, t, s, v = activation(name), 1e-3, 2.0, 0.7, 0.3
    c1 = mean_slope(sigma)
    law = {"spread": (s, s), "norm": (1.0, 1.0), "overlap": 1e-4, "activation": sigma}
    rise = class_alignment(**law, similarity=(t, -t), tau=tau) - class_alignment(
        **law, similarity=(t, -t), tau=0.0
    )
    slope_square = float(sigma.dual_derivative(1, 1, 1))
    # to first order in τ²: ΔK = c_1² τ² t t' plus what larger variances do, which is of order overlap here
    assert class_elasticity(
        similarity=t, spread=s, norm=1.0, bulk=v, tau=tau, activation=sigma
    ) == pytest.approx(tau**2 * slope_square * (t**2 + s**2 + v), rel=5e-3)
    if name != "relu":  # for a ReLU E σ ≠ 0, and larger variances raise it as well
        assert rise == pytest.approx(-(c1**2) * tau**2 * t**2, rel=1e-3)


def test_numbers_of_the_notes():
    sigma = activation("shifted_relu")
    law = {"similarity": (3.0, 3.0), "norm": (1.0, 1.0), "overlap": 0.0, "tau": 0.5, "activation": sigma}
    cosines = [class_alignment(**law, spread=(s, s), kind="cosine") for s in (0.0, 8.0)]
    moved = [
        class_elasticity(similarity=3.0, spread=s, norm=1.0, tau=0.5, activation=sigma) for s in (0.0, 8.0)
    ]
    # at fixed t more spread lowers the cosine and raises the elasticity: the conditions are not identical
    assert cosines == pytest.approx([0.66, 0.29], abs=0.005)
    assert moved == pytest.approx([0.96, 8.39], abs=0.005)
    # and at very small norms the cohesion of a shifted ReLU falls before it rises
    small = {"spread": (0.0, 0.0), "norm": (0.05, 0.05), "overlap": 0.0, "tau": 1.0, "activation": sigma}
    dip = [class_alignment(**small, similarity=(t, t)) for t in (0.0, 0.2)]
    assert dip == pytest.approx([0.0959, 0.0894], abs=5e-5)


@settings(deadline=None, derandomize=True, max_examples=12)
@given(
    st.sampled_from(["relu", "shifted_relu", "erf", "tanh", "softplus"]),
    st.floats(0, 3), st.floats(0.1, 3), st.floats(0, 2), st.floats(0.2, 3), st.floats(0, 1),
    st.floats(0.05, 2),
)  # fmt: skip
def test_elasticity_grows_with_similarity(name, t, more, spread, norm, bulk, tau):
    law = {"spread": spread, "norm": norm, "bulk": bulk, "tau": tau, "activation": name}
    low, high = (class_elasticity(similarity=value, **law) for value in (t, t + more))
    mirrored = class_elasticity(similarity=-t, **law)
    assert high >= low * (1 - 1e-6)  # the spline and the quadrature are good to better than 1e-6
    assert mirrored == pytest.approx(low, rel=1e-6, abs=1e-12)


def test_emergence():
    weak = emergence(similarity=0.1, spread=1.0, norm=1.0, overlap=0.2, bulk=0.5, tau=0.5)
    assert not weak.emerges
    at_threshold = emergence(similarity=weak.threshold, spread=1.0, norm=1.0, overlap=0.2, bulk=0.5, tau=0.5)
    assert min(at_threshold.strength, at_threshold.snr) == pytest.approx(1)
    assert emergence(1.001 * weak.threshold, 1.0, 1.0, 0.2, 0.5, tau=0.5).emerges
    scattered = emergence(similarity=9.0, spread=10.0, norm=1.0, overlap=0.2, tau=5.0)
    assert scattered.strength > 1
    assert not scattered.emerges
    # at mean_strength 1 a small step has doubled cohesion: τ²t² = c, here both small against q
    law = {"spread": (0.0, 0.0), "norm": (1.0, 1.0), "overlap": 0.01, "activation": "erf"}
    at = emergence(similarity=2.0, spread=0.0, norm=1.0, overlap=0.01, tau=0.05)
    assert at.mean_strength == pytest.approx(1)
    ratio = class_alignment(**law, similarity=(2.0, 2.0), tau=0.05) / class_alignment(
        **law, similarity=(2.0, 2.0), tau=0.0
    )
    assert ratio == pytest.approx(2, rel=0.02)  # first order in c = 0.01
    assert emergence(0.0, 0.0, 1.0, 1.0, tau=0.0).strength == 0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"norm": (0.0, 1.0)}, "norm = 0.0: must be a number above 0"),
        ({"spread": (-1.0, 1.0)}, "spread = -1.0"),
        ({"bulk": (np.nan, 1.0)}, "bulk: holds NaN"),
        ({"similarity": (np.inf, 1.0)}, "similarity"),
        ({"similarity": 1.0}, r"similarity: shape \(\), must be \(2,\)"),
        ({"spread": (1.0, 1.0, 1.0)}, r"spread: shape \(3,\), must be \(2,\)"),
        ({"overlap": 2.0}, "overlap = 2.0"),
        ({"bulk_overlap": 2.0}, "bulk_overlap = 2.0"),
        ({"tau": -1.0}, "tau = -1.0"),
        ({"tau": 1e200}, r"tau = 1e\+200: must be a number in \[0, 1e\+30\]"),
        ({"kind": "angle"}, "kind = 'angle'"),
        ({"head": "cauchy"}, "head = 'cauchy'"),
        ({"head": [[1.0]]}, "head: shape"),
        ({"activation": "relux"}, "activation = 'relux'"),
        (
            {"activation": "step", "overlap": 0.99999, "norm": (1.0, 1.0), "similarity": (0.0, 0.0)},
            "too alike",
        ),
    ],
)
def test_bad_input(change, message):
    law = {**MOMENTS, "tau": 0.5, "activation": "relu"} | change
    with pytest.raises(ValueError, match=message):
        class_alignment(**law)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"spread": -1.0}, "spread = -1.0"),
        ({"similarity": np.nan}, "similarity"),
        ({"overlap": 2.0}, "overlap"),
        ({"overlap": -2.0}, "overlap = -2.0: must lie within ± norm = 1.0"),
        ({"overlap": np.nan}, "overlap = nan"),
    ],
)  # fmt: skip
def test_emergence_refuses(change, message):
    law = {"similarity": 1.0, "spread": 1.0, "norm": 1.0, "overlap": 0.1, "tau": 1.0} | change
    with pytest.raises(ValueError, match=message):
        emergence(**law)


def test_heads_of_zero_move_nothing():
    moments = {"similarity": 1.0, "spread": 0.5, "norm": 1.0, "tau": 0.5, "activation": "relu"}
    assert class_elasticity(**moments, head=np.zeros(2)) == 0
