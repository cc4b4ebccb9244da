"""Many normals at once, compiled: generators side by side, and Box and Muller's transform of their words.

There is no branch and no call in the loops, so that the compiler can use vector instructions. The transform
is in single precision, where vectors are longest: the logarithm is a power series of artanh, sine and cosine
are Taylor's within a quarter turn, each good to the precision of the format.
"""

from math import factorial, log, pi, sqrt

import numpy as np
from numba import njit

_F, _I = np.float32, np.int32
_ZERO, _QUARTER, _HALF, _ONE, _TWO = _F(0), _F(0.25), _F(0.5), _F(1), _F(2)
_ROOT_TWO, _LOG_TWO, _UNIT = _F(sqrt(2)), _F(log(2)), _F(2.0**-32)
_MANTISSA, _EXPONENT_OF_ONE = _I(0x7FFFFF), _I(0x3F800000)
_L1, _L3, _L5, _L7, _L9 = (_F(2 / odd) for odd in (1, 3, 5, 7, 9))
_S1, _S3, _S5, _S7, _S9, _S11 = (_F((-1) ** (k // 2) * (2 * pi) ** k / factorial(k)) for k in range(1, 12, 2))
_C2, _C4, _C6, _C8, _C10, _C12 = (
    _F((-1) ** (k // 2) * (2 * pi) ** k / factorial(k)) for k in range(2, 13, 2)
)


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


@njit(nogil=True, cache=True, fastmath=True, error_model="numpy")
def _box_muller(lengths, angles, cosines, sines):  # type: ignore[no-untyped-def]
    """Write two normals for each pair of 32-bit words, one for the length and one for the angle."""
    for i in range(len(cosines)):
        uniform = (_F(lengths[i]) + _HALF) * _UNIT  # never zero
        turn = _F(_I(angles[i])) * _UNIT  # from -1/2 to 1/2
        # log(2^e m) with m from 1/√2 to √2, by artanh
        bits = _F(uniform).view(np.int32)
        m = _I((bits & _MANTISSA) | _EXPONENT_OF_ONE).view(np.float32)
        large = m > _ROOT_TWO
        m = m * _HALF if large else m
        e = _F(_I((bits - _EXPONENT_OF_ONE) >> _I(23))) + (_ONE if large else _ZERO)
        z = (m - _ONE) / (m + _ONE)
        zz = z * z
        logarithm = e * _LOG_TWO + z * (_L1 + zz * (_L3 + zz * (_L5 + zz * (_L7 + zz * _L9))))
        length = np.sqrt(-_TWO * logarithm)
        # beyond a quarter turn the sine is that of the mirrored angle, and the cosine changes sign
        beyond = abs(turn) > _QUARTER
        t = np.copysign(_HALF, turn) - turn if beyond else turn
        tt = t * t
        sine = t * (_S1 + tt * (_S3 + tt * (_S5 + tt * (_S7 + tt * (_S9 + tt * _S11)))))
        cosine = _ONE + tt * (_C2 + tt * (_C4 + tt * (_C6 + tt * (_C8 + tt * (_C10 + tt * _C12)))))
        cosines[i] = length * (-cosine if beyond else cosine)
        sines[i] = length * sine
