"""The self-contained HTML report: what the shared mathematics and every theory's studies have to say."""

import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from firstlight.maths.checks import check_count
from firstlight.maths.files import regular, replacing
from firstlight.maths.refusals import unknown
from firstlight.show import foundation
from firstlight.show.chapter import Chapter, chapter
from firstlight.show.claims import environment, parts
from firstlight.show.evidence import Row
from firstlight.study import registry
from firstlight.study.judge import AGREES, DIFFERS, UNDECIDED
from firstlight.study.provenance import machine
from firstlight.study.registry import Theory
from firstlight.study.store import StoreError

if TYPE_CHECKING:
    from firstlight.study.sweep import Study


def report(
    studies: "Sequence[Study]",
    *,
    scale: str = "quick",
    store: str | Path = "out/study.sqlite",
    destination: str | Path = "out/report.html",
    workers: int | None = None,
    say: Callable[[str, str, float], None] = lambda title, verdict, seconds: None,
) -> Path:
    """Compute what is missing, and write the report.

    Parameters
    ----------
    studies : sequence of Study
        Which studies get a chapter, in this order, before those on the shared mathematics.
    scale : str, default "quick"
        At which scale.
    store : path
        The store of records; finished ones are not computed again.
    destination : path
        The HTML file; its folder is made.
    workers : int, optional
        Processes; by default one for each core.
    say : callable
        Called with title, outcome in one sentence, and seconds after each chapter.

    Returns
    -------
    Path
        `destination`.

    Raises
    ------
    RuntimeError
        None of the studies could be run; nothing is written.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     page = report([], destination=f"{folder}/report.html").read_text()
    >>> "Hermite spectra" in page and "data:image/png;base64," in page
    True
    """
    check(studies, scale, destination, workers)
    chapters, ran = [], not studies
    makers: dict[str, Callable[[], Chapter]] = {
        study.name: partial(chapter, study, scale, store, workers=workers) for study in studies
    }
    for title, make in (makers | foundation.CHAPTERS).items():
        start = time.perf_counter()
        try:
            made = replace(make(), seconds=time.perf_counter() - start)
            made.image, made.numbers  # noqa: B018 - what cannot be drawn or told is caught here
            ran = ran or title in makers
        except StoreError:
            raise  # no other study could be read or kept either
        except (FileNotFoundError, ImportError, RuntimeError) as error:
            made = _absent(title, str(error))  # images not fetched, or an extra not installed
        except Exception as error:  # somebody else's theory, which takes no other chapter with it
            made = _absent(title, f"{type(error).__name__}: {error}")
        chapters.append(made)
        say(title, agreement([made]) or made.verdict, made.seconds)
    path = Path(destination)
    if not ran:
        raise RuntimeError(f"{path}: not written, as none of the {len(studies)} studies could be run")
    with replacing(path) as part:
        part.write_text(render(chapters), encoding="utf-8")
    return path


def check(
    studies: "Sequence[Study]", scale: str, destination: str | Path, workers: int | None = None
) -> None:
    """Refuse what no study could be run with, or nothing written to.

    Examples
    --------
    >>> check([], "ppaper", "report.html")
    Traceback (most recent call last):
    ValueError: scale 'ppaper': unknown (known: quick)
    """
    scales = {"quick", *(name for study in studies for name in study.scales)}
    if scale not in scales:
        raise unknown("scale", scale, scales)
    if workers is not None:
        check_count("workers", workers, 0)
    if Path(destination).is_dir():
        raise ValueError(f"destination = {destination}: must be a file, and is a folder")
    regular(Path(destination))


def render(chapters: Sequence[Chapter]) -> str:
    """Fill the template."""
    from plotly.offline import get_plotlyjs

    known = {theory.slug: theory for theory in registry.theories().values()}
    theories = [
        Part(known.get(slug), slug, list(members))
        for slug, members in groupby(chapters, lambda one: one.title.split("/")[0])
    ]
    rows = [row for one in chapters for row in one.rows]
    drawn = any(one.panels for one in chapters)
    return environment().get_template("report.html").render(
        theories=theories, agreement=agreement, chapters=chapters, provenance=machine(),
        plotly=get_plotlyjs() if drawn else "", **parts(rows),
    )  # fmt: skip


