"""The tangent kernel, predicted Recall@k and operator norms against samples, sorting and draws."""

import numpy as np
import pytest

from firstlight.maths.activations import activation
from firstlight.measure.retrieval import recall_at_k
from firstlight.unseen_classes.theory.kernel import spiked_kernel
from firstlight.unseen_classes.theory.operator_norm import spiked_operator_norm
from firstlight.unseen_classes.theory.retrieval import predict_recall_at_k, recall_from_gram
from firstlight.unseen_classes.theory.tangent import tangent_kernel


@pytest.mark.parametrize("name", ["relu", "erf", "tanh"])
def test_tangent_kernel_is_the_average_over_neurons(name):
    rng = np.random.default_rng(0)
    sigma, tau, d, count = activation(name), 0.7, 3, 400_000
    x, beta = rng.normal(size=(4, d)), rng.normal(size=d)
    alpha = rng.normal(size=(count, 1))
    z = rng.normal(size=(count, d)) @ x.T / np.sqrt(d) + tau * alpha * (x @ beta)
    slopes = alpha * sigma.derivative(z)
    first = slopes[:, :, None] * slopes[:, None, :] * (x @ x.T)
    features = sigma(z)
    second = features[:, :, None] * features[:, None, :]
    for layer, sample, factor in (("first", first, 1.0), ("second", second, 50.0)):
        kernel = tangent_kernel(x, None, beta, tau, sigma, width=50, head_scale=1.0, layer=layer)
        error = 5 * factor * sample.std(axis=0) / np.sqrt(count)
        assert (np.abs(kernel - factor * sample.mean(axis=0)) < error + 1e-9).all()
    both = tangent_kernel(x, None, beta, tau, sigma, width=50, head_scale=0.5)
    parts = [
        tangent_kernel(x, None, beta, tau, sigma, width=50, head_scale=0.5, layer=layer)
        for layer in ("first", "second")
    ]
    np.testing.assert_allclose(both, sum(parts), rtol=1e-12)


def test_the_weight_of_heads_for_a_relu_in_closed_form():
    # E[α² 1{z>0} 1{z'>0}] = (π - arccos ρ)/2π + ρ'/(π sqrt(1 - ρ²)), ρ' = τ²[bb' - (c/2)(b²/q +
    # b'²/q')]/sqrt(qq')
    rng = np.random.default_rng(1)
    x, beta, tau, d = rng.normal(size=(6, 5)), rng.normal(size=5), 0.9, 5
    b = x @ beta
    c = x @ x.T / d + tau**2 * np.outer(b, b)
    q = np.diag(c)
    rho = c / np.sqrt(np.outer(q, q))
    change = tau**2 * (np.outer(b, b) - c / 2 * ((b**2 / q)[:, None] + b**2 / q)) / np.sqrt(np.outer(q, q))
    off = ~np.eye(6, dtype=bool)
    expected = (np.pi - np.arccos(rho[off])) / (2 * np.pi) + change[off] / (
        np.pi * np.sqrt(1 - rho[off] ** 2)
    )
    kernel = tangent_kernel(x, None, beta, tau, "relu", width=1, head_scale=1.0, layer="first")
    np.testing.assert_allclose(kernel[off], (x @ x.T)[off] * expected, atol=3e-8)  # the five-point rule
    np.testing.assert_allclose(np.diag(kernel), np.diag(x @ x.T) / 2, rtol=1e-5)


@pytest.mark.parametrize("metric", ["cosine", "euclidean", "inner"])
@pytest.mark.parametrize("k", [1, 3])
def test_predicted_recall_equals_sorting(metric, k):
    rng = np.random.default_rng(2)
    x, y, beta = rng.normal(size=(60, 4)), rng.integers(4, size=60), rng.normal(size=4)
    x[7], y[7] = x[3], y[3]  # of one label: which of two equal rows comes first is a matter of rounding
    y[11] = 99
    gram = spiked_kernel(x, None, beta, 0.5, "relu")
    own = np.diag(gram)
    near = {
        "cosine": gram / np.sqrt(np.outer(own, own)),
        "inner": gram,
        "euclidean": 2 * gram - own - own[:, None],
    }
    hits = []
    for i, row in enumerate(near[metric]):
        order = [j for j in np.argsort(-row, kind="stable") if j != i][:k]
        hits.append(np.nan if i == 11 else float(any(y[j] == y[i] for j in order)))
    recall = predict_recall_at_k(x, y, beta, 0.5, "relu", k, metric)
    np.testing.assert_array_equal(recall.hits, hits)
    assert float(recall.recall) == pytest.approx(np.nanmean(hits))
    assert int(recall.excluded) == 1
    assert float(recall.recall_by_class.sel({"class": 2})) == pytest.approx(np.mean(np.array(hits)[y == 2]))


