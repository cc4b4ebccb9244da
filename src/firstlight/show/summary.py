"""A study in numbers: means, errors, gaps and verdicts against the reference arm, tables, files."""

import json
import os
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from firstlight.maths.files import regular, replacing
from firstlight.maths.refusals import unknown
from firstlight.study.claims import claims_of
from firstlight.study.judge import NO_PREDICTION, fit_rate, judge, overall, trial_mean
from firstlight.study.sweep import Study

if TYPE_CHECKING:
    import pandas as pd

KINDS = ("nc", "parquet", "csv")
_PARTS = ("gap", "gap_sem", "z", "verdict", "trials_needed")


def observables(results: xr.Dataset) -> list[str]:
    """Return the numeric variables of a study's Dataset, without its book-keeping.

    Examples
    --------
    >>> observables(xr.Dataset({"error": ("trial", [0.5]), "status": ("trial", ["ok"])}))
    ['error']
    """
    beside = {"converged", "status", *(f"{name}_sem" for name in results.data_vars)}
    return [
        str(name)
        for name, values in results.data_vars.items()
        if name not in beside and values.dtype.kind in "biuf"
    ]


def summarise(study: Study, results: xr.Dataset) -> xr.Dataset:
    """Average what `run` returned over trials; judge experiments by the reference arm and those they name.

    Returns
    -------
    Dataset
        For each observable ``o``: ``o_mean`` and ``o_sem`` by arm; and, with a reference, ``o_gap``,
        ``o_gap_sem``, ``o_z``, ``o_verdict`` and ``o_trials_needed`` along ``experiment``, the "simulate"
        arms, and further comparisons that they ask for, as ``"hermite by network"`` (see `judge`).

    Examples
    --------
    >>> from firstlight import demo
    >>> summarise(demo.STUDY, demo.results())["mean_verdict"].dims
    ('experiment', 'rate')
    """
    summary = xr.Dataset(attrs=results.attrs)
    for name in observables(results):
        mean, sem = trial_mean(results[name])
        if f"{name}_sem" in results:  # a single prediction's own error
            sem = sem.fillna(results[f"{name}_sem"].mean("trial"))
        summary[f"{name}_mean"], summary[f"{name}_sem"] = mean, sem
        judged = []
        for arm, other in study.comparisons.values():
            paired = study.arms[other].kind == "simulate" or study.conditional(other)
            judged.append(
                judge(
                    results[name].sel(arm=arm, drop=True),
                    (results[name] if paired else mean).sel(arm=other, drop=True),
                    None if paired else sem.sel(arm=other, drop=True).fillna(0),
                    tolerance=study.tolerance,
                    absolute=study.allowance(name),
                )
            )
        if not judged:
            continue
        joined = xr.concat(judged, xr.Variable("experiment", list(study.comparisons)))
        for part in _PARTS:
            summary[f"{name}_{part}"] = joined[part]
    return summary


def planned(results: xr.Dataset) -> xr.DataArray:
    """Return the grid's points that the study visited: a refinement leaves others empty.

    Examples
    --------
    >>> status = xr.DataArray([["ok", "unplanned"]], dims=("arm", "x")).expand_dims(trial=1)
    >>> planned(xr.Dataset({"status": status})).values.tolist()
    [True, False]
    """
    return (results["status"] != "unplanned").any(["arm", "trial"])


