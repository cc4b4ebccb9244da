"""How many Hermite terms a polynomial surrogate of the network needs."""

from dataclasses import dataclass
from itertools import pairwise
from math import factorial

import numpy as np
from scipy.special import factorial2

from firstlight.maths.activations import Activation
from firstlight.maths.checks import check_count, check_number
from firstlight.one_step.theory.neurons import batch_average
from firstlight.one_step.theory.reduced import ReducedLaw

_SMALL = 0.1
_GROWTH = 1.5  # ratios that rise by less may still come down


def hermite_degree(beta: float, largest: int = 4) -> int:
    """Return the degree that the source's rule asks for: ceil(β/(1-β)), between 1 and `largest`.

    The rule is sufficient for every weighting α, tight where the spikes are in the data (α = 0) and
    conservative where they come from the step (α = 1). It is one of large sizes: what it leaves out fades as
    n^(β-1), with constants near 10.

    Parameters
    ----------
    beta : float
        β, spike strength, in [0, 1].
    largest : int, default 4
        Where to stop as β nears 1; the source stops at 4 for numerical stability.

    Returns
    -------
    int

    Examples
    --------
    >>> [hermite_degree(beta) for beta in (0.0, 0.5, 0.6, 0.74, 1.0)]
    [1, 1, 2, 3, 4]
    """
    beta, largest = check_number("beta", beta, 0, 1), check_count("largest", largest)
    if beta >= largest / (largest + 1):
        return largest
    return max(1, int(np.ceil(beta / (1 - beta) - 1e-9)))


@dataclass(frozen=True)
class Degrees:
    """How strongly each Hermite degree shows in the features' second moment.

    Attributes
    ----------
    ratios : tuple of float
        For degree j = 1, 2, ...: the eigenvalue of its spike over the bulk of what degrees below j leave.
    needed : int
        Highest degree worth keeping.
    reliable : int
        Highest degree before the ratios begin to grow, where a polynomial's tails take over.
    faithful : bool
        Whether the degrees up to `needed` are enough: none beyond outgrows them, and the highest that are
        rated no longer stand out.
    """

    ratios: tuple[float, ...]
    needed: int
    reliable: int
    faithful: bool


def measured_degrees(
    law: ReducedLaw,
    sigma: Activation,
    width: int,
    gradient_samples: int,
    step_size: float,
    rng: np.random.Generator,
    largest: int = 8,
) -> Degrees:
    """Rate each degree by the amplitude that the spikes reach: k (h_j/j!)² E (M/b)^(2j) / h*_j².

    M is the part of a pre-activation inside the strong span; given κ and the step it is normal over the
    neurons, so its moments follow from its variance.

    Parameters
    ----------
    law : ReducedLaw
        Law of κ and y.
    sigma : Activation
        σ.
    width, gradient_samples : int
        Width and batch size of the step.
    step_size : float
        η.
    rng : Generator
        Scrambles the nodes.
    largest : int, default 8
        Highest degree that is rated.

    Returns
    -------
    Degrees
    """
    step = batch_average(law, gradient_samples, float(sigma.second_moment(1.0)) / width, rng)
    b = np.sqrt(law.weights @ law.scales * law.dimension / law.trace)
    h = sigma.hermite(largest, b)
    kappa, _, weight, scale = law.everything(rng)
    pull = (h[1] / b * step_size / width) ** 2
    along = (kappa @ step.signal) ** 2 + ((kappa @ step.spread) ** 2).sum(axis=1)
    inside = np.einsum("ij,ij->i", kappa, kappa) / law.trace
    variance = (inside + pull * (along + scale * step.noise**2)) / b**2
    variance = np.minimum(variance, 1e280 ** (1 / largest))  # larger ones say the same: no degree serves
    left = float(sigma.second_moment(b))
    ratios = []
    for j in range(largest + 1):
        term = h[j] ** 2 / factorial(j)
        if j:
            amplitude = factorial2(2 * j - 1) * float(weight @ variance**j)
            small = left <= 1e-12 * float(sigma.second_moment(b))
            ratios.append(0.0 if small else float(width * (h[j] / factorial(j)) ** 2 * amplitude / left))
        left -= term
    return _judge(ratios)


def _judge(ratios: list[float]) -> Degrees:
    """Keep degrees while their ratios matter and do not grow; skip coefficients that vanish."""
    present = [j for j, ratio in enumerate(ratios, start=1) if ratio > 1e-10 * max(ratios)]
    reliable = len(ratios)
    for before, after in pairwise(present):
        if ratios[after - 1] > max(_GROWTH * ratios[before - 1], _SMALL):
            reliable = after - 1
            break
    needed = max((j for j in present if j <= reliable and ratios[j - 1] >= _SMALL), default=1)
    enough = reliable == len(ratios) and (not present or needed < present[-1])
    return Degrees(tuple(ratios), needed, reliable, enough)
