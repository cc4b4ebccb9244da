"""The error of really trained one-step networks on rows that were not trained on."""

import numpy as np

from firstlight.one_step.experiment.estimators import OneStepClassifier, OneStepRegressor


def trained_error(
    train: tuple[np.ndarray, np.ndarray],
    test: tuple[np.ndarray, np.ndarray],
    *,
    samples: int,
    width: int,
    step_size: float,
    ridge: float,
    trainings: int,
    rng: np.random.Generator,
    regression: bool = False,
) -> float:
    """Train networks on random rows of `train` and return their mean error on `test`.

    Parameters
    ----------
    train, test : (X, y)
        Rows and labels; for regression numbers.
    samples : int
        Rows of each training: half for the step, half for the read-out.
    width, step_size, ridge
        Of the network.
    trainings : int
        How many networks.
    regression : bool, default False
        Mean squared error instead of the share of wrong answers.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(200, 3))
    >>> sides = (x, x[:, 0] > 0)
    >>> options = {"samples": 100, "width": 50, "step_size": 3.0, "ridge": 1e-2, "trainings": 2}
    >>> trained_error(sides, sides, rng=rng, **options) < 0.1
    True
    """
    x, y = train
    kind = OneStepRegressor if regression else OneStepClassifier
    errors = []
    for _ in range(trainings):
        rows = _chosen(y, samples, rng, regression)
        model = kind(width, step_size=step_size, ridge=ridge, random_state=int(rng.integers(2**31)))
        answers = model.fit(x[rows], y[rows]).predict(test[0])
        wrong = (answers - test[1]) ** 2 if regression else answers != test[1]
        errors.append(float(np.mean(wrong)))
    return float(np.mean(errors))


def _chosen(y: np.ndarray, samples: int, rng: np.random.Generator, regression: bool) -> np.ndarray:
    """Draw rows at random; of classes at least one each, or nothing could be trained."""
    rows = rng.choice(len(y), samples, replace=False)
    if regression:
        return rows
    missing = np.setdiff1d(np.unique(y), y[rows])
    return np.concatenate(
        [rows[len(missing) :], [rng.choice(np.flatnonzero(y == c)) for c in missing]]
    ).astype(int)
