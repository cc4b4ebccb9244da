"""The event-driven kernel: one neuron's exact walk through activation patterns, compiled.

While a neuron's pattern is fixed, its first-layer row w and second-layer weight v obey w' = v c, v' = ⟨w, c⟩
with the constant c = Σ_{active} yᵢxᵢ. So w moves along a line, v and a = ⟨w, c⟩/‖c‖ keep K = v² - a²,
and v ± a = (v₀ ± a₀) e^{±‖c‖t}. The next datum to flip is the one whose wall the line meets first; the time
to it is a logarithm. Nothing is discretised. A balanced start (v = ±‖w‖) is the case v² - ‖w‖² = 0.

The norm of w is taken out at each event, so that no growth overflows.

A wall can attract from both sides: with the datum on, the neuron is driven to the other side; with it off,
back. Then it slides along the wall, and the datum acts with a share between 0 and 1. The shares of all such
data minimise ‖c‖ over the box, which is Filippov's solution: a share of 1 means that the neuron leaves to the
active side, 0 to the other.

One file holds all of the kernel because the cache of compiled code does not see changes in another file.
"""

from collections import namedtuple

import numpy as np
from numba import njit

_BURST = 24  # events of a sprint
ROUNDING = 1e-13  # below this, relative to the natural scale, a speed or a distance is rounding
ALONG = 1e-29  # squared distance of a unit vector from a line, below which it is on the line
SETTLED, DEAD, STILL, TRUNCATED, FULL, VANISHED = range(6)

Data = namedtuple("Data", "X gram norms y")
# q = Xw, b = Xc; level: 1 on, 0 off, between: sliding; side: the same as +1, -1, 0; met, changed: data of one
# event; tally: how many data act, how many of them slide.
Neuron = namedtuple("Neuron", "w c q b level side ratio met changed tally")

_compiled = njit(nogil=True, cache=True, error_model="numpy")


@_compiled
def trace(X, gram, y, W, Q, C, B, second, gain, until, chosen, numbers, which, counts, status):  # type: ignore[no-untyped-def]
    """Walk the neurons in `chosen`; write the events, the number of records, and how the walk ended.

    Rows of W are unit vectors w, of Q and B their Xw and Xc, of C their c; they are worked on in place. Row r
    of ``numbers[j]`` is (time, log ‖w‖, advance along c since the event before, v/‖w‖, new level) and
    ``which[j, r]`` the datum; several rows at one time are one event.
    """
    data = Data(X, gram, np.sqrt(np.diag(gram).copy()), y)
    n = len(y)
    level, side, ratio = np.empty(n), np.empty(n), np.empty(n)
    met, changed, tally = np.empty(n, np.int64), np.empty(n, np.int64), np.zeros(2)
    for j in chosen:
        neuron = Neuron(W[j], C[j], Q[j], B[j], level, side, ratio, met, changed, tally)
        for i in range(n):
            level[i] = 1.0 if Q[j, i] > 0 else 0.0
            side[i] = 2 * level[i] - 1
        tally[0], tally[1] = level.sum(), 0.0
        counts[j], status[j] = _walk(data, neuron, second[j], gain, until, numbers[j], which[j])


@_compiled
def _walk(data, neuron, v, gain, until, numbers, which):  # type: ignore[no-untyped-def]
    w, c = neuron.w, neuron.c
    move = np.sign(v) if v != 0 else np.sign(_dot(w, c))
    imbalance, smallest = v * v - 1, ROUNDING * data.norms.max()
    time, log_norm, pace = 0.0, 0.0, 0.0
    count = _record(neuron, _start_on_walls(data, neuron, move), time, log_norm, 0.0, v, numbers, which, 0)
    while True:
        if neuron.tally[0] == 0:
            return count, DEAD
        C = np.sqrt(_dot(c, c))
        if C <= smallest:  # noqa: SIM300
            return count, STILL
        a = _dot(w, c) / C
        across = _distance_squared(w, c, a / C)
        K = imbalance + across
        if across == 0 and imbalance == 0 and move * a < 0:  # straight back to 0, where it never arrives
            return count, SETTLED
        walls, first, move, turned = _next(data, neuron, move, a, K, C)
        if walls == 0 and not turned:
            return count, SETTLED
        a_end = -move * np.sqrt(-K) if turned else a + move * first * C
        v_end = 0.0 if turned else move * np.sqrt(max(K + a_end * a_end, 0.0))
        time += _elapsed(v, a, v_end, a_end, K) / (gain * C)
        if time > until or time == np.inf:
            return count, TRUNCATED if time < np.inf else SETTLED
        length, step = np.sqrt(a_end * a_end + across), (a_end - a) / C
        vanished = length <= ROUNDING  # v works against w along its own line, until nothing of it is left
        if vanished:
            found, step = _vanish(neuron), 0.0
        else:
            _advance(neuron, step, 1 / length)
            v, imbalance, log_norm = v_end / length, imbalance / length**2, log_norm + np.log(length)
            move = -move if turned else move
            found = _release(data, neuron) if turned else _arrive(data, neuron, move, walls)
        if count + found > len(which):
            return count, FULL
        count = _record(neuron, found, time, log_norm, step, v, numbers, which, count)
        if vanished:
            return count, VANISHED
        pace = 0.8 * pace + 0.2 * first if pace > 0 else first
        if neuron.tally[1] == 0 and first < np.inf:
            v, imbalance, time, log_norm, count, pace = _sprint(
                data, neuron, move, v, imbalance, gain, until, time, log_norm, pace, numbers, which, count
            )


