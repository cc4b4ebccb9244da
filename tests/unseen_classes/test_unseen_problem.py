"""Predict and simulate: same observables, same samples, refusals, assumptions, and the comparison."""

import pickle

import numpy as np
import pytest
from scipy.stats import norm, spearmanr, truncnorm

import firstlight
from firstlight import unseen_classes as uc
from firstlight.data.unseen import (
    around,
    image_classes,
    paper_training,
    rotation,
    split_classes,
    standardised,
)
from firstlight.maths.activations import activation
from firstlight.maths.intervals import mean_bounds, pair_bounds
from firstlight.references import cite
from firstlight.study.problem import cost_of
from firstlight.study.record import address
from firstlight.study.registry import studies
from firstlight.unseen_classes.definitions.covariance import mean_slope
from firstlight.unseen_classes.definitions.observables import RELATIONS
from firstlight.unseen_classes.images import ImageProblem
from firstlight.unseen_classes.problem import ClassProblem, RotationProblem, SideProblem

SMALL = {"dimension": 48, "samples": 48, "unseen_samples": 15, "width": 128}
PROBLEMS = {
    "classes": uc.Problem(**SMALL),
    "one class": ClassProblem(cosine=0.5, **SMALL),
    "sides": SideProblem(along=1.0, side="same", **SMALL),
    "rotations": RotationProblem(tau=0.02, **SMALL),
    "digits": ImageProblem(classes="1,4", per_class=10, width=128),
    "digits, several": ImageProblem(classes="1,4,7", per_class=10, width=128, loss="softmax"),
    "digits, given heads": ImageProblem(classes="1,4", per_class=5, width=8, head=np.linspace(-1, 1, 8)),
    "sets": uc.SetsProblem(sets="1,4;2,3,7", per_class=8, width=64),
    "gradient": uc.GradientProblem(dimension=48),
    "norm": uc.NormProblem(dimension=48, law="truncated"),
}


@pytest.mark.parametrize("name", PROBLEMS)
def test_theory_and_experiment(name):
    problem = PROBLEMS[name]
    predicted, measured = problem.predict(3), problem.simulate(3)
    assert set(predicted.data_vars) == set(measured.data_vars)
    for observable in predicted.data_vars:
        assert predicted[observable].dims == measured[observable].dims
    if "similarity" in predicted:  # of the same samples: what is left is the bulk's mean over the neurons
        bulk = abs(predicted.similarity / predicted.snr) * np.sqrt(3 / problem.width)
        gap = abs(predicted.similarity - measured.similarity)
        assert not (gap > 5 * bulk).any()
        assert (gap > 0).any()
    again = problem.simulate(3)
    for observable in measured.data_vars:
        np.testing.assert_array_equal(measured[observable], again[observable])
    assert pickle.loads(pickle.dumps(problem)) == problem
    assert len(address(problem)) == 32
    assert all(str(one) for one in problem.assumptions())
    assert "Emergence of Alignment" in cite(problem)


def test_sizes_are_those_of_the_samples():
    for problem in PROBLEMS.values():
        if hasattr(problem, "sizes"):
            data = problem.sample(np.random.default_rng(0))
            assert problem.sizes == (*data.train.shape, len(data.unseen))


