"""Deterministic equivalents of ridge regression when one covariance serves all samples."""

from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy import linalg
from scipy.linalg import lapack

from firstlight.maths.solvers import bracketing_root
from firstlight.maths.workers import Workers
from firstlight.one_step.theory.moments import FeatureMoments
from firstlight.one_step.theory.score_variance import of_counts, solve_scores

_AMPLIFIED = 0.1  # largest excess of label noise in the test error, as a share of the samples


@dataclass(frozen=True, eq=False)
class Equivalent:
    """Predicted errors of a ridge read-out.

    Attributes
    ----------
    test, train : float
        Mean squared errors.
    by_class : ndarray, shape (C,)
        Test error in each class.
    weight_square : float
        E |w|² of the read-out.
    readout : ndarray, shape (k,)
        Mean of the read-out weights.
    converged : bool
        Whether the self-consistent equation was solved.
    score_variance : ndarray, shape (C,), or None
        How much scores vary in each class, with class counts as they are; None unless labels tell the class.
    fluctuations : list of C ndarrays, or None
        How much scores vary over training sets where features have the values that were asked about.
    """

    test: float
    train: float
    by_class: np.ndarray
    weight_square: float
    readout: np.ndarray
    converged: bool
    score_variance: np.ndarray | None = None
    fluctuations: list[np.ndarray] | None = None


