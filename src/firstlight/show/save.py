"""Figures as files: PNG, SVG and PDF, with their numbers beside them."""

import os
from pathlib import Path

import xarray as xr

from firstlight.show import style
from firstlight.show.figures import figure
from firstlight.show.summary import table
from firstlight.study.sweep import Study

FORMATS = ("png", "svg", "pdf")


def save(study: Study, results: xr.Dataset, folder: str | os.PathLike[str]) -> list[Path]:
    """Write a study's figure as PNG, SVG and PDF, with its numbers beside it as CSV.

    Parameters
    ----------
    folder : path_like
        Made if it is not there.

    Returns
    -------
    list of Path
        Each file appears whole or not at all.

    Examples
    --------
    >>> import tempfile
    >>> from firstlight import demo
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     [path.name for path in save(demo.STUDY, demo.results(), folder)]
    ['demo-rate-quick.png', 'demo-rate-quick.svg', 'demo-rate-quick.pdf', 'demo-rate-quick.csv']
    """
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    stem = f"{study.name.replace('/', '-')}-{results.attrs.get('scale', 'quick')}"
    drawn, paths = figure(study, results), []
    with style.use():
        for kind in FORMATS:
            part = target / f".{stem}.{os.getpid()}.part"
            stamp = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(kind)
            drawn.savefig(part, format=kind, metadata=stamp)
            paths.append(part.replace(target / f"{stem}.{kind}"))
    part = target / f".{stem}.{os.getpid()}.part"
    table(study, results).to_csv(part, index=False)
    paths.append(part.replace(target / f"{stem}.csv"))
    return paths
