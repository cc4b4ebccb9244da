"""Files that appear complete or not at all, whoever else writes."""

import os
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from firstlight.data import kept
from firstlight.demo import STUDY, results
from firstlight.maths.files import replacing
from firstlight.show.save import save
from firstlight.show.summary import export


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


def special(kind, path):
    """Make what is no regular file."""
    if kind == "fifo":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    else:
        try:
            os.mknod(path, stat.S_IFCHR | 0o600, os.makedev(1, 3))
        except PermissionError:
            pytest.skip("only some may make devices")


def kinds(folder):
    return {path.name: stat.S_IFMT(path.lstat().st_mode) for path in folder.iterdir()}


@pytest.mark.parametrize("kind", ["fifo", "device", "folder"])
@pytest.mark.parametrize("link", [False, True])
def test_what_is_no_regular_file_stays_and_is_refused(kind, link, tmp_path):
    target, folder = tmp_path / "one.csv", tmp_path / "other"
    folder.mkdir()
    special(kind, folder / "special" if link else target)
    if link:
        target.symlink_to(folder / "special")
    before = kinds(tmp_path), kinds(folder)
    with pytest.raises(ValueError, match=r"one\.csv: exists and is no regular file"), replacing(target):
        raise AssertionError("nothing may be computed or written for it")
    with pytest.raises(ValueError, match="no regular file"):
        export(STUDY, results(), "csv", target)
    assert (kinds(tmp_path), kinds(folder)) == before


@pytest.mark.parametrize("beside", ["csv", "svg", "json"])
def test_no_part_is_written_where_a_file_beside_it_cannot_be(beside, tmp_path):
    special("fifo", tmp_path / f"demo-rate-quick.{beside}")

    def write():
        if beside == "json":
            return export(STUDY, results(), "csv", tmp_path / "demo-rate-quick.csv")
        return save(STUDY, results(), tmp_path)

    with pytest.raises(ValueError, match=f"quick.{beside}: exists and is no regular file"):
        write()
    assert len(kinds(tmp_path)) == 1


@pytest.mark.parametrize("there", [True, False])
def test_a_link_stays_and_what_it_leads_to_is_written(there, tmp_path):
    (tmp_path / "folder").mkdir()
    real, link = tmp_path / "folder" / "real.txt", tmp_path / "link.txt"
    if there:
        real.write_text("old")
    link.symlink_to("folder/real.txt")
    with replacing(link) as part:
        part.write_text("new")
    assert link.is_symlink()
    assert real.read_text() == "new"
    assert sorted(kinds(tmp_path)) == ["folder", "link.txt"]


FULL = """
import resource, signal, sys
from pathlib import Path
from firstlight.demo import STUDY, results
from firstlight.show.save import save
from firstlight.show.summary import export
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
found, folder = results(), Path(sys.argv[1])
usual = resource.getrlimit(resource.RLIMIT_FSIZE)
kinds = ("nc", "parquet", "csv")
writers = [lambda kind=kind: export(STUDY, found, kind, folder / f"x.{kind}") for kind in kinds]
for write in (*writers, lambda: save(STUDY, found, folder)):
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), usual[1]))
    try:
        write()
        said = "nothing"
    except OSError as error:
        said = str(error)
    resource.setrlimit(resource.RLIMIT_FSIZE, usual)
    print(said)
"""


@pytest.mark.parametrize("room", ["0", "300"])
def test_a_full_disk_is_told_with_the_file(room, tmp_path):
    """A limit on files' size stands for it: systems say either without a name.

    HDF5 says of the one that permission is denied, of the other nothing, which read "[Errno None] None".
    """
    pytest.importorskip("resource")
    command = [sys.executable, "-c", FULL, tmp_path, room]
    told = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    names = ("x.nc", "x.parquet", "x.csv", "demo-rate-quick.png")
    assert all(str(tmp_path / name) in line for name, line in zip(names, told, strict=True))
    assert "is the disk full" in told[0]
    assert "None" not in "".join(told)
    assert not list(tmp_path.iterdir())
