"""The directions of input space that training meets, one by one, and the samples' components along them.

Gradient descent sees the inputs X, of shape (n, d), only through X w and Xᵀψ. Take orthonormal directions
e_0, e_1, ... as they are needed: the followed hidden ones, the first-layer rows at the start, and for each
force ψ the part of Xᵀψ that lies outside all earlier ones. Given the past X is a fresh Gaussian there, apart
from being projected orthogonally to the past forces. Hence, for d → ∞ with δ = n/d and the forces made
orthonormal across samples, χ_0, χ_1, ...:

- a new force χ has Xᵀχ/n of length 1/√δ along its own new direction e, and <χ ξ> along each earlier one;
- the samples' components along e are ξ = X e = Z + χ/√δ, Z standard normals, independent of the past.

This is gradient descent itself, at so many samples, with all directions that nobody has looked at integrated
out. No derivative of a force occurs, so activations may have kinks.
"""

import numpy as np
from scipy.linalg import solve_triangular

from firstlight.phase_transition.theory.labels import LabelSample
from firstlight.phase_transition.theory.rule import widened

_DEPENDENT = 1e-6  # share of a force's square outside the earlier ones below which it is dropped
NEGLIGIBLE = 1e-4  # share of a force's square that may be left out: it moves V(t) by about 1 %
_JITTER = 1e-10  # relative: combinations of what is known that hardly occur need no care


class Frame:
    """The components of samples along the directions met so far.

    Parameters
    ----------
    sample : LabelSample
        Labels, followed coordinates, and normals that are used first; further ones are pseudo-random.
    width : int
        Directions of the rows at the start.
    delta : float
        Samples per dimension.
    capacity : int
        Most forces that can come.
    rng : Generator
        For the further normals.
    runs : list of slice
        Samples that are alike: normals are made uncorrelated with what is known in each.

    Attributes
    ----------
    known : ndarray of shape (p, n)
        What is known of each sample: 1, the followed coordinates, Z of the start's directions, and then χ and
        Z by turns.
    """

    def __init__(
        self, sample: LabelSample, width: int, delta: float, capacity: int, rng: np.random.Generator,
        runs: list[slice],
    ) -> None:  # fmt: skip
        n, followed = sample.easy.shape
        self.sample, self.rng, self.shrink = sample, rng, delta**-0.5
        self.first = 1 + followed + width  # where the forces begin
        self._known = np.empty((self.first + 2 * capacity, n))
        self.size, self._drawn, self.dropped = 0, 0, 0.0
        self._parts = [_Part(where, sample, len(self._known)) for where in runs]
        for row in (np.ones(n), *sample.easy.T):
            self._append(row)
        for _ in range(width):
            self._append(self._normal())

    @property
    def known(self) -> np.ndarray:
        """What is known of each sample (see above)."""
        return self._known[: self.size]

    @property
    def forces(self) -> np.ndarray:
        """χ, uncorrelated and of mean square 1."""
        return self._known[self.first : self.size : 2]

    @property
    def columns(self) -> int:
        """Directions met so far."""
        return self.first - 1 + len(self.forces)

    def fields(self, W: np.ndarray) -> np.ndarray:
        """Return h = W ξ of each sample, shape (m, n), for rows W of shape (m, columns)."""
        factors = np.zeros((len(W), self.size))
        factors[:, 1 : self.first] = W[:, : self.first - 1]
        factors[:, self.first + 1 :: 2] = W[:, self.first - 1 :]
        factors[:, self.first :: 2] = self.shrink * W[:, self.first - 1 :]
        return factors @ self.known

    def normals(self, table: np.ndarray) -> np.ndarray:
        """Pick what belongs to coordinates and normals, one per column, from a table (·, p) of `known`."""
        return np.concatenate([table[..., 1 : self.first], table[..., self.first + 1 :: 2]], axis=-1)

    def add(self, psi: np.ndarray, inner: np.ndarray) -> np.ndarray:
        """Take forces ψ (m, n) in, and return their factors on χ, shape (m, number of χ).

        A new direction appears for each force that does not lie in the past; `inner` (m, p) are averages of ψ
        with all that is known. Two passes of Gram and Schmidt; one leaves errors that grow.
        """
        weight, old = self.sample.weight, self.forces
        first = inner[:, self.first :: 2]
        rest = psi - first @ old
        again = (weight * rest) @ old.T
        rest -= again @ old
        factors = widened(first + again, len(old) + len(psi))
        for j, one in enumerate(rest):
            new = self.forces[len(old) :]
            for _ in range(2):
                part = new @ (weight * one)
                one -= part @ new
                factors[j, len(old) : len(old) + len(new)] += part
            square, whole = float(weight @ one**2), float(weight @ psi[j] ** 2)
            if not square > _DEPENDENT * whole or self._full:
                self.dropped = max(self.dropped, square / whole if whole else 0.0)
                continue
            factors[j, len(self.forces)] = square**0.5
            self._append(one / square**0.5)
            self._append(self._normal())
        return factors[:, : len(self.forces)]

    def add_drawn(self, psi: np.ndarray, inner: np.ndarray, drawn: np.ndarray, share: float) -> np.ndarray:
        """Take in forces ψ (m, n) of a batch that is independent of the past; return their factors on χ.

        The batch is a share of all samples, those where `drawn` = s/b is not 0. Averages with what is known
        are taken over all samples, since <s/b> = 1; the squares have <s²/b²> = 1/b, and at least (1 - 1/b)
        of <ψψᵀ> lies outside the past. New directions appear for each force.
        """
        old, inner = self.forces, inner[:, self.first :: 2]
        square = (self.sample.weight * psi) @ psi.T
        if self._full:
            self.dropped = 1.0
            return inner
        least = (1 / share - 1) * square
        values, axes = np.linalg.eigh(square - inner @ inner.T)
        rest = least + (axes * np.maximum(values, 0.0)) @ axes.T
        if not np.trace(rest):  # no force, no new direction
            return inner
        root = np.linalg.cholesky(rest + 1e-13 * np.trace(rest) * np.eye(len(psi)))
        for row in solve_triangular(root, drawn * psi - inner @ old, lower=True):
            self._append(row)
            self._append(self._normal())
        return np.hstack([inner, root])

    @property
    def _full(self) -> bool:
        return any(part.full(self.size) for part in self._parts)

    def _append(self, row: np.ndarray) -> None:
        self._known[self.size] = row
        self.size += 1
        for part in self._parts:
            part.append(self.known[:, part.where])

    def _normal(self) -> np.ndarray:
        """Return the next normal, uncorrelated with all that is known and of variance 1 for each label.

        So it would be for infinitely many samples; this is most of the error of finitely many.
        """
        ready, self._drawn = self.sample.normals, self._drawn + 1
        if self._drawn <= ready.shape[1]:
            z = ready[:, self._drawn - 1].copy()
        else:
            z = self.rng.standard_normal(len(ready))
        for part in self._parts:
            part.clear(z[part.where], self.known[:, part.where])
        return z


