"""The bulk of H = (1/n) Σ D_i ⊗ x_i x_iᵀ: its resolvent, its left edge and its density.

With P = Q⁻¹ the resolvent equation reads P = E[B] - z, B = D - D K D/δ, K = (P + D/δ)⁻¹. To the left of the
bulk P > 0 decreases as z grows, until its slope becomes infinite: a fold in z, but not in p = tr P/m. So the
branch is followed in p, where nothing is singular, and the left edge is the largest z(p).
"""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from firstlight.maths.checks import check_positive
from firstlight.maths.shown import Shown
from firstlight.maths.solvers import bracketing_root
from firstlight.phase_transition.theory.stacks import eliminate, entries_first, inverse

_EDGE_TOLERANCE = 1e-10
_FOLD = 1e-4  # slack below which a point is at the edge


class BranchLost(RuntimeError):
    """The physical branch cannot be followed: mostly because of too few samples."""


class Branch(NamedTuple):
    """A point of the branch left of the bulk."""

    p: float
    P: np.ndarray
    z: float
    slack: float  # one minus the spectral radius of the memory: positive on the physical branch only


def slack(memory: np.ndarray) -> float:
    """Return one minus the spectral radius of a memory (see `Bulk.moments`)."""
    return 1 - float(np.abs(np.linalg.eigvals(memory)).max())


class Edge(NamedTuple):
    """The left edge of a bulk: its place, the branch point there, and whether the support pins it."""

    value: float
    point: Branch
    pinned: bool


