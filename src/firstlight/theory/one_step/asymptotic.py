"""Errors after one step without any network: no object here grows with the dimension."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from firstlight.activations import Activation
from firstlight.data.labels import Classification, Labels
from firstlight.data.mixture import GaussianMixture
from firstlight.features import Tabulated
from firstlight.theory.one_step.functional import Errors, Functional, Kernel
from firstlight.theory.one_step.neurons import Neurons, batch_average, draw_neurons, neuron_nodes
from firstlight.theory.one_step.reduced import ReducedLaw, balanced_normal, reduced_law
from firstlight.theory.one_step.scores import wrong_side


@dataclass(frozen=True, eq=False)
class Inputs:
    """Quadrature nodes for the inputs: κ (K, r + 1), τ, labels, weights and classes (K,)."""

    kappa: np.ndarray
    tau: np.ndarray
    labels: np.ndarray
    weights: np.ndarray
    classes: np.ndarray


def input_nodes(law: ReducedLaw, count: int, rng: np.random.Generator) -> Inputs:
    """Place `count` nodes in each class.

    The last coordinate of κ lies along the gradient's noise; τ is the fluctuation of the input's length
    outside the span, in units of its standard deviation.
    """
    parts = []
    for c, (weight, scale) in enumerate(zip(law.weights, law.scales, strict=True)):
        normals = balanced_normal(law.rank + 2, count, rng)
        kappa, y = law.place(normals[:, : law.rank], c)
        kappa = np.column_stack([kappa, np.sqrt(scale) * normals[:, -2]])
        parts.append((kappa, normals[:, -1], y, np.full(count, weight / count), np.full(count, c)))
    return Inputs(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def conditional_kernel(
    law: ReducedLaw, sigma: Activation, neurons: Neurons, inputs: Inputs, width: int
) -> Kernel:
    """Integrate the activations given κ, for every pair of neuron and input nodes."""
    mean_field = neurons.inside @ inputs.kappa.T
    std = neurons.outside[:, None] * np.sqrt(law.scales[inputs.classes])
    reach = float(np.max(np.abs(mean_field)))
    table = Tabulated(sigma, (-reach - 1e-9, reach + 1e-9), (float(std.min()), float(std.max())))
    mean, slope, square = table(mean_field, std)
    rest = np.maximum(square - mean**2 - slope**2, 0)
    bulk = max(law.dimension - law.rank, 1)
    mean = mean + std * table.std_slope(mean_field, std) * inputs.tau / np.sqrt(2 * bulk)
    return Kernel(
        mean, slope, rest, neurons.profile, neurons.shares, inputs.weights, inputs.labels, width, bulk
    )


def asymptotic(
    mixture: GaussianMixture,
    labels: Labels,
    sigma: Activation,
    *,
    k: int,
    m: int,
    m_gradient: int,
    step_size: float,
    ridges: np.ndarray,
    rng: np.random.Generator,
    draws: int = 8,
    neuron_count: int = 256,
    input_count: int = 256,
) -> dict[str, np.ndarray]:
    """Predict the errors of the one-step network from the laws alone.

    Parameters
    ----------
    mixture, labels : GaussianMixture, Labels
        Laws of the data; covariances identity plus spikes.
    sigma : Activation
        σ.
    k, m, m_gradient : int
        Width, training samples, samples of the gradient step.
    step_size : float
        η.
    ridges : ndarray, shape (L,)
        λ.
    rng : Generator
        Scrambles the nodes.
    draws : int, default 8
        How many batch averages of y κ are averaged over; one alone varies by several percent.
    neuron_count, input_count : int
        Nodes for the neurons, and for the inputs (all classes together, at least 64 for each class).

    Returns
    -------
    dict of ndarray
        Observables of shape (L,) or (L, C), and ``converged`` of shape (L,).
    """
    law = reduced_law(mixture, labels)
    start_square = float(sigma.second_moment(1.0)) / k
    step = batch_average(law, m_gradient, start_square, rng)
    directions = balanced_normal(law.rank, draws, rng)
    tables: list[list[dict[str, Any]]] = []
    for direction in directions:  # fresh nodes each time, so that averaging removes their error too
        inputs = input_nodes(law, max(64, input_count // mixture.classes), rng)
        nodes = neuron_nodes(law.rank, neuron_count, rng)
        neurons = draw_neurons(law, sigma, step, step_size / k, direction, nodes)
        functional = Functional(conditional_kernel(law, sigma, neurons, inputs, k))
        start, row = None, []
        for ridge in ridges:
            floor = max(float(ridge), 1e-9)
            solved = functional.solve(m, floor, start)
            start = solved.value[0]
            errors = functional.errors(m, *solved.value, law.noise)
            row.append(_observables(law, inputs, errors, floor) | {"converged": solved.converged})
        tables.append(row)
    return {
        name: np.array([
            (np.all if name == "converged" else np.mean)([row[i][name] for row in tables], axis=0)
            for i in range(len(ridges))
        ])
        for name in tables[0][0]
    }  # fmt: skip


def _observables(law: ReducedLaw, inputs: Inputs, errors: Errors, ridge: float) -> dict[str, Any]:
    weights = inputs.weights
    by_class = np.bincount(inputs.classes, weights * errors.test) / law.weights
    result = {
        "test_error": weights @ errors.test,
        "train_error": weights @ (errors.test * (ridge / errors.effective_ridge) ** 2),
        "test_error_by_class": by_class,
        "weight_norm": np.sqrt(errors.weight_square),
    }
    if isinstance(law.labels, Classification):
        centre = inputs.labels - errors.residual
        spread = np.sqrt(np.maximum(errors.test - errors.residual**2, 0))
        result["misclassification"] = weights @ wrong_side(
            centre, spread, inputs.classes, np.array(law.labels.values)
        )
    return result
