"""What a DMFT run leaves: losses, overlaps, covariances, and the laws from which spectra follow."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri, stdtrit

from firstlight.maths.drawing import COLOURS, axes
from firstlight.maths.shown import Shown
from firstlight.phase_transition.definitions import Student, Training
from firstlight.phase_transition.theory.frame import NEGLIGIBLE
from firstlight.phase_transition.theory.hessian import HessianSpectrum, spectrum_of
from firstlight.phase_transition.theory.labels import LabelSample
from firstlight.phase_transition.theory.law import CurvatureLaw
from firstlight.phase_transition.theory.stability import stable_below

if TYPE_CHECKING:
    from matplotlib.axes import Axes

TOLERANCE = 0.05  # relative standard error up to which a prediction has converged
_ALIKE = 1e-4  # share of the forces' variance below which a combination of them is dropped


@dataclass(frozen=True)
class DmftPath(Shown):
    """Training in the limit of many dimensions.

    Attributes
    ----------
    samples_per_dimension : float
        Samples per dimension.
    training : Training
        The algorithm.
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
    second_layer, biases : ndarray of shape (steps + 1, m)
        a and the first layer's biases.
    offset : ndarray of shape (steps + 1,)
        The output's offset.
    times : tuple of int
        The steps whose laws and spectra are asked for.
    student : Student
        The network at the start.
    fields : ndarray of shape (steps + 1, n, m)
        h^t of each sample, with its biases.
    drawn : ndarray of shape (steps, n) or None
        Each sample's share in the batch of each step, of mean 1; None if each step uses all.
    dropped : float
        Largest share of a force's square that was left out, for want of samples or because it is negligible.
    runs : tuple of DmftPath
        The scrambles of which this is the mean; empty for a single one.
    unbounded : str
        Why the Hessian's spectrum has no left edge, and is refused; empty if it has one.
    """

    samples_per_dimension: float
    training: Training
    train_loss: np.ndarray
    test_loss: np.ndarray
    train_error: np.ndarray = field(repr=False)
    test_error: np.ndarray = field(repr=False)
    covariance: np.ndarray = field(repr=False)
    overlap: np.ndarray
    hard_variance: np.ndarray = field(repr=False)
    start_response: np.ndarray = field(repr=False)
    second_layer: np.ndarray = field(repr=False)
    biases: np.ndarray = field(repr=False)
    offset: np.ndarray = field(repr=False)
    times: tuple[int, ...] = field(repr=False)
    student: Student
    sample: LabelSample = field(repr=False)
    fields: np.ndarray = field(repr=False)
    drawn: np.ndarray | None = field(repr=False)
    dropped: float = field(repr=False)
    runs: tuple["DmftPath", ...] = field(default=(), repr=False)
    unbounded: str = field(default="", repr=False)

    def plot(self, ax: "Axes | None" = None) -> "Axes":
        """Draw the losses on the training samples and on fresh ones, step by step."""
        ax = axes(ax)
        ax.plot(self.train_loss, color=COLOURS[0], label="training loss")
        ax.plot(self.test_loss, color=COLOURS[1], label="test loss")
        ax.set(xlabel="step", ylabel="loss")
        ax.legend()
        return ax

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
        """Whether no force was left out that counts."""
        return self.dropped < NEGLIGIBLE

    @cached_property
    def stable_below(self) -> float:
        """Step size below which no step of the schedule overshoots at the start's curvature.

        NaN for cyclic batches, and where more than the first layer is trained: no rule is known. It is exact
        for a linear student with the square loss. Others may overshoot at the start, and still train well.
        """
        if not self.training.only_rows:
            return np.nan
        D = self.student.curvature(self.sample.y, self.fields[0])
        rest = self.samples_per_dimension, self.student.ridge, self.training
        largest = self.training.factors(len(self.fields) - 1).max()
        return float(stable_below(D, self.sample.weight, *rest) / largest)

    @property
    def overshoots(self) -> bool:
        """Whether the step size is larger than `stable_below`."""
        return self.training.step_size >= self.stable_below

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

    def student_at(self, t: int) -> Student:
        """Return the network at step t, with the second layer and offset that it has there."""
        moved = not self.training.only_rows
        return self.student.moved(self.second_layer[t], self.offset[t]) if moved else self.student

    def law(self, index: int, *, known: bool = True) -> CurvatureLaw:
        """Return the law of the curvature at the recorded step ``times[index]``.

        Without `known` it leaves out the directions that training knows of, which only the outliers along
        the network's own weights need.
        """
        if not -len(self.times) <= index < len(self.times):
            raise ValueError(f"index = {index}: must be one of the {len(self.times)} recorded steps")
        self.student.require_smooth()
        if self.unbounded:
            raise ValueError(self.unbounded)
        t = self.times[index]
        D = self.student_at(t).curvature(self.sample.y, self.fields[t])
        latent, force = self._known(t) if known else (None, None)
        return CurvatureLaw(D, self.sample.weight, self.sample.second, latent, force)

    def _known(self, t: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the inputs' components along all w^s, s ≤ t, and the easy directions; and the past forces.

        The gradients Xᵀφ/n follow from the weights, Γ^s = (β (w^s - w^{s-1}) - (w^{s+1} - w^s))/η - λ w^s.
        They are much alike: combinations that hardly occur are dropped, the same ones of forces and of
        gradients. Samples that are seen once carry no trace of earlier forces.
        """
        sample, m = self.sample, self.student.width
        first = t if self.training.one_pass else 0
        h = np.hstack(list(self.fields[first : t + 1] - self.biases[first : t + 1, None]))
        size = h.shape[1]
        square = self.covariance[first : t + 1, first : t + 1].transpose(0, 2, 1, 3).reshape(size, size)
        pick, force = np.eye(size)[:, -m:], np.zeros((len(h), 0))
        if t > first:
            phi, change = self._forces(t), np.kron(self._gradients(t), np.eye(m))
            strength, axes = np.linalg.eigh((sample.weight[:, None] * phi).T @ phi)
            axes = (axes / np.sqrt(np.maximum(strength, 1e-300)))[:, strength > _ALIKE * strength[-1]]
            pick, force = np.hstack([pick, change @ axes]), phi @ axes
        cross = pick.T @ self.overlap[first : t + 1].reshape(size, -1)
        gram = np.block([[pick.T @ square @ pick, cross], [cross.T, np.eye(cross.shape[1])]])
        length, axes = np.linalg.eigh(gram)
        kept = length > 1e-8 * length[-1]
        return np.hstack([h @ pick, sample.easy]) @ (axes[:, kept] / np.sqrt(length[kept])), force

    def _ahead(self, values: np.ndarray, s: int) -> np.ndarray:
        """Return where the gradient of step s is taken, for what changes linearly with the weights."""
        training = self.training
        back = values[s] - values[max(s - 1, 0)]
        return values[s] + training.momentum * back if training.nesterov else values[s]

    def _forces(self, t: int) -> np.ndarray:
        """Return the forces φ^s of the steps before t, side by side, shape (n, t m)."""
        forces = []
        for s in range(t):
            student = self.student
            if not self.training.only_rows:
                student = student.moved(self._ahead(self.second_layer, s), float(self._ahead(self.offset, s)))
            psi = student.force(self.sample.y, self._ahead(self.fields, s))
            forces.append(psi if self.drawn is None else psi * self.drawn[s][:, None])
        return np.hstack(forces)

    def _gradients(self, t: int) -> np.ndarray:
        """Return the factors of Xᵀφ^s/n, one column for each s < t, on w^0, ..., w^t."""
        training, unit = self.training, np.eye(t + 1)
        steps = training.step_size * training.factors(len(self.fields) - 1)
        columns = []
        for s in range(t):
            back = unit[s] - unit[max(s - 1, 0)]
            moved = (training.momentum * back - (unit[s + 1] - unit[s])) / steps[s]
            columns.append(moved - self.student.ridge * self._ahead(unit, s))
        return np.array(columns).T

    def spectrum(self, index: int) -> HessianSpectrum:
        """Return the Hessian's spectrum at the recorded step ``times[index]``."""
        return spectrum_of(self.law(index), self.samples_per_dimension, self.student.ridge)


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
    "start_response", "second_layer", "biases", "offset",
)  # fmt: skip


def joined(runs: Sequence[DmftPath]) -> DmftPath:
    """Return the mean of independent scrambles, with all their samples."""
    if len(runs) == 1:
        return runs[0]
    samples = [run.sample for run in runs]
    sample = LabelSample(
        **{f.name: np.concatenate([getattr(one, f.name) for one in samples]) for f in fields(LabelSample)}
    )
    masks = [run.drawn for run in runs if run.drawn is not None]
    means = {name: np.mean([getattr(run, name) for run in runs], axis=0) for name in _MEANS}
    sample = replace(sample, weight=sample.weight / len(runs))
    every = np.concatenate([run.fields for run in runs], axis=1)
    dropped = max(run.dropped for run in runs)
    drawn = np.concatenate(masks, axis=1) if masks else None
    return replace(
        runs[0], sample=sample, fields=every, drawn=drawn, dropped=dropped, runs=tuple(runs), **means
    )
