"""A study as a chapter of the report: figure, table, verdict, claims, assumptions, citation, command."""

import base64
import io
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import cached_property
from os import PathLike
from typing import TYPE_CHECKING, Any

import xarray as xr

from firstlight.references import cite
from firstlight.show.browser import panels
from firstlight.show.evidence import Row, rows_of
from firstlight.show.figures import figure
from firstlight.show.summary import table, tally, verdict
from firstlight.study.collect import failures
from firstlight.study.run import run
from firstlight.study.store import Store
from firstlight.study.sweep import Study

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

_ROWS = 60


@dataclass(frozen=True)
class Chapter:
    """What the report says about one study.

    Attributes
    ----------
    title, description : str
        The study's name and its one line.
    verdict : str
        Agreement per experiment and observable, and failures.
    figure : matplotlib.figure.Figure, optional
    table : pandas.DataFrame, optional
        One row per point and observable; an even selection where there are too many to read.
    assumptions : sequence of str
        What the theory assumes, checked at the first point of the grid.
    citation, command : str
        BibTeX, and the command that computes it again.
    rows : sequence of Row
        The published claims that the study speaks of, judged.
    panels : sequence of dict
        The figure for a browser, as `firstlight.show.browser.panels` makes it.
    tally : mapping of str to int
        How often the first experiment agrees with theory, differs, or is undecided.
    seconds : float
        What the chapter took to compute.
    """

    title: str
    description: str
    verdict: str
    figure: "Figure | None" = None
    table: "pd.DataFrame | None" = None
    assumptions: Sequence[str] = ()
    citation: str = ""
    command: str = "firstlight report"
    rows: Sequence[Row] = ()
    panels: Sequence[dict[str, Any]] = ()
    tally: Mapping[str, int] = field(default_factory=dict)
    seconds: float = 0.0

    @property
    def heading(self) -> str:
        """What is asked, as a heading: the first sentence."""
        first = self.description.partition(". ")[0]
        return first[:1].upper() + first[1:]

    @cached_property
    def image(self) -> str:
        """The figure as a PNG, base64 encoded; empty where there is none."""
        if self.figure is None:
            return ""
        buffer = io.BytesIO()
        self.figure.savefig(buffer, format="png", dpi=110)
        return base64.b64encode(buffer.getvalue()).decode("ascii")

    @property
    def numbers(self) -> str:
        """The table as HTML; empty where there is none."""
        if self.table is None:
            return ""
        return self.table.to_html(index=False, border=0, float_format="{:.4g}".format, na_rep="–")


def chapter(
    study: Study,
    scale: str = "quick",
    store: str | PathLike[str] | Store = "out/study.sqlite",
    *,
    workers: int | None = None,
) -> Chapter:
    """Run what is missing of a study, as `firstlight.study.run` does, and put it together as a chapter.

    Examples
    --------
    >>> import tempfile
    >>> from firstlight import demo
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     chapter(demo.STUDY, "quick", f"{folder}/study.sqlite", workers=0).assumptions
    ['holds: many samples (samples = 1000)']
    """
    results = run(study, store, scale=scale, workers=workers)
    if bool((results["status"] == "failed").all()):
        with nullcontext(store) if isinstance(store, Store) else Store(store) as opened:
            reasons = failures(study.at(scale), opened)
        raise RuntimeError(f"every trial failed: {reasons[0]['message']}")
    return compose(study.at(scale), results)


def compose(study: Study, results: xr.Dataset) -> Chapter:
    """Put a chapter together from what `run` or `dataset` returned.

    Examples
    --------
    >>> from firstlight import demo
    >>> len(compose(demo.STUDY, demo.results()).table)
    6
    """
    problem, numbers = study.build(study.point(0)), table(study, results)
    said = verdict(study, results)
    if failed := int((results["status"] == "failed").sum()):
        said = f"{failed} trials failed\n{said}"
    return Chapter(
        title=study.name,
        description=study.description,
        figure=figure(study, results),
        table=numbers.iloc[:: -(-len(numbers) // _ROWS) or 1].reset_index(drop=True),
        verdict=said,
        assumptions=[str(one) for one in getattr(problem, "assumptions", tuple)()],
        citation=cite(problem) if getattr(problem, "references", ()) else "",
        command=str(results.attrs.get("command", "")),
        rows=rows_of(study, results),
        panels=panels(study, results),
        tally=tally(study, results),
    )
