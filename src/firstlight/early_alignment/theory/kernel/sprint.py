"""Sprints: many plain events in a row, looking only at the data that can be met soon."""

import numpy as np

from firstlight.early_alignment.theory.kernel.state import (
    BURST,
    ROUNDING,
    STALE,
    compiled,
    dot,
    elapsed,
    inlined,
    least,
    record,
    second,
)


@compiled
def sprint(data, neuron, move, v, imbalance, gain, until, time, log_norm, reach, numbers, which, count):  # type: ignore[no-untyped-def]
    """Walk through plain events, looking only at the data that can be met soon; then bring all up to date.

    A flip changes no speed by more than ‖xᵢ‖‖xₖ‖. So data that would not be met within `reach` even if every
    flip of the sprint drew them nearer need not be looked at. Whatever is not a single plain crossing ends
    the sprint, and is left to the main walk. Lengths are in the unit of the sprint's start.
    """
    near, w, c = neuron.near, neuron.w, neuron.c
    size = _within_reach(data, neuron, move, reach)
    cc, wc, ww = dot(c, c), dot(w, c), dot(w, w)
    walked, flips, most = 0.0, 0, min(BURST, len(which) - count)
    while flips < most and neuron.tally[0] > 0:
        C, neuron.tally[2] = np.sqrt(cc), max(neuron.tally[2], cc)
        k, first = _only_nearest(near, size, ROUNDING * C, ROUNDING / C)
        a = wc / C
        blocked = v * a < 0 and imbalance + ww - a * a <= 1e-6 * ww  # where K would cancel, or v turn
        if k < 0 or blocked or walked + first > reach or cc <= STALE * neuron.tally[2]:
            break
        i, b = near.datum[k], -near.side[k] * move * near.speed[k]
        gained = first * (2 * move * wc + first * cc)
        ww_end, wc_end = ww + gained, wc + move * first * cc
        if ww_end <= 1e-4 * ww:  # so near to 0 that ‖w‖² cancels
            break
        v_end = second(move, v, imbalance, ww_end, gained)
        later = time + elapsed(v, a, v_end, move * first * C, imbalance + ww - a * a) / (gain * C)
        square = data.norms[i] ** 2
        share = move * b / square + neuron.level[i] - 0.5
        if (data.y[i] * move < 0 and abs(share) < 0.5 - ROUNDING) or later > until or later == np.inf:
            break
        side = -near.side[k]
        turn = data.y[i] * side
        near.side[k], near.speed[k] = side, -near.speed[k]
        _products(data, near, size, i)
        _close_in(near, size, first, move * turn)
        near.gap[k] = 0.0
        cc += turn * (2 * b + turn * square)
        ww, wc, time, v, walked = ww_end, wc_end, later, v_end, walked + first
        near.flipped[flips], near.turn[flips], near.place[flips] = i, turn, walked
        neuron.level[i], neuron.side[i], neuron.changed[0] = 0.5 + 0.5 * side, side, i
        neuron.tally[0] += side
        count = record(neuron, 1, time, log_norm, move * first, v, numbers, which, count)
        flips += 1
    length = np.sqrt(ww)
    _catch_up(w, c, data.X, near, flips, move, walked, 1 / length)
    if len(data.gram):
        _catch_up(neuron.q, neuron.b, data.gram, near, flips, move, walked, 1 / length)
    else:
        for k in range(len(neuron.q)):
            neuron.q[k], neuron.b[k] = dot(data.X[k], w), dot(data.X[k], c)
    pace = walked / (flips * length) if flips else 0.0
    return v / length, imbalance / ww, time, log_norm + np.log(length), count, pace


@compiled
def _within_reach(data, neuron, move, reach):  # type: ignore[no-untyped-def]
    """Copy the data that can be met within reach into `near`; return how many there are."""
    near, count, slack, excess = neuron.near, 0, BURST * data.longest, neuron.ratio
    side, q, b = neuron.side, neuron.q, neuron.b
    for k in range(len(q)):
        excess[k] = side[k] * q[k] - reach * (slack * data.norms[k] - side[k] * move * b[k])
    for k in range(len(q)):
        near.datum[count] = k
        count += excess[k] < 0
    for m in range(count):
        k = near.datum[m]
        near.side[m], near.norm[m] = side[k], data.norms[k]
        near.gap[m], near.speed[m] = side[k] * q[k], -side[k] * move * b[k]
    return count


@inlined
def _only_nearest(near, size, slowest, tie):  # type: ignore[no-untyped-def]
    """Return the one datum whose wall comes first, and its distance; -1 if there is none, or a tie."""
    gap, speed, norm, ratio = near.gap, near.speed, near.norm, near.ratio
    for k in range(size):
        ahead = gap[k] if gap[k] > 0 else 0.0
        ratio[k] = ahead / speed[k] if speed[k] > slowest * norm[k] else np.inf
    first, best, many = least(ratio[:size]), -1, 0
    for k in range(size):
        many += ratio[k] <= first + tie
        best = k if ratio[k] == first else best
    return (best if many == 1 and first < np.inf else -1), first


@inlined
def _products(data, near, size, i):  # type: ignore[no-untyped-def]
    """Put the products of datum i with the data of the sprint into `near.row`."""
    datum, row = near.datum, near.row
    if len(data.gram):  # asked once, or the loop is not vectorised
        column = data.gram[i]
        for k in range(size):
            row[k] = column[datum[k]]
    else:
        for k in range(size):
            row[k] = dot(data.X[i], data.X[datum[k]])


@inlined
def _close_in(near, size, step, turn):  # type: ignore[no-untyped-def]
    gap, speed, side, row = near.gap, near.speed, near.side, near.row
    for k in range(size):
        gap[k] -= step * speed[k]
        speed[k] -= turn * side[k] * row[k]


@compiled
def _catch_up(position, velocity, rows, near, flips, move, walked, scale):  # type: ignore[no-untyped-def]
    """Bring positions (q or w) and velocities (b or c) to the end of a sprint, four flips at a time."""
    size = len(position)
    for k in range(size):
        position[k] += move * walked * velocity[k]
    for m in range(flips, flips + 3):
        near.turn[m], near.place[m], near.flipped[m] = 0.0, 0.0, 0
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
