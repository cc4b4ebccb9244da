"""The smooth equations of a piece beside the flow's own right-hand side, in every way of forming them."""

import numpy as np
import pytest

from firstlight.early_alignment.experiment.equations import Equations
from firstlight.early_alignment.experiment.log_time import Clock
from firstlight.early_alignment.experiment.pieces import Piece
from firstlight.maths.losses import margin_loss


@pytest.mark.parametrize("loss", ["exp", "logistic", "logistic2"])
@pytest.mark.parametrize(
    ("neurons", "dimension", "groups"),
    [(60, 2, 3), (60, 30, 3), (6, 3, 6)],
    ids=["few patterns, few coordinates", "few patterns", "every neuron alone"],
)
@pytest.mark.parametrize("seed", range(4))
def test_slopes_outputs_and_walls_are_those_of_the_flow(loss, neurons, dimension, groups, seed):
    # within a pattern both are the same sums in another order: 1e-12 of the largest term is rounding
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(12, dimension)), rng.choice([-1.0, 1.0], 12)
    signs = rng.choice([-1.0, 1.0], neurons)
    centres = rng.normal(size=(groups, dimension))
    u = centres[np.arange(neurons) % groups] + 1e-3 * rng.normal(size=(neurons, dimension))
    u /= np.linalg.norm(u, axis=1, keepdims=True)
    flow = Equations(X, y, signs, margin_loss(loss), Clock.of(X, 0.0, "sum", None))
    state = np.concatenate([u.ravel(), rng.normal(-2, 1, neurons)])
    piece, tau = Piece.at(flow, state), rng.uniform(0, 3)
    expected = flow.hard(tau, state)
    np.testing.assert_allclose(piece.slope(tau, state), expected, rtol=0, atol=1e-12 * np.abs(expected).max())
    f = (signs * np.exp(2 * state[u.size :])) @ np.maximum(u @ X.T, 0)
    beyond, largest = piece.look(state)
    np.testing.assert_allclose(
        largest, [np.abs(f[y == label]).max(initial=0) for label in (1, -1)], rtol=1e-12, atol=1e-14
    )
    np.testing.assert_allclose(-beyond, np.abs(u @ X.T) / np.linalg.norm(X, axis=1), rtol=1e-12, atol=1e-15)
