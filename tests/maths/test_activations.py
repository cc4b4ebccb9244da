"""Activations: derivatives, duals, a user's own functions, bad input."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import firstlight
from firstlight import maths
from firstlight.maths.activations import BUILT_IN, duals
from firstlight.maths.feature_moments import second_moments

SETTINGS = settings(deadline=None, derandomize=True, max_examples=40)
NAMES = [
    *("linear", "relu", "leaky_relu", "shifted_relu", "tanh", "erf", "sigmoid", "softplus", "gelu", "silu"),
    *("sin", "cos", "step", "quadratic", "tanh_squared", "He_2", "He_3", "He_4"),
]
CLOSED = [name for name in NAMES if BUILT_IN[name].closed_dual]

variance = st.floats(0.01, 9)
correlation = st.floats(-1, 1)
# a covariance is only known to rounding, and arccos turns an error of 1e-16 near full correlation into 1e-8
inner_correlation = st.floats(-0.999, 0.999)


def test_the_names_that_were_promised():
    assert set(NAMES) == set(BUILT_IN)
    assert {"linear", "relu", "shifted_relu", "step", "erf", "sin", "cos"} <= set(CLOSED)


@pytest.mark.parametrize("name", NAMES)
def test_derivatives_against_differences(name):
    a = firstlight.activation(name)
    z = np.linspace(-4, 4, 41) + 0.037  # away from the kink at 0
    h = 1e-4
    slope = (a(z - 2 * h) - 8 * a(z - h) + 8 * a(z + h) - a(z + 2 * h)) / (12 * h)
    curvature = (a(z + h) - 2 * a(z) + a(z - h)) / h**2
    size = 1 + np.abs(a(z)).max()
    # differences: rounding 1e-16/h and truncation h^4; for the second, 1e-16/h^2 and h^2 sigma''''
    np.testing.assert_allclose(a.derivative(z), slope, atol=1e-10 * size)
    np.testing.assert_allclose(a.second_derivative(z), curvature, atol=3e-7 * size)


@pytest.mark.parametrize("name", [name for name in NAMES if BUILT_IN[name].together])
def test_all_three_together_are_those_one_by_one(name):
    a, z = BUILT_IN[name], np.linspace(-30, 30, 601)
    for shared, own in zip(a.together(z), (a(z), a.derivative(z), a.second_derivative(z)), strict=True):
        np.testing.assert_allclose(shared, own, rtol=1e-14)  # the same operations: rounding at most


@pytest.mark.parametrize("name", CLOSED)
@SETTINGS
@given(q=variance, p=variance, rho=inner_correlation)
def test_closed_form_and_quadrature_agree(name, q, p, rho):
    a, c = BUILT_IN[name], rho * np.sqrt(q * p)
    for function, closed in ((a.function, a.closed_dual), (a.first, a.closed_dual_derivative)):
        exact = duals.evaluate(function, a.kinks, (closed, None), q, p, c)
        by_rule = maths.pair_expectation(function, function, q, p, c, kinks=a.kinks, other_kinks=a.kinks)
        size = np.sqrt(
            duals.evaluate(function, a.kinks, (closed, None), q, q, q)
            * duals.evaluate(function, a.kinks, (closed, None), p, p, p)
        )
        assert abs(float(exact - by_rule)) <= 1e-8 * max(float(size), 1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_both_quadrature_routes_agree_where_they_meet(name):
    # Mehler's series (fast) against the iterated rule, on either side of the switch between them
    a = BUILT_IN[name]
    rho = np.array([-0.95, -0.7, -0.4, 0.0, 0.2, 0.5, 0.8, 0.95])
    q, p = np.full(8, 0.8), np.full(8, 1.7)
    c = rho * np.sqrt(q * p)
    fast = duals.evaluate(a.function, a.kinks, (None, None), q, p, c)
    slow = maths.pair_expectation(a.function, a.function, q, p, c, kinks=a.kinks, other_kinks=a.kinks)
    np.testing.assert_allclose(fast, slow, atol=1e-11 * float(a.second_moment(np.sqrt(1.7))))


def _nearly_parallel(rng, size=40):
    """Variances over ten decades, and correlations up to 1 - 1e-9: Mehler's series is too short for them."""
    q, p = 10 ** rng.uniform(-2, 8, (2, size))
    rho = (1 - 10 ** rng.uniform(-9, 0, size)) * rng.choice([-1, 1], size)
    return q, p, rho * np.sqrt(q) * np.sqrt(p)


