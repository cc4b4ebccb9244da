"""Get trials done: bounded work in flight, records written as they come, dead workers replaced; a bar."""

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, CancelledError, Future, wait
from dataclasses import dataclass, field
from itertools import islice
from types import TracebackType
from typing import TYPE_CHECKING

from firstlight.study.engines import Engine
from firstlight.study.record import Record
from firstlight.study.store import Store
from firstlight.study.sweep import Point, Study
from firstlight.study.trial import Task, perform, tasks

if TYPE_CHECKING:
    from rich.console import Console

_BATCH = 512
_DEATHS = 2
_WIDE = 80  # columns from which there is room for a bar beside the words


@dataclass
class Outcome:
    """What a run did.

    Attributes
    ----------
    computed, kept, failed : int
        Records computed with a result; found in the store; computed without a result.
    deaths : int
        Workers that died; their trials were done again.
    seconds : float
        Wall time.
    messages : list of str
        The first few failures, in words.
    """

    computed: int = 0
    kept: int = 0
    failed: int = 0
    deaths: int = 0
    seconds: float = 0.0
    messages: list[str] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        """Whether every record has a result."""
        return self.failed == 0


@dataclass
class Schedule:
    """One pass over some points of a study.

    Parameters
    ----------
    study : Study
    store : Store
        Open for writing.
    machine : Engine
    outcome : Outcome
        Counts what happens.
    tell : callable
        Called with (task, outcome) after each record.

    Examples
    --------
    >>> import tempfile
    >>> from firstlight.demo import STUDY
    >>> from firstlight.study.engines import Serial
    >>> done = Outcome()
    >>> with tempfile.TemporaryDirectory() as folder, Store(f"{folder}/s.sqlite", write=True) as store:
    ...     Schedule(STUDY, store, Serial(), done, lambda task, outcome: None).run(STUDY.points())
    >>> done.computed
    15
    """

    study: Study
    store: Store
    machine: Engine
    outcome: Outcome
    tell: Callable[[Task, Outcome], None]
    flying: "dict[Future[Record], Task]" = field(default_factory=dict)
    retried: deque[Task] = field(default_factory=deque)
    deaths: dict[bytes, int] = field(default_factory=dict)
    settled: set[bytes] = field(default_factory=set)  # results since the store was last asked

    def run(self, points: Iterable[Point]) -> None:
        """Compute what the store lacks of these points."""
        todo = self._missing(points)
        while True:
            # After a worker's death the trials in flight go one by one: who dies alone is the culprit.
            most = 1 if self.retried else 2 * self.machine.slots
            while len(self.flying) < most:
                task = self.retried.popleft() if self.retried else next(todo, None)
                if task is None:
                    break
                if not self._launch(task):
                    break
                most = 1 if task.address in self.deaths else most
            if not self.flying:
                if self.retried:
                    continue
                return
            done, _ = wait(self.flying, return_when=FIRST_COMPLETED)
            self._store(done)
            self.machine.lost()

    def _launch(self, task: Task) -> bool:
        try:
            self.flying[self.machine.submit(perform, task)] = task
        except BrokenExecutor:  # it broke unnoticed; what is in flight will tell, else start afresh here
            self.retried.appendleft(task)
            if not self.flying and not self.machine.renew():
                raise
            return False
        return True

    def _missing(self, points: Iterable[Point]) -> Iterator[Task]:
        """Yield the tasks that have no result yet, each address once; failures are tried again.

        What the store has need not be remembered: a sweep takes the same memory, however long it is.
        """
        claimed: set[bytes] = set()
        source = tasks(self.study, points)
        while batch := list(islice(source, _BATCH)):
            finished = self.store.finished([task.address for task in batch])
            claimed -= self.settled
            self.settled.clear()
            for task in batch:
                if finished.get(task.address) or task.address in claimed:
                    self.outcome.kept += 1
                    self.tell(task, self.outcome)
                else:
                    claimed.add(task.address)
                    yield task

    def _store(self, done: "Iterable[Future[Record]]") -> None:
        """Write what came back in one transaction, and see to what did not."""
        records: list[tuple[Task, Record]] = []
        broken: list[Task] = []
        for future in done:
            task = self.flying.pop(future)
            try:
                records.append((task, future.result()))
            except BrokenExecutor:
                broken.append(task)
            except CancelledError as error:
                raise RuntimeError("the cluster is gone; run again to resume") from error
            except Exception as error:  # the trial could not be sent, or the cluster gave it up
                message = f"{type(error).__name__}: {error}"
                records.append((task, task.record(message=message, seconds=0.0)))
        if broken:
            records += self._renew([*broken, *self.flying.values()])
        if records:
            self.store.put(record for _, record in records)
        for task, record in records:
            self._count(task, record)

    def _renew(self, lost: list[Task]) -> list[tuple[Task, Record]]:
        """Start new workers after one died, and decide which trials are tried again."""
        self.outcome.deaths += 1
        self.flying.clear()
        if not self.machine.renew():
            raise RuntimeError("the executor broke; run again to resume")
        given_up = []
        for task in lost:
            # Only a death alone in flight counts against a trial; in company it may be innocent.
            self.deaths[task.address] = self.deaths.get(task.address, 0) + (len(lost) == 1)
            if self.deaths[task.address] >= _DEATHS:
                message = f"its worker died {_DEATHS} times (out of memory, or killed)"
                given_up.append((task, task.record(message=message, seconds=0.0)))
            else:
                self.retried.append(task)
        return given_up

    def _count(self, task: Task, record: Record) -> None:
        if record.ok:
            self.outcome.computed += 1
            self.settled.add(task.address)
        else:
            self.outcome.failed += 1
            if len(self.outcome.messages) < 5:
                where = ", ".join(f"{name} = {value!r}" for name, value in task.point.items())
                self.outcome.messages.append(f"{task.arm}, trial {task.trial} at {where}: {record.message}")
        self.tell(task, self.outcome)


