"""Speed, as ratios within one run: each measured job stands beside the floor that it cannot avoid.

Seconds are CPU seconds of the process, unless a row says wall: other work on the machine moves them little.
With more than one thread of BLAS they are the seconds that pass, for a machine that is idle.
`python -m benchmarks` measures all, `benchmarks.scale` how costs grow, and `benchmarks.peers` the same jobs
done by what one would take instead.
"""

import os
import time
from collections.abc import Callable

clock = time.process_time if os.environ.get("OPENBLAS_NUM_THREADS") == "1" else time.perf_counter


def best_of(job: Callable[[], object], repeats: int = 5) -> float:
    """Seconds of the quickest of several runs: the least disturbed one on a shared machine."""
    times = []
    for _ in range(repeats):
        start = clock()
        job()
        times.append(clock() - start)
    return min(times)
