"""The dry run: sizes exactly, times by a model that small trials calibrate, and absurd sizes refused."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
import xarray as xr
from tiny import Tiny

from firstlight.study.dry_run import DryRun, _calibrate, costs, dry_run, guard
from firstlight.study.problem import Cost, cost_of
from firstlight.study.registry import studies
from firstlight.study.run import run
from firstlight.study.spec import Arm, Range, Refine
from firstlight.study.store import Store
from firstlight.study.sweep import Study
from firstlight.study.trial import perform, tasks

STUDY = Study("tiny/x", "x", Tiny, axes={"rate": [1.0, 2.0], "samples": [10, 1000]}, trials=3)


@dataclass(frozen=True)
class Long(Tiny):
    """A trial that holds 8 kB for each sample, and is said to take 1 ms for each: see `clock`."""

    def simulate(self, rng=None, **options):
        return xr.Dataset({"mean": np.zeros((self.samples, 1024)).sum()})

    def cost(self, kind, **options):
        return Cost(flops=float(self.samples if kind == "simulate" else 1), bytes=8192.0 * self.samples)


@pytest.fixture
def clock(monkeypatch):
    """Say 1 ms per sample, whatever the machine is doing; return the sizes of the trials that were done."""
    done = []

    def timed(task):
        done.append(task.problem().samples)
        return replace(perform(task), seconds=1e-3 * done[-1])

    monkeypatch.setattr("firstlight.study.dry_run.perform", timed)
    return done


def test_sizes_are_exact_and_finished_work_is_not_counted(tmp_path):
    fresh = dry_run(STUDY, None, workers=0)
    assert (fresh.points, fresh.records, fresh.missing) == (4, 16, 16)
    run(STUDY, tmp_path / "s.sqlite", workers=0)
    with Store(tmp_path / "s.sqlite") as store:
        assert dry_run(STUDY, store, workers=0).missing == 0
        assert dry_run(STUDY, store, workers=0).seconds == 0
        assert dry_run(replace(STUDY, trials=5), store, workers=0).missing == 8
    refined = replace(STUDY, refine=Refine("rate", "mean", "theory", budget=3))
    assert dry_run(refined, None, workers=0).points == 4 + 3 * 2


def test_no_time_is_told_of_trials_that_fail():
    arms = {"experiment": Arm("simulate"), "theory": Arm("predict")}
    broken = replace(STUDY, arms=arms, fixed={"broken_at": 1.0}, axes={"rate": [1.0], "samples": [10, 1000]})
    said = dry_run(broken, None, workers=0)
    assert "broken" in said.failure
    assert "not known" in str(said)
    assert "about" not in str(said)
    mixed = replace(broken, axes=STUDY.axes)  # only some points fail: the others tell how long it takes
    assert not dry_run(mixed, None, workers=0).failure


@pytest.mark.usefixtures("clock")
def test_times_and_memory_are_extrapolated_with_the_cost():
    arms = {"sim": Arm("simulate")}
    study = Study("tiny/x", "x", Long, axes={"samples": [10, 50, 20_000]}, trials=1, arms=arms)
    probes = [(cost_of(t.problem(), t.kind, {}).flops, 8192.0 * t.problem().samples, t)
              for t in tasks(study, study.points())]  # fmt: skip
    fit = _calibrate(probes)
    assert fit.fixed + fit.slope * 20_000 == pytest.approx(20)  # from trials of 10 and 50 ms
    assert 0.9 < fit.memory < 1.5  # of 400 kB; libraries allocate some 60 kB of their own


def test_a_smaller_scale_calibrates_a_study_of_long_trials(clock):
    arms = {"experiment": Arm("simulate")}
    long, small = (
        Study("tiny/x", "x", Long, axes={"samples": sizes}, trials=1, arms=arms)
        for sizes in ([20_000], [10, 50])
    )
    assert dry_run(long, None, workers=0, probe=small).seconds == pytest.approx(20, rel=1e-3)
    assert set(clock) == {10, 50}


@pytest.mark.parametrize(("trials", "slower", "told"), [(100, 5, 5), (100, 0.2, 0.2), (10, 5, 1)])
def test_one_large_trial_is_timed_if_the_study_is_much_longer(trials, slower, told, monkeypatch):
    """Small trials take 1 ms per sample, large ones another time: told where it costs 2 % of the study."""
    done = []

    def timed(task):
        done.append(task.problem().samples)
        return replace(perform(task), seconds=1e-3 * done[-1] * (slower if done[-1] > 1000 else 1))

    monkeypatch.setattr("firstlight.study.dry_run.perform", timed)
    arms = {"experiment": Arm("simulate")}
    long, small = (
        Study("tiny/x", "x", Long, axes={"samples": sizes}, trials=trials, arms=arms)
        for sizes in ([20_000], [10, 50])
    )
    said = dry_run(long, None, workers=0, probe=small)
    assert said.seconds == pytest.approx(20 * trials * told, rel=1e-2)
    assert done.count(20_000) == (told != 1)


def test_a_large_trial_that_fails_is_told_and_one_beyond_the_memory_is_not_tried(monkeypatch):
    done = []

    def timed(task):
        done.append(task.problem().samples)
        record = replace(perform(replace(task, point={"samples": 10})), seconds=1e-3 * min(done[-1], 10_000))
        return replace(record, layout=None, body=None, message="too large") if done[-1] > 1000 else record

    monkeypatch.setattr("firstlight.study.dry_run.perform", timed)
    arms = {"experiment": Arm("simulate")}
    small, large, huge = (
        Study("tiny/x", "x", Long, axes={"samples": sizes}, trials=10**5, arms=arms)
        for sizes in ([10, 50], [15_000], [10**10])
    )
    assert dry_run(large, None, workers=0, probe=small).failure == "too large"
    monkeypatch.setattr("firstlight.study.dry_run._LONGEST", 1e12)
    assert not dry_run(huge, None, workers=0, probe=small).failure  # 80 TB
    assert done.count(10**10) == 0


def test_a_busy_moment_does_not_mislead(monkeypatch):
    """Trials that take 0.15 s whatever their size; the machine is busy in the first of the second size."""
    busy = []

    def timed(task):
        record, samples = perform(task), task.problem().samples
        busy.append(samples)
        return replace(record, seconds=0.6 if samples == 20 and busy.count(20) == 1 else 0.15)

    monkeypatch.setattr("firstlight.study.dry_run.perform", timed)
    study = Study("tiny/x", "x", Tiny, axes={"samples": [10, 20, 40, 5000]}, arms={"sim": Arm("simulate")})
    fit = _calibrate([(float(t.problem().samples), 1.0, t) for t in tasks(study, study.points())])
    assert 0.1 < fit.fixed + fit.slope * 5000 < 0.3


def test_without_a_cost_every_point_counts_alike(monkeypatch):
    monkeypatch.delattr(Tiny, "cost")
    assert "no cost model" in dry_run(STUDY, None, workers=0).note


def test_every_study_of_the_catalogue_has_been_timed():
    wanted = {study.name: {"quick", *study.scales} for study in studies().values()}
    assert {name: set(scales) for name, scales in costs().items()} == wanted, "run make costs"


def test_a_billion_points_are_refused_unless_forced(tmp_path):
    huge = Study("tiny/x", "x", Tiny, axes={"rate": Range(1.0, 2.0, 10**9)}, trials=1)
    with pytest.raises(ValueError, match=r"1000000000 points, 2000000000 records.* (years|days).*--force"):
        guard(huge, force=False, workers=0)
    with pytest.raises(ValueError, match="1000000000 points"):
        run(huge, tmp_path / "s.sqlite", workers=0)
    assert not (tmp_path / "s.sqlite").exists()
    guard(huge, force=True)
    cube = Study("tiny/x", "x", Tiny, trials=1, axes={
        "rate": Range(1.0, 2.0, 1000), "samples": list(range(1, 1001)), "sleep": Range(1e-9, 1e-8, 1000),
    })  # fmt: skip
    assert dry_run(cube, None, workers=0).points == 10**9


@pytest.mark.parametrize("values", [(0, 1), (-1, 1), (1, -1)])
def test_costs_are_positive(values):
    with pytest.raises(ValueError, match="must be positive"):
        Cost(*values)


def test_in_words():
    assert "about 2.8 h" in str(DryRun(1, 1, 1, 1e4, 1e9, 1e6, "n"))
