"""Gradient flow of a two-layer ReLU network from a balanced start, to very large times.

Polar form: with u = w/‖w‖, ρ = log ‖w‖ and G = Σ_{active} yᵢ g(zᵢ) xᵢ, a neuron of sign s obeys
u' = s (G - ⟨u, G⟩ u), ρ' = s ⟨u, G⟩. No 1/‖w‖ appears, so the scale of the start may be 10^-100000. Time runs
as t = t₀ + b (e^τ - 1): rates fall like 1/t, so steps in τ stay of order one up to t = 10^300.
"""

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass

import numpy as np

from firstlight.early_alignment.experiment.equations import Equations
from firstlight.early_alignment.experiment.log_time import EXPONENT, Clock, check_times
from firstlight.early_alignment.experiment.pieces import Piece
from firstlight.early_alignment.experiment.solver import solve
from firstlight.maths.losses import margin_loss
from firstlight.maths.workers import Workers

_MANY = 10_000  # pairs of neuron and datum from which on kinks are too many to be met one by one


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
    evaluations : int
        Evaluations of the right-hand side.
    last_flip : float
        When a datum switched on or off for the last time; -inf if none did.
    risen : ndarray of shape (2,)
        When max |f| on the positive, and on the negative data first exceeded 1/4; inf if it did not.
    sliding : bool
        Whether a neuron slides along a wall at the end.
    note : str
        Why the integrator did not reach the last time; empty if it did. Outputs it did not reach are NaN.
    """

    times: np.ndarray
    directions: np.ndarray
    log_norms: np.ndarray
    signs: np.ndarray
    evaluations: int
    last_flip: float
    risen: np.ndarray
    sliding: bool
    note: str

    @property
    def converged(self) -> bool:
        """Whether the integrator reached the last time."""
        return not self.note


def outputs(X: np.ndarray, directions: np.ndarray, log_norms: np.ndarray, signs: np.ndarray) -> np.ndarray:
    """Network outputs f on the rows of X for a balanced network in polar form.

    Examples
    --------
    >>> outputs(np.eye(2), np.array([[0.6, 0.8]]), np.log([2.0]), np.array([1.0])).tolist()
    [2.4000, 3.2000]
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
        Absolute, on u and ρ, per step of the integrator: DOP853, or BDF (at 1e-8) once the loss is close to
        a finite minimum. Neurons that meet a wall from both sides slide along it.

    Examples
    --------
    One neuron on one point: ρ' = e^{-e^{2ρ}}.

    >>> from scipy.integrate import quad
    >>> run = integrate(np.ones((1, 1)), np.ones(1), np.ones((1, 1)), np.zeros(1), np.ones(1), [1e3])
    >>> time = quad(lambda r: np.exp(np.exp(2 * r)), 0, run.log_norms[0, 0])[0]
    >>> bool(abs(time / 1e3 - 1) < 1e-6)
    True
    """
    chosen, times = margin_loss(loss), check_times(times, start)
    if (room := headroom(X, y, directions, log_norms, signs, loss)) < 0:
        raise ValueError(f"log_norms: must be smaller by {-room:.6g} for gradients in floating-point range")
    h, D = directions.shape
    clock = Clock.of(X, start, reduction, samples)
    equations = Equations(X, y, signs, chosen, clock)
    first = np.concatenate([directions.ravel(), log_norms])
    many = len(y) * h > _MANY
    with nullcontext() if many else Workers():  # threads of BLAS cost more than they bring on small matrices
        run = solve(
            Piece.at(equations, first),
            first,
            clock.tau(times),
            tolerance,
            hard=equations.hard if many else None,
        )
    u = run.path[:, : h * D].reshape(-1, h, D)
    u = u / np.linalg.norm(u, axis=2, keepdims=True)
    last, risen = float(clock.time(run.last_flip)), clock.time(run.risen)
    return Neurons(times, u, run.path[:, h * D :], signs, run.evaluations, last, risen, run.sliding, run.note)


def sliding_distance(tolerance: float) -> float:
    """Return how far from a wall, as a cosine, an integrated neuron may be that slides on it.

    Where kinks are walked over, steps go to and fro over the wall, by some ten tolerances.
    """
    return 20 * tolerance


def headroom(
    X: np.ndarray, y: np.ndarray, directions: np.ndarray, log_norms: np.ndarray, signs: np.ndarray, loss: str
) -> float:
    """Return by how much ρ may grow before outputs or gradients leave the floating-point range.

    Examples
    --------
    Where a loss grows exponentially, its slope at the wrong sign of yf is what comes to the limit first.

    >>> one = np.ones((1, 1)), np.ones(1), np.ones((1, 1)), np.zeros(1)
    >>> headroom(*one, np.ones(1), "exp"), headroom(*one, -np.ones(1), "exp")
    (300.000, 2.852)
    """
    top, highest = float(log_norms.max()), EXPONENT - 100  # for sums over data and neurons
    room = 0.5 * highest - top
    worst = float((y * outputs(X, directions, log_norms - top, signs)).min())
    if worst < 0 and margin_loss(loss).log_slope(np.array([-highest]))[0] > 1:
        room = min(room, 0.5 * float(np.log(0.5 * highest / -worst)) - top)  # its square is formed too
    return room
