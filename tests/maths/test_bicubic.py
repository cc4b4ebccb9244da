"""Bicubic splines: cubics are their own splines, and the error of any smooth function falls as the step⁴."""

import numpy as np
import pytest
from scipy.interpolate import RectBivariateSpline

from firstlight.maths.bicubic import Bicubic


def fitted(ends, counts, functions):
    spline = Bicubic(ends, counts)
    spline.fit(np.stack(functions(*np.meshgrid(*spline.nodes, indexing="ij")), axis=-1))
    return spline


def grid(rng):
    """Ends of any place and size, and how many pieces."""
    low = rng.normal(size=2) * 10 ** rng.uniform(-3, 3, 2)
    return np.stack([low, low + 10 ** rng.uniform(-2, 3, 2)], axis=1), rng.integers(3, 40, 2)


@pytest.mark.parametrize("seed", range(10))
def test_cubics_are_their_own_splines_within_the_grid_and_beyond(seed):
    rng = np.random.default_rng(seed)
    ends, counts = grid(rng)
    tables = rng.normal(size=(rng.integers(1, 6), 4, 4))

    def cubics(x, y):
        x, y = ((v - end[0]) / np.ptp(end) for v, end in zip((x, y), ends, strict=True))
        return [np.polynomial.polynomial.polyval2d(x, y, table) for table in tables]

    spline = fitted(ends, counts, cubics)
    margin = np.ptp(ends, axis=1) / counts
    x, y = rng.uniform(ends[:, 0] - margin, ends[:, 1] + margin, (200, 2)).T
    # rounding of places far from 0, times slopes of at most 12 over the width of the grid
    slack = 1e-12 * np.abs(tables).sum() * (1 + np.abs(ends).max(axis=1) / np.ptp(ends, axis=1)).max()
    np.testing.assert_allclose(spline(x, y), cubics(x, y), rtol=0, atol=slack)


def test_error_falls_as_the_fourth_power_of_the_step_like_that_of_scipys_splines():
    x, y = np.random.default_rng(0).uniform(-1, 1, (2, 500))
    errors, scipys = [], []
    for count in (20, 40):
        spline = fitted(np.array([[-1, 1], [-1, 1]]), (count, count), lambda x, y: [np.sin(3 * x - 2 * y)])
        errors.append(np.abs(spline(x, y)[0] - np.sin(3 * x - 2 * y)).max())
        nodes = np.linspace(-1, 1, count + 1)
        known = np.sin(3 * nodes[:, None] - 2 * nodes)
        other = RectBivariateSpline(nodes, nodes, known)(x, y, grid=False)
        scipys.append(np.abs(other - np.sin(3 * x - 2 * y)).max())
    assert errors[1] < errors[0] / 12  # 16 in the limit
    assert errors[1] < 4 * scipys[1]  # with the same nodes but two, another choice at the ends


def test_places_broadcast_and_what_is_no_number_has_no_value():
    spline = fitted(np.array([[0.0, 1.0], [0.0, 2.0]]), (5, 4), lambda x, y: [x, y, x * y])
    x, y = np.array([[0.5], [np.nan], [np.inf]]), np.array([0.1, 1.9])
    values = spline(x, y)
    assert values.shape == (3, 3, 2)
    np.testing.assert_allclose(values[:, 0], [[0.5, 0.5], [0.1, 1.9], [0.05, 0.95]], atol=1e-14)
    assert np.isnan(values[:, 1:]).all()
