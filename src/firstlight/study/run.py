"""Run a study: compute what is missing, keep what is there, refine where an observable changes fastest."""

import itertools
import math
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from os import PathLike

import numpy as np
import xarray as xr

from firstlight.study.collect import collect, fingerprint
from firstlight.study.dry_run import guard
from firstlight.study.engines import Engine, engine
from firstlight.study.judge import trial_mean
from firstlight.study.provenance import attributes, command, configuration
from firstlight.study.schedule import Outcome, Schedule
from firstlight.study.spec import Refine, Scalar
from firstlight.study.store import Store
from firstlight.study.sweep import Point, Study
from firstlight.study.trial import Task, check, tasks


def run(
    study: Study,
    store: str | PathLike[str] | Store = "out/study.sqlite",
    *,
    scale: str = "quick",
    workers: int | None = None,
    cluster: str | None = None,
    executor: Executor | None = None,
    force: bool = False,
) -> xr.Dataset:
    """Run what is missing of a study, and return all of it.

    Parameters
    ----------
    study : Study
    store : path_like or Store, default "out/study.sqlite"
        Where records are kept; run again to resume, or with more trials to extend.
    scale : str, default "quick"
        Which of the study's scales.
    workers, cluster, executor
        Where trials run, see `firstlight.study.engines.engine`. The numbers do not depend on it.
    force : bool, default False
        Run even a study of more than a million records.

    Returns
    -------
    xarray.Dataset
        See `collect`; ``attrs`` carry the provenance and a ``fingerprint`` of all values. Failed trials are
        NaN and counted in ``attrs["failed"]``.

    Examples
    --------
    >>> import tempfile
    >>> from firstlight.demo import STUDY
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     results = run(STUDY, f"{folder}/study.sqlite", workers=0)
    >>> results["mean"].sel(arm="theory", trial=0).values.tolist()
    [2.0, 1.0, 0.5]
    """
    chosen = study.at(scale)
    check(chosen)
    guard(chosen, force, workers)
    opened = store if isinstance(store, Store) else Store(store, write=True)
    try:
        machine = engine(workers, cluster, executor)
        outcome = advance(chosen, opened, machine, scale=scale)
        return dataset(chosen, opened, scale=scale).assign_attrs(failed=outcome.failed)
    finally:
        if opened is not store:
            opened.close()


def advance(
    study: Study,
    store: Store,
    machine: Engine,
    *,
    scale: str = "quick",
    tell: Callable[[Task, Outcome], None] = lambda task, outcome: None,
) -> Outcome:
    """Compute what the store lacks of a study; closes the engine, whatever happens.

    Parameters
    ----------
    study : Study
        At its scale, see `Study.at`.
    store : Store
        Open for writing.
    scale : str, default "quick"
        For the books.
    tell : callable, optional
        Called with (task, outcome) after each record, kept or computed.

    Examples
    --------
    >>> import tempfile
    >>> from firstlight.demo import STUDY
    >>> with tempfile.TemporaryDirectory() as folder, Store(f"{folder}/s.sqlite", write=True) as store:
    ...     advance(STUDY, store, engine(workers=0)).computed, advance(STUDY, store, engine(workers=0)).kept
    (15, 15)
    """
    started, outcome = time.monotonic(), Outcome()
    number = store.begin_run(study.name, scale, configuration(study), command(study, scale), study.records)
    ending, clean = "interrupted", False
    try:
        Schedule(study, store, machine, outcome, tell).run(study.points())
        if study.refine is not None:
            points = list(study.points())
            while new := next_points(study, store, points):
                Schedule(study, store, machine, outcome, tell).run(new)
                points += new
        ending, clean = ("complete" if outcome.ok else f"{outcome.failed} failed"), True
    except Exception as error:
        ending = f"stopped: {error}"
        raise
    finally:
        outcome.seconds = time.monotonic() - started
        outcome.deaths += machine.lost() if clean else 0
        machine.close(kill=not clean)
        store.end_run(number, ending)
    return outcome


