"""The ingredients as problems: is the gradient of rank one, and how large is a matrix with a mean?"""

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
import xarray as xr

from firstlight.data.unseen import paper_training
from firstlight.maths.activations import activation as as_activation
from firstlight.maths.checks import check_count, check_number, check_positive
from firstlight.maths.equality import ByValue
from firstlight.maths.refusals import check_choice, check_flag
from firstlight.maths.rng import RNGLike, SeedLike, generator
from firstlight.study.problem import Assumption, Cost
from firstlight.unseen_classes.definitions.covariance import label_covariance, mean_slope
from firstlight.unseen_classes.experiment.step import draw_network
from firstlight.unseen_classes.theory.bulk import output_covariance
from firstlight.unseen_classes.theory.operator_norm import spiked_operator_norm

_REFERENCES = ("unseen2025emergence", "moniri2024theory")


@dataclass(frozen=True, eq=False, kw_only=True)
class GradientProblem(ByValue):
    """How far the first gradient is from its rank-one part A = s c_1 β_r aᵀ, at n = d = N = size.

    Parameters
    ----------
    dimension : int, default 256
    activation : str, default "shifted_relu"
    train_norm : float, default 2
        |μ| of the training classes N(±μ, I).
    inputs : {"normal", "rademacher"}, default "normal"
        Law of the noise.
    head_scale : float, optional
        s; default 1/√N.
    residual : bool, default True
        Whether β holds the residual y - g0(x), or the labels alone: with s = 1 that misses a part that stays.

    Examples
    --------
    >>> measured = GradientProblem(dimension=64).simulate(0)
    >>> bool(measured.operator_error < measured.frobenius_error)
    True
    """

    dimension: int = 256
    activation: str = "shifted_relu"
    train_norm: float = 2.0
    inputs: Literal["normal", "rademacher"] = "normal"
    head_scale: float | None = None
    residual: bool = True

    theory: ClassVar[str] = "unseen_classes"
    version: ClassVar[int] = 2
    references: ClassVar[tuple[str, ...]] = _REFERENCES

    def __post_init__(self) -> None:
        check_count("dimension", self.dimension, 8)
        mean_slope(as_activation(self.activation))
        check_choice("inputs", self.inputs, ("normal", "rademacher"))
        check_number("train_norm", self.train_norm, 0, 1e150)
        check_flag("residual", self.residual)
        if self.head_scale is not None:
            check_positive("head_scale", self.head_scale)

    def _sample(self, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        y = np.where(np.arange(self.dimension) % 2, 1.0, -1.0)
        mean = rng.standard_normal(self.dimension)
        mean *= self.train_norm / np.linalg.norm(mean)
        shape = (self.dimension, self.dimension)
        noise = rng.standard_normal(shape) if self.inputs == "normal" else rng.choice([-1.0, 1.0], shape)
        return y[:, None] * mean + noise, y

    def conditional(self, **options: object) -> bool:
        """Say that `predict` speaks of the samples that `rng` draws."""
        return True

    def predict(self, rng: RNGLike | SeedLike = 0) -> xr.Dataset:
        """Return the Frobenius error in closed form, and the operator error of an equivalent random matrix.

        |G|_F² = s²|a|²c_1²(|β|² + v |diag(r)X|_F²/n²), v = Var σ'(g)/c_1²; the second term is what A misses.
        In operator norm the bulk σ' - c_1 acts like independent normals of the same variance, and the output
        before the step like a normal vector: both are drawn, no network is.
        """
        stream = generator(rng)
        x, y = self._sample(stream)
        sigma, n = as_activation(self.activation), self.dimension
        slope = mean_slope(sigma)
        spread = max(float(sigma.dual_derivative(1, 1, 1)) - slope**2, 0.0)  # a linear one's is rounding
        spike = float((label_covariance(x, residual=y) ** 2).sum())
        bulk = spread / slope**2 * float((x**2).sum()) / n**2
        scale = 1 / np.sqrt(n) if self.head_scale is None else self.head_scale
        output = stream.multivariate_normal(np.zeros(n), output_covariance(x, sigma, scale), method="eigh")
        heads, residual = stream.standard_normal(n) / np.sqrt(n), y - output
        step = (
            x.T @ (np.outer(residual, heads) * (slope + np.sqrt(spread) * stream.standard_normal((n, n)))) / n
        )
        beta = label_covariance(x, residual=residual if self.residual else y)
        rest = step - slope * np.outer(beta, heads)
        return xr.Dataset(
            {
                "operator_error": np.linalg.norm(rest, 2) / np.linalg.norm(step, 2),
                "frobenius_error": np.sqrt(bulk / (spike + bulk)),
                "left_cosine": 1.0,
                "right_cosine": 1.0,
            }
        )

    def simulate(self, rng: RNGLike | SeedLike = None) -> xr.Dataset:
        """Measure |G - A|/|G| in both norms, and cosines of the top singular vectors with β and a."""
        stream = generator(rng)
        x, y = self._sample(stream)
        sigma = as_activation(self.activation)
        network = draw_network(self.dimension, self.dimension, sigma, stream, head_scale=self.head_scale)
        step = (network.step(x, y, 1.0).first_layer - network.first_layer).T
        beta = label_covariance(x, residual=network.residual(x, y) if self.residual else y)
        heads = network.second_layer
        spike = mean_slope(sigma) * np.outer(beta, network.head)
        left, size, right = np.linalg.svd(step)
        if not size[0]:
            raise ValueError(f"train_norm = {self.train_norm}: every neuron is flat there, the step is zero")
        return xr.Dataset(
            {
                "operator_error": np.linalg.norm(step - spike, 2) / size[0],
                "frobenius_error": np.linalg.norm(step - spike) / np.linalg.norm(step),
                "left_cosine": abs(left[:, 0] @ beta) / np.linalg.norm(beta),
                "right_cosine": abs(right[0] @ heads) / np.linalg.norm(heads),
            }
        )

    def cost(self, kind: str, **options: object) -> Cost:
        """Leading terms of a trial: products, and singular values with or without vectors."""
        n = float(self.dimension)
        return Cost(30 * n**3, 56 * n**2) if kind == "simulate" else Cost(25 * n**3, 64 * n**2)

    def assumptions(self) -> tuple[Assumption, ...]:
        """Return what the theory assumes."""
        small = self.train_norm <= 0.5 * np.sqrt(self.dimension)
        negligible = self.residual or self.head_scale is None
        return (
            Assumption("means of order one", "holds" if small else "fails", f"|μ| = {self.train_norm}"),
            Assumption(
                "output before the step counted or negligible", "holds" if negligible else "fails",
                f"residual = {self.residual}, head_scale = {self.head_scale or '1/√N'}",
            ),
        )  # fmt: skip


@dataclass(frozen=True, eq=False, kw_only=True)
class NormProblem(ByValue):
    """Operator norm of n × d training samples whose classes have means ±μ.

    Parameters
    ----------
    dimension : int, default 256
        n = d.
    mean : float, default 1
        |μ|, for normal and Rademacher noise.
    law : {"normal", "rademacher", "truncated"}, default "normal"
        Noise of unit variance around ±μ; or the papers' truncated normals, whose mean is 1.525 in every
        entry.

    Examples
    --------
    >>> problem = NormProblem(dimension=64, mean=4.0)
    >>> bool(abs(problem.simulate(0).operator_norm / problem.predict().operator_norm - 1) < 0.1)
    True
    """

    dimension: int = 256
    mean: float = 1.0
    law: Literal["normal", "rademacher", "truncated"] = "normal"

    theory: ClassVar[str] = "unseen_classes"
    version: ClassVar[int] = 2
    references: ClassVar[tuple[str, ...]] = _REFERENCES

    def __post_init__(self) -> None:
        check_count("dimension", self.dimension, 8)
        check_choice("law", self.law, ("normal", "rademacher", "truncated"))
        check_number("mean", self.mean, 0, 1e150)  # its square is a number

    def predict(self, rng: RNGLike | SeedLike = 0) -> xr.Dataset:
        """Return the limit of a spiked matrix, also divided by the √n + √d of the published bound."""
        n, std, mean = self.dimension, 1.0, self.mean
        if self.law == "truncated":
            from scipy.stats import truncnorm

            mean, std = np.sqrt(n) * truncnorm.mean(1, np.inf), float(truncnorm.std(1, np.inf))
        norm = spiked_operator_norm(n, n, float(mean), std=std)
        return xr.Dataset({"operator_norm": norm, "over_published": norm / (2 * np.sqrt(n))})

    def simulate(self, rng: RNGLike | SeedLike = None) -> xr.Dataset:
        """Draw the matrix and measure it."""
        stream, n = generator(rng), self.dimension
        if self.law == "truncated":
            x = paper_training(stream, n, n, "truncated")[0]
        else:
            y = np.where(np.arange(n) % 2, 1.0, -1.0)
            mean = stream.standard_normal(n)
            mean *= self.mean / np.linalg.norm(mean)
            normal = self.law == "normal"
            x = stream.standard_normal((n, n)) if normal else stream.choice([-1.0, 1.0], (n, n))
            x = x + y[:, None] * mean
        norm = float(np.linalg.norm(x, 2))
        return xr.Dataset({"operator_norm": norm, "over_published": norm / (2 * np.sqrt(n))})

    def cost(self, kind: str, **options: object) -> Cost:
        """Leading terms of a trial: its singular values; a prediction is one formula."""
        n = float(self.dimension)
        return Cost(4 * n**3 + 100 * n**2, 24 * n**2) if kind == "simulate" else Cost(1.0, 1.0)

    def assumptions(self) -> tuple[Assumption, ...]:
        """Return what the published bound assumes: that the mean does not matter. A fixed one does not."""
        grows = self.law == "truncated"
        detail = "|μ| = 1.525 √d grows with the size" if grows else f"|μ| = {self.mean:.3g} at every size"
        factor = float(self.predict().over_published)
        return (
            Assumption(
                "norm of order √n + √d whatever the mean", "fails" if grows else "holds",
                f"{detail}; here {factor:.3g} (√n + √d)",
            ),
        )  # fmt: skip
