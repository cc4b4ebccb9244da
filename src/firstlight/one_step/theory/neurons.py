"""The law of a neuron after the step, seen from the few coordinates that matter.

A first-layer row after the step is f + a·[(h₁/b) v + (h₂/b²) S₁ f + the rest], with a = η w_i/√k, v the mean
of y x over the batch, S₁ = (1/m_g) Σ y x xᵀ, and a rest that is independent of f. Inside the strong span this
is a vector q; outside only its length s counts, and how it spreads over the eigenvalues of S₁.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.interpolate import CubicSpline

from firstlight.maths.activations import Activation
from firstlight.maths.hermite import hermite_coefficients
from firstlight.maths.quadrature import expectation
from firstlight.one_step.definitions import SecondLayer
from firstlight.one_step.theory.reduced import Inputs, ReducedLaw, balanced_normal

Output = Callable[[np.ndarray, np.ndarray], np.ndarray]
_TINY = 1e-300  # stands for the share of a class that is not in the batch


def second_layer_of(law: SecondLayer, normals: np.ndarray) -> np.ndarray:
    """Turn standard normals into entries of the second layer, of mean square one.

    Examples
    --------
    >>> [second_layer_of(law, np.array([-0.5, 2.0])).tolist() for law in ("gaussian", "signs", "ones")]
    [[-0.5, 2.0], [-1.0, 1.0], [1.0, 1.0]]
    """
    if law == "gaussian":
        return normals
    return np.copysign(1.0, normals) if law == "signs" else np.ones_like(normals)


def equal_heads_output(law: ReducedLaw, sigma: Activation) -> Output:
    """Return f(x) = E σ(F x) of a wide network whose second layer is all ones, from κ and the rest of x."""
    bulk = max(law.dimension - law.rank, 1)

    def output(kappa: np.ndarray, scale: np.ndarray) -> np.ndarray:
        length = np.sqrt(((kappa**2).sum(axis=1) + scale * bulk) / law.trace)
        return np.asarray(sigma.moments(np.zeros_like(length), length, 0)[:, 0])

    return output


@dataclass(frozen=True, eq=False)
class Step:
    """What one gradient step does, as averages over the batch.

    Attributes
    ----------
    signal, spread : ndarray, shapes (r,) and (r, r)
        Mean of κ y, and a square root of the covariance of its batch average.
    scatter : ndarray, shape (r + 1, r + 1)
        A square root of E[y² κ κᵀ]/m_g over the batch, the noise direction included.
    noise : float
        Length of the average of y x outside the strong span; its direction is the last coordinate of κ.
    lean : float
        How far a batch sample leans towards that direction, per unit of its label.
    eigenvalues, shares : ndarray, shape (3,)
        Quadrature for the spectrum of S₁ outside the span.
    square : float
        (n/m_g) E y², what the rest of the gradient adds to a row's length, per unit of a² and of variance.
    """

    signal: np.ndarray
    spread: np.ndarray
    scatter: np.ndarray
    noise: float
    lean: float
    eigenvalues: np.ndarray
    shares: np.ndarray
    square: float


@dataclass(frozen=True, eq=False)
class Neurons:
    """Quadrature nodes for the neurons.

    Attributes
    ----------
    inside : ndarray, shape (N, r + 1)
        q.
    outside : ndarray, shape (N,)
        s.
    profile, shares : ndarray, shapes (N, P) and (P,)
        How s² spreads over P kinds of directions outside the span, and how many directions are of each kind.
    """

    inside: np.ndarray
    outside: np.ndarray
    profile: np.ndarray
    shares: np.ndarray


def batch_average(
    law: ReducedLaw,
    gradient_samples: int,
    start_square: float,
    rng: np.random.Generator,
    output: Output | None = None,
) -> Step:
    """Average over the batch of the gradient step, in which the counts of the classes are fixed.

    Parameters
    ----------
    law : ReducedLaw
        Law of κ and y; its weights are the classes' shares of the batch.
    gradient_samples : int
        m_g, batch size.
    start_square : float
        Mean square of what is random in the network's output before the step; the residual y - f holds it.
    rng : Generator
        Scrambles the nodes.
    output : callable, optional
        What of that output is the same for every network, from κ and the variance outside; default zero.

    Returns
    -------
    Step
    """
    kappa, y, weight, scale = law.everything(rng)
    y = y if output is None else y - output(kappa, scale)
    extra = law.noise + start_square
    pulls = np.split((weight * y)[:, None] * kappa, len(law.weights))
    by_class = np.array([pull.sum(axis=0) for pull in pulls])
    signal = by_class.sum(axis=0)
    second = (kappa.T * (weight * (y**2 + extra))) @ kappa
    ratio = law.dimension / gradient_samples
    square = ratio * float(weight @ (scale * (y**2 + extra)))
    # a batch sample leans towards the noise direction, which it helped to make
    lean = ratio / np.sqrt(square)
    cross = lean * (weight * scale * y**3) @ kappa
    along = square / ratio + lean**2 * float(weight @ (scale**2 * y**4))
    scatter = np.block([[second, cross[:, None]], [cross[None, :], np.array([[along]])]]) / gradient_samples
    # label noise widens the spectrum of S₁ at second order only; higher free cumulants leave it out
    powers = np.array([float(weight @ (scale * y) ** p) for p in range(1, 6)])
    powers[1] += float(weight @ scale**2) * extra
    eigenvalues, shares = compound_poisson(powers * ratio ** np.arange(5))
    outside = max(law.dimension - law.rank, 1) / law.dimension
    noise = float(np.sqrt(square * outside))
    of_means = (by_class.T / np.maximum(law.weights, _TINY)) @ by_class
    spread = root((second - of_means) / gradient_samples)
    return Step(signal, spread, root(scatter), noise, lean, eigenvalues, shares, square)


def own_pull(law: ReducedLaw, coefficients: np.ndarray, width: int) -> np.ndarray:
    """Return the covariance of the batch average of f κ over networks, f being their output before the step.

    All samples of a batch see one f, so that this does not fade with their number.

    Parameters
    ----------
    law : ReducedLaw
        Law of κ; its weights are the classes' shares of the batch.
    coefficients : ndarray, shape (2,)
        Of the constant and the linear part of σ, in pre-activations of variance one.
    width : int
        k.

    Returns
    -------
    ndarray, shape (r, r)

    Examples
    --------
    >>> one = np.ones(1)
    >>> law = ReducedLaw(10, 10.0, one, one, np.full((1, 1), 2.0), np.ones((1, 1, 1)), one, None)
    >>> own_pull(law, np.array([1.0, 0.0]), 8).tolist()  # 2² / 8
    [[0.5]]
    """
    constant, linear = coefficients
    centre = law.weights @ law.means
    parts = law.roots @ law.roots.mT + law.means[:, :, None] * law.means[:, None, :]
    second = np.tensordot(law.weights, parts, axes=1)
    return (constant**2 * np.outer(centre, centre) + linear**2 / law.trace * second @ second) / width


def root(covariance: np.ndarray) -> np.ndarray:
    """Return a square root R of a covariance R Rᵀ, which rounding may have left with eigenvalues below 0.

    Examples
    --------
    >>> root(np.diag([4.0, -1e-20])).tolist()
    [[0.0, 2.0], [0.0, 0.0]]
    """
    values, vectors = np.linalg.eigh(covariance)
    return vectors * np.sqrt(np.maximum(values, 0))


def compound_poisson(cumulants: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return three nodes and weights for the law with these first five free cumulants.

    The spectrum of (1/m) Σ_s y_s x_s x_sᵀ in n dimensions has free cumulants (n/m)^(p-1) E y^p.

    Examples
    --------
    >>> nodes, weights = compound_poisson(np.array([0.0, 1.0, 0.0, 0.0, 0.0]))  # the semicircle
    >>> nodes.tolist(), weights.tolist()
    ([-1.414214, 0.0000, 1.414214], [0.2500, 0.5000, 0.2500])
    """
    centre, spread = cumulants[0], np.sqrt(cumulants[1])
    if spread <= 1e-6 * abs(centre) or spread == 0:
        return np.full(3, centre), np.array([0.25, 0.5, 0.25])
    free = np.array([0.0, 1.0, *(cumulants[2:] / spread ** np.arange(3, 6))])
    moments = [1.0]
    for order in range(1, 6):
        # a block of size s around the first point leaves s gaps, each filled by any non-crossing partition
        total, gaps = 0.0, np.array([1.0])
        for size in range(1, order + 1):
            gaps = np.convolve(gaps, moments)[: order + 1]
            total += free[size - 1] * gaps[order - size] if order - size < gaps.size else 0.0
        moments.append(total)
    # Golub-Welsch: the Cholesky factor of the Hankel matrix holds the three-term recurrence
    hankel = np.array([[moments[i + j] if i + j < 6 else 0.0 for j in range(4)] for i in range(3)])
    factor = np.linalg.cholesky(hankel[:, :3]).T
    rows = np.linalg.solve(factor.T, hankel)
    ratio = np.array([rows[i, i + 1] / rows[i, i] for i in range(3)])
    diagonal = np.diff(ratio, prepend=0.0)
    off = np.diag(factor)[1:] / np.diag(factor)[:-1]
    nodes, vectors = np.linalg.eigh(np.diag(diagonal) + np.diag(off, 1) + np.diag(off, -1))
    return centre + spread * nodes, vectors[0] ** 2


