"""The page on own data quotes what the program says, and shows what was measured."""

import re
from pathlib import Path

import numpy as np
from typer.testing import CliRunner

from firstlight.cli import app
from firstlight.diagnosis import Clock, Prediction, user_data
from firstlight.diagnosis.run import diagnose
from firstlight.one_step.diagnosis import diagnose as one_step
from firstlight.phase_transition.diagnosis import diagnose as hidden_directions

PAGE = (Path(__file__).parents[2] / "docs" / "your_data.md").read_text("utf-8")


def said(folder):
    """Provoke all that the page quotes."""
    (folder / "a.csv").write_text("a,b,y\n" + "".join(f"{i % 7},red,{i % 2}\n" for i in range(30)))
    for options in (["--labels", "y"], ["--labels", "yy"]):
        yield CliRunner().invoke(app, ["diagnose", str(folder / "a.csv"), *options]).output
    (folder / "gaps.csv").write_text("a,b,y\n1,,0\n2,3,1\n")
    yield CliRunner().invoke(app, ["diagnose", str(folder / "gaps.csv"), "--labels", "y"]).output
    x = np.random.default_rng(0).normal(size=(60, 3)) * [1, 1, 1e5]
    yield from user_data(np.column_stack([np.arange(60), x[:, :2]]), x[:, 0]).notes
    yield from user_data(x, np.arange(60) % 12).notes
    short = diagnose(x, x[:, 0] > 0, seconds=1e-9)
    yield from (short.stopped, *(section.state for section in short.sections))
    yield from (section.unfinished for section in short.sections)
    yield from next(hidden_directions(user_data(x, np.arange(60) % 2), Clock(1e9))).advice
    *_, last = (
        one for _, one in zip(range(6), one_step(user_data(x, x[:, 0] > 0), Clock(1e9)), strict=False)
    )
    yield from (str(row) for table in last.tables for row in table.rows)
    yield Prediction("a", 1.0, because="why").verdict


def test_the_page_quotes_the_program(tmp_path):
    table = PAGE.split("| you see | do |")[1].split("\n\n")[0]
    quotes = re.findall(r'"([^"]+)"', table)
    words = re.sub(r"\s+", " ", " ".join(said(tmp_path)))
    assert len(quotes) == 13
    assert [one for one in quotes if one not in words] == []
