"""Gradient descent at the public function: starts of extreme size, and arguments that it refuses."""

import numpy as np
import pytest

from firstlight import early_alignment as ea

X, Y = [[1, 0], [1, 1], [-1, -0.5]], [1, 1, -1]
START, SECOND = np.array([[1.0, 2.0], [-1.0, 1.0], [-1.0, -2.0]]), np.array([1.0, 1.5, -1.0])


def run(**change):
    given = {"X": X, "y": Y, "first_layer": START, "second_layer": SECOND, "steps": 20, "observations": 3}
    return ea.descent(**{**given, **change})


def test_a_start_whose_squares_underflow():
    """While outputs are nothing, both layers scale together: only log_norm knows the difference."""
    tiny, small = (run(first_layer=scale * START, second_layer=scale * SECOND) for scale in (1e-200, 1e-30))
    assert np.allclose(tiny.log_norm + 400 * np.log(10), small.log_norm + 60 * np.log(10), atol=1e-10)
    for name in ("stable_rank", "cosine_plus", "cosine_minus", "loss"):
        assert np.allclose(tiny[name], small[name], rtol=1e-12)  # rounding of 20 steps


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"first_layer": None}, "first_layer"),
        ({"first_layer": [[0, 0]] * 3}, r"first_layer\[0\] = 0"),
        ({"first_layer": 1e200 * START, "second_layer": 1e200 * SECOND}, "first_layer, second_layer"),
        ({"second_layer": "a"}, "second_layer"),
        ({"second_layer": [1, 1]}, "second_layer"),
        ({"steps": 2.5}, "steps = 2.5"),
        ({"steps": True}, "steps = True"),
        ({"batch_size": True}, "batch_size = True"),
        ({"observations": 1}, "observations = 1"),
        ({"observations": [1.7]}, "observations = "),
        ({"observations": [np.nan]}, "observations = "),
        ({"step_size": "a"}, "step_size = 'a'"),
    ],
)
def test_bad_arguments_are_named(change, message):
    with pytest.raises(ValueError, match=message):
        run(**change)
