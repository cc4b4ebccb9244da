"""Gradient descent: against finite differences, against flow, and in its variants."""

import numpy as np
import pytest

from firstlight import early_alignment as ea
from firstlight.data.separable import separable, toy
from firstlight.early_alignment.definitions.start import gaussian_start
from firstlight.early_alignment.experiment.flow import integrate
from firstlight.maths.losses import margin_loss
from firstlight.network.descent import train


def nothing(W, v, f):
    return {"f": f}


def test_one_step_is_the_gradient_of_the_mean_loss():
    X, y = separable(6, 3, 0.3, 0)
    W, v = gaussian_start(4, 3, 0.5, rng=0)
    chosen, step = margin_loss("logistic"), 1e-3

    def loss(W, v):
        return chosen.value(y, np.maximum(X @ W.T, 0) @ v).mean()

    _, W1, v1 = train(X, y, W, v, loss=chosen, step_size=step, record=[1], observe=nothing)
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
        _, W, v = train(X, y, eps * u, eps * s, loss=margin_loss("exp"), step_size=step,
                        record=[round(t / step)], observe=nothing)  # fmt: skip
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

    train(X, y, W, v, loss=Watched(), step_size=0.1, record=[6], observe=nothing, batch_size=10, rng=0)
    assert seen == [10] * 6
    full = [
        train(
            X,
            y,
            W,
            v,
            loss=margin_loss("exp"),
            step_size=0.1,
            record=[20],
            observe=nothing,
            batch_size=b,
            rng=0,
        )[1]
        for b in (None, 25)
    ]
    assert full[0] == pytest.approx(full[1], rel=1e-12)


def test_first_layer_only_keeps_the_second():
    X, y = toy()
    W, v = gaussian_start(6, 2, 1e-3, rng=0)
    _, W1, v1 = train(X, y, W, np.sign(v), loss=margin_loss("exp"), step_size=0.1, record=[50],
                      observe=nothing, train_second=False)  # fmt: skip
    assert np.array_equal(v1, np.sign(v))
    assert not np.array_equal(W1, W)


def test_the_start_is_left_alone():
    X, y = toy()
    W, v = gaussian_start(3, 2, 0.1, rng=0)
    before = W.copy(), v.copy()
    train(X, y, W, v, loss=margin_loss("exp"), step_size=0.1, record=[3], observe=nothing)
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
        ({"record": []}, "record"),
        ({"record": [3, 2]}, "record"),
        ({"step_size": 0.0}, "step_size = 0"),
        ({"batch_size": 26}, "batch_size = 26"),
        ({"batch_size": 1.5}, "batch_size = 1.5"),
    ],
)
def test_bad_arguments(change, message):
    X, y = toy()
    W, v = gaussian_start(3, 2, 0.1, rng=0)
    with pytest.raises(ValueError, match=message):
        train(
            X,
            y,
            W,
            v,
            **{"loss": margin_loss("exp"), "step_size": 0.1, "record": [1], "observe": nothing, **change},
        )
