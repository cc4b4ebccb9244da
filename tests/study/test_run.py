"""Running studies: resuming, extending, engines, failures, deaths, refinement; always the same numbers."""

import builtins
import os
import sqlite3
import subprocess
import sys
import textwrap
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
import xarray as xr
from driver import environment
from tiny import COUNT_THREADS, Tiny

from firstlight import demo
from firstlight.maths.rng import stream
from firstlight.show.summary import summarise, table, verdict
from firstlight.study import schedule
from firstlight.study.collect import collect, failures
from firstlight.study.engines import Cluster, Local, Serial, engine
from firstlight.study.record import address
from firstlight.study.run import advance, bisect, dataset, run
from firstlight.study.schedule import Outcome
from firstlight.study.spec import Arm, FigureSpec, Refine
from firstlight.study.store import DamagedRecords, Store, StoreError
from firstlight.study.sweep import Study
from firstlight.study.trial import check

STUDY = Study("tiny/x", "x", Tiny, axes={"rate": [0.5, 1.0, 2.0], "samples": [10, 100]}, trials=3)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "store.sqlite"


def test_a_study_is_the_trials_it_says(path):
    results = run(STUDY, path, workers=0)
    assert results["mean"].dims == ("arm", "rate", "samples", "trial")
    problem = Tiny(1.0, 100)
    rng = stream(0, "point", address(problem).hex(), "trial", 2)
    by_hand = float(problem.simulate(rng)["mean"])
    assert results["mean"].sel(arm="simulation", rate=1.0, samples=100, trial=2) == by_hand
    assert results["mean"].sel(arm="theory", rate=2.0, samples=10, trial=0) == 0.5
    assert results["status"].sel(arm="theory", trial=1).values.ravel().tolist() == ["unplanned"] * 6


def test_arms_are_paired(path):
    study = replace(STUDY, arms={"one": Arm("simulate"), "two": Arm("simulate", {"shift": 1.0})})
    results = run(study, path, workers=0)["mean"]
    # The shift is added to the very same draw, so only rounding remains.
    np.testing.assert_allclose(results.sel(arm="two") - results.sel(arm="one"), 1.0, rtol=1e-12)


def advanced(study, path):
    with Store(path, write=True) as store:
        return advance(study, store, Serial())


def test_what_is_there_is_kept_and_more_trials_extend(path):
    assert advanced(STUDY, path).computed == STUDY.records
    again = advanced(STUDY, path)
    assert (again.computed, again.kept) == (0, STUDY.records)
    more = advanced(replace(STUDY, trials=5), path)
    assert (more.computed, more.kept) == (12, STUDY.records)
    wider = advanced(replace(STUDY, axes={**STUDY.axes, "samples": [10, 100, 50]}), path)
    assert wider.computed == 3 * 4


def test_a_long_sweep_remembers_only_what_is_on_its_way(path, monkeypatch):
    monkeypatch.setattr(schedule, "_BATCH", 8)
    twice = {"one": Arm("simulate"), "two": Arm("simulate")}  # the same records
    study = replace(STUDY, axes={"rate": [1.0 + i for i in range(60)]}, arms=twice, trials=1)
    done = Outcome()
    with Store(path, write=True) as store:
        plan = schedule.Schedule(study, store, Serial(), done, lambda task, outcome: None)
        todo = plan._missing(study.points())
        for task in todo:
            plan._launch(task)
            plan._store(list(plan.flying))
            assert len(todo.gi_frame.f_locals["claimed"]) <= 8
    assert (done.computed, done.kept) == (60, 60)


def test_another_version_does_not_mix(path, monkeypatch):
    advanced(STUDY, path)
    monkeypatch.setattr(Tiny, "version", 2)
    assert advanced(STUDY, path).computed == STUDY.records


def test_engines_give_the_same_bits(path, tmp_path):
    fingerprints = [run(STUDY, path, workers=0).attrs["fingerprint"]]
    with ThreadPoolExecutor(2) as pool:
        fingerprints.append(run(STUDY, tmp_path / "threads.sqlite", executor=pool).attrs["fingerprint"])
    fingerprints.append(run(STUDY, tmp_path / "two.sqlite", workers=2).attrs["fingerprint"])
    assert len(set(fingerprints)) == 1


