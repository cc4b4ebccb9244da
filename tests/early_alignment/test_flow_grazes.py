"""Walls that a neuron is beyond for a part of a step only: both ends of the step are on this side."""

import numpy as np
import pytest

from firstlight.early_alignment.experiment.flow import integrate
from firstlight.early_alignment.experiment.solver import System, solve


class Swing(System):
    """cos(τ - phase), and whether it is above a level; nothing more happens once it was."""

    def __init__(self, level):
        self.level = level

    def slope(self, tau, state):
        return np.array([-state[1], state[0]])

    def look(self, state):
        return np.array([state[0] - self.level, -state[0] - 2]), np.zeros(2)

    def after(self, state, changed):
        assert changed.tolist() == [True, False]
        return state, Swing(2.0)


@pytest.mark.parametrize("depth", [1e-2, 1e-4, 1e-6])
def test_a_moment_beyond_is_seen(depth):
    """It is above for 2 arccos(1 - depth), 0.003 of time at the least, where steps are as long as 0.3."""
    for phase in np.linspace(0.3, 6, 40):
        run = solve(Swing(1 - depth), np.array([np.cos(phase), -np.sin(phase)]), np.array([0.0, 20.0]), 1e-9)
        expected = phase - np.arccos(1 - depth)
        # Errors of 1e-9 per step, over the slope there.
        assert run.last_flip == pytest.approx(expected, abs=1e-7 / np.sqrt(2 * depth))


def small_steps(X, y, u, rho, s, end, count):
    """Directions by the classical method of Runge and Kutta, with the logistic loss, whatever the kinks."""

    def slope(u, rho):
        q = u @ X.T
        f = (s * np.exp(2 * rho)) @ np.maximum(q, 0)
        G = s[:, None] * (((q > 0) * (y / (1 + np.exp(y * f)))) @ X)
        along = (u * G).sum(axis=1)
        return G - along[:, None] * u, along

    step = end / count
    for _ in range(count):
        a, b = slope(u, rho)
        c, d = slope(u + step / 2 * a, rho + step / 2 * b)
        e, f = slope(u + step / 2 * c, rho + step / 2 * d)
        g, h = slope(u + step * e, rho + step * f)
        u, rho = u + step / 6 * (a + 2 * c + 2 * e + g), rho + step / 6 * (b + 2 * d + 2 * f + h)
        u = u / np.linalg.norm(u, axis=1, keepdims=True)
    return u


@pytest.mark.parametrize(("seed", "time"), [(1030, 4.0), (1117, 12.0)])
def test_a_wall_that_is_grazed_is_crossed(seed, time):
    """It repels; looked at in the middle of steps alone it was passed over: 0.06 and 0.08 off by then."""
    rng = np.random.default_rng(seed)
    n, D, h = int(rng.integers(5, 25)), int(rng.integers(2, 6)), int(rng.integers(3, 20))
    X, y = rng.normal(size=(n, D)), rng.choice([-1.0, 1.0], n)
    u, s = rng.normal(size=(h, D)), rng.choice([-1.0, 1.0], h)
    u, rho = u / np.linalg.norm(u, axis=1, keepdims=True), np.full(h, rng.uniform(-6, -1))
    end = time / np.linalg.norm(X, axis=1).sum()
    run = integrate(X, y, u, rho, s, [end], loss="logistic")
    coarse, fine = (
        np.abs(small_steps(X, y, u, rho, s, end, k) - run.directions[0]).max() for k in (2000, 16000)
    )
    assert fine < 1e-3  # of kinks, and of sliding, an error of the order of the step is left
    assert fine < 0.5 * coarse
