"""The self-contained HTML report: what the shared mathematics and every theory's studies have to say."""

import base64
import io
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

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
    from matplotlib.figure import Figure

    from firstlight.study.sweep import Study

_TEMPLATE = Path(__file__).with_name("report.html")


@dataclass(frozen=True)
class Page:
    """One chapter as the template wants it.

    Attributes
    ----------
    title, description, verdict, citation, command : str
        As in `Chapter`.
    image : str
        The figure as a PNG, base64 encoded; empty where there is none.
    table : str
        HTML.
    assumptions : list of str
        What the theory assumes, checked.
    seconds : float
        What the chapter took to compute.
    rows : list of Row
    panels : list of dict
    tally : dict of str to int
        As in `Chapter`.
    """

    title: str
    description: str
    verdict: str
    citation: str
    command: str
    image: str
    table: str
    assumptions: list[str]
    seconds: float
    rows: list[Row] = field(default_factory=list)
    panels: list[dict[str, Any]] = field(default_factory=list)
    tally: dict[str, int] = field(default_factory=dict)

    @property
    def theory(self) -> str:
        """The heading that it stands under."""
        return self.title.split("/")[0]

    @property
    def heading(self) -> str:
        """What is asked, as a heading: the first sentence."""
        first = self.description.partition(". ")[0]
        return first[:1].upper() + first[1:]

    @property
    def more(self) -> str:
        """What the description says after its first sentence."""
        return self.description.partition(". ")[2]

    @property
    def agreement(self) -> str:
        """How far theory and networks agree here."""
        return agreement([self])

    @property
    def anchor(self) -> str:
        """Its link."""
        return self.title.replace("/", "-")


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

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     page = report([], destination=f"{folder}/report.html").read_text()
    >>> "Hermite spectra" in page and "data:image/png;base64," in page
    True
    """
    pages = []
    for title, make in _chapters(studies, scale, store, workers):
        start = time.perf_counter()
        try:
            page = _page(make(), time.perf_counter() - start)
        except StoreError:
            raise  # no other study could be read or kept either
        except (FileNotFoundError, ImportError, RuntimeError) as error:
            page = _absent(title, str(error))  # images not fetched, or an extra not installed
        except Exception as error:  # somebody else's theory, which takes no other chapter with it
            page = _absent(title, f"{type(error).__name__}: {error}")
        pages.append(page)
        say(page.title, page.agreement or page.verdict, page.seconds)
    path = Path(destination)
    path.parent.mkdir(parents=True, exist_ok=True)
    scratch = path.with_suffix(".part")
    scratch.write_text(render(pages), encoding="utf-8")
    scratch.replace(path)
    return path


def render(pages: Sequence[Page]) -> str:
    """Fill the template."""
    from plotly.offline import get_plotlyjs

    template = environment().from_string(_TEMPLATE.read_text("utf-8"))
    known = {theory.slug: theory for theory in registry.theories().values()}
    parts_of = [
        Part(known.get(slug), slug, list(members))
        for slug, members in groupby(pages, lambda page: page.theory)
    ]
    rows = [row for page in pages for row in page.rows]
    drawn = any(page.panels for page in pages)
    return template.render(
        theories=parts_of, agreement=agreement(pages), provenance=machine(),
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
    pages: list[Page]

    @property
    def title(self) -> str:
        """Its heading."""
        return self.about.title if self.about else f"{self.slug.capitalize()}: what all theories use"

    @property
    def face(self) -> Page | None:
        """The chapter whose picture stands for the theory: lines with points, or curves, if there are any."""
        drawn = sorted(
            (page for page in self.pages if page.image),
            key=lambda page: (not page.panels, not (page.panels and _both(page.panels[0]))),
        )
        return drawn[0] if drawn and self.about else None

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
        rows = [row for page in self.pages for row in page.rows]
        first = {row.verdict.split(":")[0]: row for row in reversed(rows)}
        return [row for row in rows if row in first.values()][:4]

    @property
    def agreement(self) -> str:
        """How far theory and networks agree."""
        return agreement(self.pages)


def _both(panel: dict[str, Any]) -> bool:
    """Tell whether a picture has lines, which are theory, and points, which are experiment."""
    modes = {trace.get("mode", "") for trace in panel["data"]}
    return "lines" in modes and any("markers" in mode for mode in modes)


def agreement(pages: Sequence[Page]) -> str:
    """Say at how many points theory and experiment agree; nothing where there is nothing to compare.

    Examples
    --------
    >>> page = Page("a/b", "", "", "", "", "", "", [], 0.0, tally={"agrees": 7, "differs": 1, "undecided": 2})
    >>> agreement([page])
    'Theory and trained networks agree at 7 of 10 points and differ at 1; 2 need more trials to be decided.'
    """
    counts: Counter[str] = Counter()
    for page in pages:
        counts.update(page.tally)
    if not counts:
        return ""
    said = f"Theory and trained networks agree at {counts[AGREES]} of {counts.total()} points"
    said += f" and differ at {counts[DIFFERS]}" if counts[DIFFERS] else " and differ at none"
    more = f"; {counts[UNDECIDED]} need{'s' * (counts[UNDECIDED] == 1)} more trials to be decided."
    return said + (more if counts[UNDECIDED] else ".")


def _chapters(
    studies: "Sequence[Study]", scale: str, store: str | Path, workers: int | None
) -> Iterator[tuple[str, Callable[[], Chapter]]]:
    for study in studies:
        yield study.name, lambda study=study: chapter(study, scale, store, workers=workers)  # type: ignore[misc]
    yield from foundation.CHAPTERS.items()


def _page(made: Chapter, seconds: float) -> Page:
    numbers = made.table.to_html(index=False, border=0, float_format="{:.4g}".format, na_rep="–")
    return Page(
        made.title, made.description, made.verdict, made.citation, made.command,
        _embedded(made.figure), numbers, made.assumptions, seconds, made.rows, made.panels, made.tally,
    )  # fmt: skip


def _absent(title: str, reason: str) -> Page:
    command = f"firstlight study run {title}"
    return Page(title, "Not computed in this report.", f"not run: {reason}", "", command, "", "", [], 0.0)


def _embedded(figure: "Figure") -> str:
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=110)
    return base64.b64encode(buffer.getvalue()).decode("ascii")
