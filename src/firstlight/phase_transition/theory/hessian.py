"""The Hessian's spectrum: bulk edges, outliers that point at hidden directions, and those that do not."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from typing import TYPE_CHECKING

import numpy as np
from scipy.spatial import cKDTree

from firstlight.data.multi_index import MultiIndex
from firstlight.maths.checks import check_count, check_memory, check_positive
from firstlight.maths.drawing import COLOURS, THEORY, axes
from firstlight.maths.rng import RNGLike, SeedLike, generator
from firstlight.maths.shown import Shown
from firstlight.maths.solvers import bracketing_root
from firstlight.maths.workers import on_one_thread
from firstlight.phase_transition.definitions import Student, as_student
from firstlight.phase_transition.theory.conditional import as_target
from firstlight.phase_transition.theory.criterion import margin, signal
from firstlight.phase_transition.theory.labels import LabelLaw, draw, label_law
from firstlight.phase_transition.theory.law import CurvatureLaw, visible
from firstlight.phase_transition.theory.relevant import relevant_directions
from firstlight.phase_transition.theory.resolvent import Branch, Bulk, Edge
from firstlight.phase_transition.theory.stacks import inverse
from firstlight.phase_transition.theory.subspaces import complement, subspaces

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_RESOLVED = 1e-6  # relative step in p whose square is far above rounding
_ATOMS = 16  # label laws with at most so many values are discrete


@dataclass(frozen=True)
class Outlier(Shown):
    """An eigenvalue outside the bulk.

    Attributes
    ----------
    value : float
        Its place.
    overlap : float
        Squared norm of its eigenvector's part along the latent directions, in (0, 1).
    by_neuron : tuple of float
        The same, split over the neurons.
    side : {"left", "right"}
        Of the bulk.
    """

    value: float
    overlap: float
    by_neuron: tuple[float, ...]
    side: str


@dataclass(frozen=True)
class HessianSpectrum(Shown):
    """The limit of the Hessian's spectrum.

    Attributes
    ----------
    left_edge, right_edge : float
        Ends of the bulk, apart from thin tails that at most a thousandth of the samples make.
    left_pinned, right_pinned : bool
        Whether the end sits where the support of D ends, resolved by few nodes only: then it is uncertain.
    outliers : tuple of Outlier
        In the hard hidden directions.
    other_outliers : tuple of Outlier
        Along the first-layer rows, what training added to them, and the easy directions; not informative
        about the hard ones.
    margin : float
        Negative if a left outlier in the hard directions has left the bulk: the smallest eigenvalue of
        1 + Q^{1/2} E[B ⊗ (C - 1)] Q^{1/2} at the left edge. Infinite if no direction is held as hard.
    """

    left_edge: float
    right_edge: float
    left_pinned: bool
    right_pinned: bool
    outliers: tuple[Outlier, ...]
    other_outliers: tuple[Outlier, ...]
    margin: float
    bulk: Bulk
    shift: float

    @property
    def ends(self) -> tuple[float, float]:
        """The smallest and the largest eigenvalue: edges of the bulk, or outliers beyond them."""
        every = [o.value for o in (*self.outliers, *self.other_outliers)]
        return min(self.left_edge, *every, np.inf), max(self.right_edge, *every, -np.inf)

    def density(self, x: np.ndarray, width: float = 1e-3) -> np.ndarray:
        """Return the density of the bulk at the points x, smoothed over `width` times the bulk's size."""
        return self.bulk.thinned(4096).density(np.asarray(x, float) - self.shift, width)

    def plot(self, ax: "Axes | None" = None) -> "Axes":
        """Draw the density of the bulk, and the outliers; those in the hard directions are solid."""
        ax, size = axes(ax), self.right_edge - self.left_edge
        x = np.linspace(self.left_edge - 0.02 * size, self.right_edge + 0.02 * size, 400)
        ax.plot(x, self.density(x), color=THEORY, label="bulk")
        for outliers, look, kind in ((self.outliers, "-", "hard"), (self.other_outliers, ":", "other")):
            for place, outlier in enumerate(outliers):
                label = None if place else f"outlier, {kind} directions"
                ax.axvline(outlier.value, linestyle=look, color=COLOURS[1], label=label)
        ax.set(xlabel="eigenvalue", ylabel="density")
        ax.legend()
        return ax


def initial_law(
    target: MultiIndex, student: Student, draws: int = 1 << 14, rng: RNGLike | SeedLike = 0
) -> CurvatureLaw:
    """Return the law of the curvature at a random initialisation with orthogonal rows."""
    rng = generator(rng)
    return starting_law(label_law(target, rng), student, draws, rng)