@_compiled
def _sprint(data, neuron, move, v, imbalance, gain, until, time, log_norm, pace, numbers, which, count):  # type: ignore[no-untyped-def]
    """Walk through plain events, looking only at the data that can be met soon; then bring all up to date.

    A flip changes no speed by more than ‖xᵢ‖‖xₖ‖. So data that would not be met within `reach` even if every
    flip of the sprint drew them nearer need not be looked at. Whatever is not a single plain crossing ends
    the sprint, and is left to the main walk.
    """
    w, c, q, b, side = neuron.w, neuron.c, neuron.q, neuron.b, neuron.side
    reach = _BURST * pace
    near = _within_reach(data, neuron, move, reach)
    flipped, change, place = np.empty(_BURST, np.int64), np.empty(_BURST), np.empty(_BURST)
    walked, length, flips, smallest = 0.0, 1.0, 0, ROUNDING * data.norms.max()
    while flips < _BURST and count < len(which) and neuron.tally[0] > 0:
        C = np.sqrt(_dot(c, c))
        if C <= smallest:  # noqa: SIM300
            break
        i, first = _only_nearest(neuron, near, data.norms, move, C, length)
        a = _dot(w, c) / C
        across = _distance_squared(w, c, a / C)
        K, a_end = imbalance + across, a + move * first * C
        if i < 0 or K <= 0 or walked + first > reach:
            break
        v_end = move * np.sqrt(K + a_end * a_end)
        later = time + _elapsed(v, a, v_end, a_end, K) / (gain * C)
        new = 1 - neuron.level[i]
        slides = (
            data.y[i] * move < 0
            and abs(move * b[i] / data.gram[i, i] + neuron.level[i] - 0.5) < 0.5 - ROUNDING
        )
        if slides or later > until or later == np.inf:
            break
        flipped[flips], change[flips] = i, data.y[i] * (new - neuron.level[i])
        for k in near:
            q[k] += move * first * b[k]
            b[k] += change[flips] * data.gram[i, k]
        for k in range(len(w)):
            w[k] += move * first * c[k]
            c[k] += change[flips] * data.X[i, k]
        q[i], neuron.level[i], side[i] = 0.0, new, 2 * new - 1
        neuron.tally[0] += 2 * new - 1
        before, length, time, v = length, np.sqrt(a_end * a_end + across), later, v_end
        walked += first
        place[flips], neuron.changed[0] = walked, i
        log_length = log_norm + np.log(length)
        count = _record(neuron, 1, time, log_length, move * first / before, v / length, numbers, which, count)
        flips += 1
    _catch_up(data, neuron, near, move, walked, flipped[:flips], change, place, 1 / length)
    pace = walked / (flips * length) if flips else 0.5 * pace
    return v / length, imbalance / length**2, time, log_norm + np.log(length), count, pace


@_compiled
def _within_reach(data, neuron, move, reach):  # type: ignore[no-untyped-def]
    near, found, slack = neuron.met, 0, _BURST * data.norms.max()
    for k in range(len(near)):
        speed = slack * data.norms[k] - neuron.side[k] * move * neuron.b[k]
        near[found] = k
        found += neuron.side[k] * neuron.q[k] < reach * speed
    return near[:found].copy()


