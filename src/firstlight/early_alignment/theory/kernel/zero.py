"""Neurons that nothing acts on any more: they come to nothing, or rest on walls alone."""

from firstlight.early_alignment.theory.kernel.state import (
    BESIDE,
    FULL,
    NONE,
    ROUNDING,
    SETTLED,
    VANISHED,
    part,
    record,
    set_level,
)


@part
def at_zero(data, neuron, move, time, log_norm, step, v, v_end, numbers, which, count):  # type: ignore[no-untyped-def]
    """End the walk of a neuron that comes to nothing: it is dead, or comes out beyond and grows for ever."""
    if count + len(neuron.q) + 1 > len(which):
        return count, FULL
    if not _pulls_beyond(data, neuron, move):
        return record(neuron, _vanish(neuron), time, log_norm, 0.0, v, numbers, which, count), VANISHED
    step *= 1 + max(ROUNDING * min(1.0, abs(v_end)), BESIDE)  # just beyond, as 0 has no direction
    count = record(neuron, _turn_over(data, neuron), time, log_norm, step, v_end, numbers, which, count)
    neuron.changed[0] = -1
    return record(neuron, 1, time, log_norm, 0.0, v_end, numbers, which, count), SETTLED


@part
def sees_nothing(data, neuron, both):  # type: ignore[no-untyped-def]
    """Whether a neuron at rest is on walls alone of what could act on it: there is no datum on any side."""
    for i in range(len(neuron.q)):
        off = neuron.side[i] < 0 and not both[i]
        if not off and abs(neuron.q[i]) > ROUNDING * data.norms[i]:
            return False
    return True


@part
def switch_off(neuron, numbers, which, count):  # type: ignore[no-untyped-def]
    """Switch everything off at the last event; return the number of rows."""
    time, log_norm, v = numbers[count - 1, 0], numbers[count - 1, 1], numbers[count - 1, 3]
    return record(neuron, _vanish(neuron), time, log_norm, 0.0, v, numbers, which, count)


@part
def _pulls_beyond(data, neuron, move):  # type: ignore[no-untyped-def]
    """Whether all data lie on the neuron's line, and those on the other side of 0 pull it on.

    A neuron that passes 0 at any distance comes out there. What is on no such line may have many ways out.
    """
    w, q = neuron.w, neuron.q
    pull, most = 0.0, 0.0
    for i in range(len(q)):
        aside = 0.0
        for d in range(len(w)):
            aside += (data.X[i, d] - q[i] * w[d]) ** 2
        if aside > 2 * (ROUNDING * data.norms[i]) ** 2:  # further aside than what counts as 0
            return False
        pull -= move * data.y[i] * min(q[i], 0.0)
        most += abs(q[i])
    return pull > ROUNDING * most


@part
def _turn_over(data, neuron):  # type: ignore[no-untyped-def]
    """Switch every datum of the neuron's line; return how many."""
    changes = 0
    for i in range(len(neuron.q)):
        if neuron.q[i] != 0:
            neuron.changed[changes] = i
            changes += 1
            set_level(data, neuron, i, 1.0 if neuron.q[i] < 0 else 0.0)
    return changes


@part
def _vanish(neuron):  # type: ignore[no-untyped-def]
    """Switch everything off; return how many events tell of it, one at least."""
    changes = int(NONE)
    for i in range(len(neuron.level)):
        neuron.changed[changes] = i
        changes += neuron.level[i] != 0
        neuron.level[i] = 0.0
    if changes == 0:  # what pulled it was always on
        neuron.changed[0], changes = -1, 1
    return changes
