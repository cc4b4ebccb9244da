"""The observables by class, under the names that both sides use."""

import numpy as np
import xarray as xr

from firstlight.maths.agreement import rank_agreement

RELATIONS = {
    "similarity_alignment": ("size", "alignment"),
    "similarity_alignment_change": ("size", "alignment_change"),
    "snr_alignment": ("snr", "alignment"),
    "similarity_elasticity": ("size", "elasticity"),
    "similarity_recall": ("size", "recall"),
    "similarity_recall_change": ("size", "recall_change"),
    "alignment_recall": ("alignment", "recall"),
}


def put(
    results: xr.Dataset, name: str, inner: np.ndarray, cosine: np.ndarray, recall: np.ndarray, overall: float
) -> None:
    """Write the observables of one moment, before or after the step."""
    results[f"alignment{name}"] = ("class", np.diag(cosine).copy())
    results[f"cohesion{name}"] = ("class", np.diag(inner).copy())
    if not name:
        across = -inner
        np.fill_diagonal(across, np.nan)
        results["separability"] = (("class", "other"), across)
        results.coords["other"] = results["class"].values
    results[f"recall{name}"] = ("class", np.asarray(recall))
    results[f"mean_recall{name}"] = overall


def with_relations(results: xr.Dataset) -> xr.Dataset:
    """Add the rank correlations over classes; a class of one member has no cosine and no recall."""
    columns = {name: results[name].values for name in ("snr", "alignment", "elasticity", "recall")}
    columns["size"] = np.abs(results["similarity"].values)
    for name in ("alignment", "recall"):
        columns[f"{name}_change"] = results[name].values - results[f"{name}_before"].values
    known = np.all([np.isfinite(column) for column in columns.values()], axis=0)
    if known.sum() < 3:
        return results
    ranks = {
        relation: float(rank_agreement(columns[a][known], columns[b][known], resamples=0)["spearman"])
        for relation, (a, b) in RELATIONS.items()
    }
    return results.assign(ranks)
