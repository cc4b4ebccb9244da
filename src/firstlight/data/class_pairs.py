"""Means over pairs of classes of a given similarity matrix."""

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike
from scipy import sparse

from firstlight.data.labelled import Labelled, labelled


def gram_alignment(gram: ArrayLike, labels: ArrayLike) -> xr.DataArray:
    """Class-pair means of a given similarity matrix, pairs of a sample with itself left out.

    Parameters
    ----------
    gram : array_like, shape (n, n)
        Similarities, such as a kernel; need not be symmetric.
    labels : array_like, shape (n,)
        The class of each sample.

    Returns
    -------
    DataArray, dims ("class", "other")
        As `alignment` gives from the features themselves.

    Examples
    --------
    >>> gram_alignment([[1, 2, 0], [2, 4, 0], [0, 0, 9]], ["a", "a", "b"]).values.tolist()
    [[2.0, 0.0], [0.0, nan]]
    """
    data = labelled(gram, labels)
    if data.features.shape[0] != data.features.shape[1]:
        raise ValueError(f"gram: shape {data.features.shape}; must be square")
    member = membership(data.index, len(data.classes))
    total = np.asarray(member.T @ (member.T @ data.features.T).T)
    pairs = np.outer(data.counts, data.counts).astype(float)
    diagonal = np.diag_indices(len(data.classes))
    total[diagonal] -= member.T @ np.diag(data.features)
    pairs[diagonal] -= data.counts
    mean = np.divide(total, pairs, out=np.full(pairs.shape, np.nan), where=pairs > 0)
    return class_pairs(mean, data, "alignment")


def class_pairs(matrix: np.ndarray, data: Labelled, name: str) -> xr.DataArray:
    """Name the axes of a class-by-class matrix, and say how many classes have one member only."""
    return xr.DataArray(
        matrix, {"class": data.classes, "other": data.classes}, ("class", "other"), name,
        {"classes_of_one": int((data.counts == 1).sum())},
    )  # fmt: skip


def membership(index: np.ndarray, classes: int) -> sparse.csr_array:
    """One-hot rows: (n, C)."""
    return sparse.csr_array((np.ones(len(index)), (np.arange(len(index)), index)), (len(index), classes))
