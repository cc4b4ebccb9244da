"""Speed, as ratios within one run: each measured job stands beside the floor that it cannot avoid."""

import time
from collections.abc import Callable


def best_of(job: Callable[[], object], repeats: int = 5) -> float:
    """Seconds of the fastest of several runs: the least disturbed one on a shared machine."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        job()
        times.append(time.perf_counter() - start)
    return min(times)
