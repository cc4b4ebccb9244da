"""The shared part: what the data are, turns within the time, the page, bad input."""

import json
import subprocess
import sys

import numpy as np
import pytest
from typer.testing import CliRunner

import firstlight
from firstlight.cli import app
from firstlight.diagnosis import Clock, Figure, Finding, Prediction, Table, user_data
from firstlight.diagnosis.run import diagnose
from firstlight.diagnosis.text import text
from firstlight.study import registry
from firstlight.study.registry import Theory

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 3))
Y = np.where(X[:, 0] > 0, "cat", "dog")


@pytest.fixture
def only(monkeypatch):
    """Replace the installed theories by functions of the test."""

    def install(**functions):
        theories = {
            name: Theory(name=name, title=name.title(), question="?", problems={"a": "b:c"}, studies="b:c",
                         diagnose=function)
            for name, function in functions.items()
        }  # fmt: skip
        monkeypatch.setattr(registry, "theories", lambda: theories)

    return install


def finding(**more):
    return Finding("yes", "because 3 < 4", **more)


# --- the data ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("column", "words"),
    [
        (1e5 * RNG.normal(size=40), ["Scale", "sd", "100 % of all variance", "--standardise"]),
        (np.arange(40.0), ["identifier"]),
        (np.arange(40.0)[::-1] * 3 + 7, ["identifier"]),
        (np.full(40, 7.0), ["constant", "left out"]),
    ],
)
def test_an_odd_column_is_named_with_its_effect(column, words):
    data = user_data(np.column_stack([X, column]), Y, names=["a", "b", "c", "odd one"])
    note = next(note for note in data.notes if "odd one" in note)
    assert all(word in note for word in words), note


def test_harmless_columns_are_not_named():
    assert user_data(X, Y).notes == ()
    assert user_data(np.round(10 * X), Y).notes == ()  # whole numbers
    assert user_data(np.column_stack([X, RNG.permutation(40) * 2]), Y).notes[0].startswith("Scale")


def test_standardising_gives_every_column_the_same_spread():
    data = user_data(X * [1, 1e5, 1e-5], Y, standardise=True)
    assert np.allclose(data.X.std(axis=0), 1)


def test_copies_are_used_once_and_contradictions_kept():
    data = user_data(np.vstack([X, X[:5], X[:2]]), [*Y, *Y[:5], *np.where(Y[:2] == "cat", "dog", "cat")])
    assert len(data.X) == 42
    assert "5 rows are exact copies" in data.notes[0]


@pytest.mark.parametrize(("rare", "rows", "words"), [(2, 10000, "99.98"), (5, 40, "87.5"), (3, 999, "99.7")])
def test_always_the_same_answer_is_never_called_always_right(rare, rows, words):
    data = user_data(np.random.default_rng(0).normal(size=(rows, 2)), np.arange(rows) < rare)
    assert data.notes[-1].endswith(f"always answering 'False' would be right in {words} %.")


def test_many_rows_are_sampled_by_class_and_that_is_said():
    y = np.repeat([0, 1, 2], [19_000, 990, 10])
    data = user_data(np.random.default_rng(1).normal(size=(20_000, 3)), y)
    assert len(data.X) == 10_000
    assert data.counts.tolist() == [9500, 495, 5]
    assert "10,000 of 20,000 rows" in data.notes[0]


@pytest.mark.parametrize(
    ("labels", "classes"),
    [(np.arange(40) % 2, 2), (np.arange(40) / 7, 0), (np.arange(40) % 20, 20), (np.arange(40) % 2 == 0, 2)],
)
def test_numbers_or_classes(labels, classes):
    assert len(user_data(X, labels).classes) == classes


def test_the_hardest_pair_comes_first():
    centres = np.array([[0.0, 0], [10, 0], [11, 0]])
    rows = np.repeat(centres, 20, axis=0) + RNG.normal(size=(60, 2))
    assert user_data(rows, np.repeat(["a", "b", "c"], 20)).pairs(2) == [(1, 2), (0, 1)]


# --- turns ---------------------------------------------------------------------------------------------


