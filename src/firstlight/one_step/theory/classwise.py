"""Deterministic equivalents of ridge regression when the classes have different laws."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import linalg
from scipy.linalg import lapack

from firstlight.one_step.theory.deterministic import Equivalent, effective_ridge, has_a_mean
from firstlight.one_step.theory.moments import FeatureMoments
from firstlight.one_step.theory.score_variance import Scores, of_counts, solve_scores

_TOLERANCE = 1e-11
_STEPS = 60


def _inverse(matrix: np.ndarray) -> np.ndarray:
    """Invert a symmetric positive definite matrix."""
    factor = linalg.cholesky(matrix, lower=True, check_finite=False)
    half, _ = lapack.dpotri(factor, lower=1, overwrite_c=True)
    lower = np.tril(half)
    return lower + np.tril(half, -1).T


@dataclass(frozen=True, eq=False)
class Classwise:
    """The solved equations: an effective ridge for each class, and what follows from it.

    Attributes
    ----------
    moments : FeatureMoments
    m : int
        Training samples.
    ridge : float
        λ, or the smallest that stands for zero.
    effective : ndarray, shape (C,)
        u.
    resolvent : ndarray, shape (k, k)
        P.
    products : list of C ndarrays, shape (k, k)
        Ω_c P.
    carry : ndarray, shape (C, C)
        T.
    converged : bool
    """

    moments: FeatureMoments
    m: int
    ridge: float
    effective: np.ndarray
    resolvent: np.ndarray
    products: list[np.ndarray]
    carry: np.ndarray
    converged: bool

    @property
    def readout(self) -> np.ndarray:
        """Mean of the read-out weights, shape (k,)."""
        return self.resolvent @ ((self.moments.weights / self.effective) @ self.moments.cross)

    @property
    def scores(self) -> Scores:
        """How much scores vary, with class counts as they are."""
        return solve_scores(
            self.moments, self.m, self.readout, self._turned, self.moments.second,
            np.eye(len(self.effective)), self.effective, self.carry,
        )  # fmt: skip

    @cached_property
    def _turned(self) -> np.ndarray:
        """P p_c, and P μ_c where means are known."""
        return self.moments.pulls(self.readout[None])[0] @ self.resolvent

    @property
    def _counted(self) -> np.ndarray:
        """What the equations let the counts of classes do: see `of_counts`."""
        return of_counts(self.moments.weights, self._turned[: len(self.effective)] / self.effective[:, None])

    def weight_square(self, by_class: np.ndarray) -> float:
        """Return E |w|² of the read-out, by its test errors, with class counts as they are."""
        rho, u = self.moments.weights, self.effective
        spread = np.array([np.vdot(self.resolvent, p) for p in self.products])  # tr Ω_c P²
        fluctuation = float(rho @ (by_class / u * spread / u))  # u² may overflow
        return float(self.readout @ self.readout) + (fluctuation - np.sum(self._counted**2)) / self.m

    @np.errstate(over="ignore", invalid="ignore")  # of features beyond numbers: NaN
    def forms(self, rows: np.ndarray) -> np.ndarray:
        """Return φᵀP Ω_c P φ for rows φ: shape (rows, C)."""
        inside = rows @ self.resolvent
        return np.stack([np.vecdot(inside @ omega, inside) for omega in self.moments.second], axis=-1)

    def carried(self, risk: np.ndarray) -> np.ndarray:
        """Return R = (I - T)^(-1) e: errors e of the mean read-out, with its fluctuations."""
        return np.linalg.solve(np.eye(len(risk)) - self.carry, risk)

    @property
    def by_class(self) -> np.ndarray:
        """Test errors, with class counts as they are, shape (C,)."""
        counted = [np.vdot(self._counted @ omega, self._counted) for omega in self.moments.second]
        return self.carried(self.moments.risk(self.readout[None])[0] - np.array(counted) / self.m)


def solve_classwise(moments: FeatureMoments, m: int, ridge: float) -> Classwise:
    """Solve for an effective ridge for each class.

    A sample of class c sees the effective ridge u_c = λ + (1/m) tr Ω_c P, P = (I + Σ_c ρ_c Ω_c/u_c)^(-1). The
    Jacobian of these equations is I - T with T_ac = ρ_c tr(Ω_a P Ω_c P)/(m u_c²), the same matrix that
    carries the read-out's fluctuations into the test errors R = (I - T)^(-1) e.

    Parameters
    ----------
    moments : FeatureMoments
        Population moments of the features.
    m : int
        Number of training samples.
    ridge : float
        λ; a zero is taken as a limit.

    Returns
    -------
    Classwise
        Made of NaN, and not converged, where features depend on each other and the ridge is so small that
        the noise of their integration, which has eigenvalues below zero, outweighs it.
    """
    try:
        return _solved(moments, m, ridge)
    except np.linalg.LinAlgError:  # from noise: what is inverted has no eigenvalue below one
        classes, k = moments.cross.shape
        unknown = np.full((k, k), np.nan)
        carry = np.full((classes, classes), np.nan)
        return Classwise(moments, m, ridge, carry[0], unknown, [unknown] * classes, carry, False)


def _solved(moments: FeatureMoments, m: int, ridge: float) -> Classwise:
    """Solve the equations of `solve_classwise` by Newton's method."""
    rho, k, classes = moments.weights, len(moments.cross[0]), len(moments.weights)
    traces = np.array([np.trace(omega) for omega in moments.second])
    size = float(max(rho @ traces, 1e-10 * traces.max())) or 1.0  # features may all be 0
    ridge = max(ridge, 1e-10 * size / k)
    # the pooled equation with a flat spectrum is a cheap start from above
    u = np.full(classes, effective_ridge(np.full(k, rho @ traces / k), m, ridge)[0])
    residual = np.inf
    for _ in range(_STEPS):
        resolvent, products, carry = _resolvent(moments, m, u)
        gap = u - ridge - np.array([np.trace(p) for p in products]) / m
        residual = float(np.max(np.abs(gap) / u))
        if residual <= _TOLERANCE:
            break
        step = np.linalg.solve(np.eye(classes) - carry, gap)
        new = u - step
        u = np.where(new > ridge, new, 0.5 * (u + ridge))
    return Classwise(moments, m, ridge, u, resolvent, products, carry, residual <= _TOLERANCE)


