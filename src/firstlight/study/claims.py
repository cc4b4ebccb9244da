"""Published claims, judged by what a study found: estimates with 95 % intervals decide, by stated rules."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import xarray as xr

from firstlight.study.registry import resolve

if TYPE_CHECKING:
    from firstlight.study.sweep import Study

Verdict = Literal["holds", "holds in part", "does not hold", "undecided"]
Side = Literal["above", "below", "within", "beyond"]
HOLDS: Verdict = "holds"
IN_PART: Verdict = "holds in part"
FAILS: Verdict = "does not hold"
UNDECIDED: Verdict = "undecided"


@dataclass(frozen=True)
class Estimate:
    """A number with its 95 % interval, of which a claim says on which side of a border it lies.

    Parameters
    ----------
    label : str
        What was estimated.
    value, low, high : float
        The estimate and its interval; NaN where there is none.
    border : float, default 0
    side : {"above", "below", "within", "beyond"}, default "above"
        Where the claim puts the number; "within" means between -`border` and `border`, "beyond" outside.
    strong : float, optional
        An interval on the right side that does not reach this number is a weak effect.
    fixed : float, default 0
        Half the length of what more trials leave of the interval, such as a theory's own error.

    Examples
    --------
    >>> Estimate("Spearman", 0.8, 0.7, 0.9).verdict, Estimate("Spearman", 0.1, -0.2, 0.4).verdict
    ('holds', 'undecided')
    >>> print(Estimate("Spearman", 0.2, 0.1, 0.28, strong=0.3))
    Spearman: 0.20 [0.10, 0.28], weak
    >>> Estimate("gap", 0.01, -0.02, 0.04, border=0.05, side="within").verdict
    'holds'
    """

    label: str
    value: float
    low: float
    high: float
    border: float = 0.0
    side: Side = "above"
    strong: float | None = None
    fixed: float = 0.0

    @property
    def verdict(self) -> Verdict:
        """Where the interval lies: on the claimed side, on the other, across the border or nowhere."""
        near, far = self._margins
        if not (math.isfinite(near) and math.isfinite(far)) or near <= 0 <= far:
            return UNDECIDED
        if far < 0:
            return FAILS
        sign = -1 if self.side == "below" else 1
        weak = self.strong is not None and far < sign * (self.strong - self.border)
        return IN_PART if weak else HOLDS

    @property
    def _margins(self) -> tuple[float, float]:
        """How far the two ends of the interval lie on the claimed side; the smaller first."""
        if self.side in ("within", "beyond"):
            largest = max(abs(self.low), abs(self.high))
            least = 0.0 if self.low <= 0 <= self.high else min(abs(self.low), abs(self.high))
            inside = self.border - largest, self.border - least
            return inside if self.side == "within" else (-inside[1], -inside[0])
        sign = 1 if self.side == "above" else -1
        near, far = sorted((sign * (self.low - self.border), sign * (self.high - self.border)))
        return near, far

    @property
    def trials_factor(self) -> float:
        """How many times as many trials would decide if the number stayed; 1 if decided, NaN if not known."""
        if self.verdict != UNDECIDED:
            return 1.0
        level = abs(self.value) if self.side in ("within", "beyond") else self.value
        left = (level - self.border) ** 2 - self.fixed**2  # for the variance of the mean over trials
        return (((self.high - self.low) / 2) ** 2 - self.fixed**2) / left if left > 0 else math.inf

    def __str__(self) -> str:
        if not math.isfinite(self.value):
            return f"{self.label}: not known"
        width = self.high - self.low
        if not math.isfinite(width):
            return f"{self.label}: {self.value:.2f}, no interval"
        digits = min(max(2, math.ceil(0.7 - math.log10(width))), 6) if width > 0 else 2
        borders = (self.border, -self.border) if self.side in ("within", "beyond") else (self.border,)
        ends = [end - border for end in (self.low, self.high) for border in borders]
        while digits < 6 and any(round(end, digits) == 0 for end in ends):
            digits += 1  # an end that seems to lie on the border would hide what it decides
        value, low, high = (f"{number:z.{digits}f}" for number in (self.value, self.low, self.high))
        unclear = "no effect seen" if self.border == 0 else "not decided"
        word = {IN_PART: ", weak", UNDECIDED: f", {unclear}"}.get(self.verdict, "")
        return f"{self.label}: {value} [{low}, {high}]{word}"


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
    words = set(verdicts)
    if words == {HOLDS}:
        return HOLDS
    if words & {HOLDS, IN_PART}:
        return IN_PART
    return FAILS if FAILS in words else UNDECIDED


def claims_of(study: "Study", results: xr.Dataset) -> list[Claim]:
    """Judge the claims of a study by what was found.

    Parameters
    ----------
    results : Dataset
        As `run` or `dataset` returns it.

    Returns
    -------
    list of Claim
        Empty where the study makes no claims, or nothing was found.

    Examples
    --------
    >>> from dataclasses import replace
    >>> from firstlight.maths.intervals import rank_correlation
    >>> from firstlight.study import demo
    >>> def shorter(results):
    ...     rank = rank_correlation(*xr.broadcast(results["rate"], results["mean"].sel(arm="experiment")))
    ...     return [judged("waiting times fall with the rate", [Estimate("Spearman", *rank, side="below")])]
    >>> [claim.verdict for claim in claims_of(replace(demo.STUDY, claims=shorter), demo.results())]
    ['holds']
    """
    if study.claims is None or not bool((results["status"] == "ok").any()):
        return []
    try:
        made = list(resolve(study.claims, "claims")(results))
    except (KeyError, ValueError) as error:
        raise ValueError(f"claims of {study.name} need what it does not have: {error.args[0]}") from error
    if wrong := [one for one in made if not isinstance(one, Claim)]:
        raise ValueError(f"claims of {study.name}: {wrong[0]!r} is not a Claim")
    return made
