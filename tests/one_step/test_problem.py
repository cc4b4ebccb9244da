import numpy as np
import pytest

from firstlight.data.mixture import GaussianMixture, Spiked
from firstlight.one_step import (
    Classification,
    DegreeWarning,
    Problem,
    Regression,
    needed_degree,
)
from firstlight.one_step.families import images
from firstlight.study.problem import Problem as Protocol

OBSERVABLES = {"test_error", "train_error", "weight_norm", "test_error_by_class", "label_variance"}
SMALL = {"dimension": 60, "width": 50, "samples": 70, "alpha": 0.5, "beta": 0.5}


def _unequal(ridge=1e-3):
    spike = np.eye(40)[:, :1]
    mixture = GaussianMixture(
        [0.5, 0.3, 0.2], 0.1 * np.ones((3, 40)), [Spiked([3.0], spike), Spiked([1.0], spike, 0.5), np.eye(40)]
    )
    return Problem(
        mixture, Classification((1.0, 0.0, -1.0)), width=30, samples=50, step_size=2.0, ridge=ridge
    )


def test_it_is_a_problem():
    assert isinstance(Problem.scaled(**SMALL), Protocol)


@pytest.mark.parametrize("task", ["regression", "classification"])
def test_theory_and_experiment_give_the_same_observables(task):
    problem = Problem.scaled(**SMALL, task=task)
    expected = OBSERVABLES | {"relative_test_error", "relative_train_error"}
    expected |= {"misclassification"} if task == "classification" else set()
    for model in ("network", "hermite", "conditional_gaussian"):
        assert set(problem.simulate(0, method=model, degree=2)) == expected
    for method in ("deterministic", "asymptotic"):
        predicted = problem.predict(0, method=method)
        sampled = expected - {"label_variance"} if method == "asymptotic" else set()
        assert set(predicted) == expected | {"converged"} | {f"{name}_sem" for name in sampled}
        assert bool(predicted.converged)
        assert float(predicted.relative_test_error * predicted.label_variance) == pytest.approx(
            float(predicted.test_error)
        )


def test_the_trained_network_is_the_simulated_one():
    problem = Problem.scaled(**SMALL, ridge=[1e-3, 1e-1])
    result, network = problem.simulate(rng=3), problem.train(rng=3)
    residual = network.training_labels[:, None] - network.training_features @ network.readout.T
    np.testing.assert_allclose((residual**2).mean(axis=0), result.train_error, rtol=1e-9)
    np.testing.assert_allclose(np.linalg.norm(network.readout, axis=1), result.weight_norm, rtol=1e-9)
    # on fresh inputs, 40 000 of them: the same test error within four standard errors
    rng = np.random.default_rng(0)
    x, classes = problem.mixture.draw(problem.mixture.counts(40_000), rng)
    squares = (problem.labels(x, classes, rng)[:, None] - network(x)) ** 2
    exact = problem.simulate(rng=3, risk="population").test_error
    assert (abs(squares.mean(axis=0) - exact) < 4 * squares.std(axis=0) / 200).all()
    np.testing.assert_allclose(network.features(x) @ network.readout.T, network(x))
    assert not np.allclose(network.first_layer, network.start.first_layer)


def test_data_can_be_held_fixed():
    problem = Problem.scaled(**SMALL)
    one, other, apart = (problem.train(rng=i, data_rng=7 + j) for i, j in ((0, 0), (1, 0), (0, 1)))
    np.testing.assert_array_equal(one.training_labels, other.training_labels)
    assert not np.allclose(one.training_labels, apart.training_labels)
    np.testing.assert_array_equal(one.start.first_layer, apart.start.first_layer)
    assert not np.allclose(one.start.first_layer, other.start.first_layer)
    # theory takes the same batch for the step; averaged over read-outs' samples it meets experiments
    gaps = [
        float(problem.simulate(i, risk="population", data_rng=100 + i).test_error)
        / float(problem.predict(i, data_rng=100 + i).test_error) - 1
        for i in range(30)
    ]  # fmt: skip
    assert abs(np.mean(gaps)) < 4 * np.std(gaps) / 30**0.5 + 0.02  # and O(1/n) of size
    far = [float(problem.predict(i, data_rng=i % 2).test_error) for i in range(12)]
    assert np.std(far[::2]) < np.std([float(problem.predict(i).test_error) for i in range(12)])


