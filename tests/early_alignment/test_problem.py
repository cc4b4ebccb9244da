"""Predict, simulate: same names, same draws, theory beside experiment."""

import numpy as np
import pytest

from firstlight.early_alignment import Problem, Setting
from firstlight.study.problem import Problem as Protocol

SMALL = {"samples": 8, "dimension": 4, "width": 12, "horizon": 2.0, "observations": 41}


def test_it_is_a_problem():
    assert isinstance(Problem(), Protocol)


def test_theory_and_experiment_agree_better_for_smaller_starts():
    gaps = []
    for scale in (1e-2, 1e-3):
        problem = Problem(**SMALL, log_scale=float(np.log(scale)), mu=0.3)
        theory, experiment = problem.predict(rng=3), problem.simulate(rng=3)
        gaps.append(float(np.abs(theory.cosine_plus - experiment.cosine_plus)[:10].max()))
    assert gaps[0] > 5 * gaps[1]
    assert gaps[1] < 1e-4  # the integrator's tolerance is 1e-6, and kinks cost
    assert set(theory.data_vars) == set(experiment.data_vars)
    assert float(theory.alignment_time) == pytest.approx(float(experiment.alignment_time), rel=0.05)
    for name in ("fate_plus", "fate_minus", "fate_dead"):
        assert float(theory[name]) == float(experiment[name])


def test_descent_from_a_gaussian_start_agrees_too():
    problem = Problem(**{**SMALL, "horizon": 20.0}, start="gaussian", reduction="mean", mu=0.3)
    theory, experiment = problem.predict(rng=1), problem.simulate(rng=1, method="descent")
    assert set(theory.data_vars) == set(experiment.data_vars)
    # Euler's error, of the order of the step times the rates
    assert np.abs(theory.cosine_plus.values - experiment.cosine_plus.values).max() < 0.02
    assert np.abs(theory.log_norm.values - experiment.log_norm.values).max() < 0.05


def test_two_points_law_and_exact_path_are_the_same():
    problem = Problem(
        data="two-points", start="angle", angle=1.2, separation=0.05, horizon=8.0, observations=201
    )
    law, exact = problem.predict(method="law"), problem.predict(method="exact")
    assert float(law.alignment_time) == pytest.approx(float(exact.alignment_time), rel=1e-12)
    measured = problem.simulate(tolerance=1e-9)
    assert float(measured.alignment_time) == pytest.approx(
        float(law.alignment_time), abs=1e-7
    )  # outputs 0.04 apart, but the time is found between the integrator's steps
    assert not bool(Problem(data="two-points", start="angle", angle=0.01).predict(method="law").converged)


@pytest.mark.parametrize("method", ["exact", "law", "paper", "sharp"])
def test_two_points_at_a_right_angle_say_why_there_is_no_time(method):
    """A neuron between them turns to one point for ever: NaN, with the reason."""
    fields = {"data": "two-points", "start": "angle", "angle": 0.5}
    apart = Problem(**fields, separation=0.1).predict(method=method)
    right = Problem(**fields, separation=0.0).predict(method=method)
    assert float(apart.alignment_time) > 0
    assert not apart.attrs["note"]
    assert np.isnan(right.alignment_time)
    assert right.attrs["note"]


def test_alignment_time_needs_all_neurons_to_arrive_within_the_horizon():
    """A large start: fitting slows the last neuron down, long after the limit's own alignment time."""
    fields = {"samples": 6, "dimension": 4, "width": 10, "mu": 0.2, "log_scale": -1.0, "log_times": True}
    values = [Problem(**fields, horizon=H, observations=30).simulate(rng=5) for H in (1.0, 20.0, 1e4)]
    times = np.array([float(one.alignment_time) for one in values])
    arrived = np.array([float(one.fate_plus + one.fate_minus + one.fate_dead) for one in values])
    assert (np.isnan(times) == (arrived < 1 - 1e-9)).all()
    assert np.isnan(times[0])
    assert times[1] == pytest.approx(times[2], rel=2e-3)  # tolerance 1e-6, and kinks cost digits
    fine = Problem(**{**fields, "log_times": False}, horizon=2 * times[2], observations=1001).simulate(rng=5)
    still = (fine.plus + fine.minus + fine.dead).values < 1 - 1e-9
    assert abs(times[2] - fine.time.values[still][-1]) < 1.01 * fine.time.values[1]  # one output apart


