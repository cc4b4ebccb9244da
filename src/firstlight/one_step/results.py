"""From arrays of observables to a Dataset with names, conventions and relative errors."""

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import xarray as xr

from firstlight.data.labels import label_variance
from firstlight.data.structured import check_choice
from firstlight.network.setting import Setting

Convention = Literal["full", "half"]


def dataset(
    setting: Setting,
    values: dict[str, np.ndarray],
    convention: Convention,
    sample_sizes: Sequence[int] | None = None,
    **attrs: str,
) -> xr.Dataset:
    """Name the axes, add the relative errors, apply the convention, and drop axes nobody asked for.

    Parameters
    ----------
    setting : Setting
        What was studied.
    values : dict of ndarray
        Observables of shape (L,) over the ridges, or (S, L) over sample sizes and ridges; the errors by class
        have one more axis.
    convention : {"full", "half"}
        Full mean squares; or half mean squares, with the penalty in the training error.
    sample_sizes : sequence of int, optional
        The sample sizes S, if several were asked for.
    **attrs : str
        Attributes to keep.

    Returns
    -------
    xarray.Dataset
    """
    check_choice("convention", convention, ("full", "half"))
    dims: tuple[str, ...] = ("m", "ridge")[-values["test_error"].ndim :]
    coords: dict[str, Any] = {"ridge": setting.ridges, "class": np.arange(setting.mixture.classes)}
    if "m" in dims:
        coords["m"] = list(sample_sizes or [setting.m])
    variables = {
        name: ((*dims, "class") if name == "test_error_by_class" else dims, value)
        for name, value in values.items()
    }
    data = xr.Dataset(variables, coords, attrs={"convention": convention, **attrs})
    if "converged" in data:
        data = data.where(data.converged).assign(converged=data.converged)
    data["label_variance"] = label_variance(setting.labels, setting.mixture)
    for name in ("test_error", "train_error"):
        data[f"relative_{name}"] = data[name] / data.label_variance
    if convention == "half":
        data["train_error"] = data.train_error + data.ridge * data.weight_norm**2
        for name in ("test_error", "train_error", "test_error_by_class"):
            data[name] = data[name] / 2
    unasked = ([] if sample_sizes is not None else ["m"]) + (["ridge"] if np.isscalar(setting.ridge) else [])
    return data.isel({name: 0 for name in unasked if name in data.dims}, drop=True)
