"""Published claims, judged by what a study found: estimates with 95 % intervals decide, by stated rules."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import xarray as xr

from firstlight.study.estimates import (
    FAILS,
    HOLDS,
    IN_PART,
    UNDECIDED,
    Estimate,
    Side,
    Verdict,
    exponent,
    over_classes,
    over_trials,
    rank_correlation,
)
from firstlight.study.registry import resolve

if TYPE_CHECKING:
    from firstlight.study.sweep import Study

__all__ = [
    "Claim", "Estimate", "Side", "Statement", "Verdict", "claims_of", "exponent", "judged", "over_classes",
    "over_trials", "overall", "rank_correlation",
]  # fmt: skip


@dataclass(frozen=True)
class Statement:
    """What was published, where, and by which number and rule it is judged; written before looking.

    Attributes
    ----------
    text : str
        The claim in our words, in one line.
    source, place : str
        BibTeX key of the source; section, figure or theorem in it.
    estimand, rule : str
        Which number decides, and how.

    Examples
    --------
    >>> Statement("errors fall", "demir2025onestep", "Figure 1c").place
    'Figure 1c'
    """

    text: str
    source: str = ""
    place: str = ""
    estimand: str = ""
    rule: str = ""


@dataclass(frozen=True)
class Claim:
    """What was published, whether it holds here, and why we say so.

    Attributes
    ----------
    text : str
        The claim, in one line.
    verdict : {"holds", "holds in part", "does not hold", "undecided"}
    evidence : str
        One line of numbers with their intervals.
    statement : Statement, optional
        Source, place, estimand and rule; default: the text alone.
    estimates : tuple of Estimate
        The numbers of `evidence`, as data.

    Examples
    --------
    >>> print(Claim("errors fall", "holds", "exponent -0.5 [-0.6, -0.4]"))
    holds: errors fall (exponent -0.5 [-0.6, -0.4])
    """

    text: str
    verdict: Verdict
    evidence: str
    statement: Statement = Statement("")
    estimates: tuple[Estimate, ...] = ()

    def __str__(self) -> str:
        return f"{self.verdict}: {self.text} ({self.evidence})"

    @property
    def trials_factor(self) -> float:
        """How many times as many trials would decide every part, if the numbers stayed; 1 if all are."""
        return max((part.trials_factor for part in self.estimates), default=1.0)


def judged(statement: str | Statement, parts: Sequence[Estimate], *, every: bool = False) -> Claim:
    """Judge a claim by the estimates that it speaks of.

    Parameters
    ----------
    statement : Statement or str
        The claim, with source, estimand and rule; or its text alone.
    parts : sequence of Estimate
        The cases it is made for, at least one. While one of them is not known, only a refutation of a claim
        about every case can be said.
    every : bool, default False
        Whether it is said of every case, as a theorem is: then one case that refutes it is enough.

    Returns
    -------
    Claim

    Examples
    --------
    >>> up, down = Estimate("one side", 0.8, 0.7, 0.9), Estimate("the other", -0.5, -0.7, -0.3)
    >>> print(judged("it rises", [up, down]))
    holds in part: it rises (one side: 0.80 [0.70, 0.90]; the other: -0.50 [-0.70, -0.30])
    """
    said = Statement(statement) if isinstance(statement, str) else statement
    if not parts:
        raise ValueError(f"claim {said.text!r}: no estimate to judge it by")
    verdicts = [part.verdict for part in parts]
    verdict = overall(verdicts)
    if every and FAILS in verdicts:
        verdict = FAILS
    elif not all(math.isfinite(part.value) for part in parts):
        verdict = UNDECIDED
    return Claim(said.text, verdict, "; ".join(map(str, parts)), said, tuple(parts))


def overall(verdicts: Sequence[Verdict]) -> Verdict:
    """Sum up the verdicts on one claim in several cases.

    Parameters
    ----------
    verdicts : sequence of str

    Returns
    -------
    str
        It holds if it does in all cases, and in part if it does so in some; else it does not hold if a case
        refutes it, and is undecided if none does.

    Examples
    --------
    >>> overall(["holds", "undecided"]), overall(["undecided", "does not hold"])
    ('holds in part', 'does not hold')
    """
    found = set(verdicts)
    if found == {HOLDS}:
        return HOLDS
    if found & {HOLDS, IN_PART}:
        return IN_PART
    return FAILS if FAILS in found else UNDECIDED


def claims_of(study: "Study", found: xr.Dataset) -> list[Claim]:
    """Judge the claims of a study by what was found.

    Parameters
    ----------
    study : Study
        At its scale.
    found : Dataset
        As `run` or `dataset` returns it.

    Returns
    -------
    list of Claim
        Empty where the study makes no claims, or nothing was found.

    Examples
    --------
    >>> from dataclasses import replace
    >>> from firstlight.study import demo
    >>> def shorter(found):
    ...     rank = rank_correlation(*xr.broadcast(found["rate"], found["mean"].sel(arm="experiment")))
    ...     return [judged("waiting times fall with the rate", [Estimate("Spearman", *rank, side="below")])]
    >>> [claim.verdict for claim in claims_of(replace(demo.STUDY, claims=shorter), demo.found())]
    ['holds']
    """
    if study.claims is None or not bool((found["status"] == "ok").any()):
        return []
    try:
        made = list(resolve(study.claims, "claims")(found))
    except (KeyError, ValueError) as error:
        raise ValueError(f"claims of {study.name} need what it does not have: {error.args[0]}") from error
    if wrong := [one for one in made if not isinstance(one, Claim)]:
        raise ValueError(f"claims of {study.name}: {wrong[0]!r} is not a Claim")
    return made
