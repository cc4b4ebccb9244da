"""The experiment of the room `one_step`: one gradient step, a ridge read-out, and the errors left."""

from collections.abc import Callable
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import AbstractContextManager
from typing import Literal

import numpy as np
from scipy.sparse.linalg import svds
from threadpoolctl import ThreadpoolController

from firstlight.activations import activation
from firstlight.data.labels import Classification, Regression
from firstlight.data.mixture import GaussianMixture, Spiked
from firstlight.features import cross_moments, second_moments
from firstlight.measure.error import ErrorTally, population_error
from firstlight.network.setting import Setting
from firstlight.network.surrogates import ConditionalGaussianFeatures, HermiteFeatures, NetworkFeatures
from firstlight.network.two_layer import TwoLayer, ridge_readout

Model = Literal["network", "hermite", "conditional_gaussian"]
Risk = Literal["sample", "population"]
Sample = tuple[np.ndarray, np.ndarray, np.ndarray]
FeatureMap = Callable[[np.ndarray, np.ndarray, np.random.Generator], np.ndarray]
BLOCK = 500  # test samples that a thread holds at once


class Streams:
    """Random streams by purpose, so that every model of a trial sees the same data and weights.

    Parameters
    ----------
    rng : Generator
        Advanced once; decides all streams.

    Examples
    --------
    >>> one, other = (Streams(np.random.default_rng(0)) for _ in range(2))
    >>> bool(one("test", 3).normal() == other("test", 3).normal())
    True
    """

    _PURPOSES = ("weights", "gradient", "training", "test", "noise")

    def __init__(self, rng: np.random.Generator) -> None:
        self._seed = [int(word) for word in rng.integers(0, 2**32, size=4)]

    def __call__(self, purpose: str, block: int = 0) -> np.random.Generator:
        """Return the stream of a purpose and a block of samples."""
        # SFC64 draws normals faster than the default generator, and they are a quarter of a trial
        return np.random.Generator(np.random.SFC64([*self._seed, self._PURPOSES.index(purpose), block]))


def draw(setting: Setting, count: int, rng: np.random.Generator) -> Sample:
    """Draw inputs, classes and labels."""
    x, classes = setting.inputs.sample(count, rng)
    return x, classes, setting.labels(x, classes, rng)


def first_stage(setting: Setting, stream: Streams, pool: Executor) -> tuple[TwoLayer, np.ndarray, np.ndarray]:
    """Draw what the gradient step needs: the network at its start, and a batch of inputs with labels."""
    batch = pool.submit(draw, setting, setting.gradient_samples, stream("gradient"))
    mixture = setting.mixture
    network = TwoLayer.draw(setting.k, mixture.dimension, 1 / mixture.trace, setting.sigma, stream("weights"))
    x, _, y = batch.result()
    return network, x, y


def run_trial(
    setting: Setting,
    rng: np.random.Generator,
    *,
    model: Model = "network",
    degree: int = 1,
    risk: Risk = "sample",
    test_samples: int | None = None,
) -> dict[str, np.ndarray]:
    """Run one experiment and return its observables, with a leading axis for the ridges.

    Parameters
    ----------
    setting : Setting
        What is studied.
    rng : Generator
        Source of randomness; the same state gives every model the same data and weights.
    model : {"network", "hermite", "conditional_gaussian"}
        Which features the read-out is fitted on. The gradient step is the network's own in every case.
    degree : int
        Highest degree of the Hermite model.
    risk : {"sample", "population"}
        Errors on a fresh sample, or exactly by second moments (the network's only; no 0/1 error).
    test_samples : int, optional
        Size of the fresh sample; default 5 m.

    Returns
    -------
    dict of ndarray
        Each of shape (L,), and ``test_error_by_class`` of shape (L, C).
    """
    stream, threads = Streams(rng), _Threads()
    with ThreadPoolExecutor(threads.count) as pool:
        training = pool.submit(draw, setting, setting.m, stream("training"))
        start, x, y = first_stage(setting, stream, pool)
        trained = start.step(x, y, setting.step_size)
        feature_map = _feature_map(setting, model, degree, start.first_layer, trained)
        del start, x, y
        x, classes, y = training.result()
        del training
        phi = feature_map(x, classes, stream("noise"))
        del x
        readout = ridge_readout(phi, y, setting.ridges)
        result = {
            "train_error": np.mean((y[:, None] - phi @ readout.T) ** 2, axis=0),
            "weight_norm": np.linalg.norm(readout, axis=1),
        }
        del phi
        if risk == "population":
            return result | _population(setting, trained.first_layer, readout)
        count = 5 * setting.m if test_samples is None else test_samples
        with threads.one_each():
            return result | _fresh(setting, feature_map, readout, count, stream, pool)


