"""A guess of a study's cost that runs nothing of it, for the catalogue's list."""

import time
from functools import lru_cache

import numpy as np

from firstlight.study.cost import cost_of
from firstlight.study.estimate import refined, sample
from firstlight.study.sweep import Study
from firstlight.study.trial import one_thread

_POINTS = 8
_PATIENCE = 0.1  # seconds to spend on asking one study for its cost


def rough_seconds(study: Study) -> float | None:
    """Guess the work in a study without running any of it; None where its Problems tell no cost.

    Parameters
    ----------
    study : Study
        At its scale.

    Returns
    -------
    float or None
        Seconds on one core that multiplies matrices as fast as this one; good for an order of magnitude.

    Examples
    --------
    >>> from firstlight.study.demo import STUDY
    >>> rough_seconds(STUDY) < 1
    True
    """
    points = sample(study)
    points = points[:: -(-len(points) // _POINTS)]
    total, asked, start = 0.0, 0, time.perf_counter()
    for point in points:
        problem = study.build(point)
        for arm in study.arms.values():
            cost = cost_of(problem, arm.door, arm.options)
            if cost is None:
                return None
            total += cost.flops * arm.count(study.trials)
        asked += 1
        if time.perf_counter() - start > _PATIENCE:
            break
    return total / asked * (study.size + refined(study)) / _flops_per_second()


@lru_cache(maxsize=1)
def _flops_per_second() -> float:
    n = 400
    matrix = np.ones((n, n))
    with one_thread():
        times = []
        for _ in range(5):
            start = time.perf_counter()
            matrix @ matrix
            times.append(time.perf_counter() - start)
    return 2 * n**3 / min(times)
