"""Files that appear complete or not at all, whoever else writes."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from firstlight.data import kept
from firstlight.maths.files import replacing


def test_threads_that_write_one_file_do_not_meet(tmp_path):
    target = tmp_path / "one.txt"

    def write(letter):
        for _ in range(20):
            with replacing(target) as part:
                part.write_text(letter * 1000)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(write, "abcdefgh"))
    assert len(set(target.read_text())) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["one.txt"]


def test_an_error_leaves_the_old_file_and_no_other(tmp_path):
    target = tmp_path / "one.txt"
    target.write_text("old")

    def fail():
        with replacing(target) as part:
            part.write_text("half")
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert target.read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["one.txt"]


def test_kept_rows_are_their_owners_alone(tmp_path, monkeypatch):
    monkeypatch.setattr(kept, "_path", lambda name: tmp_path / f"{name}.npz")
    name = kept.keep(np.eye(3), ["a", "b", "a"])
    assert (tmp_path / f"{name}.npz").stat().st_mode & 0o077 == 0
