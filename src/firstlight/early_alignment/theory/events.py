"""The event-driven kernel: one neuron's exact walk through activation patterns, compiled.

While a neuron's pattern is fixed, its first-layer row w and second-layer weight v obey w' = v c, v' = ⟨w, c⟩
with the constant c = Σ_{active} yᵢxᵢ. So w moves along a line, v and a = ⟨w, c⟩/‖c‖ keep K = v² - a²,
and v ± a = (v₀ ± a₀) e^{±‖c‖t}. The next datum to flip is the one whose wall the line meets first; the time
to it is a logarithm. Nothing is discretised. A balanced start (v = ±‖w‖) is the case v² - ‖w‖² = 0.

The norm of w is taken out at each event, so that no growth overflows.
The other way round, `replay` finds every neuron at any time from the recorded events.

A wall can attract from both sides: with the datum on, the neuron is driven to the other side; with it off,
back. Then it slides along the wall, and the datum acts with a share between 0 and 1. The shares of all such
data minimise ‖c‖ over the box, which is Filippov's solution: a share of 1 means that the neuron leaves to the
active side, 0 to the other. Rounding must not carry a neuron off its walls, least of all one that shrinks: so
w and c are projected on them.

One file holds all of the kernel because the cache of compiled code does not see changes in another file.
"""

from collections import namedtuple

import numpy as np
from numba import njit

_BURST = 24  # events of a sprint
ROUNDING = 1e-13  # below this, relative to the natural scale, a speed or a distance is rounding
ALONG = 1e-28  # squared distance of a unit vector from a line or a plane, below which it is there
_STALE = 1e-8  # c is formed anew when its square has fallen this far: sums keep the rounding of what has gone
_SHRUNK = 5.0  # so is q of a sliding neuron when log ‖w‖ has
SETTLED, DEAD, STILL, TRUNCATED, FULL, VANISHED = range(6)

Data = namedtuple("Data", "X gram norms longest y")
# q = Xw, b = Xc; level: 1 on, 0 off, between: sliding; side: the same as +1, -1, 0; met, changed: data of one
# event; tally: how many data act, how many of them slide, the largest ‖c‖² since c was formed.
Neuron = namedtuple("Neuron", "w c q b level side ratio met changed tally near")
# The data of a sprint side by side, and the flips on its way.
Near = namedtuple("Near", "datum side norm gap speed ratio flipped turn place")

_compiled = njit(nogil=True, cache=True, error_model="numpy")
_inlined = njit(nogil=True, cache=True, error_model="numpy", inline="always")


@_compiled
def trace(X, gram, y, W, Q, C, B, second, gain, until, numbers, which, counts, status, fate):  # type: ignore[no-untyped-def]
    """Walk the neurons; write the events, their number, how the walk ended, and where.

    Rows of W are unit vectors w, of Q and B their Xw and Xc, of C their c; they are worked on in place. Row r
    of ``numbers[j]`` is (time, log of a unit of length, advance along c since the event before and v after
    it, both in that unit, new level) and ``which[j, r]`` the datum; several rows at one time are one event.
    The datum is -1 where none changes, and c is formed anew.
    """
    norms, n = np.sqrt(np.diag(gram).copy()), len(y)
    data = Data(X, gram, norms, norms.max(), y)
    near = Near(
        np.empty(n + 1, np.int64), np.empty(n), np.empty(n), np.empty(n), np.empty(n), np.empty(n),
        np.empty(_BURST + 4, np.int64), np.empty(_BURST + 4), np.empty(_BURST + 4),
    )  # fmt: skip
    level, side, ratio = np.empty(n), np.empty(n), np.empty(n)
    met, changed, tally = np.empty(n, np.int64), np.empty(n, np.int64), np.zeros(3)
    for j in range(len(W)):
        neuron = Neuron(W[j], C[j], Q[j], B[j], level, side, ratio, met, changed, tally, near)
        for i in range(n):
            level[i] = 1.0 if Q[j, i] > 0 else 0.0
            side[i] = 2 * level[i] - 1
        tally[0], tally[1], tally[2] = level.sum(), 0.0, _dot(level, norms) ** 2
        counts[j], status[j] = _walk(data, neuron, second[j], gain, until, numbers[j], which[j])
        fate[j] = _fate(level, y)


