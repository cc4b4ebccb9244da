"""Recall@k predicted without a network: nearest neighbours under the predicted kernel."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike

from firstlight.data.labelled import labelled, row_chunks
from firstlight.maths.activations import Activation
from firstlight.maths.checks import check_count
from firstlight.maths.refusals import check_choice
from firstlight.unseen_classes.theory.heads import Head
from firstlight.unseen_classes.theory.kernel import BulkLike, spiked_kernel

Metric = Literal["cosine", "euclidean", "inner"]
_ROUNDING = 1e-13  # of the sizes: what sums of some hundred products may round by, so that equals differ


def predict_recall_at_k(
    X_unseen: ArrayLike,
    labels: ArrayLike,
    covariance: ArrayLike,
    tau: float,
    activation: str | Activation,
    k: int = 1,
    metric: Metric = "cosine",
    bulk: BulkLike = None,
    *,
    train: ArrayLike | None = None,
    residual: ArrayLike | None = None,
    head: Head = "gaussian",
) -> xr.Dataset:
    """Predict the Recall@k of unseen classes after one step, by nearest neighbour on the predicted kernel.

    Parameters
    ----------
    X_unseen : array_like, shape (n, d)
        Samples of the unseen classes.
    labels : array_like, shape (n,)
        Their classes, at least two.
    covariance, tau, activation, bulk, train, residual, head
        As in `spiked_kernel`.
    k : int, default 1
    metric : {"cosine", "euclidean", "inner"}, default "cosine"
        What nearest means in the space of features.

    Returns
    -------
    Dataset
        ``recall`` over all queries, ``recall_by_class``, ``hits`` by sample (between 0 and 1 where equally
        near samples decide: the chance in a random order; NaN for the only member of a class) and
        ``excluded``, how many samples have no other of their class.

    Examples
    --------
    >>> x = [[1.0, 0.1], [1.0, -0.1], [-1.0, 0.1], [-1.0, -0.1]]
    >>> float(predict_recall_at_k(x, [0, 0, 1, 1], [1.0, 0.0], 1.0, "relu").recall)
    1.0
    """
    labelled(X_unseen, labels, least=2, names=("X_unseen", "labels"))
    gram = spiked_kernel(
        X_unseen, None, covariance, tau, activation, bulk, train=train, residual=residual, head=head
    )
    return recall_from_gram(gram, labels, k, metric)


def recall_from_gram(gram: ArrayLike, labels: ArrayLike, k: int = 1, metric: Metric = "cosine") -> xr.Dataset:
    """Compute Recall@k from a matrix of inner products of features.

    Parameters
    ----------
    gram : array_like, shape (n, n)
        Symmetric, with the squared norms on its diagonal.
    labels, k, metric
        As in `predict_recall_at_k`.

    Examples
    --------
    >>> hits_of_class = recall_from_gram([[1, 0.9, 0], [0.9, 1, 0], [0, 0, 1]], [0, 0, 1])
    >>> hits_of_class.hits.values.tolist(), int(hits_of_class.excluded)
    ([1.0, 1.0, nan], 1)
    """
    check_count("k", k)
    data = labelled(gram, labels, least=2, names=("gram", "labels"))
    inner, index = data.features, data.index
    if inner.shape[0] != inner.shape[1]:
        raise ValueError(f"gram: shape {inner.shape}; must be square")
    check_retrieval(np.diag(inner), data.counts)
    hits = np.full(len(inner), np.nan)
    for rows in row_chunks(len(inner), 40.0 * len(inner)):
        asked = np.flatnonzero(data.counts[index[rows]] > 1) + rows.start
        hits[asked] = rivals_of(inner[asked], asked, index, np.diag(inner), metric).hits(k)
    alone = np.isnan(hits)
    hits_of_class = np.bincount(index, np.where(alone, 0, hits))
    return xr.Dataset(
        {
            "recall": hits_of_class.sum() / (~alone).sum(),
            "recall_by_class": ("class", np.where(data.counts > 1, hits_of_class / data.counts, np.nan)),
            "hits": ("sample", hits),
            "excluded": int(alone.sum()),
        },
        {"class": data.classes},
    )


def check_retrieval(square: np.ndarray, counts: np.ndarray) -> None:
    """Refuse features (their squared norms) and classes (their sizes) where nobody can be found."""
    if counts.max() == 1:
        raise ValueError("labels: every class has one member only, so no sample has anybody to find")
    if not (square > 0).any():
        raise ValueError("gram: all features are zero, so no sample is nearer than another")


@dataclass(frozen=True, eq=False)
class Rivals:
    """Who stands in the way of queries that look for their nearest relative.

    Attributes
    ----------
    ahead, tied : ndarray, shape (r, classes)
        Samples of each other class that are nearer than it, and as near.
    family : ndarray, shape (r,)
        Relatives that are as near: at least one.
    """

    ahead: np.ndarray
    tied: np.ndarray
    family: np.ndarray

    def hits(self, k: int) -> np.ndarray:
        """Return the chance of each query, shape (r,), to find a relative among its k nearest samples."""
        return found(k - self.ahead.sum(axis=1), self.tied.sum(axis=1), self.family)

    def hits_of_two(self, k: int) -> np.ndarray:
        """Return the same among samples of its own class and one other alone, shape (r, classes)."""
        return found(k - self.ahead, self.tied, self.family[:, None])


def found(places: np.ndarray, strangers: np.ndarray, family: np.ndarray) -> np.ndarray:
    """Return the chance that a relative gets one of some places, dealt out at random among those tied.

    Examples
    --------
    >>> found(np.array([0, 1, 2, 3]), np.full(4, 2), np.ones(4)).tolist()
    [0.0, 0.333, 0.667, 1.0]
    """
    missed, dealt = np.ones(np.broadcast_shapes(places.shape, family.shape)), 0
    while (open_ := (places > dealt) & (missed > 0)).any():  # no tie: one pass
        share = np.maximum(strangers - dealt, 0) / np.maximum(strangers + family - dealt, 1)
        missed = np.where(open_, missed * share, missed)
        dealt += 1
    return 1 - missed


def rivals_of(
    inner: np.ndarray, rows: np.ndarray, index: np.ndarray, square: np.ndarray, metric: Metric
) -> Rivals:
    """Count, by class, the samples of others that are nearer than the nearest of one's own, and as near.

    Parameters
    ----------
    inner : ndarray, shape (r, n)
        Inner products of some samples with all.
    rows : ndarray of int, shape (r,)
        Which samples those are; none alone in its class.
    index : ndarray of int, shape (n,)
        The class of every sample, 0, 1, ...
    square : ndarray, shape (n,)
        Squared norms.
    metric : {"cosine", "euclidean", "inner"}

    Examples
    --------
    >>> gram = np.array([[1, 0.5, 0.9], [0.5, 1, 0.5], [0.9, 0.5, 1]])
    >>> rivals = rivals_of(gram[:2], np.array([0, 1]), np.array([0, 0, 1]), np.ones(3), "cosine")
    >>> rivals.ahead.tolist(), rivals.tied.tolist(), rivals.hits(1).tolist()
    ([[0.0, 1.0], [0.0, 0.0]], [[0.0, 0.0], [0.0, 1.0]], [0.0, 0.5])
    """
    check_choice("metric", metric, ("cosine", "euclidean", "inner"))
    size = np.sqrt(np.maximum(square, 0))
    own, every = size[rows, None], np.arange(len(rows))
    if metric == "cosine":
        near, scale = inner / np.where(size > 0, size, 1.0), np.broadcast_to(own, inner.shape)
    elif metric == "euclidean":
        near, scale = 2 * inner - np.maximum(square, 0), np.maximum(own, size) ** 2
    else:
        near, scale = inner.copy(), own * size
    near[every, rows] = -np.inf
    family = index[rows][:, None] == index
    best = np.where(family, near, -np.inf).argmax(axis=1)
    near -= near[every, best][:, None]
    tie = np.abs(near) <= _ROUNDING * (scale + scale[every, best][:, None])
    member = np.eye(index.max() + 1, dtype=np.float32)[index]
    ahead, tied = (
        np.asarray((part & ~family).astype(np.float32) @ member, dtype=float)
        for part in ((near > 0) & ~tie, tie)
    )
    return Rivals(ahead, tied, (tie & family).sum(axis=1).astype(float))
