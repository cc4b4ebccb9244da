"""The limit of delta_NN(T): nearly a straight line in the bulk's edge z_-(T), taken to z_- = 0."""

import numpy as np

_BRIDGE = 10.0  # how many times the distance that the edge has moved a line may be taken further
_SHARE = 0.25  # of the limit that a line may bridge


def window(steps: int) -> list[int]:
    """Powers of two, and steps spread over the last two thirds of the run and of its first half."""
    powers = [1 << j for j in range(2, steps.bit_length())]
    spread = [
        np.geomspace(max(end / 3, 1), end, 6).round().astype(int).tolist() for end in (steps, steps // 2)
    ]
    return sorted(t for t in {*powers, *spread[0], *spread[1]} if 1 <= t <= steps)


def extrapolate(times: np.ndarray, curve: np.ndarray, edge: np.ndarray) -> tuple[float, float, str]:
    """Take delta_NN(T) to z_- = 0 by a straight line over the last two thirds; value, error, route.

    The error is the change of the limit since half as many steps: for the base model it halves with each
    doubling, so that this bounds what is still to come. It is infinite as long as the edge has hardly moved
    compared with its distance from zero: training has not begun, however flat the curve is.
    """
    ends = []
    for end in (times[-1], times[-1] // 2):
        part = (times >= end / 3) & (times <= end) & np.isfinite(curve) & np.isfinite(edge)
        if part.sum() < 3:
            break
        late_curve, late_edge = curve[part], edge[part]
        if end == times[-1]:
            flat, arrived = np.ptp(late_curve) < 0.004 * late_curve[-1], -late_edge[-1] < np.ptp(late_edge)
            if late_edge[-1] > 0 or (flat and arrived):
                return float(late_curve[-1]), float(np.ptp(late_curve)), "settled"
            if -late_edge[-1] > _BRIDGE * np.ptp(late_edge):
                return np.nan, np.inf, "not found"
        ends.append(float(np.polynomial.Polynomial.fit(late_edge, late_curve, 1)(0.0)))
    if not ends:
        return np.nan, np.inf, "not found"
    before = ends[1] if len(ends) == 2 else float(curve[-1])
    return ends[0], abs(ends[0] - before), "extrapolated"


def trusted(limit: float, error: float, last: float) -> bool:
    """Tell whether a limit is known to a tenth, and not mostly the line that leads to it from the last value.

    Examples
    --------
    >>> trusted(2.88, 0.2, 2.45), trusted(4.08, 0.4, 2.86)
    (True, False)
    """
    return bool(error < 0.1 * limit and abs(limit - last) <= _SHARE * limit)
