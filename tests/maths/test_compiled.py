"""Editing one kernel file must not leave old machine code of another in use."""

import os
import subprocess
import sys

import pytest

INNER = """
from firstlight.maths.compiled import {kind}

@{kind}
def inner(x):
    return x + {more}
"""
OUTER = """
from firstlight.maths.compiled import compiled
from inner import inner

@compiled
def outer(x):
    return 10 * inner(x)
"""


def answer(folder, cache=None) -> str:
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(folder), *sys.path])}
    environment |= {"NUMBA_CACHE_DIR": str(cache)} if cache else {}
    code = "from outer import outer; print(outer(1), sum(outer.stats.cache_hits.values()))"
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


@pytest.mark.parametrize("kind", ["compiled", "part"])
def test_an_edit_of_a_callee_in_another_file_is_seen(kind, tmp_path):
    # numba 0.68's own cache answers 20 again here: it looks at the file of `outer` alone
    (tmp_path / "outer.py").write_text(OUTER)
    (tmp_path / "inner.py").write_text(INNER.format(kind=kind, more=1))
    assert answer(tmp_path) == "20 0"
    assert answer(tmp_path) == "20 1", "and a second process finds the machine code on disk"
    (tmp_path / "inner.py").write_text(INNER.format(kind=kind, more=2))
    assert answer(tmp_path) == "30 0"


def test_a_cache_folder_given_to_numba_is_used(tmp_path):
    (tmp_path / "outer.py").write_text(OUTER)
    (tmp_path / "inner.py").write_text(INNER.format(kind="part", more=1))
    assert answer(tmp_path, tmp_path / "chosen") == "20 0"
    assert list((tmp_path / "chosen").rglob("*.nbi"))


def test_a_part_is_a_function_of_python_too_and_leaves_nothing_on_disk(tmp_path):
    (tmp_path / "outer.py").write_text(OUTER + "    \n\nassert inner('a' + 'b').__class__ is str\n")
    (tmp_path / "inner.py").write_text(INNER.format(kind="part", more="x"))
    assert answer(tmp_path, tmp_path / "chosen") == "20 0"
    assert {path.name.split("-")[0] for path in (tmp_path / "chosen").rglob("*.nbi")} == {"outer.outer"}