def test_every_trial_has_one_thread(path):
    """More would change the last bits of a matrix product with the machine it ran on."""
    study = Study("tiny/x", "x", Tiny, axes={"rate": [1.0]}, fixed={"samples": COUNT_THREADS}, trials=2)
    assert (run(study, path, workers=0)["mean"].sel(arm="simulation") == 1).all()


def _hold(count, seconds):
    """Keep so many numbers in the worker, and say which worker it is."""
    builtins.held = np.ones(count)
    time.sleep(seconds)
    return os.getpid()


def test_a_large_trial_after_a_small_one_is_not_taken_for_a_leak():
    """loky looks at the memory once a second, and lets a worker go that has grown by 300 MB."""
    pool = Local(1)
    try:
        pids = [
            pool.submit(_hold, *one).result() for one in ((1, 0.0), (1, 0.0), (45_000_000, 1.1), (1, 0.0))
        ]
    finally:
        pool.close()
    assert len(set(pids)) == 1


def test_a_trial_that_raises_is_noted_and_the_others_go_on(path):
    study = replace(STUDY, fixed={"broken_at": 1.0})
    outcome = advanced(study, path)
    assert (outcome.failed, outcome.computed, outcome.ok) == (6, 18, False)
    assert "this trial is broken on purpose" in outcome.messages[0]
    with Store(path) as store:
        data = dataset(study, store)
        assert len(failures(study, store)) == 6
        assert store.runs()[-1]["outcome"] == "6 failed"
    assert (data["status"].sel(arm="simulation", rate=1.0) == "failed").all()
    assert data["mean"].sel(arm="simulation", rate=1.0).isnull().all()
    assert advanced(study, path).failed == 6  # failures are tried again


@pytest.mark.slow
def test_a_worker_that_dies_is_replaced_and_the_culprit_found(path):
    study = Study(
        "tiny/x", "x", Tiny, axes={"rate": [1.0, 0.5, 2.0, 3.0]}, fixed={"deadly_at": 0.5}, trials=1
    )
    with Store(path, write=True) as store:
        outcome = advance(study, store, engine(workers=2))
        data = dataset(study, store)
    assert (outcome.failed, outcome.computed) == (1, 7)
    assert outcome.deaths >= 2
    assert "worker died" in outcome.messages[0]
    assert data["status"].sel(arm="simulation", trial=0).values.tolist() == ["ok", "failed", "ok", "ok"]


def test_a_study_refines_where_it_changes_most(path):
    rule = Refine("rate", "mean", "theory", budget=3)
    study = Study(
        "tiny/x", "x", Tiny, axes={"samples": [5, 6], "rate": [0.5, 1.0, 2.0]}, trials=2, refine=rule
    )
    results = run(study, path, workers=0)
    # 1/rate falls 1.0 on (0.5, 1); then 0.667 on (0.5, 0.75); then 0.5 on (1, 2): the middles of these.
    assert results["rate"].values.tolist() == [0.5, 0.625, 0.75, 1.0, 1.5, 2.0]
    again = run(study, path, workers=0)
    assert again.attrs["fingerprint"] == results.attrs["fingerprint"]
    xr.testing.assert_identical(results.drop_attrs(), again.drop_attrs())
    with Store(path) as store:
        assert store.counts()["tiny/x"][0] == 2 * 6 * 3


def test_bisection():
    rule = Refine("x", "y", "a", budget=1)
    assert bisect([0, 10], np.array([0.0, 1.0]), rule) == 5
    assert bisect([0, 1, 3], np.array([0.0, 1.0, 1.1]), rule) == 2  # there is no integer between 0 and 1
    assert bisect([0.0, 1.0, 2.0], np.array([0.0, np.nan, 2.0]), rule) is None
    assert bisect([0.0, 1.0], np.array([1.0, 1.0]), rule) is None
    assert bisect([1.0, 100.0], np.array([0.0, 1.0]), replace(rule, log=True)) == pytest.approx(10.0)


class Curves(Tiny):
    """Observables with dimensions of their own, whose lengths and labels differ from point to point."""

    def simulate(self, rng=None, **options):
        count = int(self.rate)
        return xr.Dataset({
            "curve": ("time", np.arange(count, dtype=float)),
            "plain": ("row", np.ones(count)),
            "whole": 3,
        }, {"time": 10 * np.arange(count)})  # fmt: skip


