"""Errors after one step without any network: no object here grows with the dimension."""

from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np

from firstlight.data.labels import Classification
from firstlight.maths.activations import Activation
from firstlight.maths.feature_moments import Tabulated
from firstlight.maths.workers import Workers
from firstlight.one_step.definitions import Setting
from firstlight.one_step.theory.deterministic import has_a_mean
from firstlight.one_step.theory.functional import Errors, Functional, Kernel
from firstlight.one_step.theory.neurons import (
    Neurons,
    batch_average,
    draw_neurons,
    equal_heads_output,
    neuron_nodes,
    own_pull,
    root,
    second_layer_of,
)
from firstlight.one_step.theory.reduced import Inputs, ReducedLaw, balanced_normal, input_nodes, reduced_law
from firstlight.one_step.theory.scores import wrong_side

_FLOOR = 1e-9  # smallest ridge that is solved for; it stands for smaller ones
_MANY = 512  # nodes from which draws gain by threads; with fewer these wait for the interpreter
_NONE = 1e-9  # share of a class without samples: its errors are predicted all the same
_LIMIT = 1e-2  # largest change of an error between ridges of 1e-8 and 1e-9 that stand for smaller ones


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
    bulk = law.bulk
    mean = mean + bend * inputs.tau / np.sqrt(2 * bulk)  # d E σ/ds = E[σ He₂]/s
    return Kernel(
        mean, slope, rest, neurons.profile, neurons.shares, inputs.weights, inputs.labels, width, bulk
    )


def without_a_network(
    setting: Setting, sizes: list[int], rng: np.random.Generator, draws: int, nodes: int
) -> list[dict[str, np.ndarray]]:
    """Predict the errors of the one-step network from the laws alone, once for each batch average.

    Parameters
    ----------
    setting : Setting
        What is studied, with L ridges; covariances identity plus spikes.
    sizes : list of int
        m, numbers of training samples, S values.
    draws : int
        How many batch averages of y κ, each with nodes of its own; one alone varies by several percent.
    nodes, rng : int and Generator
        Nodes, which it scrambles, for neurons and for inputs (all classes together, at least 64 for each).

    Returns
    -------
    list of dict of ndarray
        For each draw: observables of shape (S, L) or (S, L, C), and ``converged`` of shape (S, L).
    """
    # threads of BLAS cost more than they bring on matrices this small
    with Workers() as workers:
        law, sigma, ridges = reduced_law(setting.mixture, setting.labels), setting.sigma, setting.ridges
        placed = _placed(setting, law, rng, draws, nodes)
        table = common_table(law, sigma, placed)
        counts = [(m, setting.mixture.counts(m)) for m in sizes]

        def of_one_draw(nodes: tuple[Neurons, Inputs]) -> dict[str, np.ndarray]:
            kernel = conditional_kernel(law, table, *nodes, setting.width)
            with np.errstate(divide="ignore", over="ignore", invalid="ignore"):  # told as not converged
                return _of_one_draw(law, nodes[1], kernel, counts, ridges)

        errors = list((workers.map if nodes >= _MANY else map)(of_one_draw, placed))
    known = table.usable and setting.labels.resolved(setting.mixture)
    for one in errors:
        one["converged"] &= known  # errors of networks move by as much
    return errors


