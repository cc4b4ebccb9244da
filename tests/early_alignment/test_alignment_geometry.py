"""Constants of data and start, against sampling; limits, against other optimisers."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from sklearn.svm import SVC

from firstlight.data.separable import separability, separable, toy
from firstlight.early_alignment.definitions.trajectory import stable_rank
from firstlight.early_alignment.theory.geometry import geometry
from firstlight.early_alignment.theory.limits import limits, max_margin

PROBLEMS = st.tuples(
    st.integers(2, 12), st.integers(2, 6), st.floats(0.02, 0.95), st.integers(0, 10**6), st.floats(0.2, 0.8)
)


def problem(drawn, norms=(0.5, 2.0)):
    n, d, mu, seed, balance = drawn
    return separable(n, d, mu, seed, balance=balance, norms=norms)


def unit(rows):
    return rows / np.linalg.norm(rows, axis=-1, keepdims=True)


@settings(max_examples=30, deadline=None, derandomize=True)
@given(PROBLEMS)
def test_separability_and_xi_against_sampled_cones(drawn):
    X, y = problem(drawn)
    angles = geometry(X, y)
    # `separable` hits mu to rounding of a root, 1e-12.
    assert separability(X, y) == pytest.approx(drawn[2], abs=1e-11)
    Z = unit(y[:, None] * X)
    weights = np.random.default_rng(0).exponential(size=(2000, len(y))) ** 4  # close to the extreme rays
    cone = unit(np.vstack([weights @ (y[:, None] * X), Z]))
    nearest = (cone @ Z.T).min() ** 2
    assert nearest >= angles.xi * (1 - 1e-9)
    assert nearest == pytest.approx(angles.xi, rel=1e-9)  # attained on an extreme ray, which is in the sample


@settings(max_examples=30, deadline=None, derandomize=True)
@given(PROBLEMS)
def test_zeta1_is_the_widest_cone_inside_the_regions(drawn):
    X, y = problem(drawn)
    angles = geometry(X, y)
    rng = np.random.default_rng(1)
    for center, side in ((angles.center_plus, y), (angles.center_minus, -y)):
        if not center.any():
            continue
        axis = unit(center)
        off = rng.normal(size=(4000, len(axis)))
        off = unit(off - np.outer(off @ axis, axis))
        angle = 0.999999 * np.arcsin(np.sqrt(angles.zeta1)) * rng.uniform(size=(4000, 1)) ** 0.2
        inside = np.cos(angle) * axis + np.sin(angle) * off
        assert ((inside @ X.T) * side > 0).all()
    assert angles.zeta1 >= angles.xi * (1 - 1e-9)  # so that min(zeta, xi) never sees zeta1


def test_zeta2_excludes_every_start_and_zeta_is_the_minimum():
    X, y = toy()
    W = np.array([[-0.8, 0.5], [1.0, 0.3]])
    angles = geometry(X, y, W, [1, -1])
    cosines = [
        W[0] @ angles.center_minus / np.linalg.norm(W[0]) / np.linalg.norm(angles.center_minus),
        W[1] @ angles.center_plus / np.linalg.norm(W[1]) / np.linalg.norm(angles.center_plus),
    ]
    assert angles.zeta2 == pytest.approx(1 - max(cosines) ** 2, rel=1e-12)
    assert angles.zeta == min(angles.zeta1, angles.zeta2)
    on_ray = geometry(X, y, [angles.center_minus], [1])
    assert on_ray.zeta2 == pytest.approx(0, abs=1e-15)


def test_centred_data_have_opposite_centres():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 5)) + 1, np.where(np.arange(30) < 11, 1, -1)
    angles = geometry(X - X.mean(axis=0), y)
    assert np.allclose(angles.center_plus, -angles.center_minus, atol=1e-12)


def test_blocks_do_not_change_separability(monkeypatch):
    X, y = separable(50, 4, 0.3, 0)
    whole = separability(X, y)
    monkeypatch.setattr("firstlight.data.separable._BLOCK", 7)
    assert separability(X, y) == pytest.approx(whole, abs=1e-15)


@settings(max_examples=25, deadline=None, derandomize=True)
@given(PROBLEMS)
def test_max_margin_against_a_support_vector_machine(drawn):
    X, y = problem(drawn)
    X = X[y > 0] if (y > 0).any() else X
    direction, margin = max_margin(X)
    assert np.linalg.norm(direction) == pytest.approx(1, abs=1e-12)
    assert (X @ direction).min() == pytest.approx(margin, rel=1e-12)
    # An SVM without offset: mirror the points, so that the offset vanishes by symmetry.
    machine = SVC(kernel="linear", C=1e10, tol=1e-9).fit(np.vstack([X, -X]), [1] * len(X) + [-1] * len(X))
    assert margin == pytest.approx(1 / np.linalg.norm(machine.coef_), rel=1e-5)  # libsvm's tolerance


def test_max_margin_says_when_there_is_none():
    direction, margin = max_margin(np.array([[1.0, 0.0], [-1.0, 0.1], [-1.0, -0.1]]))
    assert np.isnan(margin)
    assert np.isnan(direction).all()
    assert np.isnan(max_margin(np.empty((0, 2)))[1])


def test_stable_rank_limit_is_that_of_the_limiting_matrix():
    X, y = separable(12, 5, 0.2, 3, norms=(0.5, 2.0))
    end = limits(X, y)
    W = np.stack([end.direction_plus / end.margin_plus**0.5, end.direction_minus / end.margin_minus**0.5])
    assert end.stable_rank == pytest.approx(stable_rank(W), rel=1e-12)
    assert end.cosine == pytest.approx(end.direction_plus @ end.direction_minus, abs=1e-12)


def test_the_margin_against_direct_optimisation():
    X, _ = separable(8, 3, 0.3, 5, balance=1.0, norms=(0.5, 2.0))
    best = minimize(lambda u: u @ u, X.sum(axis=0), constraints={"type": "ineq", "fun": lambda u: X @ u - 1})
    assert max_margin(X)[1] == pytest.approx(1 / np.linalg.norm(best.x), rel=1e-6)  # SLSQP's tolerance


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        ([[1, 0], [0, 1]], [1, 2], r"y\[1\] = 2"),
        ([[1, 0], [0, 1]], [1, 0], r"y\[1\] = 0"),
        ([[1, 0], [0, 0]], [1, -1], r"X\[1\] = 0"),
        ([[1, 0], [np.nan, 1]], [1, -1], r"X\[1\]: holds NaN"),
        ([[1, 0], [0, 1]], [1], "y: shape"),
        ([[1, 0], [0, 1]], [1, np.nan], r"y\[1\] = nan"),
        ([1, 2], [1, -1], "X: shape"),
        ([["a", 0]], [1], "X: must be an array of real numbers"),
        ([[1, 0], [1e-13, 0]], [1, 1], "within a factor of 1e12"),
    ],
)
def test_bad_data_are_refused(X, y, message):
    for call in (separability, geometry, limits):
        with pytest.raises(ValueError, match=message):
            call(X, y)


def test_contradictory_and_duplicate_points_are_allowed():
    assert separability([[1, 0], [1, 0]], [1, -1]) == pytest.approx(-1)
    assert separability([[1, 0], [1, 0]], [1, 1]) == pytest.approx(1)
    angles = geometry([[1, 0], [1, 0], [0, 1]], [1, -1, 1])
    assert not angles.separable
    assert "not orthogonally separable" in angles.obstacle
    end = limits([[1, 0], [1, 0], [0, 1]], [1, -1, 1])
    assert np.isnan([end.stable_rank, end.loss_coefficient]).all()
    assert end.margin_plus == pytest.approx(np.sqrt(0.5))


def test_directions_need_signs():
    with pytest.raises(ValueError, match="give both or neither"):
        geometry([[1, 0]], [1], [[1, 0]])
