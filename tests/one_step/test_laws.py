"""The reduced law, the neurons' law after the step, the 0/1 error, and the degrees."""

import numpy as np
import pytest
from scipy.special import ndtr

from firstlight.data.labels import Classification, Regression
from firstlight.data.mixture import GaussianMixture, Spiked
from firstlight.data.structured import structured_data
from firstlight.maths.activations import activation
from firstlight.network.two_layer import TwoLayer
from firstlight.one_step.theory.degree import hermite_degree, measured_degrees
from firstlight.one_step.theory.neurons import batch_average, compound_poisson, draw_neurons, neuron_nodes
from firstlight.one_step.theory.reduced import input_nodes, reduced_law
from firstlight.one_step.theory.scores import misclassification, wrong_side


def _mixture(rotation):
    spikes = rotation @ np.eye(30)[:, :3]
    means = np.outer([0.5, -0.2], rotation[:, 4])
    laws = [Spiked([4.0, 2.0], spikes[:, :2]), Spiked([3.0], spikes[:, 2:], 0.7)]
    return GaussianMixture([0.4, 0.6], means, laws), Regression(0.3 * rotation[:, 0] + 0.2 * rotation[:, 5])


def test_reduced_law_keeps_what_matters_and_ignores_rotations():
    rng = np.random.default_rng(0)
    rotation = np.linalg.qr(rng.normal(size=(30, 30)))[0]
    for q in (np.eye(30), rotation):
        mixture, labels = _mixture(q)
        law = reduced_law(mixture, labels)
        assert law.rank == 5
        index_mean, index_std = labels.index(mixture)
        for c in range(2):
            assert law.index @ law.means[c] == pytest.approx(index_mean[c], abs=1e-12)
            assert np.linalg.norm(law.roots[c] @ law.index) == pytest.approx(index_std[c], rel=1e-10)
            full = np.linalg.eigvalsh(mixture.covariances[c].dense())
            inside = np.linalg.eigvalsh(law.roots[c] @ law.roots[c].T)
            assert inside[-1] == pytest.approx(full[-1], rel=1e-10)
        _, y, weight, _ = law.everything(np.random.default_rng(1))
        _, square = labels.moments(mixture)
        assert weight @ y**2 == pytest.approx(mixture.weights @ square, rel=2e-3)  # 8192 quasi-random nodes


def test_dense_covariances_have_no_reduced_law():
    with pytest.raises(ValueError, match="spikes"):
        reduced_law(GaussianMixture([1.0], None, [np.eye(4)]), Regression(np.ones(4)))


def test_spectrum_quadrature_against_a_sampled_matrix():
    rng = np.random.default_rng(2)
    n, m = 800, 1000
    x, y = rng.normal(size=(m, n)), np.maximum(rng.normal(size=m), 0)
    values = np.linalg.eigvalsh((x.T * y) @ x / m)
    powers = np.array([np.mean(y**p) for p in range(1, 6)])
    nodes, weights = compound_poisson(powers * (n / m) ** np.arange(5))
    for p in range(1, 6):  # a Gauss rule of three nodes is exact to degree five
        assert weights @ nodes**p == pytest.approx(np.mean(values**p), rel=0.02)


def _one_step(name, seed, n=700):
    """Rows of a network trained at α = β = 1, where the step is largest, over what the law says of them."""
    mixture, labels = structured_data(n, 1.0, label_direction="spikes")
    sigma, rng = activation(name), np.random.default_rng(seed)
    start = TwoLayer.draw(n, n, 1 / mixture.trace, sigma, rng)
    x, classes = mixture.sample(n, rng)
    y = labels(x, classes, rng)
    rows = start.step(x, y, float(n)).first_layer
    axes = np.eye(n)[:, :2]
    span = np.column_stack([axes.sum(axis=1), axes[:, 0] - axes[:, 1]]) / np.sqrt(2)
    common = x.T @ y / n
    outside = common - span @ (span.T @ common)
    inside = rows @ np.column_stack([span, outside / np.linalg.norm(outside)])
    length = np.sum(rows**2, axis=1) - np.sum(inside**2, axis=1)

    law = reduced_law(mixture, labels)
    step = batch_average(law, n, float(sigma.second_moment(1.0)) / n, rng)
    direction = np.linalg.lstsq(step.spread, _coordinates(labels, common) - step.signal, rcond=None)[0]
    nodes = neuron_nodes(law.rank, n, rng)
    nodes[:, -1] = start.second_layer * np.sqrt(n)  # the same second layer, so that rows can be compared
    nodes[:, -2] = 0  # and no fluctuation of the length that the real rows do not share
    neurons = draw_neurons(law, sigma, step, 1.0, direction, nodes, input_nodes(law, 256, rng))
    along, across = _axes(law, neurons).T
    return [
        np.mean(neurons.outside**2) / np.mean(length),
        np.corrcoef(neurons.outside**2, length)[0, 1],
        np.mean(neurons.inside[:, -1] ** 2) / np.mean(inside[:, -1] ** 2),
        np.mean(along**2) / np.mean(inside[:, 0] ** 2),
        _own(across, nodes[:, -1]) / _own(inside[:, 1], nodes[:, -1]),
    ]


def _axes(law, neurons):
    """Coordinates along ξ and across it, in the plane of the two spikes."""
    x, y = law.index / np.linalg.norm(law.index)
    return neurons.inside[:, :-1] @ np.array([[x, -y], [y, x]])


