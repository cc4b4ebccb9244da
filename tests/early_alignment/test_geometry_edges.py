"""Geometry, limits and bounds at the edges of the floating-point range, and what they refuse."""

from fractions import Fraction
from math import isqrt

import numpy as np
import pytest

from firstlight.early_alignment.theory.bounds import bounds
from firstlight.early_alignment.theory.geometry import geometry
from firstlight.early_alignment.theory.limits import limits, max_margin
from firstlight.maths.checks import check_neurons
from firstlight.maths.losses import gain

X, Y = [[1, 0], [1, 1], [-1, -0.5]], [1, 1, -1]
SLOWNESS = 2 + 1 / np.sqrt(2 * (1 + np.sqrt(0.5)))  # Σ 1/‖c‖ on the slowest way: 1, 2 and 1 data, μ = 1/√2
START = np.array([[1.0, 2.0], [-1.0, 1.0], [-1.0, -2.0]])


def root(square: Fraction) -> float:
    """The square root of an exact number, to more digits than a float has."""
    return float(Fraction(isqrt(int(square * 4**600)), 2**600))


def exact_sine(w, c):
    """The sine of the angle of two vectors, in rational numbers up to the last root."""
    w, c = ([Fraction(float(one)) for one in vector] for vector in (w, c))
    ww, cc, wc = (sum(a * b for a, b in zip(*pair, strict=True)) for pair in ((w, w), (c, c), (w, c)))
    return root((ww * cc - wc * wc) / (ww * cc))


@pytest.mark.parametrize("angle", [1e-2, 1e-5, 1e-8, 1e-11, 1e-14])
@pytest.mark.parametrize("dimension", [2, 300])
def test_zeta2_of_small_angles_against_rational_numbers(angle, dimension):
    rng = np.random.default_rng(0)
    data = rng.uniform(0.1, 1, size=(3, dimension))
    centre = data.sum(axis=0)
    across = rng.normal(size=dimension)
    across -= across @ centre / (centre @ centre) * centre
    w = centre / np.linalg.norm(centre) + angle * across / np.linalg.norm(across)
    angles = geometry(data, [1, 1, 1], [w], [-1]).zeta2
    # The row and the axis are each rounded a few times, which turns them by some 2e-16.
    assert np.sqrt(angles) == pytest.approx(exact_sine(w, centre), abs=1e-15, rel=1e-13)
    assert angles > 0


def test_zeta2_does_not_depend_on_the_length_of_the_start():
    expected = geometry(X, Y, START, [1, 1, -1]).zeta2
    # V+: (1, 2), (-1, 1) to x- = (-1, -1/2); V-: (-1, -2) to x+ = (2, 1). Only (-1, 1) is near, cos² = 0.1.
    assert expected == pytest.approx(0.9, rel=1e-14)
    for scale in (1e160, 1e300, 1e-200, 1e-300):
        assert geometry(X, Y, scale * START, [1, 1, -1]).zeta2 == pytest.approx(expected, rel=1e-14)


def test_a_start_on_the_ray_is_still_told():
    for scale in (1.0, 0.3, 1e-200, 7e150):
        angles = geometry(X, Y, scale * np.array([[-1.0, -0.5]]), [1])
        assert angles.zeta2 == 0
        assert "ray" in angles.obstacle


@pytest.mark.parametrize("angle", [1e-8, 1e-12])
def test_bounds_hold_next_to_the_ray(angle):
    """1 - cos² and 1 - m both lose all digits here; the time along the exact path, by hand, does not.

    The neuron turns from the direction of x- by way of -y. Its walls are at 270° (the first datum comes on),
    296.6° (the third goes off) and 315° (the second comes on); tan(φ/2) falls as e^{-t‖c‖} between them.
    """
    centre = np.array([-1.0, -0.5])
    promised = bounds(geometry(X, Y, [centre + angle * np.array([0.5, -1.0])], [1]), 1, -1e300)
    legs = [((1, 0.5), np.pi * 1.5, None), ((2, 0.5), np.pi * 1.5 + np.arctan(0.5), np.pi * 1.5),
            ((1, 0), np.pi * 1.75, np.pi * 1.5 + np.arctan(0.5))]  # fmt: skip
    exact = 0.0
    for c, last, first in legs:
        end = 2 * np.pi + np.arctan2(c[1], c[0])
        before = 2 / angle if first is None else np.tan((end - first) / 2)  # tan((π - θ)/2) = 2/θ
        exact += np.log(before / np.tan((end - last) / 2)) / np.hypot(*c)
    times = promised.alignment_time
    assert exact < times["sharp"] < times["path"]
    # m = sin²θ, so artanh √(1-m) = log(2/θ); the rounding of the start, 2e-16/θ, moves it by 1e-5 or less.
    assert times["sharp"] == pytest.approx(2 * np.log(2 / angle) * SLOWNESS, rel=1e-4)


