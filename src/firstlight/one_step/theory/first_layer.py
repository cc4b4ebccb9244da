"""A sampled first layer after the step, and the means of its features given the strong coordinates."""

from functools import partial

import numpy as np

from firstlight.data.mixture import GaussianMixture, Spiked
from firstlight.maths.activations import Activation
from firstlight.maths.feature_moments import Tabulated
from firstlight.maths.workers import Workers, blocks
from firstlight.one_step.definitions import Draws, Setting, Streams
from firstlight.one_step.theory.neurons import second_layer_of
from firstlight.one_step.theory.reduced import balanced_normal, completed_basis, strong_columns

_ROWS = 500  # neurons that a thread works on at once
_TOKEN = 1e-6  # spread of a pre-activation that the strong coordinates decide: tables need a positive width


def sampled_first_layer(
    setting: Setting, stream: Streams
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Sample F_ij ~ N(0, 1/E|x|²), w of its law and a batch x, y, from the streams of an experiment.

    Written apart from the network's own start, so that an error in either shows.

    Returns
    -------
    first_layer, second_layer, x, y : ndarray, shapes (k, n), (k,), (m_g, n) and (m_g,)
    """
    n, k, count = setting.mixture.dimension, setting.width, setting.step_samples
    first, x, y = np.empty((k, n)), np.empty((count, n)), np.empty(count)
    batch = Draws(setting, setting.mixture.counts(count), partial(stream, "gradient"))

    def neurons(rows: slice) -> None:
        stream("first layer", rows.start).standard_normal(out=first[rows])

    def samples(block: int) -> None:
        _, _, y[batch.rows[block]] = batch(block, x[batch.rows[block]])

    with Workers() as workers:
        workers.map(neurons, blocks(k))
        workers.map(samples, range(len(batch)))
    first *= 1 / np.sqrt(setting.mixture.trace)
    second = second_layer_of(setting.second_layer, stream("second layer").standard_normal(k))
    return first, second / np.sqrt(k), x, y


def stepped_first_layer(
    first_layer: np.ndarray,
    second_layer: np.ndarray,
    sigma: Activation,
    x: np.ndarray,
    y: np.ndarray,
    step_size: float,
) -> np.ndarray:
    """Return F + (η/m_g) Σ_s (w_i/√k) (y_s - f(x_s)) σ'(F_i x_s) x_s, the first layer after one step.

    Parameters
    ----------
    first_layer, second_layer : ndarray, shapes (k, n) and (k,)
        F and w at the start.
    sigma : Activation
        σ.
    x, y : ndarray, shapes (m_g, n) and (m_g,)
        The batch.
    step_size : float
        η.

    Returns
    -------
    ndarray, shape (k, n)

    Examples
    --------
    >>> from firstlight.maths.activations import activation
    >>> one = np.ones(1)
    >>> stepped_first_layer(one[None], one, activation("linear"), 2 * one[None], 5 * one, 0.5).tolist()
    [[4.0]]
    """
    outer = second_layer / np.sqrt(len(second_layer))
    field, moved = np.empty((len(first_layer), len(y))), np.empty(first_layer.shape)

    def output(rows: slice) -> np.ndarray:
        np.matmul(first_layer[rows], x.T, out=field[rows])
        return np.asarray(outer[rows] @ sigma(field[rows]))

    def move(rows: slice) -> None:
        slope = sigma.derivative(field[rows])
        slope *= residual
        np.matmul(slope, x, out=moved[rows])
        moved[rows] *= (step_size / len(y)) * outer[rows, None]
        moved[rows] += first_layer[rows]

    parts = [slice(start, start + _ROWS) for start in range(0, len(first_layer), _ROWS)]
    with Workers() as workers:
        residual = y - sum(workers.map(output, parts))
        workers.map(move, parts)
    return moved


def mean_features(
    first_layer: np.ndarray,
    update: np.ndarray,
    sigma: Activation,
    mixture: GaussianMixture,
    count: int,
    rng: np.random.Generator,
) -> tuple[list[np.ndarray], bool]:
    """Return E[φ | κ] at nodes κ of each class, C arrays of shape (nodes, k), and whether they are resolved.

    κ holds the coordinates along spikes, means and the step's leading direction. Dense covariances have no
    such few directions: there each class is one node.

    Parameters
    ----------
    first_layer : ndarray, shape (k, n)
        F after the step.
    update : ndarray, shape (n,)
        Leading direction of the step; zeros if there was none.
    sigma : Activation
        σ.
    mixture : GaussianMixture
        Law of the inputs.
    count : int
        Nodes per class.
    rng : Generator
        Scrambles the nodes.
    """
    root = np.sqrt(len(first_layer))
    laws = [law for law in mixture.covariances if isinstance(law, Spiked)]
    if len(laws) < mixture.classes:
        squares = [np.einsum("kn,kn->k", law.apply(first_layer), first_layer) for law in mixture.covariances]
        means = mixture.project(first_layer)
        return [
            sigma.moments(mean, np.sqrt(s), 0)[None, :, 0] / root
            for mean, s in zip(means, squares, strict=True)
        ], True
    basis = strong_basis(first_layer, update, laws, mixture.means)
    inside = first_layer @ basis
    outside = np.sqrt(np.maximum((first_layer**2).sum(axis=1) - (inside**2).sum(axis=1), 0.0))
    result, resolved = [], True
    for law, centre in zip(laws, mixture.project(basis.T), strict=True):
        values, vectors = np.linalg.eigh(law.quadratic(basis.T))
        normals = balanced_normal(basis.shape[1], count, rng)
        field = (centre + (normals * np.sqrt(values)) @ vectors.T) @ inside.T
        std = np.maximum(np.sqrt(law.scale) * outside, _TOKEN)
        reach = float(np.abs(field).max()) + 1e-9
        table = Tabulated(sigma, (-reach, reach), (float(std.min()), float(std.max())))
        result.append(table(field, std)[0] / root)
        resolved &= table.usable
    return result, resolved


def strong_basis(
    first_layer: np.ndarray, update: np.ndarray, laws: list[Spiked], means: np.ndarray | None
) -> np.ndarray:
    """Return an orthonormal basis of the span of spikes, means and the step's leading direction."""
    columns, sizes = strong_columns(laws, means)
    update = update / max(1.0, 1e-6 * float(np.linalg.norm(update)))  # a long one would hide the others
    vectors = np.column_stack([*columns, update])
    left, size, _ = np.linalg.svd(vectors, full_matrices=False)
    basis = left[:, size > 1e-10 * size.max()]
    spread = np.sqrt(max(law.scale for law in laws))
    pull = spread * float(np.abs(first_layer @ update).max()) / max(float(np.linalg.norm(update)), 1e-300)
    return completed_basis(basis, vectors, np.append(sizes, pull))
