"""The walk: one neuron's exact way through activation patterns, event by event.

While a neuron's pattern is fixed, its first-layer row w and second-layer weight v obey w' = v c, v' = ⟨w, c⟩
with the constant c = Σ_{active} yᵢxᵢ. So w moves along a line, v and a = ⟨w, c⟩/‖c‖ keep K = v² - a²,
and v ± a = (v₀ ± a₀) e^{±‖c‖t}. The next datum to flip is the one whose wall the line meets first; the time
to it is a logarithm. Nothing is discretised. A balanced start (v = ±‖w‖) is the case v² - ‖w‖² = 0.

The norm of w is taken out at each event, so that no growth overflows.
"""

import numpy as np

from firstlight.early_alignment.theory.kernel.shares import find_sliding, project, refresh, settle
from firstlight.early_alignment.theory.kernel.sprint import sprint
from firstlight.early_alignment.theory.kernel.state import (
    ALONG,
    ASIDE,
    BURST,
    DEAD,
    FULL,
    NONE,
    ROUNDING,
    SETTLED,
    SHRUNK,
    SLIDES,
    STALE,
    STILL,
    TRUNCATED,
    Data,
    Near,
    Neuron,
    compiled,
    distance_squared,
    dot,
    elapsed,
    inlined,
    least,
    part,
    record,
    second,
    set_level,
)
from firstlight.early_alignment.theory.kernel.zero import at_zero, sees_nothing, switch_off


@compiled
def trace(X, gram, y, drift, both, W, Q, C, B, second, gain, until, numbers, which, counts, status, fate):  # type: ignore[no-untyped-def]
    """Walk the neurons; write the events, their number, how the walk ended, and where.

    Rows of W are unit vectors w, of Q and B their Xw and Xc, of C their c; they are worked on in place, and
    w and c are left as they are after the last event; the drift is a part of c that is always there, by rows
    with data on `both` sides of their wall. Row r of ``numbers[j]`` is (time, log of a unit of length,
    advance along c since the event before and v after it, both in that unit, new level) and ``which[j, r]``
    the datum; several rows at one time are one event. The unit after the last event is ‖w‖. The datum is -1
    where none changes, and c is formed anew, or w comes through 0, which it is left before.
    """
    _trace(
        X, gram, y, drift, both, W, Q, C, B, second, gain, until, numbers, which, counts, status, fate, True
    )


@compiled
def trace_plain(  # type: ignore[no-untyped-def]
    X, gram, y, drift, both, W, Q, C, B, second, gain, until, numbers, which, counts, status, fate
):  # fmt: skip
    """Walk through plain events alone, which is compiled sooner; a neuron that may slide ends as SLIDES."""
    _trace(
        X, gram, y, drift, both, W, Q, C, B, second, gain, until, numbers, which, counts, status, fate, None
    )


@inlined
def _trace(  # type: ignore[no-untyped-def]
    X, gram, y, drift, both, W, Q, C, B, second, gain, until, numbers, which, counts, status, fate, all_ways
):  # fmt: skip
    n, longest, constant = len(y), 0.0, np.sqrt(dot(drift, drift))
    norms = np.empty(n)
    for i in range(n):
        norms[i] = np.sqrt(dot(X[i], X[i]))
        longest = max(longest, norms[i])
    data = Data(X, gram, norms, longest, y, drift, constant)
    near = Near(
        np.empty(2 * BURST + 1, np.int64), np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n),
        np.empty(BURST + 4, np.int64), np.empty(BURST + 4), np.empty(BURST + 4),
    )  # fmt: skip
    level, side, ratio = np.empty(n), np.empty(n), np.empty(n)
    met, changed, tally = np.empty(n, np.int64), np.empty(n, np.int64), np.zeros(3)
    for j in range(len(W)):
        neuron = Neuron(W[j], C[j], Q[j], B[j], level, side, ratio, met, changed, tally)
        tally[0], tally[1] = 1.0 if constant > 0 else 0.0, 0.0
        for i in range(n):
            level[i] = 1.0 if Q[j, i] > 0 else 0.0
            side[i] = 2 * level[i] - 1
            tally[0] += level[i]
        tally[2] = (dot(level, norms) + constant) ** 2
        counts[j], status[j] = _walk(
            data, neuron, near, second[j], gain, until, numbers[j], which[j], all_ways
        )
        if status[j] == STILL and sees_nothing(data, neuron, both):
            counts[j], status[j] = switch_off(neuron, numbers[j], which[j], counts[j]), ASIDE
        fate[j] = _fate(level, y)


