"""Quadrature against closed forms, adaptive integration and sampling."""

import warnings
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate

from firstlight import maths
from firstlight.maths.activations import BUILT_IN

SETTINGS = settings(deadline=None, derandomize=True, max_examples=40)
# a sum of a few hundred terms of mixed sign is good to about 1e-15 of the sum of their absolute values
ROUNDING = 1e-13


def relu(x):
    return np.maximum(x, 0.0)


def reference(function, kinks, std, power=1):
    """E[f(std z)^power] by SciPy's adaptive integration, piece by piece: a second algorithm."""
    edges = [-12.0, *sorted(k / std for k in kinks if abs(k / std) < 12), 12.0]
    edges = sorted({*edges, *(b / std for b in (-3.0, -1.0, 0.0, 1.0, 3.0) if abs(b / std) < 12)})
    total = 0.0
    for low, high in pairwise(edges):
        total += integrate.quad(
            lambda z: float(function(np.array(std * z))) ** power * np.exp(-z * z / 2) / np.sqrt(2 * np.pi),
            low, high, epsabs=1e-13, epsrel=1e-12, limit=200,
        )[0]  # fmt: skip
    return total


@pytest.mark.parametrize("name", BUILT_IN)
@pytest.mark.parametrize("std", [0.2, 1.0, 3.0])
def test_every_activation_reaches_1e_10(name, std):
    a = BUILT_IN[name]
    mean_square = reference(a.function, a.kinks, std, power=2)
    assert float(a.second_moment(std)) == pytest.approx(mean_square, rel=1e-10)
    # a mean that vanishes by symmetry has no relative error: measure it against the root of the second moment
    error = abs(float(a.hermite(0, std)[0]) - reference(a.function, a.kinks, std))
    assert error <= 1e-10 * np.sqrt(mean_square)


def test_plain_gauss_hermite_would_fail_where_the_split_rule_does_not():
    z, w = np.polynomial.hermite_e.hermegauss(100)
    plain = (w * relu(z)).sum() / w.sum() * np.sqrt(2 * np.pi)
    split = float(maths.expectation(relu, kinks=[0])) * np.sqrt(2 * np.pi)
    assert abs(plain - 1) > 1e-3
    assert abs(split - 1) < 1e-14


def test_relu_coefficients_are_the_closed_form():
    scale = 0.7
    h = BUILT_IN["relu"].hermite(6, scale)
    root = scale / np.sqrt(2 * np.pi)
    np.testing.assert_allclose(h, [root, scale / 2, root, 0, -root, 0, 3 * root], atol=ROUNDING)


@pytest.mark.parametrize("scale", [1e-3, 30.0, 1e3])
def test_scales_far_from_one(scale):
    # E tanh(s z) z = s E sech^2(s z): derivative and function go through different integrands (Stein)
    tanh = BUILT_IN["tanh"]
    stein = scale * maths.hermite_coefficients(tanh.first, 0, std=scale)[0]
    assert tanh.hermite(1, scale)[1] == pytest.approx(stein, rel=1e-10)


@SETTINGS
@given(st.floats(-3, 3), st.floats(0.01, 5), st.floats(-4, 4))
def test_hinge_with_any_kink(mean, std, kink):
    # E max(x - k, 0) = s phi(d) + (m - k) Phi(d), d = (m - k) / s
    from scipy.stats import norm

    d = (mean - kink) / std
    exact = std * norm.pdf(d) + (mean - kink) * norm.cdf(d)
    value = maths.expectation(lambda x: relu(x - kink), mean=mean, std=std, kinks=[kink])
    assert float(value) == pytest.approx(exact, abs=1e-13 * (1 + abs(mean) + std + abs(kink)))


@SETTINGS
@given(st.integers(0, 12), st.integers(0, 12))
def test_hermite_polynomials_are_orthogonal(i, j):
    z, w = maths.rule(reach=18.0)
    values = list(maths.hermite_values(12, z))
    from math import factorial

    scale = np.sqrt(factorial(i) * factorial(j))
    assert (w * values[i] * values[j]).sum() / scale == pytest.approx(float(i == j), abs=1e-11)


def test_hermite_values_agree_with_numpy():
    z = np.linspace(-4, 4, 9)
    for j, values in enumerate(maths.hermite_values(9, z)):
        np.testing.assert_allclose(
            values, np.polynomial.hermite_e.hermeval(z, np.eye(10)[j]), rtol=1e-12, atol=1e-9
        )


def test_high_degrees_keep_parseval():
    # sum a_j^2 / j! -> E f^2, from below; cos has coefficients e^{-1/2} (0, 1, 0, -1...) known exactly
    h = BUILT_IN["cos"].hermite(100)
    exact = np.exp(-0.5) * np.cos(np.pi / 2 * np.arange(101))
    from scipy.special import gammaln

    root = np.exp(0.5 * gammaln(np.arange(1, 102)))
    np.testing.assert_allclose(h / root, exact / root, atol=1e-14)