@pytest.mark.parametrize("name", ["erf", "gelu"])
def test_bends_that_a_second_normal_has_blurred_are_resolved(name):
    # without pieces around the blurred bend the rule was wrong by 1e-4 where the blur exceeds 30
    a, (q, p, c) = BUILT_IN[name], _nearly_parallel(np.random.default_rng(1))
    for function, closed in ((a.function, a.closed_dual), (a.first, a.closed_dual_derivative)):
        gap = maths.pair_expectation(function, function, q, p, c) - closed(q, p, c)
        # 1e-8: c of sixteen digits leaves eight of 1 - ρ
        assert np.abs(gap / np.sqrt(closed(q, q, q) * closed(p, p, p))).max() < 1e-8


@pytest.mark.parametrize("name", [name for name in NAMES if BUILT_IN[name].mixture_dual])
def test_mixtures_and_quadrature_agree(name):
    a, (q, p, c) = BUILT_IN[name], _nearly_parallel(np.random.default_rng(2))
    for function, mixture in ((a.function, a.mixture_dual), (a.first, a.mixture_dual_derivative)):
        by_rule = maths.pair_expectation(function, function, q, p, c)
        size = maths.expectation(lambda u, f=function: f(u) ** 2, std=np.sqrt([q, p])).prod(axis=0)
        assert np.abs((mixture(q, p, c) - by_rule) / np.sqrt(size)).max() < 1e-8


@pytest.mark.parametrize("q", [1e2, 1e4, 1e6])
def test_a_dual_keeps_its_digits_at_correlation_minus_one(q):
    # what is left of ±∞ is small: E[σ(u) σ(-u)] falls as 1/√q, while c is -q
    a, width = BUILT_IN["gelu"], 40 / np.sqrt(q)
    z, w = np.polynomial.legendre.leggauss(400)
    u = np.sqrt(q) * width * z
    brute = width * w @ (a(u) * a(-u) * np.exp(-(u**2) / (2 * q))) / np.sqrt(2 * np.pi)
    assert float(a.dual(q, q, -q)) == pytest.approx(brute, rel=1e-9)  # c of sixteen digits, times q at most


@pytest.mark.parametrize("name", ["tanh", "sigmoid", "softplus", "gelu", "silu", "tanh_squared"])
def test_variances_whose_product_overflows_have_duals(name):
    a = BUILT_IN[name]
    for dual in (a.dual, a.dual_derivative):
        huge, large = (float(dual(q, q, 0.9999 * q)) for q in (1e160, 1e20))
        power = {"softplus": 1, "gelu": 1, "silu": 1}.get(name, 0) if dual == a.dual else 0
        if large > 1e-9:  # else it falls with the variance, to nothing
            assert huge / 1e160**power == pytest.approx(large / 1e20**power, rel=1e-6)
        assert np.isfinite(huge)


@pytest.mark.parametrize("name", NAMES)
def test_no_built_in_activation_needs_integrals_over_the_plane(name, monkeypatch):
    monkeypatch.setattr(duals, "pair_expectation", None)
    q, p, c = _nearly_parallel(np.random.default_rng(3))
    assert np.isfinite(BUILT_IN[name].dual(q, p, c)).all()
    assert np.isfinite(BUILT_IN[name].dual_derivative(q, p, c)).all()


@pytest.mark.parametrize("name", NAMES)
@SETTINGS
@given(q=variance, p=variance, rho=correlation)
def test_symmetry_and_cauchy_schwarz(name, q, p, rho):
    a, c = BUILT_IN[name], rho * np.sqrt(q * p)
    there, back = a.dual([q, p], [p, q], c)
    size = np.sqrt(a.second_moment(np.sqrt([q, p])).prod())
    assert there == pytest.approx(back, abs=1e-11 * size)
    assert abs(there) <= size * (1 + 1e-9)