def test_models_are_paired():
    # a linear σ is its own Hermite and its own conditional Gaussian model: same data, weights and errors
    problem = Problem.scaled(**SMALL, activation="linear")
    network = problem.simulate(3)
    for model in ("hermite", "conditional_gaussian"):
        simulated = problem.simulate(3, method=model, degree=1)
        for name in ("test_error", "train_error", "weight_norm"):
            # Hermite noise of variance 1e-16 and cubic splines on a linear function: rounding only
            assert float(simulated[name]) == pytest.approx(float(network[name]), rel=1e-5)
    assert float(problem.simulate(4).test_error) != float(network.test_error)


def test_exact_risk_is_the_mean_of_samples():
    for problem in (
        Problem.scaled(**SMALL, noise=0.1),
        Problem.scaled(**SMALL, activation="tanh"),
        _unequal(),
    ):
        exact = problem.simulate(1, risk="population")
        sampled = problem.simulate(1, test_samples=200_000)
        assert float(exact.train_error) == float(sampled.train_error)
        # 200 000 squared errors with a kurtosis of a few: s.e. below 0.5 %
        assert float(sampled.test_error) == pytest.approx(float(exact.test_error), rel=0.02)
        np.testing.assert_allclose(sampled.test_error_by_class, exact.test_error_by_class, rtol=0.04)


def test_a_rare_class_has_its_share_of_every_sample():
    # 4 of 4000 test samples, in blocks of 500 that would each round its half sample away
    problem = Problem.scaled(dimension=20, width=10, samples=800, alpha=0.5, beta=0.5, weights=(0.999, 0.001))
    simulated = problem.simulate(0)
    assert np.isfinite(simulated.test_error_by_class).all()
    shares = np.array([0.999, 0.001])
    assert float(simulated.test_error) == pytest.approx(
        float(shares @ simulated.test_error_by_class.values), rel=1e-12
    )


def test_many_ridges_share_a_trial():
    ridges = (0.0, 1e-3, 0.5)
    together = Problem.scaled(**SMALL, ridge=ridges)
    for kind in (Problem.simulate, Problem.predict):
        path = kind(together, 2)
        assert path.sizes["ridge"] == 3
        for ridge in ridges:
            alone = kind(Problem.scaled(**SMALL, ridge=ridge), 2)
            assert "ridge" not in alone.dims
            for name in ("test_error", "train_error", "weight_norm"):
                assert float(path[name].sel(ridge=ridge)) == pytest.approx(float(alone[name]), rel=1e-6)


def test_zero_ridge_interpolates():
    problem = Problem.scaled(dimension=50, width=90, samples=40, alpha=0.5, beta=0.5, ridge=0.0)
    assert float(problem.simulate(0).train_error) < 1e-20
    assert float(problem.predict(0).train_error) < 1e-20
    assert float(problem.predict(0, method="asymptotic").train_error) < 1e-6


def test_sample_sizes_come_from_one_factorisation():
    problem = Problem.scaled(**SMALL)
    path = problem.predict(5, sample_sizes=[70, 140])
    assert float(path.test_error.sel(samples=70)) == pytest.approx(
        float(problem.predict(5).test_error), rel=1e-12
    )
    assert float(path.test_error.sel(samples=140)) < float(path.test_error.sel(samples=70))


