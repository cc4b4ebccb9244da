"""Which directions a small network learns from data, and how well it does on rows it has not seen."""

import warnings
from typing import Any

import numpy as np


def train(z: np.ndarray, y: np.ndarray, classes: int, rng: np.random.Generator, width: int = 32) -> Any:
    """Train a two-layer network by gradient descent (scikit-learn's, Adam) and return it.

    Parameters
    ----------
    z : ndarray, shape (n, d)
        Whitened rows.
    y : ndarray, shape (n,)
        Class numbers, or numbers.
    classes : int
        0 for numbers.
    rng : Generator
    width : int, default 32
    """
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.neural_network import MLPClassifier, MLPRegressor

    options = {"hidden_layer_sizes": (width,), "alpha": 0.01, "learning_rate_init": 3e-3, "max_iter": 200}
    kind = MLPClassifier if classes else MLPRegressor
    target = y if classes else (y - y.mean()) / (y.std() or 1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return kind(**options, random_state=int(rng.integers(2**31))).fit(z, target)


def leading_directions(model: Any, z: np.ndarray, count: int) -> np.ndarray:
    """Return the directions in which a network's outputs change most: of the mean outer product of gradients.

    Parameters
    ----------
    model : MLPClassifier or MLPRegressor
        With one hidden layer of ReLUs.
    z : ndarray, shape (n, d)
        Where its gradients are looked at.
    count : int

    Returns
    -------
    ndarray, shape (d, count)

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> z = rng.normal(size=(400, 4))
    >>> found = leading_directions(train(z, z[:, 3], 0, rng), z, 1)
    >>> bool(abs(found[3, 0]) > 0.9)
    True
    """
    first, second = model.coefs_
    on = z @ first + model.intercepts_[0] > 0
    total = np.zeros((z.shape[1], z.shape[1]))
    for head in second.T:
        gradient = (on * head) @ first.T
        total += gradient.T @ gradient
    return np.linalg.eigh(total)[1][:, ::-1][:, :count]


def overlap(one: np.ndarray, other: np.ndarray) -> float:
    """Return the share of one space that lies in another: 1 the same, about r/d by chance.

    Examples
    --------
    >>> overlap(np.eye(3)[:, :1], np.eye(3)[:, :1]), overlap(np.eye(3)[:, :1], np.eye(3)[:, 1:2])
    (1.0, 0.0)
    """
    return float(((one.T @ other) ** 2).sum() / max(one.shape[1], 1))


def held_out_errors(
    train_rows: tuple[np.ndarray, np.ndarray],
    test_rows: tuple[np.ndarray, np.ndarray],
    classes: int,
    model: Any,
) -> tuple[float, float]:
    """Return the errors on unseen rows of a linear model and of the network.

    Shares of wrong answers, or mean squares over the variance.
    """
    from sklearn.linear_model import LogisticRegression, Ridge

    (x, y), (x_test, y_test) = train_rows, test_rows
    if classes:
        linear = LogisticRegression(max_iter=500).fit(x, y)
        return tuple(float(np.mean(one.predict(x_test) != y_test)) for one in (linear, model))  # type: ignore[return-value]
    scale = y.std() or 1.0
    target = (y_test - y.mean()) / scale
    line = Ridge(1.0).fit(x, (y - y.mean()) / scale)
    return tuple(float(np.mean((one.predict(x_test) - target) ** 2)) for one in (line, model))  # type: ignore[return-value]