@part
def _fate(level, y):  # type: ignore[no-untyped-def]
    """+1 if exactly the positive data are on, -1 the negative, 0 none, 2 otherwise."""
    plus, minus, none = True, True, True
    for i in range(len(y)):
        plus &= level[i] == (y[i] > 0)
        minus &= level[i] == (y[i] < 0)
        none &= level[i] == 0
    return 0 if none else 1 if plus else -1 if minus else 2


@part
def _walk(data, neuron, near, v, gain, until, numbers, which, all_ways):  # type: ignore[no-untyped-def]
    w, c, tally = neuron.w, neuron.c, neuron.tally
    move, start = np.sign(v), dot(w, c)
    if v == 0:  # nothing moves if w is orthogonal to c
        move = np.sign(start) if start * start > ALONG * dot(c, c) else 0.0
    imbalance, time, log_norm, pace, high = v * v - 1, 0.0, 0.0, 0.0, 0.0
    count, size = NONE, _walls_at_start(data, neuron, move)
    if size > 0:
        if all_ways is None:  # what follows is not compiled then
            return count, SLIDES
        changes = settle(data, neuron, move, neuron.met[:size], NONE)
        count = record(neuron, changes, time, log_norm, 0.0, v, numbers, which, count)
    while True:
        if tally[0] == 0:
            return count, DEAD
        if all_ways is not None and tally[1] > 0 and move * dot(w, c) < 0:
            project(data.X, neuron.level, int(tally[1]), w, c)  # it shrinks: what sticks out would grow
        cc, high = dot(c, c), max(high, log_norm)
        tally[2] = max(tally[2], cc)
        if cc <= STALE * tally[2] or (tally[1] > 0 and log_norm < high - SHRUNK):
            if count + len(neuron.q) + 1 > len(which):
                return count, FULL
            cc, still = refresh(data, neuron, all_ways)
            high, neuron.changed[0] = log_norm, -1
            count = record(neuron, 1, time, log_norm, 0.0, v, numbers, which, count)
            if still:
                return count, STILL
        C = np.sqrt(cc)
        a = dot(w, c) / C
        across = distance_squared(w, c, a / C)
        K = imbalance + across
        straight = across == 0 and imbalance >= 0 and move * a < 0  # back to 0
        if straight and imbalance == 0:  # where it never arrives
            return count, SETTLED
        walls, first, move, turned = _next(data, neuron, move, v, a, K, C)
        if walls == 0 and not turned and not straight:
            return count, SETTLED
        way = -a if straight else move * v * v / (abs(a) + np.sqrt(-K)) if turned else move * first * C
        a_end = a + way
        v_end = 0.0 if turned else second(move, v, imbalance, a_end * a_end + across, way * (a + a_end))
        time += elapsed(v, a, v_end, way, K) / (gain * C)
        if time > until or time == np.inf:
            return count, TRUNCATED if time < np.inf else SETTLED
        length, step = np.sqrt(a_end * a_end + across), way / C
        if length <= ROUNDING:  # v works against w along its own line, until nothing of it is left
            return at_zero(data, neuron, move, time, log_norm, step, v, v_end, numbers, which, count)
        _advance(neuron, step, 1 / length)
        step /= length
        v, imbalance, log_norm = v_end / length, imbalance / length**2, log_norm + np.log(length)
        move = -move if turned else move
        changes = NONE if turned else _cross(data, neuron, move, walls)
        if changes == 0:
            if all_ways is None:
                return count, SLIDES
            changes = _release(data, neuron) if turned else _arrive(data, neuron, move, walls)
        if count + changes > len(which):
            return count, FULL
        count = record(neuron, changes, time, log_norm, step, v, numbers, which, count)
        pace = 0.8 * pace + 0.2 * first if pace > 0 else first
        going = tally[1] == 0 and first < np.inf
        while going:
            v, imbalance, time, log_norm, count, now = sprint(
                data, neuron, near, move, v, imbalance, gain, until, time, log_norm, pace,
                numbers, which, count,
            )  # fmt: skip
            going, pace = now > 0, now if now > 0 else pace


@part
def _walls_at_start(data, neuron, move):  # type: ignore[no-untyped-def]
    """Put into `met` the data on whose attracting walls a neuron starts that is not dead; return how many."""
    size = 0
    for i in range(len(data.y)):
        neuron.met[size] = i
        size += neuron.q[i] == 0 and data.y[i] * move < 0
    return size if neuron.tally[0] > 0 else 0


