"""Numbers with 95 % intervals, and on which side of a border they lie: what claims are judged by."""

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

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
        margin = abs(level - self.border)
        return ((self.high - self.low) / 2 / margin) ** 2 if margin > 0 else math.inf

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


def over_trials(
    values: ArrayLike,
    lowest: float = -math.inf,
    highest: float = math.inf,
    *,
    one_sided: bool = False,
) -> tuple[float, float, float]:
    """Mean of independent trials with Student's 95 % interval; missing trials (NaN) do not count.

    Parameters
    ----------
    values : array_like, shape (trials,)
    lowest, highest : float, optional
        The range of what is measured. The interval is cut off there, which leaves its coverage as it is.
    one_sided : bool, default False
        For claims of the form "at most" or "at least": each end is a 95 % limit of its own.

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
    >>> over_trials([1.0, 2.0, 3.0], one_sided=True)
    (2.000, 0.314, 3.686)
    """
    from scipy.stats import t

    array = np.asarray(values, dtype=float).ravel()
    array = array[np.isfinite(array)]
    if len(array) < 2:
        return (float(array[0]) if len(array) else np.nan), np.nan, np.nan
    mean = float(array.mean())
    level = 0.95 if one_sided else 0.975
    half = float(t.ppf(level, len(array) - 1) * array.std(ddof=1) / np.sqrt(len(array)))
    return mean, float(min(max(mean - half, lowest), mean)), float(max(min(mean + half, highest), mean))


def over_classes(
    values: ArrayLike, unseen: ArrayLike, lowest: float = -math.inf, highest: float = math.inf
) -> tuple[float, float, float]:
    """Mean of trials that each draw some of the same few classes, with an interval for other classes.

    Trials that share classes are not independent: more of them do not bring more classes. The interval adds
    the infinitesimal jackknife over the classes (Wager and Athey, 2018, for draws without replacement) to the
    error of the mean over trials, with Student's factor for the classes. With few trials it is too wide.

    Parameters
    ----------
    values : array_like, shape (trials,)
        NaN where a trial is missing.
    unseen : array_like of bool, shape (trials, classes)
        Which classes each trial measures; the same number in every trial.
    lowest, highest : float, optional
        The range of what is measured; the interval is cut off there.

    Returns
    -------
    value, low, high : float
        NaN with fewer than two trials.

    Examples
    --------
    >>> unseen = [[1, 1, 0, 0], [0, 0, 1, 1], [1, 0, 1, 0], [0, 1, 0, 1]]
    >>> over_classes([1.0, 0.0, 0.5, 0.5], unseen)
    (0.500, -1.023, 2.023)
    """
    from scipy.stats import t

    array, members = np.asarray(values, dtype=float).ravel(), np.asarray(unseen, dtype=float)
    known = np.isfinite(array) & np.isfinite(members).all(axis=1)
    array, members = array[known], members[known]
    trials, classes = members.shape
    if trials < 2:
        return (float(array[0]) if trials else np.nan), np.nan, np.nan
    drawn = float(members.sum(axis=1).mean())
    mean, noise = float(array.mean()), float(array.var(ddof=1)) / trials
    covariance = (members - members.mean(axis=0)).T @ (array - mean) / trials
    wide = (classes - 1) / classes * (classes / (classes - drawn)) ** 2
    between = wide * float(covariance @ covariance)
    half = float(t.ppf(0.975, min(trials, classes) - 1) * np.sqrt(between + noise))
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
