"""What a user learns about classes that a network will not be trained on, with intervals and ranks."""

from collections.abc import Callable
from functools import partial
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike
from scipy.stats import rankdata

from firstlight.data.labelled import MEMORY
from firstlight.data.unseen import UnseenData
from firstlight.maths.checks import check_memory, check_number
from firstlight.maths.drawing import COLOURS, THEORY, as_written, axes
from firstlight.maths.intervals import across_bounds, mean_bounds, pair_bounds, share_bounds
from firstlight.maths.refusals import check_instance
from firstlight.unseen_classes.definitions.step import Step
from firstlight.unseen_classes.theory.bulk import step_bulk
from firstlight.unseen_classes.theory.kernel import predicted_movement, spiked_kernel
from firstlight.unseen_classes.theory.retrieval import check_retrieval, rivals_of
from firstlight.unseen_classes.theory.similarity import train_unseen_similarity

if TYPE_CHECKING:
    from matplotlib.axes import Axes

RANKED = ("similarity", "alignment", "elasticity", "recall")


class Analysis(xr.Dataset):
    """What `analyse` says: a Dataset that can draw itself."""

    __slots__ = ()

    def plot(self, ax: "Axes | None" = None) -> "Axes":  # type: ignore[override]
        """Draw each class's Recall@k, before the step and after it with its interval, against similarity."""
        ax = axes(ax)
        t, recall = self["similarity"].values, self["recall"].values
        spread = np.abs(self["recall_interval"].values.T - recall)
        ax.errorbar(t, recall, spread, fmt="o", capsize=2, color=COLOURS[0], label="after the step")
        ax.plot(t, self["recall_before"].values, "_", color=THEORY, label="before")
        for name, *place in zip(self["class"].values, t, recall, strict=True):
            ax.annotate(as_written(name), tuple(place), xytext=(4, 4), textcoords="offset points")
        ax.set(xlabel="similarity to the training direction", ylabel="predicted recall")
        ax.legend()
        return ax


def analyse(data: UnseenData, step: Step, *, level: float = 0.95) -> Analysis:
    """Predict, class by class and pair by pair, what one step would do to classes that it never sees.

    Parameters
    ----------
    data : UnseenData
        Scaled such that |x|² is about d (see `standardised`).
    step : Step
    level : float, default 0.95
        Nominal coverage of the intervals, which tell what other samples of the same classes could have
        given: studentised bootstrap for means, Wilson's for shares.

    Returns
    -------
    Analysis
        A Dataset that can draw itself (``.plot()``).
        By ``class``: ``samples``, ``similarity``, ``cosine``, ``snr``, ``side``; ``alignment``,
        ``elasticity`` and ``recall`` after the step (``…_before``, ``…_interval`` along ``bound``,
        ``…_rank``, 1 is the largest; the similarity is ranked by size). By ``pair``: ``same_side``,
        ``product`` t t', ``distance`` |t - t'| over the pooled spread; ``pair_alignment`` (mean cosine
        across) and ``pair_recall`` among the two classes alone, with intervals and ranks, and
        ``pair_recall_before``. And ``tau``, ``mean_recall``, ``mean_recall_before``, ``excluded``.

    Examples
    --------
    >>> from firstlight.data.unseen import image_classes, standardised
    >>> data = standardised(image_classes(np.random.default_rng(0), "digits", [3, 8], 20))
    >>> results = analyse(data, Step())
    >>> results.sizes["class"], results.sizes["pair"]
    (8, 28)
    """
    check_number("level", level, above=0, below=1)
    check_instance("data", data, UnseenData)
    check_instance("step", step, Step)
    beta, tau, bulk, sigma = step.covariance(data), step.tau_of(data), step_bulk(step, data), step.sigma
    labels = data.unseen_labels
    results = train_unseen_similarity(beta, data.unseen, labels, bulk)
    pairs = list(combinations(range(results.sizes["class"]), 2))
    results = results.drop_dims("other").assign_coords(bound=["low", "high"])
    classes, index, counts = np.unique(labels, return_inverse=True, return_counts=True)
    results["samples"], results["tau"] = ("class", counts), tau
    members = [np.flatnonzero(index == c) for c in range(len(classes))]
    results["pair"] = [f"{classes[a]} - {classes[b]}" for a, b in pairs]
    for name, size, part in (("_before", 0.0, None), ("", tau, bulk)):
        kernel = partial(
            spiked_kernel, covariance=beta, tau=size, activation=sigma, bulk=part, head=step.head
        )
        chance, among_two, cosines, within, across = _neighbourhood(kernel, data.unseen, members, step, level)
        asked = counts[index] > 1  # the only member of a class has nobody to find
        hit = np.where(asked, chance, 0.0)
        near = _pair_recall(among_two, index, asked, pairs)
        results[f"pair_recall{name}"] = ("pair", near)
        results[f"mean_recall{name}"] = hit.sum() / asked.sum()
        by_class = np.where(counts > 1, np.bincount(index, hit) / counts, np.nan)
        _put(results, f"recall{name}", by_class, share_bounds(by_class, counts, level))
        _put(results, f"alignment{name}", np.diag(cosines), np.clip(within, -1, 1))
    moved = predicted_movement(data.unseen, beta, tau, sigma, bulk, head=step.head)
    bounds = [np.maximum(mean_bounds(moved[m], level), 0) for m in members]
    _put(results, "elasticity", [moved[m].mean() for m in members], bounds)
    spreads = _similarity_bounds(data.unseen @ beta, members, level)
    results["similarity_interval"] = (("class", "bound"), spreads)
    together = np.array([max(asked[index == a].sum() + asked[index == b].sum(), 1) for a, b in pairs])
    results["pair_alignment"] = ("pair", [cosines[a, b] for a, b in pairs])
    results["pair_alignment_interval"] = (("pair", "bound"), np.clip([across[pair] for pair in pairs], -1, 1))
    results["pair_recall_interval"] = (("pair", "bound"), share_bounds(near, together, level))
    _pair_geometry(results, pairs)
    _put_ranks(results)
    results["excluded"] = int((~asked).sum())
    results = results.drop_vars(["norm", "bulk"])
    return Analysis(results.data_vars, results.coords, {**results.attrs, "level": level})