def test_sample_sizes_of_the_network_free_prediction():
    problem = Problem.scaled(**SMALL, ridge=(1e-4, 0.1))
    path = problem.predict(5, method="asymptotic", sample_sizes=[70, 140], draws=2)
    assert path.test_error.dims == ("samples", "ridge")
    alone = problem.predict(5, method="asymptotic", draws=2)
    # the same nodes and equations, solved from another start to a relative change of 1e-8
    np.testing.assert_allclose(path.test_error.sel(samples=70), alone.test_error, rtol=1e-5)
    assert np.all(path.test_error.sel(samples=140) < path.test_error.sel(samples=70))


def test_it_chooses_the_equivalent_and_says_so():
    assert Problem.scaled(**SMALL).predict(0).attrs["equivalent"] == "one covariance"
    unequal = _unequal().predict(0)
    assert unequal.attrs["equivalent"] == "class-wise"
    assert bool(unequal.converged)
    one = Problem.scaled(**SMALL).predict(0, equivalent="class-wise")
    assert float(one.test_error) == pytest.approx(
        float(Problem.scaled(**SMALL).predict(0).test_error), rel=1e-3
    )


def test_half_convention():
    problem = Problem.scaled(**SMALL, ridge=0.01)
    full, half = problem.simulate(1), problem.simulate(1, convention="half")
    assert float(half.test_error) == pytest.approx(float(full.test_error) / 2)
    penalised = 0.5 * float(full.train_error) + 0.005 * float(full.weight_norm) ** 2
    assert float(half.train_error) == pytest.approx(penalised)
    assert half.attrs["convention"] == "half"
    np.testing.assert_allclose(half.test_error_by_class * 2, full.test_error_by_class)


def test_network_free_prediction_does_not_grow_with_the_dimension():
    big = Problem.scaled(dimension=20_000, width=20_000, samples=20_000, alpha=0.5, beta=0.6)
    predicted = big.predict(0, method="asymptotic", draws=2)
    assert bool(predicted.converged)
    assert 0 < float(predicted.train_error) < float(predicted.test_error)


@pytest.mark.parametrize("weights", [(1.0,), (0.5, 0.5), (0.2, 0.3, 0.5)])
@pytest.mark.parametrize(("alpha", "beta"), [(0.0, 0.0), (0.0, 1.0), (1.0, 1.0), (1.0, 0.5)])
def test_network_free_prediction_covers_the_square(weights, alpha, beta):
    problem = Problem.scaled(dimension=300, width=200, samples=400, alpha=alpha, beta=beta, weights=weights)
    predicted = problem.predict(0, method="asymptotic", draws=2)
    assert bool(predicted.converged)
    by_class = predicted.test_error_by_class.values
    assert problem.mixture.weights @ by_class == pytest.approx(float(predicted.test_error))
    assert 0 < float(predicted.relative_train_error) < float(predicted.relative_test_error) < 5


def test_a_prediction_that_did_not_converge_is_nan(monkeypatch):
    from firstlight.one_step.theory import functional

    monkeypatch.setattr(functional.Functional.solve, "__defaults__", (None, 1e-8, 1))
    predicted = Problem.scaled(**SMALL).predict(0, method="asymptotic", draws=1)
    assert not bool(predicted.converged)
    assert np.isnan(float(predicted.test_error))


def test_degrees_and_their_warnings():
    assert needed_degree(Problem.scaled(dimension=600, width=600, samples=600, alpha=0.5, beta=0.74)) == 2
    steep = Problem.scaled(
        dimension=200, width=200, samples=200, alpha=0.0, beta=1.0, label_direction="spikes"
    )
    with pytest.warns(DegreeWarning, match="ratio"):
        needed_degree(steep)
    with pytest.warns(DegreeWarning, match="degree = 4"):
        steep.simulate(0, method="hermite")
    assert steep.assumptions()[-1].verdict == "fails"
    for degree in (0, 2.5):
        with pytest.raises(ValueError, match="degree"):
            steep.simulate(0, method="hermite", degree=degree)