@_compiled
def _fate(level, y):  # type: ignore[no-untyped-def]
    """+1 if exactly the positive data are on, -1 the negative, 0 none, 2 otherwise."""
    plus, minus, none = True, True, True
    for i in range(len(y)):
        plus &= level[i] == (y[i] > 0)
        minus &= level[i] == (y[i] < 0)
        none &= level[i] == 0
    return 0 if none else 1 if plus else -1 if minus else 2


@_compiled
def _walk(data, neuron, v, gain, until, numbers, which):  # type: ignore[no-untyped-def]
    w, c, tally = neuron.w, neuron.c, neuron.tally
    move, start = np.sign(v), _dot(w, c)
    if v == 0:  # nothing moves if w is orthogonal to c
        move = np.sign(start) if start * start > ALONG * _dot(c, c) else 0.0
    imbalance, time, log_norm, pace, high = v * v - 1, 0.0, 0.0, 0.0, 0.0
    count = _record(neuron, _start_on_walls(data, neuron, move), time, log_norm, 0.0, v, numbers, which, 0)
    while True:
        if tally[0] == 0:
            return count, DEAD
        if tally[1] > 0 and move * _dot(w, c) < 0:  # it shrinks: what sticks out would grow by comparison
            _project(data.X, neuron.level, int(tally[1]), w, c)
        cc, high = _dot(c, c), max(high, log_norm)
        tally[2] = max(tally[2], cc)
        if cc <= _STALE * tally[2] or (tally[1] > 0 and log_norm < high - _SHRUNK):
            if count == len(which):
                return count, FULL
            cc, still = _refresh(data, neuron)
            high, neuron.changed[0] = log_norm, -1
            count = _record(neuron, 1, time, log_norm, 0.0, v, numbers, which, count)
            if still:
                return count, STILL
        C = np.sqrt(cc)
        a = _dot(w, c) / C
        across = _distance_squared(w, c, a / C)
        K = imbalance + across
        straight = across == 0 and imbalance >= 0 and move * a < 0  # back to 0
        if straight and imbalance == 0:  # where it never arrives
            return count, SETTLED
        walls, first, move, turned = _next(data, neuron, move, v, a, K, C)
        if walls == 0 and not turned and not straight:
            return count, SETTLED
        way = -a if straight else move * v * v / (abs(a) + np.sqrt(-K)) if turned else move * first * C
        a_end = a + way
        v_end = 0.0 if turned else _second(move, v, imbalance, a_end * a_end + across, way * (a + a_end))
        time += _elapsed(v, a, v_end, way, K) / (gain * C)
        if time > until or time == np.inf:
            return count, TRUNCATED if time < np.inf else SETTLED
        length, step = np.sqrt(a_end * a_end + across), way / C
        vanished = length <= ROUNDING  # v works against w along its own line, until nothing of it is left
        if vanished:
            found, step = _vanish(neuron), 0.0
        else:
            _advance(neuron, step, 1 / length)
            step /= length
            v, imbalance, log_norm = v_end / length, imbalance / length**2, log_norm + np.log(length)
            move = -move if turned else move
            found = _release(data, neuron) if turned else _arrive(data, neuron, move, walls)
        if count + found > len(which):
            return count, FULL
        count = _record(neuron, found, time, log_norm, step, v, numbers, which, count)
        if vanished:
            return count, VANISHED
        pace = 0.8 * pace + 0.2 * first if pace > 0 else first
        going = tally[1] == 0 and first < np.inf
        while going:
            v, imbalance, time, log_norm, count, now = _sprint(
                data,
                neuron,
                move,
                v,
                imbalance,
                gain,
                until,
                time,
                log_norm,
                _BURST * pace,
                numbers,
                which,
                count,
            )
            going = now > 0
            pace = now if going else pace


