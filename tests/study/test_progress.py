"""The progress of a run: one line that says how far it is, whatever the width of the terminal."""

import io
import re

import numpy as np
import pytest
from rich.console import Console

from firstlight.demo import STUDY
from firstlight.study.engines import Serial
from firstlight.study.run import advance
from firstlight.study.schedule import Bar, progress_line
from firstlight.study.store import Store


@pytest.mark.parametrize("width", [20, 40, 79, 120])
def test_a_terminal_of_any_width_gets_whole_lines(width, tmp_path):
    text = io.StringIO()
    console = Console(file=text, force_terminal=True, width=width, color_system=None)
    with Store(tmp_path / "study.sqlite", write=True) as store, Bar(STUDY, console) as bar:
        advance(STUDY, store, Serial(), scale="quick", tell=bar)
    seen = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text.getvalue()).replace("\r", "\n")
    lines = [line.strip() for line in seen.splitlines() if line.strip()]
    assert max(map(len, lines)) <= width
    assert "…" not in text.getvalue()
    assert lines[-1].split(",")[0].endswith("15 of 15")
    if width >= 40:
        assert lines[-1].endswith("elapsed")


def test_less_is_said_where_less_fits():
    rng = np.random.default_rng(0)
    for _ in range(200):
        total = int(10 ** rng.uniform(0, 6))
        done, width = int(rng.integers(0, total + 1)), int(rng.integers(16, 100))
        line = progress_line(done, total, 10 ** rng.uniform(-1, 5), 10 ** rng.uniform(-1, 5), width)
        assert len(line) <= width
        assert line.startswith(f"{done} of {total}"[:width])
        assert ("left" in line) <= (done < total)
