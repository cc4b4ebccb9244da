"""Walk the alignment phase in the limit of small initialisation, exact to rounding."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from firstlight.data.separable import two_classes
from firstlight.early_alignment.definitions.start import lengths
from firstlight.early_alignment.definitions.walls import ON_WALL
from firstlight.early_alignment.theory.path import AlignmentPath, last_times
from firstlight.early_alignment.theory.rays import Walls, gather
from firstlight.maths.checks import check_memory, check_neurons, check_reals
from firstlight.maths.losses import gain
from firstlight.maths.workers import Workers

_LARGE = 1e9  # products from which a Gram matrix is worth the threads of BLAS
_MANY, _FEW = 2000, 32  # samples and coordinates from which, and up to which, there is no Gram matrix
_BLOCK = 20_000  # pairs of neuron and datum below which a call of the kernel costs more than it shares out
_STEEP = 1e140  # largest |v|/‖w‖: its square must not overflow, also where ‖w‖ falls to 1e-13


def align(
    X: ArrayLike,
    y: ArrayLike,
    directions: ArrayLike,
    signs: ArrayLike | None = None,
    loss: str = "exp",
    second_layer: np.ndarray | None = None,
    until: float | None = None,
    *,
    reduction: str = "sum",
) -> AlignmentPath:
    """Follow every neuron through the alignment phase, exactly, in the limit of small initialisation.

    In that limit neurons do not see each other: w' = v c(w), v' = ⟨w, c(w)⟩ with c(w) the sum of yᵢxᵢ over
    the active data. Pattern by pattern this is solved in closed form, so the only error is rounding. Any data
    will do; if they are not orthogonally separable, data may flip repeatedly and neurons slide along walls.

    Parameters
    ----------
    X : array_like of shape (n, D)
        Data, no zero row. Duplicates and contradictory labels are allowed.
    y : array_like of shape (n,)
        Labels ±1.
    directions : array_like of shape (h, D)
        First-layer rows at the start; their lengths matter only with `second_layer`.
    signs : array_like of shape (h,), optional
        Signs of the second layer for a balanced start, vⱼ = signⱼ ‖wⱼ‖. Not needed with `second_layer`.
    loss : {"exp", "logistic", "logistic2"}
        Sets the speed: the slope at zero is 1, 1/2 and 1.
    second_layer : array_like of shape (h,), optional
        vⱼ in the unit of `directions`, for an unbalanced start.
    until : float, optional
        Stop here; by default each neuron is followed to its last event.
    reduction : {"sum", "mean"}
        With "mean" every time is n times as long.

    Returns
    -------
    AlignmentPath

    Notes
    -----
    A neuron that starts exactly on the wall of the dead region, where the path is not unique, stays there:
    the derivative of the ReLU at 0 is taken as 0. Where the second-layer weight of a sliding neuron changes
    sign, its walls turn from attracting to repelling and the sequel is not unique; the datum goes to "on" if
    its share was at least one half. A neuron that comes to nothing counts as dead, unless all data lie on its
    line (one coordinate) and pull it on beyond 0. Data that share a wall flip together, even if they cancel,
    and slide with one share; of opposite data with one label only one side acts. Memory: 8 n² bytes for the
    Gram matrix (1.3 GB at n = 12 665), which is not formed from 2000 samples on in 32 dimensions or fewer.

    Examples
    --------
    Two points; the time from angle -a into the cone is log(tan(a/2) / tan(d/2)).

    >>> a, d = 1.0, 0.1
    >>> path = align([[1, 0], [np.sin(d), np.cos(d)]], [1, 1], [[np.cos(a), -np.sin(a)]], [1])
    >>> path.fate.tolist(), bool(abs(path.entry_time[0] - np.log(np.tan(a / 2) / np.tan(d / 2))) < 1e-14)
    ([1], True)
    """
    X, y = two_classes(X, y)
    # the kernel is compiled for these alone
    X, y = (np.require(given, float, ["C", "W"]) for given in (X, y))
    speed = gain(loss, reduction, len(y))
    start, second = _start(directions, signs, second_layer, X.shape[1])
    stop = np.inf if until is None else check_reals("until", until, "()")
    if np.ndim(stop) or not stop >= 0:
        raise ValueError(f"until = {until}: must be one number, at least 0")
    walls, stop = gather(X, y, start), float(stop)
    return _assemble(X, y, walls, start, second, speed, stop, _trace(walls, start, second, speed, stop))


def is_compiled() -> bool:
    """Whether the kernel's machine code, of both kinds, is kept here: making it takes half a minute."""
    from firstlight.early_alignment.theory.kernel.walk import trace

    stats = getattr(trace, "stats", None)  # none where numba is told not to compile
    kinds = ("trace", "trace_plain")
    return stats is None or all(any(Path(stats.cache_path).glob(f"walk.{kind}-*.nbi")) for kind in kinds)


