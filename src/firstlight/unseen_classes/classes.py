"""Theory and experiment on the same samples, with the same observables: what stands behind every problem."""

from typing import Any

import numpy as np
import xarray as xr

from firstlight.data.class_pairs import gram_alignment
from firstlight.data.unseen import UnseenData
from firstlight.maths.checks import check_count
from firstlight.maths.refusals import check_instance
from firstlight.maths.rng import RNGLike, SeedLike, generator
from firstlight.measure.elasticity import elasticity
from firstlight.measure.retrieval import recall_at_k
from firstlight.measure.similarity import alignment
from firstlight.measure.step import step_similarity
from firstlight.unseen_classes.definitions.covariance import initial_residual, mean_slope
from firstlight.unseen_classes.definitions.observables import named, with_relations
from firstlight.unseen_classes.definitions.step import Step, step_size_from_tau
from firstlight.unseen_classes.experiment.step import draw_network
from firstlight.unseen_classes.theory.bulk import step_bulk
from firstlight.unseen_classes.theory.kernel import predicted_movement, spiked_kernel
from firstlight.unseen_classes.theory.retrieval import recall_from_gram
from firstlight.unseen_classes.theory.similarity import train_unseen_similarity

_HUGE = 1e150  # features of this size have squares that are no numbers


def predict_classes(data: UnseenData, step: Step) -> xr.Dataset:
    """Predict what one step does to the features of unseen classes, without any network.

    Parameters
    ----------
    data : UnseenData
        Scaled such that |x|² is about d (see `standardised`).
    step : Step

    Returns
    -------
    Dataset, dims ("class", "other")
        ``similarity`` t, ``snr``; ``alignment_before`` and ``alignment`` (mean cosine of two samples of a
        class), ``cohesion_before`` and ``cohesion`` (mean inner product, per neuron), ``separability``
        (minus that across classes; NaN for a class with itself), ``elasticity`` (per neuron),
        ``recall_before`` and ``recall`` by class, ``mean_recall_before`` and ``mean_recall``, ``raw_recall``
        of the inputs themselves; with three classes or more the Spearman correlations named in `RELATIONS`.

    Examples
    --------
    >>> from firstlight.data.unseen import image_classes, standardised
    >>> data = standardised(image_classes(np.random.default_rng(0), "digits", [3, 8], 30))
    >>> results = predict_classes(data, Step(strength=4.0))
    >>> results.sizes["class"], bool(results.similarity_alignment_change > 0.5)
    (8, True)
    """
    check_instance("data", data, UnseenData)
    check_instance("step", step, Step)
    beta, tau, sigma, bulk = step.covariance(data), step.tau_of(data), step.sigma, step_bulk(step, data)
    labels = data.unseen_labels
    results = train_unseen_similarity(beta, data.unseen, labels, bulk)[["similarity", "snr"]]
    found: dict[str, Any] = {}
    for name, strength, part in (("_before", 0.0, None), ("", tau, bulk)):
        gram = spiked_kernel(data.unseen, None, beta, strength, sigma, part, head=step.head)
        inner = gram_alignment(gram, labels).values
        size = np.sqrt(np.diag(gram))
        size = np.where(size > 0, size, 1.0)
        recall = recall_from_gram(gram, labels, step.neighbours, step.metric)
        gram /= size[:, None]
        gram /= size
        cosine = gram_alignment(gram, labels).values
        found |= named(name, inner, cosine, recall.recall_by_class, float(recall.recall))
    moved = predicted_movement(data.unseen, beta, tau, sigma, bulk, head=step.head)
    _, index, counts = np.unique(labels, return_inverse=True, return_counts=True)
    found["elasticity"] = ("class", np.bincount(index, moved) / counts)
    raw = recall_from_gram(data.unseen @ data.unseen.T, labels, step.neighbours, step.metric)
    return _together(results, found | {"raw_recall": float(raw.recall)})


def simulate_classes(
    data: UnseenData, step: Step, rng: RNGLike | SeedLike = None, steps: int = 1
) -> xr.Dataset:
    """Train a network and measure its features on unseen classes.

    Parameters
    ----------
    data : UnseenData
    step : Step
    rng : SPEC 7 rng, optional
        Draws the network.
    steps : int, default 1
        Several steps share the step size of one: each is that much smaller.

    Returns
    -------
    Dataset
        The observables of `predict_classes`, measured; ``similarity`` and ``snr`` on the network's own first
        gradient.

    Examples
    --------
    >>> from firstlight.data.unseen import image_classes, standardised
    >>> data = standardised(image_classes(np.random.default_rng(0), "digits", [3, 8], 30))
    >>> results = simulate_classes(data, Step(strength=4.0, width=256), np.random.default_rng(1))
    >>> results.sizes["class"], bool(results.similarity_alignment_change > 0.5)
    (8, True)
    """
    check_count("steps", steps, 1)
    check_instance("data", data, UnseenData)
    check_instance("step", step, Step)
    rng, sigma, labels = generator(rng), step.sigma, data.unseen_labels
    targets = _targets(data.train_labels, step.loss)
    outputs = 1 if targets.ndim == 1 else targets.shape[1]
    network = draw_network(
        data.train.shape[1], step.width, sigma, rng, outputs=outputs, head=step.head,
        head_scale=step.output_scale, start=step.start, loss=step.loss,
    )  # fmt: skip
    rate = step_size_from_tau(step.tau_of(data), sigma, step.width, step.output_scale)
    trained = network
    with np.errstate(over="ignore", invalid="ignore"):  # refused below
        for _ in range(steps):
            trained = trained.step(data.train, targets, rate / steps)
            if not np.isfinite(trained.first_layer).all():
                raise _diverged(step)
        before, after = network.hidden(data.unseen), trained.hidden(data.unseen)
    if not np.abs(after).max() < _HUGE:
        raise _diverged(step)
    moved = data.unseen @ network.descent_direction(data.train, targets).T
    results = step_similarity(moved, network.second_layer, step.output_scale * mean_slope(sigma), labels)
    found: dict[str, Any] = {}
    for name, features in (("_before", before), ("", after)):
        if not features.any():
            when = "before" if name else "after"
            raise ValueError(f"width = {step.width}: no neuron answers any unseen sample {when} the step")
        inner = alignment(features, labels).values / step.width
        cosine = alignment(features, labels, "cosine").values
        recall = recall_at_k(features, labels, step.neighbours, step.metric)
        found |= named(name, inner, cosine, recall.by_class, recall.overall)
    found["elasticity"] = ("class", elasticity(before, after, labels).values / step.width)
    raw = recall_at_k(data.unseen, labels, step.neighbours, step.metric).overall
    return _together(results, found | {"raw_recall": raw})


def _diverged(step: Step) -> ValueError:
    given = f"strength = {step.strength}" if step.tau is None else f"tau = {step.tau}"
    return ValueError(f"{given}: training diverges; take a smaller one, or fewer steps")


def _together(results: xr.Dataset, found: dict[str, Any]) -> xr.Dataset:
    return with_relations(results.assign(found).assign_coords(other=results["class"].values))


def _targets(labels: np.ndarray, loss: str) -> np.ndarray:
    """Targets of the training samples: ±1, one-hot for softmax, centred one-hot for several classes."""
    if loss == "softmax":
        classes, index = np.unique(labels, return_inverse=True)
        return np.eye(len(classes))[index]
    return initial_residual(labels, "square")
