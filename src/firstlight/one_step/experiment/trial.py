"""The experiment of `one_step`: one gradient step, a ridge read-out, and the errors left."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np
from scipy.sparse.linalg import svds

from firstlight.data.labels import Classification, Regression
from firstlight.data.mixture import GaussianMixture, Spiked
from firstlight.maths.feature_moments import cross_moments, second_moments
from firstlight.maths.shown import Shown
from firstlight.maths.workers import Workers, blocks
from firstlight.measure.error import ErrorTally, population_error
from firstlight.network.two_layer import TwoLayer, features, ridge_readout
from firstlight.one_step.definitions import Draws, Setting, Streams
from firstlight.one_step.experiment.surrogates import (
    ConditionalGaussianFeatures,
    HermiteFeatures,
    NetworkFeatures,
)

Model = Literal["network", "hermite", "conditional_gaussian"]
Risk = Literal["sample", "population"]
FeatureMap = Callable[[np.ndarray, np.ndarray, np.random.Generator, np.ndarray], np.ndarray]


_LARGE = 4_000_000  # entries of a feature matrix from which its Gram matrix is worth the threads of BLAS


@dataclass(frozen=True, eq=False)
class TrainedNetwork(Shown):
    """A network after the step and the fit of its read-out.

    Attributes
    ----------
    start : TwoLayer
        Both layers before the step.
    first_layer : ndarray, shape (k, n)
        F after it.
    readout : ndarray, shape (L, k)
        w for every ridge.
    training_features, training_labels : ndarray, shapes (m, k) and (m,)
        What the read-out was fitted on.
    """

    start: TwoLayer
    first_layer: np.ndarray
    readout: np.ndarray
    training_features: np.ndarray
    training_labels: np.ndarray

    def features(self, x: np.ndarray) -> np.ndarray:
        """Return φ(x) = σ(F x)/√k for rows x: shape (count, k)."""
        return features(np.asarray(x, dtype=float), self.first_layer, self.start.activation)

    def __call__(self, x: np.ndarray) -> np.ndarray:
        """Return the output at rows x for every ridge: shape (count, L)."""
        return self.features(x) @ self.readout.T


def train(setting: Setting, stream: Streams) -> TrainedNetwork:
    """Train the network whose errors `run_trial` tells from the same streams."""
    with Workers() as workers:
        start, x, y = first_stage(setting, stream, workers)
        first_layer = start.step(x, y, setting.step_size, workers.map).first_layer
        phi, y = _training_features(setting, NetworkFeatures(first_layer, setting.sigma), stream, workers)
    return TrainedNetwork(start, first_layer, ridge_readout(phi, y, setting.ridges), phi, y)


def first_stage(
    setting: Setting, stream: Streams, workers: Workers
) -> tuple[TwoLayer, np.ndarray, np.ndarray]:
    """Draw what the gradient step needs: the network at its start, and a batch of inputs with labels."""
    n, k, count = setting.mixture.dimension, setting.width, setting.step_samples
    first, x, y = np.empty((k, n)), np.empty((count, n)), np.empty(count)
    batch = Draws(setting, setting.mixture.counts(count), partial(stream, "gradient"))

    def neurons(rows: slice) -> None:
        stream("first layer", rows.start).standard_normal(out=first[rows])
        first[rows] *= 1 / np.sqrt(setting.mixture.trace)

    def samples(block: int) -> None:
        rows = batch.rows[block]
        _, _, y[rows] = batch(block, x[rows])

    workers.map(lambda job: job(), [
        *(partial(neurons, rows) for rows in blocks(k)), *(partial(samples, b) for b in range(len(batch)))
    ])  # fmt: skip
    second = stream("second layer").standard_normal(k)
    if setting.second_layer != "gaussian":
        second = np.sign(second) if setting.second_layer == "signs" else np.ones(k)
    return TwoLayer(first, second / np.sqrt(k), setting.sigma), x, y


def run_trial(
    setting: Setting,
    stream: Streams,
    *,
    method: Model = "network",
    degree: int = 1,
    risk: Risk = "sample",
    test_samples: int | None = None,
) -> dict[str, np.ndarray]:
    """Run one experiment and return its observables, with a leading axis for the ridges.

    Parameters
    ----------
    stream : Streams
        Source of randomness; the same gives every model the same data and weights.
    method : {"network", "hermite", "conditional_gaussian"}
        Which features the read-out is fitted on. The gradient step is the network's own in every case.
    degree : int
        Highest degree of the Hermite model.
    risk : {"sample", "population"}
        Errors on a fresh sample, or exactly by second moments (the network's only; no 0/1 error).
    test_samples : int, optional
        Size of the fresh sample; default 5 m. At least one of each class is drawn.

    Returns
    -------
    dict of ndarray
        Each of shape (L,), and ``test_error_by_class`` of shape (L, C).
    """
    with Workers() as workers:
        start, x, y = first_stage(setting, stream, workers)
        trained = start.step(x, y, setting.step_size, workers.map)
        del x, y
        feature_map = _feature_map(setting, method, degree, start.first_layer, trained)
        del start
        phi, y = _training_features(setting, feature_map, stream, workers)
        solve = partial(ridge_readout, phi, y, setting.ridges)
        readout = workers.together(solve) if phi.size > _LARGE else solve()
        with np.errstate(over="ignore", invalid="ignore"):  # refused below
            result = {
                "train_error": np.mean((y[:, None] - phi @ readout.T) ** 2, axis=0),
                "weight_norm": np.linalg.norm(readout, axis=1),
            }
            del phi
            if risk == "sample":
                count = 5 * setting.samples if test_samples is None else test_samples
                result |= _fresh(setting, feature_map, readout, count, stream, workers)
            else:
                result |= _population(setting, trained.first_layer, readout)
    for name, values in result.items():
        if np.ndim(values) == 1 and not np.isfinite(values).all():
            worst = setting.ridges[np.argmin(np.isfinite(values))]
            raise ValueError(
                f"ridge = {worst:g}: {name} is beyond floating point; take a larger one, or other features"
            )
    return result


def _training_features(
    setting: Setting, feature_map: FeatureMap, stream: Streams, workers: Workers
) -> tuple[np.ndarray, np.ndarray]:
    """Features and labels of the read-out's samples; the inputs themselves are forgotten block by block."""
    training = Draws(setting, setting.mixture.counts(setting.samples), partial(stream, "training"))
    phi, y = np.empty((setting.samples, setting.width)), np.empty(setting.samples)

    def fill(block: int) -> None:
        rows, room = training.rows[block], training.scratch(workers, block)
        x, classes, y[rows] = training(block, room)
        feature_map(x, classes, stream("training noise", block), phi[rows])

    workers.map(fill, range(len(training)))
    if not np.isfinite([phi.min(), phi.max()]).all():
        raise ValueError(
            f"activation: {setting.sigma.name} is not finite at pre-activations of the training samples; "
            f"take another, or a smaller step_size than {setting.step_size:g}"
        )
    return phi, y


def _fresh(
    setting: Setting,
    feature_map: FeatureMap,
    readout: np.ndarray,
    count: int,
    stream: Streams,
    workers: Workers,
) -> dict[str, np.ndarray]:
    """Errors on fresh samples, at least one of each class, drawn and forgotten block by block."""
    labels, weights = setting.labels, setting.mixture.weights
    values = np.asarray(labels.values) if isinstance(labels, Classification) else None
    test = Draws(setting, np.maximum(setting.mixture.counts(count), 1), partial(stream, "test"))

    def judge(block: int) -> ErrorTally:
        x, classes, y = test(block, test.scratch(workers, block))
        room = workers.scratch("features", len(x), setting.width)
        tally = ErrorTally(weights, len(readout), values)
        tally.add(y, feature_map(x, classes, stream("test noise", block), room) @ readout.T, classes)
        return tally

    tally = ErrorTally(weights, len(readout), values)
    for part in workers.map(judge, range(len(test))):
        tally.merge(part)
    result = {"test_error": tally.mean_square, "test_error_by_class": tally.by_class}
    if values is not None:
        result["misclassification"] = tally.misclassification
    return result


def _population(setting: Setting, first_layer: np.ndarray, readout: np.ndarray) -> dict[str, np.ndarray]:
    """Exact errors of the network over the mixture, by the second moments of its features."""
    mixture, labels, sigma = setting.mixture, setting.labels, setting.sigma
    means = mixture.project(first_layer)
    if not labels.resolved(mixture):
        raise ValueError(
            "risk = 'population': the moments of the labels' link are not resolved; take risk = 'sample'"
        )
    label_mean, label_square = labels.moments(mixture)
    by_class = np.empty((len(readout), mixture.classes))
    gram = first_layer @ first_layer.T  # shared by all classes
    for c, law in enumerate(mixture.covariances):
        covariance = law.quadratic(first_layer, gram=gram)
        std = np.sqrt(np.diag(covariance))
        if not sigma.resolved(means[c], std, closed=not isinstance(labels, Regression)):
            raise ValueError(
                f"risk = 'population': the moments of the activation {sigma.name} are not resolved over "
                f"pre-activations up to {std.max():.3g}; take risk = 'sample'"
            )
        if isinstance(labels, Regression):
            index_mean, index_std = labels.index(mixture)
            along = law.quadratic(first_layer, labels.direction[None, :])[:, 0]
            cross = cross_moments(
                sigma, means[c], np.diag(covariance).copy(), labels.link_of(c),
                index_mean[c], index_std[c] ** 2, along,
            )  # fmt: skip
        else:
            cross = label_mean[c] * sigma.moments(means[c], std, 0)[:, 0]
        by_class[:, c] = population_error(
            readout / np.sqrt(setting.width),
            second_moments(sigma, means[c], covariance),
            cross,
            label_square[c],
        )
    return {"test_error": by_class @ mixture.weights, "test_error_by_class": by_class}


def _feature_map(
    setting: Setting, method: Model, degree: int, before: np.ndarray, trained: TwoLayer
) -> FeatureMap:
    sigma, first_layer = trained.activation, trained.first_layer
    if method == "network":
        return NetworkFeatures(first_layer, sigma)
    if method == "hermite":
        return HermiteFeatures(first_layer, sigma, bulk_scale(setting.mixture), degree)
    laws = [law for law in setting.mixture.covariances if isinstance(law, Spiked)]
    scales = np.array([law.scale for law in laws])
    basis = strong_directions(setting.mixture, first_layer - before)
    means = setting.mixture.means
    largest = 0.0 if means is None else float(np.linalg.norm(means, axis=1).max())
    spread = largest + 8 * np.sqrt(max(law.norm for law in laws))
    return ConditionalGaussianFeatures(first_layer, sigma, basis, scales, spread)


def bulk_scale(mixture: GaussianMixture) -> float:
    """Return b, the standard deviation of an untrained pre-activation without its spikes.

    Examples
    --------
    >>> mixture = GaussianMixture([1.0], None, [Spiked([3.0], np.eye(4)[:, :1])])
    >>> bulk_scale(mixture)  # sqrt(4 / 7)
    0.755929
    """
    bulk = [
        law.scale * law.dimension if isinstance(law, Spiked) else law.trace for law in mixture.covariances
    ]
    return float(np.sqrt(mixture.weights @ bulk / mixture.trace))


def strong_directions(mixture: GaussianMixture, update: np.ndarray) -> np.ndarray:
    """Return an orthonormal basis of the spikes, the means and the leading direction of the update (n, r).

    Means of less than 1e-8 standard deviations are none; others count by direction, in whatever units.
    """
    laws = [law for law in mixture.covariances if isinstance(law, Spiked)]
    columns = [law.directions for law in laws]
    if mixture.means is not None:
        longest = np.abs(mixture.means).max(axis=1, keepdims=True)  # squares may overflow
        counts = longest[:, 0] > 1e-8 * np.sqrt(min(law.scale for law in laws))
        means = mixture.means[counts] / longest[counts]
        columns.append((means / np.linalg.norm(means, axis=1, keepdims=True)).T)
    if update.any() and min(update.shape) > 1:
        columns.append(svds(update, k=1, v0=np.ones(min(update.shape)), return_singular_vectors="vh")[2].T)
    left, size, _ = np.linalg.svd(np.hstack(columns), full_matrices=False)
    return left[:, size > 1e-8 * size[:1].max(initial=1.0)]
