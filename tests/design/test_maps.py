"""Maps of a prediction over two variables."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
import xarray as xr
from matplotlib.figure import Figure
from scipy.interpolate import LinearNDInterpolator

import firstlight
from firstlight.demo import Exponential


@dataclass(frozen=True)
class Step:
    """A smooth step along a line of the plane, unknown beyond a circle."""

    x: float = 0.0
    y: float = 0.0
    turned: bool = False
    unit: float = 1.0
    radius: float = 10.0

    theory: ClassVar[str] = "tests"
    version: ClassVar[int] = 1

    def predict(self, rng=0):
        if self.x**2 + self.y**2 > self.radius**2:
            raise ValueError(f"x = {self.x}: outside of the circle")
        x, y = (self.y, self.x) if self.turned else (self.x, self.y)
        return xr.Dataset({"height": self.unit * np.tanh(25 * (x + 0.5 * y - 0.6))})


UNIT = {"x": (0.0, 1.0), "y": (0.0, 1.0)}


def mean_error(result):
    """Mean error of the map over a fine grid."""
    grid = np.linspace(0.02, 0.98, 25)
    return np.mean([abs(result(x, y) - float(Step(x, y).predict().height)) for x in grid for y in grid])


def test_refined_points_are_worth_more_than_a_grid_of_as_many():
    refined = firstlight.predicted_map(Step(), UNIT, "height", points=49)
    places = np.linspace(0, 1, 7)
    x, y = (one.ravel() for one in np.meshgrid(places, places))
    plain = LinearNDInterpolator(
        np.column_stack([x, y]), [float(Step(a, b).predict().height) for a, b in zip(x, y, strict=True)]
    )
    assert mean_error(refined) < 0.6 * mean_error(lambda a, b: float(plain(a, b)))
    # what the map says of itself is an error where it refined, so at least the error on average
    assert mean_error(refined) < refined.gap


def test_units_and_the_order_of_the_variables_do_not_matter():
    plain = firstlight.predicted_map(Step(), UNIT, "height", points=20)
    scaled = firstlight.predicted_map(Step(unit=1e6), UNIT, "height", points=20)
    np.testing.assert_allclose(scaled.table.height, 1e6 * plain.table.height, rtol=1e-12)
    np.testing.assert_array_equal(scaled.table.x, plain.table.x)
    turned = firstlight.predicted_map(
        Step(turned=True), {"y": (0.0, 1.0), "x": (0.0, 1.0)}, "height", points=20
    )
    # equal triangles are divided in another order, so single points differ, the map hardly
    assert abs(mean_error(lambda x, y: turned(x, y)) / mean_error(plain) - 1) < 0.5


def test_the_border_of_what_is_known_is_followed():
    surface = firstlight.predicted_map(Step(radius=0.8), UNIT, "height", points=60)
    assert "outside of the circle" in surface.refused
    away = np.abs(np.hypot(surface.table.x, surface.table.y) - 0.8)
    # of points spread evenly, 16 % would lie so near
    assert int((away < 0.1).sum()) > 15
    assert np.isnan(surface(0.95, 0.95))
    assert "unknown at" in str(surface)
    with pytest.raises(ValueError, match="none of 9 places; it said: x ="):
        firstlight.predicted_map(Step(radius=0.1), {"x": (1.0, 2.0), "y": (1.0, 2.0)}, "height", points=9)


def test_an_infinite_prediction_is_not_known_and_not_painted():
    class Half(Step):
        def predict(self, rng=0):
            return xr.Dataset({"height": np.inf if self.x > 0.6 else self.x})

    chart = firstlight.predicted_map(Half(), UNIT, "height", points=30)
    np.testing.assert_allclose(chart(0.25, 0.5), 0.25)
    assert np.isnan(chart(0.9, 0.9))
    # half of the points and more are spent on the border, which is then known to a few hundredths
    known = np.isfinite(chart.table.height.values)
    assert chart.table.x.values[known].max() > 0.55
    filled = chart.plot(Figure().subplots()).collections[0]
    assert max(path.vertices[:, 0].max() for path in filled.get_paths() if len(path.vertices)) < 0.61


def test_integers_end_when_none_is_left_and_every_point_is_new():
    surface = firstlight.predicted_map(Exponential(), {"rate": (1, 4), "samples": (1, 4)}, "mean", points=100)
    assert surface.table.sizes["point"] == 16
    np.testing.assert_allclose(surface.table["mean"], 1 / surface.table.rate)


def test_a_map_draws_itself():
    ax = firstlight.predicted_map(
        Step(radius=1.2), {"x": (0.01, 1.0), "y": (0.0, 1.0)}, "height", points=15
    ).plot(Figure().subplots())
    assert (ax.get_xlabel(), ax.get_ylabel(), ax.get_xscale(), ax.get_yscale()) == ("x", "y", "log", "linear")


@pytest.mark.parametrize(
    ("over", "said"),
    [({"x": (0.0, 1.0)}, "two variables"), ({"x": (0.0, 1.0), "y": [1, 2]}, "two variables"),
     ({"x": (0.0, 1.0), "z": (0.0, 1.0)}, "z"), ({"x": (1.0, 0.0), "y": (0.0, 1.0)}, "increase")],
)  # fmt: skip
def test_other_variables_are_refused(over, said):
    with pytest.raises(ValueError, match=said):
        firstlight.predicted_map(Step(), over, "height")
