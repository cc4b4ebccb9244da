"""Scikit-learn estimators: one gradient step of the first layer, then a ridge read-out."""

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from firstlight.maths.activations import activation
from firstlight.maths.checks import check_count, check_number
from firstlight.network.two_layer import TwoLayer, features, ridge_readout


class _OneStep(BaseEstimator):
    """What the regressor and the classifier share."""

    def __init__(
        self,
        width: int = 100,
        *,
        step_size: float = 1.0,
        ridge: float = 1e-4,
        activation: Any = "relu",
        gradient_fraction: float = 0.5,
        random_state: Any = None,
    ) -> None:
        self.width = width
        self.step_size = step_size
        self.ridge = ridge
        self.activation = activation
        self.gradient_fraction = gradient_fraction
        self.random_state = random_state

    def _check(self) -> None:
        check_count("width", self.width)
        for name in ("step_size", "ridge"):
            check_number(name, getattr(self, name), 0)
        check_number("gradient_fraction", self.gradient_fraction, above=0, below=1)

    def _fit(self, x: np.ndarray, y: np.ndarray) -> None:
        """Fit on centred and scaled inputs and targets; the step and the read-out see different samples."""
        self._check()
        seed = check_random_state(self.random_state).randint(0, 2**31 - 1, size=4)
        rng = np.random.default_rng(seed)
        self.input_mean_, self.target_mean_ = x.mean(axis=0), y.mean(axis=0)
        self.input_scale_, self.target_scale_ = _size(x), _size(y)
        x, y = (x - self.input_mean_) / self.input_scale_, (y - self.target_mean_) / self.target_scale_
        order = rng.permutation(len(x))
        count = int(np.clip(round(self.gradient_fraction * len(x)), 1, len(x) - 1))
        step, rest = order[:count], order[count:]
        start = TwoLayer.draw(
            int(self.width), x.shape[1], 1 / x.shape[1], activation(self.activation), rng, y.shape[1:]
        )
        trained = start.step(x[step], y[step], float(self.step_size))
        phi = features(x[rest], trained.first_layer, trained.activation)
        readout = ridge_readout(phi, y[rest], np.array([float(self.ridge)]))[0]
        self.first_layer_, self.second_layer_ = trained.first_layer, readout

    def _output(self, x: np.ndarray) -> np.ndarray:
        check_is_fitted(self)
        x = (validate_data(self, x, dtype=float, reset=False) - self.input_mean_) / self.input_scale_
        scores = features(x, self.first_layer_, activation(self.activation)) @ self.second_layer_
        return scores * self.target_scale_ + self.target_mean_


def _size(part: np.ndarray) -> float:
    """Root mean square of all entries around their column means; one where they are constant to rounding."""
    centred = part - part.mean(axis=0)
    top = float(np.abs(centred).max())
    if top <= 1e-13 * float(np.abs(part).max()):
        return 1.0
    return top * float(np.sqrt(np.mean((centred / top) ** 2)))


class OneStepRegressor(RegressorMixin, _OneStep):
    """Two-layer network whose first layer takes one gradient step and whose second is a ridge regression.

    Inputs and targets are centred and divided by one number each, so that their mean variance is one and a
    step size means the same for any units; pre-activations then start with variance one. The samples are
    split at random: one part for the step, the rest for the read-out.

    Parameters
    ----------
    width : int, default 100
        Number of neurons.
    step_size : float, default 1.0
        η; a step that changes what is learnt is of the order of the number of features.
    ridge : float, default 1e-4
        λ of the read-out, at least 0.
    activation : str, Activation or callable, default "relu"
        σ.
    gradient_fraction : float, default 0.5
        Share of the samples that the step uses, between 0 and 1.
    random_state : int, RandomState or None
        Decides weights and split.

    Attributes
    ----------
    first_layer_, second_layer_ : ndarray, shapes (width, n_features) and (width,)
        The fitted network, of centred and scaled inputs.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(400, 5))
    >>> model = OneStepRegressor(width=50, step_size=5.0, random_state=0).fit(x, np.maximum(x[:, 0], 0))
    >>> bool(model.score(x, np.maximum(x[:, 0], 0)) > 0.9)
    True
    """

    def fit(self, X: Any, y: Any) -> "OneStepRegressor":
        """Fit to inputs (samples, features) and targets (samples,)."""
        x, target = validate_data(self, X, y, dtype=float, y_numeric=True, ensure_min_samples=2)
        self._fit(x, np.asarray(target, dtype=float))
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Return the predicted targets, shape (samples,)."""
        return self._output(X)


class OneStepClassifier(ClassifierMixin, _OneStep):
    """Classifier by the squared loss on class indicators; parameters as in `OneStepRegressor`.

    Attributes
    ----------
    classes_ : ndarray
        The class labels.
    first_layer_, second_layer_ : ndarray
        The fitted network; two classes share one output, more have one each.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(400, 5))
    >>> y = np.where(x[:, 0] > 0, "right", "left")
    >>> bool(OneStepClassifier(width=50, step_size=5.0, random_state=0).fit(x, y).score(x, y) > 0.9)
    True
    """

    def fit(self, X: Any, y: Any) -> "OneStepClassifier":
        """Fit to inputs (samples, features) and class labels (samples,)."""
        x, labels = validate_data(self, X, y, dtype=float, ensure_min_samples=2)
        check_classification_targets(labels)
        self.classes_, index = np.unique(labels, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(f"y: holds one class ({self.classes_[0]!r}); a classifier needs two or more")
        targets = 2.0 * (index[:, None] == np.arange(len(self.classes_))) - 1
        self._fit(x, targets[:, 1] if len(self.classes_) == 2 else targets)
        return self

    def decision_function(self, X: Any) -> np.ndarray:
        """Return the score of the second class, shape (samples,), or of each, shape (samples, classes)."""
        return self._output(X)

    def predict(self, X: Any) -> np.ndarray:
        """Return the predicted class labels, shape (samples,)."""
        score = self.decision_function(X)
        return self.classes_[(score > 0).astype(int) if score.ndim == 1 else score.argmax(axis=1)]
