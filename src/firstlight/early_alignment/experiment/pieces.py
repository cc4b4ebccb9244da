"""The flow between two events: a pattern of active data, and walls along which neurons slide.

A wall ⟨u, x⟩ = 0 can push a neuron back from both sides. The neuron then slides: the datum acts with that
share, between 0 and 1, that keeps the neuron on the wall (Filippov's solution). This takes from G what sticks
out of the walls, so that the equations of a piece are smooth, and the same beyond its ends.
"""

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from firstlight.early_alignment.definitions.walls import shortest
from firstlight.early_alignment.experiment.equations import Equations, turning
from firstlight.early_alignment.experiment.solver import System

_WHOLE = 1e-9  # a share so close to 0 or 1 is that
_APART = 1e-3  # angle of walls that a neuron is put on: on closer ones it may be to rounding, and far off


@dataclass(frozen=True, eq=False)
class Piece(System):
    """The equations of one pattern.

    Attributes
    ----------
    flow : Equations
    on : ndarray of bool, shape (h, n)
        Which data act on which neurons, in full.
    walls : dict of int to ndarray of int
        The data on whose walls a neuron slides, the first of each wall; only neurons that do. Others of the
        same wall act there as if they were one with it, and none of them is `on`.

    Examples
    --------
    A neuron of sign - on the wall of the second datum: off, the first pushes it on; on, it pushes itself off.

    >>> from firstlight.early_alignment.experiment.log_time import Clock
    >>> from firstlight.maths.losses import margin_loss
    >>> X, y = np.array([[1.0, 0.5], [0.0, 1.0]]), np.array([-1.0, 1.0])
    >>> flow = Equations(X, y, -np.ones(1), margin_loss("exp"), Clock.of(X, 0.0, "sum", None))
    >>> state = np.array([1.0, 0.0, -30.0])
    >>> _, sliding = Piece.at(flow, state).after(state, np.array([[False, True]]))
    >>> sliding.on.tolist(), sliding.walls[0].tolist(), sliding.slope(0.0, state).tolist()
    ([[True, False]], [1], [0.000, 0.000, 0.472])
    """

    flow: Equations
    on: np.ndarray
    walls: dict[int, np.ndarray] = field(default_factory=dict)

    @property
    def slides(self) -> bool:
        """Whether a neuron does."""
        return bool(self.walls)

    @classmethod
    def at(cls, flow: Equations, state: np.ndarray) -> "Piece":
        """Return the piece in which a state is that lies on no wall."""
        return cls(flow, flow.active(flow.split(state)[0]))

    @cached_property
    def _groups(self) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
        """Patterns times signs that occur, who has which, and their sums; None if most are alone."""
        acting, places = np.where(self.on, self.flow.signs[:, None], 0.0), dict[bytes, int]()
        which = np.array([places.setdefault(row.tobytes(), len(places)) for row in acting])
        if 4 * len(places) > len(acting):
            return acting, np.arange(len(acting)), None
        patterns = np.frombuffer(b"".join(places)).reshape(len(places), -1)
        return patterns, which, (which == np.arange(len(places))[:, None]) * 1.0

    @cached_property
    def _outward(self) -> np.ndarray:
        """The side of each wall on which its datum would be beyond it: -1 if it is on, else 1."""
        return np.where(self.on, -1.0, 1.0)

    @cached_property
    def _joint(self) -> np.ndarray | None:
        """Signed data as each pattern sees them, P·D × n; None if that is more than neurons times data."""
        patterns, _, sums = self._groups
        if sums is None or len(patterns) * self.flow.X.shape[1] > len(self.on):
            return None
        return (patterns[:, None, :] * self.flow.signed.T).reshape(-1, len(self.flow.y))

    @cached_property
    def _sliding(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Neurons that slide, their data (-1: none), the walls' orthonormal rows, and what gives shares."""
        D, most = self.flow.X.shape[1], max(map(len, self.walls.values()), default=0)
        data = np.full((len(self.walls), most), -1)
        basis, inverse = np.zeros((2, len(self.walls), most, D))
        for k, on in enumerate(self.walls.values()):
            data[k, : len(on)] = on
            rows = _orthonormal(self.flow.X[on])
            basis[k, : len(rows)], inverse[k, : len(on)] = rows, np.linalg.pinv(self.flow.X[on].T)
        return np.array(list(self.walls), dtype=int), data, basis, inverse

    @cached_property
    def _silent(self) -> tuple[np.ndarray, ...]:
        """Neurons and data on whose walls they slide, but for the first of each wall, who speaks for all."""
        others = self.flow.first != np.arange(len(self.flow.y))
        silent = np.zeros(self.on.shape, bool)
        for j, walls in self.walls.items() if others.any() else ():
            silent[j] = others & np.isin(self.flow.first, walls)
        return np.nonzero(silent)

    def _margins(self, state: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return u, ‖w‖² and z = y f."""
        patterns, _, sums = self._groups
        u, squares = self.flow.split(state)
        rows = squares[:, None] * u if sums is None else (sums * squares).dot(u)
        if self._joint is not None:
            return u, squares, rows.ravel().dot(self._joint)
        return u, squares, np.add.reduce(patterns * rows.dot(self.flow.signed.T))

    def _pull(self, z: np.ndarray, log_unit: float) -> tuple[np.ndarray, np.ndarray]:
        """Return the slopes of the data's losses in that unit, and s G of the data that are on."""
        patterns, which, sums = self._groups
        slopes = np.exp(self.flow.loss.log_slope(z) + log_unit)
        if self._joint is not None:
            return slopes, self._joint.dot(slopes).reshape(-1, self.flow.X.shape[1]).take(which, axis=0)
        G = (patterns * slopes).dot(self.flow.signed)
        return slopes, G if sums is None else G.take(which, axis=0)

    def slope(self, tau: float, state: np.ndarray) -> np.ndarray:
        """Return dstate/dτ."""
        u, _, z = self._margins(state)
        _, G = self._pull(z, self.flow.clock.log_weight + tau)
        if self.walls:
            who, _, basis, _ = self._sliding
            G[who] = _without(basis, G[who, :, None])[:, :, 0]
        change = turning(u, G)
        if self.walls:  # off the wall by e, e' = -⟨u, G⟩ e; where that is negative errors would grow
            turn, along = change[: u.size].reshape(u.shape), change[u.size :]
            turn[who] += 2 * np.minimum(along[who], 0)[:, None] * _within(basis, u[who, :, None])[:, :, 0]
        return change

    def jacobian(self, tau: float, state: np.ndarray) -> np.ndarray:
        """Return the derivative of `slope` in the state."""
        flow, on = self.flow, self.on
        u, squares, z = self._margins(state)
        slopes, G = self._pull(z, flow.clock.log_weight + tau)
        (h, D), X = u.shape, flow.X
        curve = (flow.loss.log_slope(z + 1e-5) - flow.loss.log_slope(z - 1e-5)) / 2e-5
        acting = (flow.signs * squares)[:, None] * on
        by_u = (acting.T[:, :, None] * X[:, None, :]).reshape(len(X), h * D)
        by_rho = 2 * (acting * (u @ X.T)).T  # these two: ∂f
        through_f = (flow.signs[:, None] * on * (slopes * curve))[:, :, None] * X
        dG = np.einsum("jid,ik->jdk", through_f, np.hstack([by_u, by_rho]), optimize=True)
        who, _, basis, _ = self._sliding
        dG[who], G[who] = _without(basis, dG[who]), _without(basis, G[who, :, None])[:, :, 0]
        j, own = np.arange(h), np.arange(h * D).reshape(h, D)
        dalong = np.einsum("jd,jdk->jk", u, dG)
        dalong[j[:, None], own] += G
        du = dG - u[:, :, None] * dalong[:, None, :]
        # Advanced indices that are apart come first: these are blocks (neuron, coordinate of u, of G).
        along = (u * G).sum(axis=1)
        du[j[:, None], :, own] -= along[:, None, None] * np.eye(D)
        shrinks = 2 * np.minimum(along, 0)[:, None, None]
        du[j[:, None], :, own] += 2 * shrinks * (u[:, :, None] * u[:, None, :])
        du[who[:, None], :, own[who]] += shrinks[who] * (basis.swapaxes(1, 2) @ basis)
        return np.vstack([du.reshape(h * D, -1), dalong])

    def look(self, state: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return how far each datum is beyond its wall, as a cosine, and max |f| of the two classes.

        Where a neuron slides on the wall, how far the datum's share is beyond [0, 1].
        """
        u, _, z = self._margins(state)
        beyond = self._outward * u.dot(self.flow.units.T)
        if self.walls:
            who, data, _, inverse = self._sliding
            slopes, G = self._pull(z, 0.0)
            signs = self.flow.signs[who, None]
            rise, below = (signs * part[data] for part in self.flow.jumps(self.flow.y * slopes))
            shares = -((inverse @ G[who, :, None])[:, :, 0] + below) / rise
            row, column = np.nonzero(data >= 0)
            beyond[self._silent] = -1.0
            out = np.maximum(-shares, shares - 1)[row, column]
            beyond[who[row], data[row, column]] = np.where(np.isfinite(out), out, 1.0)  # no weight is left
        return beyond, np.where(self.flow.classes, np.abs(z), 0.0).max(axis=1)

    def flipped(self, changed: np.ndarray) -> "Piece":
        """Return the piece in which these data have changed sides, and no neuron slides."""
        return Piece(self.flow, self.on ^ changed)

    def after(self, state: np.ndarray, changed: np.ndarray) -> tuple[np.ndarray, "Piece"]:
        """Return state and piece after an event: data that met their walls, or whose share left [0, 1].

        Those who lie on walls to rounding are put exactly there.
        """
        on, walls, state = self.on.copy(), dict(self.walls), state.copy()
        u, _, z = self._margins(state)
        weights = self.flow.y * self._pull(z, 0.0)[0]
        for j in np.flatnonzero(changed.any(axis=1)).tolist():
            sliding, left = np.zeros((2, len(weights)), bool)
            sliding[walls.pop(j, [])] = True
            left[self.flow.first[changed[j]]] = True
            met = left & ~sliding
            pulls_back = self._attracts(j, weights)
            self._put(on[j], crossed := np.flatnonzero(met & ~pulls_back), ~on[j, crossed])
            held = np.flatnonzero(sliding | (met & pulls_back))
            if not len(held):
                continue
            before = on[j, held].copy(), sliding[held]
            shares = self._shares(on[j], held, weights)
            over, stays = shares == 1, (shares > 0) & (shares < 1)
            if (over == before[0]).all() and (stays == before[1]).all():  # but for rounding
                over, stays = before[0] ^ left[held], before[1] & ~left[held]
            self._put(on[j], held, over)
            if stays.any():
                walls[j] = held[stays]
                on[j, np.isin(self.flow.first, walls[j])] = False
            rows = _orthonormal(self.flow.X[sliding | met], _APART)
            u[j] -= (rows @ u[j]) @ rows
            u[j] /= np.linalg.norm(u[j])
        return state, Piece(self.flow, on, walls)

    def _attracts(self, j: int, weights: np.ndarray) -> np.ndarray:
        """Whether both sides of a datum's wall can push neuron j to it; told at the first datum of a wall."""
        alone = np.bincount(self.flow.first, minlength=len(weights)) == 1
        rise = self.flow.signs[j] * self.flow.jumps(weights)[0]
        return np.where(alone, self.flow.attracting[j], rise < 0)

    def _put(self, on: np.ndarray, firsts: np.ndarray, over: np.ndarray) -> None:
        """Put a neuron on one side of walls, in place: beyond them if it is over, where the first is on."""
        for i, beyond in zip(firsts, over, strict=True):
            data = self.flow.first == i
            on[data] = self.flow.ahead[data] == beyond

    def _shares(self, on: np.ndarray, held: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Return the shares of the data on whose walls a neuron lies: those of the shortest pull."""
        rise, below = (part[held, None] * self.flow.X[held] for part in self.flow.jumps(weights))
        rest = on & ~np.isin(self.flow.first, held)
        pull = (rest * weights) @ self.flow.X + below.sum(axis=0)
        shares = shortest(pull, rise)
        whole = np.round(shares)
        return _independent(rise, np.where(np.abs(shares - whole) < _WHOLE, whole, shares))


def _independent(rows: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """Move shares, without changing the sum of rows, until the rows of those within (0, 1) are independent.

    Else more walls meet than coordinates are left, and the shares that are told later are not the same.

    Examples
    --------
    >>> _independent(np.array([[1.0, 0.0], [1.0, 0.0]]), np.array([0.75, 0.5])).tolist()
    [0.2500, 1.0000]
    """
    while len(free := np.flatnonzero((shares > 0) & (shares < 1))) > 1:
        units = rows[free] / np.linalg.norm(rows[free], axis=1, keepdims=True)
        _, sizes, mixes = np.linalg.svd(units.T)
        if (sizes > 1e-10).sum() == len(free):
            break
        change = mixes[-1] / np.linalg.norm(rows[free], axis=1)
        room = np.where(change > 0, 1 - shares[free], shares[free]) / np.maximum(np.abs(change), 1e-300)
        who = int(np.argmin(room))
        shares = shares.copy()
        shares[free] = np.clip(shares[free] + room[who] * change, 0, 1)
        shares[free[who]] = 1.0 if change[who] > 0 else 0.0
    return shares


def _orthonormal(rows: np.ndarray, least: float = 1e-10) -> np.ndarray:
    """Return an orthonormal basis of what the rows, as unit vectors, span by more than `least`."""
    _, sizes, basis = np.linalg.svd(rows / np.linalg.norm(rows, axis=1, keepdims=True), full_matrices=False)
    return np.asarray(basis[sizes > least])


def _within(basis: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Return what of columns, one block for each neuron, lies in the span of its walls' normals."""
    return np.asarray(basis.swapaxes(1, 2) @ (basis @ columns))


def _without(basis: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Take from columns, one block for each neuron, what lies in the span of its walls."""
    return columns - _within(basis, columns)