def test_every_theory_gets_its_first_turn_before_any_gets_a_second(only):
    order = []

    def says(name):
        def one(data, clock):
            for turn in range(3):
                order.append(name + str(turn))
                yield finding(progress=f"{turn + 1} of 3")

        return one

    only(first=says("a"), second=says("b"))
    found = diagnose(X, Y)
    assert order == ["a0", "b0", "a1", "b1", "a2", "b2"]
    assert all(section.complete for section in found.sections)


def test_a_failing_theory_is_named_and_the_others_speak(only, tmp_path):
    def bad(data, clock):
        yield finding(says="the first part")
        raise RuntimeError("no such <thing>")

    only(bad=bad, good=lambda data, clock: finding(), odd=lambda data, clock: [1], broken="no.such:module")
    found = diagnose(X, Y)
    states = {section.name: section.state for section in found.sections}
    assert states["good"] == "done"
    assert "RuntimeError: no such <thing>" in states["bad"]
    assert "must return or yield Findings" in states["odd"]
    assert "no.such" in states["broken"]
    page = found.to_html(tmp_path / "page.html").read_text()
    assert "the first part" in page
    assert "no such &lt;thing&gt;" in page


def test_time_ends_and_what_is_missing_is_said(only):
    times = iter(np.arange(100.0))

    def slow(data, clock):
        while True:
            next(times)
            yield finding(progress="some")

    only(slow=slow)
    found = diagnose(X, Y, seconds=1e-9)
    assert "stopped" in found.stopped
    assert found.sections[0].state == "some"


def test_ctrl_c_leaves_what_is_done(only):
    def interrupted(data, clock):
        yield finding(says="kept")
        raise KeyboardInterrupt

    only(one=interrupted)
    found = diagnose(X, Y)
    assert "interrupted" in found.stopped
    assert found["one"].says == "kept"


# --- results -------------------------------------------------------------------------------------------

NASTY = "<script>alert('x')</script>"


def drawn(data, canvas):
    canvas.axes[0].plot(data["x"])
    canvas.axes[0].set_title(NASTY)


def rich(data, clock):
    return finding(
        says=NASTY, measured="something", advice=("do this",), notes=("open",),
        predictions=(Prediction("error", 0.1, 0.05, 0.2, 0.15, 0.01), Prediction("unchecked", 1.0)),
        tables=(Table("details", ("name", "value"), ((NASTY, 0.123456), ("b", None)), "note"),),
        figure=Figure({"x": np.arange(3.0)}, drawn, "A line."),
    )  # fmt: skip


def test_the_page_is_one_file_and_escaped(only, tmp_path):
    only(rich=rich)
    classes = np.where(Y == "cat", NASTY, "dog")
    found = diagnose(X, classes, source=NASTY)
    page = found.to_html(tmp_path / "page.html").read_text()
    assert "<script" not in page
    assert page.count("&lt;script") >= 4
    for fetched in ("src=", "@import", "<link", "url("):
        assert fetched not in page.replace('xlink:href="#', "").replace("url(#", "")
    assert [one.name for one in tmp_path.iterdir()] == ["page.html"]
    assert "<script" not in found._repr_html_()
    assert "because 3 &lt; 4" in found._repr_html_()


def test_dictionary_text_and_plot(only):
    only(rich=rich)
    found = diagnose(X, Y)
    plain = json.loads(found.to_json())
    rows = plain["theories"]["rich"]["predictions"]
    assert [row["agrees"] for row in rows] == [True, None]
    assert rows[1]["measured"] is None
    assert plain["theories"]["rich"]["figure"] == {"x": [0, 1, 2]}
    assert plain["classes"] == {"cat": int((Y == "cat").sum()), "dog": int((Y == "dog").sum())}
    assert repr(found).count("\n") == 1
    assert len(found.plot().axes) == 1