def _placed(
    setting: Setting, law: ReducedLaw, rng: np.random.Generator, draws: int, nodes: int
) -> list[tuple[Neurons, Inputs]]:
    """Place nodes for the neurons after the step, and for the inputs, once for each draw."""
    sigma, width, second_layer = setting.sigma, setting.width, setting.second_layer
    start_square, coefficients = float(sigma.second_moment(1.0)) / width, sigma.hermite(1, 1.0)
    if second_layer == "ones":  # the constant is the same for all networks
        start_square -= float(coefficients[0]) ** 2 / width
        coefficients[0] = 0.0
    output = equal_heads_output(law, sigma) if second_layer == "ones" else None
    counts = setting.mixture.counts(setting.step_samples)
    batch = replace(law, weights=counts / counts.sum())
    step = batch_average(batch, setting.step_samples, start_square, rng, output)
    spread = step.spread @ step.spread.T + own_pull(batch, coefficients, width)
    step = replace(step, spread=root(spread))
    placed = []
    for direction in balanced_normal(law.rank, draws, rng):
        inputs = input_nodes(law, max(64, nodes // setting.mixture.classes), rng)
        normals = neuron_nodes(law.rank, nodes, rng)
        normals[:, -1] = second_layer_of(second_layer, normals[:, -1])
        shares = (batch.weights / law.weights)[inputs.classes]
        pulling = replace(inputs, weights=inputs.weights * shares)
        if output is not None:
            known = output(inputs.kappa[:, : law.rank], law.scales[inputs.classes])
            pulling = replace(pulling, labels=inputs.labels - known)
        neurons = draw_neurons(batch, sigma, step, setting.step_size / width, direction, normals, pulling)
        placed.append((neurons, inputs))
    return placed


def _of_one_draw(
    law: ReducedLaw,
    inputs: Inputs,
    kernel: Kernel,
    sizes: list[tuple[int, np.ndarray]],
    ridges: np.ndarray,
) -> dict[str, np.ndarray]:
    """Predict for training samples of each size, with so many of each class."""
    whole, tells = Functional(kernel), isinstance(law.labels, Classification)
    start, cells = None, []
    for (m, counts), ridge in product(sizes, map(float, ridges)):
        shares = np.maximum(counts / m, _NONE) / law.weights
        functional = whole.weighted(inputs.weights * shares[inputs.classes])
        solved = functional.solve(m, max(ridge, _FLOOR), start)
        start = solved.value if solved.converged else None
        errors = functional.errors(m, *solved.value, law.noise, inputs.classes, tells)
        settled = solved.converged and has_a_mean(errors.amplification, m)
        unfitted = max(ridge, _FLOOR) / errors.effective_ridge
        if ridge < _FLOOR and settled:  # a limit: it has to be reached
            wider = functional.solve(m, 10 * _FLOOR, start).value
            before = functional.errors(m, *wider, law.noise, inputs.classes, False)
            change = inputs.weights @ (before.test - errors.test)
            settled &= abs(change) < _LIMIT * (inputs.weights @ errors.test)
            # the effective ridge is a constant where the data can be fitted, and else a multiple of the ridge
            growth = np.max(before.effective_ridge / errors.effective_ridge)
            unfitted = unfitted * ridge / _FLOOR if growth < 1 + _LIMIT else unfitted
            settled &= growth < 1 + _LIMIT or growth > 10 * (1 - _LIMIT)
        observed = _observables(law, inputs, errors, unfitted, functional.kernel.weights)
        if errors.score_variance is not None:
            observed["misclassification"] = _wrong(law, inputs, errors.residual, errors.score_variance)
        cells.append(observed | {"converged": bool(settled)})
    table = {name: np.array([cell[name] for cell in cells]) for name in cells[0]}
    shape = (len(sizes), len(ridges))
    return {name: value.reshape(shape + value.shape[1:]) for name, value in table.items()}


def _observables(
    law: ReducedLaw, inputs: Inputs, errors: Errors, unfitted: np.ndarray, training: np.ndarray
) -> dict[str, Any]:
    """Average over the inputs; a training residual is the share `unfitted`, λ over u, of a test residual."""
    weights = inputs.weights
    by_class = np.bincount(inputs.classes, weights * errors.test) / law.weights
    return {
        "test_error": weights @ errors.test,
        "train_error": training @ (errors.test * unfitted**2),
        "test_error_by_class": by_class,
        "weight_norm": np.sqrt(errors.weight_square),
    }


def _wrong(law: ReducedLaw, inputs: Inputs, residual: np.ndarray, variance: np.ndarray) -> float:
    """Return the 0/1 error."""
    spread = np.sqrt(np.maximum(variance, 0))
    values = np.array(law.labels.values)  # type: ignore[union-attr]
    return float(inputs.weights @ wrong_side(inputs.labels - residual, spread, inputs.classes, values))