@_compiled
def _sprint(data, neuron, move, v, imbalance, gain, until, time, log_norm, reach, numbers, which, count):  # type: ignore[no-untyped-def]
    """Walk through plain events, looking only at the data that can be met soon; then bring all up to date.

    A flip changes no speed by more than ‖xᵢ‖‖xₖ‖. So data that would not be met within `reach` even if every
    flip of the sprint drew them nearer need not be looked at. Whatever is not a single plain crossing ends
    the sprint, and is left to the main walk. Lengths are in the unit of the sprint's start.
    """
    near, w, c = neuron.near, neuron.w, neuron.c
    size = _within_reach(data, neuron, move, reach)
    cc, wc, ww = _dot(c, c), _dot(w, c), _dot(w, w)
    walked, flips, most = 0.0, 0, min(_BURST, len(which) - count)
    while flips < most and neuron.tally[0] > 0:
        C, neuron.tally[2] = np.sqrt(cc), max(neuron.tally[2], cc)
        k, first = _only_nearest(near, size, ROUNDING * C, ROUNDING / C)
        a = wc / C
        blocked = v * a < 0 and imbalance + ww - a * a <= 1e-6 * ww  # where K would cancel, or v turn
        if k < 0 or blocked or walked + first > reach or cc <= _STALE * neuron.tally[2]:
            break
        i, b = near.datum[k], -near.side[k] * move * near.speed[k]
        gained = first * (2 * move * wc + first * cc)
        ww_end, wc_end = ww + gained, wc + move * first * cc
        if ww_end <= 1e-4 * ww:  # so near to 0 that ‖w‖² cancels
            break
        v_end = _second(move, v, imbalance, ww_end, gained)
        later = time + _elapsed(v, a, v_end, move * first * C, imbalance + ww - a * a) / (gain * C)
        share = move * b / data.gram[i, i] + neuron.level[i] - 0.5
        if (data.y[i] * move < 0 and abs(share) < 0.5 - ROUNDING) or later > until or later == np.inf:
            break
        side = -near.side[k]
        turn = data.y[i] * side
        near.side[k], near.speed[k] = side, -near.speed[k]
        _close_in(near, size, first, move * turn, data.gram[i])
        near.gap[k] = 0.0
        cc += turn * (2 * b + turn * data.gram[i, i])
        ww, wc, time, v, walked = ww_end, wc_end, later, v_end, walked + first
        near.flipped[flips], near.turn[flips], near.place[flips] = i, turn, walked
        neuron.level[i], neuron.side[i], neuron.changed[0] = 0.5 + 0.5 * side, side, i
        neuron.tally[0] += side
        count = _record(neuron, 1, time, log_norm, move * first, v, numbers, which, count)
        flips += 1
    length = np.sqrt(ww)
    _catch_up(neuron.q, neuron.b, data.gram, near, flips, move, walked, 1 / length)
    _catch_up(w, c, data.X, near, flips, move, walked, 1 / length)
    pace = walked / (flips * length) if flips else 0.0
    return v / length, imbalance / ww, time, log_norm + np.log(length), count, pace


@_compiled
def _within_reach(data, neuron, move, reach):  # type: ignore[no-untyped-def]
    """Copy the data that can be met within reach into `near`; return how many there are."""
    near, found, slack, excess = neuron.near, 0, _BURST * data.longest, neuron.ratio
    side, q, b = neuron.side, neuron.q, neuron.b
    for k in range(len(q)):
        excess[k] = side[k] * q[k] - reach * (slack * data.norms[k] - side[k] * move * b[k])
    for k in range(len(q)):
        near.datum[found] = k
        found += excess[k] < 0
    for m in range(found):
        k = near.datum[m]
        near.side[m], near.norm[m] = side[k], data.norms[k]
        near.gap[m], near.speed[m] = side[k] * q[k], -side[k] * move * b[k]
    return found


@_inlined
def _only_nearest(near, size, slowest, tie):  # type: ignore[no-untyped-def]
    """Return the one datum whose wall comes first, and its distance; -1 if there is none, or a tie."""
    gap, speed, norm, ratio = near.gap, near.speed, near.norm, near.ratio
    for k in range(size):
        ahead = gap[k] if gap[k] > 0 else 0.0
        ratio[k] = ahead / speed[k] if speed[k] > slowest * norm[k] else np.inf
    first, best, many = _least(ratio[:size]), -1, 0
    for k in range(size):
        many += ratio[k] <= first + tie
        best = k if ratio[k] == first else best
    return (best if many == 1 and first < np.inf else -1), first


@_inlined
def _close_in(near, size, step, turn, row):  # type: ignore[no-untyped-def]
    gap, speed, side, datum = near.gap, near.speed, near.side, near.datum
    for k in range(size):
        gap[k] -= step * speed[k]
        speed[k] -= turn * side[k] * row[datum[k]]


