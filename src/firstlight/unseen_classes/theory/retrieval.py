"""Recall@k predicted without a network: nearest neighbours under the predicted kernel."""

from typing import Literal

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike

from firstlight.data.labelled import labelled
from firstlight.maths.activations import Activation
from firstlight.unseen_classes.theory.heads import Head
from firstlight.unseen_classes.theory.kernel import BulkLike, spiked_kernel

Metric = Literal["cosine", "euclidean", "inner"]


def predict_recall_at_k(
    X_unseen: ArrayLike,
    labels: ArrayLike,
    beta: ArrayLike,
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
    beta, tau, activation, bulk, train, residual, head
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
    gram = spiked_kernel(
        X_unseen, None, beta, tau, activation, bulk, train=train, residual=residual, head=head
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

    Returns
    -------
    Dataset

    Examples
    --------
    >>> found = recall_from_gram([[1, 0.9, 0], [0.9, 1, 0], [0, 0, 1]], [0, 0, 1])
    >>> found.hits.values.tolist(), int(found.excluded)
    ([1.0, 1.0, nan], 1)
    """
    if isinstance(k, bool) or not isinstance(k, (int, np.integer)) or k < 1:
        raise ValueError(f"k = {k!r}: must be an integer of at least 1")
    data = labelled(gram, labels, least=2)
    inner = data.features
    if inner.shape[0] != inner.shape[1]:
        raise ValueError(f"gram: shape {inner.shape}; must be square")
    if data.counts.max() == 1:
        raise ValueError("labels: every class has one member only, so no sample has anybody to find")
    square = np.maximum(np.diag(inner), 0)
    if not square.any():
        raise ValueError("gram: all features are zero, so no sample is nearer than another")
    size = np.where(square > 0, np.sqrt(square), 1.0)
    hits = np.full(len(inner), np.nan)
    for i in np.flatnonzero(data.counts[data.index] > 1):
        if metric == "cosine":
            near = inner[i] / size
        elif metric == "euclidean":
            near = 2 * inner[i] - square
        elif metric == "inner":
            near = inner[i].copy()
        else:
            raise ValueError(f"metric = {metric!r}: must be 'cosine', 'euclidean' or 'inner'")
        near[i] = -np.inf
        family = data.index == data.index[i]
        best = int(np.argmax(np.where(family, near, -np.inf)))
        ahead = near > near[best]
        ahead[:best] |= near[:best] == near[best]  # of equally near samples the first comes first
        hits[i] = (ahead & ~family).sum() < k
    alone = np.isnan(hits)
    found = np.bincount(data.index, np.where(alone, 0, hits))
    return xr.Dataset(
        {
            "recall": found.sum() / (~alone).sum(),
            "recall_by_class": ("class", np.where(data.counts > 1, found / data.counts, np.nan)),
            "hits": ("sample", hits),
            "excluded": int(alone.sum()),
        },
        {"class": data.classes},
    )
