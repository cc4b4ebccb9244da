"""A diagnosis as plain text for a terminal."""

import textwrap
from typing import TYPE_CHECKING

from firstlight.diagnosis.words import interval, number, with_error

if TYPE_CHECKING:
    from firstlight.diagnosis.result import Diagnosis, Section

_WIDTH = 100


def text(diagnosis: "Diagnosis") -> str:
    """Write what the page says, without pictures and details."""
    data = diagnosis.data
    lines = [f"{data.source}: {data.summary}", *_wrapped(data.notes, "! "), ""]
    for section in diagnosis.sections:
        lines += [*_section(section), ""]
    end = diagnosis.stopped or "everything done"
    return "\n".join([*lines, f"{end}; {diagnosis.seconds:.1f} s, seed {data.seed}"])


def _section(section: "Section") -> list[str]:
    finding = section.finding
    if finding is None:
        return [f"{section.title}: {section.state}"]
    lines = [f"{section.title}. Does it speak about your data? {finding.speaks.upper()}"]
    lines += _wrapped([one for one in (finding.why, finding.says, finding.measured) if one], "  ")
    if finding.predictions:
        lines.append(f"    what: predicted [{finding.brackets}]; measured ± standard error")
    for one in finding.predictions:
        measured = f"measured {with_error(one.measured, one.uncertainty)}" if one.checked else one.verdict
        lines.append(f"    {one.what}: {number(one.predicted)}{interval(one.low, one.high)}; {measured}")
        if one.agrees is False:
            lines.append(f"      {one.verdict}")
    lines += _wrapped(finding.advice, "  -> ")
    return lines + ([f"  ({section.unfinished})"] if section.unfinished else [])


def _wrapped(texts: "tuple[str, ...] | list[str]", first: str) -> list[str]:
    rest = " " * len(first)
    return [
        line
        for one in texts
        for line in textwrap.wrap(one, _WIDTH, initial_indent=first, subsequent_indent=rest)
    ]
