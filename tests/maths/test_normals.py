import os
import subprocess
import sys

import numpy as np
import pytest
from scipy import stats

from firstlight.maths.normals import LANES, Normals


def test_they_are_normal_and_independent():
    rng = Normals(np.random.SFC64(1))
    z, next_ = (rng.standard_normal((700, 701)) for _ in range(2))
    count = z.size
    assert abs(np.corrcoef(z.ravel(), next_.ravel())[0, 1]) < 4 / np.sqrt(count)
    assert abs(z.mean()) < 4 / np.sqrt(count)
    assert abs(z.var() - 1) < 4 * np.sqrt(2 / count)
    assert abs(stats.kurtosis(z.ravel())) < 4 * np.sqrt(24 / count)
    assert stats.kstest(z.ravel(), "norm").pvalue > 1e-3
    assert 4.2 < np.abs(z).max() < 6  # the largest of half a million: 4.9 ± 0.2
    flat = z.ravel()
    for lag in (1, 2, LANES, 2 * LANES):  # the two normals of a pair stand so far apart
        for power in (1, 2):
            a, b = flat[:-lag] ** power, flat[lag:] ** power
            assert abs(np.corrcoef(a, b)[0, 1]) < 4 / np.sqrt(count)


@pytest.mark.parametrize("size", [1, 2, 7, (3, 5), 16 * LANES - 1, 16 * LANES, 16 * LANES + 1, (41, 1001)])
def test_any_size(size):
    one, other = (Normals(np.random.SFC64(2)) for _ in range(2))
    z, out = one.standard_normal(size), np.empty(size)
    other.standard_normal(out=out)
    assert np.isfinite(z).all()
    assert np.array_equal(z, out)


def test_the_rest_is_the_generator():
    rng = Normals(np.random.SFC64(3))
    assert isinstance(rng.standard_normal(), float)
    assert rng.standard_normal(4, dtype=np.float32).dtype == np.float32
    assert np.random.default_rng(rng) is rng
    with pytest.raises(ValueError, match="contiguous"):
        rng.standard_normal(out=np.empty((200, 200))[:, :100])


def test_the_words_are_those_of_sfc64():
    from firstlight.maths.box_muller import advance

    generators = [np.random.SFC64(seed) for seed in range(5)]
    state = np.stack([generator.state["state"]["state"] for generator in generators], axis=1)
    words = np.empty(5, np.uint64)
    for _ in range(100):
        advance(*state, words)
        assert words.tolist() == [generator.random_raw() for generator in generators]


def test_the_transform_is_that_of_box_and_muller():
    from firstlight.maths.box_muller import _box_muller

    lengths = np.r_[0, 1, 2**31, 2**32 - 1, np.random.default_rng(4).integers(0, 2**32, 100_000)].astype(
        np.uint32
    )
    angles = np.r_[0, 1, 2**31, 2**32 - 1, np.random.default_rng(5).integers(0, 2**32, 100_000)].astype(
        np.uint32
    )
    cosines, sines = np.empty((2, lengths.size))
    _box_muller(lengths, angles, cosines, sines)
    uniform = ((lengths.astype(np.float32) + np.float32(0.5)) * np.float32(2.0**-32)).astype(float)
    length, turn = np.sqrt(-2 * np.log(uniform)), (angles.view(np.int32) >> 1) * 2.0**-32
    sign = 1 - 2.0 * (angles & 1)
    # a dozen roundings of single precision at most, each of half a unit: 6 · 2⁻²³ of the length
    bound = 6 * 2.0**-23 * length
    assert (np.abs(sines - length * np.sin(2 * np.pi * turn)) <= bound).all()
    assert (np.abs(cosines - length * sign * np.cos(2 * np.pi * turn)) <= bound).all()


FINGERPRINT = """
import hashlib, numpy as np
from firstlight.maths.normals import Normals
z = Normals(np.random.SFC64(0)).standard_normal((300, 1000))
print(hashlib.sha256(z.astype("<f8").tobytes()).hexdigest())
"""


@pytest.mark.parametrize("target", ["", "generic"])
def test_every_processor_draws_the_same_bits(target, tmp_path):
    # compiled for this processor, and for one with no fused or wide instructions
    names = {"NUMBA_CPU_NAME": target, "NUMBA_CPU_FEATURES": ""} if target else {}
    environment = {k: v for k, v in os.environ.items() if not k.startswith("NUMBA_CPU")} | names
    environment["NUMBA_CACHE_DIR"] = str(tmp_path)
    done = subprocess.run(
        [sys.executable, "-c", FINGERPRINT], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "8260354b08ea0b007dddc7df9b64f31a6afbdbc3577cf6c56e725583d676b240"
