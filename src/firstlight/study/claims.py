"""Published claims, judged by what a study found: estimates with 95 % intervals decide, by stated rules."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
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
FEWEST = 3  # trials that decide anything: two have Student's factor 13, and may agree by chance
_ON_BORDER = 100  # times as many trials, from which on a number is said to lie on its border


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
        A second border: between the two the effect is there, but weak.
    fixed : float, default 0
        Half the length of what more trials leave of the interval, such as a theory's own error.
    stays : str, optional
        Why they leave it, in words.
    trials : int, optional
        How many trials the interval rests on. Fewer than three decide nothing.

    Examples
    --------
    >>> Estimate("Spearman", 0.8, 0.7, 0.9).verdict, Estimate("Spearman", 0.1, -0.2, 0.4).verdict
    ('holds', 'undecided')
    >>> print(Estimate("Spearman", 0.2, 0.1, 0.28, strong=0.3))
    Spearman: 0.20 [0.10, 0.28], weak
    >>> print(Estimate("Spearman", 0.2, 0.1, 0.31, strong=0.3))
    Spearman: 0.20 [0.10, 0.31], weak or more
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
    trials: int | None = None
    stays: str = ""

    @property
    def verdict(self) -> Verdict:
        """Where the whole interval lies: on the claimed side, on the other, weakly so; or across a border."""
        return self.outcomes.copy().pop() if len(self.outcomes) == 1 else UNDECIDED

    @property
    def outcomes(self) -> set[Verdict]:
        """The verdicts of all numbers in the interval; every verdict where too little is known.

        Examples
        --------
        >>> sorted(Estimate("Spearman", 0.05, -0.03, 0.13, strong=0.3).outcomes)
        ['does not hold', 'holds in part']
        """
        few = self.trials is not None and self.trials < FEWEST
        if not self.known or few:
            return {HOLDS, IN_PART, FAILS}
        ends = sorted([self.low, *self._crossed, self.high])
        return {self._at((left + right) / 2) for left, right in pairwise(ends)}

    def _at(self, value: float) -> Verdict:
        inside = abs(value) < self.border
        sign = -1 if self.side == "below" else 1
        right = {"within": inside, "beyond": not inside}.get(self.side, sign * (value - self.border) > 0)
        if not right:
            return FAILS
        return IN_PART if self.strong is not None and sign * (value - self.strong) < 0 else HOLDS

    @property
    def known(self) -> bool:
        """Whether there is a number with an interval."""
        return all(map(math.isfinite, (self.value, self.low, self.high)))

    @property
    def _crossed(self) -> list[float]:
        """The borders that lie in the interval."""
        mirrored = [-self.border] if self.side in ("within", "beyond") else []
        borders = [self.border, *mirrored, *([] if self.strong is None else [self.strong])]
        return [border for border in borders if self.low <= border <= self.high]

    def after(self, factor: float) -> "Estimate":
        """Return it as `factor` times as many trials would leave it if the number stayed.

        Half the interval's length on either side falls to √(`fixed`² + (half² - `fixed`²) / `factor`).

        Examples
        --------
        >>> print(Estimate("Spearman", 0.1, -0.1, 0.3).after(16))
        Spearman: 0.10 [0.05, 0.15]
        """
        reach = [math.sqrt(kept**2 + (half**2 - kept**2) / factor) for half, kept in map(self._half, (-1, 1))]
        trials = None if self.trials is None else int(max(self.trials, 1) * factor)
        return replace(self, low=self.value - reach[0], high=self.value + reach[1], trials=trials)

    def _half(self, sign: int) -> tuple[float, float]:
        """Return how far the interval reaches to one side, and what trials leave of that."""
        half = self.value - self.low if sign < 0 else self.high - self.value
        return half, min(half, self.fixed)

    @property
    def turns(self) -> list[float]:
        """How many times as many trials take an end of the interval to a border, or are enough to decide."""
        factors = [] if self.trials is None else [FEWEST / max(self.trials, 1)]
        for border in self._crossed:
            half, kept = self._half(-1 if border < self.value else 1)
            left = (self.value - border) ** 2 - kept**2  # for the variance of the mean over trials
            factors.append((half**2 - kept**2) / left if left > 0 else math.inf)
        return [factor for factor in factors if 1 < factor < math.inf]

    @property
    def trials_factor(self) -> float:
        """How many times as many trials would decide if the number stayed: 1 if decided.

        NaN if nothing is known, infinite on a border or where `fixed` alone reaches it.
        """
        return judged(self.label, [self]).trials_factor if self.known else math.nan

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
        if self.verdict == UNDECIDED and self.border not in self._crossed and self.strong in self._crossed:
            unclear = "weak or more"
        word = {IN_PART: ", weak", UNDECIDED: f", {unclear}"}.get(self.verdict, "")
        return f"{self.label}: {value} [{low}, {high}]{word}"


@dataclass(frozen=True)
class Statement:
    """What was published, where, and by which number and rule it is judged.

    Attributes
    ----------
    text : str
        The claim in our words, in one line.
    source, place : str
        BibTeX key of the source; section, figure or theorem in it.
    estimand, rule : str
        Which number decides, and how.
    every : bool, default False
        Whether it is said of every part, as a theorem is, or by a rule with "and": one part that refutes it
        is enough.
    """

    text: str
    source: str = ""
    place: str = ""
    estimand: str = ""
    rule: str = ""
    every: bool = False


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
        """How many times as many trials would decide the claim if the numbers stayed: 1 if decided.

        Parts that cannot change the verdict may stay open. Infinite where no number of trials decides.
        """
        if self.verdict != UNDECIDED:
            return 1.0
        for turn, following in pairwise(self._turns):
            if overall(self._after(math.sqrt(turn * following)), every=self.statement.every) != UNDECIDED:
                return turn
        return math.inf

    @property
    def _turns(self) -> list[float]:
        """The factors between which no part's outcomes change, and one beyond the last."""
        turns = sorted({1.0, *(turn for part in self.estimates for turn in part.turns)})
        return [*turns, 2 * turns[-1]]

    def _after(self, factor: float) -> list[set[Verdict]]:
        return [part.after(factor).outcomes for part in self.estimates]

    def _left_open(self) -> list[Estimate]:
        """Return the parts that trials leave open and that could change the verdict."""
        outcomes, every, left = self._after(self._turns[-1]), self.statement.every, []
        for place, part in enumerate(self.estimates):
            others = _reached(outcomes[:place] + outcomes[place + 1 :])
            if any(len({_closed(rest | {own}, every) for own in outcomes[place]}) > 1 for rest in others):
                left.append(part)
        return left

    def outlook(self, trials: int) -> str:
        """Say what would decide an undecided claim, after so many trials; empty if it is decided."""
        if self.verdict != UNDECIDED or not self.estimates:
            return ""
        factor = self.trials_factor
        if factor <= _ON_BORDER:
            more = max(math.ceil(trials * (factor - 1)), 1)
            return f"about {float(f'{more:.2g}'):,.0f} more trial{'s' if more > 1 else ''}"
        left = self._left_open() if math.isinf(factor) else []
        if not all(part.known for part in left):
            return "a number is missing"
        why = next((f" ({part.stays})" if part.stays else "" for part in left if part.fixed > 0), None)
        return "lies on the border" if why is None else f"more trials do not help{why}"


