"""What every problem that trains on samples shares: predict, simulate and the assumptions."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import xarray as xr

from firstlight.data.unseen import UnseenData
from firstlight.maths.checks import check_count
from firstlight.maths.rng import RNGLike, SeedLike, generator
from firstlight.study.problem import Assumption, Cost
from firstlight.unseen_classes.classes import predict_classes, simulate_classes
from firstlight.unseen_classes.definitions.covariance import label_covariance
from firstlight.unseen_classes.definitions.step import Step
from firstlight.unseen_classes.theory.mixture import gaussian_bulk_gap

_GAP = 0.05  # of the largest cohesion


@dataclass(frozen=True, eq=False, kw_only=True)
class UnseenProblem(Step):
    """What the problems share: samples are drawn first, the same ones by theory and experiment."""

    theory: ClassVar[str] = "unseen_classes"
    version: ClassVar[int] = 4
    references: ClassVar[tuple[str, ...]] = ("unseen2025emergence", "moniri2024theory")

    def sample(self, rng: np.random.Generator) -> UnseenData:
        """Draw training and unseen samples."""
        raise NotImplementedError

    @property
    def sizes(self) -> tuple[int, int, int]:
        """Training samples, input dimension, unseen samples."""
        raise NotImplementedError

    def conditional(self, **options: object) -> bool:
        """Say that `predict` speaks of the samples that `rng` draws."""
        return True

    def predict(self, rng: RNGLike | SeedLike = 0) -> xr.Dataset:
        """Theory on samples drawn from `rng`: see `predict_classes`. No network is drawn."""
        return self.summarised(predict_classes(self.sample(generator(rng)), self))

    def simulate(self, rng: RNGLike | SeedLike = None, *, steps: int = 1) -> xr.Dataset:
        """Train a network on samples drawn from `rng`: see `simulate_classes`."""
        check_count("steps", steps, 1)
        stream = generator(rng)
        return self.summarised(simulate_classes(self.sample(stream), self, stream, steps))

    def summarised(self, results: xr.Dataset) -> xr.Dataset:
        """Return what is kept: here everything."""
        return results

    def assumptions(self) -> tuple[Assumption, ...]:
        """Return what the theory assumes, each checked on samples of this problem."""
        data = self.sample(np.random.default_rng(0))
        d = data.train.shape[1]
        norm = float((data.train**2).sum(axis=1).mean() / d)
        counts = np.unique(data.train_labels, return_counts=True)[1]
        balance = counts.min() / counts.max()
        output = self.output_scale * np.sqrt(float(self.sigma.second_moment(np.sqrt(norm))))
        beta = label_covariance(data.train, data.train_labels)
        noise = np.sqrt(d / len(data.train))
        return (
            _verdict("inputs of norm √d", 0.5 <= norm <= 2, f"mean |x|²/d = {norm:.3g}"),
            _verdict("balanced training classes", balance >= 0.8, f"smallest / largest = {balance:.2f}"),
            _verdict(
                "output before the step at most of order one", output <= 1, f"typical |g0| = {output:.2g}"
            ),
            _verdict("wide network", self.width >= 512, f"width = {self.width}, fluctuations 1/√N"),
            _verdict(
                "class means differ", np.linalg.norm(beta) > 1.2 * noise * np.sqrt(norm),
                f"|β| = {np.linalg.norm(beta):.3g}, of noise alone {noise * np.sqrt(norm):.3g}",
            ),
            _normal_rest(data, self),
        )  # fmt: skip

    def cost(self, kind: str, **options: object) -> Cost:
        """Leading terms of a trial: products of samples and neurons, or of samples and samples."""
        n, d, m = self.sizes
        if kind == "predict":
            return Cost(2.0 * m * m * d + 60.0 * m * m + n * n * d, 8.0 * (3 * m * m + n * n + d * d))
        steps = options.get("steps", 1)
        work = 4.0 * n * d * self.width * float(steps if isinstance(steps, int) else 1)
        return Cost(
            work + 4.0 * m * d * self.width + 4.0 * m * m * self.width, 8.0 * self.width * (3 * m + n + d)
        )


def _normal_rest(data: UnseenData, step: Step) -> Assumption:
    """Say whether the rest of the gradient may be taken as normal; not where theory refuses the step."""
    name = "rest of the gradient normal over neurons"
    try:
        gap = gaussian_bulk_gap(data, step)
    except ValueError as refused:
        return _verdict(name, False, f"cannot be told: {refused}")
    return _verdict(name, gap <= _GAP, f"heads one by one change cohesions by {gap:.2g} of the largest")


def _verdict(name: str, holds: bool, detail: str) -> Assumption:
    return Assumption(name, "holds" if holds else "fails", detail)


def over_two_classes(results: xr.Dataset) -> xr.Dataset:
    """Average two classes that mirror each other into numbers; the similarity by size.

    Examples
    --------
    >>> two = xr.Dataset({"similarity": ("class", [2.0, -3.0]), "mean_recall": 0.5})
    >>> float(over_two_classes(two).similarity)
    2.5
    """
    results = results.assign(similarity=np.abs(results["similarity"]))
    across = results["separability"].mean() if "separability" in results else None
    numbers = results.drop_dims("other", errors="ignore").mean("class")
    return numbers if across is None else numbers.assign(separability=across)
