"""The Hessian's spectrum: bulk edges, outliers that point at hidden directions, and those that do not."""

from dataclasses import dataclass

import numpy as np
from scipy.spatial import cKDTree

from firstlight.data.multi_index import MultiIndex
from firstlight.rng import RNGLike, SeedLike, generator
from firstlight.solvers import bracketing_root
from firstlight.theory.phase_transition.conditional import as_target
from firstlight.theory.phase_transition.labels import LabelLaw, draw, label_law
from firstlight.theory.phase_transition.resolvent import Branch, Bulk, Edge
from firstlight.theory.phase_transition.student import Student


@dataclass(frozen=True)
class CurvatureLaw:
    """The joint law of the curvature D and of what is latent in the inputs.

    Attributes
    ----------
    D : ndarray of shape (n, m, m)
        Curvature ∇²_h l at each node.
    weight : ndarray of shape (n,)
        Probabilities.
    second : ndarray of shape (n, h, h)
        E[g_H g_Hᵀ | node] of the hard coordinates.
    latent : ndarray of shape (n, ·) or None
        Other latent coordinates that D depends on, as orthonormal normals: easy coordinates and, at
        initialisation, the inputs' components along the first-layer rows.
    """

    D: np.ndarray
    weight: np.ndarray
    second: np.ndarray
    latent: np.ndarray | None = None


