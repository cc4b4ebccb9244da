"""β, the bulk and the spiked kernel against sampled neurons and direct sums."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from firstlight.maths.activations import activation
from firstlight.unseen_classes.definitions.covariance import initial_residual, label_covariance, mean_slope
from firstlight.unseen_classes.definitions.step import step_size_from_tau, tau_from_strength
from firstlight.unseen_classes.theory.bulk import bulk_covariance, joint_bulk, summed_bulk
from firstlight.unseen_classes.theory.gram import dual_gram
from firstlight.unseen_classes.theory.kernel import predicted_movement, spiked_kernel
from firstlight.unseen_classes.theory.similarity import train_unseen_similarity


def sampled_neurons(x, beta, tau, sigma, count=400_000, seed=0):
    """σ before and after an exactly rank-one step, for independent neurons: two arrays (count, samples)."""
    rng = np.random.default_rng(seed)
    before = rng.normal(size=(count, x.shape[1])) @ x.T / np.sqrt(x.shape[1])
    after = before + tau * rng.normal(size=(count, beta.shape[1])) @ (x @ beta).T
    return sigma(before), sigma(after)


@pytest.mark.parametrize("name", ["linear", "relu", "shifted_relu", "erf", "tanh", "sin", "gelu"])
@pytest.mark.parametrize("outputs", [1, 3])
def test_kernel_and_movement_are_the_averages_over_neurons(name, outputs):
    rng = np.random.default_rng(1)
    x, beta, sigma = rng.normal(size=(5, 4)), rng.normal(size=(4, outputs)), activation(name)
    before, after = sampled_neurons(x, beta, 0.8, sigma)
    for tau, features in ((0.0, before), (0.8, after)):
        products = features[:, :, None] * features[:, None, :]
        error = 5 * products.std(axis=0) / np.sqrt(len(features))  # five standard errors of the sampling
        assert (np.abs(spiked_kernel(x, None, beta, tau, sigma) - products.mean(axis=0)) < error).all()
    moved = (after - before) ** 2
    error = 5 * moved.std(axis=0) / np.sqrt(len(moved))
    assert (np.abs(predicted_movement(x, beta, 0.8, sigma) - moved.mean(axis=0)) < error).all()


def test_the_rectangle_is_part_of_the_square():
    rng = np.random.default_rng(2)
    x, beta = rng.normal(size=(600, 5)), rng.normal(size=5)  # more rows than a tile
    bulk = bulk_covariance(rng.normal(size=(30, 5)), rng.normal(size=30), "relu")
    for name in ("relu", "erf"):
        whole = spiked_kernel(x, None, beta, 0.5, name, bulk)
        np.testing.assert_allclose(whole, whole.T, atol=1e-12)
        # 1e-7: near ρ = 1 the arc-cosine turns rounding of 1e-16 into 1e-8
        np.testing.assert_allclose(
            whole[:7, 300:], spiked_kernel(x[:7], x[300:], beta, 0.5, name, bulk), atol=1e-7
        )


@pytest.mark.parametrize("name", ["relu", "erf", "sin"])
def test_series_equals_closed_forms(name):
    sigma = activation(name)
    bare = replace(sigma, closed_dual=None, closed_dual_derivative=None)
    rng = np.random.default_rng(3)
    x = rng.normal(size=(40, 3))
    c = x @ x.T
    q = np.diag(c).copy()
    scale = np.sqrt(np.outer(sigma.second_moment(np.sqrt(q)), sigma.second_moment(np.sqrt(q))))
    gap = np.abs(dual_gram(bare, q, q, c.copy()) - dual_gram(sigma, q, q, c.copy())) / scale
    assert gap.max() < 2e-6  # the tolerance at which the series hands over to quadrature is 1e-6
    slopes = dual_gram(bare, q, q, c.copy(), slope=True), dual_gram(sigma, q, q, c.copy(), slope=True)
    np.testing.assert_allclose(*slopes, atol=1e-5)


@pytest.mark.parametrize("name", ["relu", "tanh"])
def test_bulk_is_the_covariance_of_what_neurons_add_to_the_spike(name):
    rng = np.random.default_rng(4)
    x, r, sigma = 1.3 * rng.normal(size=(12, 3)), rng.normal(size=12), activation(name)
    w = rng.normal(size=(300_000, 3)) / np.sqrt(3)
    pull = sigma.derivative(w @ x.T) * r @ x / (12 * mean_slope(sigma))
    # the mean over neurons is β with the slopes of each sample's norm
    beta = label_covariance(x, residual=r, activation=sigma)
    assert (np.abs(pull.mean(axis=0) - beta) < 5 * pull.std(axis=0) / np.sqrt(len(w))).all()
    result = bulk_covariance(x, r, sigma)
    products = (pull - beta)[:, :, None] * (pull - beta)[:, None, :]
    assert (np.abs(products.mean(axis=0) - result) < 5 * products.std(axis=0) / np.sqrt(len(w))).all()
    # the diagonal version is the sum over samples of what each would give alone
    alone = sum(bulk_covariance(x[i : i + 1], r[i : i + 1], sigma) for i in range(12)) / 12**2
    np.testing.assert_allclose(bulk_covariance(x, r, sigma, "diagonal"), alone, atol=1e-7)
    two = bulk_covariance(x, np.column_stack([r, 2 * r]), sigma)
    np.testing.assert_allclose(two, 5 * result, rtol=1e-10)


@pytest.mark.parametrize("kind", ["full", "diagonal"])
def test_joint_bulk_is_the_covariance_of_the_pulls_of_two_outputs(kind):
    rng, sigma = np.random.default_rng(9), activation("sin")
    x, r = 1.3 * rng.normal(size=(1 if kind == "diagonal" else 7, 3)), rng.normal(size=(7, 3))
    r = r[: len(x)]
    slopes = sigma.derivative(rng.normal(size=(100_000, 3)) @ x.T / np.sqrt(3)) / (len(x) * mean_slope(sigma))
    pulls = np.einsum("ni,ik,id->nkd", slopes, r, x) - label_covariance(x, residual=r, activation=sigma).T
    blocks, output = joint_bulk(x, r, sigma, kind), np.full((len(x), len(x)), 0.2)
    for k, other in ((0, 0), (0, 2), (2, 1)):
        products = pulls[:, k, :, None] * pulls[:, other, None, :]
        error = 5 * products.std(axis=0) / np.sqrt(len(slopes))
        assert (np.abs(products.mean(axis=0) - blocks[k, other]) < error).all()
    heads = rng.normal(size=3)  # the sum over outputs with heads is the bulk of one output with residual r·α
    for given in (None, output):
        shares = np.eye(3) / 3
        joint = joint_bulk(x, r, sigma, kind, output=given, shares=shares)
        size = None if given is None else given * (heads @ shares @ heads)
        one = bulk_covariance(x, r @ heads, sigma, kind, output=size)
        np.testing.assert_allclose(np.einsum("k,l,klij->ij", heads, heads, joint), one, rtol=1e-9, atol=1e-12)
        total = bulk_covariance(x, r, sigma, kind, output=given)
        np.testing.assert_allclose(summed_bulk(joint, 3), total, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("tau", [1e5, 1e8, 1e15, 1e30])
def test_the_strongest_steps_leave_waves_of_mean_square_one_half(tau):
    """The variance's last digits decide between 0 and infinity where it is computed in two ways."""
    rng = np.random.default_rng(0)
    x, root = rng.normal(size=(9, 6)), rng.normal(size=(6, 6))
    kernel = spiked_kernel(x, None, rng.normal(size=6), tau, "sin", root @ root.T)
    np.testing.assert_allclose(np.diag(kernel), 0.5, rtol=1e-12)
    assert np.abs(kernel).max() <= 0.5 + 1e-12


