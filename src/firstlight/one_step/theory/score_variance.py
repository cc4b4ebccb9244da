"""How much the scores φᵀw of a class vary, over inputs and over training sets with fixed class counts.

A training sample of class c moves the read-out by G_c φ r/m, with G_c = P/u_c and r what the others' read-out
leaves of its label. So read-outs have the covariance

    C = (1/m) Σ_c ρ_c G_c N_c G_c,    N_c = Cov(φ r | c) = R_c Σ_c + A_c μ_c μ_cᵀ - r_c (μ_c s_cᵀ + s_c μ_cᵀ) + s_c s_cᵀ

for features with mean μ_c and covariance Σ_c, as Gaussian ones have it: r_c is the mean of r, s_c = Σ_c w, and
R_c = r_c² + A_c + B_c its square. A_c = wᵀΣ_c w + tr Σ_c C is how much scores vary within class c, and
B_c = μ_cᵀ C μ_c how much their mean does. Both stand on both sides, and are solved for.

Samples that are drawn one by one, as the usual equations for squared errors take them, have E[φφᵀ r² | c] in
place of N_c: then the counts of classes vary, too. Most squared errors hardly feel it, but beside a large ridge
scores are hardly more than an intercept, which is the difference of the counts. `of_counts` takes it out of
squared errors, and of the read-out's square.
"""  # noqa: E501

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from firstlight.one_step.theory.moments import FeatureMoments


@dataclass(frozen=True, eq=False)
class Scores:
    """The solved equations.

    Attributes
    ----------
    left : ndarray, shape (C,)
        r, mean of what the read-out leaves of the labels.
    within, between : ndarray, shape (C,)
        A and B; NaN where the equations have no solution.
    centre, pull : ndarray, shape (C, k)
        P μ_c and P s_c.
    shares : ndarray, shape (C, C)
        S in Σ_a = Ω_a - Σ_d S_ad μ_d μ_dᵀ: one for a's own mean, or the weights for every class.
    per : ndarray, shape (C,)
        ρ_c/(m u_c²).
    """

    left: np.ndarray
    within: np.ndarray
    between: np.ndarray
    centre: np.ndarray
    pull: np.ndarray
    shares: np.ndarray
    per: np.ndarray

    @property
    def variance(self) -> np.ndarray:
        """Of the scores in each class, shape (C,)."""
        return np.asarray(np.maximum(self.within + self.between, 0.0))

    @np.errstate(over="ignore", invalid="ignore")
    def fluctuation(self, features: np.ndarray, forms: np.ndarray) -> np.ndarray:
        """Return φᵀC φ, how much scores at given features vary over training sets.

        Parameters
        ----------
        features : ndarray, shape (nodes, k)
            φ.
        forms : ndarray, shape (nodes, C)
            φᵀP Ω_c P φ.
        """
        mean, pull = features @ self.centre.T, features @ self.pull.T
        square = self.left**2 + self.within + self.between
        noise = square * (forms - mean**2 @ self.shares.T) + self.within * mean**2
        return np.asarray((noise - 2 * self.left * mean * pull + pull**2) @ self.per)


@np.errstate(over="ignore", invalid="ignore")  # of features beyond numbers: NaN
def solve_scores(
    moments: FeatureMoments,
    m: int,
    readout: np.ndarray,
    turned: np.ndarray,
    second: Sequence[np.ndarray],
    shares: np.ndarray,
    effective: np.ndarray,
    carry: np.ndarray,
) -> Scores:
    """Solve for A and B, and so for how much scores vary.

    Parameters
    ----------
    moments : FeatureMoments
        With the means of the features; its weights are the shares of the classes among the samples.
    m : int
        Training samples.
    readout : ndarray, shape (k,)
        w, mean of the read-out weights.
    turned : ndarray, shape (2 C, k)
        P p_c, p_c being the mean of φ r, and P μ_c (see `FeatureMoments.pulls`).
    second : sequence of C ndarrays, shape (k, k)
        Ω_a; or their average for every class, if one resolvent serves all.
    shares : ndarray, shape (C, C)
        S (see `Scores`).
    effective : ndarray, shape (C,)
        u.
    carry : ndarray, shape (C, C)
        ρ_c tr(Ω_a P Ω_c P)/(m u_c²).

    Returns
    -------
    Scores
    """
    mean = moments.mean
    assert mean is not None, "moments without the means of the features"
    number = len(mean)
    left = moments.label_mean - mean @ readout
    within = np.maximum([readout @ omega @ readout for omega in moments.second] - (mean @ readout) ** 2, 0.0)
    per = moments.weights / m / effective / effective  # u² may overflow
    centre = turned[number:]
    pull = left[:, None] * centre - turned[:number]  # P s_c
    between, across = mean @ centre.T, mean @ pull.T  # μ_a P μ_c and μ_a P s_c

    def about(one: np.ndarray, other: np.ndarray, means: np.ndarray) -> np.ndarray:
        """Return xᵀΣ_a y, shape (a, c), for rows x and y whose products with the means are given."""
        whole = np.array([np.einsum("ck,ck->c", one @ omega, other) for omega in second])
        return np.asarray(whole - shares @ means)

    own = about(centre, centre, between**2)
    noise = about(pull, pull, across**2) - 2 * left * about(centre, pull, between * across)
    spread = own @ shares.T
    traces = carry - (spread + spread.T + shares @ between**2 @ shares.T) * per  # the same with Σ for Ω
    moved = own.T * per
    # rows: A, then B; columns: what one unit of A_c, and of B_c, adds
    matrix = np.block([[traces + own * per, traces], [moved + between**2 * per, moved]])
    of_means = across**2 - 2 * left * between * across
    source = np.concatenate([within + traces @ left**2 + noise @ per, moved @ left**2 + of_means @ per])
    try:
        solved = np.linalg.solve(np.eye(2 * number) - matrix, source)
    except np.linalg.LinAlgError:  # without a ridge, with as many directions as samples
        solved = np.full(2 * number, np.nan)
    return Scores(left, solved[:number], solved[number:], centre, pull, shares, per)


def of_counts(weights: np.ndarray, turned: np.ndarray) -> np.ndarray:
    """Return rows v of which Σ v vᵀ/m is what the counts of classes add to C if they are left to chance.

    Parameters
    ----------
    weights : ndarray, shape (C,)
        ρ.
    turned : ndarray, shape (C, k)
        G_c E[φ r | c]. One class, or classes that are alike, add nothing.

    Examples
    --------
    >>> of_counts(np.array([0.5, 0.5]), np.array([[2.0], [-2.0]])).tolist()
    [[1.414214], [-1.414214]]
    >>> of_counts(np.ones(1), np.ones((1, 3))).tolist()
    [[0.0, 0.0, 0.0]]
    """
    return np.sqrt(weights)[:, None] * (turned - weights @ turned)
