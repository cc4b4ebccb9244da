"""Recall@k: is one of the k nearest other samples of the same class?

A query is answered without sorting neighbours: it succeeds when fewer than k samples of other classes are
nearer than its nearest relative. So blocks of similarities only need maxima and counts, each pair is
computed once for both its ends, and only what lies within rounding of a tie is computed again, pair by pair
in double precision. Equally near samples have no order: a query counts by the chance that a random order
would answer it, so that it does not matter where a class stands in the input.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from math import comb
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from firstlight.data.labelled import MEMORY, Labelled, labelled, moderate, row_chunks
from firstlight.maths.checks import check_count
from firstlight.maths.refusals import check_choice
from firstlight.maths.shown import Shown

Metric = Literal["cosine", "euclidean", "inner"]
_ROUNDING = 1e-13  # of the sizes: what sums of some hundred products may round by, so that equals differ


@dataclass(frozen=True, eq=False)
class Recall(Shown):
    """Recall@k of a set of labelled features.

    Attributes
    ----------
    k : int
        How many neighbours are looked at.
    hits : ndarray, shape (n,)
        1.0 or 0.0 for each sample as a query; between them where equally near samples decide; NaN for the
        only member of a class, which has nobody to find.
    classes : ndarray, shape (C,)
        The distinct labels.
    by_class : ndarray, shape (C,)
        Recall of each class; NaN for a class of one.
    overall : float
        Share of the queries that succeed, over the samples that can.
    queries, excluded : int
        How many samples can, and how many cannot.

    Examples
    --------
    >>> recall = recall_at_k([[1, 0], [1, 0.1], [0, 1], [1, 1]], [0, 0, 1, 2])
    >>> float(recall), recall.excluded
    (1.0, 2)
    """

    k: int
    hits: np.ndarray
    classes: np.ndarray
    by_class: np.ndarray
    overall: float
    queries: int
    excluded: int

    def __float__(self) -> float:
        return self.overall


def recall_at_k(
    features: ArrayLike,
    labels: ArrayLike,
    k: int = 1,
    metric: Metric = "cosine",
    *,
    precision: Literal["double", "single"] = "double",
    memory: int = MEMORY,
) -> Recall:
    """Share of samples that have one of their own class among their k nearest other samples.

    Parameters
    ----------
    features : array_like, shape (n, d)
        One row per sample.
    labels : array_like, shape (n,)
        At least two classes. The only member of a class can be found but not asked: it is left out as a
        query, and counted.
    k : int, default 1
        Neighbours that are looked at; at least 1.
    metric : {"cosine", "euclidean", "inner"}, default "cosine"
        What nearest means. A row of zeros has cosine 0 with everything.
    precision : {"double", "single"}, default "double"
        "single" computes the similarities in float32, and repeats in float64 every query whose answer float32
        cannot decide; the result is the same.
    memory : int, default 256 MB
        Bytes for the blocks of similarities, beside one sorted copy of the features.

    Returns
    -------
    Recall
        The sample itself is never a neighbour. Where equally near samples decide, a query counts by the
        chance to succeed if they came in random order: for k = 1 the share of them that is of its class.
        So the order of rows and of classes does not matter. Equal means equal but for rounding, 1e-13 of the
        rows' sizes, computed from the two rows alone; so units do not matter either.

    Examples
    --------
    >>> recall_at_k([[0.0], [1.0], [1.1], [9.0]], ["a", "a", "b", "b"], metric="euclidean").hits.tolist()
    [1.0, 0.0, 0.0, 1.0]
    >>> recall_at_k([[0.0], [1.0], [-1.0]], ["a", "a", "b"], metric="euclidean").hits.tolist()  # a tie
    [0.5, 1.0, nan]
    """
    check_count("k", k)
    check_choice("metric", metric, ("cosine", "euclidean", "inner"))
    check_choice("precision", precision, ("double", "single"))
    data = moderate(labelled(features, labels, least=2), by_row=metric == "cosine")
    if data.counts.max() == 1:
        raise ValueError("labels: every class has one member only, so no sample has anybody to find")
    if not data.features.any():
        raise ValueError("features: all zero, so no sample is nearer than another")
    order = np.argsort(data.index, kind="stable")
    prepared = _prepare(data.features, order, metric, np.float64 if precision == "double" else np.float32)
    best = _nearest_relative(prepared, data, memory)
    certain, possible = _strangers_nearer(prepared, data.index[order], best, memory)
    del prepared
    hits = np.empty(len(order))
    hits[order] = certain < k
    unsure = np.sort(order[(certain < k) & (possible >= k)])
    if len(unsure):
        hits[unsure] = _settle(data, unsure, int(k), metric, memory)
    alone = data.counts[data.index] == 1
    hits_of_class, queries = np.bincount(data.index, np.where(alone, 0.0, hits)), int((~alone).sum())
    hits[alone] = np.nan
    by_class = np.where(data.counts > 1, hits_of_class / data.counts, np.nan)
    overall = float(hits_of_class.sum() / queries)
    return Recall(int(k), hits, data.classes, by_class, overall, queries, int(alone.sum()))


@dataclass(frozen=True, eq=False)
class _Prepared:
    """Rows whose products are the similarities, and a bound on the rounding error of each row's values."""

    rows: np.ndarray
    half_squares: np.ndarray | None
    error: np.ndarray

    def block(self, rows: slice | np.ndarray, columns: slice) -> np.ndarray:
        """Similarities of some rows with some columns."""
        values = self.rows[rows] @ self.rows[columns].T
        if self.half_squares is not None:  # -|a - b|²/2 = a·b - |a|²/2 - |b|²/2
            values -= self.half_squares[rows, None]
            values -= self.half_squares[columns]
        return values


