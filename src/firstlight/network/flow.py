"""Gradient flow of a two-layer ReLU network from a balanced start, to very large times.

Polar form: with u = w/‖w‖, ρ = log ‖w‖ and G = Σ_{active} yᵢ g(zᵢ) xᵢ, a neuron of sign s obeys
u' = s (G - ⟨u, G⟩ u), ρ' = s ⟨u, G⟩. No 1/‖w‖ appears, so the scale of the start may be 10^-100000. Time runs
as t = t₀ + b (e^τ - 1): rates fall like 1/t, so steps in τ stay of order one up to t = 10^300.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.integrate import DOP853, LSODA, OdeSolver

from firstlight.network.losses import margin_loss

Slope = Callable[..., np.ndarray]
_BUDGET = 500_000  # evaluations; only a network that slides along walls, back and forth, needs more
_PATIENCE, _STANDSTILL = 5000, 1e-2  # so many evaluations for so little log time: it slides
_WALL, _LARGEST = 1e-4, 3000  # half width of a wall, as a cosine, once it slides; unknowns up to which it can


@dataclass(frozen=True, eq=False)
class Neurons:
    """Every neuron at the output times.

    Attributes
    ----------
    times : ndarray of shape (T,)
        The output times.
    directions : ndarray of shape (T, h, D)
        Unit rows u.
    log_norms : ndarray of shape (T, h)
        ρ = log ‖w‖.
    signs : ndarray of shape (h,)
        Signs of the second layer, which never change.
    converged : bool
        Whether the integrator reached the last time; outputs it did not reach are NaN.
    evaluations : int
        Evaluations of the right-hand side.
    """

    times: np.ndarray
    directions: np.ndarray
    log_norms: np.ndarray
    signs: np.ndarray
    converged: bool
    evaluations: int


@dataclass(frozen=True, eq=False)
class Moments:
    """The width-free state at the output times, one for each class (positive first).

    Attributes
    ----------
    times : ndarray of shape (T,)
        The output times.
    moments : ndarray of shape (T, 2, D + 1, D + 1)
        Ŝ = Σⱼ [w; v][w; v]ᵀ over the neurons of a class, scaled to trace 1.
    log_scales : ndarray of shape (T, 2)
        λ, so that S = e^{2λ} Ŝ; -inf for a class without neurons.
    converged : bool
        Whether the integrator reached the last time.
    evaluations : int
        Evaluations of the right-hand side.
    """

    times: np.ndarray
    moments: np.ndarray
    log_scales: np.ndarray
    converged: bool
    evaluations: int


def outputs(X: np.ndarray, directions: np.ndarray, log_norms: np.ndarray, signs: np.ndarray) -> np.ndarray:
    """Network outputs f on the rows of X for a balanced network in polar form.

    Examples
    --------
    >>> outputs(np.eye(2), np.array([[0.6, 0.8]]), np.log([2.0]), np.array([1.0])).round(6).tolist()
    [2.4, 3.2]
    """
    return (signs * np.exp(2 * log_norms)) @ np.maximum(directions @ X.T, 0)


def integrate(
    X: np.ndarray,
    y: np.ndarray,
    directions: np.ndarray,
    log_norms: np.ndarray,
    signs: np.ndarray,
    times: np.ndarray | Sequence[float],
    *,
    start: float = 0.0,
    loss: str = "exp",
    reduction: str = "sum",
    samples: int | None = None,
    tolerance: float = 1e-9,
) -> Neurons:
    """Integrate gradient flow, neuron by neuron.

    Parameters
    ----------
    X, y : ndarray of shape (n, D) and (n,)
        Data and labels ±1.
    directions, log_norms, signs : ndarray of shape (h, D), (h,) and (h,)
        The balanced network at time `start`: unit rows, log of their lengths, signs of the second layer.
    times : sequence of float
        Output times, increasing, from `start` on.
    start : float, default 0.0
        t₀.
    loss : {"exp", "logistic", "logistic2"}
        The loss.
    reduction : {"sum", "mean"}
        Whether data losses are added or averaged.
    samples : int, optional
        What "mean" divides by, when X is only the part of the data that these neurons see; default: n.
    tolerance : float, default 1e-9
        Absolute, on u and ρ, per step of the integrator (DOP853; LSODA once a neuron slides along a wall,
        where walls have a half width of 1e-4 and errors are of that order).

    Returns
    -------
    Neurons

    Examples
    --------
    One neuron on one point: ρ' = e^{-e^{2ρ}}.

    >>> from scipy.integrate import quad
    >>> run = integrate(np.ones((1, 1)), np.ones(1), np.ones((1, 1)), np.zeros(1), np.ones(1), [1e3])
    >>> time = quad(lambda r: np.exp(np.exp(2 * r)), 0, run.log_norms[0, 0])[0]
    >>> bool(abs(time / 1e3 - 1) < 1e-6)
    True
    """
    chosen, times = margin_loss(loss), _check_times(times, start)
    h, D = directions.shape
    base, log_weight = _clock(X, start, reduction, samples)

    walls = 2 * _WALL * np.linalg.norm(X, axis=1)

    def rhs(tau: float, state: np.ndarray, soft: bool = False) -> np.ndarray:
        u, rho = state[: h * D].reshape(h, D), state[h * D :]
        q = u @ X.T
        f = (signs * np.exp(2 * rho)) @ np.maximum(q, 0)
        weights = y * np.exp(chosen.log_slope(y * f) + (log_weight + tau))
        gates = np.clip(0.5 + q / walls, 0, 1) if soft else q > 0
        G = (gates * weights) @ X * signs[:, None]
        along = np.einsum("jd,jd->j", u, G)
        return np.concatenate([(G - along[:, None] * u).ravel(), along])

    path, evaluations, done = _solve(
        rhs, np.concatenate([directions.ravel(), log_norms]), _tau(times, start, base), tolerance,
        partial(rhs, soft=True),
    )  # fmt: skip
    u = path[:, : h * D].reshape(-1, h, D)
    u = u / np.linalg.norm(u, axis=2, keepdims=True)
    return Neurons(times, u, path[:, h * D :], signs, done, evaluations)


def integrate_classes(
    X: np.ndarray,
    y: np.ndarray,
    moments: np.ndarray,
    log_scales: np.ndarray,
    times: np.ndarray | Sequence[float],
    *,
    start: float = 0.0,
    loss: str = "exp",
    reduction: str = "sum",
    samples: int | None = None,
    tolerance: float = 1e-9,
) -> Moments:
    """Integrate gradient flow in the width-free form, which holds once every neuron is in its S± or dead.

    All neurons of a class then see the same G, so S = Σⱼ [w; v][w; v]ᵀ obeys S' = MS + SM with
    M = [[0, G], [Gᵀ, 0]]; the cost does not depend on the width.

    Parameters
    ----------
    X, y, times, start, loss, reduction, samples, tolerance
        As for `integrate`.
    moments : ndarray of shape (2, D + 1, D + 1)
        Ŝ of the two classes at `start`, positive first, each of trace 1 (anything finite for an empty one).
    log_scales : ndarray of shape (2,)
        λ with S = e^{2λ} Ŝ; -inf for a class without neurons.

    Returns
    -------
    Moments

    Examples
    --------
    >>> S = np.full((2, 2, 2), 0.5)
    >>> run = integrate_classes(np.ones((1, 1)), np.ones(1), S, np.array([np.log(2) / 2, -np.inf]), [1e3])
    >>> rows = integrate(np.ones((1, 1)), np.ones(1), np.ones((1, 1)), np.zeros(1), np.ones(1), [1e3])
    >>> bool(abs(run.log_scales[0, 0] - np.log(2) / 2 - rows.log_norms[0, 0]) < 1e-8)
    True
    """
    chosen, times = margin_loss(loss), _check_times(times, start)
    base, log_weight = _clock(X, start, reduction, samples)
    live = [c for c in (0, 1) if np.isfinite(log_scales[c]) and (y == 1 - 2 * c).any()]
    parts = {c: (X[y == 1 - 2 * c], 1.0 - 2 * c) for c in live}
    size = X.shape[1] + 1

    def rhs(tau: float, state: np.ndarray) -> np.ndarray:
        S, scales = state[: -len(live)].reshape(len(live), size, size), state[-len(live) :]
        change, growth = np.empty_like(S), np.empty(len(live))
        for k, c in enumerate(live):
            Z, label = parts[c]
            # yf of a class that its own neurons fit alone: S_wv carries the sign of v already.
            margins = np.exp(2 * scales[k]) * label * (Z @ S[k, :-1, -1])
            G = label * (np.exp(chosen.log_slope(margins) + (log_weight + tau)) @ Z)
            MS = np.vstack([np.outer(G, S[k, -1]), G @ S[k, :-1]])
            growth[k] = np.trace(MS)
            change[k] = MS + MS.T - 2 * growth[k] * S[k]
        return np.concatenate([change.ravel(), growth])

    result = np.broadcast_to(moments, (len(times), 2, size, size)).copy()
    scales = np.broadcast_to(log_scales, (len(times), 2)).copy()
    if not live:
        return Moments(times, result, scales, True, 0)
    first = np.concatenate([moments[live].ravel(), log_scales[live]])
    path, evaluations, done = _solve(rhs, first, _tau(times, start, base), tolerance)
    result[:, live] = path[:, : -len(live)].reshape(len(times), len(live), size, size)
    scales[:, live] = path[:, -len(live) :]
    return Moments(times, result, scales, done, evaluations)


def class_moments(
    directions: np.ndarray, log_norms: np.ndarray, signs: np.ndarray, groups: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Sum [w; v][w; v]ᵀ over the neurons of each class, with the scale taken out.

    Parameters
    ----------
    directions, log_norms, signs : ndarray
        A balanced network, as for `integrate`.
    groups : ndarray of shape (h,)
        +1 for neurons in S₊, -1 in S₋; any other value (dead neurons) is left out.

    Returns
    -------
    moments : ndarray of shape (2, D + 1, D + 1)
    log_scales : ndarray of shape (2,)

    Examples
    --------
    >>> S, scale = class_moments(np.eye(2), np.zeros(2), np.array([1.0, -1.0]), np.array([1, -1]))
    >>> S[0].tolist(), np.exp(2 * scale).round(6).tolist()
    ([[0.5, 0.0, 0.5], [0.0, 0.0, 0.0], [0.5, 0.0, 0.5]], [2.0, 2.0])
    """
    D = directions.shape[1]
    moments, log_scales = np.zeros((2, D + 1, D + 1)), np.full(2, -np.inf)
    for c, group in enumerate((1, -1)):
        members = groups == group
        if members.any():
            top = log_norms[members].max()
            rows = np.column_stack([directions, signs])[members] * np.exp(log_norms[members] - top)[:, None]
            S = rows.T @ rows
            log_scales[c] = top + 0.5 * np.log(np.trace(S))
            moments[c] = S / np.trace(S)
    return moments, log_scales


