"""Gradient flow: against a Cartesian integration, in both forms, to very late times."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from firstlight import early_alignment as ea
from firstlight.data.separable import separable, toy
from firstlight.early_alignment.experiment.class_flow import class_moments, integrate_classes
from firstlight.early_alignment.experiment.flow import integrate, outputs
from firstlight.maths.losses import MARGIN_LOSSES


def start(h, d, seed=0):
    rng = np.random.default_rng(seed)
    W = rng.normal(size=(h, d))
    return W / np.linalg.norm(W, axis=1, keepdims=True), rng.choice([-1.0, 1.0], h)


@pytest.mark.parametrize("loss", MARGIN_LOSSES)
def test_losses_and_slopes_against_differences(loss):
    chosen, z = MARGIN_LOSSES[loss], np.linspace(-4, 45, 99)
    one = np.ones_like(z)
    direct = {"exp": np.exp(-z), "logistic": np.log1p(np.exp(-z)), "logistic2": 2 * np.log1p(np.exp(-z))}[
        loss
    ]
    assert chosen.value(one, z) == pytest.approx(direct, rel=1e-12)
    step = 1e-5
    slope = (chosen.value(one, z + step) - chosen.value(one, z - step)) / (2 * step)
    assert chosen.first(one, z) == pytest.approx(slope, rel=1e-8)  # second-order differences
    assert np.allclose(chosen.first(-one, -z), -chosen.first(one, z))


@pytest.mark.parametrize(("loss", "reduction"), [("exp", "sum"), ("logistic", "mean"), ("logistic2", "sum")])
def test_polar_flow_against_cartesian_flow(loss, reduction):
    """W' = -dL/dW, v' = -dL/dv integrated as they stand, from a start that is not small."""
    X, y = separable(7, 3, 0.3, 0)
    u, s = start(6, 3)
    h, eps, t = 6, 0.1, 3.0
    chosen = MARGIN_LOSSES[loss]

    def rhs(_, state):
        W, v = state[: 3 * h].reshape(h, 3), state[3 * h :]
        hidden = np.maximum(X @ W.T, 0)
        pull = -chosen.first(y, hidden @ v) / (len(y) if reduction == "mean" else 1)
        return np.concatenate([(((hidden > 0) * pull[:, None]).T @ X * v[:, None]).ravel(), pull @ hidden])

    end = solve_ivp(
        rhs, (0, t), np.concatenate([(eps * u).ravel(), eps * s]), "DOP853", rtol=1e-10, atol=1e-12
    )
    W, v = end.y[: 3 * h, -1].reshape(h, 3), end.y[3 * h :, -1]
    run = integrate(X, y, u, np.full(h, np.log(eps)), s, [t], loss=loss, reduction=reduction, tolerance=1e-9)
    rows = run.directions[0] * np.exp(run.log_norms[0])[:, None]
    # Kinks limit both to about 1e-7.
    assert rows == pytest.approx(W, abs=1e-6)
    assert s * np.exp(run.log_norms[0]) == pytest.approx(v, abs=1e-6)
    assert np.abs(v**2 - (W**2).sum(axis=1)).max() < 1e-12  # balance is conserved
    assert outputs(X, run.directions[0], run.log_norms[0], s) == pytest.approx(
        np.maximum(X @ W.T, 0) @ v, abs=1e-5
    )


def test_output_at_the_start_and_bad_times():
    X, y = toy()
    u, s = start(4, 2)
    run = integrate(X, y, u, np.zeros(4), s, [2.0, 2.5], start=2.0)
    assert run.directions[0] == pytest.approx(u)
    for times in ([1.0], [3.0, 2.5], [], [np.inf]):
        with pytest.raises(ValueError, match="times"):
            integrate(X, y, u, np.zeros(4), s, times, start=2.0)
    with pytest.raises(ValueError, match="tolerance"):
        integrate(X, y, u, np.zeros(4), s, [3.0], tolerance=0)
    with pytest.raises(ValueError, match="reduction"):
        integrate(X, y, u, np.zeros(4), s, [3.0], reduction="max")
    with pytest.raises(ValueError, match="loss"):
        integrate(X, y, u, np.zeros(4), s, [3.0], loss="hinge")


def test_a_spent_budget_is_told(monkeypatch):
    monkeypatch.setattr("firstlight.early_alignment.experiment.solver._BUDGET", 100)
    X, y = toy()
    W, s = start(5, 2)
    run = ea.flow(X, y, W, s, -5.0, until=1e3, observations=10)
    assert not bool(run.converged)
    assert "budget of evaluations spent" in run.note
    assert "slide" not in run.note  # the toy is separable: nothing slides
    assert np.isnan(run.loss[-1])
    assert np.isfinite(run.loss[0])


def test_width_free_form_equals_all_neurons():
    X, y = separable(10, 4, 0.3, 0, norms=(0.5, 1.5))
    W, s = start(40, 4)
    both = {
        form: ea.flow(X, y, W, s, -15.0, until=1e5, observations=24, method=form)
        for form in ("neurons", "classes")
    }
    for name in ("log_loss", "margin_plus", "margin_minus", "output_plus"):
        # both at tolerance 1e-9, over hundreds of steps
        assert np.allclose(both["neurons"][name], both["classes"][name], rtol=1e-6, atol=1e-7)
    for name in ("stable_rank", "log_norm"):
        assert np.allclose(both["neurons"][name], both["classes"][name], atol=1e-6)
    assert both["neurons"].t2 == pytest.approx(both["classes"].t2, rel=1e-6)


def test_width_free_form_takes_an_unbalanced_state():
    """S' = MS + SM does not need balance: against w' = vG, v' = <w, G> for one class of two neurons."""
    X = np.array([[1.0, 0.3], [0.8, -0.2]])
    first = np.array([[0.2, 0.1, 0.4], [0.3, -0.1, 0.1]])  # rows [w; v], active on both data throughout

    def rhs(_, state):
        rows = state.reshape(2, 3)
        pull = np.exp(-X @ (rows[:, :2].T @ rows[:, 2]))
        G = pull @ X
        return np.column_stack([np.outer(rows[:, 2], G), rows[:, :2] @ G]).ravel()

    end = solve_ivp(rhs, (0, 20), first.ravel(), "DOP853", rtol=1e-11, atol=1e-13).y[:, -1].reshape(2, 3)
    S = first.T @ first
    moments = np.stack([S / np.trace(S), np.eye(3)])
    run = integrate_classes(X, np.ones(2), moments, np.array([0.5 * np.log(np.trace(S)), -np.inf]), [20.0])
    result = np.exp(2 * run.log_scales[0, 0]) * run.moments[0, 0]
    assert result == pytest.approx(end.T @ end, abs=1e-7)