@pytest.mark.parametrize("rho", [-1.0, -0.9, 0.0, 0.3, 0.99, 1.0])
def test_two_dimensions_against_sheppard(rho):
    # P(u > 0, v > 0) = 1/4 + asin(rho) / (2 pi)
    both = maths.expectation(
        lambda u, v: (u > 0) * (v > 0) * 1.0, dim=2, covariance=[[1, rho], [rho, 1]], kinks=[0]
    )
    assert float(both) == pytest.approx(0.25 + np.arcsin(rho) / (2 * np.pi), abs=ROUNDING)


def test_three_dimensions_against_the_orthant_formula():
    covariance = np.array([[1, 0.999, 0.3], [0.999, 1, 0.31], [0.3, 0.31, 1]])
    exact = 0.125 + np.arcsin(covariance[np.triu_indices(3, 1)]).sum() / (4 * np.pi)
    value = maths.expectation(
        lambda x, y, z: (x > 0) * (y > 0) * (z > 0) * 1.0, dim=3, covariance=covariance, kinks=[0]
    )
    assert float(value) == pytest.approx(exact, rel=1e-11)


def test_coordinates_may_have_kinks_means_and_scales_of_their_own():
    value = maths.expectation(
        lambda x, y: relu(x - 1) * np.abs(y + 2), dim=2, mean=[0.5, -1], std=[2, 3], kinks=[[1], [-2]]
    )
    first = maths.expectation(lambda x: relu(x - 1), mean=0.5, std=2, kinks=[1])
    second = maths.expectation(lambda y: np.abs(y + 2), mean=-1, std=3, kinks=[-2])
    assert float(value) == pytest.approx(float(first * second), rel=1e-12)


def test_an_unnamed_kink_is_noticed():
    with pytest.warns(maths.QuadratureWarning, match="kinks"):
        maths.expectation(lambda x: relu(x - 0.3))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        maths.expectation(lambda x: relu(x - 0.3), kinks=[0.3])


@SETTINGS
@given(st.floats(-1, 1))
def test_mehler_is_exact_for_polynomials(rho):
    a = maths.hermite_coefficients(lambda x: x**3 + x, 3)
    b = maths.hermite_coefficients(lambda x: x**3, 3)
    # E u^3 v^3 = 9 rho + 6 rho^3 and E u v^3 = 3 rho
    assert float(maths.mehler(a, b, rho)) == pytest.approx(12 * rho + 6 * rho**3, abs=1e-11)


def test_mehler_and_the_iterated_rule_agree_within_the_stated_remainder():
    a, degree = BUILT_IN["relu"], 40
    h = a.hermite(degree)
    rest = float(a.second_moment()) - float(maths.mehler(h, h, 1.0))
    for rho in (-0.8, 0.2, 0.7):
        exact = maths.pair_expectation(relu, relu, 1.0, 1.0, rho, kinks=[0], other_kinks=[0])
        assert abs(float(maths.mehler(h, h, rho)) - float(exact)) <= abs(rho) ** (degree + 1) * rest + 1e-14


def test_pair_of_different_functions_against_sampling():
    rng = np.random.default_rng(0)
    z = rng.normal(size=(2, 400_000))
    u, v = np.sqrt(2.0) * z[0], 0.6 * z[0] + 0.5 * z[1]
    values = np.tanh(u) * relu(v - 0.2)
    exact = maths.pair_expectation(
        np.tanh, lambda x: relu(x - 0.2), 2.0, 0.61, 0.6 * np.sqrt(2.0), other_kinks=[0.2]
    )
    standard_error = values.std() / np.sqrt(values.size)
    assert abs(values.mean() - float(exact)) < 4 * standard_error


def test_sobol_normals_beat_plain_sampling_and_repeat():
    z = maths.sobol_normal(4, 4096, rng=3)
    assert z.shape == (4096, 4)
    assert np.isfinite(z).all()
    np.testing.assert_array_equal(z, maths.sobol_normal(4, 4096, rng=3))
    assert not np.array_equal(z, maths.sobol_normal(4, 4096, rng=4))
    # plain sampling: |mean| about 1/64 and |second moment - 1| about 0.02; a digital net is far better
    assert np.abs(z.mean(axis=0)).max() < 2e-3
    assert np.abs((z**2).mean(axis=0) - 1).max() < 5e-3


@pytest.mark.parametrize(
    ("call", "field"),
    [
        (lambda: maths.expectation(relu, dim=4), "dim"),
        (lambda: maths.expectation(relu, std=-1.0), "std"),
        (lambda: maths.expectation(relu, mean=np.nan), "mean"),
        (lambda: maths.expectation(relu, kinks=[np.inf]), "kinks"),
        (lambda: maths.expectation(lambda x, y: x, dim=2, kinks=[[0], [0], [0]]), "kinks"),
        (lambda: maths.expectation(lambda x, y: x, dim=2, covariance=[[1, 2], [2, 1]]), "covariance"),
        (lambda: maths.hermite_coefficients(relu, -1), "degree"),
        (lambda: maths.hermite_coefficients(np.sin, 2.5), "degree"),
        (lambda: maths.mehler(np.ones(2), np.ones(2), 1.5), "correlation"),
        (lambda: maths.sobol_normal(0, 8), "dim"),
    ],
)
def test_bad_input_is_named(call, field):
    with pytest.raises(ValueError, match=field):
        call()
