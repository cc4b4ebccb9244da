"""Kill it at any moment: nothing is lost, nothing is doubled, the numbers are those of an undisturbed run."""

import json
import multiprocessing
import os
import signal
import sqlite3
import subprocess
import time

import numpy as np
import pytest
from driver import LONG, call, command, environment, run_long
from typer.testing import CliRunner

from firstlight.cli.study import app
from firstlight.study.run import dataset, run
from firstlight.study.store import Store

SLOW = """
name = "tiny/slow"
description = "long trials"
problem = "tiny"
trials = {trials}
fixed = {{ sleep = {sleep} }}
axes.rate = [1.0, 2.0]
"""


def count(path):
    """Count the records from outside, without our own code."""
    if not path.exists():
        return 0
    connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    try:
        return connection.execute("SELECT count(*) FROM records").fetchone()[0]
    except sqlite3.OperationalError:  # killed before the tables were made
        return 0
    finally:
        connection.close()


def status(path):
    """Return what `firstlight study status` prints, run in this process, which takes a second less."""
    return CliRunner().invoke(app, ["status", "--store", str(path)]).stdout


def wait_for(condition, seconds=60.0):
    limit = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < limit, "waited too long"
        time.sleep(0.002)


@pytest.mark.slow
def test_a_killed_run_resumes_to_the_same_bits(tmp_path):
    undisturbed = run(LONG, tmp_path / "undisturbed.sqlite", workers=0)
    path = tmp_path / "killed.sqlite"
    context = multiprocessing.get_context("forkserver")  # imports once, then starts in milliseconds
    context.set_forkserver_preload(["firstlight.study.run"])
    rng, seen = np.random.default_rng(0), [0]
    for _ in range(25):
        process = context.Process(target=run_long, args=(path,))
        process.start()
        # One in four before any new record, the others some records later; then at no particular moment.
        more = int(rng.integers(0, 12)) if rng.random() < 0.75 else 0
        if more:
            wait_for(lambda target=seen[-1] + more: count(path) >= target)
        time.sleep(rng.uniform(0.0, 0.01 if more else 0.2))
        process.kill()
        process.join()
        assert process.exitcode == -signal.SIGKILL
        seen.append(count(path))
    assert seen == sorted(seen)  # what was finished stays
    assert 0 < seen[-1] < LONG.records  # and the kills came while there was work left
    resumed = run(LONG, path, workers=0)
    assert resumed.attrs["fingerprint"] == undisturbed.attrs["fingerprint"]
    assert count(path) == LONG.records
    with Store(path) as store:
        assert store.check() == "ok"
        outcomes = [run["outcome"] for run in store.runs()]
    assert outcomes[-1] == "complete"
    assert set(outcomes[:-1]) <= {None}


def children(process):
    import psutil

    return psutil.Process(process.pid).children(recursive=True)


@pytest.mark.slow
def test_a_killed_driver_takes_its_workers_along_and_resumes(tmp_path):
    study, path = tmp_path / "slow.toml", tmp_path / "s.sqlite"
    study.write_text(SLOW.format(trials=10, sleep=0.2))
    process = subprocess.Popen(command("run", study, "--store", path, "--workers", 2), env=environment())
    wait_for(lambda: count(path) >= 4)
    workers = children(process)
    process.kill()
    process.wait()
    assert len(workers) >= 2
    wait_for(lambda: not any(worker.is_running() and worker.status() != "zombie" for worker in workers))
    done = call("run", study, "--store", path, "--workers", 2)
    assert done.returncode == 0, done.stderr
    assert "0 failed" in done.stdout
    assert count(path) == 22
    assert "integrity ok" in status(path)


@pytest.mark.slow
def test_ctrl_c_stops_at_once_and_says_how_to_resume(tmp_path):
    """The trials sleep for a minute each; that the process ends at all within the wait shows the stop."""
    study, path = tmp_path / "slow.toml", tmp_path / "s.sqlite"
    study.write_text(SLOW.format(trials=2, sleep=60))
    process = subprocess.Popen(
        command("run", study, "--store", path, "--workers", 2),
        env=environment(), stderr=subprocess.PIPE, text=True, start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),  # a job may ignore it
    )  # fmt: skip
    # Wait until both workers sit in their minute: the workers exist, and none of them is importing any more.
    wait_for(lambda: len(children(process)) >= 2)
    time.sleep(3.0)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to the driver and its workers alike
    _, errors = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "To resume" in errors
    assert "run" in errors
    assert "Traceback" not in errors
    with Store(path) as store:
        assert store.runs()[-1]["outcome"] == "interrupted"
        assert store.check() == "ok"


def test_a_second_process_is_refused_while_the_first_writes(tmp_path):
    study, path = tmp_path / "slow.toml", tmp_path / "s.sqlite"
    study.write_text(SLOW.format(trials=1, sleep=0))
    with Store(path, write=True) as store:
        store.begin_run("tiny/other", "quick", "{}", "firstlight", 1)
        refused = call("run", study, "--store", path, "--workers", 0, "--wait", 0.1)
        assert refused.returncode == 2
        assert f"process {os.getpid()}" in refused.stderr
        assert "tiny/other" in refused.stderr
        assert "running" in status(path)  # readable all the while
    assert call("run", study, "--store", path, "--workers", 0, "--wait", 0.1).returncode == 0


@pytest.mark.slow
def test_two_processes_started_at_once_do_each_trial_once(tmp_path):
    study, path = tmp_path / "slow.toml", tmp_path / "s.sqlite"
    study.write_text(SLOW.format(trials=5, sleep=0.05))
    line = command("run", study, "--store", path, "--workers", 0, "--wait", 60, "--json")
    both = [subprocess.Popen(line, env=environment(), stdout=subprocess.PIPE, text=True) for _ in range(2)]
    said = [json.loads(process.communicate(timeout=120)[0]) for process in both]
    assert sorted(each["computed"] for each in said) == [0, 12]
    assert sorted(each["kept"] for each in said) == [0, 12]
    assert said[0]["fingerprint"] == said[1]["fingerprint"]


def test_a_killed_run_is_reported_as_such(tmp_path):
    path = tmp_path / "s.sqlite"
    with Store(path, write=True) as store:
        store.begin_run("tiny/long", "quick", "{}", "firstlight", 1)
        store._connection.execute("UPDATE runs SET process = 999999999")
    assert "killed; run again to resume" in status(path)
    with Store(path) as store:
        assert dataset(LONG, store)["status"].isin(["missing", "unplanned"]).all()