def test_ragged_observables_are_aligned_by_their_labels(path):
    study = Study("tiny/x", "x", Curves, axes={"rate": [3.0, 1.0]}, arms={"sim": Arm("simulate")}, trials=1)
    results = run(study, path, workers=0).isel(arm=0, trial=0)
    assert results["time"].values.tolist() == [0, 10, 20]
    np.testing.assert_array_equal(results["curve"], [[0, 1, 2], [0, np.nan, np.nan]])
    np.testing.assert_array_equal(results["plain"], [[1, 1, 1], [1, np.nan, np.nan]])
    assert results["whole"].dtype == int


def test_only_the_chosen_observables_are_kept(path):
    results = run(replace(STUDY, observables=["mean"]), path, workers=0)
    assert set(results.data_vars) == {"mean", "converged", "status"}
    wrong = run(replace(STUDY, observables=["maen"]), path, workers=0)
    assert wrong.attrs["failed"] == STUDY.records
    with Store(path) as store:
        assert "did you mean 'mean'" in failures(replace(STUDY, observables=["maen"]), store)[0]["message"]


def test_attributes_carry_the_provenance(path):
    attrs = run(STUDY, path, workers=0).attrs
    assert attrs["seed"] == 0
    assert attrs["study"] == "tiny/x"
    assert '"axes": {"rate": [0.5, 1.0, 2.0], "samples": [10, 100]}' in attrs["configuration"]
    assert {"firstlight", "numpy", "scipy", "blas", "cpu", "date", "command", "fingerprint"} <= set(attrs)


def test_an_unfinished_study_can_be_read(path):
    advanced(replace(STUDY, trials=1), path)
    with Store(path) as store:
        result = collect(STUDY, store)
    assert (result["status"].sel(arm="simulation", trial=2) == "missing").all()
    assert result["mean"].sel(arm="simulation", trial=2).isnull().all()


@pytest.mark.parametrize("workers", [-1, 1.5, True])
def test_workers_are_counted_in_whole_numbers(workers):
    with pytest.raises(ValueError, match=f"workers = {workers}"):
        engine(workers=workers)


def test_a_cluster_that_is_not_there(monkeypatch):
    pytest.importorskip("distributed")
    monkeypatch.setattr("firstlight.study.engines._PATIENCE", 0.5)
    with pytest.raises(ValueError, match="no scheduler answers there"):
        Cluster("tcp://127.0.0.1:1")


def test_without_the_extra_the_message_names_it(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "distributed", None)
    with pytest.raises(ValueError, match=r"pip install 'firstlight\[cluster\]'"):
        Cluster("tcp://127.0.0.1:1")


def test_outcomes_count_up():
    assert Outcome(failed=1).ok is False


class Worried(Tiny):
    def simulate(self, rng=None, **options):
        simulated = super().simulate(rng, **options)
        if self.samples < 50:
            warnings.warn(f"only {self.samples} samples at rate {self.rate}", stacklevel=2)
        return simulated


def test_warnings_are_kept_with_their_own_trials_also_in_threads(path, tmp_path):
    study = replace(STUDY, problem=Worried, fixed={"sleep": 0.003})
    before = warnings.showwarning
    alone = run(study, path, workers=0)
    with ThreadPoolExecutor(4) as pool:
        together = run(study, tmp_path / "other.sqlite", executor=pool)
    assert alone.attrs["fingerprint"] == together.attrs["fingerprint"]
    said = alone["warning"].sel(arm="simulation")
    assert (said.sel(samples=100) == "").all()
    assert (said.sel(samples=10, rate=2.0) == "UserWarning: only 10 samples at rate 2.0").all()
    assert verdict(study, alone).endswith(
        "9 trials warned, such as: UserWarning: only 10 samples at rate 0.5"
    )
    assert warnings.showwarning is before
    with pytest.warns(UserWarning, match="only 10"):
        Worried(1.0, 10).simulate(0)