def test_class_moments_without_neurons():
    S, scales = class_moments(np.eye(2), np.zeros(2), np.ones(2), np.array([0, 2]))
    assert (scales == -np.inf).all()
    assert not S.any()


def test_switch_error_is_of_the_order_asked_for():
    X, y = separable(8, 4, 0.3, 2)
    W, s = start(12, 4)
    tight = ea.flow(
        X, y, W, s, -20.0, until=30.0, observations=[5.0, 30.0], switch_error=1e-10, tolerance=1e-11
    )
    errors = []
    for level in (1e-3, 1e-5):
        run = ea.flow(
            X, y, W, s, -20.0, until=30.0, observations=[5.0, 30.0], switch_error=level, tolerance=1e-11
        )
        assert 0.3 * level < run.switch_output < 3 * level  # rates of growth times lengths are of order one
        errors.append(float(np.abs(run.log_loss - tight.log_loss).max()))
    assert 30 < errors[0] / errors[1] < 300  # first order: 100
    assert errors[1] < 1e-4


def test_switch_in_the_middle_of_alignment_agrees_with_no_switch():
    """A start too large for the exact path to finish: the rest, kinks included, is integrated."""
    X, y = separable(6, 3, 0.3, 1)
    W, s = start(8, 3)
    some = ea.flow(X, y, W, s, np.log(2e-3), until=20.0, observations=[0.0, 0.3, 20.0], switch_error=1e-4)
    none = ea.flow(X, y, W, s, np.log(2e-3), until=20.0, observations=[0.0, 0.3, 20.0], switch_error=1e-12)
    assert none.switch_time == 0
    assert 0 < some.switch_time < some.t1
    assert np.abs(some.log_loss - none.log_loss).max() < 1e-3  # of the order of the switch