def test_sets_are_single_problems_side_by_side():
    several = uc.SetsProblem(sets="1,4;2,3", per_class=30, width=64)
    predicted = several.predict(3)
    assert predicted.train.values.tolist() == ["1,4", "2,3"]
    assert np.isnan(predicted.alignment.sel({"train": "1,4", "class": 4}))
    streams = np.random.default_rng(3).spawn(2)
    singles = [ImageProblem(classes=t, per_class=30, width=64).predict(stream)
               for t, stream in zip(("1,4", "2,3"), streams, strict=True)]  # fmt: skip
    for place, one in enumerate(singles):
        np.testing.assert_allclose(predicted.elasticity[place], one.elasticity)
    for relation in RELATIONS:
        each = [float(one[relation]) for one in singles]
        np.testing.assert_allclose(predicted.spearman_by_set.sel(relation=relation), each)
        assert float(predicted.spearman.sel(relation=relation)) == pytest.approx(np.mean(each))
    data = several._draw(np.random.default_rng(3).spawn(1)[0], ["1", "4"])
    near = data.unseen / np.linalg.norm(data.unseen, axis=1, keepdims=True)
    cosines = near @ near.T - 2 * np.eye(len(near))
    hit = data.unseen_labels[cosines.argmax(axis=1)] == data.unseen_labels
    raw = [hit[data.unseen_labels == label].mean() for label in np.unique(data.unseen_labels)]
    for name, score in (("similarity", abs(singles[0].similarity)), ("alignment", singles[0].alignment)):
        found = predicted.spearman_by_set.sel(train="1,4", relation=f"{name}_raw_recall")
        assert float(found) == pytest.approx(spearmanr(score.dropna("class"), raw).statistic)
    assert (predicted.spearman_low <= predicted.spearman).all()
    assert (predicted.spearman <= predicted.spearman_high).all()
    assert len(uc.SetsProblem()._sets) == 45


def test_compare_and_several_steps():
    problem = uc.Problem(**SMALL)
    comparison = firstlight.compare(problem, trials=2, rng=0, paired=True)
    assert "alignment_gap" in comparison
    one, many = problem.simulate(0), problem.simulate(0, steps=5)
    assert not np.allclose(one.alignment, many.alignment)
    np.testing.assert_array_equal(one.alignment_before, many.alignment_before)
    with pytest.raises(ValueError, match="steps = 0"):
        problem.simulate(0, steps=0)
    assert cost_of(problem, "simulate", {}).flops > 0
    assert cost_of(problem, "predict", {}).bytes > 0


def test_a_step_of_no_strength_changes_nothing():
    for each in (uc.Problem(strength=0.0, **SMALL).predict(0), uc.Problem(tau=0.0, **SMALL).simulate(0)):
        np.testing.assert_allclose(each.alignment, each.alignment_before, atol=1e-12)
        np.testing.assert_allclose(each.elasticity, 0, atol=1e-12)
        assert float(each.mean_recall) == float(each.mean_recall_before)


def test_assumptions_notice_what_fails():
    fails = {
        one.name for one in uc.Problem(train_norm=0.0, head_scale=4.0, **SMALL).assumptions()
        if one.verdict == "fails"
    }  # fmt: skip
    assert {"class means differ", "output before the step at most of order one", "wide network"} <= fails
    assert uc.NormProblem(law="truncated").assumptions()[0].verdict == "fails"
    for mean in (0.5, 1.0, 4.0):  # fixed, so that the order holds; the factor is said
        [said] = uc.NormProblem(mean=mean).assumptions()
        assert said.verdict == "holds"
        assert f"{max(mean + 1 / mean, 2) / 2 if mean > 1 else 1:.3g} (√n + √d)" in said.detail


def test_sample_geometry():
    rng = np.random.default_rng(0)
    for side, sign in (("opposite", -1), ("same", 1)):
        problem = SideProblem(along=1.2, side=side, dimension=30, samples=20, unseen_samples=4000)
        data = problem.sample(rng)
        first, second = (data.unseen[data.unseen_labels == c].mean(axis=0) for c in (10, 11))
        # means of 4000 samples in 30 dimensions: errors of sqrt(30/4000) = 0.09
        assert np.linalg.norm(first) == pytest.approx(4, abs=0.2)
        assert np.linalg.norm(first - second) == pytest.approx(4, abs=0.2)
        axis = data.train[data.train_labels == 1].mean(axis=0) - data.train[data.train_labels == -1].mean(
            axis=0
        )
        assert np.sign(axis @ first) * np.sign(axis @ second) == sign
    x, y, v = paper_training(rng, 50, 400, "balls")
    assert np.linalg.norm(v) == pytest.approx(2 * np.sqrt(50))
    assert (np.linalg.norm(x - y[:, None] * v, axis=1) <= np.sqrt(50) + 1e-9).all()
    x, y, v = paper_training(rng, 50, 400, "spheres")
    np.testing.assert_allclose(np.linalg.norm(x - y[:, None] * v, axis=1), np.sqrt(50))
    x, y, v = paper_training(rng, 500, 400, "truncated")
    moments = truncnorm.stats(1, np.inf, moments="mv")
    assert (x * y[:, None] >= 1).all()
    # 200 000 numbers: their mean is known to 0.001, their variance to 0.0015
    np.testing.assert_allclose([v[0], (x * y[:, None]).mean()], moments[0], atol=0.004)
    assert (x * y[:, None]).var() == pytest.approx(moments[1], abs=0.006)
    turned = [abs((rotation(rng, 60, spread) @ np.eye(60)[0])[0]) for spread in (0.01, 100.0)]
    assert turned[0] > 0.99
    assert turned[1] < 0.6
    assert around(rng, np.array([0.0, 3.0]), 4.0, 5000)[:, 0].std() == pytest.approx(2, rel=0.05)