def _own(values, second_layer):
    """Mean square of what is not a common pull times the second layer: each row's own part."""
    slope = np.mean(values * second_layer) / np.mean(second_layer**2)
    return np.mean((values - slope * second_layer) ** 2)


@pytest.mark.parametrize(("name", "correlation"), [("relu", 0.97), ("tanh", 0.65)])
def test_neuron_law_against_real_steps(name, correlation):
    length, together, noise, signal, own = np.mean([_one_step(name, seed) for seed in range(5)], axis=0)
    # one batch's E y² moves the length by 1-2 % and the noise by 10 %: over five batches 0.7 % and 4 %
    assert length == pytest.approx(1, abs=0.015)
    assert together > correlation  # row by row: the second layer's sign lengthens a ReLU row or shortens it
    assert noise == pytest.approx(1, abs=0.1)
    assert signal == pytest.approx(1, abs=0.03)
    assert own == pytest.approx(1, abs=0.06)  # five times 700 rows: 2.4 %


def _coordinates(labels, vector):
    """Coordinates of a vector in the reduced basis, through its inner products with spikes and ξ."""
    spikes = np.eye(len(vector))[:, :2]
    columns = np.column_stack([spikes, labels.direction])
    size, rotation = np.linalg.eigh(columns.T @ columns)
    kept = size > 1e-10 * size.max()
    basis = columns @ rotation[:, kept] / np.sqrt(size[kept])
    return basis.T @ vector


def test_wrong_side_against_sampling():
    rng = np.random.default_rng(4)
    values, classes = np.array([1.0, 0.0, -1.0]), np.array([0, 1, 2, 1])
    centre, spread = np.array([0.2, 0.3, -2.0, 0.0]), np.array([0.7, 0.4, 1.5, 0.0])
    score = centre + spread * rng.normal(size=(400_000, 4))
    nearest = np.argmin(np.abs(score[..., None] - values), axis=-1)
    share = np.mean(nearest != classes, axis=0)
    np.testing.assert_allclose(wrong_side(centre, spread, classes, values), share, atol=5 / np.sqrt(400_000))


def test_misclassification_of_a_known_mixture():
    # scores N(±1, 1) with labels ±1: the 0/1 error is Φ(-1), also if nodes know the mean roughly
    values = np.array([1.0, -1.0])
    centres = [np.array([1.1]), np.array([-1.0])]
    share = misclassification(np.array([0.3, 0.7]), values, values, np.ones(2), centres, [np.zeros(1)] * 2)
    assert share == pytest.approx(0.158655, abs=1e-6)


def test_misclassification_where_scores_fluctuate_unevenly():
    # two nodes of either class, where scores have the variances 0.5 and 1.5 that average to the class's
    values, none = np.array([1.0, -1.0]), [np.zeros(2)] * 2
    share = misclassification(np.full(2, 0.5), values, values, np.ones(2), none, [np.array([0.2, 1.2])] * 2)
    assert share == pytest.approx(ndtr(-1 / np.sqrt([0.5, 1.5])).mean(), abs=1e-12)


def test_degree_rule():
    table = {0.0: 1, 0.3: 1, 0.5: 1, 0.51: 2, 2 / 3: 2, 0.74: 3, 0.75: 3, 0.76: 4, 1.0: 4}
    assert {beta: hermite_degree(beta) for beta in table} == table
    assert hermite_degree(1.0, largest=7) == 7
    for bad in (-0.1, 1.1, np.nan):
        with pytest.raises(ValueError, match="beta"):
            hermite_degree(bad)


def test_measured_amplitude_against_a_real_first_layer():
    n = k = 400
    mixture, labels = structured_data(n, n**0.6, label_direction="spikes")
    law, relu, rng = reduced_law(mixture, labels), activation("relu"), np.random.default_rng(5)
    degrees = measured_degrees(law, relu, k, n, 1.0, rng)
    # degree 1: k h₁² E(M/b)²/h*₁² with M the spikes' part of a pre-activation, over many sampled neurons
    first_layer = rng.normal(size=(4000, n)) / np.sqrt(mixture.trace)
    x, classes = mixture.sample(4000, rng)
    x, y = x[:, :2], labels(x, classes, rng)
    field = x @ first_layer[:, :2].T
    b = np.sqrt(n / mixture.trace)
    h = relu.hermite(2, b)
    assert y.size == 4000
    rest = float(relu.second_moment(b)) - h[0] ** 2
    assert degrees.ratios[0] == pytest.approx(k * h[1] ** 2 * np.mean((field / b) ** 2) / rest, rel=0.1)
    rest -= h[1] ** 2
    fourth = np.mean((field / b) ** 4)  # 4000 samples: heavy tails, good to 10 %
    assert degrees.ratios[1] == pytest.approx(k * (h[2] / 2) ** 2 * fourth / rest, rel=0.25)
    assert degrees.ratios[0] > degrees.ratios[1] > 1  # degree 2 is needed here


def test_a_short_step_and_weak_spikes_need_degree_one():
    mixture, labels = structured_data(600, 1.0, task="classification")
    assert isinstance(labels, Classification)
    degrees = measured_degrees(
        reduced_law(mixture, labels), activation("relu"), 600, 600, 1.0, np.random.default_rng(0)
    )
    assert degrees.needed == 1
    assert degrees.reliable == len(degrees.ratios)
