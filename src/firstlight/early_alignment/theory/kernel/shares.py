"""Sliding: a neuron on walls that attract from both sides, and the share with which each datum acts there.

The shares of all such data minimise ‖c‖ over the box, which is Filippov's solution: a share of 1 means that
the neuron leaves to the active side, 0 to the other. Rounding must not carry a neuron off its walls, least of
all one that shrinks: so w and c are projected on them.
"""

import numpy as np

from firstlight.early_alignment.theory.kernel.state import (
    ROUNDING,
    centre,
    dot,
    part,
    product,
    reordered,
    set_level,
)


@part
def settle(data, neuron, move, on_wall, count):  # type: ignore[no-untyped-def]
    """Find the shares of the data on attracting walls; return how many changed, appended to `changed`."""
    size, more, others = len(on_wall), 0, neuron.tally[0]
    for k in range(size):
        others -= neuron.level[on_wall[k]] > 0
    H, pull, share = np.empty((size, size)), np.empty(size), np.zeros(size)
    if size == 1 and others > 0:
        i = on_wall[0]
        share[0] = min(max(neuron.level[i] + move * neuron.b[i] / data.norms[i] ** 2, 0.0), 1.0)
    elif others > 0:  # else nothing drives the neuron, and all switch off
        for k in range(size):
            pull[k], share[k] = move * neuron.b[on_wall[k]], neuron.level[on_wall[k]]
            for r in range(size):
                H[k, r] = product(data, on_wall[k], on_wall[r])
        _shares(H, pull, share)
        _part_opposites(data, on_wall, share)
    for k in range(size):
        more += _take_share(data, neuron, on_wall[k], share[k], count + more)
    for k in range(size):
        if neuron.side[on_wall[k]] == 0:
            neuron.b[on_wall[k]] = 0.0  # the changes of the others have moved it
    return more


@part
def _part_opposites(data, on_wall, share):  # type: ignore[no-untyped-def]
    """Take from the shares of opposite data what cancels: a neuron is never on both sides of their wall."""
    for k in range(len(on_wall)):
        for m in range(k):
            i, j, aside = on_wall[k], on_wall[m], 0.0
            one, other = data.norms[i], data.norms[j]
            for d in range(data.X.shape[1]):
                aside += (data.X[i, d] / one + data.X[j, d] / other) ** 2
            if aside <= ROUNDING**2:
                both = min(share[k] * one, share[m] * other)
                share[k] -= both / one
                share[m] -= both / other


@part
def _take_share(data, neuron, i, share, count):  # type: ignore[no-untyped-def]
    if abs(share - round(share)) < ROUNDING:
        share = float(round(share))
    if share == neuron.level[i]:
        return 0
    set_level(data, neuron, i, share)
    if neuron.side[i] == 0:
        neuron.b[i] = 0.0  # exactly zero in theory: no drift off the wall
    neuron.changed[count] = i
    return 1


@part
def find_sliding(side, found):  # type: ignore[no-untyped-def]
    """Put into `found` the data on whose walls the neuron slides."""
    k = 0
    for i in range(len(side)):
        if side[i] == 0 and k < len(found):
            found[k] = i
            k += 1


@part
def project(X, level, sliding, w, c):  # type: ignore[no-untyped-def]
    """Take from w and c what sticks out of the walls on which the neuron slides.

    Both lose the same directions, to rounding: where the walls leave no more than a line, both are on it.
    """
    basis, size = np.empty((sliding, X.shape[1])), 0
    for i in range(len(level)):
        if 0 < level[i] < 1:
            row = basis[size]
            for d in range(len(row)):
                row[d] = X[i, d]
            whole = dot(row, row)
            _take_out(basis[:size], row)
            rest = dot(row, row)
            if rest > 1e-20 * whole:  # not a copy of the others
                for d in range(len(row)):
                    row[d] /= np.sqrt(rest)
                size += 1
    _take_out(basis[:size], w)
    _take_out(basis[:size], c)


@part
def _take_out(basis, vector):  # type: ignore[no-untyped-def]
    for _ in range(2):  # once more for what the first round leaves by rounding
        for k in range(len(basis)):
            part = dot(basis[k], vector)
            for d in range(len(vector)):
                vector[d] -= part * basis[k, d]


