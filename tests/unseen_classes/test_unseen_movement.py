"""Predicted movement against neurons drawn one by one, and against the quadrature of its definition."""

import numpy as np
import pytest

from firstlight.maths.activations import activation
from firstlight.unseen_classes.theory.classes import class_elasticity
from firstlight.unseen_classes.theory.kernel import predicted_movement

D, COUNT = 4, 200_000


@pytest.mark.parametrize("name", ["relu", "erf", "tanh", "sin"])
@pytest.mark.parametrize("outputs", [1, 3])
def test_movement_of_gaussian_heads_is_that_of_drawn_neurons(name, outputs):
    """The bulk of a neuron is multiplied by its own head: heavier tails than one normal shift has."""
    rng, sigma = np.random.default_rng(outputs), activation(name)
    for tau in 0.3, 1.5:
        x, beta = rng.normal(size=(4, D)), 0.7 * rng.normal(size=(D, outputs))
        root = 0.5 * rng.normal(size=(D, D))
        alpha = rng.normal(size=(COUNT, outputs))
        noise = rng.normal(size=(COUNT, outputs, D)) @ root.T / np.sqrt(outputs)
        shift = tau * (alpha @ (x @ beta).T + np.einsum("nc,ncd->nd", alpha, noise) @ x.T)
        before = rng.normal(size=(COUNT, D)) @ x.T / np.sqrt(D)
        moved = (sigma(before + shift) - sigma(before)) ** 2
        movement = predicted_movement(x, beta, tau, sigma, root @ root.T)
        assert (np.abs(movement - moved.mean(axis=0)) < 5 * moved.std(axis=0) / np.sqrt(COUNT)).all()


def test_movement_against_quadrature_over_a_random_family():
    rng = np.random.default_rng(0)
    nodes, weights = np.polynomial.hermite_e.hermegauss(80)
    weights = weights / weights.sum()
    chance = np.einsum("i,j,k->ijk", weights, weights, weights)
    for _ in range(40):
        sigma = activation(str(rng.choice(["erf", "tanh", "sin", "gelu"])))
        tau, b, q, bulk = 10 ** rng.uniform(-6, 0), rng.normal(), rng.uniform(0.3, 1.5), rng.uniform(0, 1)
        z0 = np.sqrt(q) * nodes[:, None, None]
        shift = tau * nodes[:, None] * (b + np.sqrt(bulk) * nodes)
        expected = (chance * (sigma(z0 + shift) - sigma(z0)) ** 2).sum()
        x = np.sqrt(q) * np.ones((1, 1))
        movement = predicted_movement(x, [b / np.sqrt(q)], tau, sigma, np.array([[bulk / q]]))
        # 1e-4: the rule of 80 nodes, for shifts that reach over the whole of σ
        assert movement[0] == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize("name", ["relu", "shifted_relu", "erf", "tanh"])
def test_movement_of_the_smallest_steps_is_of_second_order(name):
    x, sigma = np.random.default_rng(0).normal(size=(5, D)), activation(name)
    q = (x**2).sum(axis=1) / D
    first_order = x.sum(axis=1) ** 2 * sigma.dual_derivative(q, q, q)
    for tau in 1e-5, 1e-7, 1e-9:
        movement = predicted_movement(x, np.ones(D), tau, sigma)
        np.testing.assert_allclose(movement / tau**2, first_order, rtol=1e-5)  # a kink counts by order tau


@pytest.mark.parametrize("tau", [1.0, 20.0, 1000.0])
@pytest.mark.parametrize("name", ["erf", "sin", "relu"])
def test_strong_steps_of_gaussian_heads_against_the_dual_on_a_fine_grid(name, tau):
    """Where the bulk cancels the spike hardly anything moves: a narrow place; even nodes were 3 % off."""
    rng, sigma = np.random.default_rng(int(tau)), activation(name)
    shift = np.linspace(-9, 9, 60_001)
    chance = np.exp(-(shift**2) / 2) / np.exp(-(shift**2) / 2).sum()
    for b, q, bulk in zip(rng.normal(size=5), rng.uniform(0.3, 1.5, 5), rng.uniform(0.1, 2, 5), strict=True):
        v = (tau * (b + np.sqrt(bulk) * shift)) ** 2
        before = np.full_like(v, q)
        moved = sigma.dual(q + v, q + v, q + v) + sigma.dual(q, q, q) - 2 * sigma.dual(before, q + v, before)
        expected = chance @ moved
        x, along = np.sqrt(q) * np.ones((1, 1)), [b / np.sqrt(q)]
        # 1e-6: the fine grid, three ten-thousandths of √bulk for a place of 1/tau
        assert predicted_movement(x, along, tau, sigma, [[bulk / q]])[0] == pytest.approx(expected, rel=1e-6)
        assert class_elasticity(b, 0.0, q, bulk, tau, sigma) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("tau", [1.0, 10.0, 30.0])
def test_waves_under_strong_steps_of_signs_are_followed(tau):
    """Against the closed form; through 121 nodes it was off by up to .02, and of classes by .002."""
    rng = np.random.default_rng(0)
    x, beta = rng.normal(size=(20, D)), rng.normal(size=D) / np.sqrt(D)
    q, shift = (x**2).sum(axis=1) / D, tau * x @ beta
    twice = np.exp(-2 * q)
    exact = 1 - np.cos(shift) - twice * (0.5 + np.cos(2 * shift) / 2 - np.cos(shift))
    moved = predicted_movement(x, beta, tau, "sin", head="rademacher")
    np.testing.assert_allclose(moved, exact, atol=1e-4)
    laws = [(t / tau, 0.0, v, 0.0, tau, "sin") for t, v in zip(shift, q, strict=True)]
    by_class = [class_elasticity(*law, head="rademacher") for law in laws]
    np.testing.assert_allclose(by_class, exact, atol=1e-4)


def test_waves_that_no_spline_follows_are_told():
    for head in ("rademacher", np.random.default_rng(0).normal(size=50)):
        with pytest.warns(UserWarning, match="movements of sin are not resolved"):
            class_elasticity(2.0, 0.0, 1.0, 0.0, 300.0, "sin", head=head)
    with pytest.warns(UserWarning, match="not resolved"):
        predicted_movement(np.ones((1, D)), 600 * np.ones(D), 1.0, "sin", head="rademacher")


@pytest.mark.parametrize("tau", [3.0, 50.0])
def test_strong_steps_without_a_closed_dual_against_neurons(tau):
    rng, sigma = np.random.default_rng(1), activation("tanh")
    alpha, noise, z = rng.normal(size=(3, 4 * COUNT))
    moved = (sigma(z + tau * alpha * (0.3 + noise)) - sigma(z)) ** 2
    movement = predicted_movement(np.ones((1, 1)), [0.3], tau, sigma, [[1.0]])[0]
    assert abs(movement - moved.mean()) < 5 * moved.std() / np.sqrt(len(z))