def test_user_data():
    data = uc.standardised(image_classes(np.random.default_rng(0), "digits", [3, 8], 40))
    assert (data.train**2).sum(axis=1).mean() == pytest.approx(64)
    np.testing.assert_allclose(data.train.mean(axis=0), 0, atol=1e-12)
    analysis = uc.analyse(data, uc.Step(width=512))
    direct = uc.predict_classes(data, uc.Step(width=512))
    for name in ("similarity", "alignment", "alignment_before", "elasticity", "recall", "recall_before"):
        np.testing.assert_allclose(analysis[name], direct[name], rtol=1e-9)
        if name in ("alignment", "elasticity", "recall"):
            low, high = analysis[f"{name}_interval"].values.T
            assert ((low <= analysis[name]) & (analysis[name] <= high)).all()
    assert ((analysis.recall_interval >= 0) & (analysis.recall_interval <= 1)).all()
    assert int(analysis.elasticity_rank[int(np.argmax(analysis.elasticity.values))]) == 1
    pairs = analysis.pair_recall.values
    assert ((pairs >= 0) & (pairs <= 1)).all()
    # two classes alone are easier to tell apart than all eight together
    assert pairs.mean() >= float(analysis.mean_recall) - 1e-12


def test_intervals_cover_what_other_samples_give():
    rng, trials = np.random.default_rng(5), 12
    many = uc.Problem(dimension=40, samples=60, unseen_samples=400, width=64, cosines=(0.0, 0.9)).sample(rng)
    step = uc.Step(tau=0.6, bulk="none")
    truth = uc.analyse(many, step)
    names, inside = ("alignment", "elasticity", "similarity"), np.zeros(3)
    for _ in range(trials):
        pick = np.concatenate([rng.choice(np.flatnonzero(many.unseen_labels == c), 40, replace=False)
                               for c in (10, 11)])  # fmt: skip
        few = uc.UnseenData(many.train, many.train_labels, many.unseen[pick], many.unseen_labels[pick])
        analysis = uc.analyse(few, step)
        for place, name in enumerate(names):
            low, high = analysis[f"{name}_interval"].values.T
            inside[place] += ((low <= truth[name]) & (truth[name] <= high)).sum()
    # nominally 95 %; from 40 samples 90 to 96 % were measured: 90 % less three standard errors
    assert (inside / (2 * trials) > 0.90 - 3 * np.sqrt(0.9 * 0.1 / (2 * trials))).all()


