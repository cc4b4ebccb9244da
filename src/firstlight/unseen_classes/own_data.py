"""Leaving classes out of a user's data: what theory says about them, and what networks do."""

from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from firstlight.data.unseen import UnseenData, standardised
from firstlight.unseen_classes.classes import predict_classes, simulate_classes
from firstlight.unseen_classes.definitions.step import Step
from firstlight.unseen_classes.experiment.own_data import raw_recall, trained_recall
from firstlight.unseen_classes.theory.bulk import step_bulk
from firstlight.unseen_classes.theory.kernel import spiked_kernel
from firstlight.unseen_classes.theory.retrieval import recall_from_gram

NAMES = ("recall", "alignment", "elasticity")
_CANDIDATES = 6


@dataclass(frozen=True, eq=False)
class Halves:
    """Rows of every class, one part to train on and one to query.

    Attributes
    ----------
    X, y : ndarray
        All rows and their classes, numbered from 0.
    train, query : ndarray of int
        Which rows.
    """

    X: np.ndarray
    y: np.ndarray
    train: np.ndarray
    query: np.ndarray

    @classmethod
    def draw(cls, X: np.ndarray, y: np.ndarray, most: int, rng: np.random.Generator) -> "Halves":
        """Cut each class at random into halves of at most `most` rows."""
        train, query = [], []
        for c in np.unique(y):
            order = rng.permutation(np.flatnonzero(y == c))[: 2 * most]
            train.append(order[: len(order) // 2])
            query.append(order[len(order) // 2 :])
        return cls(X, y, np.concatenate(train), np.concatenate(query))

    def halved(self) -> tuple["Halves", "Halves"]:
        """Return it twice, each with every other query: what is chosen with one is checked with the other."""
        by_class = np.argsort(self.y[self.query], kind="stable")
        first, second = (self.query[np.sort(by_class[start::2])] for start in (0, 1))
        return replace(self, query=first), replace(self, query=second)

    def without(self, left_out: tuple[int, ...], trained: tuple[int, ...] | None = None) -> UnseenData:
        """Train on all other classes, or on those named; every row that is not trained on can be found.

        A class that is trained on is queried by rows of its own that were not: they get another name.
        """
        wanted = np.setdiff1d(np.unique(self.y), left_out) if trained is None else np.array(trained)
        rows = self.train[np.isin(self.y[self.train], wanted)]
        named = np.where(
            np.isin(self.y[self.query], wanted), self.y[self.query] + 1_000_000, self.y[self.query]
        )
        return standardised(UnseenData(self.X[rows], self.y[rows], self.X[self.query], named))


@dataclass(frozen=True)
class LeftOut:
    """One class that was not trained on.

    Attributes
    ----------
    place : int
        Which class.
    queries : int
        Its rows that were asked.
    raw, standardised : float
        Recall@1 by the rows themselves.
    predicted, measured : dict
        Recall, alignment and elasticity after one step.
    trained : float
        Recall@1 of a trained network's hidden layer.
    """

    place: int
    queries: int
    raw: float
    standardised: float
    predicted: dict[str, float]
    measured: dict[str, float]
    trained: float


def leave_out(halves: Halves, place: int, step: Step, rng: np.random.Generator) -> LeftOut:
    """Leave a class out, train on the others, and query its rows among all that were not trained on."""
    data = halves.without((place,))
    here = int(np.flatnonzero(np.unique(data.unseen_labels) == place)[0])
    predicted, measured = predict_classes(data, step), simulate_classes(data, step, rng)
    raw, even = (raw_recall(halves.X[halves.query], data.unseen_labels, flag)[here] for flag in (False, True))
    trained = trained_recall((data.train, data.train_labels), data.unseen, data.unseen_labels, rng)[here]
    values = [
        {name: float(results[name].values[here]) for name in NAMES} for results in (predicted, measured)
    ]
    queries = int((data.unseen_labels == place).sum())
    return LeftOut(place, queries, float(raw), float(even), values[0], values[1], float(trained))


def _mean_recall(recalls: np.ndarray, data: UnseenData, targets: tuple[int, ...]) -> float:
    return float(np.mean(recalls[np.isin(np.unique(data.unseen_labels), targets)]))


def raw_targets(halves: Halves, targets: tuple[int, ...]) -> float:
    """Return the mean Recall@1 of target classes by the rows themselves."""
    labels = halves.y[halves.query]
    recalls = raw_recall(halves.X[halves.query], labels, False)
    return float(np.mean(recalls[np.isin(np.unique(labels), targets)]))


def predicted_recall(halves: Halves, targets: tuple[int, ...], trained: tuple[int, ...], step: Step) -> float:
    """Return the predicted mean Recall@1 of target classes after training on some others."""
    data = halves.without(targets, trained)
    gram = spiked_kernel(
        data.unseen, None, step.covariance(data), step.tau_of(data), step.sigma, step_bulk(step, data),
        head=step.head,
    )  # fmt: skip
    recall = recall_from_gram(gram, data.unseen_labels, step.neighbours, step.metric)
    return _mean_recall(recall.recall_by_class.values, data, targets)


def measured_recall(
    halves: Halves, targets: tuple[int, ...], trained: tuple[int, ...], step: Step, rng: np.random.Generator
) -> float:
    """Return the same of a network that takes the step."""
    data = halves.without(targets, trained)
    return _mean_recall(simulate_classes(data, step, rng)["recall"].values, data, targets)


def choose_training(
    halves: Halves, targets: tuple[int, ...], step: Step, most: int = 4
) -> tuple[tuple[int, ...], float]:
    """Choose classes to train on so that the targets become retrievable: greedily, by theory alone.

    Begins with the best pair and adds the class that helps most, as long as one helps.

    Returns
    -------
    tuple of int, float
        The classes, and the predicted mean Recall@1 of the targets: too high, as the largest of many.
    """
    others = _nearest(halves, targets)
    pairs: list[tuple[int, ...]] = list(combinations(others, 2))
    table = {pair: predicted_recall(halves, targets, pair, step) for pair in pairs}
    best = max(table, key=lambda classes: table[classes])
    value = table[best]
    while len(best) < min(most, len(others)):
        more = {
            (*best, c): predicted_recall(halves, targets, (*best, c), step) for c in others if c not in best
        }
        chosen = max(more, key=lambda classes: more[classes])
        if more[chosen] <= value:
            break
        best, value = chosen, more[chosen]
    return best, value


def _nearest(halves: Halves, targets: tuple[int, ...]) -> list[int]:
    """Return the classes whose means lie closest to those of the targets: candidates for training."""
    means = {int(c): halves.X[halves.y == c].mean(axis=0) for c in np.unique(halves.y)}
    distance = {
        c: min(float(np.linalg.norm(mean - means[t])) for t in targets)
        for c, mean in means.items()
        if c not in targets
    }
    return sorted(sorted(distance, key=lambda c: distance[c])[:_CANDIDATES])
