"""By when a network from a small start has begun to fit, from the exact path of its alignment phase."""

import numpy as np
from scipy.integrate import trapezoid

from firstlight.data.separable import separability
from firstlight.early_alignment.theory.path import AlignmentPath
from firstlight.maths.solvers import bracketing_root

_QUIET, _FITTED = 1e-3, 0.2525  # effect of outputs by the switch, and 1/4 with more than that on top
_SLOPES = {"exp": (1.0, np.exp(-0.25)), "logistic": (0.5, 2 / (1 + np.exp(0.25)))}  # -g'(0), g(1/4) over g(0)


def settling_time(path: AlignmentPath) -> float:
    """Return when the last neuron of an exact path is in the S± of its sign or dead; inf if one never is.

    A balanced start on the ray of the other class's centre stays there, in the wrong S±.
    """
    wrong = (np.abs(path.second) == 1) & (path.fate == -path.second)
    entry = np.where(wrong, np.inf, path.entry_time)
    return float(np.where(np.abs(path.fate) == 1, entry, path.death_time).max())


def settles_quietly(path: AlignmentPath, log_norms: np.ndarray) -> bool:
    """Tell whether all neurons are in the S± of their signs or dead before outputs have moved any by 1e-3.

    Examples
    --------
    >>> from firstlight.early_alignment.theory.align import align
    >>> path = align([[1, 0], [0.1, 1]], [1, 1], [[1, -1]], [1])
    >>> [settles_quietly(path, np.array([log_scale])) for log_scale in (-1.0, -10.0)]
    [False, True]
    """
    settled = settling_time(path)
    return bool(np.isfinite(settled) and path.quiet_until(log_norms, _QUIET, settled) == settled)


def fitting_bound(path: AlignmentPath, log_norms: np.ndarray, loss: str, latest: float) -> float:
    """Return a time by which max |f| has exceeded 1/4 on every class, for a balanced start of this scale.

    Once all neurons have settled each class is a linear network in which all ⟨w, x⟩ are positive, so that
    outputs and their rates grow with each other. Slopes of the loss fall from g(0) to no less than g(1/4): f
    is at most the path's f̂, which neglects that, and at least f̂ on a clock that loses 1 - g(f̂)/g(0), at most
    1 - g(1/4)/g(0). The path may be off by 1e-3 where this begins, which 1 % on top of 1/4 makes good.

    Parameters
    ----------
    path : AlignmentPath
        From `align`, of a balanced start.
    log_norms : ndarray of shape (h,)
        log ‖w‖ at the start.
    loss : {"exp", "logistic", "logistic2"}
        The one of the path.
    latest : float
        Where the search ends.

    Returns
    -------
    float
        inf if it is later than `latest`; NaN if outputs are not negligible until all neurons have settled.

    Examples
    --------
    One neuron on one point, where w² = 1/4 is reached at ½ ∫ e^z/z dz from ε² to 1/4.

    >>> from scipy.special import expi
    >>> from firstlight.early_alignment.theory.align import align
    >>> path = align([[1.0]], [1], [[1.0]], [1])
    >>> exact = (expi(0.25) - expi(np.exp(-18.0))) / 2
    >>> bool(exact < fitting_bound(path, np.array([-9.0]), "exp", 1e3) < 1.01 * exact)
    True
    """
    if separability(path.X, path.y) <= 0 or not settles_quietly(path, log_norms):
        return np.nan
    start = path.quiet_until(log_norms, _QUIET, latest)
    loses, slowest = _SLOPES[loss.removesuffix("2")]
    times = []
    for label in np.unique(path.y):
        risen = _rise(path, log_norms, start, latest, label)
        if np.isinf(risen):
            return np.inf
        grid = np.linspace(start, risen, 33)
        outputs = np.exp([path.log_output(t, log_norms, label) for t in grid])  # convex: what follows is more
        times.append(risen + loses * trapezoid(outputs, grid) / slowest)
    return float(max(times)) if max(times) <= latest else np.inf


def _rise(path: AlignmentPath, log_norms: np.ndarray, start: float, latest: float, label: int) -> float:
    """Return when the path's own outputs exceed 1/4 on a class, once and for all; inf if not by then."""

    def excess(t: float) -> float:
        return path.log_output(t, log_norms, label) - float(np.log(_FITTED))

    low, high = start, min(2 * start or 1 / path.gain, latest)
    if excess(low) > 0:
        return low
    while excess(high) <= 0:
        if high == latest:
            return np.inf
        low, high = high, min(2 * high, latest)
    return bracketing_root(excess, low, high, tolerance=1e-9).value
