"""Class-level predictions, per neuron: alignment of two classes and elasticity of one."""

import warnings
from typing import Literal

import numpy as np
from scipy.special import gammaln

from firstlight.maths.activations import Activation
from firstlight.maths.activations import activation as as_activation
from firstlight.maths.checks import check_array, check_number, check_positive
from firstlight.maths.quadrature import rule
from firstlight.maths.refusals import check_choice
from firstlight.unseen_classes.definitions.step import MOST_TAU
from firstlight.unseen_classes.theory.heads import PIECE, Head, head_rule, is_gaussian
from firstlight.unseen_classes.theory.movement import gaussian_movement, movement_spline, shift_rule

Pair = tuple[float, float]
_DEGREE = 140
_NEGLIGIBLE = 1e-10
_AGREE = 1e-3  # of the features' mean square; waves that are not followed hardly agree so well by chance


def class_alignment(
    *,
    similarity: Pair,
    spread: Pair,
    norm: Pair,
    overlap: float,
    bulk: Pair = (0.0, 0.0),
    bulk_overlap: float = 0.0,
    tau: float,
    activation: str | Activation,
    kind: Literal["inner", "cosine"] = "inner",
    head: Head = "gaussian",
) -> float:
    """Predict the mean similarity of two samples' features, of two classes or one, per neuron.

    Parameters
    ----------
    similarity : (float, float)
        t = β·μ of the two classes; the other moments are those of `train_unseen_similarity`, too.
    spread : (float, float)
        s = sqrt(βᵀΣβ).
    norm : (float, float)
        q = E|x|²/d.
    overlap : float
        x·x'/d of two different samples.
    bulk : (float, float), default (0, 0)
        V = E xᵀMx of the gradient's bulk; zeros for a purely rank-one gradient.
    bulk_overlap : float, default 0
        xᵀMx' of two different samples.
    tau : float
        Strength of the step; 0 is before it.
    activation : str or Activation
        σ.
    kind : {"inner", "cosine"}, default "inner"
        Inner product per neuron, or cosine.
    head : {"gaussian", "rademacher"} or array_like, default "gaussian"
        The law of the second layer, or the heads of a given network.

    Returns
    -------
    float
        Given α a neuron's two pre-activations are normal with means ταt, variances q + τ²α²(V + s²) and
        covariance c + τ²α² xᵀMx'; for the cosine the spread is integrated last, outside of the ratio.

    Examples
    --------
    >>> moments = dict(similarity=(2.0, 2.0), spread=(0.0, 0.0), norm=(1.0, 1.0), overlap=0.0)
    >>> class_alignment(**moments, tau=0.5, activation="linear")  # c + τ² t²
    1.0000
    """
    sigma = as_activation(activation)
    similarity, spread, norm, bulk = (
        _pair(name, pair)
        for name, pair in (("similarity", similarity), ("spread", spread), ("norm", norm), ("bulk", bulk))
    )
    _check(similarity, spread, norm, bulk, tau)
    _check_overlap("overlap", overlap, norm)
    _check_overlap("bulk_overlap", bulk_overlap, bulk)
    check_choice("kind", kind, ("inner", "cosine"))
    laws = list(zip(similarity, spread, norm, bulk, strict=True))
    reach = max(float(abs(t) + np.sqrt(s**2 + v)) for t, s, _, v in laws) / np.sqrt(min(norm))

    scale, outside = max(tau * reach, 1.0), kind == "cosine"
    alpha, weights = head_rule(head, scale)
    sides = [_Side(*law, sigma, tau, alpha, outside) for law in dict.fromkeys(laws)]
    others = head_rule(head, scale, PIECE - 2)
    for side, law in zip(sides, laws, strict=False):
        side.check(weights, _Side(*law, sigma, tau, others[0], outside, PIECE - 2), others[1])
    sides = sides * 2 if len(sides) == 1 else sides  # twice the same class costs once
    product, squares = _product(sides, overlap + (tau * alpha) ** 2 * bulk_overlap, weights)
    outer = sides[0].weights[:, None] * sides[1].weights
    if kind == "inner":
        return float((outer * product).sum())
    sizes = [np.sqrt(weights @ square) for square in squares]
    return float((outer * product / np.outer(*sizes)).sum())


