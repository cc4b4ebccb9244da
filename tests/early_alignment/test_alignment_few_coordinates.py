"""Many samples in few coordinates are walked without a Gram matrix: the same paths."""

import numpy as np
import pytest

from firstlight import early_alignment as ea
from firstlight.data.separable import separable
from firstlight.early_alignment.theory import align


@pytest.mark.parametrize("seed", range(6))
def test_paths_do_not_depend_on_the_gram_matrix(seed, monkeypatch):
    rng = np.random.default_rng(seed)
    if seed % 2:  # sliding, and data that flip many times
        X, y = rng.normal(size=(60, 3 + seed)), rng.choice([-1.0, 1.0], 60)
    else:
        X, y = separable(300, 4 + seed, 0.2, rng)
    W, s = rng.normal(size=(20, X.shape[1])), rng.choice([-1.0, 1.0], 20)
    formed = ea.align(X, y, W, s)
    monkeypatch.setattr(align, "_MANY", 1)
    assert align._gram(None, X).size == 0
    free = ea.align(X, y, W, s)
    np.testing.assert_array_equal(free.fate, formed.fate)
    np.testing.assert_array_equal(free.complete, formed.complete)
    # exact but for rounding, which separable data do not amplify, and random ones by the number of events
    np.testing.assert_allclose(free.entry_time, formed.entry_time, rtol=1e-9)
    np.testing.assert_allclose(free.death_time, formed.death_time, rtol=1e-9)
    times = np.linspace(0, formed.last_event, 5)
    np.testing.assert_allclose(free.direction(times), formed.direction(times), atol=1e-8)


def test_the_kernel_is_compiled_for_one_layout():
    from firstlight.early_alignment.theory.kernel.replay import replay
    from firstlight.early_alignment.theory.kernel.walk import trace

    rng = np.random.default_rng(0)
    table = np.column_stack([rng.normal(size=(12, 3)), np.resize([1.0, -1.0], 12)])
    W, s = rng.normal(size=(5, 3)), np.ones(5)
    plain = table[:, :3].copy(), table[:, 3].copy()
    for part in (frozen := [part.copy() for part in plain]):
        part.setflags(write=False)
    ends = []
    for X, y in (plain, (table[:, :3], table[:, 3]), frozen, (np.asfortranarray(plain[0]), plain[1])):
        path = ea.align(X, y, W, s)
        ends.append(path.direction(path.last_event))
    np.testing.assert_array_equal(ends, [ends[0]] * 4)
    assert [len(kernel.signatures) for kernel in (trace, replay)] == [1, 1]  # a second takes half a minute


@pytest.mark.parametrize("seed", range(12))
def test_separable_data_are_walked_by_the_plain_kernel_to_the_same_ends(seed, monkeypatch):
    """That kernel knows no sliding; starts on attracting walls, of every third problem, go to the other."""
    rng = np.random.default_rng(seed)
    X, y = separable(int(rng.integers(2, 150)), int(rng.integers(2, 12)), 0.2, rng)
    W, v = rng.normal(size=(30, X.shape[1])), rng.normal(size=30)
    if seed % 3 == 0:
        W -= np.outer(W @ X[0], X[0]) / (X[0] @ X[0])
    assert align._never_slides(X @ X.T, y)
    start = {"signs": np.sign(v)} if seed % 2 else {"second_layer": v}
    plain = ea.align(X, y, W, **start)
    monkeypatch.setattr(align, "_never_slides", lambda gram, y: False)
    whole = ea.align(X, y, W, **start)
    np.testing.assert_array_equal(plain.fate, whole.fate)
    np.testing.assert_array_equal(plain.events["datum"], whole.events["datum"])
    times = np.linspace(0, whole.last_event, 5)
    for one, other in zip(plain.state(times), whole.state(times), strict=True):
        np.testing.assert_allclose(
            one, other, rtol=1e-11, atol=1e-11
        )  # the same operations, but for rounding


def test_one_contradicting_pair_is_seen_in_any_block_of_the_gram_matrix():
    X, y = separable(300, 5, 0.2, np.random.default_rng(0))
    assert align._never_slides(X @ X.T, y)
    for i in (0, 150, 299):
        flipped = y.copy()
        flipped[i] *= -1
        assert not align._never_slides(X @ X.T, flipped)
    assert not align._never_slides(np.empty((0, 0)), y), "without the matrix nothing is known"