def _put(results: xr.Dataset, name: str, values: list[float] | np.ndarray, bounds: ArrayLike) -> None:
    results[name] = ("class", np.asarray(values, float))
    results[f"{name}_interval"] = (("class", "bound"), np.asarray(bounds, float))


def _put_ranks(results: xr.Dataset) -> None:
    for name in RANKED:
        values = results[name].values
        results[f"{name}_rank"] = ("class", _rank(np.abs(values) if name == "similarity" else values))
    for name in ("pair_alignment", "pair_recall"):
        results[f"{name}_rank"] = ("pair", _rank(results[name].values))


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


def _neighbourhood(
    kernel: Callable[..., np.ndarray], x: np.ndarray, members: list[np.ndarray], step: Step, level: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, dict[tuple[int, int], np.ndarray]]:
    """Walk through a kernel by rows of whole classes, so that memory grows as the samples, not their square.

    Returns each sample's chance to find a relative (n,), the same among its class and one other (n, C), mean
    cosines of class pairs (C, C), and bounds of these means within classes (C, 2) and across two (by pair).
    """
    n, classes = len(x), range(len(members))
    counts = np.array([len(m) for m in members])
    order = np.argsort(np.concatenate(members))
    index, groups = np.repeat(classes, counts)[order], _groups(counts, n)
    whole = kernel(x, None) if len(groups) == 1 else None
    if whole is not None:
        square = whole.diagonal().copy()
    else:
        square = np.concatenate([kernel(x[m], None).diagonal() for m in members])[order]
    check_retrieval(square, counts)
    size = np.sqrt(np.maximum(square, 0))
    size[size == 0] = 1.0
    chance, among_two = np.zeros(n), np.zeros((n, len(counts)))
    sums = np.zeros((len(counts), len(counts)))
    within, across = np.full((len(counts), 2), np.nan), {}
    for group in groups:
        rows = np.sort(np.concatenate([members[c] for c in group]))
        inner = kernel(x[rows], x) if whole is None else whole
        asked = counts[index[rows]] > 1
        asking = rows[asked]
        rivals = rivals_of(inner[asked], asking, index, square, step.metric)
        chance[asking], among_two[asking] = rivals.hits(step.neighbours), rivals.hits_of_two(step.neighbours)
        inner /= np.outer(size[rows], size)
        for a in group:
            mine = inner[index[rows] == a]
            for b in classes:
                block = mine[:, members[b]]
                sums[a, b] = block.sum() - (np.trace(block) if a == b else 0)
                if a == b:
                    within[a] = pair_bounds(block, level)
                elif a < b:
                    across[a, b] = across_bounds(block, level)
    number = np.outer(counts, counts) - np.diag(counts)
    means = np.divide(sums, number, out=np.full(sums.shape, np.nan), where=number > 0)
    return chance, among_two, means, within, across


def _groups(counts: np.ndarray, n: int) -> list[list[int]]:
    """Put classes together while their rows, and what is made of them, fit into the memory of a measure."""
    per_row = 40.0 * n
    check_memory(
        f"the largest class has {counts.max()} of {n} samples", per_row * counts.max(), "their product"
    )
    groups: list[list[int]] = [[]]
    for c in range(len(counts)):
        if groups[-1] and per_row * counts[[*groups[-1], c]].sum() > MEMORY:
            groups.append([])
        groups[-1].append(c)
    return groups


def _pair_recall(
    hit: np.ndarray, index: np.ndarray, asked: np.ndarray, pairs: list[tuple[int, int]]
) -> np.ndarray:
    """Recall among the members of two classes alone; NaN for two lone members."""
    recall = []
    for a, b in pairs:
        first, second = hit[(index == a) & asked, b], hit[(index == b) & asked, a]
        recall.append(np.concatenate([first, second]).mean() if len(first) + len(second) else np.nan)
    return np.array(recall)


def _pair_geometry(results: xr.Dataset, pairs: list[tuple[int, int]]) -> None:
    t, s, side = (results[name].values for name in ("similarity", "spread", "side"))
    pooled = np.array([np.sqrt((s[a] ** 2 + s[b] ** 2) / 2) for a, b in pairs])
    apart = np.array([abs(t[a] - t[b]) for a, b in pairs])
    results["product"] = ("pair", np.array([t[a] * t[b] for a, b in pairs]))
    results["same_side"] = ("pair", np.array([side[a] == side[b] for a, b in pairs]))
    results["distance"] = (
        "pair",
        np.divide(apart, pooled, out=np.full(len(pairs), np.inf), where=pooled > 0),
    )


def _rank(values: np.ndarray) -> np.ndarray:
    """1 for the largest; NaN stays NaN."""
    known = ~np.isnan(values)
    ranks = np.full(len(values), np.nan)
    ranks[known] = rankdata(-values[known], method="min")
    return ranks