def test_a_damaged_record_is_computed_again(path):
    """Each record in turn gets one flipped bit, at a random place of its body."""
    whole = run(STUDY, path, workers=0)
    rng = np.random.default_rng(0)
    for number in range(1, STUDY.records + 1, 3):
        with sqlite3.connect(path) as connection:
            body = bytearray(
                connection.execute("SELECT body FROM records WHERE rowid = ?", (number,)).fetchone()[0]
            )
            body[rng.integers(len(body))] ^= 1 << int(rng.integers(8))
            connection.execute("UPDATE records SET body = ? WHERE rowid = ?", (bytes(body), number))
        connection.close()
        with pytest.warns(DamagedRecords, match="1 damaged record: tiny/x at"), Store(path) as store:
            assert int((dataset(STUDY, store)["status"] == "missing").sum()) == 1
        with pytest.warns(DamagedRecords, match="1 damaged record: tiny/x at"):
            outcome = advanced(STUDY, path)
        assert (outcome.computed, outcome.kept) == (1, STUDY.records - 1)
        again = run(STUDY, path, workers=0)
        assert again.attrs["fingerprint"] == whole.attrs["fingerprint"]


@pytest.mark.parametrize("workers", [0, 2])
def test_a_store_deleted_during_a_run_stops_it(path, workers):
    def tell(task, outcome):
        if outcome.computed == 5:
            path.unlink(missing_ok=True)

    with Store(path, write=True) as store, pytest.raises(StoreError, match="deleted, moved or replaced"):
        advance(STUDY, store, engine(workers=workers), tell=tell)


def test_a_store_deleted_after_the_last_record_is_noticed_too(path):
    def tell(task, outcome):
        if outcome.computed == STUDY.records:
            path.unlink()

    with Store(path, write=True) as store, pytest.raises(StoreError, match="deleted, moved or replaced"):
        advance(STUDY, store, Serial(), tell=tell)


class Announced(Tiny):
    """A theory that sees the trial's own draw, and says so."""

    def conditional(self, **options):
        return True

    def predict(self, rng=None, **options):
        return self.simulate(rng) * 1.01


class Estimated(Tiny):
    """A theory with an error of its own, too large to decide anything."""

    def predict(self, rng=None, **options):
        return super().predict(rng).assign(mean_sem=10.0)


def test_a_conditional_theory_is_paired_by_itself(path):
    study = Study("tiny/pair", "x", Announced, axes={"rate": [1.0, 2.0]}, fixed={"samples": 10}, trials=4)
    assert study.records == 2 * (4 + 4)
    results = run(study, path, workers=0)
    assert (summarise(study, results)["mean_verdict"] == "agrees").all()
    # one prediction for all trials, asked for by hand, has no error to judge by
    once = replace(study, arms={**study.arms, "theory": Arm("predict", paired=False)})
    assert once.records == 2 * (4 + 1)
    assert (summarise(once, run(once, path, workers=0))["mean_verdict"] == "undecided").all()


def test_the_error_of_a_prediction_is_kept_and_counts(path):
    axes = {"rate": [1.0, 2.0]}
    study = Study("tiny/error", "x", Estimated, axes=axes, fixed={"samples": 10_000}, observables=["mean"])
    results = run(study, path, workers=0)
    summary = summarise(study, results)
    assert (summary["mean_sem"].sel(arm="theory") == 10.0).all()
    assert (summary["mean_verdict"] == "undecided").all()
    assert "own error is too large" in verdict(study, results)
    assert set(table(study, results)["observable"]) == {"mean"}


def test_an_experiment_is_also_judged_by_the_arms_it_names():
    arms = {
        "first": Arm("simulate", against=["other"]),
        "second": Arm("simulate", against=["first"]),
        "theory": Arm("predict"),
        "other": Arm("predict"),
    }
    study = replace(demo.STUDY, arms=arms, figure=FigureSpec(), axes={"rate": [1.0]}, scales={}, trials=3)
    assert study.comparisons == {
        "first": ("first", "theory"),
        "first by other": ("first", "other"),
        "second": ("second", "theory"),
        "second by first": ("second", "first"),
    }
    values = {"first": [1.0, 2.0, 4.0], "second": [1.0, 2.0, 4.0], "theory": [2.3, np.nan, np.nan]}
    rows = np.array([values.get(arm, [9.0, np.nan, np.nan]) for arm in arms])
    data = xr.Dataset({"mean": (("arm", "rate", "trial"), rows[:, None])}, {"arm": list(arms), "rate": [1.0]})
    words = summarise(study, data)["mean_verdict"].isel(rate=0)
    assert str(words.sel(experiment="first by other").values) == "differs"
    # trial by trial there is no difference at all, though each of them is noisy
    assert str(words.sel(experiment="second by first").values) == "agrees"
    assert str(words.sel(experiment="second").values) == "undecided"


