"""What a gradient step does to single classes, read off the network's own gradient."""

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike

from firstlight.data.labelled import labelled


def class_means(values: ArrayLike, labels: ArrayLike) -> xr.DataArray:
    """Average rows by class.

    Parameters
    ----------
    values : array_like, shape (n, p)
    labels : array_like, shape (n,)

    Returns
    -------
    DataArray, dims ("class", "column")

    Examples
    --------
    >>> class_means([[1.0], [3.0], [5.0]], ["a", "a", "b"]).values.tolist()
    [[2.0], [5.0]]
    """
    data = labelled(values, labels)
    member = np.eye(len(data.classes))[data.index]
    mean = member.T @ data.features / data.counts[:, None]
    return xr.DataArray(mean, {"class": data.classes}, ("class", "column"))


def step_similarity(moved: np.ndarray, heads: np.ndarray, slope: float, labels: ArrayLike) -> xr.Dataset:
    """Measure how far a step moves each class along the heads, and how much of its movement that is.

    A step of size η moves the pre-activation of neuron j at x by η c a_j·(b(x) + noise of its own); b(x) has
    one entry per output. Least squares over the neurons give b(x), and its class mean the similarity t.

    Parameters
    ----------
    moved : ndarray, shape (n, N)
        The movement of every sample's pre-activations per unit of η: x times minus the gradient.
    heads : ndarray, shape (N,) or (N, C)
        a.
    slope : float
        c, the mean slope of the output in a pre-activation over the head: s E σ'.
    labels : array_like, shape (n,)

    Returns
    -------
    Dataset, dims ("class",)
        ``similarity`` t, for several outputs its length; ``snr``, |t| over the root of the rest of the mean
        squared movement, NaN where no rest can be told (neurons that are too few leave none).

    Examples
    --------
    >>> heads = np.array([1.0, -1.0])
    >>> moved = np.array([[2.0, 0.0], [1.0, -1.0]])
    >>> measured = step_similarity(moved, heads, 0.5, [0, 1])
    >>> measured.similarity.values.tolist(), float(measured.snr[0])
    ([2.0, 2.0], 1.0)
    """
    columns = heads.reshape(len(heads), -1)
    along = np.linalg.lstsq(columns, moved.T / slope, rcond=None)[0].T
    power = (moved**2).sum(axis=1) / (slope**2 * (columns**2).sum(axis=0).mean())
    mean = class_means(along, labels)
    t = mean.isel(column=0) if columns.shape[1] == 1 else (mean**2).sum("column") ** 0.5
    rest = np.maximum(class_means(power[:, None], labels).isel(column=0) - t**2, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        snr = (abs(t) / rest**0.5).where(rest > 0).where(t != 0, 0.0)
    return xr.Dataset({"similarity": t, "snr": snr})
