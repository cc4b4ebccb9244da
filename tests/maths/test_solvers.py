"""Solvers against known solutions, and that they say when they fail."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firstlight.maths.solvers import Solved, bracketing_root, fixed_point, threshold

SETTINGS = settings(deadline=None, derandomize=True, max_examples=50)


def test_fixed_point_of_a_linear_map_is_the_linear_solve():
    rng = np.random.default_rng(0)
    a, b = 0.1 * rng.normal(size=(5, 5)), rng.normal(size=5)
    found = fixed_point(lambda x: a @ x + b, np.zeros(5), tolerance=1e-13)
    assert found.converged
    # the residual is at most 1e-13 (1 + |x|), and (1 - a) is well conditioned
    np.testing.assert_allclose(found.value, np.linalg.solve(np.eye(5) - a, b), atol=1e-11)


def test_damping_tames_a_two_cycle():
    def flip(x):
        return 1.0 - x

    assert not fixed_point(flip, 0.1, damping=1.0, max_iterations=50).converged
    tamed = fixed_point(flip, 0.1)
    assert tamed.converged
    assert float(tamed.value) == pytest.approx(0.5)


@pytest.mark.parametrize("step", [lambda x: 2 * x + 1, lambda x: x * np.inf])
def test_divergence_is_said_and_require_raises(step):
    found = fixed_point(step, 1.0, max_iterations=100)
    assert not found.converged
    with pytest.raises(RuntimeError, match="not converged"):
        found.require()


@SETTINGS
@given(st.floats(-50, 50), st.floats(0.01, 60), st.floats(0.01, 60))
def test_root_of_a_cubic(root, below, above):
    found = bracketing_root(lambda x: (x - root) ** 3 + (x - root), root - below, root + above)
    assert found.converged
    assert found.value == pytest.approx(root, rel=1e-11, abs=1e-11)
    assert found.residual <= 1e-8


@SETTINGS
@given(st.floats(0.011, 99), st.booleans())
def test_threshold_brackets_the_truth(where, log):
    found = threshold(lambda x: x > where, 0.01, 100, tolerance=1e-9, log=log)
    assert found.converged
    assert abs(found.value - where) <= found.residual * (1 + 1e-9) + 1e-14
    assert found.residual <= 1e-9 * where


def test_a_threshold_outside_the_range_is_not_converged():
    below, above = threshold(lambda x: True, 1, 2), threshold(lambda x: False, 1, 2)
    assert (below.value, below.converged) == (1.0, False)
    assert (above.value, above.converged) == (2.0, False)
    assert not threshold(lambda x: x > 1.5, 1, 2, max_iterations=3, tolerance=1e-12).converged


def test_threshold_at_the_resolution_of_doubles():
    found = threshold(lambda x: x > 1 / 3, 0.0, 1.0, tolerance=1e-17)
    assert found.converged
    assert found.value == pytest.approx(1 / 3, rel=1e-15)


@pytest.mark.parametrize(
    ("call", "field"),
    [
        (lambda: fixed_point(np.cos, 1.0, damping=0), "damping"),
        (lambda: fixed_point(np.cos, np.nan), "start"),
        (lambda: fixed_point(lambda x: np.ones(3), np.ones(2)), "step"),
        (lambda: fixed_point(np.cos, 1.0, tolerance=0), "tolerance"),
        (lambda: fixed_point(np.cos, 1.0, max_iterations=0), "max_iterations"),
        (lambda: bracketing_root(np.cos, 0, 1), "opposite signs"),
        (lambda: bracketing_root(np.cos, 2, 1), "low < high"),
        (lambda: threshold(lambda x: x > 1, -1, 2, log=True), "low = -1"),
    ],
)
def test_bad_input_is_named(call, field):
    with pytest.raises(ValueError, match=field):
        call()


def test_solved_is_a_plain_record():
    assert Solved(1.0, 0.0, 1, True).require() == 1.0
