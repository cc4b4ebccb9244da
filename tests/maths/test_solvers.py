"""Solvers against known solutions, and that they say when they fail."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firstlight.maths.solvers import Solved, bracketing_root

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


@pytest.mark.parametrize(
    ("call", "field"),
    [
        (lambda: bracketing_root(np.cos, 0, 1), "opposite signs"),
        (lambda: bracketing_root(np.cos, 2, 1), "low < high"),
    ],
)
def test_bad_input_is_named(call, field):
    with pytest.raises(ValueError, match=field):
        call()


def test_solved_is_a_plain_record():
    assert Solved(1.0, 0.0, 1, True).require() == 1.0
    with pytest.raises(RuntimeError, match="not converged"):
        Solved(1.0, 0.5, 10, False).require()