def test_intervals_of_skewed_values():
    rng, trials, count = np.random.default_rng(0), 300, 20
    hits, normal, pairs = 0, 0, 0
    for _ in range(trials):
        x = rng.lognormal(sigma=1.0, size=count)
        low, high = mean_bounds(x, 0.95)
        half = 1.96 * x.std(ddof=1) / np.sqrt(count)
        hits += low <= np.exp(0.5) <= high
        normal += abs(x.mean() - np.exp(0.5)) <= half
        low, high = pair_bounds(np.outer(x, x), 0.95)
        pairs += low <= np.exp(1.0) <= high
    assert hits / trials > 0.88  # ± 1.6 %: what a studentised bootstrap reaches at this skewness
    assert pairs / trials > 0.88
    assert normal < hits
    constant = mean_bounds(np.ones(9), 0.95), pair_bounds(np.ones((9, 9)), 0.95)
    np.testing.assert_allclose(constant, 1.0)
    assert np.isnan(mean_bounds(np.ones(1), 0.95)).all()
    few = mean_bounds(np.array([0.0, 2.0]), 0.95)  # Student's t with one degree of freedom
    assert few == pytest.approx([1 - 12.706, 1 + 12.706], abs=1e-3)
    wide, narrow = (np.ptp(mean_bounds(np.arange(30.0), level)) for level in (0.99, 0.8))
    assert wide > 1.5 * narrow


@pytest.mark.parametrize("count", [3, 4, 5, 7, 8, 12, 20])
def test_mean_cosines_of_small_classes_are_covered(count):
    rng, trials, d = np.random.default_rng(count), 300, 6
    for along in 0.0, 1.0, 3.0:
        mean = np.eye(d)[0] * along

        def rows(number, mean=mean):
            x = rng.normal(size=(number, d)) + mean
            return x / np.linalg.norm(x, axis=1, keepdims=True)

        truth = (rows(100_000).mean(axis=0) ** 2).sum()
        values = [pair_bounds(x @ x.T, 0.95) for x in (rows(count) for _ in range(trials))]
        share = np.mean([low <= truth <= high for low, high in values])
        # 94 to 99 % were measured over 600 trials: 93 % less three standard errors
        assert share > 0.93 - 3 * np.sqrt(0.93 * 0.07 / trials)


def test_one_pair_has_no_interval():
    assert np.isnan(pair_bounds(np.array([[1.0, 0.3], [0.3, 1.0]]), 0.95)).all()
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(46, 6)), np.repeat([0, 1, 2, 3], [20, 20, 2, 4])
    data = uc.UnseenData(x[:40], y[:40], x[40:], y[40:])
    analysis = uc.analyse(data, uc.Step())
    known = analysis.alignment_interval.notnull().all("bound").values.tolist()
    assert known == [False, True]
    assert bool(analysis.alignment.notnull().all())


