"""Trajectories of training: gradient flow joined to the exact path, and gradient descent."""

from collections.abc import Mapping, Sequence

import numpy as np
import xarray as xr

from firstlight.data.separable import separability, two_classes
from firstlight.measure.alignment import regions
from firstlight.measure.trajectory import Observer, first_above, last_crossing
from firstlight.network.descent import train
from firstlight.network.handover import follow_classes, follow_neurons
from firstlight.network.losses import margin_loss
from firstlight.rng import RNGLike, SeedLike
from firstlight.theory.early_alignment.align import align
from firstlight.theory.early_alignment.checks import lengths
from firstlight.theory.early_alignment.checks import neurons as check_neurons
from firstlight.theory.early_alignment.limits import limits
from firstlight.theory.early_alignment.path import AlignmentPath


def flow(
    X: np.ndarray,
    y: np.ndarray | Sequence[int],
    directions: np.ndarray,
    signs: np.ndarray | Sequence[int],
    log_scale: float,
    loss: str = "exp",
    t_max: float = 1e6,
    outputs: int | Sequence[float] | np.ndarray = 128,
    *,
    reduction: str = "sum",
    form: str = "neurons",
    tolerance: float = 1e-9,
    handover: float = 1e-6,
) -> xr.Dataset:
    """Follow gradient flow from a small balanced start to very large times.

    The alignment phase is taken from the exact solver, up to the time at which the largest output reaches
    `handover`; the error of that is of the same order. From there on the flow is integrated in log time.

    Parameters
    ----------
    X, y : array_like of shape (n, D) and (n,)
        Data (no zero row) and labels ±1.
    directions, signs : array_like of shape (h, D) and (h,)
        The start is wⱼ = ε directionsⱼ, vⱼ = signsⱼ ‖wⱼ‖.
    log_scale : float
        log ε; ε = 10^-100000 is as good as 0.1.
    loss : {"exp", "logistic", "logistic2"}
        The loss.
    t_max : float, default 1e6
        The last time, up to 1e300.
    outputs : int or sequence of float, default 128
        Output times, or how many: half of them evenly up to the fitting phase, half in log time after that.
    reduction : {"sum", "mean"}
        Whether data losses are added or averaged.
    form : {"neurons", "classes"}
        "classes" integrates one second-moment matrix per class instead of every neuron: its cost does not
        depend on the width. It needs separable data and every neuron in its S± or dead at the hand-over, and
        omits what only single neurons show (direction_change, norm_change, fractions).
    tolerance : float, default 1e-9
        Absolute tolerance of the integrator.
    handover : float, default 1e-6
        max |f| at which integration takes over from the exact path.

    Returns
    -------
    Dataset
        Over ``time``: loss, log_loss, log_norm (of ‖W‖²_F), stable_rank; cosine_plus, cosine_minus (mean over
        live neurons, to x±; ..._min the least), margin_cosine_plus, ..._minus (to the max-margin directions);
        margin_plus, ..._minus, output_plus, ..._minus (least yf and max |f| by class); direction_change and
        norm_change (their rates); the fractions plus, minus, dead of neurons in S₊, S₋ and the dead region.
        Attributes: t1 (last neuron into its S± or dead; inf if one never is), t2 (outputs of both classes
        above 1/4), handover_time, handover_output (max |f| there), evaluations. `converged` tells whether the
        integrator reached t_max; outputs that it missed are NaN, and `note` says so. On data that are not
        separable neurons may slide along walls; these then have a half width of 1e-4, and errors are of that
        order.

    Examples
    --------
    >>> X, y = [[1, 0], [1, 1], [-1, -0.5]], [1, 1, -1]
    >>> run = flow(X, y, [[1, 2], [-1, 1], [-1, -2]], [1, 1, -1], log_scale=-20.0)
    >>> bool(run.converged), round(run.t2, 2), round(float(run.stable_rank[-1]), 3)
    (True, 16.71, 1.016)
    """
    X, y = two_classes(X, y)
    W, s = check_neurons(directions, signs, X.shape[1])
    if form not in ("neurons", "classes"):
        raise ValueError(f"form = {form!r}: must be 'neurons' or 'classes'")
    if not 0 < t_max <= 1e300:
        raise ValueError(f"t_max = {t_max!r}: must lie in (0, 1e300]")
    if not np.isfinite(log_scale):
        raise ValueError(f"log_scale = {log_scale!r}: must be finite")
    start = log_scale + np.log(lengths(W))
    path = align(X, y, W, s, loss=loss, reduction=reduction)
    shown = _output_times(outputs, path.quiet_until(start, 1.0, t_max), t_max)
    end, chosen = limits(X, y), margin_loss(loss)
    targets = {"margin_cosine_plus": end.direction_plus, "margin_cosine_minus": end.direction_minus}
    see = Observer(X, y, chosen.log_value, chosen.log_slope, reduction == "mean", targets)
    joint = path.quiet_until(start, handover, t_max)
    labels = _parts(path, joint, t_max, form)
    hand_overs = {label: path.quiet_until(start, handover, t_max, label) for label in labels}
    setting = {"loss": loss, "reduction": reduction, "tolerance": tolerance, "samples": len(y)}
    follow = follow_classes if form == "classes" else follow_neurons
    times = np.unique(np.concatenate([shown, *_finer(path, start, joint, t_max, labels)]))
    states, done, evaluations = follow(path, start, times, hand_overs, setting)
    measure = see.moments if form == "classes" else lambda u, rho: see(u, rho, s)
    found = table(times, stack([measure(*one) if np.isfinite(one[0]).all() else {} for one in states]))
    found["converged"] = done
    grown = [found[f"output_{name}"].values for name in ("plus", "minus")]
    found.attrs |= {
        "t1": _aligned(path, times, states) if path.last_event > joint else _settled(path),
        "t2": max(first_above(times, values, 0.25) for values in grown if not np.isnan(values).all()),
        "handover_time": min(hand_overs.values()),
        "handover_output": float(np.exp(path.log_output(min(hand_overs.values()), start))),
        "evaluations": evaluations,
        "note": "" if done else _stopped(found),
    }
    return found.sel(time=shown)


