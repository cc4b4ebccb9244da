"""Trajectories of gradient flow: the exact path of the alignment phase, joined to integration after it."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr

from firstlight.data.separable import separability, two_classes
from firstlight.early_alignment.definitions.alignment import regions
from firstlight.early_alignment.definitions.start import lengths
from firstlight.early_alignment.definitions.tables import stack, table
from firstlight.early_alignment.definitions.trajectory import Observer
from firstlight.early_alignment.experiment.continuation import Continuation, follow_classes, follow_neurons
from firstlight.early_alignment.experiment.flow import headroom, sliding_distance
from firstlight.early_alignment.theory.align import align
from firstlight.early_alignment.theory.fitting import settling_time
from firstlight.early_alignment.theory.limits import limits
from firstlight.early_alignment.theory.path import AlignmentPath
from firstlight.maths.checks import as_numbers, check_neurons, check_number
from firstlight.maths.losses import MARGIN_LOSSES, margin_loss
from firstlight.maths.refusals import check_choice


def flow(
    X: np.ndarray,
    y: np.ndarray | Sequence[int],
    directions: np.ndarray,
    signs: np.ndarray | Sequence[int],
    log_scale: float,
    loss: str = "exp",
    until: float = 1e6,
    observations: int | Sequence[float] | np.ndarray = 128,
    *,
    reduction: str = "sum",
    method: str = "neurons",
    tolerance: float = 1e-9,
    switch_error: float = 1e-6,
) -> xr.Dataset:
    """Follow gradient flow from a small balanced start to very large times.

    The alignment phase is exact, as long as outputs, which its solver neglects, have provably turned or
    stretched no neuron by more than `switch_error`; the rest is integrated in log time.

    Parameters
    ----------
    X, y : array_like of shape (n, D) and (n,)
        Data (no zero row) and labels ±1.
    directions, signs, log_scale : array_like of shape (h, D), (h,) and float
        The start is wⱼ = ε directionsⱼ, vⱼ = signsⱼ ‖wⱼ‖ at log ε; ε = 10^-100000 is as good as 0.1.
    loss, reduction : {"exp", "logistic", "logistic2"} and {"sum", "mean"}
        The loss, and whether the data's losses are added or averaged.
    until, observations : float, and int or sequence of float, default 1e6 and 128
        The last time, up to 1e300; output times, or how many: half evenly up to the fitting phase, half in
        log time after that.
    method : {"neurons", "classes"}
        "classes" integrates one second-moment matrix per class, at a cost that does not grow with the width.
        It needs separable data and every neuron in its S± or dead at the switch, and omits what only single
        neurons show (direction_change, norm_change, fractions).
    tolerance, switch_error : float, default 1e-9 and 1e-6
        Of the integrator, absolute; and of a direction or of log ‖w‖ where it takes over, in (0, 0.1].

    Returns
    -------
    Dataset
        Over ``time``: loss, log_loss, log_norm (of ‖W‖²_F), stable_rank; cosine_plus, cosine_minus (mean over
        live neurons, to x±; ..._min the least), margin_cosine_plus, ..._minus (to the max-margin directions);
        margin_plus, ..._minus, output_plus, ..._minus (least yf and max |f| by class); direction_change and
        norm_change (their rates); the fractions plus, minus, dead of neurons in S₊, S₋ and the dead region.
        Attributes: t1 (last neuron into the S± of its sign, or dead) and t2 (outputs of both classes above
        1/4), found between the integrator's own steps, inf if not by until; switch_time, switch_output (max
        |f| there), evaluations. If `converged` is False, what the integrator missed is NaN, and `note` says
        why.

    Examples
    --------
    >>> X, y = [[1, 0], [1, 1], [-1, -0.5]], [1, 1, -1]
    >>> run = flow(X, y, [[1, 2], [-1, 1], [-1, -2]], [1, 1, -1], log_scale=-20.0)
    >>> bool(run.converged), run.t2, float(run.stable_rank[-1])
    (True, 16.71, 1.016)
    """
    X, y = two_classes(X, y)
    W, s = check_neurons(directions, signs, X.shape[1])
    check_choice("method", method, ("neurons", "classes"))
    check_choice("loss", loss, tuple(MARGIN_LOSSES))
    log_scale = check_number("log_scale", log_scale)
    until = check_number("until", until, above=0, high=1e300)
    switch_error = check_number("switch_error", switch_error, above=0, high=0.1)
    tolerance = check_number("tolerance", tolerance, above=0, high=1)
    start = log_scale + np.log(lengths(W))
    path = align(X, y, W, s, loss=loss, reduction=reduction)
    check_scale(log_scale, headroom(X, y, path.start, start, s, loss))
    setting = {"loss": loss, "reduction": reduction, "tolerance": tolerance, "samples": len(y)}
    return _joined(path, start, observations, until, switch_error, method, setting)


def _joined(
    path: AlignmentPath, start: np.ndarray, observations: int | Sequence[float] | np.ndarray, until: float,
    switch_error: float, method: str, setting: dict[str, Any],
) -> xr.Dataset:  # fmt: skip
    """Go on from the exact path where it ends to be good enough, and observe both."""
    shown = _output_times(observations, path.quiet_until(start, 1.0, until), until)
    joint = path.quiet_until(start, switch_error, until)
    labels = _parts(path, joint, until, method)
    switches = {label: path.quiet_until(start, switch_error, until, label) for label in labels}
    follow = follow_classes if method == "classes" else follow_neurons
    times = np.unique(np.append(shown, until))
    run = follow(path, start, times, switches, setting)
    results = _observed(path, run, times, method, setting)
    results.attrs |= {
        "t1": _settled(path, until) if labels != [None] else _aligned(path, joint, run),
        "t2": _fitted(run, path.y),
        "switch_time": min(switches.values()),
        "switch_output": float(np.exp(path.log_output(min(switches.values()), start))),
        "evaluations": run.evaluations,
        "note": _stopped(results, run.note) if run.note else "",
    }
    return results.sel(time=shown)


def _observed(
    path: AlignmentPath, run: Continuation, times: np.ndarray, method: str, setting: dict[str, Any]
) -> xr.Dataset:
    end, chosen = limits(path.X, path.y), margin_loss(setting["loss"])
    targets = {"margin_cosine_plus": end.direction_plus, "margin_cosine_minus": end.direction_minus}
    sliding, mean = sliding_distance(setting["tolerance"]), setting["reduction"] == "mean"
    see = Observer(path.X, path.y, chosen.log_value, chosen.log_slope, mean, targets, sliding)
    measure = see.moments if method == "classes" else lambda u, rho: see(u, rho, path.second)
    seen = [measure(*one) if np.isfinite(one[0]).all() else {} for one in run.states]
    return table(times, stack(seen)).assign(converged=not run.note)


def check_scale(log_scale: float, room: float) -> None:
    """Refuse a start whose outputs or gradients overflow: one without headroom."""
    if room < 0:
        raise ValueError(
            f"log_scale = {log_scale!r}: must be at most {log_scale + room:.6g} for this start, so that its "
            "outputs and gradients stay in floating-point range"
        )


def arrived(directions: np.ndarray, signs: np.ndarray, X: np.ndarray, y: np.ndarray, sliding: bool) -> bool:
    """Tell whether every neuron is in the S± of its own sign, or dead; one that slides is on a wall."""
    where = regions(directions, X, y)
    return not sliding and bool(((where == 0) | (where == signs)).all())


def _parts(path: AlignmentPath, joint: float, until: float, form: str) -> list[int | None]:
    """Return the labels of the classes that are integrated apart, or [None]: all neurons together.

    Once settled, separable classes never meet again: each is integrated alone, from its own switch on.
    """
    apart = path.settled and joint >= min(path.last_event, until) and separability(path.X, path.y) > 0
    if apart:
        return [label for label in (1, -1) if (path.y == label).any()]
    if form == "classes":
        raise ValueError(
            f"method = 'classes': at the switch, t = {joint:.6g}, not every neuron is in S± or dead"
        )
    return [None]


def _stopped(results: xr.Dataset, why: str) -> str:
    """Say how far an integration came that did not reach its end, and why."""
    last = float(results.time[np.isfinite(results.loss)].max())
    return f"stopped after t = {last:.4g}: {why}. Later outputs are NaN"


def _settled(path: AlignmentPath, until: float) -> float:
    """Return when the last neuron of an exact path is in its S± or dead; inf if not by until."""
    settled = settling_time(path)
    return settled if settled <= until else np.inf


def _aligned(path: AlignmentPath, joint: float, run: Continuation) -> float:
    """Return the last flip of any datum, before or after the switch, if all have arrived at the end."""
    u = run.states[-1][0]
    if run.note or not np.isfinite(u).all():
        return np.nan
    if not arrived(u, path.second, path.X, path.y, run.sliding):
        return np.inf
    before = path.events["time"]
    return max(run.last_flip, float(before[before <= joint].max(initial=0.0)))


def _fitted(run: Continuation, y: np.ndarray) -> float:
    """Return when the outputs of every class that has data were above 1/4; NaN if that is not known."""
    last = float(run.risen[[(y > 0).any(), (y < 0).any()]].max())
    return np.nan if run.note and np.isinf(last) else last


def _output_times(outputs: int | Sequence[float] | np.ndarray, fitting: float, until: float) -> np.ndarray:
    if isinstance(outputs, (int, np.integer)) and not isinstance(outputs, bool):
        if outputs < 2:
            raise ValueError(f"observations = {outputs}: must be at least 2, or a list of times")
        middle = 2 * fitting if fitting > 0 else 1e-3 * until
        if middle >= until or outputs == 2:
            return np.linspace(0, until, outputs)
        late = np.geomspace(middle, until, outputs - outputs // 2)
        return np.concatenate([np.linspace(0, middle, outputs // 2, endpoint=False), late])
    times = as_numbers(outputs)
    if times is None or times.ndim != 1 or not len(times) or not ((times >= 0) & (times <= until)).all():
        raise ValueError(f"observations = {outputs!r}: must be a count, or times from 0 to until = {until:g}")
    return np.sort(times)
