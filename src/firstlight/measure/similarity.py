"""How similar the features of classes are: alignment of class pairs."""

from typing import Literal

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike

from firstlight.data.class_pairs import class_pairs, membership
from firstlight.data.labelled import MEMORY, Labelled, labelled, moderate, row_chunks
from firstlight.maths.refusals import check_choice

Kind = Literal["inner", "cosine"]


def alignment(
    features: ArrayLike, labels: ArrayLike, kind: Kind = "inner", *, memory: int = MEMORY
) -> xr.DataArray:
    """Mean similarity of the features of two different samples, for every pair of classes.

    Parameters
    ----------
    features : array_like, shape (n, d)
        One row per sample.
    labels : array_like, shape (n,)
        The class of each sample.
    kind : {"inner", "cosine"}, default "inner"
        F(x)·F(x'), or that divided by the norms. A row of zeros has no direction: its cosines count as 0.
    memory : int, default 256 MB
        Bytes that may be held beside the input.

    Returns
    -------
    DataArray, dims ("class", "other")
        On the diagonal pairs of a sample with itself are left out; a class of one member has no other pair
        and gets NaN there. ``attrs["classes_of_one"]`` counts such classes, ``attrs["zero_rows"]`` the rows
        of zeros.

    Examples
    --------
    >>> alignment([[1, 0], [2, 0], [0, 3]], ["a", "a", "b"]).values.tolist()
    [[2.0, 0.0], [0.0, nan]]
    """
    check_choice("kind", kind, ("inner", "cosine"))
    data = labelled(features, labels)
    data = moderate(data, by_row=True) if kind == "cosine" else data
    with np.errstate(over="ignore", invalid="ignore"):  # refused below
        sums, squares, zeros = _class_sums(data, kind == "cosine", memory)
        total = sums @ sums.T
        diagonal = np.diag_indices(len(data.counts))
        total[diagonal] -= squares
    if zeros == len(data.features):
        raise ValueError("features: all zero, so nothing can be compared")
    if not np.isfinite(total).all():
        raise ValueError("features: their products are beyond floating point; rescale them")
    counts = data.counts.astype(float)
    pairs = np.outer(counts, counts)
    pairs[diagonal] -= counts
    return class_pairs(
        np.divide(total, pairs, out=np.full_like(total, np.nan), where=pairs > 0), data, "alignment"
    ).assign_attrs(kind=kind, zero_rows=zeros)


def _class_sums(data: Labelled, unit: bool, memory: int) -> tuple[np.ndarray, np.ndarray, int]:
    """Sum of rows and of squared norms per class, in float64 by chunks; and how many rows are zero."""
    rows, width = data.features.shape
    sums, squares, zeros = np.zeros((len(data.classes), width)), np.zeros(len(data.classes)), 0
    for part in row_chunks(rows, 24 * width, memory):
        block = data.features[part].astype(float)
        norms = np.einsum("ij,ij->i", block, block)
        zeros += int((~block.any(axis=1)).sum())
        if unit:
            block /= np.where(norms > 0, np.sqrt(norms), 1.0)[:, None]
            norms = (norms > 0).astype(float)
        member = membership(data.index[part], len(data.classes))
        sums += member.T @ block
        squares += member.T @ norms
    return sums, squares, zeros
