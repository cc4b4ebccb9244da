"""Write a study for other programs: NetCDF, Parquet or CSV."""

import json
import os
from pathlib import Path

import xarray as xr

from firstlight.maths.checks import unknown
from firstlight.study.summary import tidy
from firstlight.study.sweep import Study

KINDS = ("nc", "parquet", "csv")


def export(study: Study, found: xr.Dataset, kind: str, output: str | os.PathLike[str] | None = None) -> Path:
    """Write every trial of a study to one file, which appears whole or not at all.

    Parameters
    ----------
    study : Study
    found : Dataset
        As `run` returns it.
    kind : {"nc", "parquet", "csv"}
        NetCDF keeps the Dataset; the others hold one row per value. Provenance is inside NetCDF and Parquet,
        and for CSV in a JSON file beside it.
    output : path_like, optional
        Default: ``out/export/`` and the study's name.

    Returns
    -------
    Path

    Examples
    --------
    >>> import tempfile
    >>> from firstlight.study import demo
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     export(demo.STUDY, demo.found(), "csv", f"{folder}/rate.csv").name
    'rate.csv'
    """
    if kind not in KINDS:
        raise unknown("format", kind, KINDS)
    stem = f"{study.name.replace('/', '-')}-{found.attrs.get('scale', 'quick')}"
    target = Path(output) if output is not None else Path("out/export") / f"{stem}.{kind}"
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        _write(study, found, kind, part)
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)
    if kind == "csv":
        beside = target.with_suffix(".json")
        beside.write_text(json.dumps(dict(found.attrs), indent=2, default=str), "utf-8")
    return target


def _write(study: Study, found: xr.Dataset, kind: str, path: Path) -> None:
    if kind == "nc":
        found.to_netcdf(path, engine="netcdf4")
    elif kind == "parquet":
        tidy(study, found).to_parquet(path, index=False)
    else:
        tidy(study, found).to_csv(path, index=False)