@part
def refresh(data, neuron, all_ways):  # type: ignore[no-untyped-def]
    """Form c and b anew, and q if the neuron slides; return ‖c‖² and whether that is 0 but for rounding."""
    w, c, level, sliding = neuron.w, neuron.c, neuron.level, int(neuron.tally[1])
    centre(data.X, data.y, data.drift, level, c)
    if all_ways is not None and sliding:
        project(data.X, level, sliding, w, c)
    for i in range(len(level)):
        neuron.b[i] = 0.0 if neuron.side[i] == 0 else dot(data.X[i], c)
        if sliding and neuron.q[i] != 0:
            neuron.q[i] = dot(data.X[i], w)
    cc = neuron.tally[2] = dot(c, c)
    return cc, cc <= (ROUNDING * (dot(level, data.norms) + data.constant)) ** 2


@part
def _shares(H, pull, share):  # type: ignore[no-untyped-def]
    """Minimise ½ δᵀHδ - pullᵀδ with share + δ in [0, 1], in place on `share` (Stark & Parker 1995)."""
    size = len(share)
    start, rest, free = np.empty(size), np.empty(size), np.empty(size, np.bool_)
    for k in range(size):
        start[k], free[k] = share[k], 0 < share[k] < 1
    for _ in range(100 * size + 100):
        bounded = True
        while bounded:
            _pull_left(H, pull, start, share, rest)
            bounded = _move_free(H, rest, share, free)
        _pull_left(H, pull, start, share, rest)
        worst, who = 0.0, -1
        for k in range(size):
            wrong = rest[k] if share[k] == 0 else -rest[k]
            if not free[k] and wrong > max(worst, ROUNDING * H[k, k]):
                worst, who = wrong, k
        if who < 0:
            return
        free[who] = True


@reordered
def _pull_left(H, pull, start, share, rest):  # type: ignore[no-untyped-def]
    """Write pull - Hδ."""
    for k in range(len(rest)):
        total = 0.0
        for m in range(len(rest)):
            total += H[k, m] * (share[m] - start[m])
        rest[k] = pull[k] - total


@part
def _move_free(H, rest, share, free):  # type: ignore[no-untyped-def]
    """Move the free shares to their minimum, or to the first bound on the way: True, and that is fixed."""
    F, size = np.empty(len(free), np.int64), 0
    for k in range(len(free)):
        F[size] = k
        size += free[k]
    if size == 0:
        return False
    A, B, order = np.empty((size, size)), np.empty((size, size)), np.empty(size, np.int64)
    change, more = np.empty(size), np.empty(size)
    for k in range(size):
        change[k] = rest[F[k]]
        for m in range(size):
            A[k, m] = B[k, m] = H[F[k], F[m]]
        B[k, k] += 1e-14 * A[k, k]  # two copies of one point may slide together
    _factorise(B, order)
    _solve(B, order, change)
    for k in range(size):
        more[k] = rest[F[k]] - dot(A[k], change)
    _solve(B, order, more)
    reach, who = 1.0, -1
    for k in range(size):
        change[k] += more[k]
        aim = share[F[k]] + change[k]
        room = -share[F[k]] if aim < 0 else 1 - share[F[k]]
        if (aim < 0 or aim > 1) and room / change[k] < reach:
            reach, who = room / change[k], k
    for k in range(size):
        share[F[k]] += reach * change[k]
    if who >= 0:
        share[F[who]] = 0.0 if change[who] < 0 else 1.0
        free[F[who]] = False
    return who >= 0


@part
def _factorise(B, order):  # type: ignore[no-untyped-def]
    """Replace B by its factors L and U, rows exchanged as `order` says; LAPACK takes seconds to compile."""
    size = len(B)
    for k in range(size):
        order[k] = k
        for i in range(k + 1, size):
            order[k] = i if abs(B[i, k]) > abs(B[order[k], k]) else order[k]
        for m in range(size):
            B[k, m], B[order[k], m] = B[order[k], m], B[k, m]
        for i in range(k + 1, size):
            B[i, k] /= B[k, k]
            for m in range(k + 1, size):
                B[i, m] -= B[i, k] * B[k, m]


@part
def _solve(factors, order, x):  # type: ignore[no-untyped-def]
    """Replace the right-hand side x by the solution."""
    for k in range(len(x)):
        x[k], x[order[k]] = x[order[k]], x[k]
    for k in range(len(x)):
        x[k] -= dot(factors[k, :k], x[:k])
    for k in range(len(x) - 1, -1, -1):
        x[k] = (x[k] - dot(factors[k, k + 1 :], x[k + 1 :])) / factors[k, k]
