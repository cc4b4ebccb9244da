"""Solvers against known solutions, and that they say when they fail."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firstlight.maths.solvers import Solved, bracketing_root, threshold

SETTINGS = settings(deadline=None, derandomize=True, max_examples=50)


@SETTINGS
@given(st.integers(-50 * 10**9, 50 * 10**9).map(lambda n: n * 1e-9), st.floats(0.01, 60), st.floats(0.01, 60))
def test_root_of_a_cubic(root, below, above):
    solution = bracketing_root(lambda x: (x - root) ** 3 + (x - root), root - below, root + above)
    assert solution.converged
    assert solution.value == pytest.approx(root, rel=1e-11, abs=1e-11)
    assert solution.residual <= 1e-8


def test_a_root_so_small_that_its_digits_take_too_many_steps_is_told():
    root = 1.1947905970324783e-298
    solution = bracketing_root(lambda x: (x - root) ** 3 + (x - root), root - 2, root + 1)
    assert not solution.converged
    assert abs(solution.value) < 1e-290


@SETTINGS
@given(st.floats(0.011, 99), st.booleans())
def test_threshold_brackets_the_truth(where, log):
    limit = threshold(lambda x: x > where, 0.01, 100, tolerance=1e-9, log=log)
    assert limit.converged
    assert abs(limit.value - where) <= limit.residual * (1 + 1e-9) + 1e-14
    assert limit.residual <= 1e-9 * where


def test_a_threshold_outside_the_range_is_not_converged():
    below, above = threshold(lambda x: True, 1, 2), threshold(lambda x: False, 1, 2)
    assert (below.value, below.converged) == (1.0, False)
    assert (above.value, above.converged) == (2.0, False)
    assert not threshold(lambda x: x > 1.5, 1, 2, max_iterations=3, tolerance=1e-12).converged


def test_threshold_at_the_resolution_of_doubles():
    limit = threshold(lambda x: x > 1 / 3, 0.0, 1.0, tolerance=1e-17)
    assert limit.converged
    assert limit.value == pytest.approx(1 / 3, rel=1e-15)


@pytest.mark.parametrize(
    ("call", "field"),
    [
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
    with pytest.raises(RuntimeError, match="not converged"):
        Solved(1.0, 0.5, 10, False).require()