class Resolvent:
    """(Ω + κ)⁻¹ b for any number of shifts κ, from one reduction of Ω to tridiagonal form.

    Eigenvectors are never formed: ridge formulas need the eigenvalues for traces, and this for the rest.

    Parameters
    ----------
    omega : ndarray, shape (k, k)
        Ω, symmetric, no eigenvalue below zero.
    b : ndarray, shape (k,)
        A vector in the range of Ω.

    Attributes
    ----------
    values : ndarray, shape (k,)
        Eigenvalues of Ω, in ascending order; what is zero up to rounding is zero.

    Examples
    --------
    >>> resolvent = Resolvent(np.diag([3.0, 1.0, 2.0]), np.array([1.0, 0.0, 0.0]))
    >>> resolvent.values.tolist(), resolvent(np.array([1.0])).tolist()
    ([1.0000, 2.0000, 3.0000], [[0.2500, 0.0000, 0.0000]])
    """

    def __init__(self, omega: np.ndarray, b: np.ndarray) -> None:
        if len(omega) < 3:  # LAPACK reduces larger ones only
            self._diagonal, self._vectors = np.linalg.eigh(omega)
            self._tau, self._start = None, self._vectors.T @ b
            values = self._diagonal
        else:
            work = int(lapack.dsytrd_lwork(len(omega), lower=1)[0])
            with Workers() as workers:
                reduced = workers.together(partial(lapack.dsytrd, omega, lower=1, lwork=work))
            packed, self._diagonal, self._off, self._tau, _ = reduced
            self._vectors = np.asfortranarray(packed[1:, :-1])
            self._start = self._reflect(b[:, None], "T")[:, 0]
            values = linalg.eigvalsh_tridiagonal(
                self._diagonal, self._off, check_finite=False, lapack_driver="sterf"
            )
        self.values = np.where(values > 1e-13 * values.max(), values, 0.0)

    def _reflect(self, columns: np.ndarray, way: str) -> np.ndarray:
        room = 64 * columns.shape[1]  # for blocks of reflections
        turned, _, failed = lapack.dormqr("L", way, self._vectors, self._tau, columns[1:], lwork=room)
        assert not failed, "LAPACK's dormqr refuses its arguments"
        return np.vstack([columns[:1], turned])

    def _solve(self, shift: float, start: np.ndarray) -> np.ndarray:
        largest = float(self.values[-1])
        if self.values[0] + shift <= 1e-13 * largest:
            # singular: a token shift keeps out the rounding of b in directions that it has no part in
            shift = 1e-9 * largest or 1.0
        if self._tau is None:
            return (start.T / (self._diagonal + shift)).T
        return lapack.dptsv(self._diagonal + shift, self._off, start)[2]

    def __call__(self, shifts: np.ndarray) -> np.ndarray:
        """Return (Ω + κ)⁻¹ b for every κ, shape (shifts, k); at zero the solution of least norm."""
        return self._back([self._solve(float(shift), self._start) for shift in shifts])

    def of(self, shifts: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """Return (Ω + κ)⁻¹ c for every κ and each of its own columns c: (shifts, C, k) to the same shape."""
        starts = np.split(self.turn(columns.reshape(-1, columns.shape[-1]).T), len(shifts), axis=1)
        solved = self._back([self._solve(float(k), start) for k, start in zip(shifts, starts, strict=True)])
        return solved.reshape(columns.shape)

    def turn(self, columns: np.ndarray) -> np.ndarray:
        """Return columns in the reduced form."""
        return self._vectors.T @ columns if self._tau is None else self._reflect(columns, "T")

    @np.errstate(over="ignore", invalid="ignore")  # of features beyond numbers: NaN
    def forms(self, shift: float, turned: np.ndarray) -> np.ndarray:
        """Return cᵀ(Ω + κ)⁻¹ Ω (Ω + κ)⁻¹ c for columns c that were turned, shape (columns,)."""
        solved = self._solve(shift, turned)
        inside = self._diagonal @ solved**2
        return inside if self._tau is None else inside + 2 * self._off @ (solved[1:] * solved[:-1])

    def _back(self, solutions: list[np.ndarray]) -> np.ndarray:
        """Turn solutions back from the reduced form, into rows."""
        columns = np.column_stack(solutions)
        return (self._vectors @ columns if self._tau is None else self._reflect(columns, "N")).T


def has_a_mean(amplification: float, m: int) -> bool:
    """Tell whether the mean test error at m samples is what the equations say, to about a tenth or two.

    They hold for many samples. Without a ridge, with R directions, noise of the labels grows by
    m/(m - R) there, and by (m - 1)/(m - R - 1) for Gaussian features of any size: an excess of a tenth of
    the samples is wrong by a tenth, and next to m = R the mean does not exist.

    Examples
    --------
    >>> has_a_mean(100 / (100 - 50), 100), has_a_mean(100 / (100 - 99), 100)
    (True, False)
    """
    return bool(0 < amplification < 1 + _AMPLIFIED * m)  # below 1 only by rounding


def effective_ridge(values: np.ndarray, m: int, ridge: float) -> tuple[float, bool]:
    """Solve λ = κ (1 - (1/m) Σ_i l_i/(l_i + κ)) for the largest κ ≥ λ.

    Parameters
    ----------
    values : ndarray
        l, eigenvalues of the feature second moment; at least 0.
    m : int
        Number of training samples.
    ridge : float
        λ, at least 0. At zero the answer is zero unless there are more directions than samples.

    Returns
    -------
    kappa : float
    converged : bool

    Examples
    --------
    >>> kappa, converged = effective_ridge(np.ones(4), 2, 0.0)  # 1 = 2/(1 + κ)
    >>> kappa, converged
    (1.0000, True)
    """

    def excess(kappa: float) -> float:
        return kappa - ridge - kappa * float((values / (values + kappa)).sum()) / m

    high = ridge + float(values.sum()) / m
    if high == 0:  # no features at all
        return 0.0, True
    low = max(ridge, 1e-14 * high)
    if excess(low) >= 0:  # only at ridge 0: fewer directions than samples, no implicit ridge
        return ridge, True
    root = bracketing_root(excess, low, high * (1 + 1e-9), tolerance=1e-13)
    return root.value, root.converged


def pooled_equivalents(
    moments: FeatureMoments, sizes: list[int], ridges: np.ndarray, features: list[np.ndarray] | None = None
) -> list[list[Equivalent]]:
    """Predict the read-out's errors for every sample size and ridge, from one factorisation.

    Parameters
    ----------
    moments : FeatureMoments
        Population moments of the features.
    sizes : list of int
        m, numbers of training samples.
    ridges : ndarray
        λ, each at least 0.
    features : list of C ndarrays, shape (nodes, k), optional
        Where to tell the scores' fluctuations; for labels that tell the class.

    Returns
    -------
    list of list of Equivalent
        Indexed by size, then ridge.
    """
    omega, b, _ = moments.pooled()
    resolvent = Resolvent(omega, b)
    values = resolvent.values
    cells = [(m, *effective_ridge(values, m, float(ridge))) for m in sizes for ridge in ridges]
    kappas = np.array([kappa for _, kappa, _ in cells])
    readouts = resolvent(kappas)
    pulls = resolvent.of(kappas, moments.pulls(readouts))
    equivalents, common = [], [omega] * len(moments.weights)
    equal = np.ones(len(common))
    nodes = None if features is None else [resolvent.turn(rows.T) for rows in features]
    for (m, kappa, converged), readout, by_class, columns in zip(
        cells, readouts, moments.risk(readouts), pulls, strict=True
    ):
        shifted = np.where(values + kappa > 0, values + kappa, 1.0)
        share = values / shifted
        gamma = float((share**2).sum()) / m
        size = float(readout @ readout)
        counted = of_counts(moments.weights, columns[: len(common)])
        # of the read-out as it is: where a token shift was needed, Ωw is not quite b
        risk = max(float(moments.weights @ by_class), 0.0)
        moved = min(float(np.vdot(counted @ omega, counted)) / m, gamma * risk)  # no more than all that moves
        test = (risk - moved) / (1 - gamma) if gamma < 1 else np.inf
        converged &= gamma < 1 and has_a_mean(1 / (1 - gamma), m)
        kept = 1 - float(share.sum()) / m  # λ/κ, also where both vanish
        train = kept**2 * test if kept > 1e-12 else 0.0
        fluctuation = test * float((share / shifted).sum()) - np.sum(counted**2)
        square = size + fluctuation / m
        by_class = by_class + gamma * test - moved
        variance, fluctuations = None, None
        if moments.mean is not None:
            shares = np.outer(equal, moments.weights)
            scores = solve_scores(moments, m, readout, columns, common, shares, equal, gamma * shares)
            variance = scores.variance
            if features is not None and nodes is not None:
                forms = [resolvent.forms(kappa, turned) for turned in nodes]
                fluctuations = [
                    scores.fluctuation(rows, form[:, None] * equal)
                    for rows, form in zip(features, forms, strict=True)
                ]
        equivalents.append(
            Equivalent(test, train, by_class, square, readout, converged, variance, fluctuations)
        )
    return [equivalents[start : start + len(ridges)] for start in range(0, len(equivalents), len(ridges))]