def draw_neurons(
    law: ReducedLaw,
    sigma: Activation,
    step: Step,
    gain: float,
    direction: np.ndarray,
    nodes: np.ndarray,
    inputs: Inputs,
) -> Neurons:
    """Place the neurons after the step.

    Parameters
    ----------
    law, step : ReducedLaw, Step
        Law of the data and the step's averages.
    sigma : Activation
        σ.
    gain : float
        η/k, so that a = gain · z' with z' of mean square one, standard normal by default.
    direction : ndarray, shape (r,)
        Standard normals that decide the batch average of κ y; shared by all neurons.
    nodes : ndarray, shape (N, 2 r + 4)
        Standard normals: r + 1 coordinates of f in the span, as many of what the batch adds, the fluctuation
        of f's squared length outside it, and z'.
    inputs : Inputs
        Nodes for the inputs, on which the slopes σ' that depend on κ are averaged.

    Returns
    -------
    Neurons
    """
    n, trace = law.dimension, law.trace
    mean_scale = float(law.weights @ law.scales)
    b = np.sqrt(mean_scale * n / trace)  # a pre-activation's spread outside the span
    slope, curvature = slopes(sigma, 0.0, b) / [1, b]
    slope_square = float(expectation(lambda u: sigma.derivative(u) ** 2, std=b, kinks=sigma.kinks))
    rest = max(slope_square - slope**2 - (b * curvature) ** 2, 0.0)
    a = gain * nodes[:, -1:]
    start = nodes[:, : law.rank + 1] / np.sqrt(trace)
    added = np.sqrt(rest + (b * curvature) ** 2) * nodes[:, law.rank + 1 : -2] @ step.scatter.T
    pull = slope * np.append(step.signal + step.spread @ direction, step.noise)
    inside = start + a * (pull + added + _uneven_pull(law, sigma, start, slope, step.lean, inputs))
    bulk = law.bulk
    # rows of unequal length are what tells a constant to neurons whose mean activation is zero
    own = bulk / trace * np.maximum(1 + np.sqrt(2 / bulk) * nodes[:, -2:-1], 0.05)
    lengths = own * (1 + curvature * a * step.eigenvalues) ** 2 + rest * a**2 * step.square
    square = lengths @ step.shares
    profile = lengths / square[:, None]
    if np.ptp(profile) < 0.05:  # the step is too short to tell directions apart: a second-order effect
        return Neurons(inside, np.sqrt(square), np.ones((len(nodes), 1)), np.ones(1))
    return Neurons(inside, np.sqrt(square), profile, step.shares)