@pytest.mark.parametrize(
    ("arms", "message"),
    [
        ({"a": {"kind": "predict", "against": ["b"]}}, "only an experiment"),
        ({"a": {"kind": "simulate", "against": ["b"]}, "theory": {"kind": "predict"}}, "'b': unknown"),
        ({"a": {"kind": "simulate", "against": "theory"}}, "against = 'theory'"),
    ],
)
def test_arms_to_be_judged_by_must_exist(arms, message):
    with pytest.raises(ValueError, match=message):
        replace(demo.STUDY, arms={name: Arm(**arm) for name, arm in arms.items()}, scales={})


class Sorted(Tiny):
    """Methods of other signatures, and a word about options that it does not have."""

    def predict(self, stream, /, *rest, order, **options):
        return super().predict()

    def conditional(self, bad_at=-1.0, order=1):
        return False


@pytest.mark.parametrize(
    ("kind", "options", "problem", "message"),
    [
        ("simulate", {"shfit": 1.0}, Tiny, "'shfit': unknown, did you mean 'shift'\\? \\(known: shift\\)"),
        ("predict", {"bad_tt": 2}, Tiny, "tiny/x: arms.a.options 'bad_tt': unknown, did you mean 'bad_at'"),
        ("predict", {"rng": 5}, Tiny, "tiny/x: arms.a.options: 'rng' is each trial's own stream"),
        ("predict", {"rng": 5}, demo.Exponential, "arms.a.options: 'rng' is each trial's own stream"),
        ("predict", {"self": 5}, Tiny, "arms.a.options 'self': unknown"),
        ("predict", {}, Sorted, "arms.a.options: 'order' is missing, and predict needs it"),
    ],
)
def test_options_that_a_method_does_not_have_are_refused(kind, options, problem, message, path):
    study = replace(STUDY, problem=problem, arms={"a": Arm(kind, options)})
    with pytest.raises(ValueError, match=message):
        run(study, path, workers=0)
    assert not path.exists()


@pytest.mark.parametrize(
    ("kind", "options", "problem"),
    [
        ("predict", {"order": 2, "whatever": 1, "stream": 3}, Sorted),
        ("simulate", {"shift": 1.0}, Sorted),
        ("predict", {"whatever": 1}, demo.Exponential),
    ],
)
def test_options_that_a_method_takes_are_not_refused(kind, options, problem):
    study = replace(STUDY, problem=problem, arms={"a": Arm(kind, options)})
    check(study)  # no refusal
    assert study.arms["a"].options == options


def test_a_worker_of_another_arithmetic_says_so(path, monkeypatch):
    """The driver's fingerprint is changed, as another processor's would be; the workers have their own."""
    monkeypatch.setattr("firstlight.study.trial.arithmetic", lambda: "that of another processor")
    with Store(path, write=True) as store:
        outcome = advance(STUDY, store, engine(workers=1))
        data = dataset(STUDY, store)
    assert (outcome.computed, outcome.failed) == (STUDY.records, 0)
    assert (data["warning"].sel(arm="simulation") != "").all()
    assert "arithmetic differs in the last bits" in verdict(STUDY, data)


@cache
def _fingerprint_and_product(**more):
    """Return the fingerprint of a fresh process under these variables, and the hash of a product."""
    code = """
    import hashlib, numpy as np
    from firstlight.study.trial import arithmetic
    x = np.random.default_rng(0).random((97, 97))
    print(arithmetic(), hashlib.sha256((x @ x.T).tobytes()).hexdigest())
    """
    command = [sys.executable, "-c", textwrap.dedent(code)]
    done = subprocess.run(command, env={**environment(), **more}, capture_output=True, text=True, check=True)
    return done.stdout.split()


@pytest.mark.parametrize("core", ["Nehalem", "Haswell"])
def test_the_fingerprint_tells_kernels_apart(core):
    """OpenBLAS takes the named processor's kernels: other products, other fingerprints."""
    said = [_fingerprint_and_product(), _fingerprint_and_product(OPENBLAS_CORETYPE=core)]
    same_product = said[0][1] == said[1][1]
    assert same_product or said[0][0] != said[1][0]
