"""The self-contained HTML report: what the shared mathematics and every theory's studies have to say."""

import base64
import io
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from firstlight.show import foundation
from firstlight.show.chapter import Chapter, chapter
from firstlight.show.claims import environment, parts
from firstlight.study import registry
from firstlight.study.evidence import Row
from firstlight.study.provenance import machine
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

    @property
    def theory(self) -> str:
        """The heading that it stands under."""
        return self.title.split("/")[0]

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
        Called with title, verdict and seconds after each chapter.

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
        pages.append(page)
        say(page.title, page.verdict, page.seconds)
    path = Path(destination)
    path.parent.mkdir(parents=True, exist_ok=True)
    scratch = path.with_suffix(".part")
    scratch.write_text(render(pages), encoding="utf-8")
    scratch.replace(path)
    return path


def render(pages: Sequence[Page]) -> str:
    """Fill the template.

    Examples
    --------
    >>> "<h1>firstlight</h1>" in render([])
    True
    """
    from plotly.offline import get_plotlyjs

    template = environment().from_string(_TEMPLATE.read_text("utf-8"))
    groups = {name: list(members) for name, members in groupby(pages, key=lambda page: page.theory)}
    rows = [row for page in pages for row in page.rows]
    drawn = any(page.panels for page in pages)
    return template.render(
        theories=list(groups.items()), findings=findings(groups), provenance=machine(),
        plotly=get_plotlyjs() if drawn else "", **parts(rows),
    )  # fmt: skip


@dataclass(frozen=True)
class Finding:
    """What came out for one theory, in words, and the chapter whose picture stands beside them."""

    title: str
    question: str
    agreement: str
    tally: dict[str, int]
    page: Page


def findings(groups: Mapping[str, Sequence[Page]]) -> list[Finding]:
    """Return one finding for each theory that has a chapter, in the order of the chapters.

    Examples
    --------
    >>> findings({})
    []
    """
    known = {theory.slug: theory for theory in registry.theories().values()}
    made = []
    for slug, pages in groups.items():
        shown = [page for page in pages if page.image]
        if slug in known and shown:
            counts: Counter[str] = Counter(row.claim.verdict for page in pages for row in page.rows)
            made.append(
                Finding(known[slug].title, known[slug].question, shown[0].verdict, dict(counts), shown[0])
            )
    return made


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
        _embedded(made.figure), numbers, made.assumptions, seconds, made.rows, made.panels,
    )  # fmt: skip


def _absent(title: str, reason: str) -> Page:
    command = f"firstlight study run {title}"
    return Page(title, "Not computed in this report.", f"not run: {reason}", "", command, "", "", [], 0.0)


def _embedded(figure: "Figure") -> str:
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=110)
    return base64.b64encode(buffer.getvalue()).decode("ascii")
