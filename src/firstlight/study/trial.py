"""One trial: what a worker is told, what it sends back, and what it warned of."""

import hashlib
import inspect
import json
import sys
import threading
import time
import warnings
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
import xarray as xr
from scipy import special
from threadpoolctl import ThreadpoolController

from firstlight.maths.refusals import unknown
from firstlight.maths.rng import stream
from firstlight.study.compare import converged_only
from firstlight.study.problem import Problem
from firstlight.study.record import Record, address, pack
from firstlight.study.sweep import Point, Study, build

_FORMAT = 2  # raised when the meaning of a record changes, so that old ones are not read as new
_KEPT = 8  # Problems that a process keeps at hand
_CHECKED = 10_000  # points that are built before a run


@dataclass(frozen=True)
class Task:
    """A trial to be done: the record's address and place, and everything a worker needs.

    Examples
    --------
    >>> from firstlight.demo import STUDY
    >>> first = next(tasks(STUDY, STUDY.points()))
    >>> first.point, first.arm, first.trial
    ({'rate': 0.5}, 'experiment', 0)
    """

    address: bytes
    study: str
    point: Point
    arm: str
    trial: int
    kind: str
    options: Mapping[str, Any]
    seed: int
    observables: tuple[str, ...]
    factory: str | Callable[..., Problem]
    fixed: Mapping[str, Any]
    key: str
    theory: tuple[str, int]
    arithmetic: str

    def problem(self) -> Problem:
        """Return the trial's Problem; a worker builds it from its fields, which travel lighter than data."""
        if self.key not in _BUILT:
            built = build(self.study, self.factory, self.fixed, self.point)
            if address(built).hex() != self.key or (built.theory, built.version) != self.theory:
                raise RuntimeError("the worker builds another problem here: its code or its files differ")
            _remember(self.key, built)
        return _BUILT[self.key]

    def record(self, **content: Any) -> Record:
        """Return the record of this trial with the given result or failure."""
        return Record(self.address, self.study, json.dumps(self.point), self.arm, self.trial, **content)


_BUILT: OrderedDict[str, Problem] = OrderedDict()


def _remember(key: str, problem: Problem) -> None:
    """Keep the last few Problems, for the trials that follow at the same points."""
    _BUILT[key] = problem
    while len(_BUILT) > _KEPT:
        _BUILT.popitem(last=False)


def tasks(study: Study, points: Iterable[Point]) -> Iterator[Task]:
    """Yield every trial of some points of a study, each with the address of what determines its result.

    That is: the problem's content, the theory and its version, predict or simulate and their options, the
    seed, the trial and the observables that are kept. The study's name is no part of it: studies that overlap
    share records.

    Examples
    --------
    >>> from firstlight.demo import STUDY
    >>> len({task.address for task in tasks(STUDY, STUDY.points())}) == STUDY.records
    True
    """
    kept, bits = tuple(study.observables), arithmetic()
    for point in points:
        problem = study.build(point)
        key, theory = address(problem), (problem.theory, problem.version)
        _remember(key.hex(), problem)
        for name, arm in study.arms.items():
            base = address(_FORMAT, theory, key, arm.kind, dict(arm.options), study.seed, sorted(kept))
            for trial in range(study.count(name)):
                place = hashlib.sha256(base + trial.to_bytes(8, "little")).digest()
                yield Task(
                    place, study.name, point, name, trial, arm.kind, arm.options, study.seed, kept,
                    study.problem, study.fixed, key.hex(), theory, bits,
                )  # fmt: skip


def first_trials(study: Study, points: Iterable[Point]) -> Iterator[Task]:
    """Yield one trial of each arm at some points of a study."""
    arms = {name: replace(arm, trials=1, paired=False) for name, arm in study.arms.items()}
    return tasks(replace(study, arms=arms, scales={}), points)


