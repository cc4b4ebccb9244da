"""Questions of design by `optimise`: the double-descent peak, α at equal strength, width against cost."""

from functools import partial

import numpy as np

import firstlight
from firstlight.one_step import Problem


def simulated(build, name, values, trials, what="test_error"):
    """Mean over trials on the same streams, at each value."""
    return [
        np.mean([float(build(**{name: value}).simulate(i)[what]) for i in range(trials)]) for value in values
    ]


def test_the_peak_lies_where_width_reaches_the_samples():
    build = partial(Problem.scaled, dimension=50, samples=50, alpha=0.5, beta=0.5, ridge=1e-4)
    optimum = firstlight.optimise(build, {"width": (10, 200)}, maximise=True)
    assert abs(optimum.best["width"] - 50) <= 3  # k = m up to O(1/m)
    assert optimum.border == ()
    before, peak, after = simulated(build, "width", (25, optimum.best["width"], 100), 12)
    assert peak > 1.5 * before
    assert peak > 1.5 * after


def test_strength_is_best_put_into_the_data_where_labels_follow_the_spikes():
    build = partial(Problem.scaled, dimension=60, samples=90, width=60, beta=0.6, label_direction="spikes")
    optimum = firstlight.optimise(build, {"alpha": (0.0, 1.0)}, "relative_test_error")
    assert optimum.best["alpha"] == 0.0
    assert optimum.border == ("alpha",)
    data, both, step = simulated(build, "alpha", (0.0, 0.5, 1.0), 12, "relative_test_error")
    assert data < both < step  # by theory 0.5, 0.9 and 1.1


def test_the_smallest_width_that_is_nearly_as_good():
    build = partial(Problem.scaled, dimension=50, samples=120, alpha=0.5, beta=0.5, ridge=1e-2)
    optimum = firstlight.optimise(build, {"width": (8, 400)})
    least = round(optimum.flat["width"][0])
    assert least < 0.7 * optimum.best["width"]
    small, enough, best = simulated(build, "width", (least // 4, least, optimum.best["width"]), 12)
    assert enough < 1.1 * best  # 5 % by theory, and 12 paired trials
    assert small > 1.1 * best
