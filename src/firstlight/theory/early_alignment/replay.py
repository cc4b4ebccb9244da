"""From recorded events back to every neuron at any time, compiled."""

import numpy as np
from numba import njit

ALONG = 1e-29  # squared distance from a line, below which a unit vector is on it; as in the kernel


@njit(nogil=True, cache=True, error_model="numpy")
def replay(X, y, start, second, active, records, at_rest, gain, times, u, growth, ratio, c):  # type: ignore[no-untyped-def]
    """Write unit rows u, log ‖w(t)‖/‖w(0)‖ and v/‖w‖ of each neuron at its times, which increase.

    `times` is T × h, like `growth` and `ratio`; u is T × h × D. `c` holds the centres at the start, and is
    left with those of the last leg; a neuron `at_rest` stops at its last event.
    """
    numbers, which, first, count = records
    level, w = np.empty(len(y)), np.empty(X.shape[1])
    for j in range(len(second)):
        w[:], level[:] = start[j], active[j]
        v, log_norm, since, r = second[j], 0.0, 0.0, first[j]
        for k in range(len(times)):
            while r < first[j] + count[j] and numbers[r, 0] <= times[k, j]:
                since, v, shrink = numbers[r, 0], numbers[r, 3], np.exp(log_norm - numbers[r, 1])
                log_norm, i = numbers[r, 1], which[r]
                for d in range(len(w)):
                    w[d] = shrink * w[d] + numbers[r, 2] * c[j, d]
                    c[j, d] += y[i] * (numbers[r, 4] - level[i]) * X[i, d]
                level[i] = numbers[r, 4]
                r += 1
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
    K, opposed, tau = imbalance + across, v * a < 0, elapsed * C if elapsed > 0 else 0.0
    # Straight back to 0, for ever: only the length changes.
    shrinking = tau if opposed and K == 0 and across == 0 else 0.0
    decay = np.exp(shrinking - tau)
    ahead = K / (v - a) if opposed else v + a  # where v + a would cancel
    along = 0.5 * (ahead - (v - a) * decay * decay)
    length = np.sqrt(along * along + across * decay * decay)
    move = (along - a * decay) / C if C > 0 else 0.0
    for d in range(len(w)):
        u[d] = (decay * w[d] + move * c[d]) / length
    return tau - 2 * shrinking + np.log(length), 0.5 * (ahead + (v - a) * decay * decay) / length
