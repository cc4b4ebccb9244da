"""Tables that a user brought: named by their content, and bounded in all."""

import os

import numpy as np
import pytest

from firstlight.data import kept as module
from firstlight.data.kept import keep, kept


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("FIRSTLIGHT_CACHE", str(tmp_path))
    return tmp_path / "tables"


def table(seed):
    return np.random.default_rng(seed).normal(size=(200, 5)), np.arange(200) % 4


def test_those_brought_longest_ago_make_room(folder, monkeypatch):
    first, second, third = (keep(*table(seed)) for seed in range(3))
    for second_of_1970, name in enumerate((first, second, third)):
        os.utime(folder / f"{name}.npz", (0, second_of_1970))
    size = (folder / f"{first}.npz").stat().st_size
    monkeypatch.setattr(module, "TOTAL", int(3.5 * size))
    assert keep(*table(0)) == first  # brought again: now the newest of three
    fourth = keep(*table(3))
    assert {path.stem for path in folder.iterdir()} == {first, third, fourth}
    with pytest.raises(ValueError, match="bring the file once more"):
        kept(second)
    monkeypatch.setattr(module, "TOTAL", 1)
    fifth = keep(*table(4))
    assert kept(fifth)[0].shape == (200, 5)  # the newest stays, however large
    assert [path.stem for path in folder.iterdir()] == [fifth]
