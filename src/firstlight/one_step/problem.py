"""The Problem of `one_step`."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike

from firstlight.data.fitting import LabelledRows
from firstlight.data.labels import Classification, Link
from firstlight.data.mixture import GaussianMixture
from firstlight.data.structured import structured_data
from firstlight.maths.activations import Activation
from firstlight.maths.checks import check_count, check_number
from firstlight.maths.refusals import check_choice
from firstlight.maths.rng import RNGLike, SeedLike, generator
from firstlight.one_step.assumptions import assumptions_of
from firstlight.one_step.definitions import SecondLayer, Setting, Streams
from firstlight.one_step.degrees import surrogate_degree
from firstlight.one_step.experiment.trial import Model, Risk, TrainedNetwork, run_trial, train
from firstlight.one_step.results import RESOLVED, Convention, averaged, dataset
from firstlight.one_step.theory.asymptotic import without_a_network
from firstlight.one_step.theory.predictions import Choice, choose_equivalent, given_a_first_layer
from firstlight.study.problem import Assumption, Cost


@dataclass(frozen=True, eq=False)
class Problem(Setting):
    """One gradient step of the first layer, then ridge regression on fresh samples: what error is left?

    The parameters are those of `firstlight.one_step.definitions.Setting`: mixture, labels, width, samples,
    gradient_samples, activation, step_size, ridge, source, beta,
    second_layer. `Problem.scaled` builds the source's family.

    Examples
    --------
    >>> problem = Problem.scaled(dimension=60, width=60, samples=60, alpha=0.5, beta=0.5)
    >>> trained = problem.simulate(rng=0)
    >>> bool(0 < trained.train_error < trained.test_error)
    True
    """

    theory: ClassVar[str] = "one_step"
    version: ClassVar[int] = 8
    references: ClassVar[tuple[str, ...]] = ("demir2025onestep",)

    @classmethod
    def scaled(
        cls,
        dimension: int,
        width: int,
        samples: int,
        alpha: float,
        beta: float,
        *,
        activation: str | Activation = "relu",
        task: Literal["regression", "classification"] = "regression",
        label_direction: Literal["random", "spikes"] = "random",
        weights: Sequence[float] = (0.5, 0.5),
        rank: int = 1,
        spike_alignment: float = 0.0,
        noise: float = 0.0,
        ridge: float | Sequence[float] = 1e-4,
        gradient_samples: int | None = None,
        link: Link | Sequence[Link] = "relu",
        step_size: float | None = None,
        second_layer: SecondLayer = "gaussian",
    ) -> "Problem":
        """Build the source's family: spike strength θ = n^(β(1-α)) in the data, step size η = n^(βα).

        Parameters
        ----------
        dimension, width, samples : int
            n, k and m: input dimension, width, training samples.
        alpha : float
            α in [0, 1]: 0 puts all the structure in the data, 1 in the step.
        beta : float
            β in [0, 1], strength of the structure.
        activation, ridge, gradient_samples
            See `Problem`.
        task, label_direction, weights, rank, spike_alignment, noise, link
            See `firstlight.data.structured.structured_data`.
        step_size : float, optional
            Another η than the family's.
        second_layer
            See `Problem`.

        Returns
        -------
        Problem

        Examples
        --------
        >>> problem = Problem.scaled(dimension=100, width=50, samples=80, alpha=0.5, beta=0.5)
        >>> problem.step_size, problem.mixture.covariances[0].strengths.tolist()
        (3.162278, [3.162278])
        """
        check_number("alpha", alpha, 0, 1)
        check_number("beta", beta, 0, 1)
        n = check_count("dimension", dimension)
        mixture, labels = structured_data(
            n, n ** (beta * (1 - alpha)), task=task, label_direction=label_direction, weights=weights,
            rank=rank, spike_alignment=spike_alignment, noise=noise, link=link,
        )  # fmt: skip
        eta = float(n ** (beta * alpha)) if step_size is None else step_size
        return cls(
            mixture, labels, width=width, samples=samples, gradient_samples=gradient_samples,
            step_size=eta, ridge=ridge, activation=activation, second_layer=second_layer, beta=beta,
        )  # fmt: skip

    @classmethod
    def from_data(
        cls,
        X: ArrayLike,
        y: ArrayLike,
        width: int,
        samples: int,
        *,
        spikes: int | Literal["auto"] | None = None,
        step_size: float | None = None,
        ridge: float | Sequence[float] = 1e-2,
        activation: str | Activation = "relu",
    ) -> "Problem":
        """Build the problem of telling two classes of a user's rows apart.

        The theory gets a mixture fitted to the rows; experiments draw the rows themselves, with replacement.
        Both then speak of rows that were seen: for rows that were not, use `firstlight.diagnose`.

        Parameters
        ----------
        X : array_like, shape (rows, n)
            Centred, and divided by one number such that the mean variance within classes is one.
        y : array_like, shape (rows,)
            Two classes; the first in order is labelled +1, the second -1.
        width, samples : int
            Of the network, and its training rows for the read-out (as many again for the step).
        spikes
            As in `GaussianMixture.fit`.
        step_size : float, optional
            η; by default the number of columns.
        ridge, activation
            See `Problem`.

        Examples
        --------
        >>> x = np.random.default_rng(0).normal(size=(80, 4)) + np.repeat([[2.0], [-2.0]], 40, axis=0)
        >>> problem = Problem.from_data(x, ["a"] * 40 + ["b"] * 40, width=30, samples=50)
        >>> problem.mixture.trace, bool(problem.simulate(rng=0).misclassification < 0.1)
        (4.00, True)
        """
        source = LabelledRows.of(X, y)
        mixture = GaussianMixture.fit(source.rows, source.classes, spikes)
        step_size = float(mixture.dimension) if step_size is None else step_size
        return cls(
            mixture, Classification(), width=width, samples=samples,
            activation=activation, step_size=step_size, ridge=ridge, source=source,
        )  # fmt: skip

    def conditional(self, method: str = "deterministic", **options: Any) -> bool:
        """Say whether `predict` speaks of the first layer that `rng` draws, and not of their average."""
        return method == "deterministic"

    def simulate(
        self,
        rng: RNGLike | SeedLike = None,
        *,
        method: Model = "network",
        degree: int | None = None,
        risk: Risk = "sample",
        test_samples: int | None = None,
        convention: Convention = "full",
        data_rng: RNGLike | SeedLike = None,
    ) -> xr.Dataset:
        """Run one experiment. The same rng draws the same data and weights for every model.

        Parameters
        ----------
        rng : optional
            Source of randomness (SPEC 7).
        method : {"network", "hermite", "conditional_gaussian"}
            What the read-out is fitted on: the network's features, or one of the models that are equivalent
            to them. The gradient step is the network's own in each case.
        degree : int, optional
            Highest degree of the Hermite model; default: `hermite_degree` of β where that is known, else
            `needed_degree`. A degree too high for the size warns, and so does a rule's that leaves out one
            which stands out.
        risk : {"sample", "population"}
            Test errors on a fresh sample, or exact ones through second moments (the network's only; they hold
            no 0/1 error).
        test_samples : int, optional
            Size of the fresh sample; default 5 m. At least one of each class is drawn, and classes count by
            their probabilities.
        convention : {"full", "half"}
            Full mean squares, or what the source plots: half mean squares, and a training error that includes
            the penalty.
        data_rng : optional
            Decides the data in place of `rng`, which is left the weights: with one seed for all trials, data
            are held fixed.

        Returns
        -------
        xarray.Dataset
            ``test_error``, ``train_error``, their ratios to ``label_variance``, ``test_error_by_class``,
            ``weight_norm`` (length of the read-out), and ``misclassification`` for classes.
        """
        check_choice("method", method, ("network", "hermite", "conditional_gaussian"))
        check_choice("risk", risk, ("sample", "population"))
        if risk == "population" and (method != "network" or self.source is not None):
            raise ValueError("risk = 'population': only for the network on the mixture itself")
        if method == "conditional_gaussian" and not self.spiked:
            raise ValueError("method = 'conditional_gaussian': needs identity-plus-spikes covariances")
        if test_samples is not None:
            check_count("test_samples", test_samples)
            test_samples = int(test_samples)
        top = 1 if method != "hermite" else surrogate_degree(self, degree)
        values = run_trial(
            self, Streams(rng, data_rng), method=method, degree=top, risk=risk, test_samples=test_samples
        )  # fmt: skip
        results = dataset(self, values, convention)
        left = float(results.relative_test_error.min())
        if method == "conditional_gaussian" and left < RESOLVED:
            warnings.warn(
                f"model = 'conditional_gaussian': {left:.1g} of the labels' variance is left, "
                f"and the model resolves {RESOLVED:g} of it",
                stacklevel=2,
            )
        return results

    def train(self, rng: RNGLike | SeedLike = None, *, data_rng: RNGLike | SeedLike = None) -> TrainedNetwork:
        """Return the network that `simulate` trains from the same rng: both layers, read-out, features.

        Examples
        --------
        >>> problem = Problem.scaled(dimension=20, width=30, samples=40, alpha=0.5, beta=0.5)
        >>> network = problem.train(rng=0)
        >>> network.first_layer.shape, network.readout.shape, network(np.eye(20)).shape
        ((30, 20), (1, 30), (20, 1))
        """
        return train(self, Streams(rng, data_rng))

    def predict(
        self,
        rng: RNGLike | SeedLike = 0,
        *,
        method: Literal["deterministic", "asymptotic"] = "deterministic",
        equivalent: Choice = "auto",
        sample_sizes: Sequence[int] | None = None,
        draws: int = 8,
        nodes: int = 256,
        convention: Convention = "full",
        data_rng: RNGLike | SeedLike = None,
    ) -> xr.Dataset:
        """Predict the observables of `simulate` without training a read-out.

        Parameters
        ----------
        rng : optional
            Decides the sampled first layer (the same as in `simulate` for the same rng), or the quadrature
            nodes.
        method : {"deterministic", "asymptotic"}
            Deterministic equivalents given a sampled first layer, for any mixture; or no network at all, for
            identity-plus-spikes covariances, at a cost that does not grow with n.
        equivalent : {"auto", "one covariance", "class-wise"}
            For the first method: one effective ridge for all samples, or one for each class. By itself it
            takes class-wise equations where the classes differ in more than spikes; ``attrs`` say which.
        sample_sizes : sequence of int, optional
            Predict for these m, the step being as it is; a dimension ``samples`` is added. The first method
            needs no second factorisation for it.
        draws : int, default 8
            For the second method: how many batch averages the result is averaged over, each with quadrature
            nodes of its own. Their spread is the prediction's error: two at least, or there is none to tell.
        nodes : int, default 256
            For the second method: quadrature nodes for the neurons, and as many for the inputs.
        convention : {"full", "half"}
            As in `simulate`.
        data_rng : optional
            As in `simulate`: for the first method, the batch of the step. The read-out's samples are averaged
            over in any case.

        Returns
        -------
        xarray.Dataset
            As `simulate`, and ``converged``. From the second method each observable ``o`` has its standard
            error over the draws as ``o_sem``.
        """
        check_choice("method", method, ("deterministic", "asymptotic"))
        check_choice("equivalent", equivalent, ("auto", "one covariance", "class-wise"))
        sizes = _sizes(self.samples if sample_sizes is None else sample_sizes)
        asked = None if sample_sizes is None else sizes
        if method == "asymptotic":
            check_count("draws", draws)
            check_count("nodes", nodes, 64)
            if not self.spiked:
                raise ValueError("method = 'asymptotic': needs identity-plus-spikes covariances")
            drawn = without_a_network(self, sizes, generator(rng), int(draws), int(nodes))
            return averaged([dataset(self, values, convention, asked, method=method) for values in drawn])
        chosen = choose_equivalent(self.mixture) if equivalent == "auto" else equivalent
        values = given_a_first_layer(self, sizes, Streams(rng, data_rng), chosen)
        return dataset(self, values, convention, asked, method=method, equivalent=chosen)

    def assumptions(self) -> tuple[Assumption, ...]:
        """Check what the theory assumes."""
        return assumptions_of(self)

    def cost(self, kind: str, **options: Any) -> Cost:
        """Leading terms of the work and memory of one call."""
        n, k, m, batch = self.mixture.dimension, self.width, self.samples, self.step_samples
        if options.get("method") == "asymptotic":
            nodes = options.get("nodes", 256)
            return Cost(flops=1e9 * options.get("draws", 8) * (nodes / 256) ** 2, bytes=800.0 * nodes**2)
        step = 4.0 * k * n * batch
        if kind == "predict":
            matrices = 4 + self.mixture.classes
            return Cost(flops=step + 2 * k * k * n + 6.0 * k**3, bytes=8.0 * matrices * k * max(k, n))
        tests = options.get("test_samples") or 5 * m
        flops = step + 2.0 * k * n * (m + tests) + k * m * min(k, m)
        slower = 1.0 if options.get("method", "network") == "network" else 3.0
        return Cost(flops=slower * flops, bytes=8.0 * (2 * k * n + 2 * max(m, batch) * max(k, n)))


def _sizes(given: int | Sequence[int]) -> list[int]:
    """Return numbers of training samples, checked one by one."""
    sizes = list(np.ravel(np.asarray(given, dtype=object)))
    if not sizes:
        raise ValueError("sample_sizes: must not be empty")
    for size in sizes:
        check_count("sample_sizes", size)
    return [int(size) for size in sizes]
