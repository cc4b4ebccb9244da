"""A Dask cluster of real processes on loopback gives the same records, also when a worker is killed."""

import subprocess
import sys
import time
from dataclasses import replace

import pytest
from driver import LONG, environment

from firstlight.study.engines import Cluster
from firstlight.study.run import advance, dataset, run
from firstlight.study.store import Store

pytest.importorskip("distributed")
STUDY = replace(LONG, name="tiny/cluster", fixed={"sleep": 0.03}, trials=3)


@pytest.fixture(autouse=True)
def without_dask():
    """Here it is there."""


def start(*arguments):
    command = [sys.executable, "-m", "dask", *map(str, arguments)]
    return subprocess.Popen(command, env=environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


@pytest.fixture
def cluster(tmp_path):
    """Yield (scheduler file, processes): a scheduler, and two workers that nobody restarts."""
    file = tmp_path / "scheduler.json"
    common = ("--scheduler-file", file, "--no-dashboard")
    processes = [start("scheduler", "--host", "127.0.0.1", "--port", 0, *common)]
    options = ("--nthreads", 1, "--no-nanny", "--local-directory", tmp_path)
    processes += [start("worker", *options, *common) for _ in range(2)]
    yield file, processes
    for process in processes:
        process.kill()  # asked to end, they wait for one another for seconds
        process.wait()


def connect(file):
    """Return the scheduler's address once both workers are there."""
    from distributed import Client

    limit = time.monotonic() + 60
    while not file.exists():
        assert time.monotonic() < limit, "no scheduler"
        time.sleep(0.1)
    with Client(scheduler_file=str(file), set_as_default=False) as client:
        client.wait_for_workers(2, timeout=60)
        return client.scheduler.address


@pytest.mark.slow
def test_a_cluster_gives_the_same_bits_and_survives_a_killed_worker(cluster, tmp_path):
    file, processes = cluster
    machine = Cluster(connect(file))
    seen = []

    def tell(task, outcome):
        seen.append(outcome.computed)
        if outcome.computed == 20:
            processes[1].kill()

    with Store(tmp_path / "cluster.sqlite", write=True) as store:
        outcome = advance(STUDY, store, machine, tell=tell)
        remote = dataset(STUDY, store)
    assert (outcome.computed, outcome.failed) == (STUDY.records, 0)
    assert outcome.deaths == 1
    local = run(STUDY, tmp_path / "local.sqlite", workers=0)
    assert remote.attrs["fingerprint"] == local.attrs["fingerprint"]
