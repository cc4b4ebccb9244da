"""The read-out's self-consistent equations over laws of neurons and inputs, instead of over matrices.

Given κ, the features of a sample are Gaussian: mean ν(q, κ), a part n₁(q, κ) that is linear in the bulk of
the input, and a remainder of variance Φ(q, κ), for a neuron at q. With sample weights g(κ) everything follows
from

    L(g, r) = k E_q[r (1 + E_g Φ/k) - log r - 1] + n Σ_l π_l log det(1 + g K_l) + log det(1 + g H),
    K_l = E_q[r p_l n₁ n₁ᵀ]/n,    H = E_q[r ν νᵀ],

the log-determinant of the regularised feature second moment, stationary in r(q), the diagonal of its inverse.
Its derivatives in g are traces against the law of the features at κ, so they give the effective ridge that
each sample sees, and the way in which fluctuations of the read-out spread.
"""

from dataclasses import dataclass, replace

import numpy as np

from firstlight.maths.solvers import Mixing, Solved


@dataclass(frozen=True, eq=False)
class Kernel:
    """The features' conditional moments on nodes for neurons (N) and inputs (K).

    Attributes
    ----------
    mean, slope, rest : ndarray, shape (N, K)
        ν, n₁ and Φ.
    profile, shares : ndarray, shapes (N, P) and (P,)
        p and π: how the bulk of a neuron spreads over P kinds of directions.
    weights, labels : ndarray, shape (K,)
        Probabilities of the input nodes, and noiseless labels there.
    width, dimension : int
        k and n.
    """

    mean: np.ndarray
    slope: np.ndarray
    rest: np.ndarray
    profile: np.ndarray
    shares: np.ndarray
    weights: np.ndarray
    labels: np.ndarray
    width: int
    dimension: int


@dataclass(frozen=True, eq=False)
class Errors:
    """What the equations say about the read-out.

    Attributes
    ----------
    test : ndarray, shape (K,)
        Mean squared test error at each input node.
    effective_ridge : ndarray, shape (K,)
        u, the ridge that a sample there sees.
    residual : ndarray, shape (K,)
        Label minus the mean prediction.
    weight_square : float
        E |w|² of the read-out.
    """

    test: np.ndarray
    effective_ridge: np.ndarray
    residual: np.ndarray
    weight_square: float


def compress(matrix: np.ndarray, tolerance: float) -> tuple[np.ndarray, np.ndarray]:
    """Factor a smooth kernel (N, K) into (N, R) times (R, K) with R small.

    Examples
    --------
    >>> left, right = compress(np.ones((4, 3)), 1e-6)
    >>> left.shape, bool(np.allclose(left @ right, 1))
    ((4, 1), True)
    """
    left, size, right = np.linalg.svd(matrix, full_matrices=False)
    rank = max(1, int(np.count_nonzero(size > tolerance * size[0])))
    return left[:, :rank] * size[:rank], right[:rank]


