"""Gradient descent at the edges: starts of extreme size, odd numbers of outputs, what batches leave over."""

from itertools import islice

import numpy as np
import pytest

from firstlight.early_alignment.definitions.start import gaussian_start, polar
from firstlight.early_alignment.experiment.descent import descent, iterations
from firstlight.network.descent import passes

X, Y = np.array([[1, 0], [1, 1], [-1, -0.5]]), np.array([1.0, 1.0, -1.0])
START, SECOND = np.array([[1.0, 2.0], [-1.0, 1.0], [-1.0, -2.0]]), np.array([1.0, 1.5, -1.0])


def run(first=START, second=SECOND, **change):
    options = {"step_size": 0.01, "steps": 50, "observations": [50], "neurons": True}
    return descent(X, Y, first, second, **{**options, **change})


@pytest.mark.parametrize("scale", [1e-280, 1e-200, 1e-6, 1e100, 1e200])
def test_polar_form_of_any_size(scale):
    rows, log_norms, ratios = polar(scale * START, scale * SECOND)
    norms = np.linalg.norm(START, axis=1)
    # Three roundings each; the logarithm of 1e-280 is 645, with a rounding of 1e-13.
    assert rows == pytest.approx(START / norms[:, None], abs=1e-15)
    assert ratios == pytest.approx(SECOND / norms, rel=1e-15)
    assert log_norms == pytest.approx(np.log(norms) + np.log10(scale) * np.log(10), abs=1e-12)


def test_a_start_of_1e_200_grows_as_the_linearised_network():
    """As long as outputs are nothing, every datum pulls with slope 1 and all layers scale together."""
    end = run(1e-200 * START, 1e-200 * SECOND).isel(time=0)
    rows, second = START.copy(), SECOND.copy()
    for _ in range(50):
        pull = (rows @ X.T > 0) * Y @ X / 3
        rows, second = rows + 0.01 * second[:, None] * pull, second + 0.01 * (rows * pull).sum(axis=1)
    expected = polar(rows, second)
    assert end.direction.values == pytest.approx(expected[0], abs=1e-13)  # the rounding of 50 steps
    assert end.log_length.values == pytest.approx(expected[1] - 200 * np.log(10), abs=1e-12)


def test_starts_beyond_floating_point_are_refused():
    for scale in (1e160, 1e200, 1e300):
        with pytest.raises(ValueError, match="first_layer, second_layer: entries up to"):
            run(scale * START, scale * SECOND)
    rows = START * np.array([[1], [1e-300], [1]])
    with pytest.raises(ValueError, match=r"first_layer\[1\]: its largest entry is 1e-300"):
        run(rows)
    assert np.isfinite(run(1e-280 * START, SECOND).log_length).all()


def test_outputs_are_even_and_include_both_ends():
    assert iterations(7, 3).tolist() == [0, 4, 7]
    assert iterations(3, 100).tolist() == [0, 1, 2, 3]
    assert iterations(np.int64(5), np.int64(2)).tolist() == [0, 5]
    assert iterations(5, [9.0, 2.0]).tolist() == [2, 9]


@pytest.mark.parametrize("steps", [2.5, 3.0, True, "a", None, np.nan, 0, -1, [3]])
def test_steps_that_are_no_number_of_steps(steps):
    with pytest.raises(ValueError, match=r"^steps = "):
        iterations(steps, 3)


@pytest.mark.parametrize(
    "outputs",
    [
        1,
        0,
        True,
        2.5,
        "a",
        None,
        [],
        [1.7],
        [-1],
        [np.nan],
        [1e30],
        [True],
        [[1]],
        [[1], [1, 2]],
        ["a"],
        [1j],
    ],
)
def test_outputs_that_are_no_iterations(outputs):
    with pytest.raises(ValueError, match=r"^observations = "):
        iterations(3, outputs)


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("step_size", ["a", None, [1], np.nan, np.inf, 1j, True, -1, 0]),
        ("batch_size", [True, "a", 2.0, 0, 4, [1]]),
    ],
)
def test_training_names_what_it_refuses(name, values):
    for value in values:
        with pytest.raises(ValueError, match=f"^{name} = "):
            run(**{name: value})


