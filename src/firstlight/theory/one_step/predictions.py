"""Predictions for a sampled first layer: which equivalent is used, and its observables."""

from typing import Literal

import numpy as np

from firstlight.activations import Activation
from firstlight.data.labels import Classification, Labels
from firstlight.data.mixture import GaussianMixture, Spiked
from firstlight.theory.one_step.classwise import classwise_equivalent
from firstlight.theory.one_step.deterministic import Equivalent, pooled_equivalents
from firstlight.theory.one_step.first_layer import mean_features
from firstlight.theory.one_step.moments import feature_moments
from firstlight.theory.one_step.scores import misclassification

Choice = Literal["auto", "one covariance", "class-wise"]
_NODES = 256


def choose_equivalent(mixture: GaussianMixture) -> Choice:
    """Say whether one covariance serves every sample, or each class needs its own.

    Spikes change the features' covariance by a low rank only; a different bulk changes all of it.

    Examples
    --------
    >>> spiked = [Spiked([3.0], np.eye(4)[:, :1]), Spiked([3.0], np.eye(4)[:, 1:2])]
    >>> choose_equivalent(GaussianMixture([0.5, 0.5], None, spiked))
    'one covariance'
    >>> choose_equivalent(GaussianMixture([0.5, 0.5], None, [np.eye(4), 2 * np.eye(4)]))
    'class-wise'
    """
    laws = mixture.covariances
    scales = {round(law.scale, 9) for law in laws if isinstance(law, Spiked)}
    low_rank = all(isinstance(law, Spiked) for law in laws) and len(scales) == 1
    return "one covariance" if low_rank or mixture.classes == 1 else "class-wise"


def deterministic(
    first_layer: np.ndarray,
    update: np.ndarray,
    sigma: Activation,
    mixture: GaussianMixture,
    labels: Labels,
    *,
    sizes: list[int],
    ridges: np.ndarray,
    equivalent: Choice,
    rng: np.random.Generator,
) -> dict[str, np.ndarray]:
    """Predict the read-out's errors for a first layer, every sample size and every ridge.

    Parameters
    ----------
    first_layer : ndarray, shape (k, n)
        F after the step.
    update : ndarray, shape (n,)
        Leading direction of the step.
    sigma, mixture, labels
        σ and the laws of the data.
    sizes : list of int
        m, S values.
    ridges : ndarray, shape (L,)
        λ.
    equivalent : {"one covariance", "class-wise"}
        Which equations.
    rng : Generator
        Scrambles the nodes of the 0/1 error.

    Returns
    -------
    dict of ndarray
        Observables of shape (S, L) or (S, L, C), and ``converged``.
    """
    moments = feature_moments(first_layer, sigma, mixture, labels)
    table: list[list[Equivalent]]
    if equivalent == "one covariance":
        table = pooled_equivalents(moments, sizes, ridges)
    else:
        table = [[classwise_equivalent(moments, m, float(ridge)) for ridge in ridges] for m in sizes]

    def gather(name: str) -> np.ndarray:
        return np.array([[getattr(cell, name) for cell in row] for row in table])

    result = {
        "test_error": gather("test"),
        "train_error": gather("train"),
        "test_error_by_class": gather("by_class"),
        "weight_norm": np.sqrt(gather("weight_square")),
        "converged": gather("converged"),
    }
    if isinstance(labels, Classification):
        features = mean_features(first_layer, update, sigma, mixture, _NODES, rng)
        values = np.array(labels.values)

        def wrong(cell: Equivalent) -> float:
            centres = [part @ cell.readout for part in features]
            return misclassification(mixture.weights, values, cell.by_class, centres)

        result["misclassification"] = np.array([[wrong(cell) for cell in row] for row in table])
    return result
