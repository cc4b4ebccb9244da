"""The page of a diagnosis as one golden file, and what Ctrl-C leaves of it.

After a change that is meant, look at the page in a browser and write it anew:
    python tests/diagnosis/test_page.py
"""

import html
import io
import re
import signal
import subprocess
import sys
from pathlib import Path

import matplotlib
import numpy as np
import pytest

from firstlight.data.unseen import UnseenData
from firstlight.diagnosis import Figure, Finding, Prediction, Table, UserData
from firstlight.diagnosis.page import page
from firstlight.diagnosis.result import Diagnosis, Section, drawn
from firstlight.phase_transition.diagnosis import draw as phase_draw
from firstlight.unseen_classes import Step
from firstlight.unseen_classes.analysis import analyse
from firstlight.unseen_classes.diagnosis import draw as unseen_draw
from firstlight.unseen_classes.figures import classes as class_figure

GOLDEN = Path(__file__).with_name("golden_page.html")


def line(data, canvas):
    canvas.axes[0].plot(data["x"])


def rendered():
    """Return a page with everything that a page can hold; picture, version and seconds are left out."""
    data = UserData(
        np.eye(4), np.array([0, 1, 0, 1]), ("cat", "<dog>"), ("a", "b", "c", "d"), "pets & more.csv", 9,
        True, 3, ("d is constant ('5'): left out.",), np.arange(4),
    )  # fmt: skip
    full = Finding(
        "in part", "nine in ten are < 0.2", "Theory says 0.1.", "Measured 0.15 ± 0.01.",
        ("Do this.", "Or that."),
        (
            Prediction("error", 0.1, 0.05, 0.2, 0.15, 0.01),
            Prediction("another", 0.1, 0.09, 0.11, 0.2, 0.01, "heavy tails"),
            Prediction("threshold", 2.0, 1.0, float("inf")),
        ),
        (Table("Details", ("name", "value"), (("<b>", 0.123456), ("none", None)), "A note."),),
        Figure({"x": [0, 1]}, line, "A line."), ("An open question.",), "2 of 3 parts",
    )  # fmt: skip
    sections = (
        Section("full", "Full", "What is here?", full),
        Section("silent", "Silent", "?", Finding("no", "too few rows"), complete=True),
        Section("failed", "Failed", "?", None, error="ValueError: no"),
        Section("late", "Late", "?"),
    )
    text = page(Diagnosis(data, sections, 12.0, "stopped after 12 s"))
    text = re.sub(r"<svg.*?</svg>", "<svg>picture</svg>", text, flags=re.DOTALL)
    return re.sub(r"firstlight \d[^,]*,", "firstlight VERSION,", text)


def test_the_page_is_the_golden_one():
    assert rendered() == GOLDEN.read_text(encoding="utf-8")


def lettered(seed, count):
    """Names of marks that mean something to matplotlib, to TeX or to HTML."""
    rng = np.random.default_rng(seed)
    marks = list("$$$__^\\{}%&#~<>-aB9")
    return [f"{place}{''.join(rng.choice(marks, 9))}"[rng.integers(2) :] for place in range(count)]


def shown(canvas):
    """Everything that is written in a picture."""
    buffer = io.StringIO()
    with matplotlib.rc_context({"svg.fonttype": "none"}):
        canvas.savefig(buffer, format="svg")
    return html.unescape(buffer.getvalue())


@pytest.mark.parametrize("seed", range(4))
def test_names_are_drawn_as_they_are_written(seed):
    """A class between dollar signs was a formula, which ended the page where it was none."""
    names, rng = lettered(seed, 3), np.random.default_rng(seed)
    recalls = {key: rng.random(3).tolist() for key in ("raw", "predicted", "measured", "trained")}
    unseen = Figure({"classes": names, **recalls}, unseen_draw, "", 2)
    y = np.arange(60) % 3
    scores = {key: rng.normal(size=60).tolist() for key in ("linear", "hidden")}
    about = {"labels": y.tolist(), "classes": names, "found": [True, False]}
    phase = Figure(scores | about, phase_draw, "", 2)
    rows = rng.normal(size=(60, 4))
    data = UnseenData(rows[:20], y[:20] % 2, rows[20:], np.array(names)[y[20:]])
    analysed = analyse(data, Step())
    canvas = matplotlib.figure.Figure()
    analysed.plot(canvas.subplots())
    for picture in (drawn(unseen), drawn(phase), canvas, class_figure(analysed)):
        text = shown(picture)
        assert all(name in text for name in names)


SLOW = """
import sys, time
from firstlight.cli import main
from firstlight.diagnosis import Finding
from firstlight.study import registry

def slow(data, clock):
    yield Finding("yes", "what was done before")
    print("ready", flush=True)
    time.sleep(120)

made = registry.Theory(name="a", title="A", question="?", problems={"a": "b:c"}, studies="b:c", diagnose=slow)
registry.theories = lambda: {"a": made}
sys.exit(main())
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals to one process")
def test_a_real_interrupt_leaves_the_page(tmp_path):
    rows = "".join(f"{i * i % 31},{i % 2}\n" for i in range(40))
    (tmp_path / "a.csv").write_text(f"a,y\n{rows}")
    command = [sys.executable, "-c", SLOW, "diagnose", "a.csv", "--labels", "y", "--html", "page.html"]
    # a shell that starts tests in the background lets them ignore the signal, and so would their children
    signals = {"preexec_fn": lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)}
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True, **signals) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGINT)
        said, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    assert "interrupted after" in said
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "what was done before" in text
    assert "interrupted after" in text


if __name__ == "__main__":
    GOLDEN.write_text(rendered(), encoding="utf-8")