@dataclass(frozen=True)
class Bulk(Shown):
    """A law of curvatures D with weights, at `delta` samples per dimension.

    Attributes
    ----------
    D : ndarray of shape (n, m, m)
        Symmetric matrices.
    weight : ndarray of shape (n,)
        Probabilities.
    delta : float
        Samples per dimension.

    Examples
    --------
    >>> wishart = Bulk(np.ones((1, 1, 1)), np.ones(1), 4.0)  # D = 1: Marchenko and Pastur's (1 - 1/√δ)²
    >>> print(wishart.left_edge().value)
    0.2500
    """

    D: np.ndarray
    weight: np.ndarray
    delta: float

    @property
    def mirrored(self) -> "Bulk":
        """The bulk of -H, whose left edge is minus the right edge of H."""
        return Bulk(-self.D, self.weight, self.delta)

    def thinned(self, count: int) -> "Bulk":
        """Return at most `count` nodes, of equal weight: those at equal steps of the ordered traces.

        Nodes of low discrepancy must not be thinned in the order they come: every k-th of Sobol's points
        leaves parts of the space empty.
        """
        if self.weight.size <= count:
            return self
        order = np.argsort(np.einsum("naa->n", self.D), kind="stable")
        reached = np.cumsum(self.weight[order]) / self.weight.sum()
        index = order[np.searchsorted(reached, (np.arange(count) + 0.5) / count)]
        return Bulk(self.D[index], np.full(count, 1 / count), self.delta)

    def shrink(self, P: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return A = K D/δ and B = D (1 - A) for each node; P may be complex."""
        scaled = self.D / self.delta
        A = inverse(P + scaled) @ scaled
        return A, self.D - self.D @ A

    @cached_property
    def _scaled(self) -> np.ndarray:
        """D/δ, shape (m, m, n)."""
        return entries_first(self.D / self.delta)

    def moments(self, P: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
        """Return E[B], and its derivative in P, the memory X -> δ E[Aᵀ X A], as a matrix on flattened X.

        None if P is real and P + D/δ is not positive definite at every node. Since A = 1 - K P and
        B = δ (P - P K P), the first two moments of K are enough.
        """
        m = len(P)
        if m == 1:
            return self._moments_of_numbers(P)
        rows = np.ones((m * m + 1, self.weight.size), P.dtype)  # 1, and the entries of K
        K = rows[1:].reshape(m, m, -1)
        np.add(self._scaled, P[:, :, None], out=K)
        if not eliminate(K):
            return None
        gram = (rows * self.weight) @ rows.T
        unit, k = np.eye(m), gram[0, 1:].reshape(m, m) @ P
        mean = self.delta * (gram[0, 0] * P - P @ k)
        cross = np.outer(unit, k)
        square = P.T @ (gram[1:, 1:].reshape(-1, m) @ P).reshape(m, m, m * m)
        product = gram[0, 0] * np.outer(unit, unit) - cross - cross.T + square.reshape(m * m, m * m)
        memory = product.reshape(m, m, m, m).transpose(1, 3, 0, 2).reshape(m * m, m * m)
        return mean, self.delta * memory

    def _moments_of_numbers(self, P: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
        """Return the same for one neuron, where nothing needs a matrix: E[B] = δ P E[A], and δ E[A²]."""
        scaled = self._scaled[0, 0]
        below = scaled + P[0, 0]
        if not (np.iscomplexobj(P) or below.min() > 0):
            return None
        A = scaled / below
        weighted = self.weight * A
        return self.delta * weighted.sum() * P, np.array([[self.delta * (weighted @ A)]])

    def follow(self, p: float, start: np.ndarray) -> Branch | None:
        """Solve for (P, z) with tr P/m = p by Newton's method; None if no feasible solution is reached."""
        m = len(start)
        if m == 1:  # nothing to solve for
            P = np.full((1, 1), p)
            moments = self.moments(P)
            return moments and Branch(p, P, float(moments[0][0, 0]) - p, 1 - float(moments[1][0, 0]))
        unit = np.eye(m).ravel()
        P = start * (p * m / np.trace(start))
        moments = self.moments(P)
        for _ in range(10):  # three or four are usual
            if moments is None:
                return None
            mean, memory = moments
            system = np.zeros((m * m + 1, m * m + 1))
            system[:-1, :-1] = memory - np.eye(m * m)
            system[:-1, -1], system[-1, :-1] = -unit, unit
            try:
                solution = np.linalg.solve(system, np.append((P - mean).ravel(), m * p - np.trace(P)))
            except np.linalg.LinAlgError:  # exactly on a fold of another branch
                return None
            step, z = solution[:-1].reshape(m, m), float(solution[-1])
            step, share = 0.5 * (step + step.T), 1.0
            while (moments := self.moments(P + share * step)) is None and share > 1e-2:
                share *= 0.5
            P = P + share * step
            if moments and np.abs(step).max() <= 1e-6 * abs(p):  # quadratic convergence: 1e-12 is left
                return Branch(p, P, z, slack(moments[1]))
        return None

    def reach(self, p: float, known: Branch, depth: int = 0) -> Branch:
        """Follow the physical branch from a known point to p, in smaller steps where one leads astray."""
        if p == known.p:
            return known
        point = self.follow(p, known.P)
        if point is not None and point.slack > -1e-6:
            return point
        if depth == 12:
            raise BranchLost(f"lost the branch between p = {known.p:.6g} and {p:.6g}")
        half = self.reach(0.5 * (p + known.p), known, depth + 1)
        return self.reach(p, half, depth + 1)

    def left_edge(self, near: Branch | None = None) -> Edge:
        """Find the left edge of the bulk: where the memory's spectral radius reaches one.

        The branch may be lost before, by too long a step: what is found there has slack, and is gone on from
        in shorter steps. The edge of a similar law, `near`, saves the way from far left.
        """
        size = float(np.abs(self.D).max())
        if size == 0:
            raise ValueError("law: the curvature is zero everywhere, so the Hessian has no bulk")
        good = (near and self._physical(1.2 * near.p, near.P)) or self._far_left(size)
        for halvings in range(12):
            good, beyond = self._descent(good, 0.75 ** (0.5**halvings), 1e-9 * size)
            if not beyond:  # D is never negative, and fewer samples than dimensions: a kernel at zero
                return Edge(0.0 if good.z > -1e-6 * size else good.z, good, True)
            good = self._fold(good, beyond)
            if good.slack < _FOLD:
                return Edge(good.z, good, self.rare(good.P))
        return Edge(good.z, good, True)

    def _descent(
        self, good: Branch, factor: float, least: float
    ) -> tuple[Branch, dict[float, Branch | None]]:
        """Go down in p as long as the branch is physical; return its last point, and what is found beyond."""
        while good.p > least:
            p = factor * good.p
            point = self.follow(p, good.P)
            if point is None or point.slack <= 0:
                return good, {p: point}
            good = point
        return good, {}

    def _physical(self, p: float, start: np.ndarray) -> Branch | None:
        """Return the point at p if it is on the physical branch."""
        point = self.follow(p, start)
        return point if point is not None and point.slack > 0 else None

    def _fold(self, good: Branch, beyond: dict[float, Branch | None]) -> Branch:
        """Return the point before the one beyond where the slack vanishes, or the branch is lost."""
        known, low = {**beyond, good.p: good}, min(beyond)

        def slack_at(p: float) -> float:
            nonlocal good
            point = known[p] = known[p] if p in known else self.follow(p, good.P)
            if point is not None and 0 < point.slack < good.slack:
                good = point
            return -1.0 if point is None else point.slack

        root = bracketing_root(slack_at, low, good.p, tolerance=_EDGE_TOLERANCE)
        return known[root.value] or good

    def _far_left(self, size: float) -> Branch:
        """Return a point of the physical branch: if P = p exceeded this start, no |A| would exceed 1/√δ."""
        p = size * (1 + self.delta**-0.5) * self.delta**-0.5
        for _ in range(12):
            if point := self._physical(p, np.eye(self.D.shape[1])):
                return point
            p *= 2
        raise RuntimeError("no physical branch far left of the bulk")

    def rare(self, P: np.ndarray) -> bool:
        """Whether a rare extreme node makes the fold: then the true edge sits where the support ends."""
        A, _ = self.shrink(P)
        share = self.weight * (A**2).sum(axis=(1, 2))
        top = int(np.argmax(share))
        return bool(share[top] > 0.2 * share.sum() and self.weight[top] < 0.01)

    def density(self, x: np.ndarray, width: float = 1e-3) -> np.ndarray:
        """Return the density of eigenvalues at the points x, smoothed over `width` times the bulk's size."""
        x = np.asarray(x, float)
        check_positive("width", width)
        if not np.isfinite(x).all():
            raise ValueError("x: must be finite")
        size = float(np.abs(self.D).max()) * (1 + self.delta**-0.5) ** 2
        density = np.zeros(x.size)
        P: np.ndarray | None = None
        for i in np.argsort(x, axis=None):
            z = complex(x.flat[i], width * size)
            # the neighbour's solution is near; if it leads astray, come down from far above the axis
            P = None if P is None else self._newton(z, P)
            P = self._descend(z, size) if P is None else P
            density[i] = np.trace(np.linalg.inv(P)).imag / (np.pi * len(P))
        return density.reshape(x.shape)

    def _newton(self, z: complex, P: np.ndarray) -> np.ndarray | None:
        """Solve P = E[B] - z from a start; None unless it converges to the solution with Im Q > 0."""
        m = len(P)
        for _ in range(12):
            moments = self.moments(P)
            assert moments is not None  # P is complex
            mean, memory = moments
            gap = mean - z * np.eye(m) - P
            step = np.linalg.solve(np.eye(m * m) - memory, gap.ravel()).reshape(m, m)
            P = P + step
            if np.abs(step).max() < 1e-7 * np.abs(P).max():
                Q = np.linalg.inv(P)
                positive = np.linalg.eigvalsh((Q - Q.conj().T) / 2j)[0] > 0
                return P if positive else None
        return None

    def _descend(self, z: complex, size: float) -> np.ndarray:
        """Follow the solution from far above the real axis, where P ≈ -z, down to z."""
        P = -(z + 2j * size) * np.eye(self.D.shape[1])
        height, factor = 2 * size, 0.6
        while height > 0:
            point = self._newton(z.real + 1j * (z.imag + height), P)
            if point is None:
                factor = 1 - 0.5 * (1 - factor)
                if factor > 0.995:
                    raise RuntimeError(f"no resolvent found at {z:.4g}")
                height = min(height / factor, 2 * size)
                continue
            P = point
            height = height * factor if height > 0.05 * z.imag else 0.0
        point = self._newton(z, P)
        if point is None:
            raise RuntimeError(f"no resolvent found at {z:.4g}")
        return point
