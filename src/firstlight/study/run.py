"""Run a study: compute what is missing, keep what is there; an interruption costs what was in flight."""

import time
from collections.abc import Callable
from concurrent.futures import Executor
from os import PathLike

import xarray as xr

from firstlight.study.collect import collect, fingerprint
from firstlight.study.configuration import attributes, command, configuration
from firstlight.study.engines import Engine, engine
from firstlight.study.estimate import guard
from firstlight.study.refine import next_points
from firstlight.study.rounds import Outcome, Round
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
    >>> from firstlight.study.demo import STUDY
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     found = run(STUDY, f"{folder}/study.sqlite", workers=0)
    >>> found["mean"].sel(arm="theory", trial=0).values.tolist()
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
    machine : Engine
    scale : str, default "quick"
        For the books.
    tell : callable, optional
        Called with (task, outcome) after each record, kept or computed.

    Returns
    -------
    Outcome

    Examples
    --------
    >>> import tempfile
    >>> from firstlight.study.demo import STUDY
    >>> with tempfile.TemporaryDirectory() as folder, Store(f"{folder}/s.sqlite", write=True) as store:
    ...     advance(STUDY, store, engine(workers=0)).computed, advance(STUDY, store, engine(workers=0)).kept
    (15, 15)
    """
    started, outcome = time.monotonic(), Outcome()
    number = store.begin_run(study.name, scale, configuration(study), command(study, scale), study.records)
    ending, clean = "interrupted", False
    try:
        Round(study, store, machine, outcome, tell).go(study.points())
        if study.refine is not None:
            points = list(study.points())
            while new := next_points(study, store, points):
                Round(study, store, machine, outcome, tell).go(new)
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

    Parameters
    ----------
    study : Study
    store : Store

    Returns
    -------
    list of dict

    Examples
    --------
    >>> import tempfile
    >>> from firstlight.study.demo import STUDY
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
    study : Study
        At its scale.
    store : Store
    scale : str, default "quick"
        For the command in ``attrs``.

    Returns
    -------
    xarray.Dataset

    Examples
    --------
    >>> import tempfile
    >>> from firstlight.study.demo import STUDY
    >>> with tempfile.TemporaryDirectory() as folder, Store(f"{folder}/s.sqlite", write=True) as store:
    ...     dataset(STUDY, store).attrs["study"]
    'demo/rate'
    """
    found = collect(study, store, visited(study, store))
    return found.assign_attrs(attributes(study, scale), fingerprint=fingerprint(found))
