"""Gradient descent: against finite differences, against flow, and in its variants."""

from itertools import repeat

import numpy as np
import pytest

from firstlight import early_alignment as ea
from firstlight.data.separable import separable, toy
from firstlight.early_alignment.definitions.start import gaussian_start
from firstlight.early_alignment.experiment.flow import integrate
from firstlight.maths.activations import activation
from firstlight.maths.losses import LOSSES, margin_loss
from firstlight.network.descent import follow, passes
from firstlight.network.two_layer import TwoLayer


def train(X, y, W, v, loss, step_size, steps, second=True, batches=None):
    """Train both layers of a ReLU network, or the first alone."""
    network = TwoLayer(W, v, activation("relu"), 1.0, loss)
    sizes = (step_size, step_size * second, 0.0, 0.0)
    *_, (_, trained, _) = follow(network, batches or repeat((X, y)), steps, sizes)
    return trained.first_layer, trained.second_layer


def test_one_step_is_the_gradient_of_the_mean_loss():
    X, y = separable(6, 3, 0.3, 0)
    W, v = gaussian_start(4, 3, 0.5, rng=0)
    chosen, step = margin_loss("logistic"), 1e-3

    def loss(W, v):
        return chosen.value(y, np.maximum(X @ W.T, 0) @ v).mean()

    W1, v1 = train(X, y, W, v, chosen, step, 1)
    for index in np.ndindex(W.shape):
        shift = np.zeros_like(W)
        shift[index] = 1e-6
        slope = (loss(W + shift, v) - loss(W - shift, v)) / 2e-6
        assert (W[index] - W1[index]) / step == pytest.approx(slope, abs=1e-8)  # central differences
    for j in range(len(v)):
        shift = np.zeros_like(v)
        shift[j] = 1e-6
        slope = (loss(W, v + shift) - loss(W, v - shift)) / 2e-6
        assert (v[j] - v1[j]) / step == pytest.approx(slope, abs=1e-8)


def test_descent_tends_to_flow_linearly_in_the_step():
    X, y = separable(6, 3, 0.3, 1)
    rng = np.random.default_rng(0)
    u = rng.normal(size=(8, 3))
    u /= np.linalg.norm(u, axis=1, keepdims=True)
    s, eps, t = rng.choice([-1.0, 1.0], 8), 0.05, 8.0
    run = integrate(X, y, u, np.full(8, np.log(eps)), s, [t], reduction="mean", tolerance=1e-10)
    exact = run.directions[0] * np.exp(run.log_norms[0])[:, None]
    errors, drifts = [], []
    for step in (4e-3, 1e-3, 2.5e-4):
        W, v = train(X, y, eps * u, eps * s, margin_loss("exp"), step, round(t / step))
        errors.append(np.abs(W - exact).max())
        drifts.append(np.abs(v**2 - (W**2).sum(axis=1)).max())
    # First order in the step: a factor of 4 each.
    assert 2.5 < errors[0] / errors[1] < 6
    assert 2.5 < errors[1] / errors[2] < 6
    assert 3 < drifts[0] / drifts[1] < 5


def test_batches_cover_the_data_and_a_full_batch_is_the_full_gradient():
    X, y = toy()
    W, v = gaussian_start(5, 2, 0.1, rng=1)
    seen = []

    class Watched:
        def first(self, labels, f):
            seen.append(len(labels))
            return margin_loss("exp").first(labels, f)

    rng = np.random.default_rng(0)
    train(X, y, W, v, Watched(), 0.1, 6, batches=passes(X, y, 10, rng))
    assert seen == [10] * 6
    full = [
        train(X, y, W, v, margin_loss("exp"), 0.1, 20, batches=batches)[0]
        for batches in (None, passes(X, y, 25, rng))
    ]
    assert full[0] == pytest.approx(full[1], rel=1e-12)


def test_first_layer_only_keeps_the_second():
    X, y = toy()
    W, v = gaussian_start(6, 2, 1e-3, rng=0)
    W1, v1 = train(X, y, W, np.sign(v), margin_loss("exp"), 0.1, 50, second=False)
    assert np.array_equal(v1, np.sign(v))
    assert not np.array_equal(W1, W)


def test_the_start_is_left_alone():
    X, y = toy()
    W, v = gaussian_start(3, 2, 0.1, rng=0)
    before = W.copy(), v.copy()
    train(X, y, W, v, margin_loss("exp"), 0.1, 3)
    assert np.array_equal(W, before[0])
    assert np.array_equal(v, before[1])


def test_the_paper_s_toy_has_two_phases():
    """Aligned long before the loss moves, on our stand-in for the paper's points."""
    X, y = toy()
    W, v = gaussian_start(50, 2, 1e-6, rng=0)
    run = ea.descent(X, y, W, v, steps=40_000, observations=[0, 7000, 40_000])
    assert float(run.loss[1]) > 0.999
    assert float(run.cosine_plus[1]) > 0.99
    assert float(run.loss[2]) < 0.02
    assert 1 <= float(run.stable_rank[2]) < 1.2


