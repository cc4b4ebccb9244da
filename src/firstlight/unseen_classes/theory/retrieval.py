"""Recall@k predicted without a network: nearest neighbours under the predicted kernel."""

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
        ``recall`` over all queries, ``recall_by_class``, ``hits`` by sample (NaN for the only member of a
        class) and ``excluded``, how many samples have no other of their class.

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
        hits[asked] = rivals_ahead(inner[asked], asked, index, np.diag(inner), metric).sum(axis=1) < k
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


def rivals_ahead(
    inner: np.ndarray, rows: np.ndarray, index: np.ndarray, square: np.ndarray, metric: Metric
) -> np.ndarray:
    """Count, by class, the samples of other classes that are nearer than the nearest of one's own.

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

    Returns
    -------
    ndarray, shape (r, classes)
        Of equally near samples the first comes first.

    Examples
    --------
    >>> gram = np.array([[1, 0.5, 0.9], [0.5, 1, 0.2], [0.9, 0.2, 1]])
    >>> rivals_ahead(gram[:2], np.array([0, 1]), np.array([0, 0, 1]), np.ones(3), "cosine").tolist()
    [[0.0, 1.0], [0.0, 0.0]]
    """
    check_choice("metric", metric, ("cosine", "euclidean", "inner"))
    square = np.maximum(square, 0)
    if metric == "cosine":
        near = inner / np.where(square > 0, np.sqrt(square), 1.0)
    else:
        near = 2 * inner - square if metric == "euclidean" else inner.copy()
    every = np.arange(len(rows))
    near[every, rows] = -np.inf
    family = index[rows][:, None] == index
    best = np.where(family, near, -np.inf).argmax(axis=1)
    level = near[every, best][:, None]
    ahead = (near > level) | ((near == level) & (np.arange(len(index)) < best[:, None]))
    member = np.eye(index.max() + 1, dtype=np.float32)[index]
    return np.asarray((ahead & ~family).astype(np.float32) @ member, dtype=float)
