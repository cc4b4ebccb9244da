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

from collections.abc import Callable
from copy import copy
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
    amplification : float
        By how much a noise of the labels grows in the mean test error.
    score_variance : ndarray, shape (K,), or None
        How much scores vary at each input node if the counts of classes are fixed; None if not asked for.
    """

    test: np.ndarray
    effective_ridge: np.ndarray
    residual: np.ndarray
    weight_square: float
    amplification: float
    score_variance: np.ndarray | None


def compress(matrix: np.ndarray, tolerance: float) -> tuple[np.ndarray, np.ndarray]:
    """Factor a smooth kernel (N, K) into (N, R) times (R, K) with R small.

    From the eigenvectors of its Gram matrix: good down to tolerances near the root of rounding.

    Examples
    --------
    >>> left, right = compress(np.ones((4, 3)), 1e-6)
    >>> left.shape, bool(np.allclose(left @ right, 1))
    ((4, 1), True)
    """
    square, vectors = np.linalg.eigh(matrix.T @ matrix)
    kept = square > tolerance**2 * square[-1]
    kept[-1] = True
    right = vectors[:, kept].T
    return matrix @ right.T, right


class Determinants:
    """Σ_l multiple_l log det(1 + A_l G), A_l = Uᵀ diag(weight_l r) U, G = V diag(g) Vᵀ: one kernel U V.

    Parameters
    ----------
    left, right : ndarray, shapes (N, R) and (R, K)
        U and V.
    weights : ndarray, shape (N, P)
        What each neuron counts for in each of P determinants, at least 0.
    multiples : ndarray, shape (P,)
        How often each occurs.
    """

    def __init__(
        self, left: np.ndarray, right: np.ndarray, weights: np.ndarray, multiples: np.ndarray
    ) -> None:
        self.left, self.right, self.weights, self.multiples = left, right, weights, multiples
        self.rank, self._weights = len(right), np.ascontiguousarray(weights.T)

    def middle(self, g: np.ndarray, r: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the A, shape (P, R, R), G, and the (1 + A G)^(-1)."""
        a, gram = self._summed(r, g)
        try:
            inverse = np.linalg.inv(np.eye(self.rank) + a @ gram)
        except np.linalg.LinAlgError:  # features so large that the 1 is lost: told as not converged
            inverse = np.full_like(a, np.nan)
        return a, gram, inverse

    def slope_in_r(self, gram: np.ndarray, inverse: np.ndarray) -> np.ndarray:
        """Return the derivative in r, shape (N,)."""
        return self._along_left(gram @ inverse)

    def slope_in_g(self, a: np.ndarray, inverse: np.ndarray) -> np.ndarray:
        """Return the derivative in g, shape (K,)."""
        return self._along_right(inverse @ a)

    def bend(
        self, turns: tuple[np.ndarray, np.ndarray, np.ndarray], r: np.ndarray, g: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Apply the second derivatives to changes of r and g, all but the mixed ones with a minus.

        `turns` are G (1 + A G)^(-1), (1 + A G)^(-1) A and (1 + A G)^(-1), the same for every change.
        Each is a square of a product of few columns, so that no matrix of N or K rows need be formed.
        """
        turned, other, inverse = turns
        back = inverse.mT
        left, right = self._summed(r, g)
        return (
            self._along_left(turned @ left @ turned.mT + back @ right @ inverse),
            self._along_right(inverse @ left @ back + other @ right @ other.mT),
        )

    def _summed(self, r: np.ndarray, g: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the A, shape (P, R, R), and G."""
        a = (self.left.T * (self._weights * r)[:, None]) @ self.left
        return a, (self.right * g) @ self.right.T

    def _along_left(self, matrices: np.ndarray) -> np.ndarray:
        """Sum multiple times weight times uᵀMu over the matrices, for each row u of U."""
        return self.multiples @ (self._weights * np.vecdot(self.left @ matrices, self.left))

    def _along_right(self, matrices: np.ndarray) -> np.ndarray:
        """Sum multiple times vᵀMv over the matrices, for each column v of V."""
        total = (self.multiples @ matrices.reshape(len(matrices), -1)).reshape(matrices.shape[1:])
        return np.asarray(np.einsum("rk,rk->k", self.right, total @ self.right))


class Functional:
    """L(g, r) and its derivatives for one kernel; see the module's head.

    Both kernels are factored, so that the determinants are those of small matrices. What the factors leave
    out is too weak to be learnt; it counts as noise.

    Parameters
    ----------
    kernel : Kernel
    tolerance : float, optional
        Smallest singular value that is kept, relative to the largest; by default what is left out is small
        beside the noise that is there (none for a linear σ).
    """

    def __init__(self, kernel: Kernel, tolerance: float | None = None) -> None:
        count = len(kernel.mean)
        if tolerance is None:
            noise = kernel.rest.mean() / (kernel.mean**2 + kernel.slope**2 + kernel.rest).mean()
            tolerance = float(np.clip(1e-2 * np.sqrt(noise), 1e-7, 1e-3))
        slope, mean = compress(kernel.slope, tolerance), compress(kernel.mean, tolerance)
        left_out = (kernel.slope - slope[0] @ slope[1]) ** 2 + (kernel.mean - mean[0] @ mean[1]) ** 2
        self.kernel = kernel = replace(kernel, rest=kernel.rest + left_out)
        bulk = kernel.dimension
        self.slope = Determinants(*slope, kernel.profile / (count * bulk), bulk * kernel.shares)
        self.mean = Determinants(*mean, np.full((count, 1), 1 / count), np.ones(1))

    def middle(self, g: np.ndarray, r: np.ndarray) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """For both kernels: what their derivatives are made of."""
        return [self.slope.middle(g, r), self.mean.middle(g, r)]

    def new_r(self, g: np.ndarray, middle: list) -> np.ndarray:
        """Return the r that makes L stationary, everything else held."""
        k = self.kernel
        total = 1 + k.rest @ g / k.width
        for part, (_, gram, inverse) in zip((self.slope, self.mean), middle, strict=True):
            # each node stands for k/N neurons, hence the factor N/k on its derivative
            total += len(total) / k.width * part.slope_in_r(gram, inverse)
        return np.asarray(1 / total)

    def slope_in_g(self, r: np.ndarray, middle: list) -> np.ndarray:
        """dL/dg: the trace of the feature second moment at each input node against the resolvent."""
        total = r @ self.kernel.rest / len(r)
        for part, (a, _, inverse) in zip((self.slope, self.mean), middle, strict=True):
            total += part.slope_in_g(a, inverse)
        return np.asarray(total)

    def solve(
        self,
        m: int,
        ridge: float,
        start: tuple[np.ndarray, np.ndarray] | None = None,
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
        start : (u, r), optional
            Where to begin: the solution of a problem close by.
        tolerance, budget : float, int
            Largest relative change of u and r, and the number of iterations allowed.

        Returns
        -------
        Solved
            `value` is (u, r).
        """
        k = self.kernel
        size = float(k.weights @ (k.mean**2 + k.slope**2 + k.rest).mean(axis=0))
        u, r = start or (np.full(k.weights.size, ridge + size / m), np.full(len(k.mean), 0.5))
        at = np.log(np.concatenate([u, r]))
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

    def weighted(self, weights: np.ndarray) -> "Functional":
        """Return the same with other probabilities of the input nodes."""
        other = copy(self)
        other.kernel = replace(self.kernel, weights=weights)
        return other

    def errors(
        self, m: int, u: np.ndarray, r: np.ndarray, noise: float, classes: np.ndarray, scores: bool
    ) -> Errors:
        """Return test errors and the read-out's size at a solution (u, r), with this label noise variance.

        Fluctuations of the read-out spread through g, and r follows: test errors t and the answer a of r obey

            t = residual² + noise + mixedᵀ a - L_gg (w/(m u²) ∘ t),    L_rr a = pull + mixed (w/(m u²) ∘ t),

        with pull minus the derivative of the energy in r. In the units below this is one symmetric matrix.

        That is for samples drawn one by one. The counts of classes, shape (K,), are fixed: without what they
        would do, 1/m times the squares of how much mean predictions change by more weight on a class, u and r
        held. Scores vary as in `score_variance`; that is formed without the squared residual, which may be
        much larger.
        """
        k, count, mean = self.kernel, len(r), self.mean
        g = k.weights / u
        middle = self.middle(g, r)
        turns = [(gram @ inverse, inverse @ a, inverse) for a, gram, inverse in middle]
        in_r, in_g = r * np.sqrt(count / k.width), np.sqrt(k.weights / m) / u

        def bent(x: np.ndarray, t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            x, t = in_r * x, in_g * t
            along, across = k.rest @ t / count, x @ k.rest / count
            for part, solved in zip((self.slope, mean), turns, strict=True):
                more = part.bend(solved, x, t)
                along, across = along + more[0], across + more[1]
            return in_r * along, in_g * across

        (a,), _, (inverse,) = middle[-1]
        residual = k.labels - mean.right.T @ (inverse @ (a @ (mean.right @ (g * k.labels))))
        pull = mean.weights[:, 0] * (mean.left @ (mean.right @ (g * residual))) ** 2
        _, noisy = spread(bent, np.zeros(count), in_g, 1e-4)  # it is only asked for its size
        own = classes[:, None] == np.arange(classes.max() + 1)
        shares = k.weights @ own
        back = inverse.T @ (mean.right @ (own * (g * residual)[:, None] / shares))

        def without(back: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
            """Return the answers of r and g, and how scores vary, without what such pulls of classes add."""
            counted = (mean.right.T @ (a @ back)) ** 2 @ shares / m
            pulled = mean.weights[:, 0] * ((mean.left @ back) ** 2 @ shares) / m
            x, t = spread(bent, in_r * (pull - pulled), in_g * (residual**2 + noise - counted))
            return x, t, bent(x, t)[1] / in_g - counted

        answer, test, _ = without(back - (back @ shares)[:, None])  # counts of one class do not vary
        # the square of the weights is the error at one more node, with Φ = k
        weight_square = k.width / count * float(in_r @ answer)
        varying = without(back)[-1] if scores else None
        amplification = float(k.weights @ (noisy / in_g))
        return Errors(test / in_g, u, residual, weight_square, amplification, varying)


def spread(
    matrix: Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]],
    pull: np.ndarray,
    own: np.ndarray,
    tolerance: float = 1e-12,
) -> tuple[np.ndarray, np.ndarray]:
    """Solve (x, t) = (pull, own) + matrix(x, t), which is symmetric, by conjugate gradients: in few steps."""
    count, both = len(pull), np.concatenate([pull, own])

    def apply(z: np.ndarray) -> np.ndarray:
        return z - np.concatenate(matrix(z[:count], z[count:]))

    solution, along, left, square = np.zeros(both.size), both, both, both @ both
    smallest = tolerance**2 * square
    for _ in range(100):
        if square <= smallest:
            return solution[:count], solution[count:]
        applied = apply(along)
        length = square / (along @ applied)
        solution, left = solution + length * along, left - length * applied
        before, square = square, left @ left
        along = left + square / before * along
    solution = np.linalg.solve(np.column_stack([apply(unit) for unit in np.eye(both.size)]), both)
    return solution[:count], solution[count:]