def check(study: Study) -> None:
    """Build every Problem of a study and address it, so that a bad value is refused before hours of work.

    So are options of arms that `predict` or `simulate` does not have. Of a grid of more than ten thousand
    points only that many are built, spread evenly.

    Examples
    --------
    >>> from firstlight.demo import STUDY
    >>> check(replace(STUDY, axes={"rate": [1.0, -1.0]}))
    Traceback (most recent call last):
    ...
    ValueError: demo/rate at rate = -1.0: rate = -1.0: must be a number above 0
    """
    step = max(1, -(-study.size // _CHECKED))
    met = set()
    for task in first_trials(study, (study.point(index) for index in range(0, study.size, step))):
        problem = task.problem()
        if (kind := (type(problem), task.arm)) not in met:
            met.add(kind)
            _check_options(f"{study.name}: arms.{task.arm}.options", problem, task)


def _check_options(where: str, problem: Problem, task: Task) -> None:
    """Refuse options with which a trial's method cannot be called; the first argument is the stream."""
    try:
        parameters = list(inspect.signature(getattr(problem, task.kind)).parameters.values())
    except (TypeError, ValueError):  # what is no function of Python may tell nothing
        return
    either, by_name = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY
    for one in parameters[:1]:
        if one.kind is either and one.name in task.options:
            raise ValueError(f"{where}: {one.name!r} is each trial's own stream; the study's seed chooses it")
    known = {
        one.name: one.default is one.empty
        for place, one in enumerate(parameters)
        if one.kind is by_name or (one.kind is either and place)
    }
    free = any(one.kind is one.VAR_KEYWORD for one in parameters)
    if more := [name for name in task.options if name not in known and not free]:
        raise unknown(where, more[0], known)
    if lacking := [name for name, needed in known.items() if needed and name not in task.options]:
        raise ValueError(f"{where}: {lacking[0]!r} is missing, and {task.kind} needs it")


def perform(task: Task) -> Record:
    """Do one trial; the arms of a point share their streams.

    A trial that raises gives a record that says so, and what it warned of stands in its variable ``warning``;
    so does it if this processor's arithmetic is not that of the process which made the task.
    """
    start = time.perf_counter()
    try:
        with one_thread(), warnings_of_trial() as said:
            rng = stream(task.seed, "point", task.key, "trial", task.trial)
            results = getattr(task.problem(), task.kind)(rng, **task.options)
            if task.arithmetic != arithmetic():
                said.append("another processor than the run's own: its arithmetic differs in the last bits")
        kept = _kept(converged_only(results), task.observables)
        layout, body = pack(kept.assign(warning="; ".join(said)) if said else kept)
    except Exception as error:  # whatever a trial raises must not stop the others
        message = f"{type(error).__name__}: {error}"
        return task.record(message=message, seconds=time.perf_counter() - start)
    return task.record(layout=layout, body=body, seconds=time.perf_counter() - start)


def _kept(results: xr.Dataset, observables: tuple[str, ...]) -> xr.Dataset:
    if not observables:
        return results
    for name in observables:
        if name not in results.data_vars:
            raise unknown("observable", name, map(str, results.data_vars))
    beside = {"converged", *(f"{name}_sem" for name in observables)} - set(observables)
    return results[[*observables, *sorted(beside & set(results.data_vars))]]


def one_thread() -> AbstractContextManager[Any]:
    """Hold BLAS and OpenMP at one thread: their thread count would change the last bits of a result."""
    return _controller(len(sys.modules)).limit(limits=1)


@lru_cache(maxsize=1)
def arithmetic() -> str:
    """Return a fingerprint of the last bits that this processor and its libraries give.

    Products, factorisations and functions are rounded differently by the kernels of other processors, so
    that the same trial may differ there in its last bits.
    """
    x = np.sqrt(np.arange(1.0, 97.0**2 + 1).reshape(97, 97)) % 1
    with one_thread():
        product = x @ x.T
        values = [product, np.linalg.inv(product + np.eye(97)), np.linalg.eigvalsh(product), x.sum(axis=0)]
        functions = (np.exp, np.log1p, np.sin, np.tanh, special.erf, special.ndtri)
        values += [function(x) for function in functions]
    return hashlib.sha256(b"".join(array.tobytes() for array in values)).hexdigest()


@lru_cache(maxsize=1)
def _controller(modules: int) -> ThreadpoolController:
    """Find the thread pools; it takes a millisecond, so only after new modules were imported."""
    return ThreadpoolController()


_said: ContextVar[list[str] | None] = ContextVar("said", default=None)
_lock = threading.Lock()
_listeners = 0
_before: Any = None  # the process's own handling of warnings, while somebody listens


@contextmanager
def warnings_of_trial() -> Iterator[list[str]]:
    """Collect the warnings of the calling thread; a Dask worker runs several trials in one process.

    Yields
    ------
    list of str
        Filled as warnings come: each text once, with its category, and without the place in the code.

    Examples
    --------
    >>> with warnings_of_trial() as said:
    ...     warnings.warn("too few samples", stacklevel=1)
    >>> said
    ['UserWarning: too few samples']
    """
    global _listeners, _before
    said: list[str] = []
    token = _said.set(said)
    with _lock:
        if _listeners == 0:
            _before = warnings.catch_warnings()
            _before.__enter__()
            warnings.simplefilter("ignore")  # what libraries tell developers is no part of a result
            for category in (UserWarning, RuntimeWarning):
                warnings.simplefilter("always", category)
            warnings.showwarning = _note
        _listeners += 1
    try:
        yield said
    finally:
        with _lock:
            _listeners -= 1
            if _listeners == 0:
                _before.__exit__(None, None, None)
        _said.reset(token)


def _note(message: Warning | str, category: type[Warning], *place: Any, **more: Any) -> None:
    said, text = _said.get(), f"{category.__name__}: {message}"
    if said is not None and text not in said:
        said.append(text)