def _start(
    directions: ArrayLike,
    signs: ArrayLike | None,
    second_layer: np.ndarray | None,
    dimension: int,
) -> tuple[np.ndarray, np.ndarray]:
    """Return unit rows and v/‖w‖, which is exactly ±1 for a balanced start."""
    if signs is None and second_layer is None:
        raise ValueError("signs, second_layer: give one of them")
    W, s = check_neurons(directions, signs, dimension)
    if second_layer is None:
        return _unit(W), s
    v = check_reals("second_layer", second_layer, f"({len(W)},)")
    if v.shape != W.shape[:1] or not np.isfinite(v).all():
        raise ValueError(f"second_layer: must be {W.shape[0]} finite numbers, one per neuron")
    if signs is not None and (s * v < 0).any():
        raise ValueError(f"signs[{np.argmin(s * v)}]: must be the sign of second_layer, or left out")
    with np.errstate(over="ignore"):
        ratio = v / lengths(W)
    largest = int(np.argmax(np.abs(ratio)))
    if not abs(ratio[largest]) <= _STEEP:
        raise ValueError(
            f"second_layer[{largest}] = {v[largest]:g}: must be at most {_STEEP:g} times its row's length"
        )
    balanced = np.abs(np.abs(ratio) - 1) <= 4 * np.finfo(float).eps  # but for rounding
    return _unit(W), np.where(balanced, np.sign(ratio), ratio)


def _unit(rows: np.ndarray) -> np.ndarray:
    rows = rows / np.abs(rows).max(axis=1, keepdims=True)
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True))


def _trace(
    walls: Walls, start: np.ndarray, second: np.ndarray, speed: float, until: float
) -> dict[str, np.ndarray]:
    """Run the kernel on all neurons; those that fill their room of records are run again with more.

    So are those that start on an attracting wall, where all others never slide.
    """
    from firstlight.early_alignment.theory.kernel.state import FULL, SLIDES

    y = walls.y
    points, drift, rows = _cut_dimension(walls.X, walls.drift, start)
    room = len(y) + 16
    with Workers() as workers:
        gram = _gram(workers, points)
        plain = _never_slides(gram, y) and bool((y * (points @ drift) >= 0).all())
        traced = _run(workers, points, gram, walls, drift, rows, second, speed, until, room, plain)
        left = np.flatnonzero((traced["status"] == FULL) | (traced["status"] == SLIDES))
        # A runaway would need more events than any separable problem has, many times over.
        while left.size and room < 1000 * len(y) + 100_000:
            room *= 4
            again = _run(workers, points, gram, walls, drift, rows[left], second[left], speed, until, room)
            again["first"] += len(traced["data"])
            for name in ("numbers", "data"):
                traced[name] = np.concatenate([traced[name], again[name]])
            for name in ("first", "count", "status", "fate", "rows", "centres"):
                traced[name][left] = again[name]
            left = left[again["status"] == FULL]
    return traced


def _gram(workers: Workers, X: np.ndarray) -> np.ndarray:
    """Return X Xᵀ; or nothing where its rows, read from memory, take longer than short products."""
    n, dimension = X.shape
    if n >= _MANY and dimension <= _FEW:
        return np.empty((0, 0))
    if n > _MANY:  # to ask how much there is takes longer than a small problem
        check_memory(f"X: {n} samples", 8.0 * n**2, "the square of the samples")
    product = partial(np.matmul, X, X.T)
    return workers.together(product) if X.size * n > _LARGE else product()


def _never_slides(gram: np.ndarray, y: np.ndarray) -> bool:
    """Whether the data are known to be orthogonally separable: then every wall is crossed."""
    step = 1 + _BLOCK // len(y)
    blocks = (slice(k, k + step) for k in range(0, len(y), step))
    return gram.size > 0 and all(bool((y[part, None] * gram[part] * y >= 0).all()) for part in blocks)


