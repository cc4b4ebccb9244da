"""Observables of a trajectory as a table over time."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr

from firstlight.early_alignment.definitions.setting import Setting
from firstlight.early_alignment.definitions.trajectory import Observer
from firstlight.maths.losses import margin_loss
from firstlight.maths.scales import with_scales


def one_by_one(directions: np.ndarray, log_norms: np.ndarray) -> dict[str, np.ndarray]:
    """Return every neuron under the names that a table gives dimensions of its own."""
    return {"direction": directions, "log_length": log_norms}


def stack(seen: Sequence[Mapping[str, float | np.ndarray]]) -> dict[str, np.ndarray]:
    """Stack observables, one mapping for each time; a name that is missing at some time is NaN there."""
    names = {name: value for one in seen for name, value in one.items()}
    return {
        name: np.stack([np.asarray(one.get(name, np.full(np.shape(like), np.nan))) for one in seen])
        for name, like in names.items()
    }


def table(times: np.ndarray, seen: Mapping[str, np.ndarray]) -> xr.Dataset:
    """Put stacked observables over time; those of single neurons have further dimensions."""
    dims = ("time", "neuron", "coordinate")
    results = xr.Dataset(
        {name: (dims[: values.ndim], values) for name, values in seen.items()}, {"time": times}
    )
    return with_scales(results, {name: 1.0 for name in seen if name.startswith("cosine")})


def observed(
    setting: Setting,
    X: np.ndarray,
    y: np.ndarray,
    times: np.ndarray,
    states: Sequence[tuple[np.ndarray, np.ndarray, np.ndarray]],
    neurons: bool,
    sliding: float = 0.0,
) -> xr.Dataset:
    """Observe networks at their times; a state that the integrator did not reach gives NaN."""
    chosen = margin_loss(setting.loss)
    mean = setting.reduction == "mean"
    see = Observer(X, y, chosen.log_value, chosen.log_slope, mean, sliding=sliding)
    seen: list[dict[str, Any]] = [see(*one) if np.isfinite(one[0]).all() else {} for one in states]
    if neurons:
        seen = [{**one, **one_by_one(*state[:2])} for one, state in zip(seen, states, strict=True)]
    return table(times, stack(seen))
