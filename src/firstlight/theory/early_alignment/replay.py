"""From recorded events back to the neurons at any time, compiled."""

import numpy as np
from numba import njit


@njit(nogil=True, cache=True)
def replay(y, first_level, numbers, which, offsets, time, coefficients, level, last):  # type: ignore[no-untyped-def]
    """Rebuild every neuron at its latest event up to `time`: w/‖w‖ is e^{-log ‖w‖} w₀ + Σᵢ coefficientᵢ xᵢ.

    `last` receives (time, log ‖w‖, v/‖w‖) of that event; entries of neurons without an event are left alone.
    """
    since = np.empty(len(y))
    for j in range(len(offsets) - 1):
        level[j] = first_level[j]
        since[:] = 0.0
        start, stop = offsets[j], offsets[j]
        while stop < offsets[j + 1] and numbers[stop, 0] <= time:
            stop += 1
        if stop > start:
            last[j, 0], last[j, 1], last[j, 2] = (
                numbers[stop - 1, 0],
                numbers[stop - 1, 1],
                numbers[stop - 1, 3],
            )
        walked, log_norm = 0.0, 0.0
        for r in range(start, stop):
            i = which[r]
            walked += numbers[r, 2] * np.exp(log_norm - last[j, 1])
            log_norm = numbers[r, 1]
            coefficients[j, i] += y[i] * level[j, i] * (walked - since[i])
            level[j, i], since[i] = numbers[r, 4], walked
        for i in range(len(y)):
            coefficients[j, i] += y[i] * level[j, i] * (walked - since[i])
