"""One computation for many readers: who comes while it is given up starts another."""

import asyncio
from concurrent.futures import ThreadPoolExecutor

import pytest

from firstlight.explore.shared import Shared
from firstlight.explore.workers import Pool, WorkerDied


def run(scenario):
    """Run it in a thread of its own: a browser's tests leave a loop running in this one."""
    return ThreadPoolExecutor(1).submit(asyncio.run, asyncio.wait_for(scenario(), 20)).result()


def table_of(known):
    """Return what the laboratory does: follow the job of a name, or start one."""
    jobs = {}

    def follow(name, source):
        def ended(last):
            jobs.pop(name, None)
            known.append(last)

        if name not in jobs:
            jobs[name] = Shared(source, ended)
        return jobs[name].follow()

    return jobs, follow


def test_who_comes_while_a_job_is_being_cancelled_gets_a_whole_answer():
    async def scenario():
        known = []
        jobs, follow = table_of(known)
        cancelled, stopped = asyncio.Event(), asyncio.Event()

        async def slow():
            yield "coarse"
            try:
                await asyncio.Event().wait()
            finally:
                cancelled.set()
                await stopped.wait()  # a child takes a moment to drop what it does

        async def quick():
            yield "coarse"
            stopped.set()
            for _ in range(5):  # the first job ends in the midst of the second
                await asyncio.sleep(0)
            assert list(jobs) == ["view"]
            yield "fine"

        first = follow("view", slow())
        assert await anext(first) == "coarse"
        await first.aclose()
        await cancelled.wait()
        second = [item async for item in follow("view", quick())]
        return second[-1], known, jobs

    assert run(scenario) == ("fine", [None, "fine"], {})


def test_who_comes_back_at_once_finds_the_same_job():
    async def scenario():
        known = []
        _, follow = table_of(known)
        more = asyncio.Event()

        async def slow():
            yield "coarse"
            await more.wait()
            yield "fine"

        first = follow("view", slow())
        assert await anext(first) == "coarse"
        await first.aclose()
        again = follow("view", None)
        assert await anext(again) == "coarse"
        await asyncio.sleep(0.2)  # longer than a job is kept without readers
        more.set()
        return [item async for item in again], known

    assert run(scenario) == (["fine"], ["fine"])


def test_a_closed_pool_starts_no_child_and_sends_all_away():
    async def scenario():
        pool = Pool(1)
        busy = await pool._take("anything")
        waiting = [asyncio.create_task(pool.one(print, "never")) for _ in range(2)]
        await asyncio.sleep(0)
        pool.close()
        answers = await asyncio.gather(*waiting, return_exceptions=True)
        assert [type(answer) for answer in answers] == [WorkerDied, WorkerDied]
        with pytest.raises(WorkerDied):
            await pool.one(print, "too late")
        assert pool.processes() == []
        assert not busy.process.is_alive()

    run(scenario)
