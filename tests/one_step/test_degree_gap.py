"""The gap of the degree-3 Hermite model to a sine network, as docs/one_step.md explains it.

Step 2 of that page in one dimension: the part of an input along its spike is z, a neuron's is q. Both are
standard normal and integrated by Gauss and Hermite; the step (η = 1) and weaker coordinates are left out.
"""

from math import factorial

import numpy as np
import pytest
from numpy.polynomial.hermite_e import hermegauss, hermeval
from scipy.optimize import brentq

from firstlight.one_step import Problem

BETA = 0.74


def gauss(count):
    nodes, weights = hermegauss(count)
    return nodes, weights / weights.sum()


def conditional_moments(field, b, degree):
    """Mean, slope and square of sin(M + b g), or of its Hermite model, whose E He_j(M/b + g) is (M/b)^j."""
    shrink = np.exp(-(b**2) / 2)
    if degree is None:
        square = (1 - np.exp(-2 * b**2) * np.cos(2 * field)) / 2
        return shrink * np.sin(field), b * shrink * np.cos(field), square
    series = [(-1) ** (j // 2) * b**j * shrink / factorial(j) if j % 2 else 0.0 for j in range(degree + 1)]
    x = field / b
    square = shrink**2 * np.sinh(b**2) - sum(c**2 * factorial(j) for j, c in enumerate(series))
    for g, weight in zip(*gauss(degree + 1), strict=True):
        square = square + weight * hermeval(x + g, series) ** 2
    mean = np.polynomial.polynomial.polyval(x, series)
    return mean, np.polynomial.polynomial.polyval(x, np.polynomial.polynomial.polyder(series)), square


def one_dimensional(n, degree, ridge=1e-4):
    """Test error of a ridge read-out at n = k = m, and the share of the third degree that it learns."""
    theta = n**BETA
    b, a = np.sqrt(n / (n + theta)), np.sqrt((1 + theta) / (n + theta))
    (z, in_z), (q, in_q) = gauss(20), gauss(16)
    share = np.outer(in_q, in_q).ravel()  # of neurons, by their parts along either class's spike
    first, second = (part.ravel() for part in np.meshgrid(q, q))
    field = a * np.hstack([np.outer(first, z), np.outer(second, z)])
    weights, place = np.tile(in_z, 2) / 2, np.tile(z, 2)
    y, root = np.sin(place), np.sqrt(weights)
    mean, slope, square = conditional_moments(field, b, degree)
    rest, slope, mean = (square - mean**2 - slope**2) @ weights, slope * root, mean * root
    eye = np.eye(y.size)

    def solved(t):
        r = np.full(share.size, 1 / (t + 0.5 / n))
        for _ in range(500):
            inner = np.linalg.inv(eye + (slope.T * (share * r)) @ slope / n)
            new = 1 / (t + (rest + ((slope @ inner) * slope).sum(axis=1)) / n)
            r, gap = new, np.max(np.abs(new / r - 1))
            if gap < 1e-13:
                break
        return n * (share @ r), (mean.T * (share * r)) @ mean

    def at(t):
        """tr (Ω + t)^(-1), <y, H (1 + H)^(-1) y> and its derivative, by a complex step."""
        trace, h = solved(complex(t, 1e-20 * t))
        determinant = np.linalg.det(eye + h)
        fitted = (y * root) @ h @ np.linalg.solve(eye + h, y * root)
        step = 1e-20 * t
        return trace.real + determinant.imag / determinant.real / step, fitted.real, fitted.imag / step

    kappa = brentq(lambda t: t * t * at(t)[0] / n - ridge, ridge, ridge + 2 / n, xtol=1e-12 * ridge)
    (low, _, _), (trace, fitted, slope_of), (high, _, _) = (at(kappa * f) for f in (0.999, 1, 1.001))
    gamma = 1 - 2 * kappa * trace / n - kappa * (high - low) / 0.002 / n
    _, h = solved(kappa)
    prediction, third = np.linalg.solve(eye + h, h @ (y * root)) / root, place**3 - 3 * place
    error = (weights @ y**2 - fitted + kappa * slope_of) / (1 - gamma)
    return error, (weights @ (prediction * third)) / (weights @ (y * third))


def test_the_gap_of_degree_three_grows_and_then_falls():
    # docs/one_step.md, to the digits that stand there: sizes, gaps, what network and model learn
    for n, gap, network, model in (
        (300, -0.08, 0.60, 0.78), (5000, -0.32, 0.51, 0.68), (10**5, -0.13, 0.24, 0.30),
    ):  # fmt: skip
        (error, learnt), (error_of_model, learnt_by_it) = (one_dimensional(n, d) for d in (None, 3))
        assert error_of_model / error - 1 == pytest.approx(gap, abs=0.01)
        assert (learnt, learnt_by_it) == pytest.approx((network, model), abs=0.01)


@pytest.mark.filterwarnings("ignore:degree")
def test_trained_networks_have_that_gap():
    n, trials = 500, 12
    problem = Problem.scaled(n, n, n, 0.0, BETA, activation="sin", link="sin", label_direction="spikes")
    network, model = (
        np.array([float(problem.simulate(seed, **options).test_error) for seed in range(trials)])
        for options in ({}, {"method": "hermite", "degree": 3})
    )
    gaps = model / network - 1
    predicted = one_dimensional(n, 3)[0] / one_dimensional(n, None)[0] - 1
    assert predicted < -0.15
    # one dimension leaves out terms of order 1/√n, a few hundredths
    assert gaps.mean() == pytest.approx(predicted, abs=3 * gaps.std() / np.sqrt(trials) + 0.04)
