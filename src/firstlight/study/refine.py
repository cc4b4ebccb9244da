"""Refinement: new points where an observable changes fastest, by bisecting the interval of largest change."""

import itertools
import math
from collections.abc import Sequence

import numpy as np

from firstlight.study.collect import collect
from firstlight.study.judge import trial_mean
from firstlight.study.spec import Refine, Scalar
from firstlight.study.store import Store
from firstlight.study.sweep import Point, Study


def next_points(study: Study, store: Store, points: Sequence[Point]) -> list[Point]:
    """Choose the next points: one for each combination of the other axes, until each has used its budget.

    The choice depends only on what is stored, so a resumed sweep places the same points.

    Parameters
    ----------
    study : Study
        With `refine`.
    store : Store
        Holds the records of `points`.
    points : sequence of dict
        Those done so far.

    Returns
    -------
    list of dict
        Empty when the budget is used up, or nothing is left to bisect.

    Examples
    --------
    >>> import tempfile
    >>> from dataclasses import replace
    >>> from firstlight.study.demo import STUDY
    >>> from firstlight.study.run import run
    >>> study = replace(STUDY, refine=Refine("rate", "mean", "theory", budget=1))
    >>> with tempfile.TemporaryDirectory() as folder, Store(f"{folder}/s.sqlite", write=True) as store:
    ...     _ = run(STUDY, store, workers=0)
    ...     next_points(study, store, list(study.points()))
    [{'rate': 0.75}]
    """
    rule = study.refine
    if rule is None:
        return []
    found = collect(study, store, points)
    if rule.observable not in found:
        return []
    mean, _ = trial_mean(found[rule.observable].sel(arm=rule.arm))
    if set(mean.dims) - set(study.axes):
        raise ValueError(f"refine.observable = {rule.observable!r}: must be one number per trial")
    others = [name for name in study.axes if name != rule.axis]
    start = len(study.axes[rule.axis])
    chosen: list[Point] = []
    for combination in itertools.product(*(study.axes[name] for name in others)):
        fixed = dict(zip(others, combination, strict=True))
        line = sorted(
            point[rule.axis] for point in points if all(point[name] == fixed[name] for name in others)
        )
        if len(line) - start >= rule.budget:
            continue
        heights = mean.sel({**fixed, rule.axis: line}).values
        middle = bisect(line, heights, rule)
        if middle is not None:
            chosen.append({name: fixed.get(name, middle) for name in study.axes})
    return chosen


def bisect(line: Sequence[Scalar], heights: np.ndarray, rule: Refine) -> Scalar | None:
    """Return the middle of the interval on which the heights change most, or None if there is none to split.

    Parameters
    ----------
    line : sequence of numbers
        The sorted axis values; if all are ints, so is the new one.
    heights : ndarray
        The observable there; an interval with a NaN at one end is left alone.
    rule : Refine
        Says whether to bisect in the logarithm.

    Returns
    -------
    int, float or None

    Examples
    --------
    >>> bisect([0.0, 1.0, 2.0], np.array([0.0, 0.1, 1.0]), Refine("x", "y", "theory", budget=1))
    1.5
    """
    change = np.abs(np.diff(np.asarray(heights, dtype=float)))
    for place in np.argsort(-np.nan_to_num(change, nan=-1.0), kind="stable"):
        if not np.isfinite(change[place]) or change[place] == 0:
            return None
        low, high = float(line[place]), float(line[place + 1])
        middle = math.sqrt(low * high) if rule.log and low > 0 else 0.5 * (low + high)
        whole = all(isinstance(value, int) for value in line)
        new = round(middle) if whole else middle
        if low < new < high:
            return new
    return None