@_compiled
def _catch_up(position, velocity, rows, near, flips, move, walked, scale):  # type: ignore[no-untyped-def]
    """Bring positions (q or w) and velocities (b or c) to the end of a sprint, four flips at a time."""
    size = len(position)
    for k in range(size):
        position[k] += move * walked * velocity[k]
    near.turn[flips : flips + 3], near.place[flips : flips + 3], near.flipped[flips : flips + 3] = 0.0, 0.0, 0
    for m in range(0, flips, 4):
        r0, r1 = rows[near.flipped[m]], rows[near.flipped[m + 1]]
        r2, r3 = rows[near.flipped[m + 2]], rows[near.flipped[m + 3]]
        t0, t1, t2, t3 = near.turn[m], near.turn[m + 1], near.turn[m + 2], near.turn[m + 3]
        d0, d1 = move * (walked - near.place[m]) * t0, move * (walked - near.place[m + 1]) * t1
        d2, d3 = move * (walked - near.place[m + 2]) * t2, move * (walked - near.place[m + 3]) * t3
        for k in range(size):
            position[k] += d0 * r0[k] + d1 * r1[k] + d2 * r2[k] + d3 * r3[k]
            velocity[k] += t0 * r0[k] + t1 * r1[k] + t2 * r2[k] + t3 * r3[k]
    for k in range(size):
        position[k] *= scale


@_compiled
def _start_on_walls(data, neuron, move):  # type: ignore[no-untyped-def]
    """Let a start on attracting walls slide at once; on the wall of the dead region it is frozen."""
    if neuron.tally[0] == 0:
        return 0
    on_wall = np.flatnonzero((neuron.q == 0) & (data.y * move < 0))
    return _settle(data, neuron, move, on_wall, 0) if len(on_wall) else 0


@_compiled
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


@_compiled
def _nearest(neuron, norms, move, C):  # type: ignore[no-untyped-def]
    """Put into `met` the data whose walls come first that way; return how many, and how far in units of c."""
    side, q, b, ratio = neuron.side, neuron.q, neuron.b, neuron.ratio
    for i in range(len(q)):  # no branches, so that the compiler can use vector instructions
        speed = -side[i] * move * b[i]
        gap = side[i] * q[i]
        gap = gap if gap > 0 else 0.0
        ratio[i] = gap / speed if speed > ROUNDING * C * norms[i] else np.inf
    first = _least(ratio)
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


@_compiled
def _least(values):  # type: ignore[no-untyped-def]
    """Return the minimum, in four interleaved chains: one alone would wait for itself at each step."""
    whole = len(values) // 4 * 4
    m0 = m1 = m2 = m3 = np.inf
    for i in range(0, whole, 4):
        m0 = values[i] if values[i] < m0 else m0
        m1 = values[i + 1] if values[i + 1] < m1 else m1
        m2 = values[i + 2] if values[i + 2] < m2 else m2
        m3 = values[i + 3] if values[i + 3] < m3 else m3
    least = min(min(m0, m1), min(m2, m3))
    for i in range(whole, len(values)):
        least = min(least, values[i])
    return least


@njit(nogil=True, cache=True, fastmath={"reassoc", "contract"})
def _dot(x, y):  # type: ignore[no-untyped-def]
    total = 0.0
    for k in range(len(x)):
        total += x[k] * y[k]
    return total


@njit(nogil=True, cache=True, fastmath={"reassoc", "contract"})
def _distance_squared(w, c, share):  # type: ignore[no-untyped-def]
    """‖w - share c‖², from the difference itself: ‖w‖² - a² would cancel where w lies along c.

    A unit w that lies along c to rounding lies along it: against c it would creep away, in a time that
    is a matter of rounding, where the exact path shrinks for ever.
    """
    total = 0.0
    for k in range(len(w)):
        total += (w[k] - share * c[k]) ** 2
    return total if total > ALONG else 0.0


@_inlined
def _second(move, v, imbalance, square, gained):  # type: ignore[no-untyped-def]
    """Return v where ‖w‖² is `square`, `gained` since: by v² - ‖w‖², which is kept, unless that cancels."""
    end = imbalance + square if 2 * imbalance >= -square else v * v + gained
    return move * np.sqrt(end if end > 0 else 0.0)


