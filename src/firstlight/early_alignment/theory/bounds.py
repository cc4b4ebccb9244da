"""The theorem's times, scales and rates, in the paper's form and in two sharper ones.

Everything is written in log ε: the scale that the theorem asks for is far outside the floating-point range
(10^-115558 for 25 points in the plane).
"""

from dataclasses import dataclass

import numpy as np

from firstlight.early_alignment.theory.geometry import Geometry
from firstlight.maths.checks import check_array, check_count, check_number
from firstlight.maths.losses import gain
from firstlight.maths.refusals import check_instance, refusal
from firstlight.maths.shown import Shown


@dataclass(frozen=True)
class Bounds(Shown):
    """What the theorem promises, for one geometry, width and scale ε.

    Attributes
    ----------
    applies : bool
        Whether ε is small enough for the paper's own conditions, and the geometry qualifies.
    reason : str
        Why not, in words; empty if it applies.
    alignment_time : dict
        Upper bounds on t₁, when every neuron is in its S± or dead. ``paper``: 16 log n / (m √μ X_min), with
        m = min(ζ, ξ), and NaN for n = 1, where that is zero; ``path``: the same residence times summed along
        the worst path; ``sharp``: from the closed form within a pattern, in the limit ε → 0. At the ε of
        `required_log_scale` the sharp time holds with a factor 2, and the other entries use it so.
    phase_end : float
        T: up to here all weights are provably small; negative if ε is too large.
    required_log_scale : dict
        log ε below which the theorem applies, with t₁ taken from each of the three bounds.
    fitting_time : dict
        Upper bounds on t₂, when the outputs have reached 1/4 on every class, one for each t₁.
    fitting_rate : float
        α in L(t) ≤ L(t₂) / (1 + α L(t₂)(t - t₂)).
    log_rank_excess : float
        log of 4 √h ε W_max², the bound on ‖W‖²_F - 2 ‖W‖²₂ at all times.
    """

    applies: bool
    reason: str
    alignment_time: dict[str, float]
    phase_end: float
    required_log_scale: dict[str, float]
    fitting_time: dict[str, float]
    fitting_rate: float
    log_rank_excess: float


def bounds(
    geometry: Geometry,
    width: int,
    log_scale: float,
    *,
    loss: str = "exp",
    reduction: str = "sum",
    start_norms: tuple[float, float] = (1.0, 1.0),
) -> Bounds:
    """Evaluate the theorem's bounds.

    Parameters
    ----------
    geometry : Geometry
        From `geometry`, with the start included so that ζ₂ counts.
    width : int
        h, at least 1.
    log_scale : float
        log ε, the natural logarithm of the scale of the start; -inf is allowed.
    loss : {"exp", "logistic", "logistic2"}
        ``logistic2`` is 2 log(1 + e^{-z}); plain ``logistic`` takes twice as long.
    reduction : {"sum", "mean"}
        A mean over n data takes n times as long; rates of the loss stay the same.
    start_norms : (float, float), default (1.0, 1.0)
        W_min, W_max: shortest and longest row of the start before it is scaled by ε.

    Returns
    -------
    Bounds
        All NaN, with a `reason`, for data that are not orthogonally separable.

    Examples
    --------
    >>> from firstlight.early_alignment.theory.geometry import geometry
    >>> bound = bounds(geometry([[1, 0], [1, 1], [-1, -0.5]], [1, 1, -1]), width=50, log_scale=-1000.0)
    >>> bound.applies, bound.alignment_time
    (True, {'paper': 41.81, 'path': 23.78, 'sharp': 4.48})
    """
    g = geometry
    W_min, W_max = _check(g, width, log_scale, start_norms)
    speed = gain(loss, reduction, g.samples)
    excess = np.log(4) + 0.5 * np.log(width) + log_scale + 2 * np.log(W_max)
    if g.obstacle:
        none = dict.fromkeys(("paper", "path", "sharp"), np.nan)
        return Bounds(False, g.obstacle, none, np.nan, none, none, np.nan, float(excess))
    times = _alignment_times(g)
    # At finite ε the turning rate is at least half its limit, hence twice the sharp time.
    finite = {**times, "sharp": 2 * times["sharp"]}
    required = _required_log_scale(g, width, W_max, finite)
    root = np.sqrt(g.mu) * g.norm_min
    counts = [count for count in (g.samples_plus, g.samples_minus) if count]
    start = np.log(2 / root) - 2 * (np.log(W_min) + log_scale)
    fitting = {
        name: t1 + (6 + 4 * (start + 4 * g.samples * g.norm_max * t1)) / (root * min(counts))
        for name, t1 in finite.items()
    }
    ceiling = required["paper" if g.samples > 1 else "path"]
    small = log_scale <= ceiling
    reason = "" if small else f"log_scale = {log_scale:.6g}: the theorem needs at most {ceiling:.6g}"
    return Bounds(
        applies=bool(small),
        reason=reason,
        alignment_time={name: float(time / speed) for name, time in times.items()},
        phase_end=float((-0.5 * np.log(width) - log_scale) / (4 * g.samples * g.norm_max * speed)),
        required_log_scale=required,
        fitting_time={name: float(time / speed) for name, time in fitting.items()},
        fitting_rate=(g.mu * g.norm_min) ** 2 / (32 * g.norm_max),
        log_rank_excess=float(excess),
    )