def _run(
    workers: Workers,
    X: np.ndarray,
    gram: np.ndarray,
    walls: Walls,
    drift: np.ndarray,
    rows: np.ndarray,
    second: np.ndarray,
    speed: float,
    until: float,
    room: int,
    plain: bool = False,
) -> dict[str, np.ndarray]:
    """Run the kernel in threads, each on a few neurons at a time: some have far more events than others."""
    from firstlight.early_alignment.theory.kernel.walk import trace, trace_plain

    kernel: Callable[..., None] = trace_plain if plain else trace
    h, y = len(rows), walls.y
    numbers, data = np.empty((h, room, 5)), np.empty((h, room), np.int64)
    count, status, fate = (np.empty(h, np.int64) for _ in range(3))
    active, frozen = np.empty((h, len(y)), bool), np.empty(h, bool)
    rows, centres = rows.copy(), np.empty_like(rows)

    def walk(part: slice) -> None:
        Q, centres[part], B, active[part], frozen[part] = _begin(X, y, drift, rows[part])
        written = (array[part] for array in (numbers, data, count, status, fate))
        given = X, gram, y, drift, walls.both, rows[part], Q, centres[part], B, second[part]
        kernel(*given, speed, until, *written)

    step = max(-(-h // (8 * workers.count)), -(-_BLOCK // len(y)))
    workers.map(walk, [slice(k, k + step) for k in range(0, h, step)])
    return {
        "numbers": numbers.reshape(-1, 5), "data": data.reshape(-1), "first": room * np.arange(h),
        "count": count, "status": status, "fate": fate, "active": active, "frozen": frozen,
        "rows": rows, "centres": centres,
    }  # fmt: skip


def _begin(X: np.ndarray, y: np.ndarray, drift: np.ndarray, W: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return Xw, c and Xc of each row w, which data are on, and who starts on the wall of the dead region.

    What is on a wall to rounding is put exactly there.
    """
    Q = W @ X.T
    B, rounding = np.abs(Q), ON_WALL * np.linalg.norm(X, axis=1)
    walls = rounding >= B
    Q[walls] = 0.0
    active = Q > 0
    C = np.multiply(active, y, out=B) @ X
    C += drift
    return Q, C, np.matmul(C, X.T, out=B), active, walls.any(axis=1) & ~active.any(axis=1) & ~drift.any()


def _cut_dimension(
    X: np.ndarray, drift: np.ndarray, start: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rotate into the span of the data, without loss: what is left of a row is one more coordinate."""
    n, dimension = X.shape
    if dimension <= n + 1:
        return X, drift, start
    Q, R = np.linalg.qr(X.T)
    inside = start @ Q
    rest = np.linalg.norm(start - inside @ Q.T, axis=1)
    # In C order like plain data: the kernel would be compiled once more for another layout.
    points = np.column_stack([R.T.copy(), np.zeros(n)])
    return points, np.append(drift @ Q, 0.0), np.column_stack([inside, rest])


def _of_the_data(walls: Walls, y: np.ndarray, traced: dict[str, np.ndarray]) -> tuple[np.ndarray, int]:
    """Return the fates by the data, not by the rows walked, and how many neurons slide on a torn wall."""
    from firstlight.early_alignment.theory.kernel.state import ASIDE, VANISHED

    rows, torn = traced["active"].astype(float), 0
    for j, (first, count) in enumerate(zip(traced["first"], traced["count"], strict=True)):
        data, new = traced["data"][first : first + count], traced["numbers"][first : first + count, 4]
        flips = data >= 0
        rows[j, data[flips]] = new[flips]  # the last event of each datum stays
        between = flips & (new > 0) & (new < 1)
        torn += bool(np.isin(data[between], walls.torn).any())
    levels = walls.levels(rows)
    levels[np.isin(traced["status"], (ASIDE, VANISHED))] = 0.0
    plus, minus = ((levels == (y == label)).all(axis=1) for label in (1, -1))
    return np.select([(levels == 0).all(axis=1), plus, minus], [0, 1, -1], 2), torn


def _assemble(
    X: np.ndarray,
    y: np.ndarray,
    walls: Walls,
    start: np.ndarray,
    second: np.ndarray,
    speed: float,
    until: float,
    traced: dict[str, np.ndarray],
) -> AlignmentPath:
    from firstlight.early_alignment.theory.kernel.state import (
        ASIDE,
        DEAD,
        FULL,
        STILL,
        TRUNCATED,
        VANISHED,
    )

    fate, status, frozen = traced["fate"], traced["status"], traced["frozen"]
    runaway = status == FULL
    last = last_times(traced["numbers"], traced["first"], traced["count"])
    notes = []
    if frozen.any():
        notes.append(
            f"{frozen.sum()} neurons start exactly on the wall of the dead region and are frozen there"
        )
    vanished = status == VANISHED
    unseeing = vanished | (status == ASIDE)
    if vanished.any():
        notes.append(
            f"{vanished.sum()} neurons shrink to nothing in a finite time and count as dead from then"
        )
    if runaway.any():
        notes.append(f"{runaway.sum()} neurons had more events than the limit; their paths are incomplete")
    if walls.which is not None:
        fate, torn = _of_the_data(walls, y, traced)
        if torn:
            notes.append(
                f"{torn} neurons slide on a wall on which one started, and whose other side holds data that "
                "agree: there the limit is not unique, and their paths may be wrong"
            )
    final = traced["data"][traced["first"] + np.maximum(traced["count"] - 1, 0)]
    known = (traced["count"] > 0) & (final >= 0) & (fate != 2) & ~runaway
    known &= traced["rows"].shape == start.shape  # others are rotated into the span of the data
    return AlignmentPath(
        X=X, y=y, start=start, second=second, gain=speed, until=until, fate=fate,
        entry_time=np.where(np.abs(fate) == 1, last, np.inf),
        death_time=np.where(fate == 0, last, np.inf),
        complete=(status != TRUNCATED) & ~runaway, notes=tuple(notes),
        _vanished=vanished, _unseeing=unseeing,
        _at_rest=unseeing | (status == DEAD) | (status == STILL),
        _walls=walls, _active=traced["active"], _numbers=traced["numbers"], _data=traced["data"],
        _first=traced["first"], _count=traced["count"],
        _ends=(traced["rows"], traced["centres"], known),
    )  # fmt: skip
