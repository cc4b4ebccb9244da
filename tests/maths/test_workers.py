"""Threads beside BLAS: results in order, BLAS on one thread meanwhile, memory that is kept."""

from functools import partial
from threading import get_ident

import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from firstlight.data.multi_index import MultiIndex
from firstlight.maths.workers import Workers
from firstlight.phase_transition import Student, delta_alg, dmft

BASE = Student("tanh_squared", 1.0, 0.8)


def blas_threads():
    return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}


def test_blas_keeps_to_one_thread_until_the_workers_leave():
    with threadpool_limits(2, "blas"):
        with Workers() as workers:
            assert workers.count == 2
            assert blas_threads() == {1}
            assert workers.map(lambda item: (item, blas_threads()), range(5)) == [(i, {1}) for i in range(5)]
            assert workers.together(blas_threads) == {2}
            assert blas_threads() == {1}
        assert blas_threads() == {2}


def test_one_thread_needs_no_pool():
    with threadpool_limits(1, "blas"), Workers() as workers:
        assert workers.count == 1
        assert workers.map(abs, [-1, 2]) == [1, 2]


def test_a_single_item_runs_where_it_was_asked_for():
    with threadpool_limits(2, "blas"), Workers() as workers:
        assert workers.map(lambda _: get_ident(), iter([0])) == [get_ident()]
        assert get_ident() not in workers.map(lambda _: get_ident(), iter([0, 1]))
        assert workers.map(abs, iter([])) == []


@pytest.mark.parametrize(
    "job", [delta_alg, partial(dmft, student=BASE, samples_per_dimension=3.0, training=0.25, steps=2)]
)
def test_small_theories_keep_blas_to_one_thread(job, monkeypatch):
    seen = []
    law = MultiIndex.law
    monkeypatch.setattr(MultiIndex, "law", lambda *given: seen.append(blas_threads()) or law(*given))
    with threadpool_limits(2, "blas"):
        job("sign(abs(z1) - 1.3)")
        assert blas_threads() == {2}
    assert seen
    assert set(map(tuple, seen)) == {(1,)}


def test_scratch_is_kept_and_grows():
    with Workers() as workers:
        first = workers.scratch("a", 3, 4)
        first[:] = 7.0
        assert (workers.scratch("a", 4, 3) == 7.0).all()
        assert workers.scratch("a", 2, 4).base is first.base
        larger = workers.scratch("a", 5, 4)
        assert larger.shape == (5, 4)
        assert larger.base is not first.base
        assert workers.scratch("b", 2, 4).base is not larger.base


def test_workers_within_workers_are_the_same():
    with threadpool_limits(2, "blas"):
        with Workers() as outer:
            with Workers() as inner:
                assert inner.count == 2
                # a thread of the pool has one core
                assert inner.map(lambda _: Workers().count, [0, 1]) == [1, 1]
            assert blas_threads() == {1}  # the inner block ends nothing
            assert outer.map(abs, [-3]) == [3]
        assert blas_threads() == {2}
        assert Workers().count == 2
