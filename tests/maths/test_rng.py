"""Streams depend on their address and on nothing else."""

from concurrent.futures import ProcessPoolExecutor

import numpy as np
import pytest

from firstlight.maths.rng import generator, stream


def first_draw(trial: int) -> float:
    return float(stream(5, "study", "point", trial).normal())


def test_streams_do_not_depend_on_worker_count_or_order():
    alone = [first_draw(trial) for trial in range(12)]
    with ProcessPoolExecutor(2) as pool:
        together = list(pool.map(first_draw, range(12)))
    backwards = [first_draw(trial) for trial in reversed(range(12))][::-1]
    assert alone == together == backwards
    assert len(set(alone)) == 12


def test_addresses_do_not_collide():
    addresses = [
        (0, "a"),
        (0, "b"),
        (1, "a"),
        (0, 1),
        (0, "1"),
        (0, "a", 0),
        (0, 0, "a"),
        (0,),
        (0, "ab"),
        (0, "a", "b"),
    ]
    draws = {float(stream(*address).normal()) for address in addresses}
    assert len(draws) == len(addresses)


def test_streams_are_uncorrelated():
    draws = np.array([stream(0, "trial", i).normal(size=1000) for i in range(40)])
    pairs = np.corrcoef(draws)[np.triu_indices(40, 1)]
    # 780 correlations of standard deviation 1/sqrt(1000): the largest of so many is near 3.2 deviations
    assert np.abs(pairs).max() < 5 / np.sqrt(1000)


def test_a_generator_passes_through_and_seeds_repeat():
    rng = np.random.default_rng(1)
    assert generator(rng) is rng
    assert generator(3).normal() == generator(np.random.SeedSequence(3)).normal()
    assert generator(None).normal() != generator(None).normal()


@pytest.mark.parametrize("bad", [-1, 1.5, "seed", True])
def test_bad_seeds_are_named(bad):
    with pytest.raises(ValueError, match="rng = "):
        generator(bad)
    with pytest.raises(ValueError, match="seed = "):
        stream(bad, "a")


@pytest.mark.parametrize("bad", [1.5, None, True, ("a",)])
def test_bad_keys_are_named(bad):
    with pytest.raises(ValueError, match="stream key"):
        stream(0, bad)
