"""Errors of a scalar prediction: on a sample, class by class, and over a population by its second moments."""

import numpy as np


def wrong_share(prediction: np.ndarray, values: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """Return the chance of each answer to be wrong, if it is the class whose label value is nearest.

    Classes that are equally near share the answer: a network of which no neuron responds says 0.

    Parameters
    ----------
    prediction : ndarray, shape (count,)
    values : ndarray, shape (C,)
        Label values of the classes.
    classes : ndarray of int, shape (count,)
        True classes.

    Examples
    --------
    >>> wrong_share(np.array([0.2, 0.2, 0.0]), np.array([1.0, -1.0]), np.array([0, 1, 1])).tolist()
    [0.0, 1.0, 0.5]
    """
    gaps = np.abs(prediction[:, None] - values)
    nearest = gaps == gaps.min(axis=1, keepdims=True)
    return np.asarray(1 - nearest[np.arange(len(classes)), classes] / nearest.sum(axis=1))


class ErrorTally:
    """Mean squared and 0/1 errors, class by class, gathered from a stream of blocks.

    Parameters
    ----------
    weights : ndarray, shape (C,)
        Class probabilities. Errors over all classes are averages with these, whatever the classes' shares of
        the samples are: few samples have no exact share of a rare class.
    outputs : int
        Number of predictors that are judged at once, L.
    values : ndarray, shape (C,), optional
        Label values of the classes; given, 0/1 errors are counted too.

    Examples
    --------
    >>> tally = ErrorTally(np.array([0.75, 0.25]), 1, np.array([1.0, -1.0]))
    >>> tally.add(np.array([1.0, -1.0]), np.array([[0.5], [0.5]]), np.array([0, 1]))
    >>> tally.mean_square.tolist(), tally.misclassification.tolist()
    ([0.75], [0.25])
    """

    def __init__(self, weights: np.ndarray, outputs: int, values: np.ndarray | None = None) -> None:
        self.weights, self.values, self._counts = weights, values, np.zeros(len(weights))
        self._squares, self._wrong = np.zeros((2, outputs, len(weights)))

    def add(self, y: np.ndarray, prediction: np.ndarray, classes: np.ndarray) -> None:
        """Count a block: labels (count,), predictions (count, L), classes (count,)."""
        self._counts += np.bincount(classes, minlength=len(self._counts))
        for output, column in enumerate(prediction.T):
            self._squares[output] += np.bincount(classes, (y - column) ** 2, minlength=len(self._counts))
            if self.values is not None:
                wrong = wrong_share(column, self.values, classes)
                self._wrong[output] += np.bincount(classes, wrong, minlength=len(self._counts))

    def merge(self, other: "ErrorTally") -> None:
        """Count what another tally has counted."""
        self._counts += other._counts
        self._squares += other._squares
        self._wrong += other._wrong

    @property
    def mean_square(self) -> np.ndarray:
        """Mean squared error of each predictor, shape (L,); NaN if a class was not seen."""
        return self.by_class @ self.weights

    @property
    def by_class(self) -> np.ndarray:
        """Mean squared error of each predictor in each class, shape (L, C); NaN for a class not seen."""
        return self._squares / self._seen

    @property
    def misclassification(self) -> np.ndarray:
        """Chance to be nearer to another class's value than to one's own, shape (L,); ties are shared."""
        return self._wrong / self._seen @ self.weights

    @property
    def _seen(self) -> np.ndarray:
        return np.where(self._counts > 0, self._counts, np.nan)


def population_error(
    weights: np.ndarray, second_moment: np.ndarray, cross_moment: np.ndarray, label_square: float
) -> np.ndarray:
    """Compute E (y - wᵀφ)² = E y² - 2 wᵀE[φ y] + wᵀE[φ φᵀ] w for each row w of `weights`.

    Examples
    --------
    >>> population_error(np.array([[1.0], [0.0]]), np.eye(1), np.array([1.0]), 1.0).tolist()
    [0.0, 1.0]
    """
    quadratic = np.einsum("lk,lk->l", weights @ second_moment, weights)
    return label_square - 2 * (weights @ cross_moment) + quadratic