def test_alignment_time_before_the_first_output():
    """Log times begin at horizon × 1e-6 = 1, after the alignment; small starts have the exact path's time."""
    problem = Problem(**{**SMALL, "horizon": 1e6}, log_times=True, log_scale=-40.0, mu=0.3)
    exact = float(problem.predict(rng=3).alignment_time)
    assert exact < problem.times[0]
    assert float(problem.simulate(rng=3).alignment_time) == pytest.approx(exact, rel=1e-4)


def test_alignment_time_is_unknown_if_the_integrator_stops(monkeypatch):
    monkeypatch.setattr("firstlight.early_alignment.experiment.solver._BUDGET", 100)
    simulated = Problem(**SMALL).simulate(rng=0)
    assert not bool(simulated.converged)
    assert np.isnan(float(simulated.alignment_time))


def test_flow_from_a_start_far_below_the_floating_point_range():
    """Aligned at once, then at rest in its direction until t ~ 1e5: stiff for an explicit method."""
    fields = {"samples": 5, "dimension": 3, "width": 4, "mu": 0.35, "horizon": 1e6, "observations": 20}
    problem = Problem(**fields, log_times=True, log_scale=-230258.5)
    simulated = problem.simulate(rng=0)
    assert bool(simulated.converged)
    exact = float(problem.predict(rng=0).alignment_time)
    assert float(simulated.alignment_time) == pytest.approx(exact, rel=1e-3)  # tolerance 1e-6, and kinks


def test_bounds_are_above_the_exact_time():
    problem = Problem(**SMALL)
    exact = float(problem.predict(rng=0).alignment_time)
    times = [float(problem.predict(rng=0, method=form).alignment_time) for form in ("sharp", "path", "paper")]
    assert exact < times[0] < times[1] < times[2]


def test_rate_and_limit_frame_the_loss():
    problem = Problem(**{**SMALL, "horizon": 1e6, "observations": 30}, log_times=True, log_scale=-12.0)
    measured = problem.simulate(rng=0)
    rate, limit = problem.predict(rng=0, method="rate"), problem.predict(rng=0, method="limit")
    assert bool(measured.converged)
    assert (measured.loss <= rate.loss * (1 + 1e-6)).all()
    late = problem.times > 1e4
    ratio = (measured.loss / limit.loss).values[late]
    assert (np.diff(ratio) > 0).all()
    assert (ratio < 1).all()
    assert abs(float(limit.stable_rank[0]) - float(measured.stable_rank[-1])) < 0.1
    assert ("from t = e on" in limit.attrs.get("note", "")) == bool(limit.loss.isnull().any())


def test_images_are_centred_and_never_quite_separable():
    problem = Problem(data="digits", classes="6,7", samples=60, width=10, horizon=1.0, observations=5)
    X = problem.draw(0)[0]
    assert np.abs(X.mean(axis=0)).max() < 1e-12
    predicted = problem.predict(rng=0)
    assert 0.9 < float(predicted.right_sign) < 1
    verdicts = {item.name: item.verdict for item in problem.assumptions()}
    assert verdicts["orthogonal separability"] == "fails"
    assert verdicts["small start"] == "not checkable"
    bound = problem.predict(rng=0, method="sharp")
    assert np.isnan(float(bound.alignment_time))
    assert not bool(bound.converged)


