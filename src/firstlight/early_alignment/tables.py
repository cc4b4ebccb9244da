"""Observables of a trajectory as a table over time."""

from collections.abc import Mapping, Sequence

import numpy as np
import xarray as xr


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
    return xr.Dataset({name: (dims[: values.ndim], values) for name, values in seen.items()}, {"time": times})
