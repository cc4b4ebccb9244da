"""The error of one step on rows that a law was not fitted to: cross-fitted predictions.

A law fitted to rows and evaluated on itself is too optimistic: it has seen them, and it is Gaussian. So the
read-out's mean and fluctuations come from the law of some rows, and the scores from other rows.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

from firstlight.data.labels import Classification
from firstlight.data.mixture import GaussianMixture
from firstlight.maths.activations import Activation
from firstlight.one_step.theory.classwise import Classwise, solve_classwise
from firstlight.one_step.theory.first_layer import stepped_first_layer
from firstlight.one_step.theory.moments import FeatureMoments, feature_moments

_DRAWS = 2000  # rows of a Gaussian that stands in for data


@dataclass(frozen=True, eq=False)
class Rows:
    """Scaled rows with their targets.

    Attributes
    ----------
    x : ndarray, shape (n, d)
        Centred and divided by one number, as the estimators do.
    y : ndarray, shape (n,)
        Centred targets of unit variance.
    classes : ndarray of int, shape (n,)
        All zero for regression.
    """

    x: np.ndarray
    y: np.ndarray
    classes: np.ndarray

    def part(self, rows: np.ndarray) -> "Rows":
        """Return some of the rows."""
        return Rows(self.x[rows], self.y[rows], self.classes[rows])


def scaled(x: np.ndarray, y: np.ndarray, classes: np.ndarray, fit: np.ndarray) -> Rows:
    """Centre and scale with the rows `fit`: inputs by one number, targets to unit variance.

    Examples
    --------
    >>> rows = scaled(np.array([[0.0], [2.0]]), np.array([-1.0, 1.0]), np.array([0, 1]), np.arange(2))
    >>> rows.x.ravel().tolist(), rows.y.tolist()
    ([-1.0, 1.0], [-1.0, 1.0])
    """
    inside = x[fit] - x[fit].mean(axis=0)
    size = np.sqrt(np.mean(inside**2)) or 1.0
    spread = y[fit].std() or 1.0
    return Rows((x - x[fit].mean(axis=0)) / size, (y - y[fit].mean()) / spread, classes)


@dataclass(frozen=True, eq=False)
class FirstLayer:
    """A first layer after its step, and the moments of its features under the law of the rows it may see.

    Attributes
    ----------
    weights : ndarray, shape (k, d)
    activation : Activation
    moments : FeatureMoments
    """

    weights: np.ndarray
    activation: Activation
    moments: FeatureMoments

    def features(self, x: np.ndarray) -> np.ndarray:
        """Return φ at the rows of x."""
        return self.activation(x @ self.weights.T) / np.sqrt(len(self.weights))


def stepped(
    fit: Rows,
    law: GaussianMixture | None,
    *,
    width: int,
    samples: int,
    step_size: float,
    activation: Activation,
    rng: np.random.Generator,
) -> FirstLayer:
    """Draw a first layer and let it take one step on some of the rows.

    Parameters
    ----------
    fit : Rows
        What may be seen.
    law : GaussianMixture, optional
        The law fitted to them, with which features are integrated; None: averages over the rows.
    width, samples : int
        k, and how many of the rows the step uses.
    step_size : float
    activation : Activation
    rng : Generator
        Draws the layer and the rows.
    """
    d = fit.x.shape[1]
    first = rng.standard_normal((width, d)) / np.sqrt(d)
    second = rng.standard_normal(width) / np.sqrt(width)
    batch = fit.part(rng.choice(len(fit.y), min(samples, len(fit.y)), replace=False))
    moved = stepped_first_layer(first, second, activation, batch.x, batch.y, step_size)
    if law is not None:
        values = [float(fit.y[fit.classes == c][0]) for c in range(law.classes)]
        return FirstLayer(moved, activation, feature_moments(moved, activation, law, Classification(values)))
    phi = activation(fit.x @ moved.T) / np.sqrt(width)
    count = len(fit.y)
    moments = FeatureMoments(
        np.ones(1), [phi.T @ phi / count], (phi.T @ fit.y / count)[None], np.array([np.mean(fit.y**2)])
    )
    return FirstLayer(moved, activation, moments)


def read_out(layer: FirstLayer, samples: int, ridge: float) -> Classwise:
    """Solve for the read-out that `samples` fresh rows would give."""
    return solve_classwise(layer.moments, samples, ridge)


def misclassified(solved: Classwise, layer: FirstLayer, rows: Rows) -> float:
    """Predict the share of rows that the read-out puts on the wrong side of the middle.

    At a row x the score is normal over training sets, with mean φᵀw̄ and variance φᵀC φ, where
    C = (1/m) P (Σ_c ρ_c R_c Ω_c/u_c²) P and R carries the errors that w̄ makes on these very rows.
    """
    phi = layer.features(rows.x)
    score = phi @ solved.readout
    miss = (rows.y - score) ** 2
    risk = np.array([miss[rows.classes == c].mean() for c in range(2)])
    fluctuation = solved.moments.weights * np.maximum(solved.carried(risk), 0) / solved.effective**2
    inside = phi @ solved.resolvent
    spread = sum(
        f * np.einsum("ij,ij->i", inside @ omega, inside)
        for f, omega in zip(fluctuation, solved.moments.second, strict=True)
    )
    low, high = (rows.y[rows.classes == c][0] for c in range(2))
    side = np.where(rows.classes == 1, 1.0, -1.0) * np.sign(high - low)
    margin = side * (score - 0.5 * (low + high))
    return float(ndtr(-margin / np.sqrt(np.maximum(spread / solved.m, 1e-300))).mean())


def squared_error(solved: Classwise, layer: FirstLayer, rows: Rows) -> float:
    """Predict the mean squared error on rows, in units of Var y."""
    risk = np.mean((rows.y - layer.features(rows.x) @ solved.readout) ** 2)
    return float(solved.carried(np.array([risk]))[0])


def gaussian_like(rows: Rows, rng: np.random.Generator) -> Rows:
    """Draw Gaussian rows with the means and covariances that the classes of these rows have.

    Examples
    --------
    >>> rows = Rows(np.array([[1.0], [3.0]]), np.zeros(2), np.zeros(2, int))
    >>> drawn = gaussian_like(rows, np.random.default_rng(0))
    >>> bool(abs(drawn.x.mean() - 2) < 0.1), bool(abs(drawn.x.std() - 1) < 0.1)
    (True, True)
    """
    x, y, classes = [], [], []
    for c in np.unique(rows.classes):
        mine = rows.x[rows.classes == c]
        count = max(2, round(_DRAWS * len(mine) / len(rows.y)))
        centred = (mine - mine.mean(axis=0)) / np.sqrt(len(mine))
        x.append(mine.mean(axis=0) + rng.standard_normal((count, len(mine))) @ centred)
        y.append(np.full(count, rows.y[rows.classes == c][0]))
        classes.append(np.full(count, c))
    return Rows(np.concatenate(x), np.concatenate(y), np.concatenate(classes))


def drawn_from(law: GaussianMixture, fit: Rows, rng: np.random.Generator) -> Rows:
    """Draw rows of a fitted law, with the targets of the rows that it was fitted to."""
    x, classes = law.sample(_DRAWS, rng)
    values = np.array([fit.y[fit.classes == c][0] for c in range(law.classes)])
    return Rows(x, values[classes], classes)