def judged(statement: str | Statement, parts: Sequence[Estimate]) -> Claim:
    """Judge a claim, or its text alone, by estimates of the cases that it is made for, at least one.

    Examples
    --------
    >>> up, down = Estimate("one side", 0.8, 0.7, 0.9), Estimate("the other", -0.5, -0.7, -0.3)
    >>> print(judged("it rises", [up, down]))
    holds in part: it rises (one side: 0.80 [0.70, 0.90]; the other: -0.50 [-0.70, -0.30])
    """
    said = Statement(statement) if isinstance(statement, str) else statement
    if not parts:
        raise ValueError(f"claim {said.text!r}: no estimate to judge it by")
    verdict = overall([part.outcomes for part in parts], every=said.every)
    return Claim(said.text, verdict, "; ".join(map(str, parts)), said, tuple(parts))


def overall(outcomes: Sequence[set[Verdict]], *, every: bool = False) -> Verdict:
    """Sum up the verdicts on one claim in several parts.

    Parameters
    ----------
    outcomes : sequence of set of str
        The verdicts that each part may come to: one if it is decided.
    every : bool, default False
        Whether it is said of every part: then one that refutes it is enough.

    Returns
    -------
    str
        It holds if it does in all parts, does not hold if it does in none, and holds in part otherwise.
        Undecided while the open parts could still change that.

    Examples
    --------
    >>> overall([{"holds"}, {"holds", "holds in part"}])
    'undecided'
    >>> overall([{"holds"}, {"does not hold", "holds in part"}])
    'holds in part'
    """
    ends = {_closed(words, every) for words in _reached(outcomes)}
    return ends.pop() if len(ends) == 1 else UNDECIDED


def _reached(outcomes: Sequence[set[Verdict]]) -> set[frozenset[Verdict]]:
    """Return the verdicts that occur among the parts, for every way in which the open ones may close."""
    reached: set[frozenset[Verdict]] = {frozenset()}
    for part in outcomes:
        reached = {words | {verdict} for words in reached for verdict in part}
    return reached


def _closed(words: frozenset[Verdict], every: bool) -> Verdict:
    """Sum up verdicts none of which is open."""
    if every and FAILS in words:
        return FAILS
    return next(iter(words)) if len(words) == 1 else IN_PART


def claims_of(study: "Study", results: xr.Dataset) -> list[Claim]:
    """Judge the claims of a study by what `run` or `dataset` returned; none if it makes none or is empty.

    Examples
    --------
    >>> from dataclasses import replace
    >>> from firstlight.maths.intervals import rank_correlation
    >>> from firstlight import demo
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
