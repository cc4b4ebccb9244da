"""Random streams: SPEC 7 `rng` arguments, and child streams addressed by keys.

A sweep must give the same numbers on one worker, on many, and after a resume. So no stream is ever drawn
"in turn": each (study, point, trial) names its own stream, and the name alone decides the numbers.
"""

import hashlib
from collections.abc import Sequence
from math import inf

import numpy as np

from firstlight.maths.checks import check_count

RNGLike = np.random.Generator | np.random.BitGenerator | np.random.SeedSequence
SeedLike = int | np.integer | Sequence[int] | np.ndarray | None
Key = int | str


def generator(rng: RNGLike | SeedLike = None) -> np.random.Generator:
    """Turn any SPEC 7 `rng` argument into a Generator.

    Parameters
    ----------
    rng : Generator, BitGenerator, SeedSequence, int, sequence of int, or None
        A Generator is passed through, so that successive calls advance it; everything else seeds a new one
        (None: from the operating system).
    """
    if isinstance(rng, bool) or (isinstance(rng, (int, np.integer)) and rng < 0):
        raise ValueError(f"rng = {rng!r}: a seed must be a non-negative integer")
    try:
        return np.random.default_rng(rng)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"rng = {rng!r}: expected a Generator, BitGenerator, SeedSequence, non-negative int or None"
        ) from error


def _words(key: Key) -> tuple[int, ...]:
    """Four 32-bit words that stand for one key; integers and strings never collide."""
    if isinstance(key, bool) or not isinstance(key, (int, np.integer, str)):
        raise ValueError(f"stream key {key!r}: a key is an int or a str")
    text = f"s:{key}" if isinstance(key, str) else f"i:{int(key)}"
    return tuple(np.frombuffer(hashlib.sha256(text.encode()).digest()[:16], dtype="<u4").tolist())


def stream(seed: int, *keys: Key) -> np.random.Generator:
    """Return the stream that belongs to an address, whoever asks and whenever.

    Parameters
    ----------
    seed : int
        The study's seed, at least 0.
    *keys : int or str
        The address, for example a study's name, a point's fingerprint and a trial number.

    Returns
    -------
    numpy.random.Generator
        A fresh PCG64 stream; different addresses give independent streams.

    Examples
    --------
    >>> one, again = stream(0, "width", 3), stream(0, "width", 3)
    >>> other = stream(0, "width", 4)
    >>> x = one.normal()
    >>> bool(x == again.normal()), bool(x == other.normal())
    (True, False)
    """
    seed = check_count("seed", seed, 0, inf)
    words = [word for key in keys for word in _words(key)]
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=tuple(words)))