def table(study: Study, results: xr.Dataset) -> "pd.DataFrame":
    """Lay a study out as a table: one row per point, observable and entry of the observable.

    Returns
    -------
    pandas.DataFrame
        Columns: the observable, the axes, the observables' own dimensions, then per arm ``arm`` and
        ``arm_sem``, and per experiment ``arm_gap``, ``arm_verdict`` and ``arm_trials_needed``.

    Examples
    --------
    >>> from firstlight import demo
    >>> table(demo.STUDY, demo.results())[["observable", "rate", "theory"]].head(3)
      observable  rate  theory
    0       mean   0.5     2.0
    1       mean   1.0     1.0
    2       mean   2.0     0.5
    """
    summary, blocks = summarise(study, results), {}
    for name in observables(results):
        columns: dict[str, xr.DataArray] = {}
        for arm in study.arms:
            columns[arm] = summary[f"{name}_mean"].sel(arm=arm, drop=True)
            columns[f"{arm}_sem"] = summary[f"{name}_sem"].sel(arm=arm, drop=True)
        if f"{name}_gap" in summary:
            for arm in summary["experiment"].values.tolist():
                for part in ("gap", "verdict", "trials_needed"):
                    columns[f"{arm}_{part}"] = summary[f"{name}_{part}"].sel(experiment=arm, drop=True)
        blocks[name] = columns
    joined = _frame(blocks, planned(results))
    numbers = {name for columns in blocks.values() for name in columns}
    places = [column for column in joined.columns if column not in numbers]
    order = dict.fromkeys(["observable", *study.axes, *places, *joined.columns])
    return joined[[column for column in order if column in joined]].dropna(axis="columns", how="all")


def _frame(blocks: Mapping[str, Mapping[str, xr.DataArray]], kept: xr.DataArray) -> "pd.DataFrame":
    """Put the columns of each observable one below the other, with a row for each entry that is kept."""
    import pandas as pd

    frames = []
    for name, columns in blocks.items():
        frame = xr.Dataset({**columns, "_kept": kept}).to_dataframe().reset_index()
        frame = frame[frame.pop("_kept")]
        frame.insert(0, "observable", name)
        frames.append(frame)
    return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame()


def tidy(study: Study, results: xr.Dataset) -> "pd.DataFrame":
    """Lay every trial out: one row per arm, point, trial, observable and entry, for other programs.

    Returns
    -------
    pandas.DataFrame
        Columns: observable, arm, the axes, trial, the observables' own dimensions, value; ``attrs`` as given.

    Examples
    --------
    >>> from firstlight import demo
    >>> list(tidy(demo.STUDY, demo.results()).columns)
    ['observable', 'arm', 'rate', 'trial', 'value']
    """
    blocks = {name: {"value": results[name].astype(float)} for name in observables(results)}
    joined = _frame(blocks, results["status"] == "ok")
    joined.attrs = dict(results.attrs)
    return joined[sorted(joined.columns, key=lambda column: column == "value")]


def verdict(study: Study, results: xr.Dataset) -> str:
    """Sum a study up, one line per observable: agreement by experiment, how the gap shrinks with the size.

    A last line says how many trials warned, and of what.

    Examples
    --------
    >>> from firstlight import demo
    >>> print(verdict(demo.STUDY, demo.results()))
    mean: experiment agrees at 1 of 3 points (2 undecided, about 7 to 9 trials would decide); tolerance 5%
    variance: experiment undecided at 3 of 3 points (about 23 to 480 trials would decide); tolerance 5%
    """
    summary, kept = summarise(study, results), planned(results)
    lines = []
    for name in study.judged or observables(results):
        if f"{name}_verdict" not in summary:
            continue
        said = []
        for arm in summary["experiment"].values.tolist():
            judged = summary.sel(experiment=arm)
            words, needed = (_at(kept, judged[f"{name}_{part}"]) for part in ("verdict", "trials_needed"))
            said.append(f"{arm} {overall(words, needed)}{_rate(study, summary, name, arm)}")
        extra = study.allowance(name)
        allowed = f"{study.tolerance:.0%}" + (f" + {extra:g}" if extra else "")
        lines.append(f"{name}: {'; '.join(said)}; tolerance {allowed}")
    return "\n".join((lines or ["no theory to compare with"]) + _warned(results))


def _at(kept: xr.DataArray, values: xr.DataArray) -> np.ndarray:
    """Return the values at the points that are kept."""
    return values.values[kept.broadcast_like(values).transpose(*values.dims).values]


def tally(study: Study, results: xr.Dataset) -> dict[str, int]:
    """Count the verdicts on a study's first experiment, over the points where theory speaks, if it does.

    Examples
    --------
    >>> from firstlight import demo
    >>> tally(demo.STUDY, demo.results())
    {'agrees': 1, 'undecided': 5}
    """
    summary, kept = summarise(study, results), planned(results)
    counts: Counter[str] = Counter()
    for name in study.judged or observables(results):
        if f"{name}_verdict" in summary:
            counts.update(_at(kept, summary[f"{name}_verdict"].isel(experiment=0)).tolist())
    return {word: count for word, count in sorted(counts.items()) if word != NO_PREDICTION}