def _check_times(times: np.ndarray | Sequence[float], start: float) -> np.ndarray:
    checked = np.asarray(times, dtype=float)
    if checked.ndim != 1 or not len(checked) or not np.isfinite(checked).all():
        raise ValueError(f"times = {times!r}: must be a list of finite numbers")
    if checked[0] < start or (np.diff(checked) < 0).any():
        raise ValueError(f"times: must increase, from start = {start:g} on")
    return checked


def _clock(X: np.ndarray, start: float, reduction: str, samples: int | None) -> tuple[float, float]:
    """Return b of t = t₀ + b (e^τ - 1), and the log of b times the weight of one datum."""
    if reduction not in ("sum", "mean"):
        raise ValueError(f"reduction = {reduction!r}: must be 'sum' or 'mean'")
    weight = 1 / (samples or len(X)) if reduction == "mean" else 1.0
    base = max(start, 1 / (weight * np.linalg.norm(X, axis=1).sum()))
    return base, float(np.log(base * weight))


def _tau(times: np.ndarray, start: float, base: float) -> np.ndarray:
    return np.log1p((times - start) / base)


def _solve(
    rhs: Slope, first: np.ndarray, taus: np.ndarray, tolerance: float, soft: Slope | None = None
) -> tuple[np.ndarray, int, bool]:
    """Integrate to the output times; those beyond a failure, or a spent budget, stay NaN.

    Where a network slides along a wall, a step function is met in every step, and the steps become tiny. The
    rest is then left to `soft`, which has a ramp in place of the step, and to an integrator for stiff
    equations (LSODA); that one's Jacobian limits the size.
    """
    if not tolerance > 0:
        raise ValueError(f"tolerance = {tolerance}: must be positive")
    path = np.full((len(taus), len(first)), np.nan)
    reached = int((taus == 0).sum())
    path[:reached] = first
    if reached == len(taus):
        return path, 0, True
    with np.errstate(over="ignore", invalid="ignore"):  # a trial step that overflows is rejected
        # The error is held absolutely: u is of order one, and an error of ρ is a relative one of ‖w‖.
        solver: OdeSolver = DOP853(rhs, 0.0, first, taus[-1], rtol=1e-12, atol=tolerance)
        before, mark, spent = 0.0, _PATIENCE, 0
        while solver.status == "running" and spent + solver.nfev < _BUDGET:
            solver.step()
            passed = int(np.searchsorted(taus, solver.t, side="right"))
            if passed > reached and solver.status != "failed":
                path[reached:passed] = solver.dense_output()(taus[reached:passed]).T
                reached = passed
            if isinstance(solver, DOP853) and solver.nfev > mark and solver.status == "running":
                if soft is not None and len(first) <= _LARGEST and solver.t - before < _STANDSTILL:
                    spent, loose = solver.nfev, max(tolerance, 1e-8)
                    solver = LSODA(soft, solver.t, solver.y, taus[-1], rtol=1e-8, atol=loose)
                before, mark = solver.t, mark + _PATIENCE
    return path, int(spent + solver.nfev), solver.status == "finished"