def descent(
    X: np.ndarray,
    y: np.ndarray | Sequence[int],
    first_layer: np.ndarray,
    second_layer: np.ndarray,
    *,
    step_size: float = 2e-3,
    steps: int = 15_000,
    loss: str = "exp",
    batch: int | None = None,
    train_second: bool = True,
    outputs: int | Sequence[int] | np.ndarray = 64,
    neurons: bool = False,
    rng: RNGLike | SeedLike = None,
) -> xr.Dataset:
    """Train by gradient descent on the mean loss, as the paper does.

    Parameters
    ----------
    X, y : array_like of shape (n, D) and (n,)
        Data (no zero row) and labels ±1.
    first_layer, second_layer : array_like of shape (h, D) and (h,)
        The start, balanced or not; the paper's is ``gaussian_start(50, D, 1e-6, rng)``.
    step_size, steps : float and int, default 2e-3 and 15 000
        η and the number of iterations.
    loss : {"exp", "logistic", "logistic2"}
        The loss; its mean is minimised.
    batch : int, optional
        Size of mini-batches; default: all data in each step.
    train_second : bool, default True
        Whether the second layer moves.
    outputs : int or sequence of int, default 64
        Iterations to observe, or how many, evenly.
    neurons : bool, default False
        Whether to keep every neuron too: ``direction`` (time × neuron × coordinate) and ``log_length``.
    rng : SPEC 7 rng, optional
        Draws the mini-batches.

    Returns
    -------
    Dataset
        The observables of `flow` but the cosines to max-margin directions, over ``time`` = η × iteration.
        `converged` is False, and values are NaN, once too long steps have left the floating-point range.

    Examples
    --------
    >>> from firstlight.network.descent import gaussian_start
    >>> W, v = gaussian_start(50, 2, 1e-6, rng=0)
    >>> X, y = [[1, 0], [1, 1], [-1, -0.5]], [1, 1, -1]
    >>> descent(X, y, W, v, steps=20_000, step_size=5e-3, outputs=3).loss.values.round(3).tolist()
    [1.0, 0.015, 0.003]
    """
    X, y = two_classes(X, y)
    W, _ = check_neurons(first_layer, np.ones(len(first_layer)), X.shape[1])
    v = np.asarray(second_layer, dtype=float)
    if v.shape != W.shape[:1] or not np.isfinite(v).all():
        raise ValueError(f"second_layer: must be {len(W)} finite numbers, one per neuron")
    chosen = margin_loss(loss)
    see = Observer(X, y, chosen.log_value, chosen.log_slope, mean=True)
    if isinstance(outputs, (int, np.integer)):
        if steps < 1 or outputs < 1:
            raise ValueError(f"steps = {steps}, outputs = {outputs}: must be at least 1")
        record = np.unique(np.linspace(0, steps, outputs).round().astype(int))
    else:
        record = np.unique(np.asarray(outputs).astype(int))

    def observe(W: np.ndarray, v: np.ndarray, f: np.ndarray) -> Mapping[str, float | np.ndarray]:
        if not np.isfinite(f).all():
            return {}
        norms = np.linalg.norm(W, axis=1)
        state = W / norms[:, None], np.log(norms)
        return {**see(*state, v / norms), **(one_by_one(*state) if neurons else {})}

    with np.errstate(over="ignore", invalid="ignore"):  # steps that are too long end in NaN, which is told
        seen, _, _ = train(
            X, y, W, v, loss=chosen, step_size=step_size, record=record, observe=observe,
            batch=batch, train_second=train_second, rng=rng,
        )  # fmt: skip
    found = table(step_size * record, stack(seen)).assign_coords(iteration=("time", record))
    return found.assign(converged=bool(seen[-1]))


