"""Recall@1 of classes that were not trained on: of the rows themselves, and of a trained network."""

import warnings

import numpy as np

from firstlight.measure.retrieval import recall_at_k


def raw_recall(rows: np.ndarray, labels: np.ndarray, standardise: bool) -> np.ndarray:
    """Return Recall@1 of each class by the distance of the rows themselves, classes in order.

    Examples
    --------
    >>> raw_recall(np.array([[0.0], [1.0], [9.0], [9.5]]), np.array([0, 0, 1, 1]), False).tolist()
    [1.0, 1.0]
    """
    rows = rows - rows.mean(axis=0)  # or else a column far from 0, or constant, makes all rows equally near
    if standardise:
        spread = np.sqrt((rows**2).mean(axis=0))
        rows = rows / np.where(spread > 0, spread, 1.0)
    return recall_at_k(rows, labels, metric="euclidean").by_class


def trained_recall(
    train: tuple[np.ndarray, np.ndarray],
    rows: np.ndarray,
    labels: np.ndarray,
    rng: np.random.Generator,
    width: int = 64,
) -> np.ndarray:
    """Train a small network on some classes (scikit-learn's, Adam) and return Recall@1 by its hidden layer.

    Parameters
    ----------
    train : (X, y)
        Rows of mean square one, and their classes.
    rows, labels : ndarray
        Rows that were not trained on, and their classes.
    width : int, default 64

    Returns
    -------
    ndarray, shape (C,)
    """
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.neural_network import MLPClassifier

    model = MLPClassifier((width,), alpha=0.01, max_iter=100, random_state=int(rng.integers(2**31)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(*train)
    features = np.maximum(rows @ model.coefs_[0] + model.intercepts_[0], 0)
    return recall_at_k(features, labels).by_class