def test_classes_of_one_member_are_left_out_and_said():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(60, 6)), np.repeat([0, 1, 2, 3, 4, 5], 10)
    y[-1] = 99
    data = uc.standardised(uc.split_classes(x, y, [0, 1]))
    analysis = uc.analyse(data, uc.Step(width=64))
    lone = analysis.sel({"class": 99})
    assert int(analysis.excluded) == 1
    assert np.isnan(lone.recall)
    assert np.isnan(lone.alignment)
    assert np.isnan(lone.recall_rank)
    assert np.isfinite(lone.elasticity)
    y[-2] = 98
    two = uc.analyse(uc.standardised(uc.split_classes(x, y, [0, 1])), uc.Step(width=64))
    assert np.isnan(two.pair_recall.sel(pair="98 - 99"))
    assert np.isfinite(two.pair_recall.sel(pair="2 - 99"))
    simulated = uc.simulate_classes(data, uc.Step(width=64), rng)
    assert np.isnan(simulated.recall.sel({"class": 99}))
    assert np.isfinite(simulated.similarity_alignment)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: uc.Problem(width=0), "width = 0"),
        (lambda: uc.Problem(neighbours=0), "neighbours = 0"),
        (lambda: uc.Problem(strength=-1.0), "strength = -1.0"),
        (lambda: uc.Problem(strength=1e300), r"strength = 1e\+300: must be a number in \[0, 1e\+60\]"),
        (lambda: uc.Step(tau=1e200), r"tau = 1e\+200: must be a number in \[0, 1e\+30\]"),
        (lambda: uc.Problem(head_scale=0.0), "scale = 0.0"),
        (lambda: uc.Problem(loss="hinge"), "loss = 'hinge'"),
        (lambda: uc.Problem(head="cauchy"), "head = 'cauchy'"),
        (lambda: uc.Problem(bulk="half"), "bulk = 'half'"),
        (lambda: uc.Problem(metric="l1"), "metric = 'l1'"),
        (lambda: uc.Problem(start="zeros"), "start = 'zeros'"),
        (lambda: uc.Problem(activation="quadratic"), "c_1 = E σ'"),
        (lambda: uc.Problem(cosines=(2.0, 0.0)), "cosines"),
        (lambda: uc.Problem(cosines=(0.5,)), "cosines"),
        (lambda: uc.Problem(dimension=4), "dimension = 4"),
        (lambda: uc.Problem(train_norm=np.nan), "train_norm = nan"),
        (lambda: ClassProblem(cosine=1.5), "cosine = 1.5"),
        (lambda: SideProblem(along=5.0, side="same"), "along = 5.0"),
        (lambda: SideProblem(along=1.0, side="left"), "side = 'left'"),
        (lambda: RotationProblem(length=0.0), "length = 0.0"),
        (lambda: RotationProblem(spread=-1.0), "spread = -1.0"),
        (lambda: RotationProblem(family="cubes"), "family = 'cubes'"),
        (lambda: ImageProblem(classes="1"), "classes = '1'"),
        (lambda: ImageProblem(classes="1,x"), "classes = '1,x'"),
        (lambda: uc.SetsProblem(sets="1;2,3"), "sets = '1;2,3'"),
        (lambda: uc.GradientProblem(dimension=2), "dimension = 2"),
        (lambda: uc.GradientProblem(inputs="cauchy"), "inputs"),
        (lambda: uc.NormProblem(law="cauchy"), "law"),
        (lambda: uc.split_classes(np.eye(4), [0, 1, 2, 3], [0]), "at least two different"),
        (lambda: uc.split_classes(np.eye(4), [0, 1, 2, 3], [0, 1, 2]), "at least two classes must stay"),
        (lambda: uc.split_classes(np.eye(4), [0, 1, 2, 3], [0, 7]), "no class '7'"),
        (lambda: uc.UnseenData(np.eye(2), np.array([0, 1]), np.eye(3)[:2], np.array([2, 3])), "3 features"),
        (lambda: uc.UnseenData(np.eye(2), np.arange(2), np.eye(2), np.arange(1, 3)), "class 1 is among"),
        (lambda: uc.standardised(uc.UnseenData(np.ones((2, 1)), np.array([0, 1]), np.ones((2, 1)),
                                               np.array([2, 3]))), "all samples are equal"),
        (lambda: uc.analyse(SideProblem(along=0.0, side="same").sample(np.random.default_rng(0)),
                              uc.Step(), level=1), "level"),
    ],
)  # fmt: skip
def test_bad_input(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_studies_build_at_both_scales():
    own = [study for name, study in studies().items() if name.startswith("unseen-classes/")]
    assert len(own) >= 10
    for study in own:
        for scale in ("quick", "paper"):
            chosen = study.at(scale)
            problem = chosen.build(next(chosen.points()))
            assert problem.theory == "unseen_classes"


def test_classes_are_found_by_their_very_name():
    labels = ["07", "7", "a", "b"] * 2
    assert set(split_classes(np.eye(8), labels, ["7", "a"]).train_labels) == {"7", "a"}
    with pytest.raises(ValueError, match="may be any of '07', '7'"):
        split_classes(np.eye(8), labels, ["7.0", "a"])
    with pytest.raises(ValueError, match="no class '1_0'"):
        split_classes(np.eye(8), ["10", "7", "a", "b"] * 2, ["1_0", "a"])
    assert set(split_classes(np.eye(8), [1.5, 2, 3, 4] * 2, ["1.50", "3"]).train_labels) == {1.5, 3.0}


def test_ranks_follow_the_sign_but_for_the_similarity():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(24, 4)), np.repeat(np.arange(6), 4)
    x[y == 5] = x[20] * np.array([1, -1, 1, -1])[:, None]  # opposite samples: a negative alignment
    analysis = uc.analyse(standardised(split_classes(x, y, [0, 1])), uc.Step(strength=0.5, activation="tanh"))
    lowest = int(np.argmin(analysis.alignment.values))
    assert float(analysis.alignment[lowest]) < 0
    assert int(np.argmin(np.abs(analysis.alignment.values))) != lowest  # its size alone would rank it higher
    assert int(analysis.alignment_rank[lowest]) == analysis.sizes["class"]
    assert int(analysis.alignment_rank[int(np.argmax(analysis.alignment.values))]) == 1
    assert int(analysis.similarity_rank[int(np.argmax(np.abs(analysis.similarity.values)))]) == 1