def _prepare(features: np.ndarray, order: np.ndarray, metric: Metric, dtype: type) -> _Prepared:
    count, width = features.shape
    x: np.ndarray = np.empty((count, width), dtype)
    norms, sizes = np.empty(count), np.empty(count)
    # distances do not change when all is centred, and smaller norms round less
    centre = features.mean(axis=0, dtype=float)
    for part in row_chunks(count, 16 * width, 16 * 2**20):
        block = features[order[part]].astype(float)
        sizes[part] = norms[part] = np.sqrt(np.einsum("ij,ij->i", block, block))
        if metric == "euclidean":
            block -= centre
            norms[part] = np.sqrt(np.einsum("ij,ij->i", block, block))
        if metric == "cosine":
            block /= np.where(norms[part] > 0, norms[part], 1.0)[:, None]
            norms[part] = norms[part] > 0
        x[part] = block
    half: np.ndarray | None = (norms**2 / 2).astype(dtype) if metric == "euclidean" else None
    # |fl(a·b) - a·b| <= d u |a||b| to first order; the rounding of the rows themselves adds a few u more
    rounding = (width + 8) * float(np.finfo(dtype).eps) / 2
    if half is None:
        return _Prepared(x, half, max(rounding, _ROUNDING) * norms * norms.max())
    reach = norms + norms.max()
    return _Prepared(x, half, rounding * reach**2 + _ROUNDING * reach * (sizes + sizes.max()))


def _blocks(first: slice, second: slice, side: int) -> Iterator[tuple[slice, slice]]:
    """Cut a rectangle of pairs into squares; of one on the diagonal only the upper half."""
    for a in range(first.start, first.stop, side):
        for b in range(a if first == second else second.start, second.stop, side):
            yield slice(a, min(a + side, first.stop)), slice(b, min(b + side, second.stop))


def _side(prepared: _Prepared, memory: int) -> int:
    return max(16, min(4096, int(np.sqrt(memory / (3 * prepared.rows.itemsize)))))