def classwise_equivalent(
    moments: FeatureMoments, m: int, ridge: float, features: list[np.ndarray] | None = None
) -> Equivalent:
    """Predict the read-out's errors with an effective ridge for each class, as `solve_classwise` finds it.

    `features` are as in `pooled_equivalents`.
    """
    solved = solve_classwise(moments, m, ridge)
    rho, u, readout = moments.weights, solved.effective, solved.readout
    by_class = solved.by_class
    square = solved.weight_square(by_class)
    test, train = float(rho @ by_class), float(rho @ (by_class * (solved.ridge / u) ** 2))
    bounded = has_a_mean(float(rho @ solved.carried(np.ones(len(rho)))), m)
    variance, fluctuations = None, None
    if moments.mean is not None:
        scores = solved.scores
        variance = scores.variance
        if features is not None:
            fluctuations = [scores.fluctuation(rows, solved.forms(rows)) for rows in features]
    converged = solved.converged and bounded
    return Equivalent(test, train, by_class, square, readout, converged, variance, fluctuations)


def _resolvent(
    moments: FeatureMoments, m: int, u: np.ndarray
) -> tuple[np.ndarray, list[np.ndarray], np.ndarray]:
    """P, the products Ω_c P, and T."""
    rho = moments.weights
    total = np.eye(len(moments.cross[0]))
    for weight, omega in zip(rho / u, moments.second, strict=True):
        total += weight * omega
    resolvent = _inverse(total)
    products = [omega @ resolvent for omega in moments.second]
    shares = [product / one for product, one in zip(products, u, strict=True)]  # u² may overflow
    traces = np.array([[np.vdot(a.T, c) for c in shares] for a in shares])
    return resolvent, products, traces * rho * (u[:, None] / u) / m