def _check(
    geometry: Geometry, width: int, log_scale: float, start_norms: tuple[float, float]
) -> tuple[float, float]:
    """Return the lengths of the start, or say which argument is wrong."""
    check_instance("geometry", geometry, Geometry)
    check_count("width", width)
    if not (isinstance(log_scale, float) and log_scale == -np.inf):
        check_number("log_scale", log_scale)
    low, high = check_array("start_norms", start_norms, (2,)).tolist()
    if not 0 < low <= high:
        raise refusal("start_norms", start_norms, "be two numbers, 0 < shortest <= longest")
    return low, high


def worst_path(own: int, other: int) -> np.ndarray:
    """Numbers of active data, in order, along the slowest way of a neuron into its cone.

    Each datum flips at most once: the other class's switch off, the own class's on. The fewer are active, the
    slower the neuron turns; so the slowest way drops the other class first, down to one, takes one of its own
    in before it drops the last, and then collects its own.

    Examples
    --------
    >>> worst_path(own=3, other=2).tolist()
    [2, 1, 2, 1, 2]
    """
    bridge = [2] if own and other else []
    return np.array([*range(other, 0, -1), *bridge, *range(1, own)], dtype=int)


def _alignment_times(g: Geometry) -> dict[str, float]:
    m = min(g.zeta, g.xi)
    slow = m * np.sqrt(g.mu) * g.norm_min
    # Within a pattern artanh cos(u, c) grows at the rate ‖c‖, and |cos| ≤ √(1-m) until the pattern ends.
    # artanh √(1-m), written so that 1-m may round to 1.
    span = 2 * np.log1p(np.sqrt(1 - m)) - np.log(m)
    paths = [worst_path(g.samples_plus, g.samples_minus), worst_path(g.samples_minus, g.samples_plus)]
    return {
        "paper": 16 * np.log(g.samples) / slow if g.samples > 1 else np.nan,
        "path": 4 * max(float((1 / k).sum()) for k in paths) / slow,
        "sharp": max(float((span / np.sqrt(k * (1 + g.mu * (k - 1)))).sum()) for k in paths) / g.norm_min,
    }


def _required_log_scale(g: Geometry, width: int, W_max: float, times: dict[str, float]) -> dict[str, float]:
    """Log ε at which the error of the limit dynamics is harmless and t₁ still lies before T."""
    half = 0.5 * np.log(width)
    harmless = np.log(min(g.mu, g.zeta, g.xi) * np.sqrt(g.mu) * g.norm_min / (8 * g.samples)) - half
    harmless -= 2 * np.log(g.norm_max * W_max)
    return {
        name: float(np.minimum(harmless, -half - 4 * g.samples * g.norm_max * time))
        for name, time in times.items()
    }
