"""Editing one kernel file must not leave old machine code of another in use."""

import os
import subprocess
import sys

INNER = """
from firstlight.maths.compiled import {kind}

@{kind}
def inner(x):
    return x + {more}
"""
OUTER = """
from firstlight.maths.compiled import compiled
from inner_{kind} import inner

@compiled
def outer(x):
    return 10 * inner(x)
"""


def write(folder, kind, more) -> None:
    (folder / f"outer_{kind}.py").write_text(OUTER.format(kind=kind))
    (folder / f"inner_{kind}.py").write_text(INNER.format(kind=kind, more=more))


def answers(folder, kinds, cache=None) -> list[str]:
    """Return what `outer` of each kind says in a new process, and how often it came from disk."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(folder), *sys.path])}
    environment |= {"NUMBA_CACHE_DIR": str(cache)} if cache else {}
    code = "".join(
        f"from outer_{kind} import outer; print(outer(1), sum(outer.stats.cache_hits.values()))\n"
        for kind in kinds
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    return done.stdout.splitlines()


def test_an_edit_of_a_callee_in_another_file_is_seen(tmp_path):
    # numba 0.68's own cache answers 20 again here: it looks at the file of `outer` alone
    kinds = ["compiled", "part"]
    for kind in kinds:
        write(tmp_path, kind, more=1)
    assert answers(tmp_path, kinds) == ["20 0", "20 0"]
    assert answers(tmp_path, kinds) == ["20 1", "20 1"], "a second process finds the machine code on disk"
    for kind in kinds:
        write(tmp_path, kind, more=2)
    assert answers(tmp_path, kinds) == ["30 0", "30 0"]


def test_a_part_is_a_function_of_python_too_and_leaves_nothing_on_disk(tmp_path):
    write(tmp_path, "part", more="x")
    with (tmp_path / "outer_part.py").open("a") as file:
        file.write("\n\nassert inner('a' + 'b').__class__ is str\n")
    # and a cache folder given to numba is used
    assert answers(tmp_path, ["part"], tmp_path / "chosen") == ["20 0"]
    assert {path.name.split("-")[0] for path in (tmp_path / "chosen").rglob("*.nbi")} == {"outer_part.outer"}
