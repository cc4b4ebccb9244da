"""The problems on drawn inputs: classes of normals, pairs on two sides, the papers' set-ups."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import xarray as xr

from firstlight.data.unseen import (
    UnseenData,
    around,
    gaussian_classes,
    paper_training,
    rotation,
)
from firstlight.maths.checks import check_count, check_number, check_numbers
from firstlight.maths.refusals import check_choice, refusal
from firstlight.unseen_classes.base import UnseenProblem, over_two_classes

_LARGEST = 1e150  # its square is a number


@dataclass(frozen=True, eq=False, kw_only=True)
class GaussianProblem(UnseenProblem):
    """Two training classes N(±μ, I) and unseen classes N(m, I): what the problems below share.

    Parameters
    ----------
    dimension, samples : int, default 256
        d and n.
    train_norm : float, default 2
        |μ|.
    unseen_samples : int, default 100
        Samples of each unseen class, at least 2.
    **step
        The fields of `Step`.
    """

    dimension: int = 256
    samples: int = 256
    train_norm: float = 2.0
    unseen_samples: int = 100

    def __post_init__(self) -> None:
        super().__post_init__()
        check_count("dimension", self.dimension, max(4, self._means().shape[1]))
        for name in ("samples", "unseen_samples"):
            check_count(name, getattr(self, name), 2)
        check_number("train_norm", self.train_norm, 0, _LARGEST)

    def _means(self) -> np.ndarray:
        """Return the unseen means, one row each, in the frame (μ/|μ|, e_2, e_3, ...)."""
        raise NotImplementedError

    @property
    def sizes(self) -> tuple[int, int, int]:
        """Training samples, input dimension, unseen samples."""
        return self.samples, self.dimension, self.unseen_samples * len(self._means())

    def sample(self, rng: np.random.Generator) -> UnseenData:
        """Draw training and unseen samples."""
        means, each = self._means(), self.unseen_samples
        return gaussian_classes(rng, self.dimension, self.samples, self.train_norm, means, each)


@dataclass(frozen=True, eq=False, kw_only=True)
class Problem(GaussianProblem):
    """Two training classes N(±μ, I) and unseen classes N(m, I) at given angles to μ.

    Parameters
    ----------
    dimension, samples : int, default 256
        d and n.
    train_norm, unseen_norm : float, default 2 and 4
        |μ|, and the length of the unseen means.
    cosines : sequence of float, default (0, 0.25, 0.5, 0.75, 1)
        One unseen class each: the cosine of its mean and μ. The means are orthogonal to each other otherwise.
    unseen_samples : int, default 100
        Samples of each unseen class, at least 2.
    **step
        The fields of `Step`.

    Examples
    --------
    >>> problem = Problem(dimension=64, samples=64, width=256, unseen_samples=20)
    >>> predicted, measured = problem.predict(0), problem.simulate(0)
    >>> set(predicted.data_vars) == set(measured.data_vars)
    True
    """

    unseen_norm: float = 4.0
    cosines: tuple[float, ...] = (0.0, 0.25, 0.5, 0.75, 1.0)

    def __post_init__(self) -> None:
        object.__setattr__(self, "cosines", check_numbers("cosines", self.cosines, -1, 1))
        if len(self.cosines) < 2:
            raise ValueError(f"cosines = {self.cosines}: at least two numbers in [-1, 1]")
        check_count(
            "dimension", self.dimension, 1 + len(self.cosines)
        )  # before anything of that size is made
        check_number("unseen_norm", self.unseen_norm, 0, _LARGEST)
        super().__post_init__()

    def _means(self) -> np.ndarray:
        along = np.array(self.cosines)
        return np.hstack([along[:, None], np.diag(np.sqrt(1 - along**2))]) * self.unseen_norm


@dataclass(frozen=True, eq=False, kw_only=True)
class ClassProblem(Problem):
    """One unseen class at a given angle to μ, and a second across: the numbers of the first alone.

    Parameters
    ----------
    cosine : float
        In [-1, 1].
    **problem
        The other fields of `Problem`; `cosines` is set.

    Examples
    --------
    >>> ClassProblem(cosine=0.5, dimension=64, samples=64, unseen_samples=20).predict(0).alignment.ndim
    0
    """

    cosine: float

    def __post_init__(self) -> None:
        check_number("cosine", self.cosine, -1, 1)
        object.__setattr__(self, "cosines", (self.cosine, 0.0))
        super().__post_init__()

    def summarised(self, results: xr.Dataset) -> xr.Dataset:
        """Return the numbers of the first class."""
        return results.isel({"class": 0, "other": 1}, drop=True)


@dataclass(frozen=True, eq=False, kw_only=True)
class PlaneProblem(GaussianProblem):
    """Unseen classes whose means are given one by one: along the training direction, and away from it.

    Parameters
    ----------
    means : sequence of (float, float)
        Of each unseen class: its mean's part along μ/|μ|, and the rest, at right angles to μ and to the rest
        of all other classes.
    **problem
        The fields of `GaussianProblem`.

    Examples
    --------
    >>> problem = PlaneProblem(means=[(3, 1), (0, 3)], dimension=64, samples=64, unseen_samples=20)
    >>> predicted = problem.predict(0)
    >>> bool(predicted.alignment[0] > predicted.alignment[1])
    True
    """

    means: tuple[tuple[float, float], ...] = ((3.0, 1.0), (1.5, 2.5), (0.0, 3.0), (-2.0, 2.0))
    dimension: int = 128
    samples: int = 128
    unseen_samples: int = 60

    def __post_init__(self) -> None:
        need = "be two or more pairs of numbers within ±1e6"
        if not isinstance(self.means, (list, tuple)) or len(self.means) < 2:
            raise refusal("means", self.means, need)
        for row in self.means:
            if not isinstance(row, (list, tuple)) or len(row) != 2:
                raise refusal("means", row, need)
        rows = tuple(tuple(check_number("means", one, -1e6, 1e6) for one in row) for row in self.means)
        object.__setattr__(self, "means", rows)
        check_count("dimension", self.dimension, 1 + len(rows))  # before anything of that size is made
        super().__post_init__()

    def _means(self) -> np.ndarray:
        given = np.array(self.means)
        return np.hstack([given[:, :1], np.diag(given[:, 1])])


@dataclass(frozen=True, eq=False, kw_only=True)
class SideProblem(GaussianProblem):
    """Two unseen classes of fixed norm and separation, on both sides of the training boundary or on one.

    Parameters
    ----------
    along : float
        Component of the unseen means along μ/|μ|: +along and -along, or +along twice.
    side : {"opposite", "same"}
    unseen_norm, half_separation : float, default 4 and 2
        Length of the unseen means, and half their distance.
    **problem
        The fields of `GaussianProblem`.

    Examples
    --------
    >>> problem = SideProblem(along=2.0, side="opposite", dimension=64, samples=64, unseen_samples=20)
    >>> 0.5 < float(problem.predict(0).mean_recall) <= 1
    True
    """

    along: float
    side: Literal["opposite", "same"]
    unseen_norm: float = 4.0
    half_separation: float = 2.0
    unseen_samples: int = 150

    def __post_init__(self) -> None:
        check_number("unseen_norm", self.unseen_norm, 0, _LARGEST)
        check_choice("side", self.side, ("opposite", "same"))
        if check_number("half_separation", self.half_separation, 0) > self.unseen_norm:
            raise refusal(
                "half_separation", self.half_separation, f"be at most unseen_norm = {self.unseen_norm}"
            )
        most = self.half_separation if self.side == "opposite" else self._rest
        if check_number("along", self.along, 0) > most:
            raise refusal(
                "along", self.along, f"be at most {most:.6g}, by side, half_separation, unseen_norm"
            )
        super().__post_init__()

    @property
    def _rest(self) -> float:
        return float(np.sqrt(max(self.unseen_norm**2 - self.half_separation**2, 0)))

    def _means(self) -> np.ndarray:
        a, h, rest = self.along, self.half_separation, self._rest
        if self.side == "opposite":
            across = np.sqrt(h**2 - a**2)
            return np.array([[a, across, rest], [-a, -across, rest]])
        return np.array([[a, h, np.sqrt(rest**2 - a**2)], [a, -h, np.sqrt(rest**2 - a**2)]])

    def summarised(self, results: xr.Dataset) -> xr.Dataset:
        """Return means over the two classes, which mirror each other."""
        return over_two_classes(results)


@dataclass(frozen=True, eq=False, kw_only=True)
class RotationProblem(UnseenProblem):
    """The papers' synthetic set-ups: two unseen classes along ±v (set-up 1), or along ±Rv, R a rotation
    (set-up 2).

    Parameters
    ----------
    spread : float, default 1
        ε√d of the rotation (0: none); R v leaves v where it is about 1.
    length : float, default 0.008
        Length of the unseen means relative to |v|; the papers' e.
    variance : float, default 0.1
        Of the unseen samples, across the mean.
    family : {"balls", "truncated", "spheres"}, default "balls"
    dimension, samples : int, default 256
    unseen_samples : int, default 100
        Of each of the two classes.
    **step
        The fields of `Step`; set `tau` rather than `strength` to follow the papers: η s c_1/√N.

    Examples
    --------
    >>> problem = RotationProblem(spread=0.0, length=0.5, variance=1.0, dimension=32, samples=64, tau=0.01)
    >>> float(problem.simulate(0).mean_recall)
    1.0
    """

    spread: float = 1.0
    length: float = 0.008
    variance: float = 0.1
    family: Literal["balls", "truncated", "spheres"] = "balls"
    dimension: int = 256
    samples: int = 256
    unseen_samples: int = 100

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, least in (("dimension", 2), ("samples", 2), ("unseen_samples", 2)):
            check_count(name, getattr(self, name), least)
        check_choice("family", self.family, ("balls", "truncated", "spheres"))
        for name in ("spread", "variance"):
            check_number(name, getattr(self, name), 0)
        if check_number("length", self.length) == 0:
            raise refusal("length", self.length, "be a number other than 0")

    @property
    def sizes(self) -> tuple[int, int, int]:
        """Training samples, input dimension, unseen samples."""
        return self.samples, self.dimension, 2 * self.unseen_samples

    def sample(self, rng: np.random.Generator) -> UnseenData:
        """Draw training and unseen samples."""
        x, y, v = paper_training(rng, self.dimension, self.samples, self.family)
        centre = self.length * (rotation(rng, self.dimension, self.spread) @ v)
        count = self.unseen_samples
        unseen = [around(rng, sign * centre, self.variance, count) for sign in (1, -1)]
        return UnseenData(x, y, np.vstack(unseen), np.repeat([10, 11], count))

    def summarised(self, results: xr.Dataset) -> xr.Dataset:
        """Return means over the two classes, which mirror each other."""
        return over_two_classes(results)
