"""Speed, as ratios within one run: each measured job stands beside the floor that it cannot avoid.

Seconds are CPU seconds of the process, all its threads together, unless a row says wall: other work on the
machine moves them little. `python -m benchmarks` measures all, `benchmarks.scale` how costs grow, and
`benchmarks.peers` the same jobs done by what one would take instead.
"""

import time
from collections.abc import Callable


def best_of(job: Callable[[], object], repeats: int = 5) -> float:
    """CPU seconds of the quickest of several runs: the least disturbed one on a shared machine."""
    times = []
    for _ in range(repeats):
        start = time.process_time()
        job()
        times.append(time.process_time() - start)
    return min(times)