@part
def _next(data, neuron, move, v, a, K, C):  # type: ignore[no-untyped-def]
    """Find the first walls ahead: how many, their distance in units of c, and which way v points there.

    If K < 0 and a shrinks, v changes sign at |a| = √-K. A neuron that slides stops there for an event of its
    own (`turned`); any other walks its line back, to the first wall behind it.
    """
    walls, first = _nearest(neuron, data.norms, move, C)
    turned = False
    if K < 0 and move * a < 0 and first * C >= v * v / (abs(a) + np.sqrt(-K)):
        turned = neuron.tally[1] > 0
        if not turned:
            move = -move
            walls, first = _nearest(neuron, data.norms, move, C)
    return walls, first, move, turned


@part
def _nearest(neuron, norms, move, C):  # type: ignore[no-untyped-def]
    """Put into `met` the data whose walls come first that way; return how many, and how far in units of c."""
    side, q, b, ratio = neuron.side, neuron.q, neuron.b, neuron.ratio
    for i in range(len(q)):  # no branches, so that the compiler can use vector instructions
        speed = -side[i] * move * b[i]
        gap = side[i] * q[i]
        gap = gap if gap > 0 else 0.0
        ratio[i] = gap / speed if speed > ROUNDING * C * norms[i] else np.inf
    first = least(ratio)
    if first == np.inf:
        return 0, first
    cut, walls, k = first + ROUNDING / C, 0, 0
    for i in range(len(q)):
        walls += ratio[i] <= cut
    i = 0
    while k < walls:
        if ratio[i] <= cut:
            neuron.met[k] = i
            k += 1
        i += 1
    return walls, first


@part
def _advance(neuron, step, scale):  # type: ignore[no-untyped-def]
    q, b, w, c = neuron.q, neuron.b, neuron.w, neuron.c
    for i in range(len(q)):
        q[i] = (q[i] + step * b[i]) * scale
    for k in range(len(w)):
        w[k] = (w[k] + step * c[k]) * scale


@part
def _cross(data, neuron, move, walls):  # type: ignore[no-untyped-def]
    """Cross the walls that were met if all repel, or there is one and it lets go; return how many, or 0."""
    if neuron.tally[1] > 0:
        return NONE
    for k in range(walls):
        i = neuron.met[k]
        if data.y[i] * move < 0:
            change = (1 - 2 * neuron.level[i]) * move * neuron.b[i] / data.norms[i] ** 2
            if walls > 1 or (change < 1 - ROUNDING and neuron.tally[0] > neuron.level[i]):
                return NONE
    for k in range(walls):
        i = neuron.met[k]
        neuron.q[i], neuron.changed[k] = 0.0, i
        set_level(data, neuron, i, 1 - neuron.level[i])
    return walls


@part
def _arrive(data, neuron, move, walls):  # type: ignore[no-untyped-def]
    """Let each datum whose wall was met cross it or join the sliding ones; return how many levels changed."""
    changes, joined, met = int(NONE), 0, neuron.met
    for k in range(walls):
        i = met[k]
        neuron.q[i] = 0.0
        if data.y[i] * move >= 0:  # a wall that repels is crossed, and one that does nothing
            set_level(data, neuron, i, 1 - neuron.level[i])
            neuron.changed[changes] = i
            changes += 1
        else:
            met[joined] = i
            joined += 1
    if neuron.tally[1] > 0:
        size = int(neuron.tally[1])
        on_wall = np.empty(size + joined, np.int64)
        find_sliding(neuron.side, on_wall[:size])
        for k in range(joined):
            on_wall[size + k] = met[k]
        changes += settle(data, neuron, move, on_wall, changes)
    elif joined > 0:
        changes += settle(data, neuron, move, met[:joined], changes)
    if changes == 0:  # what drove them to their walls is rounding; but the advance must be recorded
        for k in range(joined):
            neuron.b[met[k]] = 0.0
        neuron.changed[0], changes = -1, 1
    return changes


@part
def _release(data, neuron):  # type: ignore[no-untyped-def]
    """Send each sliding datum to the side of its share: where v changes sign, its wall turns repelling."""
    changes = int(neuron.tally[1])
    find_sliding(neuron.side, neuron.changed[:changes])
    for k in range(changes):
        i = neuron.changed[k]
        set_level(data, neuron, i, 1.0 if neuron.level[i] >= 0.5 else 0.0)
    return changes
