"""Sprints: many plain events in a row, looking only at the data that can be met next."""

import numpy as np

from firstlight.early_alignment.theory.kernel.state import (
    BURST,
    ROUNDING,
    STALE,
    dot,
    elapsed,
    inlined,
    part,
    record,
    reordered,
    second,
)


@part
def sprint(data, neuron, near, move, v, imbalance, gain, until, time, log_norm, pace, numbers, which, count):  # type: ignore[no-untyped-def]
    """Walk through plain events, looking only at the data that can be met next; then bring all up to date.

    A flip changes no speed by more than ‖xᵢ‖‖xₖ‖. So each datum has a place before which it is not met, in
    whatever way the flips of the sprint draw it nearer. Data wait in slots by that place, and are looked at
    when the walk may get there. Whatever is not a single plain crossing ends the sprint, and is left to the
    main walk. Lengths are in the unit of the sprint's start; `pace` is the way from one event to the next.
    """
    X, w, c, side = data.X, neuron.w, neuron.c, neuron.side
    cc, wc, ww, walked, flips = dot(c, c), dot(w, c), 1.0, 0.0, 0
    most = min(BURST, max(8, int(0.25 * np.sqrt(cc) / data.longest)), len(which) - count)
    reach = most * pace
    scale = 2 * most / reach if reach > 1e-300 else 0.0  # slots by length
    _within_reach(data, neuron, near, move, reach, scale, most * data.longest)
    while flips < most and neuron.tally[0] > 0:
        C, neuron.tally[2] = np.sqrt(cc), max(neuron.tally[2], cc)
        i, first, speed, aside = _only_nearest(
            data, neuron, near, move, reach, scale, walked, (most - flips) * data.longest, C
        )
        a = wc / C
        blocked = v * a < 0 and imbalance + ww - a * a <= 1e-6 * ww  # where K would cancel, or v turn
        if i < 0 or blocked or walked + first > reach or cc <= STALE * neuron.tally[2]:
            break
        b, square = -side[i] * move * speed, data.norms[i] ** 2
        gained = first * (2 * move * wc + first * cc)
        ww_end = ww + gained
        if not 1e-4 < ww_end < 1e4:  # so near to 0 that ‖w‖² cancels, or too long for the unit
            break
        v_end = second(move, v, imbalance, ww_end, gained)
        later = time + elapsed(v, a, v_end, move * first * C, imbalance + ww - a * a) / (gain * C)
        share = move * b / square + neuron.level[i] - 0.5
        if (data.y[i] * move < 0 and abs(share) < 0.5 - ROUNDING) or later > until or later == np.inf:
            break
        side[i] = -side[i]
        turn = data.y[i] * side[i]
        for d in range(len(w)):
            w[d] += move * first * c[d]
            c[d] += turn * X[i, d]
        wc += move * first * cc
        cc += turn * (2 * b + turn * square)
        ww, time, v, walked = ww_end, later, v_end, walked + first
        near.flipped[flips], near.turn[flips], near.place[flips] = i, turn, walked
        flips += 1
        back = walked if speed < most * data.longest * data.norms[i] else np.inf  # i may be met again
        _wait(near, aside, i, back, walked, reach, scale)
        neuron.level[i], neuron.changed[0] = 0.5 + 0.5 * side[i], i
        neuron.tally[0] += side[i]
        count = record(neuron, 1, time, log_norm, move * first, v, numbers, which, count)
    length = np.sqrt(dot(w, w))
    for d in range(len(w)):
        w[d] /= length
    if flips:  # the last event is told in the unit that w has now
        numbers[count - 1, 1] += np.log(length)
        numbers[count - 1, 2] /= length
        numbers[count - 1, 3] /= length
    if len(data.gram) and flips < len(w):
        _catch_up(neuron.q, neuron.b, data.gram, near, flips, move, walked, 1 / length)
    else:
        for k in range(len(neuron.q)):
            neuron.q[k], neuron.b[k] = _gap_and_speed(X, k, w, c)
    pace = walked / (flips * length) if flips else 0.0
    return v / length, imbalance / length**2, time, log_norm + np.log(length), count, pace


