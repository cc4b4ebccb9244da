"""The kernel and the movement for heads that are not Gaussian: given a neuron's head, then averaged over it.

Given α a neuron's pre-activations are normal with means τ α·(Bᵀx), so Hermite coefficients at shifted means
and Mehler's series give their products.
"""

from collections.abc import Iterator
from functools import lru_cache

import numpy as np
from scipy.interpolate import CubicSpline
from scipy.special import roots_genlaguerre

from firstlight.data.labelled import row_chunks
from firstlight.maths.activations import Activation
from firstlight.unseen_classes.theory.heads import Head, bulk_weights, head_nodes

_STEP, _EDGE = 0.02, 12.0  # He_k(z) φ(z)/√k! is below 1e-15 beyond; a kink costs a step squared over 12
_DEGREE = 80
_NEGLIGIBLE = 1e-6
_SMALL = 1e-10  # below this share of E σ² differences of duals keep fewer than six digits
_MEMORY = 64 * 2**20


class Averaged:
    """Averages over neurons with given heads, for samples with known shifts and variances.

    Parameters
    ----------
    activation : Activation
    head : "rademacher" or array_like of shape (N,) or (N, C)
    tau : float
    along : tuple of ndarray, shapes (a, C) and (b, C)
        Bᵀx of the samples of either side; the same object twice if they are the same.
    norms : tuple of ndarray, shapes (a,) and (b,)
        |x|²/d.
    bulks : tuple of ndarray, shapes (parts, a) and (parts, b)
        xᵀMx of each part of the bulk; see `bulk_weights`.
    overlap : ndarray, shape (a, b)
        x·x'/d.
    bulk_overlap : ndarray, shape (parts, a, b), or None
        xᵀMx'.
    """

    def __init__(
        self, activation: Activation, head: Head, tau: float, along: tuple, norms: tuple, bulks: tuple,
        overlap: np.ndarray, bulk_overlap: np.ndarray | None,
    ) -> None:  # fmt: skip
        self.activation, self.tau, self.along = activation, tau, along
        self.norms, self.bulks = norms, bulks
        self.overlap, self.bulk_overlap = overlap, bulk_overlap
        self.nodes, self.weights = head_nodes(head, along[0].shape[1], _shift(tau, along[0], norms[0]))

    def kernel(self, slope: bool = False) -> np.ndarray:
        """E σ(z)σ(z') or, with `slope`, E[α² σ'(z)σ'(z')] of a single output; shape (a, b)."""
        total = np.zeros_like(self.overlap)
        for share, chosen in self._groups():
            part = 0.0 if self.bulk_overlap is None else np.tensordot(share, self.bulk_overlap, 1)
            stds = [
                np.sqrt(q + np.maximum(share @ v, 0)) for q, v in zip(self.norms, self.bulks, strict=True)
            ]
            size = np.outer(*stds)
            rho = np.divide(self.overlap + part, size, out=np.zeros_like(size), where=size > 0)
            np.clip(rho, -1, 1, out=rho)
            for nodes in row_chunks(len(chosen), 8 * (_DEGREE + 1) * max(map(len, stds)), _MEMORY):
                total += self._series(rho, stds, chosen[nodes], slope)
        return total

    def _groups(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Nodes with the same shares of the bulk, times τ²: they have the same correlations."""
        shares = bulk_weights(self.nodes, len(self.bulks[0])) * (self.bulk_overlap is not None)
        different, place = np.unique(shares.round(12), axis=0, return_inverse=True)
        for i, share in enumerate(different):
            yield self.tau**2 * share, np.flatnonzero(place.ravel() == i)

    def _series(self, rho: np.ndarray, stds: list, chosen: np.ndarray, slope: bool) -> np.ndarray:
        weights = self.weights[chosen] * (self.nodes[chosen, 0] ** 2 if slope else 1.0)
        largest = float(np.abs(rho[np.abs(rho) < 1 - 1e-9]).max(initial=0.5))
        degree = int(np.clip(np.ceil(np.log(_NEGLIGIBLE) / np.log(largest)), 8, _DEGREE))
        sides: list[tuple[np.ndarray, np.ndarray]] = []
        for b, std in zip(self.along, stds, strict=True):
            if sides and b is self.along[0]:
                sides.append(sides[0])
                continue
            mean = self.tau * (b @ self.nodes[chosen].T)
            sides.append(_coefficients(self.activation, mean, std, degree, slope))
        (first, first_rest), (second, second_rest) = sides
        total, power = np.zeros_like(rho), np.ones_like(rho)
        for k in range(degree + 1):
            total += power * ((weights * first[k]) @ second[k].T)
            power *= rho
        # what the series leaves out is at most this, and exactly this for equal samples
        return total + np.maximum(power, 0) * (rho > 0) * ((weights * first_rest) @ second_rest.T)


def _coefficients(
    activation: Activation, mean: np.ndarray, std: np.ndarray, degree: int, slope: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Normalised Hermite coefficients, shape (degree + 1,) + mean.shape, and the root of what they leave."""
    z, basis = _basis(degree)
    coefficients, square = np.empty((*mean.shape, degree + 2)), np.empty(mean.shape)
    for rows in row_chunks(len(mean), 8 * len(z) * mean.shape[1], _MEMORY):
        inputs = mean[rows, :, None] + std[rows, None, None] * z
        values = activation(inputs)
        coefficients[rows] = values @ basis
        square[rows] = (activation.derivative(inputs) if slope else values) ** 2 @ basis[:, 0]
    if slope:  # E[σ'(m + sz) He_k] = E[σ(m + sz) He_{k+1}]/s
        order = np.sqrt(np.arange(1, degree + 2))
        coefficients = coefficients[..., 1:] * order / np.where(std > 0, std, 1.0)[:, None, None]
    else:
        coefficients = coefficients[..., :-1]
    rest = np.sqrt(np.maximum(square - (coefficients**2).sum(axis=-1), 0))
    return np.ascontiguousarray(np.moveaxis(coefficients, -1, 0)), rest


@lru_cache(maxsize=8)
def _basis(degree: int) -> tuple[np.ndarray, np.ndarray]:
    """Points z, and He_k(z) φ(z) step/√k! at them, by its three-term recursion, up to degree + 1."""
    z = np.arange(-_EDGE, _EDGE + _STEP / 2, _STEP)
    basis = np.empty((len(z), degree + 2))
    basis[:, 0] = np.exp(-(z**2) / 2) / np.exp(-(z**2) / 2).sum()
    basis[:, 1] = z * basis[:, 0]
    for k in range(1, degree + 1):
        basis[:, k + 1] = (z * basis[:, k] - np.sqrt(k) * basis[:, k - 1]) / np.sqrt(k + 1)
    return z, basis


def _shift(tau: float, along: np.ndarray, norms: np.ndarray) -> float:
    """Typical shift of a pre-activation, relative to its spread."""
    return float(tau * np.sqrt((along**2).sum(axis=1).mean() / max(norms.mean(), 1e-300)))


def averaged_movement(
    activation: Activation, head: Head, tau: float, along: np.ndarray, norms: np.ndarray, bulk: np.ndarray
) -> np.ndarray:
    """Movement E(σ(z0 + δ) - σ(z0))² of each sample, δ = τα·(b + ε), ε ~ N(0, V), z0 ~ N(0, q).

    `bulk` has shape (parts, n) or, of one part, (n,): see `bulk_weights`.

    Examples
    --------
    >>> from firstlight.maths.activations import activation
    >>> one = np.ones(1)
    >>> averaged_movement(activation("linear"), "rademacher", 0.5, 2 * np.ones((1, 1)), one, one)
    array([1.2500])
    """
    nodes, weights = head_nodes(head, along.shape[1], _shift(tau, along, norms))
    parts = np.atleast_2d(bulk)
    shares = bulk_weights(nodes, len(parts))
    noise, chance = _normal(6.0 if bulk.any() else 0.0)
    result = np.empty(len(norms))
    for i, (b, q, v) in enumerate(zip(along, norms, parts.T, strict=True)):
        shift = tau * ((nodes @ b)[:, None] + np.outer(np.sqrt(np.maximum(shares @ v, 0)), noise))
        moved = _movement(activation, float(np.sqrt(q)), shift)
        result[i] = weights @ (moved @ chance)
    return result


def gaussian_movement(
    activation: Activation, tau: float, along: np.ndarray, norms: np.ndarray, bulk: np.ndarray, outputs: int
) -> np.ndarray:
    """Movement of each sample for Gaussian heads: δ = τα·(b + ε) is N(0, τ²|b + ε|²) given ε, over which H is
    averaged: E_ε H(τ²|b + ε|²), H(v) = E(σ(z0 + √v g) - σ(z0))².

    Parameters
    ----------
    along : ndarray, shape (n,)
        |b| = |Bᵀx|.
    norms, bulk : ndarray, shape (n,)
        q = |x|²/d and V = xᵀMx, the variance of ε, which all its directions share alike.
    outputs : int
        Number of these directions: the rank of B.

    Examples
    --------
    >>> from firstlight.maths.activations import activation
    >>> one = np.ones(1)
    >>> gaussian_movement(activation("linear"), 0.5, 2 * one, one, one, 1).tolist()
    [1.2500]
    """
    noise, chance = _normal(6.0 if bulk.any() else 0.0)
    rest, share = np.zeros(1), np.ones(1)
    if outputs > 1 and bulk.any():  # ε across b: χ² of one degree less
        rest, share = roots_genlaguerre(16, (outputs - 3) / 2)
        rest, share = 2 * rest, share / share.sum()
    weights, result = np.outer(chance, share).ravel(), np.empty(len(norms))
    for rows in row_chunks(len(norms), 64 * len(weights), _MEMORY):
        q, spread = norms[rows, None, None], np.sqrt(bulk[rows] / outputs)[:, None, None]
        square = (along[rows, None, None] + spread * noise[:, None]) ** 2 + spread**2 * rest
        v = tau**2 * square.reshape(len(q), -1)
        result[rows] = _given_variance(activation, norms[rows], v, weights)
    return result


def _given_variance(activation: Activation, q: np.ndarray, v: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Average of H(v) for each q (n) over its v (n × m): by the dual, or as it stands where that cancels."""
    result, dual = np.zeros(len(q)), activation.closed_dual
    small = np.full(len(q), True)
    if dual is not None:
        before, after = np.broadcast_to(q[:, None], v.shape), q[:, None] + v
        size = dual(before, before, before)
        moved = dual(after, after, after) + size - 2 * dual(before, after, before)
        result = np.maximum(moved, 0) @ weights
        small = result < _SMALL * size[:, 0]
    noise, chance = _normal(8.0)
    for i in np.flatnonzero(small & v.any(axis=1)):
        shift = np.sqrt(v[i])[:, None] * noise
        result[i] = weights @ (_movement(activation, float(np.sqrt(q[i])), shift) @ chance)
    return result


def _normal(reach: float) -> tuple[np.ndarray, np.ndarray]:
    """Even nodes and weights of the normal law; one node at 0 for no reach."""
    nodes = np.linspace(-reach, reach, 121) if reach else np.zeros(1)
    density = np.exp(-(nodes**2) / 2)
    return nodes, density / density.sum()


def _movement(activation: Activation, std: float, shift: np.ndarray) -> np.ndarray:
    """E(σ(z + δ) - σ(z))², z ~ N(0, std²), for many shifts δ: by a spline, fine where δ is small."""
    reach = float(np.abs(shift).max())
    if std == 0 or reach == 0:
        return (activation(shift) - activation(np.zeros(1))) ** 2
    z = np.arange(-8.5, 8.5 + 0.01, 0.02)
    density = np.exp(-(z**2) / 2) / np.exp(-(z**2) / 2).sum()
    end = np.arcsinh(1.0001 * reach / std)
    grid = std * np.sinh(np.linspace(-end, end, 121))
    values = (activation(std * z + grid[:, None]) - activation(std * z)) ** 2 @ density
    return CubicSpline(grid, values)(shift)