@pytest.mark.parametrize("metric", ["cosine", "inner", "euclidean"])
@pytest.mark.parametrize("seed", range(4))
def test_equally_near_samples_share_an_answer(metric, seed):
    """As the measure does, which has its own way: rows of signs and zeros, so that most queries are tied."""
    rng = np.random.default_rng(seed)
    x, y = rng.integers(-1, 2, (40, 3)).astype(float), rng.integers(0, 4, 40)
    for k in (1, 2, 5):
        recall = recall_from_gram(x @ x.T, y, k, metric)
        np.testing.assert_allclose(recall.hits, recall_at_k(x, y, k, metric).hits, rtol=1e-14)
        order = rng.permutation(40)
        again = recall_from_gram(x[order] @ x[order].T, (7 - y)[order], k, metric)
        np.testing.assert_allclose(again.hits, recall.hits[order], rtol=1e-14)
    # a kernel of rows that occur several times rounds each its own way
    gram = spiked_kernel(x, None, np.ones(3), 0.5, "relu", 0.1 * np.eye(3))
    order = rng.permutation(40)
    again = spiked_kernel(x[order], None, np.ones(3), 0.5, "relu", 0.1 * np.eye(3))
    hits = recall_from_gram(gram, y, 1, metric).hits
    np.testing.assert_allclose(recall_from_gram(again, y[order], 1, metric).hits, hits[order], rtol=1e-14)


def test_a_tie_is_no_wider_than_rounding():
    """Distances of 1e-5 of the norms are 1e-10 of their squares, a thousand times the rounding allowed."""
    x = np.array([[1.0, 0.0], [1.0, 1e-5], [1.0, -2e-5], [1.0, 3e-5]])
    for metric in ("cosine", "euclidean"):
        assert recall_from_gram(x @ x.T, [0, 0, 1, 1], 1, metric).hits.values.tolist() == [1, 1, 0, 0]


@pytest.mark.parametrize("mean", [0.0, 0.5, 2.0, 10.0])
def test_spiked_operator_norm_and_bound(mean):
    n, d = 600, 300
    rng = np.random.default_rng(3)
    y = np.where(np.arange(n) % 2, 1.0, -1.0)
    direction = rng.normal(size=d)
    direction *= mean / np.linalg.norm(direction)
    for noise in (rng.normal(size=(n, d)), rng.choice([-1.0, 1.0], (n, d))):
        measured = np.linalg.norm(np.outer(y, direction) + 1.5 * noise, 2)
        # the spike's value fluctuates by std = 1.5 (allow three), the edge by about 1 %
        assert spiked_operator_norm(n, d, mean, std=1.5) == pytest.approx(measured, rel=0.015, abs=4.5)
        # |E A| + K(√n + √d + u) bounds it but for a chance of 2 exp(-u²/2), which is 2 % at u = 3
        assert measured < mean * np.sqrt(n) + 1.5 * (np.sqrt(n) + np.sqrt(d) + 3)
    assert np.linalg.norm(np.ones((n, d)), 2) > np.sqrt(n) + np.sqrt(d)  # without the mean it bounds nothing


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: tangent_kernel(
                np.eye(2), None, [1, 1], 1, "relu", width=1, head_scale=1.0, layer="third"
            ),
            "layer",
        ),
        (lambda: tangent_kernel(np.eye(2), None, [1, 1], 1, "relu", width=0, head_scale=1.0), "width = 0"),
        (
            lambda: tangent_kernel(np.eye(2), None, [1, 1], 1, "relu", width=1, head_scale=np.inf),
            "scale = inf",
        ),
        (
            lambda: tangent_kernel(np.eye(2), None, np.ones((2, 2)), 1, "relu", width=1, head_scale=1.0),
            "2 outputs",
        ),
        (lambda: tangent_kernel(np.eye(2), np.eye(3), [1, 1], 1, "relu", width=1, head_scale=1.0), "Xb: 3"),
        (lambda: recall_from_gram(np.eye(3), [0, 0, 1], k=0), "k = 0"),
        (lambda: recall_from_gram(np.eye(3), [0, 1, 2]), "every class has one member"),
        (lambda: predict_recall_at_k(np.zeros((3, 2)), [0, 0, 1], [1, 1], 1, "relu"), "features are zero"),
        (lambda: recall_from_gram(np.eye(3), [0, 0, 1], metric="l1"), "metric = 'l1'"),
        (lambda: recall_from_gram(np.ones((2, 3)), [0, 0]), "1 class"),
        (lambda: recall_from_gram(np.ones((2, 3)), [0, 1]), "square"),
        (lambda: spiked_operator_norm(3, 3, -1.0), "mean = -1.0"),
        (lambda: spiked_operator_norm(3, 3, 1.0, std=0.0), "std = 0.0"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(ValueError, match=message):
        call()