@part
def _within_reach(data, neuron, near, move, reach, scale, swing):  # type: ignore[no-untyped-def]
    """Put the data that can be met within reach into their slots, if flips turn c by `swing`."""
    place, aside, count = neuron.ratio, near.aside, 0
    side, q, b = neuron.side, neuron.q, neuron.b
    for k in range(len(q)):
        fastest = swing * data.norms[k] - side[k] * move * b[k]
        gap = side[k] * q[k]
        place[k] = (gap if gap > 0 else 0.0) / fastest if fastest > 0 else np.inf
    for k in range(len(q)):
        aside[count] = k
        count += place[k] <= reach
    for slot in range(int(reach * scale) + 1):
        near.head[slot] = -1
    for k in range(count):
        _put(near, aside[k], place[aside[k]], scale)


@part
def _put(near, k, place, scale):  # type: ignore[no-untyped-def]
    slot = int(place * scale)
    near.after[k] = near.head[slot]
    near.head[slot] = k


@inlined
def _only_nearest(data, neuron, near, move, reach, scale, walked, swing, C):  # type: ignore[no-untyped-def]
    """Return the one datum whose wall comes first, its distance and speed; -1 if there is none, or a tie.

    What was looked at is taken from its slot. It goes on to a later one, or stands aside, with the place
    before which it is not met.
    """
    aside, later, tie = near.aside, near.later, ROUNDING / C
    first, next_, best, pace, many = np.inf, np.inf, -1, 0.0, 0
    slot, last = int(walked * scale), int(reach * scale)
    while slot <= last:
        k = near.head[slot]
        if k < 0:
            slot += 1
            continue
        near.head[slot] = near.after[k]
        gap, speed = _gap_and_speed(data.X, k, neuron.w, neuron.c)
        gap, speed = max(neuron.side[k] * gap, 0.0), -neuron.side[k] * move * speed
        distance = gap / speed if speed > ROUNDING * C * data.norms[k] else np.inf
        fastest = speed + swing * data.norms[k]
        new = walked + gap / fastest if fastest > 0 else np.inf
        if distance < first:
            first, next_, best, pace = distance, first, k, speed
            last = int(min(walked + first + tie, reach) * scale)
        elif distance < next_:
            next_ = distance
        if new > reach:
            continue
        if int(new * scale) > last:
            _put(near, k, new, scale)
        else:
            aside[many], later[many] = k, new
            many += 1
    return (best if next_ > first + tie else -1), first, pace, many


@inlined
def _wait(near, aside, i, place, walked, reach, scale):  # type: ignore[no-untyped-def]
    """Put back into slots, none behind the walk, what stood aside; datum i at a place of its own."""
    for k in range(aside):
        who = near.aside[k]
        new = place if who == i else near.later[k]
        if new <= reach:
            _put(near, who, max(new, walked), scale)


@reordered
def _gap_and_speed(X, k, w, c):  # type: ignore[no-untyped-def]
    gap = speed = 0.0
    for d in range(len(w)):
        gap += X[k, d] * w[d]
        speed += X[k, d] * c[d]
    return gap, speed


@part
def _catch_up(q, b, gram, near, flips, move, walked, scale):  # type: ignore[no-untyped-def]
    """Bring q = Xw and b = Xc to the end of a sprint by the Gram matrix, four flips at a time."""
    for k in range(len(q)):
        q[k] += move * walked * b[k]
    for m in range(flips, flips + 3):
        near.turn[m], near.place[m], near.flipped[m] = 0.0, 0.0, 0
    for m in range(0, flips, 4):
        r0, r1 = gram[near.flipped[m]], gram[near.flipped[m + 1]]
        r2, r3 = gram[near.flipped[m + 2]], gram[near.flipped[m + 3]]
        t0, t1, t2, t3 = near.turn[m], near.turn[m + 1], near.turn[m + 2], near.turn[m + 3]
        d0, d1 = move * (walked - near.place[m]) * t0, move * (walked - near.place[m + 1]) * t1
        d2, d3 = move * (walked - near.place[m + 2]) * t2, move * (walked - near.place[m + 3]) * t3
        for k in range(len(q)):
            q[k] += d0 * r0[k] + d1 * r1[k] + d2 * r2[k] + d3 * r3[k]
            b[k] += t0 * r0[k] + t1 * r1[k] + t2 * r2[k] + t3 * r3[k]
    for k in range(len(q)):
        q[k] *= scale
