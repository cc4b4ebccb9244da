"""Threads beside BLAS: results in order, BLAS on one thread meanwhile, memory that is kept."""

from threadpoolctl import threadpool_info, threadpool_limits

from firstlight.maths.workers import Workers


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
                assert inner.map(lambda _: Workers().count, [0]) == [1]  # a thread of the pool has one core
            assert blas_threads() == {1}  # the inner block ends nothing
            assert outer.map(abs, [-3]) == [3]
        assert blas_threads() == {2}
        assert Workers().count == 2
