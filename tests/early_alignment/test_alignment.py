"""Measures of where neurons lie, on cases that can be counted by hand."""

import numpy as np
import pytest

from firstlight.early_alignment.definitions.alignment import cosines, regions, right_sign_fraction
from firstlight.early_alignment.definitions.rank import stable_rank
from firstlight.early_alignment.definitions.trajectory import Observer


def test_stable_rank():
    rng = np.random.default_rng(0)
    u, v = rng.normal(size=5), rng.normal(size=3)
    assert stable_rank(np.outer(u, v)) == pytest.approx(1)
    assert stable_rank(np.eye(4)) == pytest.approx(4)
    W = rng.normal(size=(6, 4))
    assert stable_rank(W) == pytest.approx(np.linalg.norm(W) ** 2 / np.linalg.norm(W, 2) ** 2)
    assert np.isnan(stable_rank(np.zeros((2, 2))))


def test_right_sign_fraction_against_a_loop(monkeypatch):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(23, 4)), rng.choice([-1, 1], 23)
    pairs = [y[i] * y[k] * (X[i] @ X[k]) > 0 for i in range(23) for k in range(23) if i != k]
    assert right_sign_fraction(X, y) == pytest.approx(np.mean(pairs))
    monkeypatch.setattr("firstlight.early_alignment.definitions.alignment._BLOCK", 5)
    assert right_sign_fraction(X, y) == pytest.approx(np.mean(pairs))
    with pytest.raises(ValueError, match="at least 2"):
        right_sign_fraction(X[:1], y[:1])


def test_regions_count_a_wall_as_inactive():
    X, y = np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([1, -1])
    rows = np.array([[1.0, 1e-15], [1e-15, 1.0], [-1.0, -1e-15], [1.0, 1.0], [1e-15, 1e-15]])
    assert regions(rows * 1e-30, X, y).tolist() == [1, -1, 0, 2, 2]


def test_cosines():
    assert cosines(np.array([[2.0, 0.0], [0.0, -3.0]]), np.array([1.0, 1.0])) == pytest.approx(
        [np.sqrt(0.5), -np.sqrt(0.5)]
    )
    assert np.isnan(cosines(np.eye(2), np.zeros(2))).all()


def test_the_rates_of_change_are_derivatives():
    """direction_change and norm_change against one small step of gradient descent."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(8, 3)), rng.choice([-1.0, 1.0], 8)
    W, v = rng.normal(size=(5, 3)), rng.normal(size=5)
    norms = np.linalg.norm(W, axis=1)
    see = Observer(X, y, np.negative, np.negative, mean=True)
    found = see(W / norms[:, None], np.log(norms), v / norms)
    hidden = np.maximum(X @ W.T, 0)
    f = hidden @ v
    assert found["loss"] == pytest.approx(np.exp(-y * f).mean())
    assert found["margin_plus"] == pytest.approx((y * f)[y > 0].min())
    step = 1e-7
    W1 = W + step * ((hidden > 0) * (y * np.exp(-y * f) / 8)[:, None]).T @ X * v[:, None]
    turned = np.linalg.norm(W1 / np.linalg.norm(W1, axis=1)[:, None] - W / norms[:, None], axis=1).sum()
    assert found["direction_change"] == pytest.approx(turned / step, rel=1e-5)  # first-order difference
    assert found["norm_change"] == pytest.approx(((W1**2).sum() - (W**2).sum()) / step, rel=1e-5)
    assert found["log_norm"] == pytest.approx(np.log((W**2).sum()))


def test_no_live_neurons_and_no_class_give_nan():
    see = Observer(
        np.array([[1.0, 0.0]]), np.ones(1), np.negative, np.negative, False, {"to_plus": np.ones(2)}
    )
    found = see(np.array([[-1.0, 0.0]]), np.zeros(1), np.ones(1))
    assert np.isnan([found["cosine_plus"], found["margin_minus"], found["to_plus"]]).all()
    assert found["dead"] == 1
