"""The samples per dimension at which half of the descents of a given size succeed."""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize
from scipy.special import gammaincc, gammaincinv

from firstlight.data.multi_index import MultiIndex
from firstlight.maths.checks import check_count, check_number
from firstlight.maths.refusals import check_choice
from firstlight.maths.rng import RNGLike, SeedLike, generator
from firstlight.maths.shown import Shown
from firstlight.phase_transition.definitions import Student, Training, as_student, as_training
from firstlight.phase_transition.experiment.pilot import escape_steps
from firstlight.phase_transition.theory.alg import conditional_threshold
from firstlight.phase_transition.theory.conditional import as_informative, as_target
from firstlight.phase_transition.theory.onset import OnsetSearch
from firstlight.phase_transition.theory.relevant import relevant_directions
from firstlight.phase_transition.theory.stability import stable_start
from firstlight.phase_transition.theory.subspaces import complement, subspaces

_STARTS = 4  # networks on each set of data
_RESAMPLED = 40
_MOST = 40.0  # times delta_alg: where success is looked for
_FARTHEST = 30  # times the pilot's dimension
_PLATEAU = 0.6  # overlap, as a share of the rows, from which a plateau is looked for
_LAW = 0.05  # relative error of the law from a pilot to other sizes, as seen in ten models
_PER_DOUBLING = 0.01
_NEVER = "no fast method learns it at any number of samples"
_THEORY = 0.08  # relative error of theory alone, as seen in eight models


@dataclass(frozen=True)
class Onset(Shown):
    """Where half of the descents succeed.

    Attributes
    ----------
    value, error : float
        Samples per dimension, and a standard error; NaN if refused.
    freedom : float
        ν of the chi-square with which success varies over starts and data.
    route : {"pilot", "theory"}
    refused : str
        Why no value is given; empty if one is.
    details : dict
        What the value was made of: the pilot's `deltas`, `successes` and `trials`, or theory's two roots.
    """

    value: float
    error: float
    freedom: float
    route: str
    refused: str
    details: dict


def onset(
    target: MultiIndex | str,
    student: Student,
    training: Training | float,
    dimension: int,
    steps: int,
    *,
    level: float = 0.2,
    method: str = "pilot",
    pilot_dimension: int = 200,
    trials: int = 100,
    rng: RNGLike | SeedLike = 0,
) -> Onset:
    """Return n/d at which half of the descents in d dimensions find the hard directions within `steps`.

    Success varies with start and data as P(χ²_ν > ν c d), with c a function of n/d and of the steps alone: a
    pilot at a small dimension tells c, and with it success at others. The limit delta_NN is another number:
    this one grows as log d, and may pass it.

    Parameters
    ----------
    target, student : MultiIndex or str, and Student
        The law of the label, and the network at the start.
    training : Training or float
        The algorithm, or a step size.
    dimension, steps : int
        d and T.
    level : float, default 0.2
        Squared cosine with the hard directions that counts as having found them.
    method : {"pilot", "theory"}
        Descents at `pilot_dimension` and the law, good to about 5 per cent; or V(t) and training from finite
        overlaps in the limit of many dimensions, good to about 8 per cent for up to some 100 steps.
    pilot_dimension, trials : int
        Of the pilot: its dimension, and descents at each of its samples per dimension.
    rng : SPEC 7 rng, default 0

    Returns
    -------
    Onset

    Examples
    --------
    >>> student = Student("tanh_squared", 1.0, 0.8)
    >>> target = "sign(abs(z1) - 1.4820733)"
    >>> result = onset(target, student, 0.25, 80, 40, pilot_dimension=40, trials=24)
    >>> bool(1 < result.value < 4), result.route, result.refused
    (True, 'pilot', '')
    """
    law, student = as_target(target), as_student(student)
    training, rng = as_training(training), generator(rng)
    check_count("dimension", dimension, 2)
    check_count("steps", steps, 2)
    check_number("level", level, above=0, below=1)
    check_choice("method", method, ("pilot", "theory"))
    least = max(law.directions, student.width) + 1
    check_count("pilot_dimension", pilot_dimension, least)
    check_count("trials", trials, 2 * _STARTS)
    if method == "theory":
        return _from_theory(law, student, training, dimension, steps, level, rng)
    easy = subspaces(law).easy
    hard = complement(easy, relevant_directions(law))
    if hard.shape[1] == 0:
        raise ValueError(f"target = {law.expression}: has no hard direction; all are learnt at once")
    pilot = _Pilot(law, student, training, hard, pilot_dimension, steps, level, trials, rng)
    return _from_pilot(pilot, easy, dimension)


