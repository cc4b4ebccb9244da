"""The largest start that aligns first, by training; rows to drop, by all subsets."""

from itertools import combinations

import numpy as np
import pytest

from firstlight.early_alignment import Problem, largest_scale, rows_to_drop, separability
from firstlight.early_alignment.experiment.own_data import descend
from firstlight.early_alignment.theory.own_data import course


@pytest.mark.parametrize("seed", range(3))
def test_training_from_the_largest_scale_turns_first(seed):
    """At t95 outputs are 0.01 within a tenth: the path neglects terms of relative order 0.01 × time."""
    problem = Problem(samples=16, dimension=5, width=24, mu=0.2)
    X, y, W, v = problem.draw(seed)
    X = X / np.sqrt((X**2).sum(axis=1).mean())
    W, signs = W / np.linalg.norm(W, axis=1, keepdims=True), np.sign(v)
    scale, way = largest_scale(X, y, W, signs), course(X, y, W, signs)
    times = np.array([0.0, way.time])
    live = way.path.death_time > way.time
    expected = way.directions()[live]

    def turned(size):
        path = descend(X, y, W, signs, size, times)
        return path.output, np.quantile(np.einsum("jd,jd->j", path.directions[-1][live], expected), 0.1)

    output, cosine = turned(scale)
    assert output == pytest.approx(0.01, rel=0.1)
    assert cosine > 0.999
    # a start twenty times as large would have outputs of 4, were it not that it fits before it has turned
    assert turned(20 * scale)[0] > 0.3


def test_outputs_stay_below_from_the_start_on():
    """Also where neurons die: at the end alone outputs were up to e⁴⁰ times smaller than on the way there."""
    for seed in range(100):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(int(rng.integers(1, 6)), 3)), -1 if seed % 2 else 1
        labels = np.where(rng.random(len(X)) < 0.8, y, -y)
        W, signs = rng.normal(size=(3, 3)), rng.choice([-1, 1], 3)
        scale, length = largest_scale(X, labels, W, signs), np.sqrt((X**2).sum(axis=1).mean())
        way = course(X / length, labels, W, signs)
        start = np.full(3, np.log(scale * np.sqrt(length)))
        if np.isfinite(scale):  # else all are dead
            outputs = [way.path.log_output(t, start) for t in np.linspace(0, way.time, 40)]
            # Between the ends they are a little larger in 1 of 3000 problems, by 0.2 %.
            assert max(outputs) == pytest.approx(np.log(0.01), abs=0.005)


def smallest(wrong):
    rows = range(len(wrong))
    for count in range(len(wrong)):
        for gone in combinations(rows, count):
            left = np.delete(rows, gone)
            if not wrong[np.ix_(left, left)].any():
                return count
    return len(wrong) - 1


def test_rows_to_drop_beside_all_subsets():
    rng, more = np.random.default_rng(0), []
    for _ in range(60):
        n = int(rng.integers(4, 11))
        y = np.where(np.arange(n) % 3, 1, -1)
        X = rng.normal((1.2, 0, 0), size=(n, 3)) * y[:, None]  # most pairs are right
        dropped = rows_to_drop(X, y)
        signed = X * (y / np.linalg.norm(X, axis=1))[:, None]
        wrong = (signed @ signed.T <= 0) & ~np.eye(n, dtype=bool)
        best, left = smallest(wrong), np.delete(np.arange(n), dropped.rows)
        assert not wrong[np.ix_(left, left)].any()
        assert all(wrong[row, left].any() for row in dropped.rows)  # none could come back
        assert dropped.at_least <= best <= len(dropped.rows)
        if len(left) > 1:
            assert dropped.separability == pytest.approx(separability(X[left], y[left]))
        more.append(len(dropped.rows) - best)
    # greedy is no proof of the fewest: here it is one row off in at most a tenth of the cases
    assert max(more) <= 1
    assert np.mean(more) <= 0.1


def test_separable_rows_are_all_kept_and_bad_input_is_refused():
    assert rows_to_drop(np.eye(2) + 0.1, [1, 1]).rows.size == 0
    assert rows_to_drop(np.eye(2) + 0.1, [1, 1], mu=0.9).rows.size == 1
    for change in ({"mu": -0.1}, {"mu": 1.0}):
        with pytest.raises(ValueError, match="mu = "):
            rows_to_drop(np.eye(2), [1, -1], **change)
    with pytest.raises(ValueError, match=r"output = 0\.0"):
        largest_scale(np.eye(2), [1, -1], np.eye(2), [1, -1], output=0.0)


@pytest.mark.parametrize("factor", [1e-3, 255.0, 1e5])
def test_the_largest_scale_follows_the_units_of_the_rows(factor):
    rng = np.random.default_rng(5)
    X, W, signs = rng.normal(size=(8, 4)), rng.normal(size=(12, 4)), rng.choice([-1, 1], 12)
    y = np.where(X @ [1.0, 0.5, 0.0, 0.0] > 0, 1, -1)
    plain, scaled = largest_scale(X, y, W, signs), largest_scale(factor * X, y, W, signs)
    assert scaled * np.sqrt(factor) == pytest.approx(plain, rel=1e-9)  # rounding of a unit