class _Side:
    """One class: its pre-activation given (α, b) is normal; b is integrated outside only for the cosine."""

    def __init__(
        self, t: float, s: float, q: float, v: float,
        sigma: Activation, tau: float, alpha: np.ndarray, outside: bool, order: int = PIECE,
    ) -> None:  # fmt: skip
        self.sigma = sigma
        if outside and s > 0 and tau > 0:
            centre, spread, short = np.array([[t], [s], [np.sqrt(q) / tau]])
            (self.b,), (self.weights,) = shift_rule(centre, spread, short, order)
            inside = v
        else:
            self.b, self.weights, inside = np.array([t]), np.ones(1), v + s**2
        self.std = np.sqrt(q + (tau * alpha) ** 2 * inside)
        self.mean = tau * alpha[:, None] * self.b

    def check(self, weights: np.ndarray, other: "_Side", other_weights: np.ndarray) -> None:
        """Tell waves of σ that its integrals do not follow: within a neuron, or by fewer heads and b."""
        largest = np.argmax(self.std)
        follows = self.sigma.resolved(self.mean[largest], self.std[largest])
        mean, square = self._moments(weights)
        gap = np.abs(np.subtract(other._moments(other_weights), (mean, square)))
        if not (follows and (gap <= _AGREE * square).all()):
            warnings.warn(
                f"activation: alignment of {self.sigma.name} is not resolved over shifts as large as those "
                "of this step; it may be far off",
                stacklevel=3,
            )

    def _moments(self, weights: np.ndarray) -> tuple[float, float]:
        """E (E σ)² and E σ², the inner mean over what is normal given (α, b)."""
        found = self.sigma.moments_and_square(self.mean, self.std[:, None], 0)
        mean, square = found[..., 0], found[..., 1]
        return float(weights @ mean**2 @ self.weights), float(weights @ square @ self.weights)

    def coefficients(self, degree: int) -> tuple[np.ndarray, np.ndarray]:
        """Normalised Hermite coefficients of σ, shape (α, b, degree + 1), and E σ², shape (α, b)."""
        found = self.sigma.moments_and_square(self.mean, self.std[:, None], degree)
        return found[..., :-1] / np.exp(0.5 * gammaln(np.arange(degree + 1) + 1)), found[..., -1]


def _product(
    sides: list[_Side], covariance: np.ndarray, weights: np.ndarray
) -> tuple[np.ndarray, list[np.ndarray]]:
    """E σ(z)σ(z') over the heads by Mehler's series, for each b of either side; and E σ² of both."""
    rho = covariance / (sides[0].std * sides[1].std)
    degree = _degree(float(np.abs(rho).max()))
    first, square = sides[0].coefficients(degree)
    second, other = (first, square) if sides[1] is sides[0] else sides[1].coefficients(degree)
    powers = weights[:, None] * rho[:, None] ** np.arange(degree + 1)
    product = np.einsum("abk,ack,ak->bc", first, second, powers, optimize=True)
    rest = [
        np.sqrt(np.maximum(own - (a**2).sum(axis=-1), 0).max(axis=1))
        for own, a in ((square, first), (other, second))
    ]
    missing = float(weights @ (np.abs(rho) ** (degree + 1) * rest[0] * rest[1]))
    if degree == _DEGREE and missing > 1e-3 * np.abs(product).max():  # nearly equal samples and a jump
        raise ValueError(
            f"overlap: samples too alike (correlation {np.abs(rho).max():.6f}) for the series of "
            f"{sides[0].sigma.name}: {missing:.2g} may be missing"
        )
    return product, [square, other]


def _degree(rho: float) -> int:
    """Return how many terms of Mehler's series matter at this correlation."""
    if rho < 1e-6:
        return 1
    return int(min(_DEGREE, np.ceil(np.log(_NEGLIGIBLE) / np.log(min(rho, 1 - 1e-12)))))


def _check_overlap(name: str, overlap: float, sizes: Pair) -> None:
    if not abs(check_number(name, overlap)) <= np.sqrt(sizes[0] * sizes[1]) * (1 + 1e-9):
        raise ValueError(f"{name} = {overlap}: must satisfy overlap² <= {sizes[0]} × {sizes[1]}")


def class_elasticity(
    similarity: float,
    spread: float,
    norm: float,
    bulk: float = 0.0,
    tau: float = float("nan"),
    activation: str | Activation = "shifted_relu",
    *,
    head: Head = "gaussian",
) -> float:
    """Predict the mean squared movement of a class's features, E(σ(z) - σ(z0))², per neuron.

    Parameters
    ----------
    similarity, spread, norm, bulk, tau, activation, head
        As in `class_alignment`, for one class. The bulk acts exactly like more spread; τ must be given.

    Returns
    -------
    float

    Examples
    --------
    >>> class_elasticity(similarity=3.0, spread=0.0, norm=1.0, tau=0.5, activation="linear")
    2.2500
    """
    sigma = as_activation(activation)
    _check((similarity,), (spread,), (norm,), (bulk,), tau)
    noise = np.sqrt(spread**2 + bulk)
    if is_gaussian(head):
        one = np.ones(1)
        return float(gaussian_movement(sigma, tau, abs(similarity) * one, norm * one, noise**2 * one, 1)[0])
    reach = tau * (abs(similarity) + noise)
    alpha, weights = head_rule(head, max(reach / np.sqrt(norm), 1.0))
    if reach == 0 or not alpha.any():  # nothing moves
        return 0.0
    mean, std = tau * alpha * similarity, tau * np.abs(alpha) * noise
    z, w = rule(mean, std)
    shift = mean[:, None] + std[:, None] * z
    movement = movement_spline(sigma, float(np.sqrt(norm)), float(np.abs(shift).max()))
    return float(weights @ (w * movement(shift)).sum(axis=1))


def _check(
    similarity: tuple[float, ...], spread: tuple[float, ...], norm: tuple[float, ...],
    bulk: tuple[float, ...], tau: float,
) -> None:  # fmt: skip
    check_number("tau", tau, 0, MOST_TAU)
    for name, values in (("spread", spread), ("bulk", bulk)):
        for value in values:
            check_number(name, value, 0)
    for value in norm:
        check_positive("norm", value)
    for value in similarity:
        check_number("similarity", value)


def _pair(name: str, values: Pair) -> Pair:
    first, second = check_array(name, values, (2,)).tolist()
    return first, second