def test_scale_shifts_the_clock_and_nothing_else():
    """Each class leaves zero at log(1/eps)/‖x_c‖: the slope of t2 in log(1/eps)."""
    X, y = toy()
    W, s = start(30, 2)
    slow = min(np.linalg.norm(X[y == label].sum(axis=0)) for label in (1, -1))
    marks = [ea.flow(X, y, W, s, scale, until=1e6, observations=50).t2 for scale in (-1e3, -2e3)]
    assert marks[1] - marks[0] == pytest.approx(1e3 / slow, rel=1e-4)  # t2 is interpolated on a fine grid


def test_limits_at_the_end_of_floating_point():
    X, y = toy()
    W, s = start(50, 2)
    end = ea.limits(X, y)
    run = ea.flow(X, y, W, s, -100_000 * np.log(10), until=1e300, observations=[0.0, 1e6, 1e20, 1e100, 1e300])
    assert bool(run.converged)
    assert float(run.stable_rank[-1]) == pytest.approx(end.stable_rank, abs=1e-6)
    decay = np.exp(run.log_loss.values[1:] + np.log(run.time.values[1:])) * np.log(run.time.values[1:])
    gaps = end.loss_coefficient - decay
    assert (np.diff(gaps) < 0).all()
    assert 0 < gaps[-1] < 0.02 * end.loss_coefficient  # the approach is like 1/log t
    # Directions end at the max-margin ones: the toy's arcs are symmetric, so these are the centres' too.
    assert float(run.margin_cosine_plus[-1]) == pytest.approx(1, abs=1e-9)
    growth = np.exp(run.log_norm.values[-1]) / np.log(1e300)
    assert growth == pytest.approx(1 / end.margin_plus + 1 / end.margin_minus, rel=0.02)


def test_neurons_turn_to_the_max_margin_direction_not_the_centre():
    X, y = separable(8, 3, 0.3, 4, norms=(0.5, 2.0))
    W, s = start(20, 3)
    run = ea.flow(X, y, W, s, -30.0, until=1e300, observations=[10.0, 1e6, 1e300])
    for name in ("plus", "minus"):
        to_margin, to_center = run[f"margin_cosine_{name}"].values, run[f"cosine_{name}"].values
        assert to_margin[-1] > 0.9995
        assert (np.diff(to_margin) > 0).all()
        assert to_center[-1] < to_center[0]


@pytest.mark.parametrize("loss", ["exp", "logistic2", "logistic"])
def test_loss_bound_and_rank_bound_at_every_output(loss):
    X, y = separable(10, 4, 0.4, 1, norms=(0.7, 1.4))
    W, s = start(30, 4)
    scale = -60.0
    run = ea.flow(X, y, W, s, scale, loss=loss, until=1e12, observations=160)
    promised = ea.bounds(ea.geometry(X, y, W, s), 30, scale, loss=loss)
    fitting = run.time.values >= run.t2
    t, L = run.time.values[fitting], run.loss.values[fitting]
    assert (L[0] / (1 + promised.fitting_rate * L[0] * (t - t[0])) * (1 + 1e-9) >= L).all()
    assert run.t1 <= promised.alignment_time["sharp"]
    assert run.t2 <= promised.fitting_time["sharp"]
    frobenius = np.exp(run.log_norm.values)
    excess = frobenius * (1 - 2 / run.stable_rank.values)  # ‖W‖_F² - 2 ‖W‖₂²
    assert (excess <= np.exp(promised.log_rank_excess)).all()


@pytest.mark.parametrize("log_scale", [-3.0, -20.0])
def test_t1_is_that_of_the_flow_also_when_neurons_turn_after_the_switch(log_scale):
    X, y = separable(10, 4, 0.3, 3)
    W, s = start(12, 4)
    run = ea.flow(X, y, W, s, log_scale, until=20.0, observations=40)
    path = ea.align(X, y, W, s)
    times = np.linspace(0, 20, 20_001)
    fine = integrate(X, y, W, np.full(12, log_scale), s, times, tolerance=1e-7)
    flips = (np.diff(fine.directions @ X.T > 0, axis=0) != 0).any(axis=(1, 2))
    measured = times[1:][flips].max()
    assert run.t1 == pytest.approx(measured, abs=1.1e-3)  # spacing of the grid
    if log_scale == -3.0:
        assert abs(path.last_event - measured) > 0.01  # the limit's own time would not do


