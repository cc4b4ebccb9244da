"""Networks of a setting that are really trained: by gradient flow, or by gradient descent."""

from typing import Any

import numpy as np
import xarray as xr

from firstlight.early_alignment.definitions.setting import Setting
from firstlight.early_alignment.definitions.tables import observed
from firstlight.early_alignment.experiment.descent import descent
from firstlight.early_alignment.experiment.flow import headroom, integrate, sliding_distance
from firstlight.early_alignment.trajectory import arrived, check_scale

_MOST_STEPS = 10**8  # of gradient descent: an hour or so


def by_flow(
    setting: Setting,
    X: np.ndarray,
    y: np.ndarray,
    W: np.ndarray,
    v: np.ndarray,
    tolerance: float,
    neurons: bool,
) -> xr.Dataset:
    """Integrate gradient flow from t = 0."""
    if setting.start == "gaussian":
        raise ValueError(
            "method = 'flow': needs a balanced start; use method = 'descent' with start = 'gaussian'"
        )
    first = np.full(len(v), setting.log_scale)
    check_scale(setting.log_scale, headroom(X, y, W, first, v, setting.loss))
    run = integrate(
        X, y, W, first, v, setting.times, loss=setting.loss, reduction=setting.reduction, tolerance=tolerance
    )
    states = [(*one, v) for one in zip(run.directions, run.log_norms, strict=True)]
    results = observed(setting, X, y, setting.times, states, neurons, sliding_distance(tolerance))
    # Known only if every neuron has arrived within the horizon, and the integrator at its end.
    known = run.converged and arrived(run.directions[-1], v, X, y, run.sliding)
    results["alignment_time"] = max(run.last_flip, 0.0) if known else np.nan
    return results.assign({**_switches(run.directions, v, X, y), "converged": run.converged})


def by_descent(
    setting: Setting, X: np.ndarray, y: np.ndarray, W: np.ndarray, v: np.ndarray, **options: Any
) -> xr.Dataset:
    """Train by gradient descent, observed at times η × iteration."""
    if setting.reduction != "mean":
        raise ValueError("method = 'descent': it minimises the mean loss; set reduction = 'mean'")
    needed = setting.horizon / setting.step_size
    if needed > _MOST_STEPS:
        raise ValueError(
            f"step_size = {setting.step_size!r}: {needed:.3g} steps to the horizon = {setting.horizon!r}; "
            f"at most {_MOST_STEPS:.0e} are taken"
        )
    steps = (setting.times / setting.step_size).round().astype(int)
    if (np.diff(steps) < 1).any():
        raise ValueError(
            f"step_size = {setting.step_size!r}: too large for outputs at {setting.times[:3]} and so on"
        )
    if not -300 <= setting.log_scale <= 100:
        raise ValueError(
            f"log_scale = {setting.log_scale!r}: gradient descent forms the weights themselves, must lie in "
            "[-300, 100]; method = 'flow' has no lower limit"
        )
    scale = float(np.exp(setting.log_scale))
    second = scale * v if options["train_second"] else np.sign(v)
    results = descent(
        X, y, scale * W, second, step_size=setting.step_size, loss=setting.loss, observations=steps, **options
    )
    results = results.assign_coords(time=setting.times)  # which is η × iteration, to half a step
    settled = (results.plus + results.minus + results.dead).values
    late = np.flatnonzero(settled < 1 - 1e-9)
    when = 0 if not len(late) else late[-1] + 1
    results["alignment_time"] = float(results.time[when]) if when < len(settled) else np.nan
    return results


def _switches(directions: np.ndarray, v: np.ndarray, X: np.ndarray, y: np.ndarray) -> dict[str, float]:
    """Count switches between outputs, and the share that leave a datum of the own class or take another's."""
    active = directions @ X.T > 1e-12 * np.linalg.norm(X, axis=1)  # off on the wall, as in `regions`
    known = np.isfinite(directions).all(axis=(1, 2))
    switched = np.diff(active[known].astype(int), axis=0)
    wrong = switched * np.outer(np.sign(v), y) < 0
    count = float(np.abs(switched).sum())
    return {"switches": count, "wrong_switches": float(wrong.sum()) / max(count, 1.0)}
