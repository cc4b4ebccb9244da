"""The problems: classes of normals, pairs on two sides, the papers' set-ups, and images."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import xarray as xr

from firstlight.data.cache import canonical_name, check_classes
from firstlight.data.unseen import (
    UnseenData,
    around,
    gaussian_classes,
    image_classes,
    paper_training,
    rotation,
    standardised,
)
from firstlight.maths.checks import check_count, check_number, check_numbers
from firstlight.maths.refusals import check_choice, refusal
from firstlight.unseen_classes.base import UnseenProblem, image_sizes, over_two_classes


@dataclass(frozen=True, eq=False, kw_only=True)
class Problem(UnseenProblem):
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

    dimension: int = 256
    samples: int = 256
    train_norm: float = 2.0
    unseen_norm: float = 4.0
    cosines: tuple[float, ...] = (0.0, 0.25, 0.5, 0.75, 1.0)
    unseen_samples: int = 100

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "cosines", check_numbers("cosines", self.cosines, -1, 1))
        _check_sizes(self)
        if len(self.cosines) < 2:
            raise ValueError(f"cosines = {self.cosines}: at least two numbers in [-1, 1]")
        if len(self.cosines) >= self.dimension:
            raise ValueError(
                f"dimension = {self.dimension}: must exceed the {len(self.cosines)} unseen classes"
            )

    @property
    def sizes(self) -> tuple[int, int, int]:
        """Training samples, input dimension, unseen samples."""
        return self.samples, self.dimension, self.unseen_samples * len(self.cosines)

    def sample(self, rng: np.random.Generator) -> UnseenData:
        """Draw training and unseen samples."""
        along = np.array(self.cosines)
        means = np.hstack([along[:, None], np.diag(np.sqrt(1 - along**2))]) * self.unseen_norm
        return gaussian_classes(
            rng, self.dimension, self.samples, self.train_norm, means, self.unseen_samples
        )


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
class SideProblem(UnseenProblem):
    """Two unseen classes of fixed norm and separation, on opposite sides of the training boundary or on the
    same.

    Parameters
    ----------
    along : float
        Component of the unseen means along μ/|μ|: +along and -along, or +along twice.
    side : {"opposite", "same"}
    dimension, samples, train_norm, unseen_norm, unseen_samples
        As in `Problem`.
    half_separation : float, default 2
        Half the distance of the two means.
    **step
        The fields of `Step`.

    Examples
    --------
    >>> problem = SideProblem(along=2.0, side="opposite", dimension=64, samples=64, unseen_samples=20)
    >>> 0.5 < float(problem.predict(0).mean_recall) <= 1
    True
    """

    along: float
    side: Literal["opposite", "same"]
    dimension: int = 256
    samples: int = 256
    train_norm: float = 2.0
    unseen_norm: float = 4.0
    half_separation: float = 2.0
    unseen_samples: int = 150

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_sizes(self)
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

    @property
    def _rest(self) -> float:
        return float(np.sqrt(max(self.unseen_norm**2 - self.half_separation**2, 0)))

    @property
    def sizes(self) -> tuple[int, int, int]:
        """Training samples, input dimension, unseen samples."""
        return self.samples, self.dimension, 2 * self.unseen_samples

    def sample(self, rng: np.random.Generator) -> UnseenData:
        """Draw training and unseen samples."""
        a, h, rest = self.along, self.half_separation, self._rest
        if self.side == "opposite":
            across = np.sqrt(h**2 - a**2)
            means = np.array([[a, across, rest], [-a, -across, rest]])
        else:
            means = np.array([[a, h, np.sqrt(rest**2 - a**2)], [a, -h, np.sqrt(rest**2 - a**2)]])
        return gaussian_classes(
            rng, self.dimension, self.samples, self.train_norm, means, self.unseen_samples
        )

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


@dataclass(frozen=True, eq=False, kw_only=True)
class ImageProblem(UnseenProblem):
    """Train on some classes of a set of images; the others are unseen.

    Parameters
    ----------
    images : str, default "digits"
        "digits", "mnist" or "fashion-mnist"; see `firstlight.data.load_images`.
    classes : str, default "0,1"
        The classes to train on, separated by commas.
    per_class : int, default 100
        Samples of each class.
    **step
        The fields of `Step`.

    Examples
    --------
    >>> predicted = ImageProblem(classes="3,8", per_class=20).predict(0)
    >>> predicted.sizes["class"], int(predicted.alignment.notnull().sum())
    (10, 8)
    """

    images: str = "digits"
    classes: str = "0,1"
    per_class: int = 100

    def __post_init__(self) -> None:
        super().__post_init__()
        check_count("per_class", self.per_class, 2)
        canonical_name(self.images, "images")
        check_classes("classes", self.classes)

    @property
    def _classes(self) -> list[str]:
        return [str(one) for one in check_classes("classes", self.classes)]

    @property
    def sizes(self) -> tuple[int, int, int]:
        """Training samples, input dimension, unseen samples."""
        return image_sizes(self.images, self.per_class, len(self._classes))

    def sample(self, rng: np.random.Generator) -> UnseenData:
        """Draw training and unseen samples, centred and scaled."""
        return standardised(image_classes(rng, self.images, self._classes, self.per_class))

    def summarised(self, results: xr.Dataset) -> xr.Dataset:
        """Return all classes, the trained ones without values: so training sets can be laid side by side."""
        trained = np.array([int(name) for name in self._classes])
        every = np.union1d(results["class"].values, trained)
        return results.reindex({"class": every, "other": every})


def _check_sizes(problem: "Problem | SideProblem") -> None:
    for name, least in (("dimension", 4), ("samples", 2), ("unseen_samples", 2)):
        check_count(name, getattr(problem, name), least)
    for name in ("train_norm", "unseen_norm"):
        check_number(name, getattr(problem, name), 0, 1e150)  # its square is a number
