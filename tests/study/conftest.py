"""What the tests of studies share."""

import os
from pathlib import Path

import pytest

collect_ignore = ["bare"]  # it changes the process that imports it


@pytest.fixture(autouse=True)
def without_dask(monkeypatch):
    """Let the processes that a test starts find no dask, which xarray would load in each of them."""
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent / "bare"), prepend=os.pathsep)