def starting_law(labels: LabelLaw, student: Student, draws: int, rng: RNGLike | SeedLike = 0) -> CurvatureLaw:
    """Return the law of the curvature at initialisation, from a label law that is known already."""
    student.require_smooth()
    student.require_labels(labels.y, labels.far, labels.name)
    drawn = draw(labels, student.width, draws, rng)
    D = student.curvature(drawn.y, student.init_scale * drawn.normals)
    return CurvatureLaw(D, drawn.weight, drawn.second, np.hstack([drawn.normals, drawn.easy]))


def empirical_law(
    target: MultiIndex | str,
    student: Student,
    y: np.ndarray,
    h: np.ndarray,
    easy: np.ndarray | None = None,
    rng: RNGLike | SeedLike = 0,
) -> CurvatureLaw:
    """Return the law of the curvature of a simulated network, from its samples.

    Parameters
    ----------
    target : MultiIndex or str
        The law of the label.
    student : Student
        The network.
    y : ndarray of shape (n,)
        Labels.
    h : ndarray of shape (n, m)
        Pre-activations of the trained network on its training samples.
    easy : ndarray of shape (n, e), optional
        Easy coordinates of the samples, if the target has easy directions.
    rng : SPEC 7 rng, default 0
        For the label's law, if several coordinates are hard.

    Returns
    -------
    CurvatureLaw
        The conditional second moments are those of the nearest slice of (y, easy coordinates).

    Examples
    --------
    >>> target, student = MultiIndex("sign(abs(z1) - 1)"), Student("tanh_squared", 1.0, 0.8)
    >>> law = empirical_law(target, student, np.array([1.0, -1.0]), np.zeros((2, 1)))
    >>> law.second.ravel().tolist()
    [2.525, 0.291]
    """
    labels, student = label_law(as_target(target), rng), as_student(student)
    student.require_smooth()
    e, y, h = labels.easy.shape[1], np.asarray(y, float), np.asarray(h, float)
    known = np.zeros((y.size, 0)) if easy is None else np.asarray(easy, float)
    if y.ndim != 1 or known.shape != (y.size, e) or h.shape != (y.size, student.width):
        raise ValueError(
            f"y, h, easy: shapes {y.shape}, {h.shape} and {known.shape}, "
            f"expected (n,), (n, {student.width}) and (n, {e})"
        )
    if not y.size or not all(np.isfinite(part).all() for part in (y, h, known)):
        raise ValueError("y, h, easy: must be finite, with at least one sample")
    spread = max(float(np.std(labels.y)), 1e-300)
    atoms = np.unique(labels.y)
    strange = np.abs(y[:, None] - atoms).min(axis=1) > 1e-6 * spread if atoms.size <= _ATOMS else y != y
    if strange.any():
        raise ValueError(f"y = {y[strange][0]:g}: must be a label of {labels.name}, one of {atoms.tolist()}")
    nodes = np.column_stack([labels.y / spread, labels.easy])
    nearest = cKDTree(nodes).query(np.column_stack([y / spread, known]))[1]
    return CurvatureLaw(student.curvature(y, h), np.full(len(y), 1 / len(y)), labels.second[nearest])


@on_one_thread
def hessian_spectrum(
    target: MultiIndex | str,
    student: Student,
    samples_per_dimension: float,
    law: CurvatureLaw | None = None,
    *,
    draws: int = 1 << 14,
    rng: RNGLike | SeedLike = 0,
) -> HessianSpectrum:
    """Compute the bulk's edges and the outliers of the Hessian of the empirical risk.

    Parameters
    ----------
    target : MultiIndex or str
        The law of the label.
    student : Student
        The network.
    samples_per_dimension : float
        Samples per dimension, positive.
    law : CurvatureLaw, optional
        Where training stands: `DmftPath.law(i)`, or `empirical_law` of a simulated network; by default the
        initialisation. It has as many hard coordinates as the target, or none if training was free.
    draws : int, default 16384
        Nodes of the law at initialisation.
    rng : SPEC 7 rng, default 0
        Scrambles them.

    Returns
    -------
    HessianSpectrum

    Examples
    --------
    >>> spectrum = hessian_spectrum("sign(abs(z1) - 1.4820733)", Student("tanh_squared", 1.0, 0.8), 7.606)
    >>> print(spectrum.left_edge, spectrum.outliers[0].value)
    -0.206 -0.213
    """
    target, student = as_target(target), as_student(student)
    check_positive("samples_per_dimension", samples_per_dimension)
    if law is None:
        check_count("draws", draws, 64)
        check_memory(f"draws = {draws}", 400.0 * draws * student.width**2, "samples × width²")
        law = initial_law(target, student, draws, rng)
    elif not isinstance(law, CurvatureLaw) or law.D.shape[1] != student.width:
        raise ValueError(
            f"law = {type(law).__name__}: must be the law of {student.width} neurons' curvature, from "
            "DmftPath.law(i) or empirical_law(...)"
        )
    elif given := law.second.shape[1]:
        hard = complement(subspaces(target, rng).easy, relevant_directions(target)).shape[1]
        if given != hard:
            raise ValueError(
                f"law: {given} hard coordinates, must be {hard}, as in {target.expression}, or 0"
            )
    return spectrum_of(law, float(samples_per_dimension), student.ridge)