def visited(study: Study, store: Store) -> list[Point]:
    """Return the points of a study, those included that its refinement has chosen so far.

    Examples
    --------
    >>> import tempfile
    >>> from firstlight.demo import STUDY
    >>> with tempfile.TemporaryDirectory() as folder, Store(f"{folder}/s.sqlite", write=True) as store:
    ...     visited(STUDY, store) == list(STUDY.points())
    True
    """
    points = list(study.points())
    while study.refine is not None and (new := next_points(study, store, points)):
        known = store.finished([task.address for task in tasks(study, new)])
        if not known:
            break
        points += new
    return points


def dataset(study: Study, store: Store, *, scale: str = "quick") -> xr.Dataset:
    """Read a study from the store, with its provenance.

    Parameters
    ----------
    scale : str, default "quick"
        For the command in ``attrs``.

    Examples
    --------
    >>> import tempfile
    >>> from firstlight.demo import STUDY
    >>> with tempfile.TemporaryDirectory() as folder, Store(f"{folder}/s.sqlite", write=True) as store:
    ...     dataset(STUDY, store).attrs["study"]
    'demo/rate'
    """
    results = collect(study, store, visited(study, store))
    return results.assign_attrs(attributes(study, scale), fingerprint=fingerprint(results))


def next_points(study: Study, store: Store, points: Sequence[Point]) -> list[Point]:
    """Choose the next points: one for each combination of the other axes, until each has used its budget.

    The choice depends only on what is stored, so a resumed sweep places the same points.

    Parameters
    ----------
    study : Study
        With `refine`.
    store : Store
        Holds the records of `points`.
    points : sequence of dict
        Those done so far.

    Returns
    -------
    list of dict
        Empty when the budget is used up, or nothing is left to bisect.

    Examples
    --------
    >>> import tempfile
    >>> from dataclasses import replace
    >>> from firstlight.demo import STUDY
    >>> from firstlight.study.run import run
    >>> study = replace(STUDY, refine=Refine("rate", "mean", "theory", budget=1))
    >>> with tempfile.TemporaryDirectory() as folder, Store(f"{folder}/s.sqlite", write=True) as store:
    ...     _ = run(STUDY, store, workers=0)
    ...     next_points(study, store, list(study.points()))
    [{'rate': 0.75}]
    """
    rule = study.refine
    if rule is None:
        return []
    results = collect(study, store, points)
    if rule.observable not in results:
        return []
    mean, _ = trial_mean(results[rule.observable].sel(arm=rule.arm))
    if set(mean.dims) - set(study.axes):
        raise ValueError(f"refine.observable = {rule.observable!r}: must be one number per trial")
    others = [name for name in study.axes if name != rule.axis]
    start = len(study.axes[rule.axis])
    chosen: list[Point] = []
    for combination in itertools.product(*(study.axes[name] for name in others)):
        fixed = dict(zip(others, combination, strict=True))
        line = sorted(
            point[rule.axis] for point in points if all(point[name] == fixed[name] for name in others)
        )
        if len(line) - start >= rule.budget:
            continue
        heights = mean.sel({**fixed, rule.axis: line}).values
        middle = bisect(line, heights, rule)
        if middle is not None:
            chosen.append({name: fixed.get(name, middle) for name in study.axes})
    return chosen


def bisect(line: Sequence[Scalar], heights: np.ndarray, rule: Refine) -> Scalar | None:
    """Return the middle of the interval on which the heights change most, or None if there is none to split.

    Parameters
    ----------
    line : sequence of numbers
        The sorted axis values; if all are ints, so is the new one.
    heights : ndarray
        The observable there; an interval with a NaN at one end is left alone.
    rule : Refine
        Says whether to bisect in the logarithm.

    Examples
    --------
    >>> bisect([0.0, 1.0, 2.0], np.array([0.0, 0.1, 1.0]), Refine("x", "y", "theory", budget=1))
    1.5
    """
    change = np.abs(np.diff(np.asarray(heights, dtype=float)))
    for place in np.argsort(-np.nan_to_num(change, nan=-1.0), kind="stable"):
        if not np.isfinite(change[place]) or change[place] == 0:
            return None
        low, high = float(line[place]), float(line[place + 1])
        middle = math.sqrt(low * high) if rule.log and low > 0 else 0.5 * (low + high)
        whole = all(isinstance(value, int) for value in line)
        new = round(middle) if whole else middle
        if low < new < high:
            return new
    return None
