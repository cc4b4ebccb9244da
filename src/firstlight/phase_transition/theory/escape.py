"""When gradient descent leaves the plateau: from the variance V(t) of the hard overlaps."""

from dataclasses import dataclass

import numpy as np
from scipy.special import expit, gammainc, gammaincinv, logit

from firstlight.data.multi_index import MultiIndex
from firstlight.maths.checks import check_count, check_positive
from firstlight.maths.rng import RNGLike, SeedLike
from firstlight.maths.shown import Shown
from firstlight.maths.solvers import Solved
from firstlight.maths.workers import on_one_thread
from firstlight.phase_transition.definitions import Student, Training
from firstlight.phase_transition.theory.dmft import SCRAMBLES, dmft, held_path
from firstlight.phase_transition.theory.labels import LabelLaw
from firstlight.phase_transition.theory.path import DmftPath, spread

_DOUBLINGS = 3


@dataclass(frozen=True)
class EscapeTime(Shown):
    """When the hard overlap stops being small.

    Attributes
    ----------
    time : float
        First step at which the expected squared cosine with the hard space reaches the level; infinity if not
        within the steps that were followed. Most starts take longer: their shares of V(t) spread as χ².
    median, mean : float
        Over starts: when half of them have reached it, infinity beyond the steps that were followed; and the
        mean, NaN if a tenth or more of the starts take more than twice those.
    cosine : ndarray of shape (steps + 1,)
        v / (1 + v) with v = tr V(t) / (d tr C(t, t)), at each step: the hard part of the weights grows as in
        the linear regime, while the rest is as if it were held.
    error : float
        Standard error of the time over the theory's own scrambles; infinite if some never reach the level.
    """

    time: float
    median: float
    mean: float
    cosine: np.ndarray
    error: float = np.nan


def escape_of(path: DmftPath, dimension: int, level: float = 0.2) -> EscapeTime:
    """Return the escape time in d dimensions that belongs to a DMFT path.

    Parameters
    ----------
    path : DmftPath
        With the hard overlaps held.
    dimension : int
        Number of dimensions.
    level : float, default 0.2
        Squared cosine that counts as an escape; the time depends on it only through its logarithm.

    Returns
    -------
    EscapeTime
        Linear interpolation between steps in the logarithm of v.
    """
    _check(dimension, level)
    grown, needed = _grown(path, dimension), float(logit(level))
    times = [_crossing(_grown(run, dimension), needed) for run in path.runs]
    error = spread(np.array(times)) if np.isfinite(times).all() else np.inf
    median = _crossing(grown, needed - np.log(median_share(freedom_of(path, len(grown) - 1))))
    return EscapeTime(
        _crossing(grown, needed), median, mean_escape(path, dimension, level), expit(grown), float(error)
    )


def median_share(freedom: float) -> float:
    """Return the median of a chi-square of mean 1: of shares of V(t) over starts.

    Examples
    --------
    >>> median_share(1.0), median_share(2.0)
    (0.455, 0.693)
    """
    return float(2 * gammaincinv(freedom / 2, 0.5) / freedom)


def _crossing(grown: np.ndarray, needed: float) -> float:
    """Return when log v reaches what is needed; infinity if it does not."""
    above = np.flatnonzero(grown >= needed)
    if not above.size or above[0] == 0:
        return 0.0 if above.size else np.inf
    t = int(above[0])
    before, after = grown[t - 1 : t + 1]
    return float(t - 1 + (needed - before) / (after - before))


def log_growth(path: DmftPath) -> np.ndarray:
    """Return log(tr V/tr C) at each step: d times the mean square of the hard part beside the rest."""
    hard = np.einsum("taa->t", path.hard_variance)
    if not hard.all():
        ridge, step = path.student.ridge, int(np.argmin(hard))
        raise ValueError(f"ridge = {ridge}: with this step_size the hard part is zero at step {step}")
    return np.log(hard / path.norm.sum(axis=1))


def _grown(path: DmftPath, dimension: int) -> np.ndarray:
    """Return log v, v the mean square of the hard part of the weights beside the rest, at each step."""
    return log_growth(path) - np.log(dimension)


def _check(dimension: int, level: float) -> None:
    check_count("dimension", dimension, 2)
    check_positive("level", level)
    if level >= 1:
        raise ValueError(f"level = {level}: must lie in (0, 1)")