@_compiled
def _elapsed(v, a, v_end, way, K):  # type: ignore[no-untyped-def]
    """‖c‖ times the time from (v, a) to (v_end, a + way), each logarithm taken where nothing cancels."""
    a_end = a + way
    if v * a < 0 and (v_end * a_end < 0 or (v_end == 0 and K < 0)):
        part = way / (v_end + v) * (v_end + v - a_end - a) / (v_end - a_end)
        return max(np.log1p(part), 0.0)
    ahead = v + a if v * a >= 0 else K / (v - a)
    if ahead == 0:
        return np.inf
    if v * v_end < 0:
        return np.log((v_end + a_end) / ahead)
    return max(np.log1p(way / (v_end + v) * (v_end + a_end + ahead) / ahead), 0.0) if way != 0 else 0.0


@_compiled
def _advance(neuron, step, scale):  # type: ignore[no-untyped-def]
    q, b, w, c = neuron.q, neuron.b, neuron.w, neuron.c
    for i in range(len(q)):
        q[i] = (q[i] + step * b[i]) * scale
    for k in range(len(w)):
        w[k] = (w[k] + step * c[k]) * scale


@_compiled
def _arrive(data, neuron, move, walls):  # type: ignore[no-untyped-def]
    """Let each datum whose wall was met cross it or join the sliding ones; return how many levels changed."""
    found, joined, met = 0, 0, neuron.met
    for k in range(walls):
        i = met[k]
        neuron.q[i] = 0.0
        if data.y[i] * move > 0:  # a wall that repels is crossed
            _set_level(data, neuron, i, 1 - neuron.level[i])
            neuron.changed[found] = i
            found += 1
        else:
            met[joined] = i
            joined += 1
    if neuron.tally[1] > 0:
        found += _settle(data, neuron, move, np.append(np.flatnonzero(neuron.side == 0), met[:joined]), found)
    elif joined > 0:
        found += _settle(data, neuron, move, met[:joined], found)
    if found == 0:  # what drove them to their walls is rounding; but the advance must be recorded
        for k in range(joined):
            neuron.b[met[k]] = 0.0
        neuron.changed[0], found = -1, 1
    return found


@_compiled
def _vanish(neuron):  # type: ignore[no-untyped-def]
    found = 0
    for i in np.flatnonzero(neuron.level):
        neuron.level[i] = 0.0
        neuron.changed[found] = i
        found += 1
    return found


@_inlined
def _record(neuron, found, time, log_norm, step, v, numbers, which, count):  # type: ignore[no-untyped-def]
    for k in range(found):
        i = neuron.changed[k]
        numbers[count, 0], numbers[count, 1], numbers[count, 3] = time, log_norm, v
        numbers[count, 2], numbers[count, 4] = step if k == 0 else 0.0, neuron.level[i]
        which[count] = i
        count += 1
    return count


@_compiled
def _set_level(data, neuron, i, new):  # type: ignore[no-untyped-def]
    """Give datum i a new level, and update c and b = Xc through the Gram matrix."""
    change = data.y[i] * (new - neuron.level[i])
    column, b = data.gram[i], neuron.b
    for k in range(len(b)):
        b[k] += change * column[k]
    for k in range(len(neuron.c)):
        neuron.c[k] += change * data.X[i, k]
    neuron.tally[0] += (new > 0) - (neuron.level[i] > 0)
    neuron.tally[1] += (new > 0 and new < 1) - (neuron.side[i] == 0)
    neuron.level[i] = new
    neuron.side[i] = 1.0 if new == 1 else (-1.0 if new == 0 else 0.0)


@_compiled
def _release(data, neuron):  # type: ignore[no-untyped-def]
    """Send each sliding datum to the side of its share: where v changes sign, its wall turns repelling."""
    found = 0
    for i in np.flatnonzero(neuron.side == 0):
        _set_level(data, neuron, i, 1.0 if neuron.level[i] >= 0.5 else 0.0)
        neuron.changed[found] = i
        found += 1
    return found


@_compiled
def _settle(data, neuron, move, on_wall, found):  # type: ignore[no-untyped-def]
    """Find the shares of the data on attracting walls; return how many changed, appended to `changed`."""
    size, more, others = len(on_wall), 0, neuron.tally[0]
    for i in on_wall:
        others -= neuron.level[i] > 0
    H, pull, share = np.empty((size, size)), np.empty(size), np.zeros(size)
    if size == 1 and others > 0:
        i = on_wall[0]
        share[0] = min(max(neuron.level[i] + move * neuron.b[i] / data.gram[i, i], 0.0), 1.0)
    elif others > 0:  # else nothing drives the neuron, and all switch off
        for k in range(size):
            pull[k], share[k] = move * neuron.b[on_wall[k]], neuron.level[on_wall[k]]
            for r in range(size):
                H[k, r] = data.gram[on_wall[k], on_wall[r]]
        _shares(H, pull, share)
    for k in range(size):
        more += _take_share(data, neuron, on_wall[k], share[k], found + more)
    for k in range(size):
        if neuron.side[on_wall[k]] == 0:
            neuron.b[on_wall[k]] = 0.0  # the changes of the others have moved it
    return more


