"""Predicted movement against neurons drawn one by one, and against the quadrature of its definition."""

import numpy as np
import pytest

from firstlight.maths.activations import activation
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
