"""What a DMFT run leaves: losses, overlaps, covariances, and the laws from which spectra follow."""

from dataclasses import dataclass

import numpy as np

from firstlight.phase_transition.definitions import Student
from firstlight.phase_transition.theory.hessian import HessianSpectrum, spectrum_of
from firstlight.phase_transition.theory.labels import LabelSample
from firstlight.phase_transition.theory.law import CurvatureLaw
from firstlight.phase_transition.theory.resolvent import Bulk

_ALIKE = 1e-4  # share of the forces' variance below which a combination of them is dropped


@dataclass(frozen=True)
class DmftPath:
    """Training in the limit of many dimensions.

    Attributes
    ----------
    delta, step_size : float
        Samples per dimension, and the step.
    train_loss, test_loss : ndarray of shape (steps + 1,)
        Mean loss on the training samples and on fresh ones, without the ridge penalty.
    train_error, test_error : ndarray of shape (steps + 1,)
        P(sign f ≠ sign y) on the training samples and on fresh ones.
    covariance : ndarray of shape (steps + 1, steps + 1, m, m)
        C(t, s) = W^tᵀ W^s; its diagonal holds the squared norms.
    overlap : ndarray of shape (steps + 1, m, e)
        M^t, with the followed directions (the easy ones, or all if the hard ones are not held).
    hard_variance : ndarray of shape (steps + 1, m h, m h)
        V(t) = lim d·E[u uᵀ] of the hard overlaps u = (w_j·θ_a), in the linear regime.
    start_response : ndarray of shape (steps + 1, m h, m h)
        What the hard overlaps at the start are multiplied with, in the linear regime; data add to that.
    times : tuple of int
        The steps whose laws and spectra are asked for.
    fields : ndarray of shape (steps + 1, n, m)
        h^t of each sample.
    """

    delta: float
    step_size: float
    train_loss: np.ndarray
    test_loss: np.ndarray
    train_error: np.ndarray
    test_error: np.ndarray
    covariance: np.ndarray
    overlap: np.ndarray
    hard_variance: np.ndarray
    start_response: np.ndarray
    times: tuple[int, ...]
    student: Student
    sample: LabelSample
    fields: np.ndarray

    @property
    def norm(self) -> np.ndarray:
        """Squared norms |w_j|² at each step, shape (steps + 1, m)."""
        return np.einsum("ttaa->ta", self.covariance)

    def law(self, index: int, *, known: bool = True) -> CurvatureLaw:
        """Return the law of the curvature at the recorded step ``times[index]``.

        Without `known` it leaves out the directions that training knows of, which only the outliers along
        the network's own weights need.
        """
        if not -len(self.times) <= index < len(self.times):
            raise ValueError(f"index = {index}: must be one of the {len(self.times)} recorded steps")
        t = self.times[index]
        D = self.student.curvature(self.sample.y, self.fields[t])
        latent, force = self._known(t) if known else (None, None)
        return CurvatureLaw(D, self.sample.weight, self.sample.second, latent, force)

    def _known(self, t: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the inputs' components along all w^s, s ≤ t, and the easy directions; and the past forces.

        The gradients Xᵀψ/n = (κ w^s - w^{s+1})/η are much alike: combinations that hardly occur are dropped,
        the same ones of forces and of gradients.
        """
        student, sample, m = self.student, self.sample, self.student.width
        h = np.hstack(list(self.fields[: t + 1]))
        size = h.shape[1]
        square = self.covariance[: t + 1, : t + 1].transpose(0, 2, 1, 3).reshape(size, size)
        pick, force = np.eye(size)[:, :m], np.zeros((len(h), 0))
        if t:
            psi = np.hstack([student.force(sample.y, field) for field in self.fields[:t]])
            strength, axes = np.linalg.eigh((sample.weight[:, None] * psi).T @ psi)
            axes = (axes / np.sqrt(np.maximum(strength, 1e-300)))[:, strength > _ALIKE * strength[-1]]
            change = (
                (1 - self.step_size * student.ridge) * np.eye(size)[:, :-m] - np.eye(size)[:, m:]
            ) @ axes
            pick, force = np.hstack([pick, change / self.step_size]), psi @ axes
        cross = pick.T @ self.overlap[: t + 1].reshape(size, -1)
        gram = np.block([[pick.T @ square @ pick, cross], [cross.T, np.eye(cross.shape[1])]])
        length, axes = np.linalg.eigh(gram)
        kept = length > 1e-8 * length[-1]
        return np.hstack([h @ pick, sample.easy]) @ (axes[:, kept] / np.sqrt(length[kept])), force

    def spectrum(self, index: int) -> HessianSpectrum:
        """Return the Hessian's spectrum at the recorded step ``times[index]``."""
        return spectrum_of(self.law(index), self.delta, self.student.ridge)

    def stability(self, index: int) -> float:
        """Return step size × right edge at a recorded step; gradient descent is stable below 2."""
        law = self.law(index, known=False)
        right = -Bulk(law.D, law.weight, self.delta).mirrored.left_edge().value
        return self.step_size * (right + self.student.ridge)