def test_a_drawn_start_names_what_it_refuses():
    good = {"width": 3, "dimension": 2, "scale": 1e-6}
    for name, value in (("width", 2.5), ("width", "a"), ("dimension", 0), ("scale", np.nan), ("scale", -1)):
        with pytest.raises(ValueError, match=f"^{name} = "):
            gaussian_start(**{**good, name: value})


def test_what_batches_leave_over_changes_from_pass_to_pass():
    n, size, count = 10, 3, 400
    batches = passes(np.ones((n, 2)), np.arange(n), size, np.random.default_rng(0))
    used = [labels for _, labels in islice(batches, 3 * count)]
    assert {len(one) for one in used} == {size}
    whole = np.reshape(used, (count, 9))
    assert all(len(set(one)) == 9 for one in whole.tolist())  # nothing twice in a pass
    counts = np.bincount(whole.ravel(), minlength=n)
    # Each datum is left out with probability 1/10: 360 times in, standard deviation 6, here five of them.
    assert np.abs(counts - 360).max() < 30


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("size", [1e2, 1e8, 1e120])
def test_slopes_beyond_the_range_of_numbers_are_told(seed, size):
    """Outputs are finite where a step has gone far too far, but e^(-y f) is not, and nor is what it moves."""
    rng = np.random.default_rng(seed)
    X, y, W = rng.normal(size=(3, 2)), np.array([1, -1, -1]), rng.normal(size=(2, 2))
    with np.errstate(over="ignore"):
        run = descent(X, y, W, rng.normal(size=2), steps=2, step_size=size, observations=3)
    assert np.isfinite(run.loss[0])
    for name in ("loss", "direction_change", "norm_change", "log_norm"):
        assert np.isfinite(run[name]).all() or not run.converged


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("size", [1e2, 1e8, 1e120, 1e300])
@pytest.mark.parametrize("observations", [[2], [50], [2, 50]])
def test_a_run_that_is_seen_only_when_it_has_diverged_has_all_its_columns(seed, size, observations):
    rng = np.random.default_rng(seed)
    X, y, W = rng.normal(size=(3, 2)), np.array([1, -1, -1]), rng.normal(size=(2, 2))
    v = rng.normal(size=2)
    run, early = (
        descent(X, y, W, v, step_size=size, observations=seen, neurons=True) for seen in (observations, [0])
    )
    assert set(run.data_vars) == set(early.data_vars)
    assert run.loss.shape == (len(observations),)
    assert np.isfinite(run.loss).all() or not run.converged


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("train_second", [True, False])
def test_a_row_that_a_step_makes_zero_is_dead(seed, train_second):
    """In numbers that a computer holds exactly: w - v x is 0, and stays so."""
    rng = np.random.default_rng(seed)
    n, D, h, unit = rng.integers(1, 4), rng.integers(2, 5), rng.integers(1, 4), 2.0**-30
    X, y = np.zeros((n, D)), np.ones(n)
    X[0, 0], X[1:, -1], y[0] = 1.0, 2.0, -1.0
    W, v = rng.integers(-2, 3, (h, D)) + 0.0, rng.integers(-2, 3, h) + 0.0
    W[0], v[0] = np.eye(D)[0], 1.0
    W[~W.any(axis=1)] = 1.0
    start = (unit * W, unit * v) if train_second else (W, v)
    X = X if train_second else X * 2.0**-60  # so small that slopes are those at 0
    size = float(n) if train_second else n * 2.0**60
    run = descent(
        X,
        y,
        *start,
        steps=4,
        step_size=size,
        observations=[0, 1, 2, 4],
        neurons=True,
        train_second=train_second,
    )
    assert run.converged
    assert np.isneginf(run.log_length[1:, 0]).all()
    assert not run.direction[1:, 0].any()
    assert (run.dead[1:] > 0).all()
    assert np.isfinite(run[["loss", "norm_change", "direction_change"]]).all().to_array().all()