def by_colour(traces: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return traces of which the first line of each colour stands in the legend, by what the colour means.

    Examples
    --------
    >>> names = ("network, width 2", "theory, width 2")
    >>> blue = [{"name": name, "mode": "lines", "line": {"color": "blue"}} for name in names]
    >>> [(one["name"], one["showlegend"]) for one in by_colour(blue)]
    [('width 2', True), ('theory, width 2', False)]
    """
    shown: list[dict[str, Any]] = []
    known: set[str] = set()
    for one in traces:
        colour = one.get("line", {}).get("color")
        first = one.get("mode") == "lines" and colour not in known
        known |= {colour} if first else set()
        meaning = one["name"].rpartition(", ")[2] if first else one["name"]
        shown.append({**one, "name": meaning, "showlegend": first})
    return shown


@dataclass(frozen=True)
class Part:
    """The chapters of one theory, and what came out in all of them."""

    about: Theory | None
    slug: str
    chapters: list[Chapter]

    @property
    def title(self) -> str:
        """Its heading."""
        return self.about.title if self.about else f"{self.slug.capitalize()}: what all theories use"

    @property
    def face(self) -> Chapter | None:
        """The chapter whose picture stands for the theory: lines with points, or curves, if there are any."""
        drawn = [one for one in self.chapters if one.figure and self.about]
        return min(drawn, key=lambda one: (not one.panels, not any(map(_both, one.panels[:1]))), default=None)

    @property
    def panel(self) -> dict[str, Any] | None:
        """The first curves of that chapter, small: the legend says what colours mean, hovering the rest."""
        if self.face is None or not self.face.panels:
            return None
        first = self.face.panels[0]
        traces = by_colour(first["data"])
        several = sum(one["showlegend"] for one in traces) > 1
        legend = {"orientation": "h", "y": 1.02, "yanchor": "bottom", "font": {"size": 12}}
        layout = {**first["layout"], "showlegend": several, "height": 300, "legend": legend}
        return {"data": traces, "layout": layout}

    @property
    def claims(self) -> list[Row]:
        """Claims for the first page: the first of each verdict, four at most."""
        rows = [row for one in self.chapters for row in one.rows]
        first = {row.verdict.split(":")[0]: row for row in reversed(rows)}
        return [row for row in rows if row in first.values()][:4]


def _both(panel: dict[str, Any]) -> bool:
    """Tell whether a picture has lines, which are theory, and points, which are experiment."""
    modes = {trace.get("mode", "") for trace in panel["data"]}
    return "lines" in modes and any("markers" in mode for mode in modes)


def agreement(chapters: Sequence[Chapter]) -> str:
    """Say at how many points theory and experiment agree; nothing where there is nothing to compare.

    Examples
    --------
    >>> agreement([Chapter("a/b", "", "", tally={"agrees": 7, "differs": 1, "undecided": 2})])
    'Theory and trained networks agree at 7 of 10 points and differ at 1; 2 need more trials to be decided.'
    """
    counts = Counter[str]()
    for one in chapters:
        counts.update(one.tally)
    if not counts:
        return ""
    said = f"Theory and trained networks agree at {counts[AGREES]} of {counts.total()} points"
    said += f" and differ at {counts[DIFFERS]}" if counts[DIFFERS] else " and differ at none"
    more = f"; {counts[UNDECIDED]} need{'s' * (counts[UNDECIDED] == 1)} more trials to be decided."
    return said + (more if counts[UNDECIDED] else ".")


def _absent(title: str, reason: str) -> Chapter:
    command = f"firstlight study run {title}"
    return Chapter(title, "Not computed in this report.", f"not run: {reason}", command=command)