def test_the_text_tells_what_is_off_and_why_something_was_not_checked(only):
    """Numbers come from NumPy, whose own False is not Python's."""
    off = Prediction("a", *np.array([0.5, 0.45, 0.55, 0.4, 0.01]).tolist(), because="tails")
    numpy = Prediction("b", *np.array([0.5, 0.45, 0.55, 0.4, 0.01]), because="tails")
    assert off.agrees is numpy.agrees is False
    only(a=lambda data, clock: finding(predictions=(numpy, Prediction("c", 1.0, because="no time"))))
    said = text(diagnose(X, Y))
    assert "what: predicted [90 % interval]; measured ± standard error" in said
    assert "off: measured is 0.80 × predicted (tails)" in said
    assert "c: 1.00; not checked (no time)" in said


def test_reproducible_streams():
    one, other = (user_data(X, Y, seed=3) for _ in range(2))
    assert one.rng("a", 1).normal() == other.rng("a", 1).normal()
    assert one.rng("a", 1).normal() != one.rng("a", 2).normal()


def test_a_clock_needs_time():
    with pytest.raises(ValueError, match="seconds = 0"):
        Clock(0)


# --- the command ---------------------------------------------------------------------------------------


def run(tmp_path, text, *options, labels="y"):
    path = tmp_path / "data.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return CliRunner().invoke(app, ["diagnose", str(path), "--labels", labels, *options])


GOOD = "a;b;y\n" + "".join(f"{x:.3f};{z:.3f};{label}\n" for (x, z, _), label in zip(X, Y, strict=True))
BAD = {
    "missing value": ("a,b,y\n1,,u\n2,3,v\n", [], "missing or infinite; first nan at row 1, column 'b'"),
    "text column": ("a,b,y\n1,cat,u\n2,3,v\n", [], "'cat' is not a number"),
    "constant columns": ("a,y\n1,u\n1,v\n1,u\n1,v\n", [], "every column is constant"),
    "one class": ("a,y\n1,u\n2,u\n", [], "only one class"),
    "a class of one": ("a,y\n1,u\n2,u\n3,v\n", [], "class 'v' has one row only"),
    "continuous": (
        "a,y\n" + "".join(f"{i},{i / 7}\n" for i in range(50)), ["--task", "classification"], "continuous",
    ),
    "texts as numbers": ("a,y\n1,u\n2,v\n", ["--task", "regression"], "the labels are texts"),
    "wrong task": ("a,y\n1,u\n2,v\n", ["--task", "clasification"], "must be one of auto"),
    "seconds": (GOOD, ["--seconds", "0"], "seconds = 0"),
    "binary": (b"\x00\x01\x02\n\x03", [], "data.csv"),
    "empty": ("", [], "the file is empty"),
    "many texts": ("a,y\n" + "".join(f"{i},n{i}\n" for i in range(50)), [], "50 different texts in 50 rows"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_one_line_and_writes_nothing(tmp_path, name):
    text, options, words = BAD[name]
    found = run(tmp_path, text, "--html", str(tmp_path / "page.html"), *options)
    assert found.exit_code == 2, found.output
    assert found.output.count("\n") == 1
    assert words in found.output
    assert [one.name for one in tmp_path.iterdir()] == ["data.csv"]


def test_a_wrong_column_gets_a_hint(tmp_path):
    assert "did you mean 'y'" in run(tmp_path, GOOD, labels="yy").output
    assert "did you mean 'y'" in run(tmp_path, GOOD, labels="Y").output


def test_a_missing_or_huge_file(tmp_path):
    found = CliRunner().invoke(app, ["diagnose", str(tmp_path / "no.csv"), "--labels", "y"])
    assert found.exit_code == 2
    assert "no.csv" in found.output


def test_semicolons_and_the_page_from_the_command_line(tmp_path, only):
    only(rich=rich)
    found = run(tmp_path, GOOD, "--html", str(tmp_path / "page.html"), "--json")
    assert found.exit_code == 0, found.output
    assert '"rows": 40' in found.output
    assert (tmp_path / "page.html").exists()
    assert "because 3 < 4" in run(tmp_path, GOOD).output


def test_the_function_is_the_packages_own():
    code = "import firstlight.diagnosis.data, firstlight; print(firstlight.diagnose.__name__)"
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "diagnose"
    assert firstlight.diagnose is diagnose
