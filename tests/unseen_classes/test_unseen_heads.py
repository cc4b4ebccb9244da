"""Heads that are not Gaussian, and outputs that are not negligible, against sampled neurons and networks."""

import warnings

import numpy as np
import pytest

from firstlight import unseen_classes as uc
from firstlight.maths.activations import activation
from firstlight.unseen_classes.experiment.step import draw_network
from firstlight.unseen_classes.theory.bulk import bulk_covariance, joint_bulk, output_covariance, step_bulk
from firstlight.unseen_classes.theory.heads import head_nodes, head_rule
from firstlight.unseen_classes.theory.kernel import predicted_movement
from firstlight.unseen_classes.theory.mixture import gaussian_bulk_gap

D, TAU, COUNT = 5, 0.8, 200_000
GIVEN = np.random.default_rng(9).standard_t(6, size=(100, 3)) / np.sqrt(100)


@pytest.mark.parametrize("name", ["relu", "tanh"])
@pytest.mark.parametrize("outputs", [1, 3])
@pytest.mark.parametrize("given", [False, True], ids=["rademacher", "given"])
def test_kernels_equal_sampled_neurons(name, outputs, given):
    rng, sigma = np.random.default_rng(1), activation(name)
    x, beta, root = rng.normal(size=(5, D)), rng.normal(size=(D, outputs)), 0.3 * rng.normal(size=(D, D))
    x[4] = x[3]  # equal samples: the series alone would be too short
    head = GIVEN[:, :outputs] if given else "rademacher"
    alpha = np.sqrt(len(GIVEN)) * GIVEN[rng.integers(len(GIVEN), size=COUNT), :outputs]
    alpha = alpha if given else rng.choice([-1.0, 1.0], (COUNT, outputs))
    before = rng.normal(size=(COUNT, D)) @ x.T / np.sqrt(D)
    shift = TAU * alpha @ (x @ beta).T
    bulk = root @ root.T
    noise = rng.normal(size=(COUNT, outputs, D)) @ root.T / np.sqrt(outputs)
    shift = shift + TAU * np.einsum("nc,ncd->nd", alpha, noise) @ x.T
    after = sigma(before + shift)
    slopes = alpha[:, :1] * sigma.derivative(before + shift)
    law = {"covariance": beta, "tau": TAU, "activation": sigma, "bulk": bulk, "head": head}
    result = [(uc.spiked_kernel(x, None, **law), after[:, :, None] * after[:, None, :])]
    result.append((predicted_movement(x, **law), (after - sigma(before)) ** 2))
    if outputs == 1:
        tangent = uc.tangent_kernel(x, None, **law, width=7, head_scale=1.0, layer="first")
        result.append((tangent, slopes[:, :, None] * slopes[:, None, :] * (x @ x.T)))
    for expected, sample in result:
        error = sample.std(axis=0) / np.sqrt(COUNT)
        assert (np.abs(expected - sample.mean(axis=0)) < 5 * error + 1e-9).all()  # five standard errors
    square = uc.spiked_kernel(x, None, **law)
    # 1e-5: the rule of the heads is chosen by the samples of the first side
    np.testing.assert_allclose(uc.spiked_kernel(x[:2], x[2:], **law), square[:2, 2:], atol=1e-5)


@pytest.mark.parametrize("given", [False, True], ids=["rademacher", "given"])
def test_the_bulk_is_that_of_a_neurons_own_heads(given):
    # three outputs whose bulks are correlated: of a neuron whose heads agree it is another than of others
    rng, sigma = np.random.default_rng(4), activation("sin")
    x, train, r = rng.normal(size=(3, D)), 2 * rng.normal(size=(4, D)), np.eye(3)[[0, 1, 2, 2]] - 1 / 3
    beta, blocks = uc.label_covariance(train, residual=r, activation=sigma), joint_bulk(train, r, sigma)
    np.testing.assert_allclose(np.einsum("kkij->ij", blocks), bulk_covariance(train, r, sigma), rtol=1e-9)
    heads = GIVEN[:40] * np.sqrt(len(GIVEN) / 40)
    alpha = (
        np.sqrt(40) * heads[rng.integers(40, size=COUNT)] if given else rng.choice([-1.0, 1.0], (COUNT, 3))
    )
    root = np.linalg.cholesky(blocks.transpose(0, 2, 1, 3).reshape(3 * D, 3 * D) + 1e-12 * np.eye(3 * D))
    noise = (rng.normal(size=(COUNT, 3 * D)) @ root.T).reshape(COUNT, 3, D)
    before = rng.normal(size=(COUNT, D)) @ x.T / np.sqrt(D)
    after = sigma(before + TAU * np.einsum("nc,ncd->nd", alpha, beta.T + noise) @ x.T)
    law = {"covariance": beta, "tau": TAU, "activation": sigma, "head": heads if given else "rademacher"}
    law |= {"bulk": "full", "train": train, "residual": r}
    for expected, sample in (
        (uc.spiked_kernel(x, None, **law), after[:, :, None] * after[:, None, :]),
        (predicted_movement(x, **law), (after - sigma(before)) ** 2),
    ):
        error = sample.std(axis=0) / np.sqrt(COUNT)
        assert (np.abs(expected - sample.mean(axis=0)) < 5 * error + 1e-9).all()  # five standard errors


