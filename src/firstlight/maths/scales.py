"""How large what an observable is made of is, so that a verdict knows rounding from a gap."""

from collections.abc import Mapping
from math import ceil, isfinite, log10

import xarray as xr


def with_scales(results: xr.Dataset, scales: Mapping[str, float]) -> xr.Dataset:
    """Declare the sizes of what observables are made of: in verdicts, gaps below 1e-12 of these are rounding.

    It is for what may vanish: 1 for cosines and shares, the labels' square for errors; not for what is tiny
    and exact, such as norms of a small start. Kept as ``attrs["scale"]``, rounded up to a power of ten.

    Parameters
    ----------
    results : Dataset
    scales : mapping of str to float
        By observable; those that `results` has not got, or without a positive scale, are passed over.

    Examples
    --------
    >>> with_scales(xr.Dataset({"error": 1e-30}), {"error": 0.3})["error"].attrs
    {'scale': 1.0}
    """
    for name, scale in scales.items():
        if name in results and isfinite(scale) and scale > 0:
            results[name].attrs["scale"] = float(10.0 ** ceil(log10(scale)))
    return results