def chance_of(path: DmftPath, dimension: int, steps: int, level: float = 0.2) -> float:
    """Return the chance that descent in d dimensions has escaped within `steps`: a rule of thumb.

    While it is small the overlap is normal with variance V(t)/d. Beyond the path, V(t)/|w|² goes on as the
    power of t that fits its second half best.

    Parameters are those of `escape_of`, and the steps of the descent.
    """
    grown = _grown(path, dimension)[: steps + 1]
    best, last = float(grown.max()), len(grown) - 1
    if steps > last:
        late = np.arange(last // 2, last + 1)
        power = np.polynomial.Polynomial.fit(np.log(late), grown[late], 1)
        best = max(best, float(power(np.log(steps))))
    return float(1 - _share_below(path, last, np.exp(logit(level) - min(best, 700.0))))


def mean_escape(path: DmftPath, dimension: int, level: float = 0.2) -> float:
    """Return the mean escape time over random starts; NaN if a tenth or more outlast twice the path's steps.

    Each start has its own share of V(t): time is averaged over that share's quantiles. Beyond the path
    V(t)/|w|² grows at the rate that it ends with.

    Parameters are those of `escape_of`.
    """
    most = np.maximum.accumulate(_grown(path, dimension))
    steps = len(most) - 1
    rate = (most[-1] - most[3 * steps // 4]) / (steps - 3 * steps // 4)
    freedom = freedom_of(path, steps)
    share = 2 * gammaincinv(freedom / 2, (np.arange(64) + 0.5) / 64) / freedom
    needed = logit(level) - np.log(share)
    times = np.interp(needed, *np.unique(most, return_index=True))
    late = needed > most[-1]
    times[late] = steps + (needed[late] - most[-1]) / max(rate, 1e-12)
    kept = times <= 2 * steps
    return float(times[kept].mean()) if kept.mean() > 0.9 else np.nan


@dataclass(frozen=True)
class Chance(Solved[float]):
    """A `Solved` probability of success: `residual` is its standard error over independent scrambles.

    Attributes
    ----------
    escape_time : float
        Mean step of success; NaN if it lies far beyond the steps that were followed.
    escape_time_error : float
        Its standard error.
    """

    escape_time: float
    escape_time_error: float


def success_chance(
    labels: LabelLaw,
    student: Student,
    samples_per_dimension: float,
    training: Training | float,
    dimension: int,
    steps: int,
    *,
    followed: int,
    draws: int,
    level: float,
    rng: np.random.Generator,
) -> Chance:
    """Return the chance that descent in d dimensions escapes within `steps`, from V(t) to `followed`.

    V(t) of few samples is noisy where it stays small, and so is the power by which it is continued. So the
    samples are doubled, three times at most, until the standard error over independent scrambles is below
    0.04. It has converged below 0.1.
    """
    steps_known, seed = min(steps, followed), int(rng.integers(1 << 31))
    for doubling in range(_DOUBLINGS + 1):
        path = held_path(
            labels, student, samples_per_dimension, training, steps_known, draws << doubling,
            seed + doubling, (0,), SCRAMBLES,
        )  # fmt: skip
        chances = np.array([chance_of(run, dimension, steps, level) for run in path.runs])
        error = float(spread(chances))
        if error < 0.04 and path.complete:
            break
    times = np.array([mean_escape(run, dimension, level) for run in path.runs])
    good = error < 0.1 and path.complete
    return Chance(float(chances.mean()), error, doubling + 1, good, float(times.mean()), float(spread(times)))


def freedom_of(path: DmftPath, t: int) -> float:
    """Return the degrees of freedom of a chi-square that spreads like |u|², u ~ N(0, V(t))."""
    V = path.hard_variance[t]
    return float(1 / ((V / np.trace(V)) ** 2).sum())  # V² may overflow


def _share_below(path: DmftPath, t: int, ratio: float) -> float:
    """Return P(|u|² < ratio · tr V)."""
    freedom = freedom_of(path, t)
    return float(gammainc(freedom / 2, ratio * freedom / 2))


@on_one_thread
def escape_time(
    target: MultiIndex | str,
    student: Student,
    samples_per_dimension: float,
    training: Training | float,
    dimension: int,
    *,
    steps: int = 128,
    draws: int = 1 << 13,
    level: float = 0.2,
    rng: RNGLike | SeedLike = 0,
) -> EscapeTime:
    """Predict when gradient descent in d dimensions leaves the plateau on which hard directions are unseen.

    Parameters
    ----------
    target, student, samples_per_dimension, training
        As for `dmft`.
    dimension : int
        Number of dimensions; the time grows as log d.
    steps : int, default 128
        How long to follow.
    draws, rng
        As for `dmft`.
    level : float, default 0.2
        Squared cosine that counts as an escape.

    Returns
    -------
    EscapeTime

    Examples
    --------
    >>> student = Student("tanh_squared", 1.5, 0.8, offset=-0.5)
    >>> escape = escape_time("sign(abs(z1) - 1.4820733)", student, 6.0, 0.12, 1000, steps=48, draws=1 << 11)
    >>> bool(10 < escape.time < 48)
    True
    """
    _check(dimension, level)
    path = dmft(target, student, samples_per_dimension, training, steps, draws, rng, times=(0,))
    return escape_of(path, dimension, level)