@pytest.mark.parametrize("name", CLOSED)
def test_symmetry_holds_up_to_full_correlation(name):
    # arccos makes 1e-8 of a rounding of a correlation next to one: that has to be the same both ways
    rng = np.random.default_rng(4)
    q, p = rng.uniform(0.01, 9, (2, 400))
    c = rng.choice([-1, 1], 400) * (1 - 10 ** rng.uniform(-17, -6, 400)) * np.sqrt(q * p)
    there, back = BUILT_IN[name].dual(q, p, c), BUILT_IN[name].dual(p, q, c)
    size = np.sqrt(BUILT_IN[name].second_moment(np.sqrt(q)) * BUILT_IN[name].second_moment(np.sqrt(p)))
    assert (np.abs(there - back) <= 1e-11 * size).all()


@SETTINGS
@given(q=variance, p=variance, rho=correlation, scale=st.floats(0.1, 10))
def test_relu_is_homogeneous(q, p, rho, scale):
    dual, c = BUILT_IN["relu"].dual, rho * np.sqrt(q * p)
    assert float(dual(scale**2 * q, p, scale * c)) == pytest.approx(
        scale * float(dual(q, p, c)), rel=1e-7, abs=1e-12
    )


@pytest.mark.parametrize("name", NAMES)
def test_full_correlation_is_the_second_moment(name):
    a, q = BUILT_IN[name], np.array([0.3, 1.0, 4.0])
    np.testing.assert_allclose(a.dual(q, q, q), a.second_moment(np.sqrt(q)), rtol=1e-8)


@pytest.mark.parametrize("name", NAMES)
def test_duals_against_sampling(name):
    a, rng = BUILT_IN[name], np.random.default_rng(1)
    q, p, c, count = 1.3, 0.6, -0.5, 400_000
    z = rng.normal(size=(2, count))
    u, v = np.sqrt(q) * z[0], c / np.sqrt(q) * z[0] + np.sqrt(p - c * c / q) * z[1]
    for function, exact in ((a, a.dual(q, p, c)), (a.derivative, a.dual_derivative(q, p, c))):
        values = function(u) * function(v)
        error = values.std() / np.sqrt(count)
        assert (
            abs(values.mean() - float(exact)) <= 4.5 * error + 1e-12
        )  # 36 draws: 4.5 s.e. happens once in 4000


@pytest.mark.parametrize("name", NAMES)
def test_a_variance_of_zero_is_a_constant(name):
    a = BUILT_IN[name]
    at_zero = float(a(0.0))
    mean = float(a.hermite(0, np.sqrt(2.0))[0])
    assert float(a.dual(0.0, 2.0, 0.0)) == pytest.approx(at_zero * mean, abs=1e-12)


@pytest.mark.parametrize("name", ["tanh", "relu"])
def test_moments_with_a_mean_against_sampling(name):
    a, rng = BUILT_IN[name], np.random.default_rng(2)
    z = rng.normal(size=400_000)
    moments = a.moments(0.4, 1.5, 3)
    for j, polynomial in enumerate(maths.hermite_values(3, z)):
        values = a(0.4 + 1.5 * z) * polynomial
        assert abs(values.mean() - moments[j]) < 4.5 * values.std() / np.sqrt(z.size)
    values = a(0.4 + 1.5 * z) ** 2
    assert abs(values.mean() - float(a.mean_square(0.4, 1.5))) < 4.5 * values.std() / np.sqrt(z.size)


def test_vectorised_over_arrays():
    a, q = BUILT_IN["gelu"], np.array([[0.5], [1.0]])
    p, c = np.array([1.0, 2.0, 3.0]), 0.1
    table = a.dual(q, p, c)
    assert table.shape == (2, 3)
    assert table[1, 2] == pytest.approx(float(a.dual(1.0, 3.0, 0.1)), rel=1e-12)
    assert a.hermite(4, q).shape == (2, 1, 5)
    assert a.dual(np.empty(0), 1.0, 0.0).shape == (0,)


def test_a_function_of_ones_own_with_kinks():
    own = firstlight.activation(lambda z: np.clip(z, -1, 1), kinks=[-1, 1], name="clip")
    a, b = firstlight.activation("relu"), own
    assert own.name == "clip"
    np.testing.assert_allclose(
        b.derivative([-2.0, -0.999, 0.3, 0.999, 1.0, 1.001]), [0, 1, 1, 1, 1, 0], atol=1e-8
    )
    np.testing.assert_allclose(b.second_derivative([-2.0, 0.3, 5.0]), 0, atol=1e-5)
    # clip(z) = relu(z + 1) - relu(z - 1) - 1: its mean square by 1-D quadrature of another expression
    other = maths.expectation(lambda z: (a(z + 1) - a(z - 1) - 1) ** 2, kinks=[-1, 1])
    assert float(own.second_moment()) == pytest.approx(float(other), rel=1e-13)
    rng = np.random.default_rng(0)
    z = rng.normal(size=(2, 400_000))
    values = own(z[0]) * own(0.8 * z[0] + 0.6 * z[1])
    assert abs(values.mean() - float(own.dual(1, 1, 0.8))) < 4 * values.std() / np.sqrt(values.size)