def _refused(route: str, freedom: float, why: str, **details: object) -> Onset:
    return Onset(np.nan, np.nan, float(freedom), route, why, details)


def _plateau(cosine: float) -> str:
    return f"a plateau below the level: from a large overlap training ends at squared cosine {cosine:.2g}"


def _unstable(law: MultiIndex, student: Student, training: Training, delta: float, steps: int) -> str:
    """Say that the first steps overshoot even at so many samples; empty if they do not."""
    limit = stable_start(law, student, delta, training, steps)
    if not training.step_size >= limit:
        return ""
    return (
        f"step_size = {training.step_size:g} is unstable at the start, even at {delta:.3g} samples per "
        f"dimension: it must be below {limit:.3g}"
    )


def _from_theory(
    law: MultiIndex, student: Student, training: Training, dimension: int, steps: int, level: float,
    rng: np.random.Generator,
) -> Onset:  # fmt: skip
    search = OnsetSearch(law, student, training, steps, 1 << 12, level, rng)
    floor = conditional_threshold(as_informative(law), search.labels.easy_basis, rng).value
    if not np.isfinite(floor):
        return _refused("theory", search.basis.shape[1], _NEVER)
    solved = search.run(dimension, floor)
    roots = {
        "linear": solved.linear,
        "free": solved.free,
        "plateau": solved.plateau,
        "scatter": solved.scatter,
    }
    value = float(np.sqrt(solved.linear * solved.free))
    apart = 0.5 * abs(solved.linear - solved.free)
    if np.isnan(value):
        why = "no root on the grid of samples per dimension: V(t) never grows enough; try the pilot"
    elif search.labels.easy.shape[1]:
        why = (
            "an easy direction is present: an outlier near zero decides, and theory was 15 to 40 per cent off"
        )
    elif solved.plateau < level:
        why = _plateau(solved.plateau)
    elif 2 * apart > 0.3 * value or solved.scatter > 0.5:
        why = (
            f"small and finite overlaps tell {solved.linear:.3g} and {solved.free:.3g}, two scrambles differ "
            f"by {solved.scatter:.0%}: use the pilot"
        )
    else:
        return Onset(value, float(np.hypot(_THEORY * value, apart)), solved.freedom, "theory", "", roots)
    why = _unstable(law, student, training, _MOST * floor, steps) or why
    return _refused("theory", solved.freedom, why, **roots)


def _from_pilot(pilot: "_Pilot", easy: np.ndarray, dimension: int) -> Onset:
    floor = conditional_threshold(as_informative(pilot.law), easy, pilot.rng).value
    if not np.isfinite(floor):
        return _refused("pilot", pilot.freedom, _NEVER)
    if easy.shape[1] and dimension != pilot.d:
        why = (
            "an easy direction is present, where the law from one size to another was 20 to 33 per cent off; "
            f"run the pilot at the size itself, pilot_dimension={dimension}"
        )
        return _refused("pilot", pilot.freedom, why)
    return pilot.run(dimension, floor)