def test_the_public_door_checks_its_steps_and_heads():
    x, y = np.random.default_rng(0).normal(size=(16, 4)), np.repeat([0, 1, 2, 3], 4)
    data, step = standardised(split_classes(x, y, [0, 1])), uc.Step(strength=1.0, width=8)
    for steps in (0, -1, 1.5, True):
        with pytest.raises(ValueError, match="steps"):
            uc.simulate_classes(data, step, 0, steps)
    assert uc.simulate_classes(data, step, 0).sizes["class"] == 2
    with pytest.raises(ValueError, match="head: shape"):
        uc.spiked_kernel(data.unseen, None, np.ones(4), 0.5, "relu", head=np.ones((6, 2)))


def clipped(z):
    return np.clip(z, -1, 1)


def jumping(z):
    return np.maximum(z, 0) + 0.1 * (z > 0.5)


@pytest.mark.parametrize("sigma", ["step", activation(clipped), activation(jumping)])
def test_activations_whose_slope_does_not_follow_them_are_refused(sigma):
    # the first jumps and has no gradient, the second has kinks that were not named, the third a small jump
    with pytest.raises(ValueError, match=r"activation = .*by its derivative"):
        uc.Problem(activation=sigma, dimension=16, samples=16, width=16).predict()


def test_named_kinks_are_no_reason_to_refuse():
    assert mean_slope(activation(clipped, kinks=[-1, 1])) == pytest.approx(
        norm.cdf(1) - norm.cdf(-1), abs=1e-9
    )


def test_the_gradient_of_a_linear_network_has_no_bulk():
    results = uc.GradientProblem(activation="linear", dimension=8).predict(rng=12)
    assert float(results.operator_error) == pytest.approx(0, abs=1e-12)
    assert float(results.frobenius_error) == pytest.approx(0, abs=1e-7)  # the root of a rounding


def test_a_network_whose_neurons_are_all_silent_is_refused_by_its_width():
    """A single ReLU is silent on one side of its plane, where all unseen samples may lie."""
    problem = uc.Problem(
        width=1, activation="relu", dimension=4, samples=20, unseen_samples=3, unseen_norm=1000.0,
        cosines=(1.0, 1.0), strength=0.1,
    )  # fmt: skip
    told = set()
    for seed in range(12):
        try:
            problem.simulate(seed)
            told.add("numbers")
        except ValueError as error:
            told.add(str(error).partition(" the step")[0])
    assert told == {"numbers", "width = 1: no neuron answers any unseen sample before"}


@pytest.mark.parametrize("seed", [0, 10, 16, 36])  # at these less than three classes can be ranked
def test_a_set_whose_classes_cannot_be_ranked_has_no_ranks(seed):
    found = uc.SetsProblem(activation="sigmoid", sets="0,1,2", per_class=2, width=8).simulate(seed)
    assert np.isnan(found.spearman_by_set.sel(relation="similarity_alignment")).all()
    assert np.isfinite(found.mean_recall)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("given", [{"strength": 1e12}, {"tau": 1e9}])
def test_training_that_diverges_is_refused_by_its_strength(given, seed):
    """Features grow as squares: after a few steps they are infinite (it was an IndexError, or a warning)."""
    problem = uc.Problem(
        activation=activation(lambda z: z + 0.2 * z**2, derivative=lambda z: 1 + 0.4 * z), width=3,
        dimension=6, samples=6, unseen_samples=2, **given,
    )  # fmt: skip
    with pytest.raises(ValueError, match=f"{next(iter(given))} = .*: training diverges"):
        problem.simulate(seed, steps=8)