def test_residuals_and_covariances_of_the_losses():
    x = np.random.default_rng(5).normal(size=(6, 2))
    y = np.array([3, 8, 8, 3, 3, 8])
    sign = np.where(y == 8, 1.0, -1.0)
    np.testing.assert_allclose(label_covariance(x, y), x.T @ sign / 6, rtol=1e-14)
    np.testing.assert_allclose(label_covariance(x, y, "logistic"), x.T @ sign / 12, rtol=1e-14)
    np.testing.assert_allclose(label_covariance(x, residual=sign - 0.3), x.T @ (sign - 0.3) / 6, rtol=1e-14)
    three = initial_residual([0, 1, 2, 2])
    np.testing.assert_allclose(three.sum(axis=0), 0, atol=1e-15)
    np.testing.assert_allclose(initial_residual([0, 1, 2, 2], "softmax").sum(axis=1), 0, atol=1e-15)
    np.testing.assert_allclose(label_covariance(x, y, activation="relu"), x.T @ sign / 6, rtol=1e-12)


def test_multi_class_reduces_to_binary():
    rng = np.random.default_rng(6)
    x, y, u = rng.normal(size=(40, 5)), np.tile([0, 1], 20), rng.normal(size=(9, 5))
    beta, columns = label_covariance(x, y), label_covariance(x, y, "softmax")
    # for two classes B = (-β/2, β/2), so that BBᵀ = ββᵀ/2: a step √2 times as strong is the same
    one = spiked_kernel(u, None, beta, 0.7, "tanh", "full", train=x, residual=initial_residual(y))
    two = spiked_kernel(
        u, None, columns, 0.7 * np.sqrt(2), "tanh", "full", train=x, residual=initial_residual(y, "softmax")
    )
    np.testing.assert_allclose(one, two, rtol=1e-9)
    binary, several = (train_unseen_similarity(b, u, np.arange(9) % 3) for b in (beta, columns))
    np.testing.assert_allclose(np.abs(binary.similarity), np.sqrt(2) * several.similarity, rtol=1e-12)
    np.testing.assert_allclose(binary.spread, np.sqrt(2) * several.spread, rtol=1e-12)
    np.testing.assert_allclose(binary.snr, several.snr, rtol=1e-12)
    assert ((binary.side > 0) == (several.side == 1)).all()


