"""Replay: every neuron at any time, from the recorded events."""

import numpy as np

from firstlight.early_alignment.theory.kernel.shares import project
from firstlight.early_alignment.theory.kernel.state import (
    ALONG,
    NONE,
    centre,
    compiled,
    dot,
    reordered,
)


@compiled
def replay(X, y, drift, start, second, active, records, ends, at_rest, gain, times, u, growth, ratio, c):  # type: ignore[no-untyped-def]
    """Write unit rows u, log ‖w(t)‖/‖w(0)‖ and v/‖w‖ of each neuron at its times, which increase.

    `times` is T × h, like `growth` and `ratio`; u is T × h × D. `c` holds the centres at the start, and is
    left with those of the last leg; a neuron `at_rest` stops at its last event. `ends` are rows and centres
    after the last event, and whose are known: these need not be walked to.
    """
    numbers, which, first, count = records
    rows, centres, known = ends
    level, w = np.empty(len(y)), np.empty(X.shape[1])
    for j in range(len(second)):
        for d in range(len(w)):  # one by one: an array at once takes seconds to compile
            w[d] = start[j, d]
        for i in range(len(level)):
            level[i] = active[j, i]
        v, log_norm, since, r, sliding = second[j], 0.0, 0.0, first[j], NONE
        last = first[j] + count[j] - 1
        for k in range(len(times)):
            if known[j] and r <= last and numbers[last, 0] <= times[k, j]:
                since, log_norm, v = numbers[last, 0], numbers[last, 1], numbers[last, 3]
                r, sliding = last + 1, NONE
                for d in range(len(w)):
                    w[d], c[j, d] = rows[j, d], centres[j, d]
            while r <= last and numbers[r, 0] <= times[k, j]:
                if sliding and numbers[r, 2] != 0 and v * dot(w, c[j]) < 0:
                    project(X, level, sliding, w, c[j])
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
                    centre(X, y, drift, level, c[j])
                r += 1
            if sliding:
                project(X, level, sliding, w, c[j])
            gone = at_rest[j] and r > last
            elapsed = 0.0 if gone else gain * (times[k, j] - since)
            imbalance = (second[j] ** 2 - 1) * np.exp(-2 * log_norm)
            grown, ratio[k, j] = _on_line(w, c[j], v, imbalance, elapsed, u[k, j])
            growth[k, j] = log_norm + grown


@reordered
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
    K, tau = imbalance + across, elapsed * C if elapsed > 0 and C > 0 else 0.0  # inf * 0 is no number
    ahead = K / (v - a) if v * a < 0 else v + a  # where v + a would cancel
    if ahead != 0:
        scale, keep = tau, np.exp(-tau)
        come = -0.5 * np.expm1(-2 * tau) * ahead
        along, other = come + keep * keep * a, come + keep * keep * v
    else:  # v and a fade together; if there is nothing else, straight back to 0 for ever
        scale, keep = -tau if across == 0 else 0.0, 1.0
        fade = 1.0 if across == 0 else np.exp(-tau)  # not by -tau - scale: τ may be infinite
        along, other = fade * a, fade * v
    length = np.sqrt(along * along + across * keep * keep)
    move = (along - a * keep) / C if C > 0 else 0.0
    onward = other if along == 0 else along
    for d in range(len(w)):  # on the line of c exactly so, also where w comes through 0
        on_line = across == 0 and C > 0
        u[d] = np.sign(onward) * c[d] / C if on_line else (keep * w[d] + move * c[d]) / length
    return scale + np.log(length), other / length
