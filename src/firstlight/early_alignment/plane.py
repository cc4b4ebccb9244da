"""Early alignment of data and neurons that are given one by one, as points of the plane."""

from dataclasses import dataclass

import numpy as np

from firstlight.early_alignment.problem import Problem
from firstlight.maths.checks import check_number
from firstlight.maths.refusals import check_choice, refusal
from firstlight.maths.rng import RNGLike, SeedLike

Rows = tuple[tuple[float, float, float], ...]


@dataclass(frozen=True, eq=False, kw_only=True)
class PlaneProblem(Problem):
    """Early alignment in the plane, of given data and neurons.

    Parameters
    ----------
    points : sequence of (float, float, ±1)
        Data with their labels; none: the toy data.
    neurons : sequence of (float, float, ±1)
        Directions of the first layer at the start, with the signs of the second; none: drawn.
    **setting
        The other fields of `Setting`; `data` is "toy", the start is balanced, and `width` is the number of
        neurons that are given.

    Examples
    --------
    >>> problem = PlaneProblem(points=[(1, 0, 1), (0.1, 1, 1)], neurons=[(1, -1, 1)], horizon=8.0)
    >>> float(problem.predict().fate_plus), problem.width
    (1.0, 1)
    """

    data: str = "toy"
    reduction: str = "mean"
    horizon: float = 60.0
    points: Rows = ()
    neurons: Rows = ()

    def __post_init__(self) -> None:
        check_choice("data", self.data, ("toy",))
        check_choice("start", self.start, ("balanced",))
        for name in ("points", "neurons"):
            object.__setattr__(self, name, _rows(name, getattr(self, name)))
        if len(self.points) == 1:
            raise refusal("points", self.points, "be at least two, or none for the toy data")
        if self.neurons:
            object.__setattr__(self, "width", len(self.neurons))
        super().__post_init__()

    @property
    def shape(self) -> tuple[int, int]:
        """Samples and dimension of the data."""
        return len(self.points) or super().shape[0], 2

    def draw(self, rng: RNGLike | SeedLike = None) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Return data X, y and a start; what is given is not drawn."""
        X, y, W, v = super().draw(rng)
        if self.points:
            X, y = np.array(self.points)[:, :2], np.array(self.points)[:, 2]
        if self.neurons:
            W, v = np.array(self.neurons)[:, :2], np.array(self.neurons)[:, 2]
            W = W / np.linalg.norm(W, axis=1, keepdims=True)
        return X, y, W, v


def _rows(name: str, given: object) -> Rows:
    """Return rows of two coordinates and a sign, checked."""
    if not isinstance(given, (list, tuple, np.ndarray)):
        raise refusal(name, given, "be rows of two coordinates and ±1")
    made = []
    for row in given:
        if not isinstance(row, (list, tuple, np.ndarray)) or len(row) != 3:
            raise refusal(name, row, "be rows of two coordinates and ±1")
        x, y, sign = (check_number(name, number, -1e6, 1e6) for number in row)
        if sign not in (-1, 1) or max(abs(x), abs(y)) < 1e-6:
            raise refusal(name, row, "be rows of two coordinates, not both 0, and ±1")
        made.append((x, y, sign))
    return tuple(made)
