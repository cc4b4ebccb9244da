"""Published claims, judged by what a study found: estimates with 95 % intervals decide, by stated rules."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike

from firstlight.study.registry import resolve

if TYPE_CHECKING:
    from firstlight.study.sweep import Study

Verdict = Literal["holds", "holds in part", "does not hold", "undecided"]
HOLDS: Verdict = "holds"
IN_PART: Verdict = "holds in part"
FAILS: Verdict = "does not hold"
UNDECIDED: Verdict = "undecided"


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

    Examples
    --------
    >>> print(Claim("errors fall", "holds", "exponent -0.5 [-0.6, -0.4]"))
    holds: errors fall (exponent -0.5 [-0.6, -0.4])
    """

    text: str
    verdict: Verdict
    evidence: str

    def __str__(self) -> str:
        return f"{self.verdict}: {self.text} ({self.evidence})"


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
    side : {"above", "below"}, default "above"
        Where the claim puts the number.
    strong : float, optional
        An interval on the right side that does not reach this number is a weak effect.

    Examples
    --------
    >>> Estimate("Spearman", 0.8, 0.7, 0.9).verdict, Estimate("Spearman", 0.1, -0.2, 0.4).verdict
    ('holds', 'undecided')
    >>> print(Estimate("Spearman", 0.2, 0.1, 0.28, strong=0.3))
    Spearman: 0.20 [0.10, 0.28], weak
    """

    label: str
    value: float
    low: float
    high: float
    border: float = 0.0
    side: Literal["above", "below"] = "above"
    strong: float | None = None

    @property
    def verdict(self) -> Verdict:
        """Where the interval lies: on the claimed side, on the other, across the border or nowhere."""
        sign = 1 if self.side == "above" else -1
        near, far = sorted((sign * (self.low - self.border), sign * (self.high - self.border)))
        if not (math.isfinite(near) and math.isfinite(far)) or near <= 0 <= far:
            return UNDECIDED
        if far < 0:
            return FAILS
        weak = self.strong is not None and far < sign * (self.strong - self.border)
        return IN_PART if weak else HOLDS

    def __str__(self) -> str:
        if not math.isfinite(self.value):
            return f"{self.label}: not known"
        width = self.high - self.low
        if not math.isfinite(width):
            return f"{self.label}: {self.value:.2f}, no interval"
        digits = min(max(2, math.ceil(0.7 - math.log10(width))), 6) if width > 0 else 2
        while digits < 6 and any(round(end - self.border, digits) == 0 for end in (self.low, self.high)):
            digits += 1  # an end that seems to lie on the border would hide what it decides
        value, low, high = (f"{number:z.{digits}f}" for number in (self.value, self.low, self.high))
        unclear = "no effect seen" if self.border == 0 else "not decided"
        word = {IN_PART: ", weak", UNDECIDED: f", {unclear}"}.get(self.verdict, "")
        return f"{self.label}: {value} [{low}, {high}]{word}"


def judged(text: str, parts: Sequence[Estimate], *, every: bool = False) -> Claim:
    """Judge a claim by the estimates that it speaks of.

    Parameters
    ----------
    text : str
        The claim.
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
    if not parts:
        raise ValueError(f"claim {text!r}: no estimate to judge it by")
    verdicts = [part.verdict for part in parts]
    verdict = overall(verdicts)
    if every and FAILS in verdicts:
        verdict = FAILS
    elif not all(math.isfinite(part.value) for part in parts):
        verdict = UNDECIDED
    return Claim(text, verdict, "; ".join(map(str, parts)))


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


def over_trials(
    values: ArrayLike, lowest: float = -math.inf, highest: float = math.inf
) -> tuple[float, float, float]:
    """Mean of independent trials with Student's 95 % interval; missing trials (NaN) do not count.

    Parameters
    ----------
    values : array_like, shape (trials,)
    lowest, highest : float, optional
        The range of what is measured. The interval is cut off there, which leaves its coverage as it is.

    Returns
    -------
    value, low, high : float
        NaN without trials; the interval is NaN with a single one.

    Examples
    --------
    >>> over_trials([1.0, 2.0, 3.0])
    (2.000, -0.484, 4.484)
    >>> over_trials([1.0, 2.0, 3.0], lowest=1)
    (2.000, 1.000, 4.484)
    """
    from scipy.stats import t

    array = np.asarray(values, dtype=float).ravel()
    array = array[np.isfinite(array)]
    if len(array) < 2:
        return (float(array[0]) if len(array) else np.nan), np.nan, np.nan
    mean = float(array.mean())
    half = float(t.ppf(0.975, len(array) - 1) * array.std(ddof=1) / np.sqrt(len(array)))
    return mean, float(min(max(mean - half, lowest), mean)), float(max(min(mean + half, highest), mean))


def rank_correlation(x: ArrayLike, y: ArrayLike) -> tuple[float, float, float]:
    """Spearman correlation of two scores with its 95 % interval: Fisher's z, after Bonett and Wright (2000).

    Parameters
    ----------
    x, y : array_like
        Of one shape; pairs with a NaN do not count. A perfect order has an interval as if one swap short.

    Returns
    -------
    value, low, high : float
        NaN with fewer than five pairs, or where a score is constant.

    Examples
    --------
    >>> rank_correlation([1, 2, 3, 4, 5, 6, 7], [2, 1, 3, 5, 4, 7, 6])
    (0.89, 0.27, 0.99)
    """
    from scipy.stats import rankdata

    a, b = (np.asarray(column, dtype=float).ravel() for column in (x, y))
    known = np.isfinite(a) & np.isfinite(b)
    a, b, count = a[known], b[known], int(known.sum())
    if count < 5 or np.ptp(a) == 0 or np.ptp(b) == 0:
        return np.nan, np.nan, np.nan
    value = float(np.corrcoef(rankdata(a), rankdata(b))[0, 1])
    most = 1 - 12 / (count * (count**2 - 1))
    centre = np.arctanh(np.clip(value, -most, most))
    half = 1.959964 * np.sqrt((1 + value**2 / 2) / (count - 3))
    low, high = np.tanh([centre - half, centre + half])
    return value, float(min(low, value)), float(max(high, value))


def exponent(sizes: ArrayLike, values: ArrayLike) -> tuple[float, float, float]:
    """Exponent p of a power law values ~ sizes**p, fitted trial by trial, with the interval of `over_trials`.

    Parameters
    ----------
    sizes : array_like, shape (sizes,)
    values : array_like, shape (trials, sizes)
        Positive; a trial with a NaN does not count.

    Returns
    -------
    value, low, high : float

    Examples
    --------
    >>> exponent([1, 2, 4], [[1.0, 2.1, 4.0], [1.0, 1.9, 4.0]])
    (1.00, 1.00, 1.00)
    """
    x, y = np.log(np.asarray(sizes, dtype=float)), np.log(np.asarray(values, dtype=float))
    x = x - x.mean()
    return over_trials(y @ x / (x @ x))


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
