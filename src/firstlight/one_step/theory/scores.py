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
    mean: np.ndarray,
    variance: np.ndarray,
    centres: list[np.ndarray],
    fluctuations: list[np.ndarray],
) -> float:
    """Compute the 0/1 error when the score is normal given a class and a node κ.

    Scores at a node vary over training sets as its mean features do, and by what the class's variance leaves
    besides, the same at all nodes.

    Parameters
    ----------
    weights, values : ndarray, shape (C,)
        Class probabilities and label values.
    mean, variance : ndarray, shape (C,)
        Of the scores in each class, over inputs and training sets.
    centres : list of C ndarrays
        Mean scores at equally likely nodes of each class; their mean, which nodes know roughly, is not used.
    fluctuations : list of C ndarrays
        Variances of these over training sets.

    Returns
    -------
    float
        NaN if a variance is not finite.

    Examples
    --------
    >>> half, none = np.array([0.5, 0.5]), np.zeros(2)
    >>> nodes = [np.zeros(1), np.zeros(1)]
    >>> misclassification(half, np.array([1.0, -1.0]), none, np.ones(2), nodes, nodes)
    0.5000
    """
    if not np.isfinite(variance).all():
        return float("nan")
    total = 0.0
    for c, (centre, own) in enumerate(zip(centres, fluctuations, strict=True)):
        around = centre - centre.mean()
        spread = np.sqrt(np.maximum(variance[c] - np.mean(around**2) + own - own.mean(), 0.0))
        wrong = wrong_side(mean[c] + around, spread, np.full(centre.size, c), values)
        total += weights[c] * float(wrong.mean())
    return float(total)
