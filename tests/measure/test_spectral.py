"""The spectral estimator on data, where its preprocessing reaches far below zero."""

import numpy as np
import pytest

from firstlight import MultiIndex
from firstlight.measure.spectral import spectral_estimator


def test_far_negative_weights():
    drawn = MultiIndex("z1**2").sample(600, 80, rng=0)

    def best(y):  # the optimal one: as low as -1e6 where a label is nearly zero
        return 1 - 1 / np.maximum(y, 1e-12)

    values, estimate = spectral_estimator(drawn.X, drawn.y, best, count=3)
    matrix = (drawn.X.T * best(drawn.y)) @ drawn.X / 600
    exact, vectors = np.linalg.eigh(matrix)
    # rounding of a matrix of this norm
    np.testing.assert_allclose(values, exact[-3:][::-1], atol=1e-14 * np.abs(exact).max())
    assert abs(estimate[:, 0] @ vectors[:, -1]) == pytest.approx(1, abs=1e-6)
    assert abs(estimate[:, 0] @ drawn.directions[:, 0]) > 0.9


@pytest.mark.parametrize(
    ("X", "count", "message"),
    [
        (np.full((9, 4), np.nan), 1, "finite"),
        (np.ones((9, 4)) * 1j, 1, "real"),
        (np.ones((9, 4)), 1.5, "count = 1.5"),
        (np.ones((9, 4)), True, "count = True"),
    ],
)
def test_bad_input(X, count, message):
    with pytest.raises(ValueError, match=message):
        spectral_estimator(X, np.ones(9), np.tanh, count)