def _parts(path: AlignmentPath, joint: float, t_max: float, form: str) -> list[int | None]:
    """Return the labels of the classes that are integrated apart, or [None]: all neurons together.

    Once settled, separable classes never meet again: each is integrated alone, from its own hand-over on.
    """
    apart = path.settled and joint >= min(path.last_event, t_max) and separability(path.X, path.y) > 0
    if apart:
        return [label for label in (1, -1) if (path.y == label).any()]
    if form == "classes":
        raise ValueError(
            f"form = 'classes': at the hand-over, t = {joint:.6g}, not every neuron is in S± or dead"
        )
    return [None]


def _finer(
    path: AlignmentPath, start: np.ndarray, joint: float, t_max: float, labels: list[int | None]
) -> list[np.ndarray]:
    """Return the times on which t2, and t1 after the hand-over, are found; the result does not show them."""
    about = [[path.quiet_until(start, level, t_max, label) for level in (0.1, 2.0)] for label in labels]
    grids = [np.linspace(low, high, 33) for low, high in about]
    if path.last_event > joint:  # neurons still turn after the hand-over
        grids.append(np.linspace(joint, min(2 * path.last_event, t_max), 129))
    return grids


def _stopped(found: xr.Dataset) -> str:
    """Say how far an integration came that did not reach its end, and why."""
    last = float(found.time[np.isfinite(found.loss)].max())
    return (
        f"stopped after t = {last:.4g}, its budget of evaluations spent; what takes so many are neurons that "
        "slide along walls, on data that are not separable. Later outputs are NaN"
    )


def _settled(path: AlignmentPath) -> float:
    """Return when the last neuron of an exact path is in its S± or dead."""
    return float(np.where(np.abs(path.fate) == 1, path.entry_time, path.death_time).max())


def _aligned(
    path: AlignmentPath, times: np.ndarray, states: Sequence[tuple[np.ndarray, np.ndarray]]
) -> float:
    """Measure the same on a trajectory: the last flip of any datum, if all have arrived at its end."""
    u = np.stack([one[0] for one in states])
    if not np.isfinite(u).all():
        return np.nan
    arrived = (regions(u[-1], path.X, path.y) != 2).all()
    return last_crossing(times, u @ path.X.T) if arrived else np.inf


def _output_times(outputs: int | Sequence[float] | np.ndarray, fitting: float, t_max: float) -> np.ndarray:
    if not isinstance(outputs, (int, np.integer)):
        times = np.asarray(outputs, dtype=float)
        if times.ndim != 1 or not len(times) or not ((times >= 0) & (times <= t_max)).all():
            raise ValueError(f"outputs = {outputs!r}: must be times from 0 to t_max = {t_max:g}")
        return np.sort(times)
    if outputs < 2:
        raise ValueError(f"outputs = {outputs}: must be at least 2")
    middle = 2 * fitting if fitting > 0 else 1e-3 * t_max
    if middle >= t_max:
        return np.linspace(0, t_max, outputs)
    late = np.geomspace(middle, t_max, outputs - outputs // 2)
    return np.concatenate([np.linspace(0, middle, outputs // 2, endpoint=False), late])


def one_by_one(directions: np.ndarray, log_norms: np.ndarray) -> dict[str, np.ndarray]:
    """Return every neuron under the names that a table gives dimensions of its own."""
    return {"direction": directions, "log_length": log_norms}


def stack(seen: Sequence[Mapping[str, float | np.ndarray]]) -> dict[str, np.ndarray]:
    """Stack observables, one mapping for each time; a name that is missing at some time is NaN there."""
    names = {name: value for one in seen for name, value in one.items()}
    return {
        name: np.stack([np.asarray(one.get(name, np.full(np.shape(like), np.nan))) for one in seen])
        for name, like in names.items()
    }


def table(times: np.ndarray, seen: Mapping[str, np.ndarray]) -> xr.Dataset:
    """Put stacked observables over time; those of single neurons have further dimensions."""
    dims = ("time", "neuron", "coordinate")
    return xr.Dataset({name: (dims[: values.ndim], values) for name, values in seen.items()}, {"time": times})