def test_a_degree_warning_is_one_short_line_every_time():
    steep = Problem.scaled(
        dimension=100, width=100, samples=100, alpha=0.0, beta=1.0, label_direction="spikes"
    )
    for _ in range(2):
        with pytest.warns(DegreeWarning) as seen:
            steep.simulate(0, method="hermite", degree=12)
        assert len(str(seen[0].message)) < 120
        assert seen[0].filename == __file__


def test_assumptions_carry_numbers():
    by_name = {a.name: a for a in _unequal().assumptions()}
    assert by_name["equal traces"].verdict == "fails"
    assert by_name["identity-plus-spikes covariances"].verdict == "fails"
    large = Problem.scaled(dimension=200, width=200, samples=200, alpha=0.5, beta=0.5)
    assert all(a.verdict == "holds" for a in large.assumptions())
    assert Problem.scaled(**SMALL).assumptions()[-1].verdict == "fails"  # degree 8 still has a ratio of 0.3


@pytest.mark.parametrize("length", [1e-6, 1e-5, 1e-3, 1e3])
def test_two_far_and_tight_classes_have_no_degree_that_serves(length):
    """Means up to 1e7 standard deviations apart; the eighth power of that squared is no number."""
    X = np.array([[0.0, 1.0], [1.0, 0.0], [-1.0, 0.5], [0.3, -1.0]]) * length + [
        [0, 0],
        [30, 30],
        [0, 0],
        [30, 30],
    ]
    problem = Problem.from_data(X, np.array([0, 1, 0, 1]), width=8, samples=1, spikes=1, activation="step")
    told = {one.name: one for one in problem.assumptions()}  # without a warning
    assert told["a polynomial surrogate exists at this size"].verdict == "fails"


def test_cost_grows_with_the_sizes():
    small, large = (
        Problem.scaled(**SMALL),
        Problem.scaled(dimension=120, width=100, samples=140, alpha=0.5, beta=0.5),
    )
    for kind, options in (("simulate", {}), ("predict", {})):
        assert large.cost(kind, **options).flops == pytest.approx(8 * small.cost(kind, **options).flops)
    free = {"method": "asymptotic"}
    assert large.cost("predict", **free) == small.cost("predict", **free)


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({"beta": 1.2}, "beta"),
        ({"alpha": -0.1}, "alpha"),
        ({"ridge": -1e-4}, "ridge"),
        ({"ridge": (1e-4, np.nan)}, "ridge"),
        ({"samples": 0}, "samples = 0"),
        ({"width": 0}, "width = 0"),
        ({"width": 2.5}, "width"),
        ({"ridge": ()}, "ridge"),
        ({"ridge": "small"}, "ridge"),
        ({"beta": "large"}, "beta"),
        ({"dimension": 60.5}, "dimension = 60.5"),
        ({"rank": 1.5}, "rank"),
        ({"weights": ()}, "weights"),
        ({"gradient_samples": 0}, "gradient_samples"),
        ({"weights": (0.5, 0.4)}, "weights"),
        ({"task": "classification", "weights": (1.0,)}, "weights"),
        ({"activation": "rellu"}, "activation"),
        ({"noise": -1.0}, "noise"),
        ({"noise": 0.1, "task": "classification"}, "noise"),
        ({"spike_alignment": 2.0}, "spike_alignment"),
    ],
)
def test_refusals_at_construction(change, name):
    with pytest.raises(ValueError, match=name):
        Problem.scaled(**{**SMALL, **change})


