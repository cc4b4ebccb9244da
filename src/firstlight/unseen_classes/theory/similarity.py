"""How unseen classes lie along the data-label covariance, and their other moments."""

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike

from firstlight.data.labelled import labelled
from firstlight.maths.checks import check_columns
from firstlight.unseen_classes.theory.bulk import summed_bulk


def train_unseen_similarity(
    covariance: ArrayLike, X_unseen: ArrayLike, labels: ArrayLike, bulk: ArrayLike | None = None
) -> xr.Dataset:
    """Measure how each unseen class lies along β.

    Parameters
    ----------
    covariance : array_like, shape (d,) or (d, C)
        From `label_covariance`.
    X_unseen : array_like, shape (n, d)
        Samples of classes that were not trained on.
    labels : array_like, shape (n,)
        Their classes.
    bulk : array_like, shape (d, d) or (C, C, d, d), optional
        From `bulk_covariance` or `joint_bulk`.

    Returns
    -------
    Dataset, dims ("class", "other")
        ``similarity`` t = β·μ (for several outputs |Bᵀμ|); ``cosine`` of β and μ; ``spread`` s = sqrt(βᵀΣβ);
        ``snr`` |t|/sqrt(s² + V); ``side``, the sign of t (for several outputs the output that μ points to);
        ``norm`` q = E|x|²/d, ``overlap`` c = x·x'/d of two different samples, ``bulk`` V = E xᵀMx and
        ``bulk_overlap`` xᵀMx'; ``pair_similarity``, the mean of (β·x)(β·x') over different samples: tt',
        and for two samples of one class t² without the s²/m by which the square of a mean of m samples is
        too large. All are moments of the given samples.

    Examples
    --------
    >>> x = [[2.0, 1.0], [2.0, -1.0], [-3.0, 1.0], [-3.0, 1.0]]
    >>> variables = train_unseen_similarity([1.0, 0.0], x, [7, 7, 9, 9])
    >>> variables.similarity.values.tolist(), variables.side.values.tolist()
    ([2.0, -3.0], [1, -1])
    """
    data = labelled(X_unseen, labels, names=("X_unseen", "labels"))
    x, index, counts = data.features.astype(float), data.index, data.counts
    columns = check_columns("covariance", covariance, x.shape[1])
    bulky = np.zeros_like(x) if bulk is None else x @ summed_bulk(bulk, x.shape[1])
    along = x @ columns
    mean, centre = _class_mean(along, index, counts), _class_mean(x, index, counts)
    binary = columns.shape[1] == 1
    similarity = mean[:, 0] if binary else np.linalg.norm(mean, axis=1)
    spread = np.sqrt(np.bincount(index, ((along - mean[index]) ** 2).sum(axis=1)) / counts)
    noise = _own(bulky, x, index, counts)
    variables = {
        "similarity": similarity,
        "cosine": _ratio(similarity, np.linalg.norm(columns) * np.linalg.norm(centre, axis=1)),
        "spread": spread,
        "snr": _ratio(np.abs(similarity), np.sqrt(spread**2 + noise)),
        "side": (np.sign(mean[:, 0]) if binary else np.argmax(mean, axis=1)).astype(int),
        "norm": _own(x, x, index, counts) / x.shape[1],
        "bulk": noise,
    }
    pairs = {
        "overlap": _pairs(x, x, index, counts) / x.shape[1],
        "bulk_overlap": _pairs(bulky, x, index, counts),
        "pair_similarity": _pairs(along, along, index, counts),
    }
    return xr.Dataset(
        {name: ("class", value) for name, value in variables.items()}
        | {name: (("class", "other"), value) for name, value in pairs.items()},
        {"class": data.classes, "other": data.classes},
    )


def _ratio(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """a/b, where 0/0 is 0 and anything else over 0 is infinite."""
    return np.divide(a, b, out=np.where(a == 0, 0.0, np.copysign(np.inf, a)), where=b > 0)


def _class_mean(values: np.ndarray, index: np.ndarray, counts: np.ndarray) -> np.ndarray:
    sums = np.zeros((len(counts), values.shape[1]))
    np.add.at(sums, index, values)
    return sums / counts[:, None]


def _own(a: np.ndarray, b: np.ndarray, index: np.ndarray, counts: np.ndarray) -> np.ndarray:
    return np.bincount(index, np.einsum("ij,ij->i", a, b)) / counts


def _pairs(a: np.ndarray, b: np.ndarray, index: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Class-pair means of a·b over different samples; a class of one has only itself."""
    mean = _class_mean(a, index, counts) @ _class_mean(b, index, counts).T
    own = _own(a, b, index, counts)
    place = np.diag_indices(len(counts))
    mean[place] = np.where(counts > 1, (mean[place] * counts - own) / np.maximum(counts - 1, 1), own)
    return mean
