"""Unseen classes whose means are given one by one: along the training direction, and away from it."""

from dataclasses import dataclass

import numpy as np

from firstlight.data.unseen import UnseenData, gaussian_classes
from firstlight.maths.checks import check_count, check_number
from firstlight.maths.refusals import refusal
from firstlight.unseen_classes.base import UnseenProblem


@dataclass(frozen=True, eq=False, kw_only=True)
class PlaneProblem(UnseenProblem):
    """Two training classes N(±μ, I) and unseen classes N(m, I), each mean given by two coordinates.

    Parameters
    ----------
    means : sequence of (float, float)
        Of each unseen class: its mean's part along μ/|μ|, and the rest, at right angles to μ and to the rest
        of all other classes.
    dimension, samples, train_norm, unseen_samples
        As in `Problem`.
    **step
        The fields of `Step`.

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
    train_norm: float = 2.0
    unseen_samples: int = 60

    def __post_init__(self) -> None:
        super().__post_init__()
        need = "be two or more pairs of numbers within ±1e6"
        if not isinstance(self.means, (list, tuple)) or len(self.means) < 2:
            raise refusal("means", self.means, need)
        for row in self.means:
            if not isinstance(row, (list, tuple)) or len(row) != 2:
                raise refusal("means", row, need)
        rows = tuple(tuple(check_number("means", one, -1e6, 1e6) for one in row) for row in self.means)
        object.__setattr__(self, "means", rows)
        for name, least in (("dimension", len(rows) + 1), ("samples", 2), ("unseen_samples", 2)):
            check_count(name, getattr(self, name), least)
        check_number("train_norm", self.train_norm, 0, 1e150)

    @property
    def sizes(self) -> tuple[int, int, int]:
        """Training samples, input dimension, unseen samples."""
        return self.samples, self.dimension, self.unseen_samples * len(self.means)

    def sample(self, rng: np.random.Generator) -> UnseenData:
        """Draw training and unseen samples."""
        given = np.array(self.means)
        means = np.hstack([given[:, :1], np.diag(given[:, 1])])
        return gaussian_classes(
            rng, self.dimension, self.samples, self.train_norm, means, self.unseen_samples
        )
