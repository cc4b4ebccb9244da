"""The dry run: how long a study will take and how much memory it needs, from a few small trials."""

import math
import time
import tracemalloc
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from firstlight.study.cost import cost_of
from firstlight.study.engines import cores
from firstlight.study.store import Store
from firstlight.study.sweep import Point, Study
from firstlight.study.trial import Task, one_thread, perform, tasks

_SAMPLE = 2000
_PROBE = 0.5  # seconds that the largest calibration trial may take
_OVERHEAD = 0.002  # seconds per record for sending, writing and counting
_STARTUP = 1.5  # seconds until worker processes have imported what they need
MOST_RECORDS = 1_000_000


@dataclass(frozen=True)
class Estimate:
    """What a study will cost.

    Attributes
    ----------
    points, records, missing : int
        Of the grid (a refinement's points included); `missing` are not in the store yet.
    seconds : float
        Wall time for what is missing.
    memory, disk : float
        Bytes: at the peak over all processes; and for the new records.
    note : str
        What the numbers rest on.

    Examples
    --------
    >>> print(Estimate(4, 40, 40, 90.0, 3e8, 2e4, "calibrated"))
    4 points, 40 records (40 missing): about 1.5 min, 300 MB of memory, 0.02 MB on disk (calibrated)
    """

    points: int
    records: int
    missing: int
    seconds: float
    memory: float
    disk: float
    note: str

    def __str__(self) -> str:
        size = f"{self.points} points, {self.records} records ({self.missing} missing)"
        need = f"{self.memory / 1e6:.0f} MB of memory, {self.disk / 1e6:.2g} MB on disk"
        return f"{size}: about {duration(self.seconds)}, {need} ({self.note})"


@dataclass(frozen=True)
class _Fit:
    """One arm's trial: ``fixed + slope * cost`` seconds, ``memory`` bytes per byte that `cost` names."""

    fixed: float
    slope: float
    memory: float
    body: float


def estimate(study: Study, store: Store | None = None, workers: int | None = None) -> Estimate:
    """Predict the time and memory of a run, with a cost model that a few small trials calibrate.

    Parameters
    ----------
    study : Study
        At its scale. Where its Problems tell their `Cost`, times are extrapolated with it; else every point
        is taken to cost as much as the few that are tried.
    store : Store, optional
        Records that it holds are not counted again.
    workers : int, optional
        Default: one per core.

    Returns
    -------
    Estimate

    Examples
    --------
    ::

        print(estimate(study.at("paper"), workers=8))
    """
    points = _sample(study)
    todo = list(tasks(study, points))
    finished = store.finished([task.address for task in todo]) if store is not None else {}
    share = (study.size + _refined(study)) / len(points)
    slots = cores() if workers is None else max(workers, 1)
    work = longest = peak = disk = 0.0
    missing, told = 0, True
    for arm in study.arms:
        mine = [task for task in todo if task.arm == arm]
        first = {id(task.problem): task for task in reversed(mine)}
        costs = {key: cost_of(task.problem, task.door, task.options) for key, task in first.items()}
        known = all(cost is not None for cost in costs.values())
        told = told and known
        flops = {key: cost.flops if known and cost else 1.0 for key, cost in costs.items()}
        bytes_ = {key: cost.bytes if known and cost else 1.0 for key, cost in costs.items()}
        fit = _calibrate([(flops[key], bytes_[key], task) for key, task in first.items()], known)
        lacking = [task for task in mine if not finished.get(task.address)]
        seconds = [fit.fixed + fit.slope * flops[id(task.problem)] for task in lacking]
        work += sum(seconds) * share
        longest = max([longest, *seconds])
        peak = max([peak, *(fit.memory * bytes_[id(task.problem)] for task in lacking)])
        missing += round(len(lacking) * share)
        disk += fit.body * len(lacking) * share
    busy = max(work / min(slots, cores()), longest) if missing else 0.0
    total = busy + (missing * _OVERHEAD + _STARTUP * (workers != 0) if missing else 0.0)
    records = round(len(todo) * share)
    note = "calibrated by small trials" if told else "no cost model: every point taken to cost the same"
    memory = _resident() * (1 + (slots if workers != 0 else 0)) + slots * peak
    return Estimate(study.size + _refined(study), records, missing, total, memory, disk, note)


