"""The bar: points done, rate, time left; nothing at all when nobody watches."""

from types import TracebackType
from typing import Any

from firstlight.study.rounds import Outcome
from firstlight.study.spec import Scalar
from firstlight.study.sweep import Study
from firstlight.study.trial import Task


class Bar:
    """A progress bar on standard error, to be used as a context manager and as the `tell` of `advance`.

    Parameters
    ----------
    study : Study

    Examples
    --------
    >>> from firstlight.study.demo import STUDY
    >>> with Bar(STUDY):
    ...     pass
    """

    def __init__(self, study: Study) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

        console = Console(stderr=True)
        self._per_point = sum(map(study.count, study.arms))
        self._left: dict[tuple[Scalar, ...], int] = {}
        self._points, self._size, self._total = 0, study.size, study.records
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.fields[points]}"),
            TextColumn("{task.fields[rate]}"),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
            console=console,
            disable=not console.is_terminal,
        )
        self._bar = self._progress.add_task(study.name, total=self._total, points="", rate="")

    def __call__(self, task: Task, outcome: Outcome) -> None:
        """Count one record."""
        place = tuple(task.point.values())
        self._left[place] = self._left.get(place, self._per_point) - 1
        if self._left[place] == 0:
            self._points += 1
            del self._left[place]
        done = outcome.computed + outcome.failed
        shown = self._progress.tasks[0]
        fields: dict[str, Any] = {"points": f"{self._points}/{max(self._size, self._points)} points"}
        if shown.speed:
            fields["rate"] = f"{shown.speed:.3g} trials/s"
        # Records that were there already would fool the clock: the bar measures only what is left to do.
        total = max(self._total - outcome.kept, done)
        self._progress.update(self._bar, completed=done, total=total, **fields)

    def __enter__(self) -> "Bar":
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.stop()
