"""What a user learns about classes that a network will not be trained on, with intervals and ranks."""

from itertools import combinations

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike
from scipy.stats import rankdata

from firstlight.data.unseen import UnseenData
from firstlight.maths.intervals import across_bounds, mean_bounds, pair_bounds, share_bounds
from firstlight.unseen_classes.definitions.step import Step
from firstlight.unseen_classes.theory.bulk import step_bulk
from firstlight.unseen_classes.theory.kernel import predicted_movement, spiked_kernel
from firstlight.unseen_classes.theory.retrieval import recall_from_gram
from firstlight.unseen_classes.theory.similarity import train_unseen_similarity

RANKED = ("similarity", "alignment", "elasticity", "recall")


def analyse(data: UnseenData, step: Step, *, level: float = 0.95) -> xr.Dataset:
    """Predict, class by class and pair by pair, what one step would do to classes that it never sees.

    Parameters
    ----------
    data : UnseenData
        Scaled such that |x|² is about d (see `prepared`).
    step : Step
    level : float, default 0.95
        Nominal coverage of the intervals, which tell what other samples of the same classes could have
        given: studentised bootstrap for means, Wilson's for shares.

    Returns
    -------
    Dataset
        By ``class``: ``samples``, ``similarity``, ``cosine``, ``snr``, ``side``; ``alignment``,
        ``elasticity`` and ``recall`` after the step (``…_before``, ``…_interval`` along ``bound``,
        ``…_rank``, 1 is the largest; the similarity is ranked by size). By ``pair``: ``same_side``,
        ``product`` t t', ``distance`` |t - t'| over the pooled spread; ``pair_alignment`` (mean cosine
        across) and ``pair_recall`` among the two classes alone, with intervals and ranks, and
        ``pair_recall_before``. And ``tau``,
        ``mean_recall``, ``mean_recall_before``, ``excluded``.

    Examples
    --------
    >>> from firstlight.data.unseen import image_classes, prepared
    >>> data = prepared(image_classes(np.random.default_rng(0), "digits", [3, 8], 20))
    >>> found = analyse(data, Step())
    >>> found.sizes["class"], found.sizes["pair"]
    (8, 28)
    """
    if not 0 < level < 1:
        raise ValueError(f"level = {level}: must lie in (0, 1)")
    beta, tau, bulk, sigma = step.covariance(data), step.strength(data), step_bulk(step, data), step.sigma
    labels = data.unseen_labels
    found = train_unseen_similarity(beta, data.unseen, labels, bulk)
    pairs = list(combinations(range(found.sizes["class"]), 2))
    found = found.drop_dims("other").assign_coords(bound=["low", "high"])
    classes, index, counts = np.unique(labels, return_inverse=True, return_counts=True)
    found["samples"] = ("class", counts)
    found["tau"] = tau
    members = [np.flatnonzero(index == c) for c in range(len(classes))]
    found["pair"] = [f"{classes[a]} - {classes[b]}" for a, b in pairs]
    for name, strength, part in (("_before", 0.0, None), ("", tau, bulk)):
        gram = spiked_kernel(data.unseen, None, beta, strength, sigma, part, head=step.head)
        recall = recall_from_gram(gram, labels, step.k, step.metric)
        near = np.array([_pair_recall(gram, labels, classes[[a, b]], step) for a, b in pairs])
        found[f"pair_recall{name}"] = ("pair", near)
        found[f"mean_recall{name}"] = recall.recall
        by_class = recall.recall_by_class.values
        _put(found, f"recall{name}", by_class, share_bounds(by_class, counts, level))
        size = np.sqrt(np.diag(gram))
        gram /= np.outer(size, size) + (size == 0)
        cosines = _class_means(gram, index, counts)
        bounds = [np.clip(pair_bounds(gram[np.ix_(m, m)], level), -1, 1) for m in members]
        _put(found, f"alignment{name}", np.diag(cosines), bounds)
    moved = predicted_movement(data.unseen, beta, tau, sigma, bulk, head=step.head)
    bounds = [np.maximum(mean_bounds(moved[m], level), 0) for m in members]
    _put(found, "elasticity", [moved[m].mean() for m in members], bounds)
    found["similarity_interval"] = (
        ("class", "bound"),
        _similarity_bounds(data.unseen @ beta, members, level),
    )
    across = [across_bounds(gram[np.ix_(members[a], members[b])], level) for a, b in pairs]
    asked = np.where(counts > 1, counts, 0)  # the only member of a class has nobody to find
    together = np.array([max(asked[a] + asked[b], 1) for a, b in pairs])
    found["pair_alignment"] = ("pair", [cosines[a, b] for a, b in pairs])
    found["pair_alignment_interval"] = (("pair", "bound"), np.clip(across, -1, 1))
    found["pair_recall_interval"] = (("pair", "bound"), share_bounds(near, together, level))
    _pair_geometry(found, pairs)
    for name in RANKED:
        values = found[name].values
        found[f"{name}_rank"] = ("class", _rank(np.abs(values) if name == "similarity" else values))
    for name in ("pair_alignment", "pair_recall"):
        found[f"{name}_rank"] = ("pair", _rank(found[name].values))
    found["excluded"] = recall.excluded
    return found.drop_vars(["norm", "bulk"]).assign_attrs(level=level)


