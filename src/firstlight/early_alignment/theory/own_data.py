"""Early alignment on any two classes: how far from separable, where neurons go, how small a start."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from firstlight.early_alignment.theory.align import align
from firstlight.early_alignment.theory.path import AlignmentPath

_LEVEL = 0.01  # what outputs may reach while neurons turn
_GAP = 0.01  # of the cosine to the end, at which a neuron has arrived


@dataclass(frozen=True, eq=False)
class PairCosines:
    """Cosines of y_i x_i and y_k x_k over all pairs of rows.

    Attributes
    ----------
    values : ndarray, shape (n (n - 1) / 2,)
    violating : ndarray, shape (n,)
        For each row, the share of others with which its cosine is negative.
    """

    values: np.ndarray
    violating: np.ndarray

    @property
    def mu(self) -> float:
        """The least: positive for orthogonally separable rows."""
        return float(self.values.min())

    @property
    def q10(self) -> float:
        """Nine pairs in ten have a larger one; what decides how well neurons find their class."""
        return float(np.quantile(self.values, 0.1))

    @property
    def share(self) -> float:
        """Share of pairs that violate separability."""
        return float((self.values < 0).mean())

    @property
    def word(self) -> Literal["holds", "mostly", "in part"]:
        """The rule: above 0 it holds, above -0.2 mostly, else in part."""
        return "holds" if self.q10 > 0 else "mostly" if self.q10 > -0.2 else "in part"


def pair_cosines(X: np.ndarray, y: np.ndarray) -> PairCosines:
    """Compute cos(y_i x_i, y_k x_k) for all i < k.

    Parameters
    ----------
    X : ndarray, shape (n, d)
        No zero row.
    y : ndarray, shape (n,)
        ±1.

    Examples
    --------
    >>> found = pair_cosines(np.array([[1.0, 0.0], [1.0, 1.0], [-1.0, 0.0]]), np.array([1, 1, -1]))
    >>> found.mu, found.word, found.violating.tolist()
    (0.707, 'holds', [0.0, 0.0, 0.0])
    """
    Z = X * (y / np.linalg.norm(X, axis=1))[:, None]
    gram = np.clip(Z @ Z.T, -1, 1)  # rows that point the same way may differ from 1 by rounding
    n = len(gram)
    negative = (gram < 0).sum(axis=1) / max(n - 1, 1)
    return PairCosines(gram[np.triu_indices(n, 1)], negative)


def right_active(directions: np.ndarray, signs: np.ndarray, X: np.ndarray, y: np.ndarray) -> float:
    """Return the share of rows on which live neurons are right: active on their class and on no other.

    Neurons that are active on no row are dead and do not count.

    Examples
    --------
    >>> right_active(np.eye(2), np.array([1, -1]), np.array([[1.0, 0.0], [1.0, 1.0]]), np.array([1, -1]))
    0.75
    """
    active = directions @ X.T > 0
    live = active.any(axis=1)
    right = active == (signs[:, None] == y)
    return float(right[live].mean()) if live.any() else float("nan")


def right_by_chance(directions: np.ndarray, signs: np.ndarray, X: np.ndarray, y: np.ndarray) -> float:
    """Return what `right_active` is on average over all orders of the labels: if they do not follow the rows.

    Examples
    --------
    >>> X, y = np.array([[1.0, 0.0], [1.0, 1.0], [1.0, 0.0]]), np.array([1, 1, -1])
    >>> right_by_chance(np.eye(2), np.array([1, -1]), X, y)
    0.611
    """
    active = (directions @ X.T > 0).mean(axis=1)
    live = active > 0
    own = (signs[:, None] == y).mean(axis=1)
    right = active * own + (1 - active) * (1 - own)
    return float(right[live].mean()) if live.any() else float("nan")


@dataclass(frozen=True, eq=False)
class Course:
    """Where the neurons of one start go, in the limit of a small start.

    Attributes
    ----------
    path : AlignmentPath
    time : float
        t95: 95 % of the live neurons are within cosine 0.99 of their end.
    log_scale : float
        log ε*: the largest start for which outputs stay below 0.01 until then.
    """

    path: AlignmentPath
    time: float
    log_scale: float

    @property
    def signs(self) -> np.ndarray:
        """Signs of the second layer."""
        return np.where(self.path.second < 0, -1, 1)

    def directions(self) -> np.ndarray:
        """Return the neurons' directions at t95."""
        return self.path.direction(self.time)

    def ends(self) -> np.ndarray:
        """Return their directions long after t95."""
        return self.path.direction(20 * self.time)

    def dead(self) -> float:
        """Share of neurons that are dead by t95."""
        return float((self.path.death_time <= self.time).mean())


def course(
    X: np.ndarray, y: np.ndarray, directions: np.ndarray, signs: np.ndarray, level: float = _LEVEL
) -> Course:
    """Follow neurons exactly until 95 % have arrived, and say how small the start must be.

    Outputs grow as ε², so that ε* = exp((log level - log max|f| at ε = 1)/2), with f at t95, or at the start
    where it is larger, as neurons that die leave nothing.

    Parameters
    ----------
    X, y
        Rows of root mean square length one, labels ±1.
    directions, signs : ndarray, shapes (h, d) and (h,)
        A balanced start.
    level : float, default 0.01
        Below which outputs are to stay.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> found = course(np.eye(2), np.array([1.0, -1.0]), rng.normal(size=(20, 2)), rng.choice([-1, 1], 20))
    >>> bool(found.time > 0), bool(np.exp(found.log_scale) < 0.1)
    (True, True)
    """
    path = align(X, y, directions, signs, reduction="mean")
    arrived = path.time_to_cosine(_GAP)
    finite = arrived[np.isfinite(arrived)]
    time = float(np.quantile(finite, 0.95)) if len(finite) else float(path.last_event)
    time = max(time, 1e-3)
    log_output = max(path.log_output(t, np.zeros(len(directions))) for t in (0.0, time))
    return Course(path, time, 0.5 * (np.log(level) - log_output))
