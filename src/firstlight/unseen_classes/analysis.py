"""What a user learns about classes that a network will not be trained on, with intervals and ranks."""

from itertools import combinations

import numpy as np
import xarray as xr
from scipy.stats import norm, rankdata

from firstlight.data.unseen import UnseenData
from firstlight.theory.unseen_classes.kernel import predicted_movement, spiked_kernel
from firstlight.theory.unseen_classes.retrieval import recall_from_gram
from firstlight.theory.unseen_classes.similarity import train_unseen_similarity
from firstlight.unseen_classes.step import Step

RANKED = ("similarity", "alignment", "elasticity", "recall")


def analyse(data: UnseenData, step: Step, *, level: float = 0.95) -> xr.Dataset:
    """Predict, class by class and pair by pair, what one step would do to classes that it never sees.

    Parameters
    ----------
    data : UnseenData
        Scaled such that |x|² is about d (see `prepared`).
    step : Step
    level : float, default 0.95
        Coverage of the intervals, which tell what other samples of the same classes could have given.

    Returns
    -------
    Dataset
        By ``class``: ``samples``, ``similarity``, ``cosine``, ``snr``, ``side``; ``alignment``,
        ``elasticity`` and ``recall`` after the step (``…_before``, ``…_interval`` along ``bound``,
        ``…_rank``, 1 is the largest; the similarity is ranked by size). By ``pair``: ``same_side``,
        ``distance`` |t - t'| over the pooled spread, ``pair_alignment`` (mean cosine across),
        ``pair_recall`` and ``pair_recall_before`` among the two classes alone. And ``tau``,
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
    beta, tau, bulk, sigma = step.covariance(data), step.strength(data), step.bulk_matrix(data), step.sigma
    labels = data.unseen_labels
    found = train_unseen_similarity(beta, data.unseen, labels, bulk)
    pairs = list(combinations(range(found.sizes["class"]), 2))
    found = found.drop_dims("other").assign_coords(bound=["low", "high"])
    classes, index, counts = np.unique(labels, return_inverse=True, return_counts=True)
    found["samples"] = ("class", counts)
    found["tau"] = tau
    wide = norm.ppf(0.5 + level / 2)
    found["pair"] = [f"{classes[a]} - {classes[b]}" for a, b in pairs]
    for name, strength, part in (("_before", 0.0, None), ("", tau, bulk)):
        gram = spiked_kernel(data.unseen, None, beta, strength, sigma, part)
        recall = recall_from_gram(gram, labels, step.k, step.metric)
        near = [_pair_recall(gram, labels, classes[[a, b]], step) for a, b in pairs]
        found[f"pair_recall{name}"] = ("pair", near)
        found[f"mean_recall{name}"] = recall.recall
        _share(found, f"recall{name}", recall.recall_by_class.values, counts, wide)
        size = np.sqrt(np.diag(gram))
        gram /= np.outer(size, size) + (size == 0)
        own, across = _cosines(gram, index, counts)
        # a mean over pairs is a U-statistic: each sample enters twice, so its error is that of 2 × the row
        # means
        _interval(found, f"alignment{name}", own, index, counts, 2 * wide)
    _interval(
        found, "elasticity", predicted_movement(data.unseen, beta, tau, sigma, bulk), index, counts, wide
    )
    along = wide * found["spread"].values / np.sqrt(counts)
    around = found["similarity"].values[:, None] + np.outer(along, [-1, 1])
    found["similarity_interval"] = (("class", "bound"), around)
    found["pair_alignment"] = ("pair", [across[a, b] for a, b in pairs])
    _pair_geometry(found, pairs)
    for name in RANKED:
        found[f"{name}_rank"] = ("class", _rank(np.abs(found[name].values)))
    found["excluded"] = recall.excluded
    return found.drop_vars(["norm", "bulk"]).assign_attrs(level=level)


def _interval(
    found: xr.Dataset, name: str, values: np.ndarray, index: np.ndarray, counts: np.ndarray, wide: float
) -> None:
    """Write class means of per-sample values, and normal intervals; NaN for a class of one."""
    mean = np.bincount(index, np.nan_to_num(values)) / counts
    square = np.bincount(index, np.nan_to_num(values - mean[index]) ** 2)
    error = np.sqrt(square / np.maximum(counts - 1, 1) / counts)
    alone = counts < 2
    mean, error = (
        np.where(alone & np.isnan(_first(values, index)), np.nan, mean),
        np.where(alone, np.nan, error),
    )
    found[name] = ("class", mean)
    found[f"{name}_interval"] = (("class", "bound"), mean[:, None] + wide * np.outer(error, [-1, 1]))


def _share(found: xr.Dataset, name: str, share: np.ndarray, counts: np.ndarray, wide: float) -> None:
    """Write shares of successes with Wilson's intervals, which stay within [0, 1]."""
    z = wide**2 / counts
    middle = (share + z / 2) / (1 + z)
    half = np.sqrt(z * share * (1 - share) + z**2 / 4) / (1 + z)
    found[name] = ("class", share)
    bounds = np.clip(middle[:, None] + np.outer(half, [-1, 1]), 0, 1)  # rounding only
    found[f"{name}_interval"] = (("class", "bound"), bounds)


def _first(values: np.ndarray, index: np.ndarray) -> np.ndarray:
    return values[np.unique(index, return_index=True)[1]]


def _cosines(cosine: np.ndarray, index: np.ndarray, counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean cosine of each sample with the others of its class, and of classes with each other."""
    member = np.eye(len(counts))[index]
    sums = cosine @ member
    others = sums[np.arange(len(index)), index] - np.diag(cosine)
    own = np.divide(others, counts[index] - 1, out=np.full(len(index), np.nan), where=counts[index] > 1)
    return own, (member.T @ sums) / np.outer(counts, counts)


def _pair_recall(gram: np.ndarray, labels: np.ndarray, two: np.ndarray, step: Step) -> float:
    chosen = np.flatnonzero(np.isin(labels, two))
    return float(recall_from_gram(gram[np.ix_(chosen, chosen)], labels[chosen], step.k, step.metric).recall)


def _pair_geometry(found: xr.Dataset, pairs: list[tuple[int, int]]) -> None:
    t, s, side = (found[name].values for name in ("similarity", "spread", "side"))
    pooled = np.array([np.sqrt((s[a] ** 2 + s[b] ** 2) / 2) for a, b in pairs])
    apart = np.array([abs(t[a] - t[b]) for a, b in pairs])
    found["same_side"] = ("pair", np.array([side[a] == side[b] for a, b in pairs]))
    found["distance"] = ("pair", np.divide(apart, pooled, out=np.full(len(pairs), np.inf), where=pooled > 0))


def _rank(values: np.ndarray) -> np.ndarray:
    """1 for the largest; NaN stays NaN."""
    known = ~np.isnan(values)
    ranks = np.full(len(values), np.nan)
    ranks[known] = rankdata(-values[known], method="min")
    return ranks
