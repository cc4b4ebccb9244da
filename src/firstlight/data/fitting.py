"""Gaussian mixtures fitted to labelled rows."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from firstlight.data.covariance import Covariance, Dense, Spiked
from firstlight.data.labelled import labelled
from firstlight.maths.checks import check_count
from firstlight.maths.equality import ByValue
from firstlight.maths.rng import stream

_FLIPS = 19  # the largest of 20 exchangeable values has a chance of 5 %


@dataclass(frozen=True, eq=False)
class LabelledRows(ByValue):
    """Rows of two classes to draw from, with replacement.

    Attributes
    ----------
    rows : ndarray, shape (count, n)
        Centred, and divided by one number such that the mean variance within classes is one.
    classes : ndarray of int, shape (count,)
        0 or 1.

    Examples
    --------
    >>> LabelledRows.of([[0.0], [2.0], [4.0], [6.0]], ["u", "u", "v", "v"]).rows.ravel().tolist()
    [-3.0, -1.0, 1.0, 3.0]
    """

    rows: np.ndarray
    classes: np.ndarray

    @classmethod
    def of(cls, X: ArrayLike, y: ArrayLike) -> "LabelledRows":
        """Check, centre and scale rows of two classes."""
        data = labelled(X, y, least=2, names=("X", "y"))
        if len(data.classes) != 2:
            raise ValueError(f"y: {len(data.classes)} classes; must be two")
        x = data.features.astype(float)
        x = x - x.mean(axis=0)
        within = x - np.array([x[data.index == c].mean(axis=0) for c in (0, 1)])[data.index]
        size = float(np.sqrt(np.mean(within**2)))
        if size <= 1e-13 * float(np.abs(x).max()):
            raise ValueError("X: the rows of each class are equal, so there is nothing to learn")
        return cls(x / size, data.index)

    def draw(
        self, sizes: np.ndarray, rng: np.random.Generator, out: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Draw `sizes[c]` rows of each class c, into `out` if given: rows and their classes."""
        members = [np.flatnonzero(self.classes == c) for c in range(len(sizes))]
        chosen = np.concatenate([rng.choice(m, size) for m, size in zip(members, sizes, strict=True)])
        drawn = self.rows[chosen] if out is None else np.take(self.rows, chosen, axis=0, out=out)
        return drawn, np.repeat(np.arange(len(sizes)), sizes)


def fitted_covariance(rows: np.ndarray) -> Dense:
    """Return the Ledoit-Wolf covariance of rows: shrunk towards a multiple of the identity.

    Rows that vary in few directions, or in none, leave a token variance in the others.
    """
    from sklearn.covariance import ledoit_wolf

    matrix, _ = ledoit_wolf(rows)
    size = np.trace(matrix) / len(matrix)
    return Dense(matrix + (1e-9 * size + 1e-300) * np.eye(len(matrix)))


def strong_directions(rows: np.ndarray, flips: int = _FLIPS, seed: int = 0) -> int:
    """Count directions whose variance is larger than any that random signs leave.

    Each entry's sign is flipped at random, which keeps variances and destroys correlations; a direction is
    strong if its variance exceeds the largest that any of the flipped copies shows. A rough number: base no
    prediction on it.

    Parameters
    ----------
    rows : ndarray, shape (n, d)
    flips : int, default 19
        Copies; 19 leave a chance of 5 % for one direction too many.
    seed : int, default 0

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> rows = rng.normal(size=(200, 10)) + 3 * rng.normal(size=(200, 1))
    >>> strong_directions(rows), strong_directions(rng.normal(size=(200, 10)))
    (1, 0)
    """
    rng = stream(seed, "sign flips")
    x = rows - rows.mean(axis=0)
    gram = x if x.shape[0] >= x.shape[1] else x.T
    values = np.linalg.eigvalsh(gram.T @ gram)
    top = 0.0
    for _ in range(flips):
        flipped = gram * rng.choice([-1.0, 1.0], gram.shape)
        top = max(top, float(np.linalg.eigvalsh(flipped.T @ flipped)[-1]))
    return int((values > top).sum())


def spiked_covariance(rows: np.ndarray, spikes: int | Literal["auto"]) -> Covariance:
    """Return a flat covariance with a few strong directions, their strengths freed of the noise's share.

    A spike 1 + θ appears in the sample as (1 + θ)(1 + γ/θ), γ = d/n; this is inverted. Spikes below √γ cannot
    be told from noise and are left out.

    Parameters
    ----------
    rows : ndarray, shape (n, d)
    spikes : int or "auto"
        How many; by itself as `strong_directions` counts.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> rows = rng.normal(size=(4000, 16)) + 0.5 * rng.normal(size=(4000, 1))  # a spike of 16 / 4
    >>> spiked_covariance(rows, "auto").strengths.tolist()
    [4.]
    """
    n, d = rows.shape
    count = (
        strong_directions(rows) if spikes == "auto" else check_count("spikes", spikes, 0, min(n - 1, d - 1))
    )
    values, vectors = np.linalg.eigh(np.cov(rows, rowvar=False).reshape(d, d))
    token = max(1e-12 * float(values[-1]), 1e-300)  # rows that vary in few directions, or in none
    scale = max(float(values[: d - count].mean()), token)
    seen, gamma = values[d - count :] / scale, d / n
    half = seen - 1 - gamma
    strengths = 0.5 * (half + np.sqrt(np.maximum(half**2 - 4 * gamma, 0)))
    kept = strengths > np.sqrt(gamma)
    return Spiked(strengths[kept], vectors[:, d - count :][:, kept], scale)


def fitted_laws(
    X: ArrayLike, labels: ArrayLike, spikes: int | Literal["auto"] | None
) -> tuple[np.ndarray, np.ndarray, list[Covariance]]:
    """Return weights, means and covariances of the classes; see `GaussianMixture.fit`."""
    data = labelled(X, labels, names=("X", "labels"))
    if data.counts.min() < 2:
        raise ValueError(f"labels: class {data.classes[data.counts.argmin()]} has one row; two are needed")
    parts = [data.features[data.index == c].astype(float) for c in range(len(data.classes))]
    laws: list[Covariance] = [
        fitted_covariance(part) if spikes is None else spiked_covariance(part, spikes) for part in parts
    ]
    return data.counts / data.counts.sum(), np.array([part.mean(axis=0) for part in parts]), laws