def _put(found: xr.Dataset, name: str, values: list[float] | np.ndarray, bounds: ArrayLike) -> None:
    found[name] = ("class", np.asarray(values, float))
    found[f"{name}_interval"] = (("class", "bound"), np.asarray(bounds, float))


def _similarity_bounds(along: np.ndarray, members: list[np.ndarray], level: float) -> np.ndarray:
    """Bounds of t; for several outputs those of the mean along its own direction Bᵀμ."""
    rows = along[:, None] if along.ndim == 1 else along
    bounds = []
    for m in members:
        mean = rows[m].mean(axis=0)
        size = float(np.linalg.norm(mean))
        direction = np.ones(1) if along.ndim == 1 else mean / size if size > 0 else mean
        bounds.append(mean_bounds(rows[m] @ direction, level))
    return np.array(bounds)


def _class_means(cosine: np.ndarray, index: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Mean cosine of two different samples, for every pair of classes; NaN within a class of one."""
    member = np.eye(len(counts))[index]
    sums = member.T @ cosine @ member
    pairs = np.outer(counts, counts).astype(float)
    sums[np.diag_indices(len(counts))] -= np.bincount(index, np.diag(cosine))
    pairs[np.diag_indices(len(counts))] -= counts
    return np.divide(sums, pairs, out=np.full(pairs.shape, np.nan), where=pairs > 0)


def _pair_recall(gram: np.ndarray, labels: np.ndarray, two: np.ndarray, step: Step) -> float:
    chosen = np.flatnonzero(np.isin(labels, two))
    if len(chosen) == 2:  # two lone members
        return float("nan")
    return float(recall_from_gram(gram[np.ix_(chosen, chosen)], labels[chosen], step.k, step.metric).recall)


def _pair_geometry(found: xr.Dataset, pairs: list[tuple[int, int]]) -> None:
    t, s, side = (found[name].values for name in ("similarity", "spread", "side"))
    pooled = np.array([np.sqrt((s[a] ** 2 + s[b] ** 2) / 2) for a, b in pairs])
    apart = np.array([abs(t[a] - t[b]) for a, b in pairs])
    found["product"] = ("pair", np.array([t[a] * t[b] for a, b in pairs]))
    found["same_side"] = ("pair", np.array([side[a] == side[b] for a, b in pairs]))
    found["distance"] = ("pair", np.divide(apart, pooled, out=np.full(len(pairs), np.inf), where=pooled > 0))


def _rank(values: np.ndarray) -> np.ndarray:
    """1 for the largest; NaN stays NaN."""
    known = ~np.isnan(values)
    ranks = np.full(len(values), np.nan)
    ranks[known] = rankdata(-values[known], method="min")
    return ranks