def progress_line(done: int, total: int, elapsed: float, left: float | None, width: int) -> str:
    """Say how far a run is, in one line of at most `width` letters: less is said where less fits.

    Examples
    --------
    >>> progress_line(3, 12, 31.0, 24.0, width=40)
    '3 of 12, 0:31 elapsed, about 0:24 left'
    >>> progress_line(1234, 99999, 7261.0, None, width=20)
    '1234 of 99999'
    """
    parts = [f"{done} of {total}", f"{_clock(elapsed)} elapsed"]
    parts += [f"about {_clock(left)} left"] if left is not None and done < total else []
    for kept in (parts, [parts[0], *parts[2:]], parts[:1]):
        if len(line := ", ".join(kept)) <= width:
            return line
    return parts[0][:width]


def _clock(seconds: float) -> str:
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"


class Bar:
    """A progress bar on standard error, to be used as a context manager and as the `tell` of `advance`.

    Parameters
    ----------
    study : Study
    console : rich.console.Console, optional
        Default: standard error. One that is not a terminal shows nothing.
    """

    def __init__(self, study: Study, console: "Console | None" = None) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, ProgressColumn, TextColumn

        self.console = Console(stderr=True) if console is None else console
        self._total = study.records
        wide = self.console.width >= _WIDE
        before: list[ProgressColumn] = [TextColumn("{task.description}"), BarColumn()] if wide else []
        said = TextColumn("{task.fields[said]}", markup=False)
        self._progress = Progress(*before, said, console=self.console, get_time=time.monotonic)
        self._bar = self._progress.add_task(
            study.name, total=self._total, said=f"0 of {self._total}, starting"
        )

    def __call__(self, task: Task, outcome: Outcome) -> None:
        """Count one record."""
        done = outcome.computed + outcome.failed
        # Records that were there already would fool the clock: the bar measures only what is left to do.
        total = max(self._total - outcome.kept, done)
        self._progress.update(self._bar, completed=done, total=total)
        shown = self._progress.tasks[0]
        said = progress_line(done, total, shown.elapsed or 0.0, shown.time_remaining, self.console.width)
        self._progress.update(self._bar, said=said)

    def __enter__(self) -> "Bar":
        if self.console.is_terminal:
            self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.console.is_terminal:
            self._progress.stop()