def _nearest_relative(prepared: _Prepared, data: Labelled, memory: int) -> np.ndarray:
    """Similarity of each sorted sample to its nearest relative; inf for one alone, which asks nothing."""
    best = np.where(data.counts == 1, np.inf, -np.inf).repeat(data.counts)
    ends = np.cumsum(data.counts)
    for stop, count in zip(ends.tolist(), data.counts.tolist(), strict=True):
        if count < 2:
            continue
        family = slice(stop - count, stop)
        for rows, columns in _blocks(family, family, _side(prepared, memory)):
            block = prepared.block(rows, columns)
            if rows == columns:
                np.fill_diagonal(block, -np.inf)
            best[rows] = np.maximum(best[rows], block.max(axis=1))
            if rows != columns:
                best[columns] = np.maximum(best[columns], block.max(axis=0))
    return best


def _strangers_nearer(
    prepared: _Prepared, group: np.ndarray, best: np.ndarray, memory: int
) -> tuple[np.ndarray, np.ndarray]:
    """Count the strangers that certainly, and that possibly, are nearer than the best relative."""
    certain, possible = np.zeros(len(best), int), np.zeros(len(best), int)
    low, high = best - 2 * prepared.error, best + 2 * prepared.error
    everything = slice(0, len(best))

    def count(block: np.ndarray, rows: slice) -> None:
        close = np.flatnonzero(block.max(axis=1) >= low[rows])
        near = block[close]
        place = close + rows.start
        possible[place] += (near >= low[place, None]).sum(axis=1)
        certain[place] += (near > high[place, None]).sum(axis=1)

    for rows, columns in _blocks(everything, everything, _side(prepared, memory)):
        if group[rows.start] == group[columns.stop - 1]:
            continue  # one family only
        block = prepared.block(rows, columns)
        if group[rows.stop - 1] >= group[columns.start]:
            block[group[rows, None] == group[columns]] = -np.inf
        count(block, rows)
        if rows != columns:
            count(block.T, columns)
    return certain, possible


def _settle(data: Labelled, queries: np.ndarray, k: int, metric: Metric, memory: int) -> np.ndarray:
    """Answer some queries in float64, with whatever is near a tie computed from the two rows alone."""
    prepared = _prepare(data.features, np.arange(len(data.index)), metric, np.float64)
    everything = slice(0, len(data.index))
    answers = np.empty(len(queries))
    for part in row_chunks(len(queries), 16 * len(data.index), memory):
        values = prepared.block(queries[part], everything)
        for place, (query, value) in enumerate(zip(queries[part], values, strict=True), part.start):
            relative = data.index == data.index[query]
            value[query] = -np.inf
            best = value[relative].max()
            near = np.flatnonzero(np.abs(value - best) <= 4 * prepared.error[query])
            exact, rounding = _pairwise(data.features[near], data.features[query], metric)
            family = relative[near]
            top = np.where(family, exact, -np.inf).argmax()
            tied = np.abs(exact - exact[top]) <= rounding + rounding[top]
            above = (value > best) & ~relative
            above[near] = (exact > exact[top]) & ~tied & ~family
            answers[place] = _chance(k - int(above.sum()), int((tied & ~family).sum()), int(tied.sum()))
    return answers


def _chance(places: int, strangers: int, tied: int) -> float:
    """Return the chance that one of some places goes to a relative, where strangers are among those tied.

    Examples
    --------
    >>> _chance(1, 2, 3), _chance(2, 2, 3), _chance(3, 2, 3), _chance(0, 2, 3)
    (0.333, 0.667, 1.0, 0.0)
    """
    return 1 - comb(strangers, places) / comb(tied, places) if 0 < places <= strangers else float(places > 0)


def _pairwise(rows: np.ndarray, query: np.ndarray, metric: Metric) -> tuple[np.ndarray, np.ndarray]:
    """Return similarities of rows with one, and by how much each may be rounded."""
    rows, query = rows.astype(float), query.astype(float)
    size, own = np.sqrt((rows**2).sum(axis=1)), np.sqrt((query**2).sum())
    if metric == "euclidean":
        square = ((rows - query) ** 2).sum(axis=1)
        return -square, _ROUNDING * np.sqrt(square) * (size + own)
    product, scale = (rows * query).sum(axis=1), size * own
    if metric == "inner":
        return product, _ROUNDING * scale
    return np.divide(product, scale, out=np.zeros(len(rows)), where=scale > 0), np.full(len(rows), _ROUNDING)