@_compiled
def _take_share(data, neuron, i, share, found):  # type: ignore[no-untyped-def]
    if abs(share - round(share)) < ROUNDING:
        share = float(round(share))
    if share == neuron.level[i]:
        return 0
    _set_level(data, neuron, i, share)
    if neuron.side[i] == 0:
        neuron.b[i] = 0.0  # exactly zero in theory: no drift off the wall
    neuron.changed[found] = i
    return 1


@_compiled
def _project(X, level, sliding, w, c):  # type: ignore[no-untyped-def]
    """Take from w and c what sticks out of the walls on which the neuron slides.

    Both lose the same directions, to rounding: where the walls leave no more than a line, both are on it.
    """
    basis, size = np.empty((sliding, X.shape[1])), 0
    for i in range(len(level)):
        if 0 < level[i] < 1:
            row = basis[size]
            row[:] = X[i]
            whole = _dot(row, row)
            _take_out(basis[:size], row)
            rest = _dot(row, row)
            if rest > 1e-20 * whole:  # not a copy of the others
                row /= np.sqrt(rest)
                size += 1
    _take_out(basis[:size], w)
    _take_out(basis[:size], c)


@_compiled
def _take_out(basis, vector):  # type: ignore[no-untyped-def]
    for _ in range(2):  # once more for what the first round leaves by rounding
        for row in basis:
            part = _dot(row, vector)
            for d in range(len(vector)):
                vector[d] -= part * row[d]


@_compiled
def _refresh(data, neuron):  # type: ignore[no-untyped-def]
    """Form c and b anew, and q if the neuron slides; return ‖c‖² and whether that is 0 but for rounding."""
    w, c, level, sliding = neuron.w, neuron.c, neuron.level, int(neuron.tally[1])
    _centre(data.X, data.y, level, c)
    if sliding:
        _project(data.X, level, sliding, w, c)
    for i in range(len(level)):
        neuron.b[i] = 0.0 if neuron.side[i] == 0 else _dot(data.X[i], c)
        if sliding and neuron.q[i] != 0:
            neuron.q[i] = _dot(data.X[i], w)
    cc = neuron.tally[2] = _dot(c, c)
    return cc, cc <= (ROUNDING * _dot(level, data.norms)) ** 2


@_compiled
def _centre(X, y, level, c):  # type: ignore[no-untyped-def]
    c[:] = 0.0
    for i in range(len(level)):
        if level[i] > 0:
            for d in range(len(c)):
                c[d] += level[i] * y[i] * X[i, d]


@_compiled
def _shares(H, pull, share):  # type: ignore[no-untyped-def]
    """Minimise ½ δᵀHδ - pullᵀδ with share + δ in [0, 1], in place on `share` (Stark & Parker 1995)."""
    size = len(share)
    free = (share > 0) & (share < 1)
    start, rest = share.copy(), pull.copy()
    for _ in range(100 * size + 100):
        while free.any() and not _move_free(H, rest, share, free):
            rest[:] = pull - H @ (share - start)
        rest[:] = pull - H @ (share - start)
        worst, who = 0.0, -1
        for k in range(size):
            wrong = rest[k] if share[k] == 0 else -rest[k]
            if not free[k] and wrong > max(worst, ROUNDING * H[k, k]):
                worst, who = wrong, k
        if who < 0:
            return
        free[who] = True


@_compiled
def _move_free(H, rest, share, free):  # type: ignore[no-untyped-def]
    """Move the free shares to their minimum, or to the first bound on the way: False, and that is fixed."""
    F = np.flatnonzero(free)
    A, r = np.empty((len(F), len(F))), np.empty(len(F))
    for k in range(len(F)):
        r[k] = rest[F[k]]
        for m in range(len(F)):
            A[k, m] = H[F[k], F[m]]
    B = A + 1e-14 * np.diag(np.diag(A))  # two copies of one point may slide together
    change = np.linalg.solve(B, r)
    change += np.linalg.solve(B, r - A @ change)
    reach, who = 1.0, -1
    for k in range(len(F)):
        aim = share[F[k]] + change[k]
        room = -share[F[k]] if aim < 0 else 1 - share[F[k]]
        if (aim < 0 or aim > 1) and room / change[k] < reach:
            reach, who = room / change[k], k
    for k in range(len(F)):
        share[F[k]] += reach * change[k]
    if who >= 0:
        share[F[who]] = 0.0 if change[who] < 0 else 1.0
        free[F[who]] = False
    return who < 0


