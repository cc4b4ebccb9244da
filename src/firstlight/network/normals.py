"""Standard normals, fast: they are what a trial does besides multiplying matrices."""

from typing import Any

import numpy as np

CHUNK = 65_536  # pairs that are drawn at once: few enough for the cache, many enough for threads


class Normals(np.random.Generator):
    """A Generator whose double-precision normals come from Box and Muller's transform, compiled.

    Angles and lengths are worked out in single precision: a third of the time of the default method, and
    threads do not wait for each other. A normal then has 24 random bits and is at most 6.7 in size, which one
    in 10¹⁰ would exceed.

    Examples
    --------
    >>> z = Normals(np.random.SFC64(0)).standard_normal((500, 200))
    >>> z.shape, bool(abs(z.mean()) < 0.01), bool(abs(z.std() - 1) < 0.01)
    ((500, 200), True, True)
    """

    def standard_normal(self, size: Any = None, dtype: Any = np.float64, out: Any = None) -> Any:
        """Draw standard normals, as `numpy.random.Generator.standard_normal` does."""
        if (size is None and out is None) or np.dtype(dtype) != np.float64:
            return super().standard_normal(size, dtype, out)
        from firstlight.network.box_muller import box_muller

        values = np.empty(size) if out is None else out
        flat = values.reshape(-1)
        if not np.shares_memory(flat, values):
            raise ValueError("out: must be a contiguous array")
        for start in range(0, flat.size, 2 * CHUNK):
            part = flat[start : start + 2 * CHUNK]
            half, odd = divmod(part.size, 2)
            words = self.integers(0, 2**64 - 1, half, dtype=np.uint64, endpoint=True).view(np.uint32)
            box_muller(words[:half], words[half:], part[:half], part[half : 2 * half])
            if odd:
                part[-1] = super().standard_normal()
        return values
