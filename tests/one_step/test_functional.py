"""The functional: every analytic derivative against differences, and against a matrix it stands for."""

import numpy as np
import pytest

from firstlight.one_step.theory.functional import Functional, Kernel, spread

N, K = 12, 9


@pytest.fixture
def kernel():
    rng = np.random.default_rng(0)
    profile = rng.uniform(0.5, 1.5, size=(N, 2))
    return Kernel(
        mean=rng.normal(size=(N, K)), slope=rng.uniform(0.2, 1, size=(N, K)),
        rest=rng.uniform(0.1, 1, size=(N, K)), profile=profile,
        shares=np.array([0.4, 0.6]), weights=rng.dirichlet(np.ones(K)),
        labels=rng.normal(size=K), width=70, dimension=50,
    )  # fmt: skip


def _stationary(functional, g):
    r = np.full(N, 0.5)
    for _ in range(400):
        r = functional.new_r(g, functional.middle(g, r))
    return r


def _log_determinant(kernel, g, ridge_term, r):
    """L written out with full matrices; `ridge_term` is the coefficient of the identity."""
    total = kernel.width / N * np.sum(r * (ridge_term + kernel.rest @ g / kernel.width) - np.log(r))
    for share, profile in zip(kernel.shares, kernel.profile.T, strict=True):
        matrix = (kernel.slope.T * (r * profile)) @ kernel.slope / (N * kernel.dimension)
        total += kernel.dimension * share * np.linalg.slogdet(np.eye(K) + matrix * g)[1]
    matrix = (kernel.mean.T * r) @ kernel.mean / N
    return total + np.linalg.slogdet(np.eye(K) + matrix * g)[1]


def test_r_is_stationary_and_slopes_are_derivatives(kernel):
    functional = Functional(kernel, 1e-12)
    g = np.random.default_rng(1).uniform(5, 20, K)
    r = _stationary(functional, g)
    base = _log_determinant(kernel, g, 1.0, r)
    for i in range(N):  # stationary: first-order changes of r leave L alone
        shift = r * (1 + 1e-4 * (np.arange(N) == i))
        assert abs(_log_determinant(kernel, g, 1.0, shift) - base) < 1e-6
    result = functional.slope_in_g(r, functional.middle(g, r))
    for c in range(K):
        step = 1e-4 * g[c] * (np.arange(K) == c)
        values = [_log_determinant(kernel, g + s, 1.0, _stationary(functional, g + s)) for s in (step, -step)]
        assert result[c] == pytest.approx((values[0] - values[1]) / (2 * step[c]), rel=1e-5)


def test_errors_are_derivatives_of_the_energy(kernel):
    functional, m, ridge = Functional(kernel, 1e-12), 60, 1e-2
    solved = functional.solve(m, ridge, tolerance=1e-12)
    assert solved.converged
    u, r = solved.value
    g = kernel.weights / u
    answer = functional.errors(m, u, r, 0.2, np.zeros(K, dtype=int), False)

    def energy(g):
        r = _stationary(functional, g)
        matrix = (kernel.mean.T * r) @ kernel.mean / N
        return kernel.labels @ np.linalg.solve(np.diag(1 / g) + matrix, kernel.labels)

    def slopes(g):
        r = _stationary(functional, g)
        return functional.slope_in_g(r, functional.middle(g, r))

    steps = [1e-4 * g[c] * (np.arange(K) == c) for c in range(K)]
    risk = np.array([(energy(g + s) - energy(g - s)) / (2 * s.max()) for s in steps]) + 0.2
    second = np.array([(slopes(g + s) - slopes(g - s)) / (2 * s.max()) for s in steps]).T
    carry = -second * kernel.weights / (m * u**2)
    # central differences with relative step 1e-4: errors of order 1e-7
    np.testing.assert_allclose(answer.test, np.linalg.solve(np.eye(K) - carry, risk), rtol=1e-4)


def test_it_stands_for_a_matrix():
    # many samples of one κ and identical neurons: ordinary random features, whose trace is a matrix's
    rng = np.random.default_rng(2)
    k, n, count, ridge = 600, 400, 500, 0.05
    kernel = Kernel(
        mean=np.zeros((1, 1)), slope=np.full((1, 1), 0.6), rest=np.full((1, 1), 0.3), profile=np.ones((1, 1)),
        shares=np.ones(1), weights=np.ones(1), labels=np.zeros(1), width=k, dimension=n,
    )  # fmt: skip
    functional = Functional(kernel, 1e-12)
    solved = functional.solve(count, ridge)
    assert solved.converged
    rows = rng.normal(size=(k, n)) / np.sqrt(n)
    omega = (0.36 * rows @ rows.T + 0.3 * np.eye(k)) / k
    values = np.linalg.eigvalsh(omega)
    u = float(solved.value[0][0])
    # traces of a k x k random matrix fluctuate by O(1/k)
    assert u == pytest.approx(ridge + np.sum(values / (1 + values / u)) / count, rel=5e-3)
    assert solved.value[1][0] == pytest.approx(np.mean(1 / (1 + values / u)), rel=5e-3)


@pytest.mark.parametrize("strength", [0.3, 3.0])  # 3: no longer positive definite, where gradients wander
def test_fluctuations_spread_as_the_whole_matrix_says(strength):
    rng = np.random.default_rng(3)
    rr, rg, gg = (strength * rng.uniform(size=shape) / 40 for shape in ((30, 30), (30, 20), (20, 20)))
    rr, gg = rr + rr.T, gg + gg.T
    pull, own = rng.normal(size=30), rng.normal(size=20)
    x, t = spread(lambda x, t: (rr @ x + rg @ t, x @ rg + gg @ t), pull, own)
    # residuals of both lines; 1e-9: conjugate gradients stop at 1e-12 of the right-hand side
    np.testing.assert_allclose(x, pull + rr @ x + rg @ t, atol=1e-9)
    np.testing.assert_allclose(t, own + rg.T @ x + gg @ t, atol=1e-9)
