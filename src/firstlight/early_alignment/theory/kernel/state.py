"""What one neuron's walk is made of: constants, data and neuron as tuples, and small steps of both."""

from collections import namedtuple
from functools import partial

import numpy as np
from numba import njit

from firstlight.maths.compiled import compiled as compile_
from firstlight.maths.compiled import part as part_

BURST = 512  # events of a sprint, at most
ROUNDING = 1e-13  # below this, relative to the natural scale, a speed or a distance is rounding
BESIDE = 2e-15  # a relative step that rounding does not undo
ALONG = 1e-28  # squared distance of a unit vector from a line or a plane, below which it is there
STALE = 1e-8  # c is formed anew when its square has fallen this far: sums keep the rounding of what has gone
SHRUNK = 5.0  # so is q of a sliding neuron when log ‖w‖ has
NONE = np.int64(0)  # a literal 0 would have its callee compiled twice, for it alone and for any number
SETTLED, DEAD, STILL, TRUNCATED, FULL, VANISHED, SLIDES, ASIDE = range(8)

# gram: ⟨xᵢ, xₖ⟩; none, 0 × 0, where there are so few coordinates that products are formed when needed
# drift: what c has beside the data, always; constant: its length
Data = namedtuple("Data", "X gram norms longest y drift constant")
# q = Xw, b = Xc; level: 1 on, 0 off, between: sliding; side: the same as +1, -1, 0; met, changed: data of one
# event; tally: how many data act, the drift like one of them, how many of them slide, the largest ‖c‖² since
# c was formed.
Neuron = namedtuple("Neuron", "w c q b level side ratio met changed tally")
# A sprint's slots along the way (the first datum of each, and who follows a datum in its slot), what is aside
# of them with its new places, and the flips on the way.
Near = namedtuple("Near", "head after aside later flipped turn place")

compiled = partial(compile_, error_model="numpy")
part = partial(part_, error_model="numpy")
inlined = njit(nogil=True, error_model="numpy", inline="always")
reordered = partial(part_, error_model="numpy", fastmath={"reassoc", "contract"})


@part
def least(values):  # type: ignore[no-untyped-def]
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


@reordered
def dot(x, y):  # type: ignore[no-untyped-def]
    """Return ⟨x, y⟩, summed in the order that the processor likes."""
    total = 0.0
    for k in range(len(x)):
        total += x[k] * y[k]
    return total


@reordered
def distance_squared(w, c, share):  # type: ignore[no-untyped-def]
    """‖w - share c‖², from the difference itself: ‖w‖² - a² would cancel where w lies along c.

    A unit w that lies along c to rounding lies along it: against c it would creep away, in a time that
    is a matter of rounding, where the exact path shrinks for ever.
    """
    total = 0.0
    for k in range(len(w)):
        total += (w[k] - share * c[k]) ** 2
    return total if total > ALONG else 0.0


@inlined
def second(move, v, imbalance, square, gained):  # type: ignore[no-untyped-def]
    """Return v where ‖w‖² is `square`, `gained` since: by v² - ‖w‖², which is kept, unless that cancels."""
    end = imbalance + square if 2 * imbalance >= -square else v * v + gained
    return move * np.sqrt(end if end > 0 else 0.0)


@part
def elapsed(v, a, v_end, way, K):  # type: ignore[no-untyped-def]
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


@inlined
def record(neuron, changes, time, log_norm, step, v, numbers, which, count):  # type: ignore[no-untyped-def]
    """Write down an event: what changed, when, and how far the neuron went; return the number of rows."""
    for k in range(changes):
        i = neuron.changed[k]
        numbers[count, 0], numbers[count, 1], numbers[count, 3] = time, log_norm, v
        numbers[count, 2], numbers[count, 4] = step if k == 0 else 0.0, neuron.level[i]
        which[count] = i
        count += 1
    return count


@inlined
def product(data, i, k):  # type: ignore[no-untyped-def]
    """Return ⟨xᵢ, xₖ⟩."""
    return data.gram[i, k] if len(data.gram) else dot(data.X[i], data.X[k])


@part
def set_level(data, neuron, i, new):  # type: ignore[no-untyped-def]
    """Give datum i a new level, and update c and b = Xc."""
    change = data.y[i] * (new - neuron.level[i])
    b = neuron.b
    if len(data.gram):
        column = data.gram[i]
        for k in range(len(b)):
            b[k] += change * column[k]
    else:
        for k in range(len(b)):
            b[k] += change * dot(data.X[k], data.X[i])
    for k in range(len(neuron.c)):
        neuron.c[k] += change * data.X[i, k]
    neuron.tally[0] += int(new > 0) - int(neuron.level[i] > 0)
    neuron.tally[1] += int(new > 0 and new < 1) - int(neuron.side[i] == 0)
    neuron.level[i] = new
    neuron.side[i] = 1.0 if new == 1 else (-1.0 if new == 0 else 0.0)


@part
def centre(X, y, drift, level, c):  # type: ignore[no-untyped-def]
    """Form c = drift + Σ level_i y_i x_i anew."""
    for d in range(len(c)):  # in the kernel every array operation costs compile time, and slices much of it
        c[d] = drift[d]
    for i in range(len(level)):
        if level[i] > 0:
            for d in range(len(c)):
                c[d] += level[i] * y[i] * X[i, d]
