"""The 0/1 error of a Gaussian score."""

import numpy as np
from scipy.special import ndtr


def wrong_side(centre: np.ndarray, spread: np.ndarray, classes: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Compute the chance that a normal score is nearer to another class's label value than to its own.

    Parameters
    ----------
    centre, spread : ndarray, shape (count,)
        Mean and standard deviation of the score.
    classes : ndarray of int, shape (count,)
        True classes.
    values : ndarray, shape (C,)
        Label values of the classes, distinct.

    Returns
    -------
    ndarray, shape (count,)

    Examples
    --------
    >>> chance = wrong_side(np.zeros(1), np.ones(1), np.array([0]), np.array([1.0, -1.0]))
    >>> chance.tolist()
    [0.5]
    """
    order = np.sort(values)
    borders = np.concatenate([[-np.inf], 0.5 * (order[1:] + order[:-1]), [np.inf]])
    place = np.searchsorted(order, values)[classes]
    width = np.maximum(spread, 1e-300)
    inside = ndtr((borders[place + 1] - centre) / width) - ndtr((borders[place] - centre) / width)
    return 1 - inside


def misclassification(
    weights: np.ndarray,
    values: np.ndarray,
    by_class: np.ndarray,
    centres: list[np.ndarray],
    by_counts: np.ndarray | None = None,
) -> float:
    """Compute the 0/1 error when the score is normal given a class and a node κ.

    The score's variance is taken to be the same at all nodes of a class: what the class's mean squared error
    leaves once the squared distances of the centres from the label are taken out.

    And what comes from the counts of classes. For the equations a training set is drawn sample by sample, so
    that counts vary; ours are fixed, and the law of total variance takes that part out again. In squared
    errors it is one part in m. In the 0/1 error it may be most of the variance: where features have a mean
    and the ridge is large, a score is hardly more than the intercept, which is the difference of the counts.

    Parameters
    ----------
    weights, values, by_class : ndarray, shape (C,)
        Class probabilities, label values and mean squared errors.
    centres : list of C ndarrays
        Mean scores at equally likely nodes of each class.
    by_counts : ndarray, shape (C,), optional
        The part of the variance that comes from counts, in each class.

    Returns
    -------
    float
        NaN if a mean squared error is not finite.

    Examples
    --------
    >>> half = np.array([0.5, 0.5])
    >>> values = np.array([1.0, -1.0])
    >>> misclassification(half, values, np.ones(2), [np.zeros(1), np.zeros(1)])
    0.5000
    """
    if not np.isfinite(by_class).all():
        return float("nan")
    total, counted = 0.0, np.zeros(len(weights)) if by_counts is None else by_counts
    for c, centre in enumerate(centres):
        spread = np.sqrt(max(float(by_class[c] - np.mean((values[c] - centre) ** 2) - counted[c]), 0.0))
        classes = np.full(centre.size, c)
        total += weights[c] * float(wrong_side(centre, np.full(centre.size, spread), classes, values).mean())
    return float(total)
