"""Every Problem and law of data compares, hashes and pickles by its fields, whatever they hold."""

import copy
import multiprocessing
import pickle
from concurrent.futures import ProcessPoolExecutor
from dataclasses import fields, replace
from functools import cache, partial
from itertools import pairwise

import numpy as np
import pytest
from problems import addressed, cubic, everything, factories, mixture, registered, scaled, sent_back, special

from firstlight.data.covariance import Spiked
from firstlight.data.labels import Regression
from firstlight.maths.equality import ByValue
from firstlight.maths.losses import Loss
from firstlight.one_step import Problem as OneStep
from firstlight.phase_transition import Problem as Phase
from firstlight.study.record import address
from firstlight.unseen_classes.table import TableProblem


@cache
def built():
    """Build the registered problems once; tests change none of them."""
    return registered()


def test_every_registered_problem_is_among_them():
    classes = {factory for factory in factories() if isinstance(factory, type)}
    assert len(factories()) >= 19
    assert classes <= {type(problem) for problem in built()} | {TableProblem}  # which needs a table


def test_equal_problems_are_equal_and_hash_alike():
    once, twice = [*built(), *special()], everything()
    for a, b in zip(once, twice, strict=True):
        assert a == b
        assert hash(a) == hash(b)
        assert isinstance(a, ByValue)
        assert type(a).__eq__ is ByValue.__eq__  # no dataclass has written its own over it
        assert a != object()
    distinct = {address(problem) for problem in built()}
    assert len({*built(), *twice[: len(built())]}) == len(distinct)


def test_a_round_trip_changes_nothing():
    for value in [*built(), *special()]:
        known = hash(value), addressed(value)
        for again in (pickle.loads(pickle.dumps(value)), copy.copy(value), copy.deepcopy(value)):
            assert again == value
            assert (hash(again), addressed(again)) == known


def test_what_was_computed_on_the_way_does_not_count():
    problem, fresh = Phase(dimension=60, steps=2), Phase(dimension=60, steps=2)
    assert problem.directions.hard.shape == (1, 1)  # cached in the one, not yet in the other
    assert problem == fresh
    assert len(pickle.dumps(problem)) == len(pickle.dumps(fresh))
    assert pickle.loads(pickle.dumps(problem)).directions.hard.tolist() == problem.directions.hard.tolist()


def test_a_spawned_process_receives_and_returns_equal_problems():
    values = [*built(), *special()]
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        back, equal, addresses = pool.submit(sent_back, values).result()
    assert all(equal)
    assert back == values
    assert addresses == [addressed(value) for value in values]


def changed(value):
    """Return a value of the same kind that differs in one entry."""
    if isinstance(value, np.ndarray):
        other = value.copy()
        other.flat[-1] = np.nextafter(other.flat[-1], np.inf)
        return other
    return np.nextafter(value, np.inf)


@pytest.mark.parametrize("seed", range(5))
def test_one_changed_entry_makes_a_difference(seed):
    rng = np.random.default_rng(seed)
    law = Spiked(rng.random(3), np.linalg.qr(rng.standard_normal((8, 3)))[0], float(rng.random()))
    for item in fields(law):
        other = replace(law, **{item.name: changed(getattr(law, item.name))})
        assert other != law
        assert address(other) != address(law)
    assert mixture(seed) == mixture(seed) != mixture(seed + 1)
    problems = [
        OneStep.scaled(dimension=20, width=10, samples=10, alpha=0.5, beta=beta) for beta in rng.random(4)
    ]
    assert all(a != b for a, b in pairwise(problems))
    assert len(set(problems * 2)) == 4


def test_zeros_and_undefined_numbers():
    assert Regression([0.0, 1.0]) == Regression([-0.0, 1.0])
    assert hash(Regression([0.0, 1.0])) == hash(Regression([-0.0, 1.0]))
    loss = Loss("odd", partial(cubic, np.array([np.nan])), cubic, partial(scaled, float("nan")))
    assert loss == pickle.loads(pickle.dumps(loss))
