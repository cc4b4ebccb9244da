"""What a DMFT run leaves: losses, overlaps, covariances, and the laws from which spectra follow."""

from dataclasses import dataclass

import numpy as np

from firstlight.theory.phase_transition.hessian import CurvatureLaw, HessianSpectrum, spectrum_of
from firstlight.theory.phase_transition.labels import LabelSample
from firstlight.theory.phase_transition.resolvent import Bulk
from firstlight.theory.phase_transition.student import Student


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
    times : tuple of int
        The steps at which the law of (y, h) was kept.
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
    times: tuple[int, ...]
    student: Student
    sample: LabelSample
    fields: tuple[np.ndarray, ...]

    @property
    def norm(self) -> np.ndarray:
        """Squared norms |w_j|² at each step, shape (steps + 1, m)."""
        return np.einsum("ttaa->ta", self.covariance)

    def law(self, index: int) -> CurvatureLaw:
        """Return the law of the curvature at the recorded step ``times[index]``."""
        D = self.student.curvature(self.sample.y, self.fields[index])
        return CurvatureLaw(D, self.sample.weight, self.sample.second)

    def spectrum(self, index: int) -> HessianSpectrum:
        """Return the Hessian's spectrum at the recorded step ``times[index]``."""
        return spectrum_of(self.law(index), self.delta, self.student.ridge)

    def stability(self, index: int) -> float:
        """Return step size × right edge at a recorded step; gradient descent is stable below 2."""
        law = self.law(index)
        right = -Bulk(law.D, law.weight, self.delta).mirrored.left_edge().value
        return self.step_size * (right + self.student.ridge)