def test_steps_too_long_are_told():
    X, y, W, v = [[1, 0], [1, 1], [-1, -0.5]], [1, 1, -1], np.array([[1.0, 2.0], [-1.0, 1.0]]), np.ones(2)
    run = ea.descent(X, y, W, v, steps=100, step_size=1e3, observations=3)
    assert not bool(run.converged)
    assert np.isfinite(run.loss[0])
    assert np.isnan(run.loss[-1])
    assert bool(ea.descent(X, y, W, v, steps=5, observations=3).converged)
    for wrong, said in ((v[:-1], r"shape \(1,\), must be \(2,\)"), (np.full(2, np.nan), "holds NaN")):
        with pytest.raises(ValueError, match=f"second_layer: {said}"):
            ea.descent(X, y, W, wrong, steps=5)
    with pytest.raises(ValueError, match="steps = 0"):
        ea.descent(X, y, W, v, steps=0)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"step_size": 0.0}, "step_size = 0"),
        ({"batch_size": 26}, "batch_size = 26"),
        ({"batch_size": 1.5}, "batch_size = 1.5"),
    ],
)
def test_bad_arguments(change, message):
    X, y = toy()
    W, v = gaussian_start(3, 2, 0.1, rng=0)
    with pytest.raises(ValueError, match=message):
        ea.descent(X, y, W, v, **change)


def written_out(W, a, b, c, X, y, ridge):
    """Return the gradient of the mean of (f - y)²/2 and the penalty, for f = c + aᵀ tanh(W x + b)."""
    hidden = np.tanh(X @ W.T + b)
    gap = (c + hidden @ a - y) / len(y)
    force = gap[:, None] * a * (1 - hidden**2)
    return force.T @ X + ridge * W, hidden.T @ gap, force.sum(axis=0), gap.sum()


def test_a_grid_of_networks_has_the_gradients_of_each():
    """Two leading axes, the first as long as the data: labels belong to samples, not to networks."""
    rng = np.random.default_rng(3)
    X, y = rng.standard_normal((5, 4)), rng.standard_normal(5)
    F, w = rng.standard_normal((5, 2, 3, 4)), rng.standard_normal((5, 2, 3))
    whole = TwoLayer(F, w, activation("tanh"), 1.0).gradient(X, y)
    for i, j in np.ndindex(5, 2):
        one = TwoLayer(F[i, j], w[i, j], activation("tanh"), 1.0).gradient(X, y)
        np.testing.assert_allclose(whole.first_layer[i, j], one.first_layer, rtol=1e-12)
        np.testing.assert_allclose(whole.second_layer[i, j], one.second_layer, rtol=1e-12)


def test_wide_and_narrow_steps_descend_the_same_penalty():
    rng = np.random.default_rng(4)
    X, y = rng.standard_normal((6, 4)), rng.standard_normal(6)
    network = TwoLayer(
        rng.standard_normal((3, 4)), rng.standard_normal(3), activation("tanh"), 1.0, ridge=0.5
    )
    np.testing.assert_allclose(
        network.descent_direction(X, y, 0.2), -0.2 * network.gradient(X, y).first_layer, rtol=1e-12
    )
    assert network(X[:0]).shape == (0,)


@pytest.mark.parametrize("nesterov", [False, True])
def test_all_parameters_with_momentum_of_several_networks(nesterov):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(2000, 90)), rng.normal(size=2000)  # more than one block of the cache
    held = np.eye(90)[:, :1]
    starts = rng.normal(size=(3, 2, 90)) / 9 * (1 - held[:, 0]), rng.normal(size=(3, 2))
    rest = rng.normal(size=(3, 2)), rng.normal(size=3)
    network = TwoLayer(*starts, activation("tanh"), 1.0, LOSSES["square"], *rest, ridge=0.3)
    sizes, factors = (0.2, 0.1, 0.3, 0.05), (1.0, 0.5, 0.25, 0.2)
    path = follow(
        network, repeat((X, y)), 4, sizes, momentum=0.6, nesterov=nesterov, factors=factors, held=held
    )
    *_, (_, trained, _) = path
    for i in range(3):
        at, velocity = [part[i] for part in network.parameters], [0.0] * 4
        for factor in factors:
            ahead = [p + 0.6 * v for p, v in zip(at, velocity, strict=True)] if nesterov else at
            down = written_out(*ahead, X, y, 0.3)
            velocity = [0.6 * v - factor * s * g for v, s, g in zip(velocity, sizes, down, strict=True)]
            velocity[0] = velocity[0] * (1 - held[:, 0])
            at = [p + v for p, v in zip(at, velocity, strict=True)]
        for one, expected in zip(trained.parameters, at, strict=True):
            np.testing.assert_allclose(one[i], expected, rtol=1e-11, atol=1e-14)  # the rounding of 2000 terms
