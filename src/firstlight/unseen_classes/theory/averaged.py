"""The kernel for heads that are not Gaussian: given a neuron's head, then averaged over it.

Given α a neuron's pre-activations are normal with means τ α·(Bᵀx), so Hermite coefficients at shifted means
and Mehler's series give their products.
"""

from collections.abc import Iterator
from functools import lru_cache

import numpy as np

from firstlight.data.labelled import row_chunks
from firstlight.maths.activations import Activation
from firstlight.unseen_classes.theory.heads import Head, bulk_weights, head_nodes

_STEP, _EDGE = 0.02, 12.0  # He_k(z) φ(z)/√k! is below 1e-15 beyond; a kink costs a step squared over 12
_DEGREE = 80
_NEGLIGIBLE = 1e-6
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
        self.nodes, self.weights = head_nodes(head, along[0].shape[1], typical_shift(tau, along[0], norms[0]))

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


def typical_shift(tau: float, along: np.ndarray, norms: np.ndarray) -> float:
    """Return the typical shift of a pre-activation, relative to its spread.

    Examples
    --------
    >>> typical_shift(0.5, 2 * np.ones((1, 1)), np.ones(1))
    1.0
    """
    return float(tau * np.sqrt((along**2).sum(axis=1).mean() / max(norms.mean(), 1e-300)))
