"""What a diagnosis is: the data described, and a section for each theory."""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from firstlight.diagnosis.data import UserData
from firstlight.diagnosis.finding import Figure, Finding
from firstlight.maths.files import replacing

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas


@dataclass(frozen=True)
class Section:
    """One theory's part.

    Attributes
    ----------
    name, title, question : str
        Of the theory.
    finding : Finding, optional
        The latest; None: its turn has not come.
    complete : bool
        Whether it has nothing more to say.
    error : str
        What went wrong, if something did; what was found before is kept.
    """

    name: str
    title: str
    question: str
    finding: Finding | None = None
    complete: bool = False
    error: str = ""

    @property
    def state(self) -> str:
        """How far it has come, in words."""
        if self.error:
            return f"failed ({self.error})"
        if self.finding is None:
            return "not reached in the time given"
        if self.complete:
            return "done"
        return self.finding.progress or "begun"

    @property
    def unfinished(self) -> str:
        """What is to be said if it did not come to its end; else nothing."""
        if self.error or self.complete or self.finding is None:
            return self.state if self.error else ""
        return f"not finished; so far: {self.finding.progress}" if self.finding.progress else "not finished"


@dataclass(frozen=True, eq=False, repr=False)
class Diagnosis:
    """What the theories say about a user's data; see `firstlight.diagnose`.

    Attributes
    ----------
    data : UserData
        The data, described.
    sections : tuple of Section
        One for each theory that can be asked.
    seconds : float
        How long it took.
    stopped : str
        Why it ended early; empty if everything was done.
    """

    data: UserData
    sections: tuple[Section, ...]
    seconds: float
    stopped: str = ""

    def __getitem__(self, name: str) -> Finding:
        """Return the finding of a theory."""
        for section in self.sections:
            if section.name == name:
                if section.finding is None:
                    raise KeyError(f"{name}: {section.state}")
                return section.finding
        raise KeyError(f"{name}: unknown (known: {', '.join(one.name for one in self.sections)})")

    def __repr__(self) -> str:
        """Say in a few lines which theory speaks."""
        lines = [f"Diagnosis of {self.data.source}: {self.data.summary}"]
        for section in self.sections:
            finding = section.finding
            said = f"{finding.speaks}: {finding.why}" if finding else section.state
            lines.append(f"  {section.name:<17}{said}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        from firstlight.diagnosis.page import fragment

        return fragment(self)

    def plot(self) -> "Canvas":
        """Draw every theory's figure, one below the other."""
        from matplotlib.figure import Figure as Canvas

        from firstlight.show import style

        figures = [one.finding.figure for one in self.sections if one.finding and one.finding.figure]
        with style.use():
            canvas = Canvas(figsize=(9.2, 3.3 * max(1, len(figures))), layout="constrained")
            parts = canvas.subfigures(max(1, len(figures)), 1, squeeze=False)[:, 0]
            for part, figure in zip(parts, figures, strict=False):
                part.subplots(1, figure.panels, squeeze=False)
                figure.draw(figure.data, part)
        return canvas

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain lists, texts and numbers, fit for JSON; NaN becomes None."""
        n, d = self.data.shape
        plain = {
            "source": self.data.source, "rows": n, "rows_given": self.data.rows, "columns": d,
            "classes": dict(zip(self.data.classes, self.data.counts.tolist(), strict=True)),
            "standardised": self.data.standardised, "seed": self.data.seed, "notes": list(self.data.notes),
            "seconds": self.seconds, "stopped": self.stopped,
            "theories": {
                one.name: {"title": one.title, "state": one.state}
                | (one.finding.to_dict() if one.finding else {})
                for one in self.sections
            },
        }  # fmt: skip
        return _plain(plain)

    def to_json(self) -> str:
        """Return `to_dict` as JSON."""
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False)

    def to_html(self, path: str | os.PathLike[str]) -> Path:
        """Write the page: one self-contained file."""
        from firstlight.diagnosis.page import page

        target = Path(path)
        with replacing(target) as part:
            part.write_text(page(self), encoding="utf-8")
        return target


def drawn(figure: Figure) -> "Canvas":
    """Draw one figure of a finding.

    Examples
    --------
    >>> one = Figure({"x": [1, 2]}, lambda data, canvas: canvas.axes[0].plot(data["x"]), "A line.")
    >>> len(drawn(one).axes)
    1
    """
    from firstlight.show import style

    with style.use():
        canvas = style.new(1, figure.panels, width=4.6 if figure.panels < 3 else 3.4)
        figure.draw(figure.data, canvas)
    return canvas


def _plain(value: Any) -> Any:
    """Turn NumPy's numbers and arrays into Python's, and what JSON cannot hold into None or text."""
    if isinstance(value, Mapping):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, (list, tuple, np.ndarray)):
        return [_plain(one) for one in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not np.isfinite(value):
        return None if np.isnan(value) else str(value)
    return value
