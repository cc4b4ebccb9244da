"""The dry run: how long a study will take and how much memory it needs, from a few trials, mostly small."""

import json
import math
import time
import tracemalloc
from collections import Counter
from dataclasses import dataclass, replace
from importlib.resources import files
from importlib.resources.abc import Traversable

import numpy as np

from firstlight.study import registry
from firstlight.study.engines import Local, cores
from firstlight.study.problem import Cost, cost_of, duration
from firstlight.study.spec import Scalar
from firstlight.study.store import Store
from firstlight.study.sweep import Point, Study
from firstlight.study.trial import Task, first_trials, perform, tasks

_SAMPLE = 2000
_PROBE = 0.5  # seconds that the largest calibration trial may take
_SPREAD = 6  # points that set the level of the model
_LONGEST = 20.0  # seconds that one large trial may promise to take, if it is at most a 50th of the work
_OVERHEAD = 0.002  # seconds per record for sending, writing and counting
MOST_RECORDS = 1_000_000
_Place = tuple[str, tuple[Scalar, ...]]


@dataclass(frozen=True)
class DryRun:
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
    failure : str, default ""
        What trials raised if all that were tried of an arm failed, or a large one: then time and memory are
        not known.

    Examples
    --------
    >>> print(DryRun(4, 40, 40, 90.0, 3e8, 2e4, "calibrated"))
    4 points, 40 records (40 missing): about 1.5 min, 300 MB of memory, 0.02 MB on disk (calibrated)
    """

    points: int
    records: int
    missing: int
    seconds: float
    memory: float
    disk: float
    note: str
    failure: str = ""

    def __str__(self) -> str:
        size = f"{self.points} points, {self.records} records ({self.missing} missing)"
        if self.failure:
            return f"{size}: how long is not known, trials fail: {self.failure}"
        need = f"{self.memory / 1e6:.0f} MB of memory, {self.disk / 1e6:.2g} MB on disk"
        return f"{size}: about {duration(self.seconds)}, {need} ({self.note})"


@dataclass(frozen=True)
class _Fit:
    """One arm's trial: ``fixed + slope * cost`` seconds, ``memory`` bytes per byte that `cost` names.

    Beyond the largest cost that was `tried` a power `bend` comes on top: large arrays leave the cache, and
    large products are done faster.
    """

    fixed: float
    slope: float
    memory: float
    body: float
    failure: str
    tried: float
    bend: float = 0.0

    def seconds(self, flops: float) -> float:
        """Return what a trial of that cost takes."""
        return (self.fixed + self.slope * flops) * max(flops / self.tried, 1.0) ** self.bend


def dry_run(
    study: Study, store: Store | None = None, workers: int | None = None, probe: Study | None = None
) -> DryRun:
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
    probe : Study, optional
        The same study at a smaller scale; where Problems tell their cost, its trials calibrate the model too,
        so that a study of long trials is not kept waiting by one of them.

    Examples
    --------
    >>> from firstlight.demo import STUDY
    >>> expected = dry_run(STUDY, workers=2)
    >>> expected.records, expected.missing, expected.note
    (15, 15, 'calibrated by a few trials')
    """
    import psutil

    points, slots = sample(study), cores() if workers is None else max(workers, 1)
    share = (study.size + refined(study)) / len(points)
    done = _finished(study, points, store)
    first = list(first_trials(study, points))
    small = [] if probe is None else list(first_trials(probe, sample(probe)))
    needs = []
    for name in study.arms:
        mine, extra = ([task for task in some if task.arm == name] for some in (first, small))
        lacking = [study.count(name) - done[name, tuple(task.point.values())] for task in mine]
        needs.append(_need(mine, lacking, extra))
    missing = share * sum(need.missing for need in needs)
    lanes, longest = min(slots, cores()), max(need.longest for need in needs)
    # The last worker is done about half a long trial after the first.
    busy = share * sum(need.work for need in needs) / lanes + 0.5 * (1 - 1 / lanes) * longest
    waiting = missing * _OVERHEAD
    if workers != 0 and missing:
        waiting += _startup([need.cheapest for need in needs], sum(need.shortest for need in needs))
    used = min(slots, max(round(missing), 1))  # a worker without work stays small
    processes = 1 + (used if workers != 0 else 0)
    known = all(need.known for need in needs)
    return DryRun(
        points=study.size + refined(study),
        records=(study.size + refined(study)) * (study.records // study.size),
        missing=round(missing),
        seconds=max(busy, longest) + waiting,
        memory=processes * psutil.Process().memory_info().rss + used * max(need.peak for need in needs),
        disk=share * sum(need.disk for need in needs),
        note="calibrated by a few trials" if known else "no cost model: every point taken to cost the same",
        failure=next((need.failure for need in needs if need.failure), ""),
    )


@dataclass(frozen=True)
class _Need:
    """What one arm still needs at the sampled points; times of single trials, and the peak of one."""

    missing: int
    work: float
    longest: float
    shortest: float
    cheapest: Task
    peak: float
    disk: float
    known: bool
    failure: str


def _need(first: list[Task], lacking: list[int], extra: list[Task]) -> _Need:
    """Add up an arm's missing trials, of which `first` holds one at each point; `extra` only calibrates."""
    said = [cost_of(task.problem(), task.kind, task.options) for task in (*first, *extra)]
    costs, known = [cost or Cost(1.0, 1.0) for cost in said], None not in said
    loads, probes = costs[: len(first)], list(zip(costs, (*first, *extra), strict=True))
    probes = probes if known else probes[: len(first)]
    fit = _calibrate([(load.flops, load.bytes, task) for load, task in probes])
    fit = _bent(fit, [item for item in zip(lacking, loads, first, strict=True) if item[0]])
    seconds = [fit.seconds(load.flops) for load in loads]
    left = [item for item in zip(lacking, seconds, loads, strict=True) if item[0]]
    return _Need(
        missing=sum(lacking),
        work=sum(count * each for count, each, _ in left),
        longest=max((each for _, each, _ in left), default=0.0),
        shortest=fit.seconds(min(load.flops for load, _ in probes)),
        cheapest=min(probes, key=lambda probe: probe[0].flops)[1],
        peak=fit.memory * max((load.bytes for _, _, load in left), default=0.0),
        disk=fit.body * sum(lacking),
        known=known,
        failure=fit.failure if sum(lacking) else "",
    )


def _finished(study: Study, points: list[Point], store: Store | None) -> Counter[_Place]:
    """Count the results that the store holds, by arm and point."""
    counts: Counter[_Place] = Counter()
    if store is not None and study.records <= MOST_RECORDS:
        planned = list(tasks(study, points))
        there = store.finished([task.address for task in planned])
        counts.update((task.arm, tuple(task.point.values())) for task in planned if there.get(task.address))
    return counts


def sample(study: Study) -> list[Point]:
    """Return all points, or of a large grid an even sample that spreads over every axis."""
    if study.size <= _SAMPLE:
        return list(study.points())
    # A stride near the golden section meets all residues, so no axis is stuck at one value.
    stride = int(study.size * 0.6180339887498949) | 1
    while math.gcd(stride, study.size) > 1:
        stride += 2
    return [study.point(i * stride % study.size) for i in range(_SAMPLE)]


def refined(study: Study) -> int:
    """Return how many points a study's refinement may add."""
    if study.refine is None:
        return 0
    return study.refine.budget * study.size // len(study.axes[study.refine.axis])


def _calibrate(probes: list[tuple[float, float, Task]]) -> _Fit:
    """Time the cheapest trial, then larger ones while they promise to stay small, then some all over."""
    ordered = sorted(probes, key=lambda probe: probe[0])
    cheapest = ordered[0]
    perform(cheapest[2])  # compile, import and warm up
    record = perform(replace(cheapest[2], trial=1))  # another trial: what the first one cached is no help
    least = min(record.seconds, perform(replace(cheapest[2], trial=2)).seconds)
    fixed, slope, last, seconds = 0.0, least / cheapest[0], cheapest, least

    def promised(flops: float) -> float:
        """Seconds of a larger trial: by the fit, but never more than in proportion to the last one."""
        return min(fixed + slope * flops, seconds * flops / last[0])

    while larger := [probe for probe in ordered if last[0] < probe[0] and promised(probe[0]) <= _PROBE]:
        last = larger[-1]
        # The better of two: a machine that is busy for a moment would end the climb here.
        seconds = min(perform(replace(last[2], trial=trial)).seconds for trial in (1, 2))
        slope = max(seconds - least, 0.0) / (last[0] - cheapest[0])
        fixed = least - slope * cheapest[0]
        if fixed < 0:
            fixed, slope = 0.0, seconds / last[0]
    small = [probe for probe in ordered if promised(probe[0]) <= _PROBE or probe[0] <= last[0]]
    # Points of one cost may still differ (by activation, say): their mean sets the level.
    spread = [small[i] for i in sorted({round(i) for i in np.linspace(0, len(small) - 1, _SPREAD)})]
    tried = [perform(replace(task, trial=2)) for _, _, task in spread]
    level = sum(one.seconds for one in tried)
    level /= max(sum(fixed + slope * flops for flops, _, _ in spread), 1e-9)
    said = max(spread[-1][1], 1.0)
    peak = _peak(spread[-1][2], level * (fixed + slope * spread[-1][0]), said)
    body = 300.0 + len(record.body or b"")
    failure = "" if any(one.ok for one in (record, *tried)) else record.message or ""
    return _Fit(level * fixed, level * slope, peak / said, body, failure, last[0])


def _bent(fit: _Fit, left: list[tuple[int, Cost, Task]]) -> _Fit:
    """Time one of the largest trials too, if it is far from those tried, and short beside the study."""
    import psutil

    if fit.failure or not left:
        return fit
    work = sum(count * fit.seconds(load.flops) for count, load, _ in left)
    _, load, task = max(left, key=lambda item: item[1].flops)
    promised, large = fit.seconds(load.flops), psutil.virtual_memory().available / 2
    far = load.flops > 4 * fit.tried and fit.memory * load.bytes < large
    if not far or promised > min(work / 50, _LONGEST):
        return fit
    record = perform(replace(task, trial=1))
    if not record.ok:
        return replace(fit, failure=record.message or "")
    factor = max(record.seconds, 1e-9) / max(promised, 1e-9)
    return replace(fit, bend=math.log(factor) / math.log(load.flops / fit.tried))


def _peak(task: Task, seconds: float, said: float) -> float:
    """Return the bytes that a trial allocates at its peak; tracing is slow, so no long trial is repeated."""
    if seconds > 2 * _PROBE:
        return said
    tracemalloc.start()
    perform(task)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return float(peak)


def _startup(cold: list[Task], warm: float) -> float:
    """Return the seconds until a fresh worker has imported, loaded and compiled what its trials need."""
    machine, start = Local(1), time.perf_counter()
    try:
        for task in cold:
            machine.submit(perform, task).result()
        return max(time.perf_counter() - start - warm, 0.0)
    finally:
        machine.close(kill=True)


def guard(study: Study, force: bool, workers: int | None = None) -> None:
    """Refuse a study of absurd size, with what it would cost on these workers, unless it is forced.

    Examples
    --------
    >>> from dataclasses import replace
    >>> from firstlight.demo import STUDY
    >>> guard(replace(STUDY, trials=10**6), force=False)
    Traceback (most recent call last):
    ...
    ValueError: demo/rate: 3 points, 3000003 records ...; force it (--force) if you mean it
    """
    if study.records > MOST_RECORDS and not force:
        raise ValueError(f"{study.name}: {dry_run(study, None, workers)}; force it (--force) if you mean it")


def costs_file(theory: registry.Theory) -> Traversable | None:
    """Return where a theory's package says how long its studies take, as dry runs found: ``costs.json``."""
    home = theory.studies.partition(":")[0].rpartition(".")[0]
    return files(home) / "costs.json" if home else None


def costs() -> dict[str, dict[str, float]]:
    """Return about how many seconds each study takes on one core, by name and scale; nothing is run.

    A study that was never timed is absent. A dry run says it for the machine at hand.

    Examples
    --------
    >>> 0 < costs()["one-step/width"]["quick"] < costs()["one-step/width"]["paper"]
    True
    """
    seconds: dict[str, dict[str, float]] = {}
    for theory in registry.theories().values():
        file = costs_file(theory)
        seconds |= json.loads(file.read_text("utf-8")) if file is not None and file.is_file() else {}
    return seconds