def test_similarity_equals_direct_moments():
    rng = np.random.default_rng(7)
    x, y, beta, root = (
        rng.normal(size=(30, 4)),
        np.arange(30) % 3,
        rng.normal(size=4),
        rng.normal(size=(4, 4)),
    )
    bulk = root @ root.T
    moments = train_unseen_similarity(beta, x, y, bulk)
    for c in range(3):
        own = x[y == c]
        at = moments.sel({"class": c})
        assert float(at.similarity) == pytest.approx(beta @ own.mean(axis=0))
        assert float(at.spread) == pytest.approx(np.sqrt(beta @ np.cov(own.T, bias=True) @ beta))
        assert float(at.norm) == pytest.approx((own**2).sum() / 40)
        assert float(at.bulk) == pytest.approx(np.mean([v @ bulk @ v for v in own]))
        assert float(at.snr) == pytest.approx(abs(at.similarity) / np.sqrt(at.spread**2 + at.bulk))
        assert float(at.cosine) == pytest.approx(
            float(at.similarity) / np.linalg.norm(beta) / np.linalg.norm(own.mean(axis=0))
        )
        for d in range(3):
            other = x[y == d]
            different = [(i, j) for i in range(10) for j in range(10) if c != d or i != j]
            for name, value in (
                ("overlap", lambda a, b: a @ b / 4),
                ("bulk_overlap", lambda a, b: a @ bulk @ b),
                ("pair_similarity", lambda a, b: (a @ beta) * (b @ beta)),
            ):
                expected = np.mean([value(own[i], other[j]) for i, j in different])
                assert float(moments[name].sel({"class": c, "other": d})) == pytest.approx(expected)


def test_strength_and_step_size():
    rng = np.random.default_rng(8)
    x, beta = rng.normal(size=(50, 6)), rng.normal(size=6)
    tau = tau_from_strength(2.5, beta, x)
    assert tau**2 * ((x @ beta) ** 2).mean() / ((x**2).sum(axis=1).mean() / 6) == pytest.approx(2.5)
    assert tau == pytest.approx(tau_from_strength(2.5) * tau_from_strength(1.0, beta, x))
    assert step_size_from_tau(tau, "erf", 64, 0.125) == pytest.approx(
        tau * 8 / 0.125 / mean_slope(activation("erf"))
    )


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: label_covariance(np.ones((3, 2)), [1, 1, 1]), "1 class; at least 2"),
        (lambda: label_covariance(np.ones((3, 2))), "y: needed"),
        (lambda: label_covariance(np.ones((3, 2)), [0, 1, 2], "logistic"), "for two classes, but y has 3"),
        (lambda: label_covariance(np.ones((3, 2)), [0, 1, 1], "hinge"), "loss = 'hinge'"),
        (lambda: label_covariance(np.ones((3, 2)), residual=[1.0, 2.0]), "residual: shape"),
        (lambda: label_covariance(np.ones((3, 2)), [0, 1]), r"y: shape \(2,\), but 3 samples"),
        (lambda: label_covariance([[np.nan]], residual=[1.0]), "X: 1 values are NaN"),
        (lambda: label_covariance(np.ones((2, 2)), [0, 1], activation="cos"), "c_1 = E σ'"),
        (lambda: spiked_kernel(np.ones((2, 3)), None, [1.0, 2.0], 0.5, "relu"), r"covariance: shape \(2,\)"),
        (lambda: spiked_kernel(np.ones((2, 3)), None, np.ones(3), -1, "relu"), "tau = -1"),
        (lambda: spiked_kernel(np.ones((2, 3)), np.ones((2, 2)), np.ones(3), 1, "relu"), "Xb: 2 features"),
        (
            lambda: spiked_kernel(np.ones((2, 3)), None, np.ones(3), 1, "relu", "full"),
            "needed for bulk = 'full'",
        ),
        (lambda: spiked_kernel(np.ones((2, 3)), None, np.ones(3), 1, "relu", np.eye(2)), "bulk: shape"),
        *[
            (
                partial(call, *samples, np.ones(3), 1, "relu", bulk, **{name: np.ones((2, 3))}),
                f"^{name}: counts",
            )
            for call, samples in (
                (spiked_kernel, (np.ones((2, 3)), None)),
                (predicted_movement, (np.eye(3),)),
            )
            for bulk in (None, np.eye(3))
            for name in ("train", "residual")
        ],
        (lambda: bulk_covariance(np.ones((2, 3)), np.ones(2), "relu", "half"), "kind = 'half'"),
        (lambda: spiked_kernel(np.ones((2, 3)), None, np.ones(3), 1, "relu", "half"), "bulk = 'half'"),
        (lambda: tau_from_strength(1, np.ones(2)), "covariance, X_train: give both"),
        (lambda: tau_from_strength(-1, np.ones(2), np.ones((2, 2))), "strength = -1"),
        (lambda: tau_from_strength(1, [1.0, -1.0], np.ones((2, 2))), "no training sample"),
        (lambda: train_unseen_similarity(np.ones(2), np.ones((2, 2)), [0]), "labels: shape"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(ValueError, match=message):
        call()
