"""The data package: every public name is there, and asking for none of them costs nothing."""

import subprocess
import sys

import pytest

from firstlight import data


@pytest.mark.parametrize("name", data.__all__)
def test_every_public_name_resolves(name):
    assert getattr(data, name).__name__ == name
    assert name in dir(data)


def test_unknown_name():
    with pytest.raises(AttributeError, match="nothing"):
        _ = data.nothing


def test_import_is_cheap():
    code = (
        "import sys, firstlight.data, firstlight.references\n"
        "heavy = {'numpy', 'scipy', 'sklearn', 'pyarrow', 'pandas', 'matplotlib'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