@dataclass(frozen=True)
class Outlier:
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
class HessianSpectrum:
    """The limit of the Hessian's spectrum.

    Attributes
    ----------
    left_edge, right_edge : float
        Ends of the bulk.
    left_pinned, right_pinned : bool
        Whether the end sits where the support of D ends, resolved by few nodes only: then it is uncertain.
    outliers : tuple of Outlier
        In the hard hidden directions.
    other_outliers : tuple of Outlier
        Along the first-layer rows and the easy directions; not informative about the hard ones.
    margin : float
        Negative if a left outlier in the hard directions has left the bulk: the smallest eigenvalue of
        1 + Q^{1/2} E[B ⊗ (C - 1)] Q^{1/2} at the left edge.
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

    def density(self, x: np.ndarray, width: float = 1e-3) -> np.ndarray:
        """Return the density of the bulk at the points x, smoothed over `width` times the bulk's size."""
        thin = max(1, self.bulk.weight.size // 4096)
        weight = self.bulk.weight[::thin]
        bulk = Bulk(self.bulk.D[::thin], weight / weight.sum(), self.bulk.delta)
        return bulk.density(np.asarray(x, float) - self.shift, width)


def initial_law(
    target: MultiIndex, student: Student, samples: int = 1 << 14, rng: RNGLike | SeedLike = 0
) -> CurvatureLaw:
    """Return the law of the curvature at a random initialisation with orthogonal rows.

    Examples
    --------
    >>> law = initial_law(MultiIndex("sign(abs(z1) - 1)"), Student("tanh_squared", 1.0, 0.8), 1024)
    >>> law.D.shape
    (1024, 1, 1)
    """
    rng = generator(rng)
    return starting_law(label_law(target, rng), student, samples, rng)


def starting_law(
    labels: LabelLaw, student: Student, samples: int, rng: RNGLike | SeedLike = 0
) -> CurvatureLaw:
    """Return the law of the curvature at initialisation, from a label law that is known already."""
    student.require_bounded(np.concatenate([labels.y, labels.far]), labels.name)
    drawn = draw(labels, student.width, samples, rng)
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
    >>> law.second.ravel().round(3).tolist()
    [2.525, 0.291]
    """
    labels = label_law(as_target(target), rng)
    e = labels.easy.shape[1]
    known = np.zeros((len(y), 0)) if easy is None else np.asarray(easy, float)
    if known.shape != (len(y), e) or h.shape != (len(y), student.width):
        raise ValueError(
            f"h, easy: shapes {h.shape} and {known.shape}, "
            f"expected ({len(y)}, {student.width}) and ({len(y)}, {e})"
        )
    spread = max(float(np.std(labels.y)), 1e-300)
    nodes = np.column_stack([labels.y / spread, labels.easy])
    nearest = cKDTree(nodes).query(np.column_stack([np.asarray(y) / spread, known]))[1]
    return CurvatureLaw(student.curvature(y, h), np.full(len(y), 1 / len(y)), labels.second[nearest])


def hessian_spectrum(
    target: MultiIndex | str,
    student: Student,
    delta: float,
    law: CurvatureLaw | None = None,
    *,
    samples: int = 1 << 14,
    rng: RNGLike | SeedLike = 0,
) -> HessianSpectrum:
    """Compute the bulk's edges and the outliers of the Hessian of the empirical risk.

    Parameters
    ----------
    target : MultiIndex or str
        The law of the label.
    student : Student
        The network.
    delta : float
        Samples per dimension, positive.
    law : CurvatureLaw, optional
        Where training stands: `DmftPath.law(i)`, or `empirical_law` of a simulated network; by default the
        initialisation.
    samples : int, default 16384
        Nodes of the law at initialisation.
    rng : SPEC 7 rng, default 0
        Scrambles them.

    Returns
    -------
    HessianSpectrum

    Examples
    --------
    >>> spectrum = hessian_spectrum("sign(abs(z1) - 1.4820733)", Student("tanh_squared", 1.0, 0.8), 7.606)
    >>> print(round(spectrum.left_edge, 3), round(spectrum.outliers[0].value, 3))
    -0.206 -0.213
    """
    target = as_target(target)
    if not (np.isfinite(delta) and delta > 0):
        raise ValueError(f"delta = {delta!r}: must be a positive number")
    law = initial_law(target, student, samples, rng) if law is None else law
    return spectrum_of(law, float(delta), student.ridge)


def spectrum_of(law: CurvatureLaw, delta: float, ridge: float = 0.0) -> HessianSpectrum:
    """Return the spectrum that belongs to a law of curvatures."""
    bulk = Bulk(law.D, law.weight, delta)
    left, right = bulk.left_edge(), bulk.mirrored.left_edge()
    blocks = {"hard": law.second}
    if law.latent is not None:
        blocks["other"] = law.latent[:, :, None] * law.latent[:, None, :]
    found: dict[str, tuple[Outlier, ...]] = {"hard": (), "other": ()}
    for name, second in blocks.items():
        lower = _outliers(bulk, left, second, ridge, "left")
        upper = _outliers(bulk.mirrored, right, second, ridge, "right")
        found[name] = tuple(sorted(lower + upper, key=lambda outlier: outlier.value))
    return HessianSpectrum(
        left.value + ridge, ridge - right.value, left.pinned, right.pinned,
        found["hard"], found["other"], margin(bulk, left.point, law.second), bulk, ridge,
    )  # fmt: skip


def signal(bulk: Bulk, point: Branch, second: np.ndarray) -> np.ndarray:
    """Return S(z) = E[B ⊗ C] - z on the latent block, shape (m h, m h)."""
    _, B = bulk.shrink(point.P)
    return lifted(B, second, bulk.weight) - point.z * np.eye(B.shape[1] * second.shape[1])


def margin(bulk: Bulk, point: Branch, second: np.ndarray) -> float:
    """Return the smallest eigenvalue of S(z) in units of P: 1 + Q^{1/2} E[B ⊗ (C - 1)] Q^{1/2}."""
    h = second.shape[1]
    root = np.linalg.cholesky(np.kron(point.P, np.eye(h)))
    half = np.linalg.solve(root, signal(bulk, point, second))
    return float(np.linalg.eigvalsh(np.linalg.solve(root, half.T))[0])


def lifted(B: np.ndarray, second: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Return E[B ⊗ C] as a matrix over (neuron, latent coordinate)."""
    n, m, h = len(B), B.shape[1], second.shape[1]
    product = (weight[:, None] * B.reshape(n, -1)).T @ second.reshape(n, -1)
    return product.reshape(m, m, h, h).transpose(0, 2, 1, 3).reshape(m * h, m * h)


def _outliers(bulk: Bulk, edge: Edge, second: np.ndarray, ridge: float, side: str) -> list[Outlier]:
    """Find the zeros of S's eigenvalues left of the edge: each eigenvalue grows along the branch."""
    count = int((np.linalg.eigvalsh(signal(bulk, edge.point, second)) < 0).sum())
    found = []
    for rank in range(count):

        def eigenvalue(p: float, rank: int = rank) -> float:
            point = bulk.reach(p, edge.point)
            return float(np.linalg.eigvalsh(signal(bulk, point, second))[rank])

        low, high = edge.point.p, 1.5 * edge.point.p
        while eigenvalue(high) < 0:
            low, high = high, 1.5 * high
        root = bracketing_root(eigenvalue, low, high, tolerance=1e-9)
        found.append(_outlier(bulk, bulk.reach(root.value, edge.point), second, rank, ridge, side))
    return found


def _outlier(bulk: Bulk, point: Branch, second: np.ndarray, rank: int, ridge: float, side: str) -> Outlier:
    m, h = len(point.P), second.shape[1]
    A, _ = bulk.shrink(point.P)
    tangent = -np.linalg.solve(np.eye(m * m) - bulk.memory(A), np.eye(m).ravel()).reshape(m, m)  # dP/dz
    change = bulk.delta * A.transpose(0, 2, 1) @ tangent @ A
    u = np.linalg.eigh(signal(bulk, point, second))[1][:, rank]
    overlap = 1 / (1 - float(u @ lifted(change, second, bulk.weight) @ u))
    by_neuron = overlap * (u.reshape(m, h) ** 2).sum(axis=1)
    value = point.z if side == "left" else -point.z
    return Outlier(value + ridge, overlap, tuple(by_neuron.tolist()), side)
