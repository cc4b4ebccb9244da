"""Samples per dimension at which half of the descents in d dimensions succeed, from theory alone.

A descent has found the hard directions if V(t) χ²/(d q) reaches ℓ/(1 - ℓ) at some t ≤ T, with χ² of mean 1
and ν degrees of freedom over starts and data. So half of them succeed where c(δ, T) = median χ²/d, with

- c_lin = ℓ/(1 - ℓ) · min_t q/V, the overlap growing as while it is small, or
- c_free = u*²/ρ, u* the smallest overlap at the start from which training that is not held reaches ℓ by T,
  and ρ = V/S² (S the response to the start) what the data add to the start's own overlap.

Growth saturates or feeds itself on the way, so that the truth lies on either side of c_lin, and mostly near
the geometric mean of the two.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.interpolate import PchipInterpolator

from firstlight.data.multi_index import MultiIndex
from firstlight.maths.solvers import bracketing_root
from firstlight.maths.workers import on_one_thread
from firstlight.phase_transition.definitions import Student, Training
from firstlight.phase_transition.theory.dmft import free_processes, held_path
from firstlight.phase_transition.theory.escape import freedom_of, log_growth, median_share
from firstlight.phase_transition.theory.labels import label_law
from firstlight.phase_transition.theory.path import DmftPath
from firstlight.phase_transition.theory.process import Process

_BISECTIONS = 7
_PLATEAU = 0.6  # overlap, as a share of the rows, from which a plateau is looked for


@dataclass(frozen=True)
class TheoryOnset:
    """Where c reaches what half of the descents need.

    Attributes
    ----------
    linear, free : float
        Roots δ of c_lin and c_free; NaN where there is none on the grid.
    freedom : float
        ν.
    scatter : float
        Relative difference of the largest V/q between two scrambles, at the root.
    plateau : float
        Squared cosine at T of training from a large overlap, at the root.
    """

    linear: float
    free: float
    freedom: float
    scatter: float
    plateau: float


class OnsetSearch:
    """What all paths of one search share: the target, the network, how it is trained, and how large."""

    def __init__(
        self, target: MultiIndex, student: Student, training: Training, steps: int, samples: int,
        level: float, rng: np.random.Generator,
    ) -> None:  # fmt: skip
        self.target, self.student, self.training = target, student, training
        self.steps, self.samples, self.level = steps, samples, level
        self.labels, self.seed = label_law(target, rng), int(rng.integers(1 << 31))
        self.basis = self.labels.hard_basis

    def held(self, delta: float) -> DmftPath:
        """Follow training with the hard overlaps held."""
        return held_path(
            self.labels, self.student, delta, self.training, self.steps, self.samples, self.seed, (0,), 2
        )

    def linear(self, path: DmftPath) -> float:
        """Return log c_lin."""
        return float(np.log(self.level / (1 - self.level)) - log_growth(path).max())

    def free(self, path: DmftPath) -> float:
        """Return log c_free, from the held path at the same delta; infinity if no overlap suffices."""
        middle = max(self.steps // 2, 1)
        _, growth, along = np.linalg.svd(path.start_response[middle])
        noise = float(np.trace(path.hard_variance[middle])) / growth[0] ** 2
        unit = along[0].reshape(self.student.width, -1) @ self.basis.T
        low, high = np.log(1e-3 * self.student.init_scale), np.log(0.9 * self.student.init_scale)
        for _ in range(_BISECTIONS):
            middle_size = 0.5 * (low + high)
            cosines = self.cosines(path.samples_per_dimension, np.exp(middle_size) * unit)
            enough = any(cosine >= self.level for cosine in cosines)  # and no step more
            low, high = (low, middle_size) if enough else (middle_size, high)
        return low + high - np.log(noise) if high < np.log(0.89 * self.student.init_scale) else np.inf

    def cosines(self, delta: float, start: np.ndarray) -> Iterator[float]:
        """Train, not held; yield the squared cosine with the hard directions at each step, from overlaps."""
        for rows in self._begun(delta, start).rows():
            overlap = rows[:, : len(self.basis)] @ self.basis
            yield float((overlap**2).sum() / (rows**2).sum())

    @cached_property
    def _begun(self) -> Callable[[float, np.ndarray], Process]:
        """What begins training at some delta from overlaps (m, k)."""
        return free_processes(self.target, self.student, self.training, self.steps, self.samples, self.seed)

    @on_one_thread
    def run(self, dimension: int, floor: float) -> TheoryOnset:
        """Find both roots on a grid of delta above the algorithmic threshold."""
        coarse = floor * np.geomspace(1.2, 40.0, 10)
        paths: dict[float, DmftPath] = {}
        below = 0.0
        for delta in coarse:
            paths[delta] = path = self.held(float(delta))
            freedom = freedom_of(path, self.steps)
            needed = float(np.log(median_share(freedom) / dimension))
            if self.linear(path) < needed:
                break
            below = delta
        else:
            return TheoryOnset(np.nan, np.nan, freedom, np.nan, np.nan)
        below = below or float(delta) / 1.3
        fine = np.geomspace(0.85 * below, 1.05 * delta, 5)
        held = [self.held(float(x)) for x in fine]
        linear = _root(fine, [self.linear(path) for path in held], needed)
        free = _root(fine, [self.free(path) for path in held], needed)
        near = held[int(np.argmin(np.abs(fine - linear)))] if np.isfinite(linear) else held[-1]
        tops = [np.exp(-self.linear(run)) for run in near.runs]
        large = _PLATEAU * self.student.init_scale * self._first()
        *_, plateau = self.cosines(near.samples_per_dimension, large)
        return TheoryOnset(linear, free, freedom, float(np.ptp(tops) / np.mean(tops)), plateau)

    def _first(self) -> np.ndarray:
        """Return overlaps of unit rows with the hard directions, each row with one of them."""
        m = self.student.width
        return np.resize(self.basis.T, (m, len(self.basis))) / m**0.5


def _root(grid: np.ndarray, values: list[float], needed: float) -> float:
    """Return where the values, falling along the grid, reach what is needed; NaN if they do not."""
    known = np.isfinite(values)
    x, gap = np.log(grid[known]), np.array(values)[known] - needed
    turned = np.flatnonzero((gap[:-1] > 0) & (gap[1:] <= 0))
    if not turned.size:
        return np.nan
    i = int(turned[0])
    return float(np.exp(bracketing_root(PchipInterpolator(x, gap), x[i], x[i + 1]).value))