def test_given_derivatives_are_used():
    own = firstlight.activation(np.sin, derivative=np.cos, second_derivative=lambda z: -np.sin(z))
    z = np.linspace(-2, 2, 5)
    np.testing.assert_array_equal(own.derivative(z), np.cos(z))
    assert float(own.dual_derivative(1.0, 2.0, 0.5)) == pytest.approx(
        float(BUILT_IN["sin"].dual_derivative(1.0, 2.0, 0.5)), rel=1e-11
    )


@pytest.mark.parametrize("name", NAMES)
def test_built_ins_survive_pickling(name):
    assert pickle.loads(pickle.dumps(BUILT_IN[name])) is BUILT_IN[name]


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (("rleu",), {}, "did you mean 'relu'"),
        ((3,), {}, "name or a function"),
        (("relu",), {"kinks": [0]}, "kinks"),
        ((lambda z: max(z, 0),), {}, "failed on an array"),
        ((lambda z: 1.0,), {}, "shape"),
        ((lambda z: z * np.nan,), {}, "finite"),
        ((np.tanh,), {"kinks": [np.nan]}, "kinks"),
    ],
)
def test_bad_activations_are_refused(arguments, options, message):
    with pytest.raises(ValueError, match=message):
        firstlight.activation(*arguments, **options)


def test_impossible_covariances_are_refused():
    for arguments in ((1, 1, 1.1), (-1, 1, 0), (np.nan, 1, 0), (1, 1, np.nan)):
        with pytest.raises(ValueError, match=r"variances|covariance"):
            BUILT_IN["relu"].dual(*arguments)


def test_kinks_that_were_not_named_are_found():
    assert firstlight.activation(lambda z: np.maximum(z, 0)).kinked
    assert firstlight.activation(lambda z: np.tanh(z) + np.maximum(z - 20, 0)).kinked
    assert not firstlight.activation(lambda z: np.tanh(3 * z)).kinked
    assert not firstlight.activation(lambda z: z**3).kinked


@pytest.mark.parametrize("seed", range(30))
def test_integrals_of_waves_are_right_or_said_not_to_be_resolved(seed):
    """cos as a function of one's own, of any frequency, against its closed form."""
    rng = np.random.default_rng(seed)
    frequency = 10 ** rng.uniform(-1, 3)
    rows = rng.normal(size=(12, 3)) * [10 ** rng.uniform(0, 1), 1, 1]
    covariance = rows @ rows.T
    own, closed = firstlight.activation(lambda z: np.cos(frequency * z)), firstlight.activation("cos")
    variance = frequency**2 * np.diag(covariance)
    gap = second_moments(own, np.zeros(12), covariance) - closed.dual(
        variance[:, None], variance, frequency**2 * covariance
    )
    resolved = own.resolved(np.zeros(12), np.sqrt(np.diag(covariance)))
    assert resolved == (np.sqrt(variance.max()) < 12) or 8 < np.sqrt(variance.max()) < 15
    assert not resolved or np.abs(gap).max() < 1e-2  # of a mean square of one half


@pytest.mark.parametrize("name", [name for name in BUILT_IN if name not in ("sin", "cos")])
def test_integrals_of_what_is_no_wave_are_resolved_over_any_range(name):
    size = 10.0 ** np.arange(-6, 13, 3)
    assert firstlight.activation(name).resolved(np.concatenate([0 * size, size, -size])[:, None], size)


def test_a_closed_form_needs_no_rule():
    assert firstlight.activation("sin").resolved(0.0, 1e3, closed=True)
    assert not firstlight.activation("sin").resolved(0.0, 1e3)
    assert not firstlight.activation("sin").resolved([0.0, 1e-3], 1e3, closed=True)
