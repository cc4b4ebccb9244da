"""Flow towards a finite minimum of the loss, where the equations are stiff, and along walls."""

import numpy as np
import pytest
from scipy.integrate import quad

from firstlight import early_alignment as ea
from firstlight.early_alignment.experiment.solver import System, solve

CONTRADICTORY = [[1]] * 3, [1, 1, -1]  # the least of 2 e^-f + e^f is 2 √2, at f = log(2)/2


@pytest.mark.parametrize("until", [1e6, 1e300])
def test_contradictory_labels_end_at_the_minimum(until):
    run = ea.flow(*CONTRADICTORY, [[1], [2], [-1]], [1, -1, 1], -5.0, until=until, observations=8)
    assert bool(run.converged)
    assert run.note == ""
    assert float(run.loss[-1]) == pytest.approx(2 * np.sqrt(2), rel=1e-12)  # quadratic in an error of 1e-8
    assert float(run.output_plus[-1]) == pytest.approx(np.log(2) / 2, abs=1e-7)  # tolerance 1e-8
    assert run.evaluations < 3000  # an explicit method takes about one for each unit of time


def test_a_class_that_goes_on_growing_beside_a_minimum():
    """Two neurons on two axes: one at its minimum, the other with f' = 2f e^-f for ever."""
    X, y = [[1, 0]] * 3 + [[0, 1]], [1, 1, -1, 1]
    run = ea.flow(X, y, [[1, 0], [0, 1]], [1, 1], -5.0, until=1e6, observations=4)
    assert bool(run.converged)
    f = float(run.output_plus[-1])
    time = quad(lambda g: np.exp(g) / (2 * g), np.exp(-10), f, limit=500, points=[1e-3, 1, 10])[0]
    assert time == pytest.approx(1e6, rel=1e-5)  # f to 1e-6, of the switch, and e^f is relative to that
    assert float(run.loss[-1]) == pytest.approx(2 * np.sqrt(2) + np.exp(-f), rel=1e-12)


def test_what_stopped_it_is_told(monkeypatch):
    monkeypatch.setattr("firstlight.early_alignment.experiment.solver._IMPLICIT_BUDGET", 20)
    run = ea.flow(*CONTRADICTORY, [[1]], [1], -5.0, observations=8)
    assert not bool(run.converged)
    assert "stiff" in run.note
    assert "slide" not in run.note
    assert np.isnan(run.t1)
    assert np.isfinite(run.t2)  # that was before


def test_sliding_and_a_minimum_together():
    """Random labels: neurons slide along walls and end where nothing moves. Descent ends there too."""
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(14, 3)), rng.choice([-1, 1], 14)
    W, s = rng.normal(size=(3, 3)), rng.choice([-1, 1], 3)
    run = ea.flow(X, y, W, s, -4.0, until=1e6, observations=[0.0, 10.0, 1e6])
    assert bool(run.converged)
    assert run.evaluations < 30_000
    first = np.exp(-4.0) * W
    second = s * np.linalg.norm(first, axis=1)
    slow = ea.descent(
        X, y, first, second, step_size=0.014, observations=[0, 10_000]
    )  # a mean of 14: η = 1e-3
    assert float(run.loss[1]) == pytest.approx(14 * float(slow.loss[1]), rel=2e-3)  # both of order 1e-3
    assert run.t1 == np.inf  # one that slides is in no S±


class Held(System):
    """A stiff decay beside a clock, with an event at each millionth of its time."""

    def __init__(self, end=1e-6):
        self.end = end

    def slope(self, tau, state):
        return np.array([-1e4 * (state[0] - 1), 1.0])

    def look(self, state):
        return np.array([state[1] - self.end]), np.zeros(2)

    def after(self, state, changed):
        return state, Held(max(self.end, state[1]) + (1e-6 if state[1] > 1 else 1.0))


def test_events_without_end_end():
    """Each costs the implicit method far more than its evaluations: 13 000 took half a minute."""
    run = solve(Held(), np.zeros(2), np.array([0.0, 50.0]), 1e-9)
    assert "budget" in run.note
    assert run.evaluations < 20_000