def test_as_many_outputs_as_asked_for():
    X, y = [[1, 0], [1, 1]], [1, 1]
    for log_scale, until in ((1.0, 10.0), (-5.0, 100.0), (-1e3, 1.0)):
        run = ea.flow(X, y, [[1, 2], [2, 1]], [1, 1], log_scale, "exp", until, np.int64(9))
        assert run.sizes["time"] == 9
        assert (float(run.time[0]), float(run.time[-1])) == pytest.approx((0, until))


def test_all_dead_stays_where_it_is():
    run = ea.flow([[1, 0], [1, 1]], [1, 1], [[-1, -1]], [1], -5.0, until=10.0, observations=5)
    assert (run.dead == 1).all()
    assert np.allclose(run.loss, 2.0)


def test_data_that_are_not_separable_still_run():
    """Neurons slide along walls; small steps of gradient descent go back and forth across them."""
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(8, 3)), rng.choice([-1, 1], 8)
    W, s = rng.normal(size=(6, 3)), rng.choice([-1, 1], 6)
    run = ea.flow(X, y, W, s, -8.0, until=1e3, observations=[0.0, 2.0, 5.0, 1e3])
    assert bool(run.converged)
    assert run.note == ""
    assert (np.diff(run.loss) < 0).all()
    first = np.exp(-8.0) * W
    second = s * np.linalg.norm(first, axis=1)
    steps = {"step_size": 1.6e-3, "observations": [0, 10_000, 25_000]}  # a mean of 8: times are 8 as long
    slow = ea.descent(X, y, first, second, **steps)
    # Errors of order 1e-3 from both: the step, and walls of width 1e-4.
    assert np.allclose(run.loss[:3], 8 * slow.loss, rtol=1e-2)
    with pytest.raises(ValueError, match="method = 'classes'"):
        ea.flow(X, y, W, s, -8.0, until=3.0, method="classes")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"until": 0.0}, "until = 0"),
        ({"until": 1e301}, "until"),
        ({"until": "a"}, "until = 'a'"),
        ({"until": None}, "until = None"),
        ({"log_scale": np.nan}, "log_scale = nan"),
        ({"log_scale": [1]}, "log_scale = "),
        ({"switch_error": -1.0}, "switch_error = -1.0: must be a number in"),
        ({"switch_error": 0}, "switch_error = 0"),
        ({"switch_error": np.nan}, "switch_error = nan"),
        ({"switch_error": 0.2}, "switch_error = 0.2"),
        ({"tolerance": "a"}, "tolerance = 'a'"),
        ({"observations": "a"}, "observations = 'a'"),
        ({"observations": 2.5}, "observations = 2.5"),
        ({"observations": [[1], [2, 3]]}, "observations = "),
        ({"observations": [1j]}, "observations = "),
        ({"observations": True}, "observations = True"),
        ({"loss": [1]}, "loss = "),
        ({"method": "matrix"}, "method = 'matrix'"),
        ({"observations": 1}, "observations = 1"),
        ({"observations": [-1.0]}, "observations"),
        ({"loss": "hinge"}, "loss = 'hinge'"),
    ],
)
def test_bad_arguments(change, message):
    with pytest.raises(ValueError, match=message):
        ea.flow(
            **{"X": [[1, 0]], "y": [1], "directions": [[1, 1]], "signs": [1], "log_scale": -3.0, **change}
        )


def test_states_within_a_step_at_the_limit_of_stability_stay_between_its_ends():
    # the flow never raises the loss; the interpolant of long explicit steps did so by exp(1e117)
    rng = np.random.default_rng(2)
    X, y = 5e-3 * rng.normal(size=(20, 4)), np.arange(20) % 2
    problem = ea.Problem.from_data(X, y, width=14, horizon=1e4, observations=28)
    run = problem.simulate(rng=2, tolerance=1e-3)
    # 10 tolerances of log ‖w‖² move margins of order 5 by a tenth at most
    assert float(run.log_loss.diff("time").max()) < 0.1