def test_assumptions_on_separable_data():
    holds = {item.name: item.verdict for item in Problem(**SMALL, log_scale=-1e7).assumptions()}
    assert set(holds.values()) == {"holds"}
    fails = {item.name: item.verdict for item in Problem(**SMALL, start="gaussian").assumptions()}
    assert fails["small start"] == "fails"
    assert fails["balanced start"] == "fails"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"data": "cifar"}, "data = 'cifar'"),
        ({"start": "zero"}, "start = 'zero'"),
        ({"start": "angle"}, "start = 'angle'"),
        ({"samples": 1}, "samples = 1"),
        ({"width": 0}, "width = 0"),
        ({"mu": 0.0}, "mu = 0"),
        ({"mu": np.nan}, "mu = nan"),
        ({"horizon": -1.0}, "horizon = -1"),
        ({"step_size": 0.0}, "step_size = 0"),
        ({"observations": 1}, "observations = 1"),
        ({"loss": "hinge"}, "loss = 'hinge'"),
        ({"reduction": "max"}, "reduction = 'max'"),
        ({"log_scale": -np.inf}, "log_scale = -inf"),
        ({"log_scale": None}, "log_scale = None"),
        ({"mu": "a"}, "mu = 'a'"),
        ({"mu": 1.0}, "mu = 1"),
        ({"separation": [0.1]}, "separation = "),
        ({"horizon": 1j}, "horizon = 1j"),
        ({"horizon": True}, "horizon = True"),
        ({"loss": [1]}, "loss = "),
        ({"classes": "0,77"}, "classes = '0,77': must be 2 different classes, 0 to 9"),
        ({"classes": 1.0}, "classes = 1.0"),
        ({"data": "digits", "classes": "1,1"}, "classes = '1,1'"),
        ({"log_times": "yes"}, "log_times = 'yes'"),
    ],
)
def test_bad_fields_are_refused_when_built(change, message):
    with pytest.raises(ValueError, match=message):
        Problem(**change)


def test_bad_options():
    with pytest.raises(ValueError, match="method = 'guess'"):
        Problem().predict(method="guess")
    with pytest.raises(ValueError, match="needs start = 'angle'"):
        Problem().predict(method="law")
    with pytest.raises(ValueError, match="method = 'magic'"):
        Problem().simulate(method="magic")
    with pytest.raises(ValueError, match="step_size = 1"):
        Problem(reduction="mean", step_size=1.0).simulate(method="descent")
    with pytest.raises(ValueError, match="mean loss"):
        Problem().simulate(method="descent")
    with pytest.raises(ValueError, match=r"log_scale = -230258\.5: gradient descent"):
        Problem(log_scale=-230258.5, reduction="mean").simulate(method="descent")
    with pytest.raises(ValueError, match="balanced start"):
        Problem(start="gaussian").simulate(method="flow")


@pytest.mark.parametrize("data", ["separable", "toy", "two-points", "digits"])
def test_the_shape_is_known_before_data_are_drawn(data):
    setting = Setting(data=data, samples=24, dimension=7)
    assert setting.draw(0)[0].shape == setting.shape


def test_costs_grow_with_the_work():
    def flops(kind, **options):
        return (
            Problem(start="gaussian", reduction="mean", width=options.pop("width", 5))
            .cost(kind, **options)
            .flops
        )

    assert flops("simulate", method="descent", width=10) == 2 * flops("simulate", method="descent")
    assert flops("simulate", method="descent", batch_size=4) < flops("simulate", method="descent")
    assert flops("predict", method="sharp") < flops("predict")


def test_two_orthogonal_points():
    """At δ = 0 nothing is separable: neurons stop where they are, and both sides count the same fates."""
    problem = Problem(
        data="two-points",
        separation=0.0,
        start="gaussian",
        reduction="mean",
        width=40,
        log_scale=-14.0,
        horizon=20.0,
    )  # fmt: skip
    exact, trained = problem.predict(3), problem.simulate(3, method="descent")
    for name in ("plus", "dead"):
        assert float(exact[f"fate_{name}"]) == float(trained[f"fate_{name}"])
    assert 0 < float(exact.fate_plus) < 0.5
    assert "mu = 0" in problem.predict(3, method="paper").attrs["note"]
    law = Problem(data="two-points", separation=0.0, start="angle").predict(0, method="law")
    assert not bool(law.converged)
    assert np.isnan(law.alignment_time)
