"""Figures as files: PNG, SVG and PDF, with their numbers beside them."""

import os
from pathlib import Path

import xarray as xr

from firstlight.maths.files import regular, replacing
from firstlight.show import style
from firstlight.show.figures import figure
from firstlight.show.summary import stem, table
from firstlight.study.sweep import Study

FORMATS = ("png", "svg", "pdf")


def save(study: Study, results: xr.Dataset, folder: str | os.PathLike[str]) -> list[Path]:
    """Write a study's figure as PNG, SVG and PDF into a folder, with its numbers beside it as CSV.

    The folder is made if it is not there; each file appears complete or not at all.

    Examples
    --------
    >>> import tempfile
    >>> from firstlight import demo
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     [path.name for path in save(demo.STUDY, demo.results(), folder)]
    ['demo-rate-quick.png', 'demo-rate-quick.svg', 'demo-rate-quick.pdf', 'demo-rate-quick.csv']
    """
    drawn, numbers = figure(study, results), table(study, results)
    paths = [Path(folder) / f"{stem(study, results)}.{kind}" for kind in (*FORMATS, "csv")]
    for path in paths:
        regular(path)
    for path, kind in zip(paths, FORMATS, strict=False):
        stamp = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(kind)
        with style.use(), replacing(path) as part:
            drawn.savefig(part, format=kind, metadata=stamp)
    with replacing(paths[-1]) as part:
        numbers.to_csv(part, index=False)
    return paths
