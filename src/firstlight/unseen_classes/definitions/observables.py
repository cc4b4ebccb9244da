"""The observables by class, under the names that both sides use."""

from typing import Any

import numpy as np
import xarray as xr

from firstlight.maths.agreement import spearman

RELATIONS = {
    "similarity_alignment": ("size", "alignment"),
    "similarity_alignment_change": ("size", "alignment_change"),
    "snr_alignment": ("snr", "alignment"),
    "similarity_elasticity": ("size", "elasticity"),
    "similarity_recall": ("size", "recall"),
    "similarity_recall_change": ("size", "recall_change"),
    "alignment_recall": ("alignment", "recall"),
}


def named(
    name: str, inner: np.ndarray, cosine: np.ndarray, recall: np.ndarray, overall: float
) -> dict[str, Any]:
    """Name the observables of one moment, before or after the step."""
    across = -inner
    np.fill_diagonal(across, np.nan)
    return {
        f"alignment{name}": ("class", np.diag(cosine).copy()),
        f"cohesion{name}": ("class", np.diag(inner).copy()),
        **({} if name else {"separability": (("class", "other"), across)}),
        f"recall{name}": ("class", np.asarray(recall)),
        f"mean_recall{name}": overall,
    }


def with_relations(results: xr.Dataset) -> xr.Dataset:
    """Add the rank correlations over classes; a class of one member has no cosine and no recall."""
    columns = {name: results[name].values for name in ("snr", "alignment", "elasticity", "recall")}
    columns["size"] = np.abs(results["similarity"].values)
    for name in ("alignment", "recall"):
        columns[f"{name}_change"] = results[name].values - results[f"{name}_before"].values
    known = np.all([np.isfinite(column) for column in columns.values()], axis=0)
    if known.sum() < 3:
        return results
    first, second = (np.stack([columns[pair[i]][known] for pair in RELATIONS.values()]) for i in (0, 1))
    return results.assign(dict(zip(RELATIONS, spearman(first, second), strict=True)))
