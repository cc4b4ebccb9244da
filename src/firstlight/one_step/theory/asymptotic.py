"""Errors after one step without any network: no object here grows with the dimension."""

from itertools import product
from typing import Any

import numpy as np

from firstlight.data.labels import Classification, Labels
from firstlight.data.mixture import GaussianMixture
from firstlight.maths.activations import Activation
from firstlight.maths.feature_moments import Tabulated
from firstlight.one_step.theory.functional import Errors, Functional, Kernel
from firstlight.one_step.theory.neurons import Neurons, batch_average, draw_neurons, neuron_nodes
from firstlight.one_step.theory.reduced import Inputs, ReducedLaw, balanced_normal, input_nodes, reduced_law
from firstlight.one_step.theory.scores import wrong_side


def common_table(law: ReducedLaw, sigma: Activation, nodes: list[tuple[Neurons, Inputs]]) -> Tabulated:
    """Tabulate the activation's moments over the range that any pair of nodes reaches."""
    reach = max(float(np.abs(neurons.inside @ inputs.kappa.T).max()) for neurons, inputs in nodes) + 1e-9
    stds = np.concatenate([neurons.outside for neurons, _ in nodes])
    low, high = stds.min() * np.sqrt(law.scales.min()), stds.max() * np.sqrt(law.scales.max())
    return Tabulated(sigma, (-reach, reach), (float(low), float(high)))


def conditional_kernel(
    law: ReducedLaw, table: Tabulated, neurons: Neurons, inputs: Inputs, width: int
) -> Kernel:
    """Integrate the activations given κ, for every pair of neuron and input nodes."""
    std = neurons.outside[:, None] * np.sqrt(law.scales[inputs.classes])
    mean, slope, bend, square = table(neurons.inside @ inputs.kappa.T, std)
    rest = np.maximum(square - mean**2 - slope**2, 0)
    bulk = max(law.dimension - law.rank, 1)
    mean = mean + bend * inputs.tau / np.sqrt(2 * bulk)  # d E σ/ds = E[σ He₂]/s
    return Kernel(
        mean, slope, rest, neurons.profile, neurons.shares, inputs.weights, inputs.labels, width, bulk
    )


def asymptotic(
    mixture: GaussianMixture,
    labels: Labels,
    sigma: Activation,
    *,
    k: int,
    sizes: list[int],
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
    k, m_gradient : int
        Width, and samples of the gradient step.
    sizes : list of int
        m, numbers of training samples, S values.
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
        Observables of shape (S, L) or (S, L, C), and ``converged`` of shape (S, L).
    """
    law = reduced_law(mixture, labels)
    start_square = float(sigma.second_moment(1.0)) / k
    step = batch_average(law, m_gradient, start_square, rng)
    directions = balanced_normal(law.rank, draws, rng)
    nodes = []
    for direction in directions:  # fresh nodes each time, so that averaging removes their error too
        inputs = input_nodes(law, max(64, input_count // mixture.classes), rng)
        normals = neuron_nodes(law.rank, neuron_count, rng)
        nodes.append((draw_neurons(law, sigma, step, step_size / k, direction, normals, inputs), inputs))
    table = common_table(law, sigma, nodes)
    found: list[list[dict[str, Any]]] = []  # one list of cells for each batch average
    for neurons, inputs in nodes:
        functional = Functional(conditional_kernel(law, table, neurons, inputs, k))
        start, cells = None, []
        for m, ridge in product(sizes, ridges):
            floor = max(float(ridge), 1e-9)
            if ridge == 0 and m == k:  # errors grow without bound, and no iteration settles
                nothing = np.full(inputs.weights.size, np.nan)
                unknown = _observables(law, inputs, Errors(nothing, nothing, nothing, np.nan), floor)
                cells.append(unknown | {"converged": False})
                continue
            solved = functional.solve(m, floor, start)
            start = solved.value[0]
            errors = functional.errors(m, *solved.value, law.noise)
            cells.append(_observables(law, inputs, errors, floor) | {"converged": solved.converged})
        found.append(cells)
    averages = {
        name: np.array([
            (np.all if name == "converged" else np.mean)([cell[name] for cell in draws_of_cell], axis=0)
            for draws_of_cell in zip(*found, strict=True)
        ])
        for name in found[0][0]
    }  # fmt: skip
    shape = (len(sizes), len(ridges))
    return {name: value.reshape(shape + value.shape[1:]) for name, value in averages.items()}


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
