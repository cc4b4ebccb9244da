"""Several training directions: which of them tell two unseen inputs apart?"""

from dataclasses import dataclass

import numpy as np
import xarray as xr

from firstlight.data.unseen import UnseenData
from firstlight.maths.checks import check_count, check_number, check_positive
from firstlight.maths.refusals import check_instance, refusal
from firstlight.unseen_classes.base import UnseenProblem

PLACES = {"midpoint": 0.0, "interpolation": 0.5, "extrapolation": 2.0}
"""Where a direction lies between the two inputs: 0 in the middle, 1 at the first of them."""


@dataclass(frozen=True, eq=False, kw_only=True)
class SpikesProblem(UnseenProblem):
    """Two unseen classes at an angle, and training classes ±β for directions β placed relative to them.

    Every training direction adds a spike to the metric of the features. One at the midpoint of the two means,
    or orthogonal to both, has the same product with either, and cannot tell them apart.

    Parameters
    ----------
    directions : str, default "orthogonal"
        One or more of "midpoint", "interpolation" (between the midpoint and a mean), "extrapolation" (beyond
        a mean) and "orthogonal", separated by commas; each brings two training classes.
    angle : float, default 1.0
        Between the two unseen means, in radians, in (0, π/2).
    dimension, samples : int, default 256
        d and n. All means have length √d.
    unseen_samples : int, default 60
        Samples of each unseen class.
    variance : float, default 0.1
        Of every coordinate within a class.
    **step
        The fields of `Step`.

    Examples
    --------
    >>> sizes = {"dimension": 64, "samples": 64, "unseen_samples": 20}
    >>> problems = [SpikesProblem(directions=name, **sizes) for name in ("midpoint", "extrapolation")]
    >>> [float(problem.predict(0).distance) for problem in problems]
    [0.397, 1.501]
    """

    directions: str = "orthogonal"
    angle: float = 1.0
    dimension: int = 256
    samples: int = 256
    unseen_samples: int = 60
    variance: float = 0.1

    def __post_init__(self) -> None:
        super().__post_init__()
        check_instance("directions", self.directions, str)
        if not self._places or set(self._places) - {*PLACES, "orthogonal"}:
            allowed = ", ".join((*PLACES, "orthogonal"))
            raise refusal("directions", self.directions, f"be one or more of {allowed}, separated by commas")
        check_number("angle", self.angle, above=0, below=np.pi / 2)
        check_count("dimension", self.dimension, 2 + len(self._places))
        check_count("samples", self.samples, 4 * len(self._places))
        check_count("unseen_samples", self.unseen_samples, 2)
        check_positive("variance", self.variance)

    @property
    def _places(self) -> list[str]:
        return [name.strip() for name in self.directions.split(",") if name.strip()]

    @property
    def sizes(self) -> tuple[int, int, int]:
        """Training samples, input dimension, unseen samples."""
        return self.samples, self.dimension, 2 * self.unseen_samples

    def sample(self, rng: np.random.Generator) -> UnseenData:
        """Draw samples of the classes ±β, and of the two unseen classes."""
        half, d = self.angle / 2, self.dimension
        unseen = np.zeros((2, d))
        unseen[:, 0], unseen[:, 1] = np.cos(half), [np.sin(half), -np.sin(half)]
        train = []
        for number, name in enumerate(self._places):
            beta = np.zeros(d)
            if name == "orthogonal":
                beta[2 + number] = 1.0
            else:
                beta[:2] = np.cos(PLACES[name] * half), np.sin(PLACES[name] * half)
            train += [beta, -beta]
        x, labels = self._around(np.array(train), self.samples, rng)
        others, classes = self._around(unseen, 2 * self.unseen_samples, rng)
        return UnseenData(x, labels, others, len(train) + classes)

    def _around(
        self, means: np.ndarray, count: int, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        labels = np.arange(count) % len(means)
        noise = np.sqrt(self.variance) * rng.standard_normal((count, self.dimension))
        return np.sqrt(self.dimension) * means[labels] + noise, labels

    def summarised(self, results: xr.Dataset) -> xr.Dataset:
        """Return the squared distance of the two classes' mean features, per neuron, and Recall@1."""
        across = results["separability"].isel({"class": 0, "other": 1}, drop=True)
        distance = results["cohesion"].sum("class") + 2 * across
        names = ("mean_recall", "mean_recall_before", "raw_recall")
        return xr.Dataset({"distance": distance, **{name: results[name] for name in names}})
