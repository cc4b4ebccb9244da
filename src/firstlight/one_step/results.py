"""From arrays of observables to a Dataset with names, conventions and relative errors."""

import warnings
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import xarray as xr

from firstlight.data.labels import label_variance
from firstlight.maths.refusals import check_choice
from firstlight.maths.scales import with_scales
from firstlight.one_step.definitions import Setting
from firstlight.study.judge import standard_errors

Convention = Literal["full", "half"]
# Features that are Gaussian given a few coordinates miss about so much of the labels' variance: with a spike
# of 50 n and labels along it the network's error is 3e-5 of it, and asymptotic predictions are half of that.
RESOLVED = 1e-3


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
    """
    check_choice("convention", convention, ("full", "half"))
    dims: tuple[str, ...] = ("samples", "ridge")[-values["test_error"].ndim :]
    values = dict(values)
    if "converged" in values:
        for name in values.keys() - {"converged"}:
            seen = values["converged"][..., None] if name == "test_error_by_class" else values["converged"]
            values[name] = np.where(seen, values[name], np.nan)
    variance = label_variance(setting.labels, setting.mixture)
    if np.isnan(variance) and "converged" not in values:
        warnings.warn(
            "label_variance: not told, nor are errors relative to it, as the moments of the labels' link are "
            "not resolved",
            stacklevel=3,
        )
    for name in ("test_error", "train_error"):
        # labels that do not vary have no error relative to their variance
        values[f"relative_{name}"] = values[name] / (variance if variance > 0 else np.nan)
    if convention == "half":
        values["train_error"] = values["train_error"] + setting.ridges * values["weight_norm"] ** 2
        for name in ("test_error", "train_error", "test_error_by_class"):
            values[name] = values[name] / 2
    asked = {"samples": sample_sizes is not None, "ridge": not np.isscalar(setting.ridge)}
    chosen = tuple(slice(None) if asked[name] else 0 for name in dims)
    kept = tuple(name for name in dims if asked[name])
    coords: dict[str, Any] = {"samples": list(sample_sizes or []), "ridge": setting.ridges}
    results = xr.Dataset(
        {
            name: ((*kept, "class") if name == "test_error_by_class" else kept, value[chosen])
            for name, value in values.items()
        }
        | {"label_variance": variance},
        {name: coords[name] for name in kept} | {"class": np.arange(setting.mixture.classes)},
        attrs={"convention": convention, **attrs},
    )
    square = float(setting.mixture.weights @ setting.labels.moments(setting.mixture)[1])
    errors = dict.fromkeys(("test_error", "train_error", "test_error_by_class"), square)
    shares = dict.fromkeys(("relative_test_error", "relative_train_error", "misclassification"), 1.0)
    return with_scales(results, errors | shares)


def averaged(tables: list[xr.Dataset]) -> xr.Dataset:
    """Average the draws of a prediction; each observable gets its standard error as ``o_sem``.

    Parameters
    ----------
    tables : list of Dataset
        One for each draw, as `dataset` makes them, with ``converged``.

    Returns
    -------
    xarray.Dataset
        Converged where every draw is, and the test error is large enough to be told (`RESOLVED`). One draw
        tells no standard error: ``attrs["note"]`` says so.
    """
    whole = xr.concat(tables, "draw", join="override", coords="minimal", compat="override")
    together = whole.drop_vars(["converged", "label_variance"])
    mean = together.mean("draw", skipna=False).assign(standard_errors(together, "draw"))
    good = whole.converged.all("draw") & ~(mean.relative_test_error < RESOLVED)
    mean = mean.where(good).assign(converged=good, label_variance=tables[0].label_variance)
    note = {} if len(tables) > 1 else {"note": "one draw: its standard error is not known"}
    return mean.assign_attrs(tables[0].attrs | note)