def slopes(sigma: Activation, mean: np.ndarray | float, std: float) -> np.ndarray:
    """Return E σ'(mean + std z) and E[σ'(mean + std z) z]: shape S + (2,).

    By parts these are moments of σ, which cost less; but where σ jumps, its slope is that of a network: no
    point mass.

    Examples
    --------
    >>> from firstlight.maths.activations import activation
    >>> [slopes(activation(name), 0.0, 2.0).tolist() for name in ("relu", "step")]
    [[0.5000, 0.3989], [0.0, 0.0]]
    """
    sides = [sigma(kink + 1e-9 * (1 + abs(kink)) * np.array([-1.0, 1.0])) for kink in sigma.kinks]
    jump = max((abs(right - left) for left, right in sides), default=0.0)
    if jump > 1e-6 * sigma.second_moment(std) ** 0.5:
        return hermite_coefficients(sigma.derivative, 1, mean=mean, std=std, kinks=sigma.kinks)
    return np.asarray(sigma.moments(mean, std, 2)[..., 1:] / std)


def _uneven_pull(
    law: ReducedLaw, sigma: Activation, start: np.ndarray, slope: float, lean: float, inputs: Inputs
) -> np.ndarray:
    """Return E[y κ (σ'(f x) - mean slope)] over the batch, for neurons that start at f: shape (N, r + 1)."""
    kappa = inputs.kappa.copy()
    kappa[:, -1] += lean * law.scales[inputs.classes] * inputs.labels
    field = start @ kappa.T
    std = np.sqrt(law.scales * law.dimension / law.trace)
    reach = float(np.abs(field).max()) + 1e-9
    grid = np.linspace(-reach, reach, 200)
    excess = np.empty_like(field)
    for c in range(len(std)):
        mine = inputs.classes == c
        slope_at = CubicSpline(grid, slopes(sigma, grid, std[c])[:, 0])
        excess[:, mine] = slope_at(field[:, mine]) - slope
    excess *= inputs.weights * inputs.labels
    return excess @ kappa


def neuron_nodes(rank: int, count: int, rng: np.random.Generator) -> np.ndarray:
    """Return standard normal nodes for `draw_neurons`, shape (count, 2 rank + 4)."""
    return balanced_normal(2 * rank + 4, count, rng)