class _Part:
    """Samples of one label, or all: normals are made uncorrelated with what is known, times 1 and times C."""

    def __init__(self, where: slice, sample: LabelSample, capacity: int) -> None:
        self.where = where
        second = sample.second[where]
        upper = second[:, *np.triu_indices(second.shape[1])].T
        varying = [row for row in upper if np.ptp(row) > 1e-9 * np.abs(row).max()]
        self.times = np.vstack([np.ones(len(second)), *varying])
        size = len(self.times) * capacity
        self._whiten, self._largest = np.zeros((size, size)), 0.0  # L⁻¹ of their Gram matrix LLᵀ

    def full(self, p: int) -> bool:
        """Tell whether another force and normal would be conditions for half as many as there are samples."""
        return 2 * (p + 2) * len(self.times) >= self.times.shape[1]

    def append(self, known: np.ndarray) -> None:
        """Let what makes all conditions uncorrelated grow by those of the last row."""
        for i, times in enumerate(self.times):
            size = (len(known) - 1) * len(self.times) + i
            gram = (known @ (self.times * (times * known[-1])).T).ravel()
            self._largest = max(self._largest, float(gram[size]))
            whiten = self._whiten[:size, :size]
            inner = whiten @ gram[:size]
            length = np.sqrt(max(gram[size] - inner @ inner, 0.0) + _JITTER * self._largest)
            self._whiten[size, :size], self._whiten[size, size] = -(inner @ whiten) / length, 1 / length

    def clear(self, z: np.ndarray, known: np.ndarray) -> None:
        """Change z in place."""
        p, q = len(known), len(self.times)
        whiten = self._whiten[: p * q, : p * q]
        inner = (known @ (self.times * z).T).ravel()
        factors = (whiten.T @ (whiten @ inner)).reshape(p, q)
        z -= ((factors.T @ known) * self.times).sum(axis=0)
        z *= (z.size / (z @ z)) ** 0.5
