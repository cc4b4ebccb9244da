"""Editing one kernel file must not leave old machine code of another in use."""

import os
import subprocess
import sys

INNER = """
from firstlight.maths.compiled import compiled

@compiled
def inner(x):
    return x + {}
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


def test_an_edit_of_a_callee_in_another_file_is_seen(tmp_path):
    # numba 0.68's own cache answers 20 again here: it looks at the file of `outer` alone
    (tmp_path / "outer.py").write_text(OUTER)
    (tmp_path / "inner.py").write_text(INNER.format(1))
    assert answer(tmp_path) == "20 0"
    assert answer(tmp_path) == "20 1", "and a second process finds the machine code on disk"
    (tmp_path / "inner.py").write_text(INNER.format(2))
    assert answer(tmp_path) == "30 0"


def test_a_cache_folder_given_to_numba_is_used(tmp_path):
    (tmp_path / "outer.py").write_text(OUTER)
    (tmp_path / "inner.py").write_text(INNER.format(1))
    assert answer(tmp_path, tmp_path / "chosen") == "20 0"
    assert list((tmp_path / "chosen").rglob("*.nbi"))