@pytest.mark.parametrize(("name", "strength"), [("erf", 1.0), ("tanh", 4.0), ("sin", 16.0), ("relu", 16.0)])
@pytest.mark.parametrize("bulk", ["full", "diagonal"])
def test_two_outputs_with_signs_are_one_output_for_half_of_the_neurons(name, strength, bulk):
    # softmax of two outputs: equal signs pull a neuron nowhere; of the others each moves like one of the
    # logistic loss with 2τ, whose output before the step is √2 times as large
    rng = np.random.default_rng(int(strength))
    x, u = rng.normal(size=(14, 6)), rng.normal(size=(9, 6))
    x[:7] += rng.normal(size=6)
    data = uc.standardised(uc.UnseenData(x, np.arange(14) // 7, u, 5 + np.arange(9) // 3))
    law = {"activation": name, "head": "rademacher", "bulk": bulk}
    two = uc.Step(**law, loss="softmax", strength=strength, head_scale=0.3)
    one = uc.Step(**law, loss="logistic", tau=2 * two.tau_of(data), head_scale=0.3 * np.sqrt(2))
    two, one = uc.predict_classes(data, two), uc.predict_classes(data, one)
    np.testing.assert_allclose(two.elasticity, one.elasticity / 2, rtol=1e-4)
    half = (one.cohesion + one.cohesion_before) / 2
    np.testing.assert_allclose(two.cohesion, half, atol=1e-4 * float(abs(one.cohesion).max()))  # series: 1e-5


def test_gaussian_heads_given_one_by_one_are_the_gaussian_law():
    rng = np.random.default_rng(2)
    x, beta = rng.normal(size=(6, D)), rng.normal(size=D)
    heads = rng.normal(size=40_000) / 200
    for name in ("shifted_relu", "erf"):
        law, given = (uc.spiked_kernel(x, None, beta, TAU, name, head=h) for h in ("gaussian", heads))
        assert np.abs(law - given).max() < 0.03 * np.abs(law).max()  # √(2/40000) = 0.7 %, four of them


@pytest.mark.parametrize(
    ("sigma", "strength", "loss", "holds"),
    [("sin", 16.0, "square", False), ("sin", 16.0, "softmax", False), ("sin", 0.5, "square", True),
     ("sin", 400.0, "square", False),
     ("erf", 16.0, "square", True)],
)  # fmt: skip
@pytest.mark.filterwarnings("ignore:activation. the moments of sin")  # over deviations of 42
def test_told_where_the_bulk_is_not_normal_over_neurons(sigma, strength, loss, holds):
    # a sine turns back and forth within a strong step: neurons with small or large α are not the average one
    law = {"activation": sigma, "strength": strength, "loss": loss}
    problem = uc.Problem(dimension=24, samples=24, unseen_samples=6, cosines=(0.0, 1.0), **law)
    [said] = [one for one in problem.assumptions() if "normal over neurons" in one.name]
    assert (said.verdict == "holds") == holds, said
    data, rng = problem.sample(np.random.default_rng(0)), np.random.default_rng(1)
    for change in ({"bulk": "none"}, {"head": "rademacher"}):
        assert gaussian_bulk_gap(data, uc.Step(**law, **change)) == 0
    if loss == "square":  # the same by drawn neurons
        x, step, count = data.unseen[6:], uc.Step(**law), 50_000
        root = np.linalg.cholesky(step_bulk(step, data))
        pull = rng.normal(size=(count, 1)) * (step.covariance(data) + rng.normal(size=(count, 24)) @ root.T)
        start = rng.normal(size=(count, 24)) / np.sqrt(24)
        features = step.sigma((start + step.tau_of(data) * pull) @ x.T)
        drawn = (features.T @ features / count)[~np.eye(6, dtype=bool)].mean()
        law_itself = float(uc.predict_classes(data, step).cohesion[1])
        assert (abs(drawn / law_itself - 1) < 0.05) == holds


@pytest.mark.parametrize("tau", [10.0, 100.0, 1000.0])
def test_heads_of_many_neurons_are_summed_after_strong_steps(tau):
    """One by one; 128 nodes for a thousand heads were off by up to 1.5 %, kernels by .003."""
    rng = np.random.default_rng(1)
    head, x, beta = rng.normal(size=1000) / 1000**0.5, rng.normal(size=(2, 6)), rng.normal(size=6) / 6**0.5
    z, w = np.polynomial.hermite_e.hermegauss(60)
    q, (b, b2) = (x**2).mean(axis=1), tau * x @ beta
    rho, shift = x[0] @ x[1] / 6 / np.sqrt(q.prod()), np.sqrt(1000) * head[:, None, None]
    first = np.sqrt(q[0]) * z[:, None] + 0 * z
    second = np.sqrt(q[1]) * (rho * z[:, None] + np.sqrt(1 - rho**2) * z)
    product = (np.tanh(first + b * shift) * np.tanh(second + b2 * shift)).mean(axis=0)
    moved = ((np.tanh(first + b * shift) - np.tanh(first)) ** 2).mean(axis=0)
    kernel = uc.spiked_kernel(x, None, beta, tau, "tanh", head=head)
    # 1e-5: the series' own, and the spline of movements
    assert kernel[0, 1] == pytest.approx(w @ product @ w / w.sum() ** 2, abs=1e-5)
    found = predicted_movement(x, beta, tau, "tanh", head=head)[0]
    assert found == pytest.approx(w @ moved @ w / w.sum() ** 2, rel=1e-5)


def test_rules_keep_the_moments_of_what_was_given():
    heads = GIVEN[:, 0]
    alpha, weights = head_rule(heads)
    for power in (1, 2, 4, 8):
        expected = np.mean((heads * np.sqrt(len(heads))) ** power)
        assert weights @ alpha**power == pytest.approx(expected, rel=1e-9, abs=1e-12)
    two, weights = head_rule(np.array([-0.5, 0.5, 0.5, -0.5]))
    assert two == pytest.approx([-1, 1])
    assert weights == pytest.approx([0.5, 0.5])
    alpha, weights = head_rule("gaussian", 7.0)
    assert weights @ np.abs(alpha) == pytest.approx(np.sqrt(2 / np.pi), rel=1e-9)
    assert weights @ alpha**6 == pytest.approx(15, rel=1e-8)


def test_the_output_before_the_step_in_the_bulk():
    # small enough to sample: g0 of networks, and one more neuron's pull given the residual y - g0
    rng, sigma, count, scale = np.random.default_rng(3), activation("relu"), 40_000, 0.8
    x, y = rng.normal(size=(8, 3)), np.tile([1.0, -1.0], 4)
    output = output_covariance(x, sigma, scale)
    g0 = rng.multivariate_normal(np.zeros(8), output, count)
    w = rng.normal(size=(count, 3)) / np.sqrt(3)
    pull = (sigma.derivative(w @ x.T) * (y - g0)) @ x / (8 * 0.5)
    off = pull - uc.label_covariance(x, residual=y)
    products = off[:, :, None] * off[:, None, :]
    error = 5 * products.std(axis=0) / np.sqrt(count)
    assert (np.abs(bulk_covariance(x, y, sigma, output=output) - products.mean(axis=0)) < error).all()
    wide = draw_network(3, 20_000, sigma, rng, head_scale=scale)
    assert wide(x).shape == (8,)
    several = [draw_network(3, 400, sigma, rng, head_scale=scale)(x) for _ in range(2000)]
    spread = np.cov(np.transpose(several))
    assert np.abs(spread - output).max() < 5 * np.sqrt(2 / 2000) * output.max()
    for loss, outputs, factor in (("logistic", 1, 1 / 16), ("softmax", 4, 3 / 16), ("square", 3, 3.0)):
        np.testing.assert_allclose(output_covariance(x, sigma, scale, loss, outputs), factor * output)


@pytest.mark.parametrize(
    "change",
    [
        {"head": "rademacher"}, {"head_scale": 1.0},
        {"head": "rademacher", "head_scale": 1.0, "loss": "logistic"},
    ],
    ids=str,
)  # fmt: skip
def test_networks_with_other_heads_and_scales(change):
    problem = uc.Problem(
        dimension=128, samples=128, width=2048, unseen_samples=60, cosines=(0.0, 0.5, 1.0), **change
    )
    names = ("cohesion", "alignment", "elasticity")
    pairs = [(problem.predict(seed), problem.simulate(seed)) for seed in range(5)]
    theory, network = (np.array([[one[name].values for name in names] for one in side])
                       for side in zip(*pairs, strict=True))  # fmt: skip
    gap = (theory - network).mean(axis=0)
    error = (theory - network).std(axis=0, ddof=1) / np.sqrt(len(pairs))
    # three standard errors over five networks (Student's t: 4.6), and 5 % of theory: the bulk is taken as
    # independent of a neuron's own pre-activation
    assert (np.abs(gap) < 4.6 * error + 0.05 * np.abs(network.mean(axis=0))).all()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: head_nodes("rademacher", 9), "for 9 outputs"),
        (lambda: head_nodes(np.ones((4, 2)), 3), r"shape \(N, 3\)"),
        (lambda: uc.Problem(head=[1.0, 2.0]), "one for each of 1024 neurons"),
        (lambda: uc.Problem(head=np.full(1024, np.nan)), "must be finite"),
        (lambda: bulk_covariance(np.eye(2), [1, -1], "relu", output=np.eye(3)), "output: shape"),
        (
            lambda: uc.spiked_kernel(np.eye(2), None, np.eye(2), 1.0, "relu", np.ones((3, 3, 2, 2))),
            "bulk: of 3 outputs, but the covariance has 2",
        ),
        (
            lambda: joint_bulk(np.eye(2), np.eye(2), "relu", output=np.eye(2), shares=np.eye(3)),
            "shares: shape",
        ),
        (lambda: output_covariance(np.eye(2), "relu", -1.0), "head_scale = -1.0"),
        (lambda: output_covariance(np.eye(2), "relu", 1.0, "hinge"), "loss = 'hinge'"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def movement(x, _, *rest, **given):
    return predicted_movement(x, *rest, **given)


@pytest.mark.parametrize("function", [uc.spiked_kernel, movement])
def test_jumps_need_gaussian_heads(function):
    """The series of other heads misses them: movements were off by 5 % to a factor of 1000, in silence."""
    x = np.random.default_rng(0).normal(size=(3, 4))
    threshold = activation(lambda z: np.where(z > 0.3, 1.0, 0.1 * z), kinks=[0.3])
    for sigma in ("step", threshold):
        function(x, None, np.ones(4), 0.1, sigma)
        for head in ("rademacher", np.ones(6) / np.sqrt(6)):
            with pytest.raises(ValueError, match="jumps, which only Gaussian heads follow"):
                function(x, None, np.ones(4), 0.1, sigma, head=head)
    function(x, None, np.ones(4), 0.1, "relu", head="rademacher")  # a kink is none


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("head", ["gaussian", "rademacher"])
def test_waves_that_no_rule_resolves_are_told(seed, head):
    """Against the closed form of E sin(wu) sin(wv): off by .01 to .2 of .5 where it is told, by 1e-5 else."""
    rng = np.random.default_rng(seed)
    x, beta, tau = rng.normal(size=(4, 6)), rng.normal(size=6) / np.sqrt(6), 0.5
    told = set()
    for w in (1.0, 2.0, 15.0, 30.0):
        wave = activation(lambda z, w=w: np.sin(w * z), derivative=lambda z, w=w: w * np.cos(w * z))
        exact = np.zeros((4, 4))
        flat, along = x @ x.T / 6, x @ beta
        for sign in (1, -1):
            both = flat if head == "rademacher" else flat + tau**2 * np.outer(along, along)
            shift = sign * tau * along * (head == "rademacher")
            q = np.diag(both)[:, None] + np.diag(both)
            exact += np.exp(-(w**2) * (q / 2 - both)) * np.cos(w * (shift[:, None] - shift)) / 4
            exact -= np.exp(-(w**2) * (q / 2 + both)) * np.cos(w * (shift[:, None] + shift)) / 4
        with warnings.catch_warnings(record=True) as heard:
            warnings.simplefilter("always")
            gap = np.abs(uc.spiked_kernel(x, None, beta, tau, wave, head=head) - exact).max()
        assert gap < 2e-5 or any("not resolved" in str(one.message) for one in heard)
        told |= {w} if heard else set()
    assert told == {15.0, 30.0}


def test_rules_of_many_heads_after_strong_steps_are_the_heads():
    """A Gauss rule of a thousand nodes takes longer than it saves: at ten thousand heads, minutes."""
    heads = np.random.default_rng(0).normal(size=3000)
    nodes, weights = head_rule(heads, 100.0)
    np.testing.assert_allclose(nodes, np.sort(heads) * np.sqrt(heads.size), rtol=1e-15)
    np.testing.assert_allclose(weights, 1 / heads.size, rtol=1e-15)