def test_bounds_of_the_sharp_time_where_cosines_are_far_from_one():
    angles = geometry(X, Y, START, [1, 1, -1])
    m = min(angles.zeta, angles.xi)
    span = 2 * np.arctanh(np.sqrt(1 - m))  # the plain form, good at m = 0.5
    assert bounds(angles, 3, -5.0).alignment_time["sharp"] == pytest.approx(span * SLOWNESS, rel=1e-14)


def test_bounds_take_starts_whose_squares_underflow():
    angles = geometry(X, Y)
    base, tiny = (
        bounds(angles, 3, -500.0),
        bounds(angles, 3, -500.0 + 200 * np.log(10), start_norms=(1e-200, 1)),
    )
    # Only the product of scale and length enters.
    assert tiny.fitting_time["path"] == pytest.approx(base.fitting_time["path"], rel=1e-12)


def exact_margin(points):
    """Distance of the origin from the hull of plane points, over all their pairs, in rational numbers."""
    points = [(Fraction(float(a)), Fraction(float(b))) for a, b in points]
    nearest = min(a * a + b * b for a, b in points)
    for i, p in enumerate(points):
        for q in points[:i]:
            step = (q[0] - p[0], q[1] - p[1])
            share = -(p[0] * step[0] + p[1] * step[1]) / (step[0] ** 2 + step[1] ** 2)
            if 0 < share < 1:
                foot = (p[0] + share * step[0], p[1] + share * step[1])
                nearest = min(nearest, foot[0] ** 2 + foot[1] ** 2)
    return root(nearest)


def test_margins_of_very_unequal_norms_against_rational_numbers():
    rng = np.random.default_rng(0)
    for _ in range(60):
        n = rng.integers(2, 8)
        angles = rng.uniform(0, 6) + np.pi * rng.choice([0.5, 0.9, 0.999]) * rng.uniform(size=n)
        norms = 10 ** rng.uniform(-5.9, 5.9, n)
        points = norms[:, None] * np.column_stack([np.cos(angles), np.sin(angles)])
        direction, margin = max_margin(points)
        assert margin == pytest.approx(exact_margin(points), rel=1e-12)  # rounding of a 2 × 2 solve
        assert np.linalg.norm(direction) == pytest.approx(1, abs=1e-15)


def test_opposed_points_have_no_margin_whatever_their_norms():
    rng = np.random.default_rng(1)
    for _ in range(60):
        angles = np.append(rng.uniform(0, 2 * np.pi, 3), 0.0)
        angles[-1] = angles[0] + np.pi
        points = 10 ** rng.uniform(-5.9, 5.9, (4, 1)) * np.column_stack([np.cos(angles), np.sin(angles)])
        assert np.isnan(max_margin(points)[1])


def test_limits_of_very_unequal_norms():
    end = limits([[1e5, 0], [1e-5, 0]], [1, 1])
    assert end.margin_plus == pytest.approx(1e-5, rel=1e-15)
    assert end.direction_plus.tolist() == pytest.approx([1, 0], abs=1e-15)
    assert end.loss_coefficient == pytest.approx(0.5e5, rel=1e-15)  # 1/(2 γ)


NOT_NUMBERS = ["a", [["a", "b"]], [[1, 2], [1]], START * 1j, {}, [[10**400, 1]]]


@pytest.mark.parametrize("wrong", NOT_NUMBERS)
def test_starts_that_are_not_real_numbers(wrong):
    with pytest.raises(ValueError, match="directions: must be an array of real numbers"):
        geometry(X, Y, wrong, [1, 1, -1])
    with pytest.raises(ValueError, match="signs: must be an array of real numbers"):
        geometry(X, Y, START, wrong)
    with pytest.raises(ValueError, match="first_layer: must be an array of real numbers"):
        check_neurons(wrong, None, 2, "first_layer")


def test_a_start_is_called_by_its_name():
    with pytest.raises(ValueError, match=r"first_layer\[1\] = 0"):
        check_neurons([[1, 0], [0, 0]], None, 2, "first_layer")
    with pytest.raises(ValueError, match="first_layer: must be an array of real numbers"):
        check_neurons(None, None, 2, "first_layer")
    rows, signs = check_neurons([[1, 0], [0, 1]], None, 2)
    assert rows.tolist() == [[1, 0], [0, 1]]
    assert signs.tolist() == [1, 1]


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("width", [np.nan, np.inf, "a", None, 2.5, True, 1j, [3], 0]),
        ("log_scale", ["a", None, 1j, [1.0, 2.0], True, np.nan, np.inf]),
        ("start_norms", [1, "ab", (1,), (1, 2, 3), None, ("a", 2), (np.nan, 1), (1j, 2), (0, 1)]),
        ("loss", [[1], None, 3]),
        ("reduction", [[1], None, np.ones(2)]),
        ("geometry", [None, 3]),
    ],
)
def test_bounds_name_what_they_refuse(name, values):
    good = {"geometry": geometry(X, Y), "width": 3, "log_scale": -5.0}
    for value in values:
        with pytest.raises(ValueError, match=f"^{name}( = |: )"):
            bounds(**{**good, name: value})


def test_the_speed_names_what_it_refuses():
    with pytest.raises(ValueError, match=r"loss = \[1\]"):
        gain([1], "sum", 3)
