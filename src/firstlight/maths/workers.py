"""Threads for what BLAS cannot do: independent pieces of work side by side."""

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import cache, wraps
from itertools import pairwise
from threading import local
from typing import Any, ParamSpec, TypeVar

import numpy as np
from threadpoolctl import ThreadpoolController

Result = TypeVar("Result")
Given = ParamSpec("Given")
BLOCK = 625  # rows that a thread works on at once, at most
_entered = local()  # the Workers whose block a thread is in


@cache
def _blas() -> ThreadpoolController:
    """Find the BLAS libraries, once: it takes as long as a small trial."""
    return ThreadpoolController().select(user_api="blas")


class Workers:
    """As many threads as BLAS may use, with BLAS on one thread in each of them.

    NumPy lets go of the interpreter in its inner loops, so drawing normals and applying functions element by
    element gain as much as matrix products do. BLAS keeps to one thread as long as the workers are there: its
    own threads go on spinning for a while after each call, on cores that the workers need. Within a `with`
    block of the same thread, further Workers are those of the block.
    """

    def __init__(self) -> None:
        self._outer: Workers | None = getattr(_entered, "workers", None)
        if self._outer is not None:
            self.count, self._pool, self._own = self._outer.count, self._outer._pool, self._outer._own
            return
        self.count = max((library["num_threads"] for library in _blas().info()), default=1)
        self._pool = ThreadPoolExecutor(self.count) if self.count > 1 else None
        self._own = local()

    def __enter__(self) -> "Workers":
        if self._outer is None:
            self._limit = _blas().limit(limits=1)
            _entered.workers = self
        return self

    def __exit__(self, *exception: object) -> None:
        if self._outer is None:
            _entered.workers = None
            self._limit.restore_original_limits()
            if self._pool is not None:
                self._pool.shutdown(cancel_futures=True)

    def map(self, job: Callable[[Any], Result], items: Iterable[Any]) -> list[Result]:
        """Run a job on every item; results in order. A single one needs no thread of its own."""
        items = list(items)
        alone = self._pool is None or len(items) < 2
        return [job(item) for item in items] if alone else list(self._pool.map(job, items))

    def together(self, job: Callable[[], Result]) -> Result:
        """Run one job with BLAS on all threads."""
        with _blas().limit(limits=self.count):
            return job()

    def scratch(self, name: str, rows: int, columns: int) -> np.ndarray:
        """Lend the calling thread an array that it keeps for the next time: new memory is slow."""
        kept = self._own.__dict__
        if name not in kept or kept[name].size < rows * columns:
            kept[name] = np.empty(rows * columns)
        return kept[name][: rows * columns].reshape(rows, columns)


def on_one_thread(function: Callable[Given, Result]) -> Callable[Given, Result]:
    """Keep BLAS to one thread while a function runs: on small matrices its threads cost more than they bring.

    Examples
    --------
    >>> @on_one_thread
    ... def threads():
    ...     return max(library["num_threads"] for library in _blas().info())
    >>> threads()
    1
    """

    @wraps(function)
    def alone(*args: Given.args, **options: Given.kwargs) -> Result:
        with Workers():
            return function(*args, **options)

    return alone


def blocks(count: int) -> list[slice]:
    """Cut `count` rows into equal blocks that a thread works on at once.

    Examples
    --------
    >>> blocks(700)
    [slice(0, 350, None), slice(350, 700, None)]
    """
    parts = -(-count // BLOCK)
    ends = [count * part // parts for part in range(parts + 1)]
    return [slice(start, stop) for start, stop in pairwise(ends)]
