"""Many normals at once, compiled: generators side by side, and Box and Muller's transform of their words.

There is no branch and no call in the loops, so that the compiler can use vector instructions. The transform
is in single precision, where vectors are longest. It is made of sums, products, quotients and roots alone,
each rounded as IEEE 754 says and in the order written (no fastmath: it would fuse and approximate), so every
processor gives the same bits. Logarithm, sine and cosine are polynomials that interpolate at Chebyshev's
nodes, each good to the precision of the format.
"""

from math import log, sqrt

import numpy as np
from numba import njit

_F, _I = np.float32, np.int32
_HALF, _ONE, _TWO = _F(0.5), _F(1), _F(2)
_LOG_TWO, _UNIT = _F(log(2)), _F(2.0**-32)
_ROOT_HALF = np.array(sqrt(0.5), _F).view(_I)[()]  # as a word
# 2 artanh(z) / z by z² up to z = (√2 - 1) / (√2 + 1); sin 2πt / t and (cos 2πt - 1) / t² by t² up to t = 1/4
_L1, _L3, _L5, _L7 = map(_F, (2.0, 0.66666818, 0.3997485, 0.2992439))
_S1, _S3, _S5, _S7, _S9 = map(_F, (6.2831855, -41.341682, 81.60248, -76.58117, 39.759827))
_C2, _C4, _C6, _C8, _C10 = map(_F, (-19.739208, 64.939384, -85.45536, 60.17904, -25.218163))


@njit(nogil=True, cache=True)
def fill(state, out):  # type: ignore[no-untyped-def]
    """Fill `out`, of even length, from small fast chaotic generators: the columns of `state`, (4, lanes)."""
    lanes = state.shape[1]
    words = np.empty(lanes, np.uint64)
    halves = words.view(np.uint32)
    for start in range(0, len(out), 2 * lanes):
        advance(state[0], state[1], state[2], state[3], words)
        part = out[start : start + 2 * lanes]
        pairs = len(part) // 2
        _box_muller(halves[:pairs], halves[lanes:], part[:pairs], part[pairs:])


@njit(nogil=True, cache=True)
def advance(a, b, c, counter, words):  # type: ignore[no-untyped-def]
    """Take the next word of each generator (Doty-Humphrey's SFC64)."""
    for k in range(len(words)):
        word = a[k] + b[k] + counter[k]
        counter[k] += np.uint64(1)
        a[k] = b[k] ^ (b[k] >> np.uint64(11))
        b[k] = c[k] + (c[k] << np.uint64(3))
        c[k] = ((c[k] << np.uint64(24)) | (c[k] >> np.uint64(40))) + word
        words[k] = word


@njit(nogil=True, cache=True, error_model="numpy")
def _box_muller(lengths, angles, cosines, sines):  # type: ignore[no-untyped-def]
    """Write two normals for each pair of 32-bit words, one for the length and one for the angle."""
    for i in range(len(cosines)):
        uniform = _F((_F(lengths[i]) + _HALF) * _UNIT)  # never zero
        # log(2^e m) with m from 1/√2 to √2, by artanh
        bits = uniform.view(np.int32)
        e = _I(_I(bits - _ROOT_HALF) >> _I(23))
        m = _I(bits - _I(e << _I(23))).view(np.float32)
        z = (m - _ONE) / (m + _ONE)
        zz = z * z
        logarithm = _F(e) * _LOG_TWO + z * (_L1 + zz * (_L3 + zz * (_L5 + zz * _L7)))
        length = np.sqrt(-_TWO * logarithm)
        # 31 bits are an angle within a quarter turn, the last one is the sign of the cosine
        t = _F(_I(angles[i]) >> _I(1)) * _UNIT
        tt = t * t
        sine = t * (_S1 + tt * (_S3 + tt * (_S5 + tt * (_S7 + tt * _S9))))
        cosine = _ONE + tt * (_C2 + tt * (_C4 + tt * (_C6 + tt * (_C8 + tt * _C10))))
        sign = _I(_I(angles[i]) << _I(31))
        cosines[i] = _I(_F(length * cosine).view(np.int32) ^ sign).view(np.float32)
        sines[i] = length * sine