def test_refusals_of_a_general_problem():
    mixture = GaussianMixture([0.5, 0.5], None, [np.eye(4), np.eye(4)])
    with pytest.raises(ValueError, match="direction"):
        Problem(mixture, Regression(np.ones(5)), width=3, samples=3)
    with pytest.raises(ValueError, match="labels"):
        Problem(mixture, Classification((1.0, 0.0, -1.0)), width=3, samples=3)
    with pytest.raises(ValueError, match="step_size"):
        Problem(mixture, Classification(), width=3, samples=3, step_size=np.inf)
    dense = Problem(mixture, Classification(), width=3, samples=3)
    with pytest.raises(ValueError, match="conditional_gaussian"):
        dense.simulate(0, method="conditional_gaussian")
    with pytest.raises(ValueError, match="spikes"):
        dense.predict(0, method="asymptotic")
    for options in ({"method": "linear"}, {"risk": "none"}, {"convention": "quarter"}, {"test_samples": 0}):
        with pytest.raises(ValueError, match=next(iter(options))):
            dense.simulate(0, **options)
    with pytest.raises(ValueError, match="risk"):
        dense.simulate(0, method="hermite", risk="population")
    with pytest.raises(ValueError, match="method"):
        dense.predict(0, method="guess")
    for options in ({"draws": 0, "method": "asymptotic"}, {"sample_sizes": [0]}, {"equivalent": "both"}):
        with pytest.raises(ValueError, match=next(iter(options))):
            dense.predict(0, **options)
    for bad in ((None, Classification()), (mixture, None)):
        with pytest.raises(ValueError, match=r"mixture|labels"):
            Problem(*bad, width=3, samples=3)


def test_refusals_of_images(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with pytest.raises(FileNotFoundError, match=r"images = 'mnist'.*firstlight data fetch mnist"):
        images(0.5, 40, "2,3", images="mnist")
    for options in (
        {"images": "nothing"},
        {"classes": "0,0"},
        {"classes": "0,11"},
        {"ratio": 0.0},
        {"beta": 2.0},
    ):
        with pytest.raises(ValueError, match=next(iter(options))):
            images(**{"ratio": 0.5, "samples": 40, "classes": "0,1", "images": "digits"} | options)


@pytest.mark.parametrize("kind", [np.int8, np.uint16, np.uint64])
def test_small_numpy_integers_do_not_overflow(kind):
    def run(kind):
        return Problem.scaled(
            dimension=kind(20), width=kind(10), samples=kind(30), alpha=0.5, beta=0.5
        ).simulate(rng=0)

    assert float(run(kind).test_error) == float(run(int).test_error)


def test_sample_sizes_of_any_kind():
    problem = Problem.scaled(dimension=20, width=10, samples=30, alpha=0.5, beta=0.5)
    expected = problem.predict(rng=0, sample_sizes=[10, 20]).test_error.values
    for sizes in (np.array([10, 20], np.int8), (10, 20), range(10, 21, 10)):
        np.testing.assert_array_equal(problem.predict(rng=0, sample_sizes=sizes).test_error, expected)
    for sizes in ([], "ab", [1.5]):
        with pytest.raises(ValueError, match="sample_sizes"):
            problem.predict(rng=0, sample_sizes=sizes)


def test_links_that_depend_on_the_class():
    """Eight networks of 200: 7 % each, 2.5 % their mean; twice that and the predictions' 2 %."""
    sizes = {
        "dimension": 200,
        "width": 200,
        "samples": 200,
        "alpha": 0.3,
        "beta": 0.6,
        "label_direction": "spikes",
    }
    problem = Problem.scaled(**sizes, link=("relu", "linear"))
    exact = np.mean([float(problem.simulate(seed, risk="population").test_error) for seed in range(8)])
    fresh = np.mean([float(problem.simulate(seed).test_error) for seed in range(8)])
    paired = np.mean([float(problem.predict(seed).test_error) for seed in range(8)])
    free = float(problem.predict(0, method="asymptotic", draws=4).test_error)
    for other in (fresh, paired, free):
        assert other == pytest.approx(exact, rel=0.07)
    one = float(Problem.scaled(**sizes).predict(0, method="asymptotic", draws=4).test_error)
    assert abs(one / free - 1) > 0.2  # another task
