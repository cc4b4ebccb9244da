"""What a setting predicts, given a sampled first layer."""

import warnings
from contextlib import nullcontext
from functools import partial
from typing import Literal

import numpy as np

from firstlight.data.labels import Classification, Labels
from firstlight.data.mixture import GaussianMixture, Spiked
from firstlight.maths.activations import Activation
from firstlight.maths.workers import Workers
from firstlight.one_step.definitions import Setting, Streams
from firstlight.one_step.theory.classwise import classwise_equivalent
from firstlight.one_step.theory.deterministic import Equivalent, pooled_equivalents
from firstlight.one_step.theory.first_layer import mean_features, sampled_first_layer, stepped_first_layer
from firstlight.one_step.theory.moments import FeatureMoments, feature_moments
from firstlight.one_step.theory.scores import misclassification

Choice = Literal["auto", "one covariance", "class-wise"]
_NODES = 256
_UNEQUAL = 0.05  # by so much may the traces of classes differ: their errors then move by about half as much
_SMALL = 2000  # neurons


def given_a_first_layer(
    setting: Setting, sizes: list[int], stream: Streams, equivalent: Choice
) -> dict[str, np.ndarray]:
    """Draw a first layer, take its step, and predict the read-out by deterministic equivalents."""
    # Up to this size our threads gain more than those of BLAS, which would spin beside them.
    with Workers() if setting.width <= _SMALL else nullcontext():
        first, second, x, y = sampled_first_layer(setting, stream)
        trained = stepped_first_layer(first, second, setting.sigma, x, y, setting.step_size)
        update = (trained - first).T @ second
        del first, x, y
        return deterministic(
            trained, update, setting.sigma, setting.mixture, setting.labels, sizes=sizes,
            ridges=setting.ridges, equivalent=equivalent, rng=stream("test"),
        )  # fmt: skip


def choose_equivalent(mixture: GaussianMixture) -> Choice:
    """Say whether one covariance serves every sample, or each class needs its own.

    Spikes change the features' covariance by a low rank only, which moves the effective ridge of a class by
    its rank over n; a different bulk, or a number of spikes that is a share of n, changes all of it.

    Examples
    --------
    >>> spiked = [Spiked([3.0], np.eye(4)[:, :1]), Spiked([3.0], np.eye(4)[:, 1:2])]
    >>> choose_equivalent(GaussianMixture([0.5, 0.5], None, spiked))
    'one covariance'
    >>> choose_equivalent(GaussianMixture([0.5, 0.5], None, [np.eye(4), 2 * np.eye(4)]))
    'class-wise'
    >>> many = [Spiked([3.0] * 3, np.eye(4)[:, :3]), Spiked([9.0], np.eye(4)[:, 3:])]
    >>> choose_equivalent(GaussianMixture([0.5, 0.5], None, many))
    'class-wise'
    """
    if mixture.classes == 1:
        return "one covariance"
    laws = [law for law in mixture.covariances if isinstance(law, Spiked)]
    scales = {round(law.scale / laws[0].scale, 9) for law in laws}
    if len(laws) < mixture.classes or len(scales) > 1:
        return "class-wise"
    sizes = _effective_sizes(laws, mixture.weights)
    unequal = np.max(np.abs(sizes / (mixture.weights @ sizes) - 1))
    return "one covariance" if unequal <= _UNEQUAL else "class-wise"


def _effective_sizes(laws: list[Spiked], weights: np.ndarray) -> np.ndarray:
    """Return tr Σ_c (Σ + I)⁻¹ for each class, Σ being the average, in units of the bulk they share.

    The effective ridge of class c depends on c through such a trace. A spike adds to it as a share of what
    all classes have in its direction, so that no single one counts for more than 1/ρ_c, however strong.
    """
    n = laws[0].dimension
    basis = np.linalg.qr(np.hstack([law.directions for law in laws]))[0]  # all that differs from the bulk
    rank = basis.shape[1]
    along = [basis.T @ law.directions for law in laws]
    inside = np.array([(a * law.strengths) @ a.T for a, law in zip(along, laws, strict=True)]) + np.eye(rank)
    inverse = np.linalg.inv(np.tensordot(weights, inside, axes=1) + np.eye(rank))
    return np.einsum("cij,ji->c", inside, inverse) + (n - rank) / 2


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
    features, known = None, True
    if isinstance(labels, Classification):
        features, known = mean_features(first_layer, update, sigma, mixture, _NODES, rng)
    table = _equivalents(moments, mixture, sizes, ridges, equivalent, features)

    def gather(name: str) -> np.ndarray:
        return np.array([[getattr(cell, name) for cell in row] for row in table])

    result = {
        "test_error": gather("by_class") @ mixture.weights,
        "train_error": gather("train"),
        "test_error_by_class": gather("by_class"),
        "weight_norm": np.sqrt(np.maximum(gather("weight_square"), 0)),  # below 0 only if not converged
        "converged": gather("converged") & moments.resolved & labels.resolved(mixture),
    }
    if features is not None and isinstance(labels, Classification):
        wrong = partial(_wrong, moments=moments, values=np.array(labels.values), features=features)
        result["misclassification"] = np.array([[wrong(cell) for cell in row] for row in table])
        if not known:
            warnings.warn(
                f"misclassification: not told, as the moments of the activation {sigma.name} are not "
                "resolved over pre-activations this large",
                stacklevel=2,
            )
            result["misclassification"][:] = np.nan
        elif (np.isnan(result["misclassification"]) & result["converged"]).any():
            warnings.warn(
                "misclassification: not told, as features are so large that products of their squares are "
                "beyond floating point",
                stacklevel=2,
            )
    return result


def _wrong(
    cell: Equivalent, moments: FeatureMoments, values: np.ndarray, features: list[np.ndarray]
) -> float:
    """Return the 0/1 error, from the mean features at nodes of each class."""
    if cell.score_variance is None or cell.fluctuations is None or not np.isfinite(cell.test):
        return float("nan")
    assert moments.mean is not None
    centres, mean = [part @ cell.readout for part in features], moments.mean @ cell.readout
    return misclassification(moments.weights, values, mean, cell.score_variance, centres, cell.fluctuations)


def _equivalents(
    moments: FeatureMoments,
    mixture: GaussianMixture,
    sizes: list[int],
    ridges: np.ndarray,
    equivalent: Choice,
    features: list[np.ndarray] | None,
) -> list[list[Equivalent]]:
    """Solve for every size, with the shares of classes among so many samples, and every ridge."""
    found: dict[int, list[Equivalent]] = {}
    groups: dict[bytes, list[int]] = {}
    for m in sizes:
        groups.setdefault((mixture.counts(m) / m).tobytes(), []).append(m)
    for same in groups.values():
        seen = moments.of_samples(mixture, same[0])
        if equivalent == "one covariance":
            rows = pooled_equivalents(seen, same, ridges, features)
        else:
            rows = [[classwise_equivalent(seen, m, float(r), features) for r in ridges] for m in same]
        found |= dict(zip(same, rows, strict=True))
    return [found[m] for m in sizes]