@_compiled
def _only_nearest(neuron, near, norms, move, C, length):  # type: ignore[no-untyped-def]
    """Return the one datum whose wall comes first, and its distance; -1 if there is none, or a tie."""
    best, first, second = -1, np.inf, np.inf
    for k in near:
        speed = -neuron.side[k] * move * neuron.b[k]
        gap = max(neuron.side[k] * neuron.q[k], 0.0)
        if speed > ROUNDING * C * norms[k] and gap < second * speed:
            second = gap / speed
            if second < first:
                best, first, second = k, second, first
    return (best if second > first + ROUNDING * length / C else -1), first


@_compiled
def _catch_up(data, neuron, near, move, walked, flipped, change, place, scale):  # type: ignore[no-untyped-def]
    """Bring q and b of all data to the end of a sprint; those in `near` are there already."""
    q, b = neuron.q, neuron.b
    q_near, b_near = q[near], b[near]
    for k in range(len(q)):
        q[k] += move * walked * b[k]
    for m in range(len(flipped)):
        row, turn = data.gram[flipped[m]], change[m]
        drift = move * (walked - place[m]) * turn
        for k in range(len(q)):
            q[k] += drift * row[k]
            b[k] += turn * row[k]
    q[near], b[near] = q_near, b_near
    for k in range(len(q)):
        q[k] *= scale
    for k in range(len(neuron.w)):
        neuron.w[k] *= scale


@_compiled
def _start_on_walls(data, neuron, move):  # type: ignore[no-untyped-def]
    """Let a start on attracting walls slide at once; on the wall of the dead region it is frozen."""
    if neuron.tally[0] == 0:
        return 0
    on_wall = np.flatnonzero((neuron.q == 0) & (data.y * move < 0))
    return _settle(data, neuron, move, on_wall, 0) if len(on_wall) else 0


@_compiled
def _next(data, neuron, move, a, K, C):  # type: ignore[no-untyped-def]
    """Find the first walls ahead: how many, their distance in units of c, and which way v points there.

    If K < 0 and a shrinks, v changes sign at |a| = √-K. A neuron that slides stops there for an event of its
    own (`turned`); any other walks its line back, to the first wall behind it.
    """
    walls, first = _nearest(neuron, data.norms, move, C)
    turned = False
    if K < 0 and move * a < 0 and first * C >= abs(a) - np.sqrt(-K):
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


@_compiled
def _elapsed(v, a, v_end, a_end, K):  # type: ignore[no-untyped-def]
    """‖c‖ times the time from (v, a) to (v_end, a_end), each logarithm taken where nothing cancels."""
    if v * a >= 0:
        return max(np.log((v_end + a_end) / (v + a)), 0.0) if v + a != 0 else np.inf
    if v_end * a_end < 0 or (v_end == 0 and K < 0):
        return max(np.log((v - a) / (v_end - a_end)), 0.0)
    return np.log((v_end + a_end) / K * (v - a)) if K != 0 else np.inf


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
    if found == 0:  # nothing changed after all, but the advance must be recorded
        neuron.changed[0], found = met[0], 1
    return found


@_compiled
def _vanish(neuron):  # type: ignore[no-untyped-def]
    found = 0
    for i in np.flatnonzero(neuron.level):
        neuron.level[i] = 0.0
        neuron.changed[found] = i
        found += 1
    return found


@_compiled
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
    if len(on_wall) == 1:
        i = on_wall[0]
        alone = neuron.level[i] + move * neuron.b[i] / data.gram[i, i]
        return _take_share(data, neuron, i, min(max(alone, 0.0), 1.0), found)
    size = len(on_wall)
    H, pull, share = np.empty((size, size)), np.empty(size), np.empty(size)
    for k in range(size):
        pull[k], share[k] = move * neuron.b[on_wall[k]], neuron.level[on_wall[k]]
        for r in range(size):
            H[k, r] = data.gram[on_wall[k], on_wall[r]]
    _shares(H, pull, share)
    more = 0
    for k in range(size):
        more += _take_share(data, neuron, on_wall[k], share[k], found + more)
    for k in range(size):
        if neuron.side[on_wall[k]] == 0:
            neuron.b[on_wall[k]] = 0.0  # the changes of the others have moved it
    return more


@_compiled
def _take_share(data, neuron, i, share, found):  # type: ignore[no-untyped-def]
    if abs(share - round(share)) < ROUNDING:  # the last active datum has share 0, but for rounding
        share = float(round(share))
    if share == neuron.level[i]:
        return 0
    _set_level(data, neuron, i, share)
    if neuron.side[i] == 0:
        neuron.b[i] = 0.0  # exactly zero in theory: no drift off the wall
    neuron.changed[found] = i
    return 1


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
        A[k, k] *= 1 + 1e-14  # two copies of one point may slide together
    change = np.linalg.solve(A, r)
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
