"""The network of unseen classes: gradients, updates against its tangent kernel, rank one in size."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import logsumexp

from firstlight.maths.activations import activation
from firstlight.measure.elasticity import local_elasticity
from firstlight.unseen_classes import GradientProblem
from firstlight.unseen_classes.experiment.step import draw_network


def mean_loss(loss, network, x, y):
    g = network(x)
    if loss == "square":
        return ((y - g) ** 2).sum() / (2 * len(x))
    if loss == "logistic":
        return np.logaddexp(0, -y * g).mean()
    return (logsumexp(g, axis=1) - (y * g).sum(axis=1)).mean()


@pytest.mark.parametrize(("loss", "outputs"), [("square", 1), ("logistic", 1), ("square", 3), ("softmax", 3)])
@pytest.mark.parametrize("name", ["tanh", "shifted_relu"])
def test_steps_follow_the_gradient(loss, outputs, name):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(7, 4))
    y = rng.choice([-1.0, 1.0], 7) if outputs == 1 else np.eye(3)[rng.integers(3, size=7)]
    network = draw_network(4, 5, activation(name), rng, outputs=outputs, head_scale=0.7, loss=loss)
    first, both = network.step(x, y, 1.0), network.sgd(x, y, 1.0)
    np.testing.assert_array_equal(first.second_layer, network.second_layer)
    np.testing.assert_allclose(first.first_layer, both.first_layer, rtol=1e-13, atol=1e-15)  # rounding
    for field, moved in (("first_layer", first.first_layer), ("second_layer", both.second_layer)):
        before = getattr(network, field)
        for place in [(0, 0), (4, 2)] if before.ndim == 2 else [(1,), (4,)]:
            nudge = np.zeros_like(before)
            nudge[place] = 1e-6
            up, down = (replace(network, **{field: before + sign * nudge}) for sign in (1, -1))
            slope = (mean_loss(loss, up, x, y) - mean_loss(loss, down, x, y)) / 2e-6
            assert -slope == pytest.approx((moved - before)[place], abs=1e-8)  # differences err by 1e-10


def test_updates_are_the_tangent_kernel():
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(8, 5)), rng.choice([-1.0, 1.0], 8)
    network = draw_network(5, 300, activation("tanh"), rng, head_scale=1.0)
    features = network.hidden(x)
    slopes = network.activation.derivative(x @ network.first_layer.T) * network.second_layer
    kernel = features @ features.T + (slopes @ slopes.T) * (x @ x.T)
    # one step is linear up to its own size: the error shrinks with it
    errors = [np.abs(local_elasticity(network, x, y, step_size=size) - kernel).max() for size in (1e-3, 1e-5)]
    assert errors[1] < 0.02 * errors[0]
    assert errors[1] < 1e-3 * np.abs(kernel).max()
    ratio = local_elasticity(network, x, y, kind="relative", step_size=1e-6)
    np.testing.assert_allclose(ratio, np.abs(kernel) / np.diag(kernel)[:, None], atol=1e-4)


@pytest.mark.parametrize("name", ["shifted_relu", "erf"])
def test_the_gradient_becomes_rank_one_in_operator_norm_only(name):
    sizes = np.array([64, 128, 256, 512])
    values = [
        [GradientProblem(dimension=int(n), activation=name).simulate(seed) for seed in range(4)]
        for n in sizes
    ]
    operator = np.array([np.mean([float(one.operator_error) for one in row]) for row in values])
    frobenius = np.array([np.mean([float(one.frobenius_error) for one in row]) for row in values])
    slope = np.polyfit(np.log(sizes), np.log(operator), 1)[0]
    assert -0.6 < slope < -0.35  # n^(-1/2) up to logarithms; the notes measure -0.44 and -0.47
    assert np.ptp(frobenius) < 0.1 * frobenius.mean()  # it does not fall
    predicted = [GradientProblem(dimension=512, activation=name).predict(seed) for seed in range(4)]
    assert float(predicted[0].frobenius_error) == pytest.approx(
        float(values[-1][0].frobenius_error), rel=0.03
    )
    # largest singular values of two draws of the same law: 5 % of scatter each, over the root of four
    drawn = np.mean([float(one.operator_error) for one in predicted])
    assert drawn == pytest.approx(operator[-1], rel=0.1)
    assert min(values[-1][0].left_cosine, values[-1][0].right_cosine) > 0.99


def test_labels_alone_miss_the_output_when_it_is_of_order_one():
    for residual, bound in ((True, (0.0, 0.15)), (False, (0.25, 0.6))):
        problem = GradientProblem(dimension=256, head_scale=1.0, residual=residual)
        measured, predicted = (
            np.mean([float(kind(seed).operator_error) for seed in range(3)])
            for kind in (problem.simulate, problem.predict)
        )
        assert bound[0] < measured < bound[1]
        assert predicted == pytest.approx(measured, rel=0.15)  # three draws of 5 to 10 % scatter


def test_heads_and_weights():
    rng = np.random.default_rng(2)
    sigma = activation("relu")
    network = draw_network(6, 4, sigma, rng, head="rademacher", start="normal")
    np.testing.assert_allclose(np.abs(network.second_layer), 0.5)
    np.testing.assert_allclose(network.head, 0.5 * network.second_layer)
    assert not np.allclose(np.linalg.norm(network.first_layer, axis=1), 1)
    given = draw_network(6, 4, sigma, rng, head=[1.0, 2.0, 3.0, 4.0])
    assert given.second_layer.tolist() == [1, 2, 3, 4]
    with pytest.raises(ValueError, match="head: shape"):
        draw_network(6, 4, sigma, rng, head=[1.0])
