"""Separable points: the separability that was asked for is the one that comes out."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firstlight.data.separable import separability, separable, toy, two_points


def least_cosine(X, y):
    """The definition, pair by pair."""
    z = [label * x / np.sqrt(x @ x) for x, label in zip(X, y, strict=True)]
    return min(float(a @ b) for a in z for b in z)


@settings(max_examples=120, deadline=None, derandomize=True)
@given(
    n=st.integers(2, 30),
    d=st.integers(2, 40),
    mu=st.floats(1e-6, 1 - 1e-6),
    seed=st.integers(0, 2**32 - 1),
    balance=st.floats(0, 1),
)
def test_realised_separability_is_the_requested_one(n, d, mu, seed, balance):
    X, y = separable(n, d, mu, rng=seed, balance=balance, norms=(0.5, 4.0))
    assert X.shape == (n, d)
    assert abs(least_cosine(X, y) - mu) < 1e-13  # a few hundred roundings of numbers of size 1
    assert abs(separability(X, y) - mu) < 1e-13
    lengths = np.linalg.norm(X, axis=1)
    assert lengths.min() >= 0.5 - 1e-12
    assert lengths.max() <= 4.0 + 1e-12
    assert abs((y > 0).sum() - balance * n) <= 0.5
    assert set(np.unique(y)) <= {-1.0, 1.0}


def test_same_seed_same_points_and_other_seed_others():
    a, b, c = (separable(5, 3, 0.2, rng=seed)[0] for seed in (1, 1, 2))
    np.testing.assert_array_equal(a, b)
    assert not np.allclose(a, c)


def test_axis_is_uniform():
    means = np.array(
        [np.mean(y[:, None] * X, axis=0) for X, y in (separable(6, 3, 0.9, rng=s) for s in range(800))]
    )
    # each coordinate of a unit vector has variance 1/3; five standard errors
    np.testing.assert_allclose(means.mean(0), 0, atol=5 * np.sqrt(1 / 3 / 800))


def test_points_fill_the_cone_also_in_the_plane():
    X, y = separable(50, 2, 0.4, rng=0)
    angles = np.unwrap(np.sort(np.arctan2(*(y[:, None] * X).T)))
    assert len(np.unique(np.round(angles, 9))) == 50


@pytest.mark.parametrize("delta", [0, 1e-3, 0.1, np.pi / 2])
def test_two_points(delta):
    X, y = two_points(delta)
    np.testing.assert_allclose(np.linalg.norm(X, axis=1), 1)
    assert least_cosine(X, y) == pytest.approx(np.sin(delta), abs=1e-15)


def test_toy_lies_on_two_evenly_spaced_arcs():
    X, y = toy()
    angles = np.degrees(np.arctan2(X[:, 1], X[:, 0]))
    np.testing.assert_allclose(angles[y > 0], np.linspace(-15, 15, 15), atol=1e-12)
    np.testing.assert_allclose(angles[y < 0], np.linspace(133, 158, 10), atol=1e-12)
    # farthest apart once the labels are taken in: 15 degrees and 133 - 180 = -47 degrees
    assert separability(X, y) == pytest.approx(np.cos(np.radians(62)), rel=1e-12)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"samples": 1}, "samples = 1"),
        ({"samples": 2.0}, "samples = 2.0"),
        ({"dimension": 1}, "dimension = 1"),
        ({"mu": 0}, r"mu = 0: must be a number in \(0, 1\)"),
        ({"mu": 1.0}, "mu = 1.0"),
        ({"mu": np.nan}, "mu = nan"),
        ({"balance": 1.5}, "balance = 1.5"),
        ({"norms": (0, 1)}, "norms"),
        ({"norms": (2, 1)}, "norms"),
        ({"norms": (1, np.inf)}, "norms"),
        ({"rng": -1}, "rng = -1"),
    ],
)
def test_bad_input_is_refused(change, message):
    with pytest.raises(ValueError, match=message):
        separable(**{"samples": 4, "dimension": 3, "mu": 0.5, **change})


def test_other_refusals():
    with pytest.raises(ValueError, match="separation = 2"):
        two_points(2)
    with pytest.raises(ValueError, match="must be"):
        separability([[1.0, 0.0]], [0])
    with pytest.raises(ValueError, match="not be zero"):
        separability([[0.0, 0.0]], [1])
    with pytest.raises(ValueError, match="y: shape"):
        separability([[1.0, 0.0]], [1, 1])