@_compiled
def replay(X, y, start, second, active, records, at_rest, gain, times, u, growth, ratio, c):  # type: ignore[no-untyped-def]
    """Write unit rows u, log ‖w(t)‖/‖w(0)‖ and v/‖w‖ of each neuron at its times, which increase.

    `times` is T × h, like `growth` and `ratio`; u is T × h × D. `c` holds the centres at the start, and is
    left with those of the last leg; a neuron `at_rest` stops at its last event.
    """
    numbers, which, first, count = records
    level, w = np.empty(len(y)), np.empty(X.shape[1])
    for j in range(len(second)):
        w[:], level[:] = start[j], active[j]
        v, log_norm, since, r, sliding = second[j], 0.0, 0.0, first[j], 0
        for k in range(len(times)):
            while r < first[j] + count[j] and numbers[r, 0] <= times[k, j]:
                if sliding and numbers[r, 2] != 0 and v * _dot(w, c[j]) < 0:
                    _project(X, level, sliding, w, c[j])
                since, v, shrink = numbers[r, 0], numbers[r, 3], np.exp(log_norm - numbers[r, 1])
                log_norm, i = numbers[r, 1], which[r]
                change = y[i] * (numbers[r, 4] - level[i]) if i >= 0 else 0.0
                for d in range(len(w)):
                    w[d] = shrink * w[d] + numbers[r, 2] * c[j, d]
                    c[j, d] += change * X[i, d]
                if i >= 0:
                    sliding += (0 < numbers[r, 4] < 1) - (0 < level[i] < 1)
                    level[i] = numbers[r, 4]
                else:
                    _centre(X, y, level, c[j])
                r += 1
            if sliding:
                _project(X, level, sliding, w, c[j])
            gone = at_rest[j] and r == first[j] + count[j]
            elapsed = 0.0 if gone else gain * (times[k, j] - since)
            imbalance = (second[j] ** 2 - 1) * np.exp(-2 * log_norm)
            grown, ratio[k, j] = _on_line(w, c[j], v, imbalance, elapsed, u[k, j])
            growth[k, j] = log_norm + grown


@njit(nogil=True, cache=True, error_model="numpy", fastmath={"reassoc", "contract"})
def _on_line(w, c, v, imbalance, elapsed, u):  # type: ignore[no-untyped-def]
    """Walk along c for a time, in closed form: write the unit row, return log ‖w‖ and v/‖w‖.

    v ± a = (v₀ ± a₀) e^{±τ}, with a the part of w along c, and v² - a² is kept; all is scaled by e^{-τ}.
    """
    cc, wc, across = 0.0, 0.0, 0.0
    for d in range(len(w)):
        cc += c[d] * c[d]
        wc += w[d] * c[d]
    C = np.sqrt(cc)
    a = wc / C if C > 0 else 0.0
    share = wc / cc if C > 0 else 0.0
    for d in range(len(w)):
        across += (w[d] - share * c[d]) ** 2
    across = across if across > ALONG else 0.0
    a = a if v != 0 or a * a > ALONG else 0.0
    K, tau = imbalance + across, elapsed * C if elapsed > 0 else 0.0
    ahead = K / (v - a) if v * a < 0 else v + a  # where v + a would cancel
    if ahead != 0:
        scale, keep = tau, np.exp(-tau)
        come = -0.5 * np.expm1(-2 * tau) * ahead
        along, other = come + keep * keep * a, come + keep * keep * v
    else:  # v and a fade together; if there is nothing else, straight back to 0 for ever
        scale, keep = -tau if across == 0 else 0.0, 1.0
        fade = np.exp(-tau - scale)
        along, other = fade * a, fade * v
    length = np.sqrt(along * along + across * keep * keep)
    move = (along - a * keep) / C if C > 0 else 0.0
    for d in range(len(w)):
        u[d] = (keep * w[d] + move * c[d]) / length
    return scale + np.log(length), other / length