class Functional:
    """L(g, r) and its derivatives for one kernel; see the module's head.

    Both kernels are factored, so that the determinants are those of small matrices. What the factors leave
    out is too weak to be learnt; it counts as noise.

    Parameters
    ----------
    kernel : Kernel
    tolerance : float, default 1e-3
        Smallest singular value that is kept, relative to the largest.
    """

    def __init__(self, kernel: Kernel, tolerance: float = 1e-3) -> None:
        count = len(kernel.mean)
        slope_left, slope_right = compress(kernel.slope, tolerance)
        mean_left, mean_right = compress(kernel.mean, tolerance)
        left_out = (kernel.slope - slope_left @ slope_right) ** 2 + (
            kernel.mean - mean_left @ mean_right
        ) ** 2
        self.kernel = kernel = replace(kernel, rest=kernel.rest + left_out)
        # every determinant: multiplicity, neuron factor, neuron weight, input factor
        self.terms = [
            (kernel.dimension * share, slope_left, profile / (count * kernel.dimension), slope_right)
            for share, profile in zip(kernel.shares, kernel.profile.T, strict=True)
        ]
        self.terms.append((1.0, mean_left, np.full(count, 1 / count), mean_right))

    def middle(self, g: np.ndarray, r: np.ndarray) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """For each determinant: A = Uᵀ diag(weight r) U, G = V diag(g) Vᵀ and (1 + A G)^(-1)."""
        result = []
        for _, left, weight, right in self.terms:
            a = (left.T * (weight * r)) @ left
            gram = (right * g) @ right.T
            result.append((a, gram, np.linalg.inv(np.eye(len(a)) + a @ gram)))
        return result

    def new_r(self, g: np.ndarray, middle: list) -> np.ndarray:
        """Return the r that makes L stationary, everything else held."""
        k = self.kernel
        total = 1 + k.rest @ g / k.width
        for (multiple, left, weight, _), (_, gram, inverse) in zip(self.terms, middle, strict=True):
            # each node stands for k/N neurons, hence the factor N/k on its derivative
            factor = multiple * weight * len(left) / k.width
            total += factor * ((left @ (gram @ inverse)) * left).sum(axis=1)
        return 1 / total

    def slope_in_g(self, r: np.ndarray, middle: list) -> np.ndarray:
        """dL/dg: the trace of the feature second moment at each input node against the resolvent."""
        k = self.kernel
        total = r @ k.rest / len(r)
        for (multiple, _, _, right), (a, _, inverse) in zip(self.terms, middle, strict=True):
            total += multiple * (right * (inverse @ a @ right)).sum(axis=0)
        return total

    def solve(
        self,
        m: int,
        ridge: float,
        start: np.ndarray | None = None,
        tolerance: float = 1e-8,
        budget: int = 300,
    ) -> Solved[tuple[np.ndarray, np.ndarray]]:
        """Solve u = λ + (dL/dg)/m with g = w/u, and r stationary, by iteration.

        Parameters
        ----------
        m : int
            Number of training samples.
        ridge : float
            λ, positive.
        start : ndarray, shape (K,), optional
            u to begin with.
        tolerance, budget : float, int
            Largest relative change of u and r, and the number of iterations allowed.

        Returns
        -------
        Solved
            `value` is (u, r).
        """
        k = self.kernel
        size = float(k.weights @ (k.mean**2 + k.slope**2 + k.rest).mean(axis=0))
        u = np.full(k.weights.size, ridge + size / m) if start is None else start
        at = np.log(np.concatenate([u, np.full(len(k.mean), 0.5)]))
        mixing = Mixing()
        for iteration in range(1, budget + 1):
            u, r = np.split(np.exp(at), [u.size])
            g = k.weights / u
            middle = self.middle(g, r)
            new_r = self.new_r(g, middle)
            new_u = ridge + self.slope_in_g(new_r, middle) / m
            gap = np.log(np.concatenate([new_u, new_r])) - at
            residual = float(np.abs(gap).max())
            if not np.isfinite(residual):
                return Solved((u, r), np.inf, iteration, False)
            if residual <= tolerance:
                return Solved((new_u, new_r), residual, iteration, True)
            at = mixing(at, gap)
        return Solved((u, r), residual, budget, False)

    def errors(self, m: int, u: np.ndarray, r: np.ndarray, noise: float) -> Errors:
        """Return test errors and the read-out's size at a solution (u, r), with this label noise variance."""
        k, count = self.kernel, len(r)
        g = k.weights / u
        middle = self.middle(g, r)
        # derivatives of L in g and r; the ridge term |w|² enters as one more input node with Φ = k
        rest = np.column_stack([k.rest, np.full(count, float(k.width))])
        mixed = rest / count
        curvature = np.diag(k.width / (count * r**2))
        second = np.zeros((rest.shape[1], rest.shape[1]))
        for (multiple, left, weight, right), (a, gram, inverse) in zip(self.terms, middle, strict=True):
            seen = left @ inverse.T @ right  # (1 + K g)^(-1) applied to each neuron's row
            mixed[:, :-1] += multiple * weight[:, None] * seen**2
            curvature -= multiple * np.outer(weight, weight) * (left @ gram @ inverse @ left.T) ** 2
            second[:-1, :-1] -= multiple * (right.T @ inverse @ a @ right) ** 2
        _, left, weight, right = self.terms[-1]
        a, _, inverse = middle[-1]
        residual = k.labels - right.T @ (inverse @ (a @ (right @ (g * k.labels))))
        pull = weight * (left @ (right @ (g * residual))) ** 2  # minus the derivative of the energy in r
        answer = np.linalg.solve(curvature, np.column_stack([pull, mixed]))
        risk = np.append(residual**2 + noise, 0.0) + mixed.T @ answer[:, 0]
        second -= mixed.T @ answer[:, 1:]
        carry = -second[:, :-1] * k.weights / (m * u**2)
        test = np.linalg.solve(np.eye(u.size) - carry[:-1], risk[:-1])
        return Errors(test, u, residual, float(risk[-1] + carry[-1] @ test))