def conclusions(study: Study, results: xr.Dataset) -> dict[str, Any]:
    """Say what a study comes to, as plain values for JSON: its verdict and the published claims it judges.

    Returns
    -------
    dict
        ``verdict``, and ``claims``: a list with ``text``, ``verdict`` and ``evidence`` of each.
    """
    return {
        "verdict": verdict(study, results),
        "claims": [
            {name: getattr(claim, name) for name in ("text", "verdict", "evidence")}
            for claim in claims_of(study, results)
        ],
    }


def _warned(results: xr.Dataset) -> list[str]:
    texts = results["warning"].values.ravel() if "warning" in results else np.array([], dtype=str)
    texts = texts[texts != ""]
    return [f"{len(texts)} trials warned, such as: {texts[0]}"] if len(texts) else []


def _rate(study: Study, summary: xr.Dataset, name: str, arm: str) -> str:
    """Say how the gap shrinks along the size axis; over the rest of the grid its mean square counts."""
    if study.size_axis is None:
        return ""
    gap, noise = (summary[f"{name}_{part}"].sel(experiment=arm, drop=True) for part in ("gap", "gap_sem"))
    rest = [dim for dim in gap.dims if dim != study.size_axis]
    sizes, count = study.axes[study.size_axis], gap.notnull().sum(rest)
    if int(count.max()) <= 1:
        return f", {fit_rate(sizes, gap.mean(rest).values, noise.mean(rest).values).note}"
    # Noise alone makes squares positive: its part is taken off, and the error is that of what remains.
    square = (gap**2 - noise**2).mean(rest)
    error = (4 * gap**2 * noise**2 + 2 * noise**4).sum(rest) ** 0.5 / count
    return f", {fit_rate(sizes, square.values, error.values, power=2).note}"


def stem(study: Study, results: xr.Dataset) -> str:
    """Return what a study's files are called, without an ending."""
    return f"{study.name.replace('/', '-')}-{results.attrs.get('scale', 'quick')}"


def export(
    study: Study, results: xr.Dataset, kind: str, output: str | os.PathLike[str] | None = None
) -> Path:
    """Write every trial of a study to one file, which appears complete or not at all.

    Parameters
    ----------
    kind : {"nc", "parquet", "csv"}
        NetCDF keeps the Dataset; the others hold one row per value. Provenance is inside NetCDF and Parquet,
        and for CSV in a JSON file beside it.
    output : path_like, optional
        Default: ``out/export/`` and the study's name.

    Examples
    --------
    >>> import tempfile
    >>> from firstlight import demo
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     export(demo.STUDY, demo.results(), "csv", f"{folder}/rate.csv").name
    'rate.csv'
    """
    if kind not in KINDS:
        raise unknown("format", kind, KINDS)
    if "status" in results and results["status"].isin(["missing", "unplanned"]).all():
        raise ValueError(f"{study.name}: the store holds nothing to export; run the study first")
    target = Path(output or Path("out/export") / f"{stem(study, results)}.{kind}")
    beside = target.with_suffix(".json")
    if kind == "csv" and regular(beside) == regular(target):
        raise ValueError(f"output = {target}: provenance goes there; name the CSV otherwise")
    with replacing(target) as part:
        if kind == "nc":
            _write_netcdf(results, part, target)
        elif kind == "parquet":
            tidy(study, results).to_parquet(part, index=False)
        else:
            tidy(study, results).to_csv(part, index=False)
    if kind == "csv":
        with replacing(beside) as part:
            part.write_text(json.dumps(dict(results.attrs), indent=2, default=str), "utf-8")
    return target


def _write_netcdf(results: xr.Dataset, part: Path, target: Path) -> None:
    try:
        results.to_netcdf(part, engine="netcdf4")
    except (RuntimeError, PermissionError) as error:  # all that HDF5 says, also of a full disk
        said = getattr(error, "strerror", None) or error
        raise OSError(f"{target}: cannot be written; is the disk full? ({said})") from error