def _sample(study: Study) -> list[Point]:
    """Return all points, or of a large grid an even sample that spreads over every axis."""
    if study.size <= _SAMPLE:
        return list(study.points())
    # A stride near the golden section meets all residues, so no axis is stuck at one value.
    stride = int(study.size * 0.6180339887498949) | 1
    while math.gcd(stride, study.size) > 1:
        stride += 2
    return [study.point(i * stride % study.size) for i in range(_SAMPLE)]


def _refined(study: Study) -> int:
    if study.refine is None:
        return 0
    return study.refine.budget * study.size // len(study.axes[study.refine.axis])


def _calibrate(probes: list[tuple[float, float, Task]], known: bool) -> _Fit:
    """Time the cheapest trial, then larger ones as long as they promise to stay small."""
    ordered = sorted(probes, key=lambda probe: probe[0])
    cheapest = ordered[0]
    perform(cheapest[2])  # compile, import and warm up
    record = perform(cheapest[2])
    body = 300.0 + len(record.body or b"")
    if not known:
        chosen = {0, len(ordered) // 2, len(ordered) - 1} if record.seconds < _PROBE else {0}
        times = [perform(ordered[i][2]).seconds for i in sorted(chosen)]
        return _Fit(float(np.mean(times)), 0.0, _peak(ordered[-1][2], times[-1], 0.0), body)
    fixed, slope, last = 0.0, record.seconds / cheapest[0], cheapest
    while True:
        larger = [probe for probe in ordered if last[0] < probe[0] and fixed + slope * probe[0] <= _PROBE]
        if not larger:
            break
        last = larger[-1]
        seconds = perform(last[2]).seconds
        slope = max(seconds - record.seconds, 0.0) / (last[0] - cheapest[0])
        fixed = max(record.seconds - slope * cheapest[0], 0.0)
    said = max(last[1], 1.0)
    return _Fit(fixed, slope, _peak(last[2], fixed + slope * last[0], said) / said, body)


def _peak(task: Task, seconds: float, said: float) -> float:
    """Return the bytes that a trial allocates at its peak; tracing is slow, so no long trial is repeated."""
    if seconds > 2 * _PROBE:
        return said
    tracemalloc.start()
    perform(task)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return float(peak)


def _resident() -> float:
    import psutil

    return float(psutil.Process().memory_info().rss)


def guard(study: Study, force: bool, workers: int | None = None) -> None:
    """Refuse a study of absurd size, with what it would cost, unless it is forced.

    Parameters
    ----------
    study : Study
        At its scale.
    force : bool
        Run it all the same.
    workers : int, optional
        For the estimate.

    Examples
    --------
    ::

        guard(study, force=False)
    """
    if study.records > MOST_RECORDS and not force:
        raise ValueError(f"{study.name}: {estimate(study, None, workers)}; force it (--force) if you mean it")


def duration(seconds: float) -> str:
    """Put a time span in words.

    Parameters
    ----------
    seconds : float

    Returns
    -------
    str

    Examples
    --------
    >>> duration(0.5), duration(90), duration(1e5), duration(1e9)
    ('0.5 s', '1.5 min', '1.2 days', '31.7 years')
    """
    for unit, name in ((31_557_600.0, "years"), (86_400.0, "days"), (3600.0, "h"), (60.0, "min")):
        if seconds >= unit:
            return f"{seconds / unit:.1f} {name}"
    return f"{seconds:.2g} s"


def rough_seconds(study: Study) -> float | None:
    """Guess the work in a study without running any of it; None where its Problems tell no cost.

    Parameters
    ----------
    study : Study
        At its scale.

    Returns
    -------
    float or None
        Seconds on one core that multiplies matrices as fast as this one; good for an order of magnitude.

    Examples
    --------
    ::

        rough_seconds(study.at("paper"))
    """
    points = _sample(study)[:: max(1, study.size // 50)]
    total = 0.0
    for point in points:
        problem = study.build(point)
        for arm in study.arms.values():
            cost = cost_of(problem, arm.door, arm.options)
            if cost is None:
                return None
            total += cost.flops * arm.count(study.trials)
    return total / len(points) * (study.size + _refined(study)) / _flops_per_second()


@lru_cache(maxsize=1)
def _flops_per_second() -> float:
    n = 400
    matrix = np.ones((n, n))
    with one_thread():
        times = []
        for _ in range(5):
            start = time.perf_counter()
            matrix @ matrix
            times.append(time.perf_counter() - start)
    return 2 * n**3 / min(times)
