"""Threads for what BLAS cannot do: independent pieces of work side by side."""

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any

from threadpoolctl import ThreadpoolController


@cache
def _blas() -> ThreadpoolController:
    """Find the BLAS libraries, once: it takes as long as a small trial."""
    return ThreadpoolController().select(user_api="blas")


class Workers:
    """As many threads as BLAS may use, with BLAS on one thread in each of them.

    NumPy lets go of the interpreter in its inner loops, so drawing normals and applying functions element by
    element gain as much as matrix products do.

    Examples
    --------
    >>> with Workers() as workers:
    ...     workers.map(abs, [-1, 2])
    [1, 2]
    """

    def __init__(self) -> None:
        self._libraries = _blas()
        count = max((library["num_threads"] for library in self._libraries.info()), default=1)
        self._pool = ThreadPoolExecutor(count)

    def __enter__(self) -> "Workers":
        return self

    def __exit__(self, *exception: object) -> None:
        self._pool.shutdown(cancel_futures=True)

    def map(self, job: Callable[[Any], Any], items: Iterable[Any]) -> list[Any]:
        """Run a job on every item; results in order."""
        with self._libraries.limit(limits=1):
            return list(self._pool.map(job, items))
