"""What a DMFT run leaves: losses, overlaps, covariances, and the laws from which spectra follow."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri, stdtrit

from firstlight.maths.shown import Shown
from firstlight.phase_transition.definitions import Student
from firstlight.phase_transition.theory.hessian import HessianSpectrum, spectrum_of
from firstlight.phase_transition.theory.labels import LabelSample
from firstlight.phase_transition.theory.law import CurvatureLaw
from firstlight.phase_transition.theory.resolvent import Bulk

TOLERANCE = 0.05  # relative standard error up to which a prediction has converged
_ALIKE = 1e-4  # share of the forces' variance below which a combination of them is dropped


@dataclass(frozen=True)
class DmftPath(Shown):
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
    dropped : float
        Largest share of a force's square that was left out, for want of samples or because it is negligible.
    runs : tuple of DmftPath
        The scrambles of which this is the mean; empty for a single one.
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
    dropped: float
    runs: tuple["DmftPath", ...] = ()

    @property
    def converged(self) -> bool:
        """Whether losses and norms are known to 5 % at each step, and no force was left out that counts."""
        known = all(
            (self.standard_error(of) <= TOLERANCE * of(self)).all()
            for of in (lambda run: run.train_loss, lambda run: run.test_loss, lambda run: run.norm)
        )
        return self.complete and known

    @property
    def complete(self) -> bool:
        """Whether no force was left out that counts (a share of 1e-4 moves V(t) by about 1 %)."""
        return self.dropped < 1e-4

    def standard_error(self, quantity: Callable[["DmftPath"], ArrayLike]) -> np.ndarray:
        """Return the standard error of a quantity, from its scatter over the scrambles (see `spread`).

        Parameters
        ----------
        quantity : callable
            Maps a path to a number or an array, such as ``lambda run: run.norm``.

        Returns
        -------
        ndarray
            NaN if there is one scramble only.
        """
        return spread(np.array([quantity(run) for run in self.runs or (self,)], float))

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
        self.student.require_smooth()
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


def spread(values: np.ndarray) -> np.ndarray:
    """Return the standard error of the mean over the first axis; NaN for a single value.

    For few values it is widened so that twice it still is half a 95 % interval, as Student's t says.

    Examples
    --------
    >>> float(spread(np.random.default_rng(0).normal(size=10_000)))
    0.010
    """
    n = len(values)
    if n < 2:
        return np.full(values.shape[1:], np.nan)
    return stdtrit(n - 1, 0.975) / ndtri(0.975) * np.std(values, axis=0, ddof=1) / n**0.5


_MEANS = (
    "train_loss", "train_error", "test_loss", "test_error", "covariance", "overlap", "hard_variance",
    "start_response",
)  # fmt: skip


def joined(runs: Sequence[DmftPath]) -> DmftPath:
    """Return the mean of independent scrambles, with all their samples."""
    if len(runs) == 1:
        return runs[0]
    samples = [run.sample for run in runs]
    sample = LabelSample(
        **{f.name: np.concatenate([getattr(one, f.name) for one in samples]) for f in fields(LabelSample)}
    )
    means = {name: np.mean([getattr(run, name) for run in runs], axis=0) for name in _MEANS}
    sample = replace(sample, weight=sample.weight / len(runs))
    every = np.concatenate([run.fields for run in runs], axis=1)
    dropped = max(run.dropped for run in runs)
    return replace(runs[0], sample=sample, fields=every, dropped=dropped, runs=tuple(runs), **means)
