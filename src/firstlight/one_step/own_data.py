"""One question about a user's data, two classes or a number: predicted and measured on the same splits."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from firstlight.data.mixture import GaussianMixture
from firstlight.maths.activations import activation
from firstlight.one_step.experiment.held_out import trained_error
from firstlight.one_step.theory.held_out import (
    drawn_from,
    gaussian_like,
    misclassified,
    read_out,
    scaled,
    squared_error,
    stepped,
)

FOLDS, REPEATS, TRAININGS = 5, 3, 4
_Z = 1.6449  # 90 %


@dataclass(frozen=True)
class Network:
    """A one-step network, as the estimators train it.

    Attributes
    ----------
    samples : int
        Training rows: half for the step, half for the read-out.
    width : int
    step_size : float
    ridges : tuple of float
        Several share one first layer.
    """

    samples: int
    width: int
    step_size: float
    ridges: tuple[float, ...] = (1e-2,)


class Fold(NamedTuple):
    """One split; arrays over the ridges.

    Attributes
    ----------
    predicted : ndarray
        On the held-out rows.
    gaussian : ndarray
        On Gaussian rows with the held-out rows' means and covariances.
    own : ndarray
        On the fitted law itself: what the theory says about Gaussian data.
    measured : ndarray
        Of trained networks, on the held-out rows.
    """

    predicted: np.ndarray
    gaussian: np.ndarray
    own: np.ndarray
    measured: np.ndarray


@dataclass(frozen=True, eq=False)
class Question:
    """Two classes, or a number to predict.

    Attributes
    ----------
    name : str
    X : ndarray, shape (n, d)
    y : ndarray, shape (n,)
        0 and 1, or numbers.
    regression : bool
    stream : callable
        From keys to a random stream.
    folds : dict
        Splits done so far, by network.
    """

    name: str
    X: np.ndarray
    y: np.ndarray
    regression: bool
    stream: Callable[..., np.random.Generator]
    folds: dict[Network, list[Fold]] = field(default_factory=dict)

    @property
    def most(self) -> int:
        """The largest training set that the procedure may speak of: half the rows that it may see."""
        return int(0.8 * len(self.y)) // 4 * 2

    @property
    def usual(self) -> Network:
        """The network that is asked about first."""
        return Network(max(8, self.most // 4 * 2), 100, float(self.X.shape[1]))

    @property
    def guess(self) -> float:
        """The error of always giving the same answer; of numbers in units of their variance."""
        return 1.0 if self.regression else float(min(self.y.mean(), 1 - self.y.mean()))

    @property
    def tails(self) -> float:
        """Share of all variance that one row in a hundred carries: 0.01 to 0.1 if rows are near Gaussian."""
        return tails(self.X)

    @property
    def label_tails(self) -> float:
        """The same of a number to predict; of classes 0."""
        return tails(self.y[:, None]) if self.regression else 0.0

    def splits(self, repeat: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield rows to fit and rows held out, every row held out once."""
        from sklearn.model_selection import KFold, StratifiedKFold

        seed = int(self.stream("folds", repeat).integers(2**31))
        kind = KFold if self.regression else StratifiedKFold
        yield from kind(FOLDS, shuffle=True, random_state=seed).split(self.X, self.y)

    def ask(self, network: Network, repeats: int = 1) -> Iterator[list[Fold]]:
        """Predict and measure a network, split by split; what was done before is not done again."""
        folds = self.folds.setdefault(network, [])
        pairs = ((r, f, pair) for r in range(repeats) for f, pair in enumerate(self.splits(r)))
        for place, (repeat, fold, (fit, held)) in enumerate(pairs):
            if place >= len(folds):
                folds.append(self._fold(network, fit, held, repeat, fold))
                yield folds

    def _fold(self, network: Network, fit: np.ndarray, held: np.ndarray, repeat: int, fold: int) -> Fold:
        # the same stream for every network: curves compare the same draws
        rng = self.stream("theory", repeat, fold)
        classes = np.zeros(len(self.y), int) if self.regression else self.y.astype(int)
        target = self.y.astype(float) if self.regression else 2.0 * self.y - 1
        rows = scaled(self.X, target, classes, fit)
        inside, outside = rows.part(fit), rows.part(held)
        law = None if self.regression else GaussianMixture.fit(inside.x, inside.classes)
        half = network.samples // 2
        layer = stepped(
            inside, law, width=network.width, samples=half, step_size=network.step_size,
            activation=activation("relu"), rng=rng,
        )  # fmt: skip
        error = squared_error if self.regression else misclassified
        tests = [outside] * 3
        if law is not None:
            tests = [outside, gaussian_like(outside, rng), drawn_from(law, inside, rng)]
        solved = [read_out(layer, half, ridge) for ridge in network.ridges]
        values = np.array([[error(one, layer, test) for one in solved] for test in tests])
        measured = self._measured(network, fit, held, repeat, fold)
        if self.regression:  # in units of the variance of all rows, as the constant answer is
            values *= (target[fit].var() or 1.0) / target.var()
            measured /= target.var()
        return Fold(values[0], values[1], values[2], measured)

    def _measured(
        self, network: Network, fit: np.ndarray, held: np.ndarray, repeat: int, fold: int
    ) -> np.ndarray:
        return np.array([
            trained_error(
                (self.X[fit], self.y[fit]), (self.X[held], self.y[held]), samples=network.samples,
                width=network.width, step_size=network.step_size, ridge=ridge, trainings=TRAININGS,
                rng=self.stream("experiment", repeat, fold), regression=self.regression,
            )
            for ridge in network.ridges
        ])  # fmt: skip

    def answer(self, network: Network, ridge: int = 0) -> "Answer":
        """Put together what was found about a network, at one of its ridges."""
        return Answer.of(np.array(self.folds[network])[..., ridge], len(self.y), self.regression)

    def smaller(self, rows: int) -> "Question":
        """Return the question about so many rows, drawn at random: each class's share, enough for splits."""
        n = len(self.y)
        if n <= rows:
            return self
        rng = self.stream("rows")
        groups = [np.arange(n)] if self.regression else [np.flatnonzero(self.y == c) for c in (0, 1)]
        counts = [max(min(len(g), 2 * FOLDS), len(g) * rows // n) for g in groups]
        chosen = [rng.choice(g, count, replace=False) for g, count in zip(groups, counts, strict=True)]
        kept = np.sort(np.concatenate(chosen))
        return replace(self, X=self.X[kept], y=self.y[kept], folds={})


def tails(rows: np.ndarray) -> float:
    """Return the share of all variance that one row in a hundred carries.

    Examples
    --------
    >>> tails(np.array([[-1.0], [1.0]] * 99 + [[-9.0], [9.0]]))
    0.450
    """
    square = np.sort(((rows - rows.mean(axis=0)) ** 2).sum(axis=1))
    return float(square[-max(1, round(len(square) / 100)) :].sum() / square.sum())


@dataclass(frozen=True)
class Answer:
    """Averages over the splits.

    Attributes
    ----------
    predicted, low, high : float
        On held-out rows, with its 90 % interval.
    measured, error : float
        And its standard error over splits.
    own : float
        The theory on its own Gaussian law.
    factor : float
        What the shape of the data costs beyond their means and covariances.
    splits : int
    """

    predicted: float
    low: float
    high: float
    measured: float
    error: float
    own: float
    factor: float
    splits: int

    @property
    def gaussian_enough(self) -> bool:
        """Whether the shape of the rows costs or saves less than a quarter (a convention)."""
        return bool(np.isnan(self.factor) or 0.8 <= self.factor <= 1.25)

    @classmethod
    def of(cls, table: np.ndarray, rows: int, regression: bool) -> "Answer":
        """Average a table of splits with columns predicted, gaussian, own, measured."""
        splits = len(table)
        predicted, gaussian, own, measured = table.mean(axis=0)
        within = table[:, 0].std(ddof=1) if splits > 1 else predicted
        repeats = [table[i : i + FOLDS, 0].mean() for i in range(0, splits - FOLDS + 1, FOLDS)]
        scatter = np.var(repeats, ddof=1) / len(repeats) if len(repeats) > 1 else within**2 / splits
        chance = within**2 / FOLDS if regression else predicted * (1 - predicted) / rows + 0.25 / rows**2
        width = _Z * float(np.sqrt(scatter + chance))
        error = table[:, 3].std(ddof=1) / np.sqrt(splits) if splits > 1 else np.nan
        high = predicted + width if regression else min(1.0, predicted + width)
        factor = predicted / gaussian if gaussian > 0 else np.inf if predicted > 0 else np.nan
        return cls(predicted, max(0.0, predicted - width), high, measured, float(error), own, factor, splits)


def needed(curve: list[tuple[float, float]], target: float) -> float:
    """Return how many rows bring the error down to a target, between the points of a falling curve.

    Returns
    -------
    float
        NaN: not within the curve; 0: already at its first point.

    Examples
    --------
    >>> needed([(10, 0.4), (40, 0.2)], 0.3), needed([(10, 0.4), (40, 0.2)], 0.1)
    (20.0, nan)
    """
    sizes, errors = np.array(curve, float).T
    lowest = np.minimum.accumulate(errors)
    if lowest[0] <= target:
        return 0.0
    if lowest[-1] > target:
        return float("nan")
    i = int(np.argmax(lowest <= target))
    share = (lowest[i - 1] - target) / (lowest[i - 1] - lowest[i])
    return float(np.exp(np.log(sizes[i - 1]) + share * np.log(sizes[i] / sizes[i - 1])))