def spectrum_of(law: CurvatureLaw, delta: float, ridge: float = 0.0) -> HessianSpectrum:
    """Return the spectrum that belongs to a law of curvatures."""
    kept, bulk, left = visible(law, delta)
    mirrored, other_bulk, right = visible(law.mirrored, delta)
    sides = (("left", kept, bulk, left), ("right", mirrored, other_bulk, right))
    outliers: dict[str, list[Outlier]] = {"hard": [], "other": []}
    for side, one, its_bulk, edge in sides:
        outliers["hard"] += _outliers(
            its_bulk, edge, partial(signal, its_bulk, second=one.second), ridge, side
        )
        if one.latent is not None:
            known = partial(known_signal, its_bulk, latent=one.latent, force=one.force)
            outliers["other"] += _outliers(its_bulk, edge, known, ridge, side)
    hard, other = (tuple(sorted(outliers[name], key=lambda outlier: outlier.value)) for name in outliers)
    return HessianSpectrum(
        left.value + ridge, ridge - right.value, left.pinned, right.pinned, hard, other,
        margin(bulk, left.point, kept.second), bulk, ridge,
    )  # fmt: skip


def known_signal(bulk: Bulk, point: Branch, latent: np.ndarray, force: np.ndarray | None) -> np.ndarray:
    """Return S(z) on directions that the curvature knows of, shape (m p, m p).

    Given the history of training, the inputs are fixed along the latent directions, and across them they
    are independent normals, projected orthogonally to the forces ψ in the space of samples. The Schur
    complement of what is across is, with K = (P + D/δ)⁻¹,
    S = E[B ⊗ l lᵀ] + E[D K ⊗ l ψᵀ] E[K ⊗ ψ ψᵀ]⁻¹ E[D K ⊗ l ψᵀ]ᵀ/δ - z.
    """
    _, B = bulk.shrink(point.P)
    matrix = _between(B, latent, latent, bulk.weight)
    if force is not None and force.shape[1]:
        K = inverse(point.P + bulk.D / bulk.delta)
        mixed = _between(bulk.D @ K, latent, force, bulk.weight)
        matrix += mixed @ np.linalg.solve(_between(K, force, force, bulk.weight), mixed.T) / bulk.delta
    return matrix - point.z * np.eye(len(matrix))


def _between(B: np.ndarray, left: np.ndarray, right: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Return E[B ⊗ l rᵀ] as a matrix over (neuron, coordinate)."""
    (_, rows, columns), p, q = B.shape, left.shape[1], right.shape[1]
    matrix = np.empty((rows, p, columns, q))
    for a in range(rows):
        for b in range(columns):
            matrix[a, :, b] = (left * (weight * B[:, a, b])[:, None]).T @ right
    return matrix.reshape(rows * p, columns * q)


def _outliers(
    bulk: Bulk, edge: Edge, S: Callable[[Branch], np.ndarray], ridge: float, side: str
) -> list[Outlier]:
    """Find the zeros of S's eigenvalues left of the edge: each eigenvalue grows along the branch."""

    @cache
    def eigenvalues(p: float) -> np.ndarray:  # the root's search asks for its ends and its result again
        return np.linalg.eigvalsh(S(bulk.reach(p, edge.point)))

    outliers = []
    for rank in range(int((eigenvalues(edge.point.p) < 0).sum())):

        def eigenvalue(p: float, rank: int = rank) -> float:
            return float(eigenvalues(p)[rank])

        low, high = edge.point.p, 1.5 * edge.point.p
        while eigenvalue(high) < 0:
            low, high = high, 1.5 * high
        root = bracketing_root(eigenvalue, low, high, tolerance=1e-9)
        point = bulk.reach(root.value, edge.point)
        # the eigenvector's part along the latent directions is one over the slope of S's eigenvalue in -z,
        # from steps that change z by more than rounding, which beside the fold at the edge takes longer ones
        step = max(0.01 * (point.p - edge.point.p), _RESOLVED * point.p)
        around = point.p + step, max(point.p - step, edge.point.p)
        fore, aft = (bulk.reach(p, point) for p in around)
        slope = (eigenvalue(fore.p) - eigenvalue(aft.p)) / (aft.z - fore.z)
        u = np.linalg.eigh(S(point))[1][:, rank].reshape(len(point.P), -1)
        by_neuron = (u**2).sum(axis=1) / slope
        value = point.z if side == "left" else -point.z
        outliers.append(Outlier(value + ridge, 1 / slope, tuple(by_neuron.tolist()), side))
    return outliers