class _Pilot:
    """Descents at a small dimension, and the law that takes their success to another."""

    def __init__(
        self, law: MultiIndex, student: Student, training: Training, hard: np.ndarray, dimension: int,
        steps: int, level: float, trials: int, rng: np.random.Generator,
    ) -> None:  # fmt: skip
        self.law, self.student, self.training, self.hard = law, student, training, hard
        self.d, self.steps, self.level, self.rng = dimension, steps, level, rng
        self.sets, self.freedom = -(-trials // _STARTS), float(hard.shape[1])

    def successes(self, delta: float, sets: int) -> np.ndarray:
        """Return how many of the starts succeed on each set of data."""
        return np.array([np.isfinite(self._train(delta, self.level)[0]).sum() for _ in range(sets)])

    def _train(self, delta: float, level: float, overlap: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
        return escape_steps(
            self.student, self.law, self.hard, self.training, (max(round(delta * self.d), 1), self.d),
            self.steps, level, starts=_STARTS, overlap=overlap, rng=self.rng,
        )  # fmt: skip

    def end(self, delta: float) -> float:
        """Return the squared cosine at which training from a large overlap ends."""
        return float(np.median(self._train(delta, 2.0, _PLATEAU)[1]))

    def run(self, dimension: int, floor: float) -> Onset:
        """Search, run the pilot, fit the law and solve it for the dimension."""
        nu = self.freedom
        median = float(gammaincinv(nu / 2, 0.5))  # of half a chi-square
        wanted = float(
            gammaincc(nu / 2, median * self.d / dimension)
        )  # share that succeeds at the pilot's size
        if not 1 / _FARTHEST <= dimension / self.d <= _FARTHEST or not 0.05 <= wanted <= 0.97:
            why = (
                f"dimension = {dimension} is too far from the pilot's {self.d}; take a pilot_dimension nearer"
            )
            return _refused("pilot", nu, why)
        centre = self._centre(floor, wanted)
        if np.isnan(centre):
            end, why = self.end(_MOST * floor), f"hardly a descent succeeds up to {_MOST * floor:.3g}"
            blame = _unstable(self.law, self.student, self.training, _MOST * floor, self.steps)
            blame = blame or (_plateau(end) if end < self.level else "")
            why = f"{why} samples per dimension" + (f": {blame}" if blame else "")
            return _refused("pilot", nu, why, plateau=end)
        deltas = centre * np.array([0.76, 0.88, 1.0, 1.14, 1.3])
        table = np.array([self.successes(float(delta), self.sets) for delta in deltas])
        needed = np.log(2 * median / (nu * dimension))
        value = self._solve(deltas, table, needed)
        details = {
            "deltas": deltas.tolist(), "successes": table.sum(axis=1).tolist(), "trials": _STARTS * self.sets
        }  # fmt: skip
        if np.isnan(value):
            why = "success does not rise steadily with the samples over the pilot's range; take more trials"
            return _refused("pilot", nu, why, **details)
        plateau = self.end(value)
        if plateau < self.level:
            why = _unstable(self.law, self.student, self.training, value, self.steps)
            why = why or f"{_plateau(plateau)}; descents that pass the level do not stay there"
            return _refused("pilot", nu, why, **details)
        again = [
            self._solve(deltas, table[:, self.rng.integers(self.sets, size=self.sets)], needed)
            for _ in range(_RESAMPLED)
        ]
        known = np.array([x for x in again if np.isfinite(x)])
        doublings = abs(np.log2(dimension / self.d))
        law = _LAW * value if doublings else 0.0
        error = np.hypot(law, np.std(known)) + _PER_DOUBLING * doublings * value
        return Onset(value, float(error), nu, "pilot", "", {**details, "plateau": plateau})

    def _centre(self, floor: float, wanted: float) -> float:
        """Find about where the wanted share succeeds, from a few descents at growing samples."""
        before, grid = 0.0, floor * np.geomspace(1.0, _MOST, 14)
        for i, delta in enumerate(grid):
            share = self.successes(float(delta), 3).mean() / _STARTS
            if share >= wanted:
                inner = (wanted - before) / max(share - before, 1e-9)
                return float(delta * (grid[1] / grid[0]) ** (inner - 1)) if i else float(delta)
            before = share
        return np.nan

    def _solve(self, deltas: np.ndarray, table: np.ndarray, needed: float) -> float:
        """Fit log c, quadratic in log delta, by maximum likelihood; return where it is as needed."""
        x, runs = np.log(deltas / deltas[2]), _STARTS * table.shape[1]
        wins, nu = table.sum(axis=1), self.freedom
        if not 0 < wins.sum() < runs * len(wins):
            return np.nan

        def loss(p: np.ndarray) -> float:
            c = np.exp(np.clip(p[0] + p[1] * x + p[2] * x**2, -50, 5))
            share = np.clip(gammaincc(nu / 2, nu * c * self.d / 2), 1e-9, 1 - 1e-9)
            chance = wins * np.log(share) + (runs - wins) * np.log1p(-share)
            return float(-chance.sum() + 1e-2 * p[2] ** 2)

        p = minimize(
            loss, [np.log(0.45 / self.d), -5.0, 0.0], method="Nelder-Mead", options={"maxiter": 2000}
        ).x
        fine = np.linspace(x[0] - 0.15, x[-1] + 0.15, 400)
        gap = p[0] + p[1] * fine + p[2] * fine**2 - needed
        turned = np.flatnonzero((gap[:-1] > 0) & (gap[1:] <= 0))
        return float(deltas[2] * np.exp(fine[turned[0]])) if turned.size else np.nan
