"""A map of what theory predicts over two variables, with more points where it bends."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import combinations, product
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr
from scipy.interpolate import LinearNDInterpolator
from scipy.spatial import Delaunay

from firstlight.design.search import Search, Variable, variable
from firstlight.maths.checks import check_count
from firstlight.maths.drawing import axes
from firstlight.maths.refusals import check_instance, check_options, refusal
from firstlight.maths.rng import RNGLike, SeedLike
from firstlight.maths.shown import Shown
from firstlight.study.compare import seed_of
from firstlight.study.problem import Problem

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_START = 3  # places along each variable before the map is refined
_CURIOUS = 0.05  # bend that a triangle is thought to have at least, as a share of all heights


@dataclass(frozen=True)
class Map(Shown):
    """What theory predicts at scattered settings of two variables.

    Attributes
    ----------
    table : Dataset
        Over ``point``: both variables, the objective and its standard error, in the order of computation.
    objective : str
        What was predicted.
    refused : str
        Why theory refused some settings; empty if it did not.
    gap : float
        How far the refining points lay from the map without them, in the mean of the last half of them: what
        to expect between points. NaN if there are too few.
    """

    table: xr.Dataset
    objective: str
    refused: str
    gap: float
    _variables: tuple[Variable, Variable]

    def __call__(self, first: float, second: float) -> float:
        """Return the objective between the points, by linear interpolation; NaN where it is not known."""
        place = [one.unit(x) for one, x in zip(self._variables, (first, second), strict=True)]
        return float(LinearNDInterpolator(self._places, self.table[self.objective].values)(*place))

    @property
    def _places(self) -> np.ndarray:
        return np.column_stack(
            [[one.unit(x) for x in self.table[one.name].values.tolist()] for one in self._variables]
        )

    def __str__(self) -> str:
        values = self.table[self.objective].values
        known = values[np.isfinite(values)]
        first, second = (one.name for one in self._variables)
        between = f", ±{self.gap:.2g} between points" if math.isfinite(self.gap) else ""
        unknown = f", unknown at {values.size - known.size}" if known.size < values.size else ""
        return (
            f"{self.objective} over {first} and {second}, {values.size} points: "
            f"{known.min():.4g} to {known.max():.4g}{between}{unknown}"
        )

    def plot(self, ax: "Axes | None" = None) -> "Axes":
        """Draw the map as colours over both variables, with the points; crosses are where it is unknown."""
        from matplotlib.tri import Triangulation

        ax = axes(ax)
        x, y = (self.table[one.name].values for one in self._variables)
        values = self.table[self.objective].values
        known = np.isfinite(values)
        corners = Delaunay(self._places, qhull_options="QJ").simplices
        corners = corners[known[corners].all(axis=1)]
        triangles = Triangulation(x, y, corners)
        filled = ax.tricontourf(triangles, np.where(known, values, values[known].min()), levels=12)
        ax.figure.colorbar(filled, ax=ax, label=self.objective)
        ax.plot(x[known], y[known], "k.", markersize=3)
        ax.plot(x[~known], y[~known], "kx", markersize=4)
        first, second = self._variables
        ax.set(xlabel=first.name, ylabel=second.name)
        ax.set(xscale="log" if first.log else "linear", yscale="log" if second.log else "linear")
        return ax


def predicted_map(
    problem: Problem | Callable[..., Problem],
    over: Mapping[str, Any],
    objective: str = "test_error",
    *,
    points: int = 40,
    at: Mapping[str, Any] | None = None,
    predict: Mapping[str, Any] | None = None,
    rng: RNGLike | SeedLike = 0,
) -> Map:
    """Predict an observable over two variables, with more points where it changes most.

    A grid of nine places comes first. Then the triangle between known points over which the surface bends
    most is divided, again and again; the border to where theory knows nothing counts as a bend.

    Parameters
    ----------
    problem, objective, at, predict, rng
        As in `firstlight.optimise`.
    over : mapping
        Two variables with their bounds ``(low, high)``: of integers if both are, on a logarithmic scale if
        they are positive and a factor of ten apart.
    points : int, default 40
        How many places to predict at, at least 9; a theory that speaks of what was drawn predicts four times
        at each.

    Examples
    --------
    >>> from firstlight.demo import Exponential
    >>> found = predicted_map(Exponential(), {"rate": (0.5, 8.0), "samples": (10, 500)}, "mean", points=30)
    >>> print(found)
    mean over rate and samples, 30 points: 0.125 to 2, ±0.054 between points
    >>> bool(abs(found(1.0, 100) - 1) < 0.1), found.table.sizes["point"]
    (True, 30)
    """
    check_count("points", points, _START**2)
    check_instance("objective", objective, str)
    if not isinstance(over, Mapping) or len(over) != 2 or any(isinstance(x, list) for x in over.values()):
        raise refusal("over", over, "name two variables with bounds (low, high)")
    variables = [variable(name, given) for name, given in over.items()]
    at, predict = check_options("at", at), check_options("predict", predict)
    search = Search(problem, variables, objective, at, 1, predict, {}, seed_of(rng))
    gaps: list[float] = []
    for start in product(*(one.grid(_START) for one in variables)):
        search.predicted(start)
    while len(search.known) < points and (place := _next(search)) is not None:
        surface = LinearNDInterpolator(_surface(search)[0], _values(search))
        gaps.append(abs(search.predicted(place)[0] - float(surface(*search.units(place)))))
    known = np.column_stack([_values(search), [error for _, error in search.known.values()]])
    if not np.isfinite(known[:, 0]).any():
        said = f"; it said: {search.refused}" if search.refused else ", or did not converge"
        raise ValueError(f"over: theory predicts {objective} at none of {len(known)} places{said}")
    late = np.array(gaps[len(gaps) // 2 :])
    late = late[np.isfinite(late)]
    table = xr.Dataset(
        {objective: ("point", known[:, 0]), f"{objective}_sem": ("point", known[:, 1])},
        {
            one.name: ("point", list(x))
            for one, x in zip(variables, zip(*search.known, strict=True), strict=True)
        },
    )
    gap = float(late.mean()) if late.size else math.nan
    return Map(table, objective, search.refused, gap, (variables[0], variables[1]))


def _values(search: Search) -> np.ndarray:
    """Return the predictions at all places; what is not finite is not known."""
    values = np.array([value for value, _ in search.known.values()])
    return np.where(np.isfinite(values), values, np.nan)


def _surface(search: Search) -> tuple[np.ndarray, np.ndarray]:
    """Return the known places in the unit square, and their values from 0 to 1."""
    places, values = np.array([search.units(at) for at in search.known]), _values(search)
    known = values[np.isfinite(values)]
    span = float(np.ptp(known)) if known.size else 0.0
    return places, (values - known.min()) / span if span > 0 else 0.0 * values


def _next(search: Search) -> tuple[Any, ...] | None:
    """Return a new place: the middle of the longest edge of the triangle that promises most."""
    places, values = _surface(search)
    triangles = Delaunay(places, qhull_options="QJ")
    for corners in triangles.simplices[np.argsort(-_promise(triangles, values), kind="stable")]:
        ends = max(
            combinations(corners, 2), key=lambda pair: np.linalg.norm(np.diff(places[list(pair)], axis=0))
        )
        middle = places[list(ends)].mean(axis=0)
        place = tuple(one.at(float(u)) for one, u in zip(search.variables, middle, strict=True))
        if place not in search.known:
            return place
    return None


def _promise(triangles: Delaunay, values: np.ndarray) -> np.ndarray:
    """Rate each triangle by its area times how far the surface bends there, from 0 to about 1.

    It bends by its length times the largest difference of its slope from a neighbour's; a triangle between
    known and unknown corners bends by 1. Some is added for what may hide between flat neighbours.
    """
    corners = triangles.points[triangles.simplices]
    sides = corners[:, 1:] - corners[:, :1]
    heights = values[triangles.simplices]
    area = np.abs(np.linalg.det(sides)) / 2
    length = np.linalg.norm(corners - np.roll(corners, 1, axis=1), axis=-1).max(axis=1)
    thin = area <= 1e-12
    slopes = np.zeros((len(area), 2))
    slopes[~thin] = np.linalg.solve(sides[~thin], (heights[:, 1:] - heights[:, :1])[~thin][..., None])[..., 0]
    jumps = np.linalg.norm(slopes[triangles.neighbors] - slopes[:, None], axis=-1)
    jumps[(triangles.neighbors < 0) | thin[:, None] | thin[triangles.neighbors]] = 0
    bend = length * np.nan_to_num(jumps).max(axis=1)
    unknown = np.isnan(heights).sum(axis=1)
    bend = np.where((unknown > 0) & (unknown < 3), 1.0, bend)
    return np.round(area * (bend + _CURIOUS), 12)  # equal triangles stay equal whatever the rounding
