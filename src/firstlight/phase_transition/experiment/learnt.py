"""Which directions a small network learns from data, and how well it does on rows it has not seen."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

_DECAYS = (0.1, 1.0, 10.0)  # scikit-learn divides them by the number of rows


def train(
    z: np.ndarray,
    y: np.ndarray,
    classes: int,
    rng: np.random.Generator,
    width: int = 32,
    check: Callable[[], None] = lambda: None,
) -> Any:
    """Train a two-layer network by gradient descent (scikit-learn's, Adam) and return it.

    The weight decay is the one that does best on a quarter of these rows: with little of it and few rows a
    network keeps the directions it starts with, and learns rows by heart.

    Parameters
    ----------
    z : ndarray, shape (n, d)
        Whitened rows.
    y : ndarray, shape (n,)
        Class numbers, or numbers.
    classes : int
        0 for numbers.
    width : int, default 32
    check : callable
        Called before each training; may raise to end the search.
    """
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.neural_network import MLPClassifier, MLPRegressor

    options = {"hidden_layer_sizes": (width,), "learning_rate_init": 3e-3, "max_iter": 200}
    options["random_state"] = int(rng.integers(2**31))
    kind = MLPClassifier if classes else MLPRegressor
    target = y if classes else (y - y.mean()) / (y.std() or 1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        models = [kind(alpha=decay, **options) for decay in _DECAYS]
        return _best(models, z, target, rng.permutation(len(z)), check)


def _best(
    models: list[Any],
    z: np.ndarray,
    y: np.ndarray,
    order: np.ndarray,
    check: Callable[[], None] = lambda: None,
) -> Any:
    """Fit the model that does best on a quarter of the rows, the first in an order, to all of them."""
    inner, outer = order[len(z) // 4 :], order[: len(z) // 4]
    if len(np.unique(y[inner])) < 2:
        return models[-1].fit(z, y)
    scores = []
    for one in models:
        check()
        scores.append(one.fit(z[inner], y[inner]).score(z[outer], y[outer]))
    check()
    return models[int(np.argmax(scores))].fit(z, y)


def leading_directions(model: Any, z: np.ndarray, count: int) -> np.ndarray:
    """Return the directions in which a network's outputs change most: of the mean outer product of gradients.

    Parameters
    ----------
    model : MLPClassifier or MLPRegressor
        With one hidden layer of ReLUs.
    z : ndarray, shape (n, d)
        Where its gradients are looked at.

    Returns
    -------
    ndarray, shape (d, count)

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> z = rng.normal(size=(400, 4))
    >>> leading = leading_directions(train(z, z[:, 3], 0, rng), z, 1)
    >>> bool(abs(leading[3, 0]) > 0.9)
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

    Shares of wrong answers, or mean squares over the variance of all rows. The linear model's
    ridge is chosen like the network's decay.
    """
    from sklearn.linear_model import LogisticRegression, Ridge

    (x, y), (x_test, y_test) = train_rows, test_rows
    order = np.arange(len(y))  # rows come in random order
    if classes:
        linear = _best([LogisticRegression(C=c, max_iter=500) for c in (1.0, 0.01)], x, y, order)
        return tuple(float(np.mean(one.predict(x_test) != y_test)) for one in (linear, model))  # type: ignore[return-value]
    scale = y.std() or 1.0
    target = (y_test - y.mean()) / scale
    line = _best([Ridge(decay) for decay in (1.0, 30.0, 1000.0)], x, (y - y.mean()) / scale, order)
    unit = (scale / np.concatenate([y, y_test]).std()) ** 2
    return tuple(float(unit * np.mean((one.predict(x_test) - target) ** 2)) for one in (line, model))  # type: ignore[return-value]