class _Threads:
    """The threads that BLAS may use, to be lent to blocks of samples instead.

    Drawing normals takes a quarter as long as multiplying them, and BLAS cannot help with it; blocks that are
    drawn and multiplied side by side, on one thread each, keep every core busy.
    """

    def __init__(self) -> None:
        self._libraries = ThreadpoolController().select(user_api="blas")
        self.count = max((library["num_threads"] for library in self._libraries.info()), default=1)

    def one_each(self) -> AbstractContextManager:
        """Hold BLAS at one thread."""
        return self._libraries.limit(limits=1)


def _fresh(
    setting: Setting,
    feature_map: FeatureMap,
    readout: np.ndarray,
    count: int,
    stream: Streams,
    pool: Executor,
) -> dict[str, np.ndarray]:
    """Errors on fresh samples, drawn and forgotten block by block; each block has its own stream."""
    labels = setting.labels
    values = np.asarray(labels.values) if isinstance(labels, Classification) else None

    def block(index: int) -> ErrorTally:
        size = min(BLOCK, count - index * BLOCK)
        x, classes, y = draw(setting, size, stream("test", index))
        tally = ErrorTally(setting.mixture.classes, len(readout), values)
        tally.add(y, feature_map(x, classes, stream("noise", index + 1)) @ readout.T, classes)
        return tally

    tally = ErrorTally(setting.mixture.classes, len(readout), values)
    for part in pool.map(block, range(-(-count // BLOCK))):
        tally.merge(part)
    result = {"test_error": tally.mean_square, "test_error_by_class": tally.by_class}
    if values is not None:
        result["misclassification"] = tally.misclassification
    return result


def _population(setting: Setting, first_layer: np.ndarray, readout: np.ndarray) -> dict[str, np.ndarray]:
    """Exact errors of the network over the mixture, by the second moments of its features."""
    mixture, labels, sigma = setting.mixture, setting.labels, setting.sigma
    means = mixture.project(first_layer)
    label_mean, label_square = labels.moments(mixture)
    by_class = np.empty((len(readout), mixture.classes))
    for c, law in enumerate(mixture.covariances):
        covariance = law.quadratic(first_layer)
        if isinstance(labels, Regression):
            index_mean, index_std = labels.index(mixture)
            along = law.quadratic(first_layer, labels.direction[None, :])[:, 0]
            cross = cross_moments(
                sigma, means[c], np.diag(covariance).copy(), activation(labels.link),
                index_mean[c], index_std[c] ** 2, along,
            )  # fmt: skip
        else:
            cross = label_mean[c] * sigma.moments(means[c], np.sqrt(np.diag(covariance)), 0)[:, 0]
        by_class[:, c] = population_error(
            readout / np.sqrt(setting.k), second_moments(sigma, means[c], covariance), cross, label_square[c]
        )
    return {"test_error": by_class @ mixture.weights, "test_error_by_class": by_class}


def _feature_map(
    setting: Setting, model: Model, degree: int, before: np.ndarray, trained: TwoLayer
) -> FeatureMap:
    sigma, first_layer = trained.activation, trained.first_layer
    if model == "network":
        return NetworkFeatures(first_layer, sigma)
    if model == "hermite":
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
    >>> round(bulk_scale(mixture), 6)  # sqrt(4 / 7)
    0.755929
    """
    bulk = [
        law.scale * law.dimension if isinstance(law, Spiked) else law.trace for law in mixture.covariances
    ]
    return float(np.sqrt(mixture.weights @ bulk / mixture.trace))


def strong_directions(mixture: GaussianMixture, update: np.ndarray) -> np.ndarray:
    """Return an orthonormal basis of the spikes, the means and the leading direction of the update (n, r)."""
    columns = [law.directions for law in mixture.covariances if isinstance(law, Spiked)]
    if mixture.means is not None:
        columns.append(mixture.means.T)
    if update.any() and min(update.shape) > 1:
        columns.append(svds(update, k=1, v0=np.ones(min(update.shape)), return_singular_vectors="vh")[2].T)
    left, size, _ = np.linalg.svd(np.hstack(columns), full_matrices=False)
    return left[:, size > 1e-8 * size[:1].max(initial=1.0)]
