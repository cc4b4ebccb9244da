"""Directions that labels depend on, found in data: easy ones by conditional means, hard ones by covariances.

Nothing is assumed about the law of the rows: p-values come from permuting labels, and once something easy is
known only among rows that look alike to it, since a linear signal alone makes covariances differ.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from scipy.stats import rankdata

FOUND, HINT = 0.01, 0.05
_BLOCK = 10  # rows that count as alike
_MOST = 12  # directions of a kind


def whitened(x: np.ndarray) -> np.ndarray:
    """Return rows with mean zero and covariance near the identity, by the Ledoit-Wolf estimate.

    Directions in which more rows than columns do not vary at all (a column that others add up to) are left
    out: their variance of zero would pass for a hidden direction that every label shows.

    Examples
    --------
    >>> z = whitened(np.random.default_rng(0).normal(size=(5000, 2)) * [1.0, 10.0])
    >>> np.cov(z.T).ravel().tolist()
    [1.0, 0.0, 0.0, 1.0]
    """
    from sklearn.covariance import ledoit_wolf

    x = x - x.mean(axis=0)
    x = x / np.maximum(x.std(axis=0), 1e-300)  # units play no part in whitening
    values, vectors = np.linalg.eigh(ledoit_wolf(x, assume_centered=True)[0])
    rows, spread = x @ vectors, (x @ vectors).var(axis=0)
    varies = (spread > 1e-12 * spread.max()) | (len(x) <= x.shape[1])
    return np.asarray(rows[:, varies] / np.sqrt(np.maximum(values[varies], 1e-12 * values[-1])))


def slices(y: np.ndarray, classes: int) -> np.ndarray:
    """Return the slice of each row: its class, or one of 2 to 8 equal shares of sorted numbers.

    Equal numbers share a slice: the order of rows must not tell them apart. No slice is empty.

    Examples
    --------
    >>> np.bincount(slices(np.arange(120.0), 0)).tolist()
    [40, 40, 40]
    """
    count = int(np.clip(len(y) // 40, 2, 8))
    place = y if classes else ((rankdata(y) - 0.5) * count / len(y)).astype(int)
    return np.unique(place, return_inverse=True)[1]


def blocks(scores: np.ndarray) -> list[np.ndarray]:
    """Cut rows into groups of about ten that lie close in their scores, by halving along the widest.

    Examples
    --------
    >>> sorted(len(b) for b in blocks(np.arange(40.0)[:, None]))
    [10, 10, 10, 10]
    """

    def cut(rows: np.ndarray) -> Iterator[np.ndarray]:
        if len(rows) < 2 * _BLOCK:
            yield rows
            return
        widest = int(np.ptp(scores[rows], axis=0).argmax())
        order = rows[np.argsort(scores[rows, widest], kind="stable")]
        middle = len(order) // 2
        yield from cut(order[:middle])
        yield from cut(order[middle:])

    return list(cut(np.arange(len(scores))))


def permuted(rows: int, groups: list[np.ndarray] | None, rng: np.random.Generator) -> np.ndarray:
    """Return a random order of rows, or one that only exchanges rows of a group."""
    if groups is None:
        return rng.permutation(rows)
    order = np.empty(rows, int)
    for group in groups:
        order[group] = rng.permutation(group)
    return order


@dataclass(frozen=True, eq=False)
class Found:
    """Directions of one kind.

    Attributes
    ----------
    directions : ndarray, shape (d, r)
        Orthonormal, of whitened rows; those with p at most 0.05.
    p : tuple of float
        Of each direction that was tried; the last one that is above 0.05 ends the search.
    statistic : int
        Which of the matrices of `hard_directions` showed the first one; 0 for easy ones.
    """

    directions: np.ndarray
    p: tuple[float, ...]
    statistic: int = 0

    @property
    def count(self) -> int:
        """Directions that stand out at p ≤ 0.01."""
        return next((i for i, p in enumerate(self.p) if p > FOUND), len(self.p))


def easy_directions(
    z: np.ndarray,
    part: np.ndarray,
    permutations: int,
    rng: np.random.Generator,
    check: Callable[[], None] = lambda: None,
) -> Found:
    """Find the directions in which the mean of a row depends on its slice.

    Parameters
    ----------
    z : ndarray, shape (n, d)
        Whitened rows.
    part : ndarray of int, shape (n,)
        The slice of each row.
    permutations : int
        B; p = (1 + #≥)/(1 + B).
    check : callable
        Called now and then; may raise to end the search.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> z = rng.normal(size=(300, 5))
    >>> signal = easy_directions(z, (z[:, 2] > 0).astype(int), 99, rng)
    >>> signal.count, bool(abs(signal.directions[2, 0]) > 0.9)
    (1, True)
    """
    n, d = z.shape
    counts = np.bincount(part).astype(float)
    one_hot = (part[:, None] == np.arange(len(counts))) / np.sqrt(counts)
    basis: np.ndarray = np.zeros((d, 0))
    p: list[float] = []
    for place in range(min(len(counts) - 1, d, _MOST)):
        check()
        rest = z - z @ basis @ basis.T
        groups = blocks(z @ basis) if place else None
        observed = one_hot.T @ rest

        def statistic(means: np.ndarray, first: bool = place == 0) -> float:
            # all of the signal first; then only its largest direction
            return float((means**2).sum() if first else np.linalg.norm(means, 2) ** 2)

        null = [statistic(one_hot[permuted(n, groups, rng)].T @ rest) for _ in range(permutations)]
        p.append((1 + sum(value >= statistic(observed) for value in null)) / (1 + permutations))
        if p[-1] > HINT:
            break
        basis = np.column_stack([basis, np.linalg.svd(observed)[2][0]])
    return Found(basis, tuple(p))


def complement(basis: np.ndarray) -> np.ndarray:
    """Return an orthonormal frame of all that some directions leave, shape (d, d - r)."""
    return np.linalg.svd(basis, full_matrices=True)[0][:, basis.shape[1] :]


def cut(z: np.ndarray, basis: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return rows without some directions, all brought to the same length, and the frame they are in."""
    frame = complement(basis)
    rest = z @ frame
    length = np.linalg.norm(rest, axis=1, keepdims=True)
    return rest * (np.sqrt(rest.shape[1]) / np.where(length > 0, length, 1.0)), frame


def excess(z: np.ndarray, part: np.ndarray) -> list[np.ndarray]:
    """Return V_h = Cov(z | h) - I of each slice; zero of one that has no rows here."""
    identity = np.eye(z.shape[1])
    covariances = []
    for h in range(int(part.max()) + 1):
        mine = z[part == h]
        mine = mine - mine.sum(axis=0) / max(len(mine), 1)
        covariances.append(mine.T @ mine / len(mine) - identity if len(mine) else 0 * identity)
    return covariances


def spread_matrix(z: np.ndarray, part: np.ndarray) -> np.ndarray:
    """Return M = Σ_h p_h V_h², whose leading directions are those whose spread depends on the label."""
    shares = np.bincount(part) / len(part)
    return np.asarray(sum(share * v @ v for share, v in zip(shares, excess(z, part), strict=True)))


def _matrices(z: np.ndarray, part: np.ndarray, ranks: np.ndarray) -> list[np.ndarray]:
    """All matrices whose largest eigenvalue, by size, is a statistic."""
    weighted = [(z * weight[:, None]).T @ z / len(z) for weight in ranks.T]
    return [spread_matrix(z, part), *weighted]


def _weights(y: np.ndarray, classes: int) -> np.ndarray:
    """Centred functions T(y): rank and distance from the middle rank; of two classes the indicator."""
    if classes > 2:
        return np.zeros((len(y), 0))
    rank = rankdata(y) / len(y)
    weights = y[:, None].astype(float) if classes == 2 else np.column_stack([rank, np.abs(rank - 0.5)])
    return weights - weights.mean(axis=0)


def hard_directions(
    z: np.ndarray,
    y: np.ndarray,
    classes: int,
    easy: np.ndarray,
    permutations: int,
    rng: np.random.Generator,
    check: Callable[[], None] = lambda: None,
    most: int = _MOST,
) -> Found:
    """Find directions that show only in how rows spread, after taking the easy ones out.

    Three statistics (λ_max of M; the largest |eigenvalue| of (1/n) Σ T(y) z zᵀ for ranks and for distances
    from the middle rank; for two classes their indicator) are standardised over the observed and permuted
    values, and the largest is ranked: exact if labels may be exchanged, within blocks once easy ones exist.

    Parameters
    ----------
    z : ndarray, shape (n, d)
        Whitened rows.
    y : ndarray, shape (n,)
        Class numbers, or numbers.
    classes : int
        How many; 0 for numbers.
    easy : ndarray, shape (d, r)
        Easy directions.
    check : callable
        As in `easy_directions`.
    most : int, default 12
        How many are looked for.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> z = rng.normal(size=(400, 6))
    >>> signal = hard_directions(z, z[:, 1] ** 2, 0, np.zeros((6, 0)), 99, rng)
    >>> signal.count, bool(abs(signal.directions[1, 0]) > 0.9)
    (1, True)
    """
    part, weights = slices(y, classes), _weights(y, classes)
    known, chosen = easy, 0
    p: list[float] = []
    while known.shape[1] < min(easy.shape[1] + most, z.shape[1] - 1):
        rows, frame = cut(z, known)
        groups = blocks(z @ known) if known.shape[1] else None
        matrices = _matrices(rows, part, weights)
        values = [[_largest(m) for m in matrices]]
        for _ in range(permutations):
            check()
            order = permuted(len(z), groups, rng)
            values.append([_largest(m) for m in _matrices(rows, part[order], weights[order])])
        table = np.array(values)
        table = (table - table.mean(axis=0)) / np.maximum(table.std(axis=0), 1e-300)
        combined = table.max(axis=1)
        p.append((1 + int((combined[1:] >= combined[0]).sum())) / (1 + permutations))
        best = int(table[0].argmax())
        chosen = best if len(p) == 1 else chosen
        if p[-1] > HINT:
            break
        known = np.column_stack([known, frame @ _leading(matrices[best], 1)])
    return Found(known[:, easy.shape[1] :], tuple(p), chosen)


def directions_of(
    z: np.ndarray, y: np.ndarray, classes: int, easy: int, hard: int, statistic: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    """Return the so many leading easy and hard directions of rows, without any test.

    Parameters
    ----------
    z, y, classes
        As in `hard_directions`.
    easy, hard : int
        How many of each.
    statistic : int, default 0
        Which matrix shows the hard ones, as `Found` says.

    Returns
    -------
    easy, hard : ndarray, shapes (d, easy) and (d, hard)
    """
    part = slices(y, classes)
    counts = np.bincount(part)
    means = np.array([z[part == h].sum(axis=0) / np.sqrt(count) for h, count in enumerate(counts) if count])
    first = np.linalg.svd(means)[2][:easy].T
    rows, frame = cut(z, first)
    return first, frame @ _leading(_matrices(rows, part, _weights(y, classes))[statistic], hard)


def _leading(matrix: np.ndarray, count: int) -> np.ndarray:
    """Eigenvectors of the largest eigenvalues by size."""
    values, vectors = np.linalg.eigh(matrix)
    return vectors[:, np.argsort(-np.abs(values))[:count]]


def _largest(matrix: np.ndarray) -> float:
    values = np.linalg.eigvalsh(matrix)
    return float(max(-values[0], values[-1]))
