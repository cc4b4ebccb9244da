"""Anybody's file through the command: odd but good ones are read alike, bad ones told in one line."""

import gzip
import json

import numpy as np
import pytest
from scipy.sparse import csr_array
from typer.testing import CliRunner

from firstlight.cli import app
from firstlight.diagnosis import Clock, Finding
from firstlight.diagnosis import run as runner
from firstlight.diagnosis.data import user_data
from firstlight.diagnosis.run import diagnose
from firstlight.measure.elasticity import elasticity
from firstlight.measure.retrieval import recall_at_k
from firstlight.study import registry
from firstlight.study.registry import Theory
from firstlight.unseen_classes.definitions.covariance import label_covariance

RNG = np.random.default_rng(0)
ROWS = np.round(RNG.normal(size=(40, 2)), 3)
CLASSES = np.array(["über", "wild"])[np.arange(40) % 2]


@pytest.fixture(autouse=True)
def no_theories(monkeypatch):
    """Reading is what is tested here."""
    monkeypatch.setattr(registry, "theories", dict)


def written(separator=",", decimal=".", quote="", end="\n", head=None):
    rows = [[f"{a}", f"{b}", c] for (a, b), c in zip(ROWS, CLASSES, strict=True)]
    rows = [[cell.replace(".", decimal) for cell in row[:2]] + [row[2]] for row in rows]
    lines = [separator.join(f"{quote}{cell}{quote}" for cell in row) for row in [["a", "b", "y"], *rows]]
    return end.join(([head] if head is not None else []) + lines) + end


PLAIN = written()
GOOD = {
    "plain": PLAIN.encode(),
    "byte order mark": b"\xef\xbb\xbf" + PLAIN.encode(),
    "latin-1": PLAIN.encode("latin-1"),
    "utf-16": PLAIN.encode("utf-16"),
    "semicolon, decimal comma": written(";", ",").encode(),
    "quoted decimal comma": written(";", ",", '"').encode(),
    "tab": written("\t").encode(),
    "tab, decimal comma": written("\t", ",").encode(),
    "bar": written("|").encode(),
    "all quoted": written(quote='"').encode(),
    "windows lines": written(end="\r\n").encode(),
    "old mac lines": written(end="\r").encode(),
    "blank lines first": ("\n\n" + PLAIN).encode(),
    "space after comma": written(", ").replace("\n ", "\n").encode(),
    "line break in a class": PLAIN.replace("über", '"ü\nber"').encode(),
}


def run(path, text, *options):
    path.write_bytes(text)
    return CliRunner().invoke(app, ["diagnose", str(path), "--labels", "y", *options])


@pytest.mark.parametrize("name", GOOD)
def test_the_same_rows_however_they_are_written(tmp_path, monkeypatch, name):
    seen = []
    monkeypatch.setattr(runner, "user_data", lambda *a, **o: seen.append(user_data(*a, **o)) or seen[-1])
    found = run(tmp_path / "a.csv", GOOD[name])
    assert found.exit_code == 0, found.output
    np.testing.assert_array_equal(seen[0].X, ROWS)
    assert [one.replace("\n", "").strip() for one in seen[0].classes] == ["wild", "über"]


def rows_of(*columns, names="a,b,y", n=30):
    cells = [[str(c(i) if callable(c) else c) for c in columns] for i in range(n)]
    return "\n".join([names, *(",".join(row) for row in cells)]) + "\n"


def square(i):
    return i * i % 31


def kind(i):
    return "uv"[i % 2]


BAD = {
    "missing": (rows_of(square, lambda i: "" if i == 7 else i, kind), "infinite; first nan at row 8"),
    "NA": (rows_of(square, lambda i: "NA" if i == 7 else i, kind), "missing or infinite; first nan at row 8"),
    "question mark": (rows_of(square, lambda i: "?" if i == 7 else i, kind), "row 8, column 'b'"),
    "infinite": (rows_of(square, lambda i: "inf" if i == 7 else i, kind), "first inf at row 8, column 'b'"),
    "overflow": (rows_of(square, lambda i: f"{i}e308", kind), "first inf at row 3, column 'b'"),
    "too large to square": (rows_of(square, lambda i: f"{i}e200", kind), "'b' holds numbers up to 3e+201"),
    "empty column": (rows_of(square, "", kind), "column 'b', row 1: the value is missing"),
    "texts": (rows_of(square, "red", kind), "'red' is not a number; encode or leave out (without): b"),
    "dates": (rows_of("2020-01-05", "10:30:00", kind), "leave out (without): a, b"),
    "yes and no": (rows_of(square, lambda i: ("yes", "no")[i % 2], kind), "'yes' is not a number"),
    "percent": (rows_of(square, lambda i: f"{i} %", kind), "'0 %' is not a number"),
    "formula": (rows_of(square, "=1+2", kind), "'=1+2' is not a number"),
    "late text": (rows_of(square, lambda i: "x" if i == 2999 else i, kind, n=3000), "row 3000: 'x' is not"),
    "all labels missing": (rows_of(square, square, ""), "label of row 1 is missing"),
    "labels nan": (rows_of(square, square, "nan"), "label of row 1 is missing"),
    "a label missing": (rows_of(square, square, lambda i: "" if i == 4 else i % 2), "label of row 5 is"),
    "one class": (rows_of(square, square, "u"), "only one class"),
    "a class of one row": (rows_of(square, square, lambda i: "uvw"[2 if i == 3 else i % 2]), "'w' has one"),
    "a number of one row": (rows_of(square, square, lambda i: 5 if i == 3 else i % 2), "task = 'regression'"),
    "names as classes": (rows_of(square, square, lambda i: f"n{i}", n=60), "60 different texts in 60 rows"),
    "constant": (rows_of(1, 2, kind), "every column is constant"),
    "only labels": (rows_of(kind, names="y"), "no column besides the labels"),
    "same name": (rows_of(square, square, kind, names="a,a,y"), "more than one is called a"),
    "no names": (rows_of(1, 2, 3, names="4,5,6"), "holds only numbers"),
    "no such column": (rows_of(square, square, kind, names="a,b,yy"), "did you mean 'yy'"),
    "ragged": (PLAIN + "1,2\n", "Expected 3 columns, got 2"),
    "names alone": ("a,b,y\n", "no rows below"),
    "names alone, no line end": ("a,b,y", "no rows below"),
    "blank": ("\n\n\n", "no rows below"),
    "empty": ("", "the file is empty"),
    "html": ("<html><body>404, gone</body></html>\n", "no rows below"),
    "a picture": (b"\x89PNG\r\n\x1a\n" + bytes(99), "is not a text file"),
    "noise": (RNG.integers(0, 256, 3000, dtype=np.uint8).tobytes(), "is not a text file"),
    "null bytes": (PLAIN.encode()[:60] + b"\0\0" + PLAIN.encode()[60:], "is not a text file"),
    "compressed": (gzip.compress(PLAIN.encode()), "is compressed; unpack it first"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_bad_files_are_told_in_one_line(tmp_path, name):
    text, words = BAD[name]
    found = run(
        tmp_path / "a.csv",
        text if isinstance(text, bytes) else text.encode(),
        "--html",
        str(tmp_path / "p.html"),
    )
    assert found.exit_code == 2, found.output
    assert found.output.count("\n") == 1
    assert words in found.output
    assert [one.name for one in tmp_path.iterdir()] == ["a.csv"]


def test_a_cut_file_never_ends_in_a_traceback(tmp_path):
    """Cut a good file anywhere, or spoil a byte: a result or one line, exit code 0 or 2."""
    rng = np.random.default_rng(1)
    for text in (GOOD["plain"], GOOD["utf-16"], GOOD["all quoted"]):
        for _ in range(15):
            spoiled = bytearray(text[: rng.integers(1, len(text))])
            spoiled[rng.integers(len(spoiled))] = rng.integers(256)
            found = run(tmp_path / "a.csv", bytes(spoiled))
            assert found.exit_code in (0, 2), (bytes(spoiled), found.exception)
            assert found.exit_code == 0 or found.output.count("\n") == 1


def test_labels_that_are_not_named_are_looked_for_and_told(tmp_path):
    rng = np.random.default_rng(0)
    rows = [[*rng.normal(size=3), kind] for kind in (0, 1) * 30]
    for name in ("target", "kind"):
        (tmp_path / f"{name}.csv").write_text(
            "\n".join(",".join(map(str, row)) for row in [["a", "b", "c", name], *rows])
        )
    line = ["diagnose", str(tmp_path / "target.csv"), "--seconds", "0.01"]
    guessed, named = CliRunner().invoke(app, line), CliRunner().invoke(app, [*line, "--labels", "target"])
    assert "labels: target\n" in guessed.stderr
    assert "labels:" not in named.stderr
    assert guessed.stdout.splitlines()[0] == named.stdout.splitlines()[0]
    refused = CliRunner().invoke(app, ["diagnose", str(tmp_path / "kind.csv")])
    assert refused.exit_code == 2
    assert "no column for the labels" in refused.output
    assert "it has a, b, c, kind" in refused.output


def test_columns_are_left_out_by_name(tmp_path):
    text = rows_of(lambda i: i, square, "red", kind, names=",a,colour,y").encode()
    found = run(tmp_path / "a.csv", text, "--without", "colour", "--without", "column 1")
    assert found.exit_code == 0, found.output
    assert "30 rows, 1 column, 2 classes" in found.output
    assert "did you mean 'colour'" in run(tmp_path / "a.csv", text, "--without", "color").output
    assert "identifier" in run(tmp_path / "a.csv", text, "--without", "colour").output


# --- what is made of rows and labels --------------------------------------------------------------------


def test_counts_are_numbers_though_most_of_them_repeat():
    """Poisson counts of 500 rows: some 30 values, the largest in one row each; that is no class."""
    rng = np.random.default_rng(0)
    y = rng.poisson(np.exp(2 + 0.6 * rng.normal(size=500)))
    data = user_data(rng.normal(size=(500, 3)), y)
    assert data.classes == ()
    assert "taken as a number to predict" in data.notes[0]


@pytest.mark.parametrize("seed", range(12))
def test_a_class_that_lost_its_rows_is_told_and_a_tail_of_counts_is_not(seed):
    """More than ten classes of some 10 to 60 rows, one of a single row; and counts of as many rows."""
    rng = np.random.default_rng(seed)
    classes, rows = int(rng.integers(11, 20)), int(rng.integers(12, 60))
    labels = rng.permutation(
        np.append(rng.integers(classes, size=classes * rows), classes + int(rng.integers(9)))
    )
    with pytest.raises(ValueError, match="has one row only; merge or remove it"):
        user_data(rng.normal(size=(len(labels), 2)), labels)
    counts = rng.poisson(rng.uniform(3, 7), size=len(labels))
    counts[0] = counts.max() + 1
    assert user_data(rng.normal(size=(len(labels), 2)), counts).classes == () or len(set(counts)) <= 10


@pytest.mark.parametrize("scale", [1e200, 1e-200, 1e-320])
def test_numbers_that_cannot_be_squared_are_refused(scale):
    y = RNG.normal(size=40)
    with pytest.raises(ValueError, match="rescale"):
        user_data(ROWS, y * scale)
    with pytest.raises(ValueError, match="must vary"):
        user_data(ROWS, 7 + 1e-15 * y, task="regression")


def test_whole_classes_have_no_decimals():
    assert user_data(ROWS, np.arange(40) % 2 * 1.0).classes == ("0", "1")


def test_few_rows_of_a_number_are_numbers():
    X = RNG.normal(size=(20, 3))
    assert user_data(X, np.arange(20) // 1.5).classes == ()
    assert user_data(RNG.normal(size=(90, 2)), np.arange(90) % 12 / 4).classes == ()  # decimals
    assert user_data(RNG.normal(size=(90, 2)), np.maximum(np.arange(90) - 85, 0) / 7).classes == ()  # few
    data = user_data(RNG.normal(size=(90, 2)), np.arange(90) % 12)
    assert len(data.classes) == 12
    assert "12 numbers, taken as classes" in data.notes[0]


def test_a_data_frame_may_hold_several_kinds_of_numbers_and_nothing_else():
    """Truth values, as dummies are, and numbers that may be missing make pandas' whole table objects."""
    pandas = pytest.importorskip("pandas")
    whole = pandas.array(np.arange(40) % 5, dtype="Int64")
    frame = pandas.DataFrame({"a": ROWS[:, 0], "b": ROWS[:, 1] > 0, "c": whole})
    assert np.array_equal(
        user_data(frame, CLASSES).X, np.column_stack([ROWS[:, 0], ROWS[:, 1] > 0, np.arange(40) % 5])
    )
    for odd in (pandas.Series(["x"] * 40), pandas.Series(pandas.date_range("2020-01-01", periods=40))):
        with pytest.raises(ValueError, match=r"X: column 'odd' is of type .*; encode it or leave it out"):
            user_data(frame.assign(odd=odd), CLASSES)
    whole[3] = None
    with pytest.raises(ValueError, match="1 values are NaN"):
        user_data(frame.assign(c=whole), CLASSES)


def test_sparse_and_masked_tables_are_refused():
    with pytest.raises(ValueError, match="toarray"):
        user_data(csr_array(ROWS), CLASSES)
    with pytest.raises(ValueError, match="masked"):
        user_data(np.ma.masked_array(ROWS, ROWS > 1), CLASSES)
    labels = np.ma.masked_array(np.arange(40) % 3, np.arange(40) < 2)  # below the mask may be anything
    for ask in (user_data, elasticity_of, recall_at_k):
        with pytest.raises(ValueError, match=r"(y|labels): holds masked values"):
            ask(ROWS, labels)
    with pytest.raises(ValueError, match="residual: holds masked values"):
        label_covariance(ROWS, residual=labels)


def elasticity_of(rows, labels):
    return elasticity(rows, rows, labels)


@pytest.mark.parametrize("rng", [None, np.random.default_rng(7), np.random.SeedSequence(7), np.int64(7)])
def test_random_generators_are_seeds_too(rng):
    """Every theory "failed" with one, of a field that was called otherwise, and there was no JSON."""
    X = np.random.default_rng(0).normal(size=(40, 3))
    found = diagnose(X, X[:, 0] > 0, seconds=0.5, rng=rng)
    assert not [section.error for section in found.sections if section.error]
    assert isinstance(json.loads(found.to_json())["seed"], int)


@pytest.mark.parametrize("rng", [-1, 1.5, "a", True])
def test_what_is_no_seed_is_refused_by_name(rng):
    with pytest.raises(ValueError, match=r"^rng = "):
        diagnose(np.eye(8), np.arange(8) % 2, seconds=0.01, rng=rng)


def test_numbers_as_names_and_zeros_of_either_sign():
    """Two constant columns are told by their names; a class 0 that was -0 in one row is no other."""
    data = user_data(
        np.column_stack([ROWS, ROWS * 0]), np.where(np.arange(40) % 4 > 1, 1.0, -0.0), names=[1, 2, 3, 4]
    )
    assert data.notes[0] == "2 columns are constant (3, 4): left out."
    assert data.classes == ("0", "1")


def test_a_data_frame_brings_its_names():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"height": ROWS[:, 0], "width": ROWS[:, 1]})
    assert user_data(frame, pandas.Series(CLASSES)).names == ("height", "width")


def test_rows_that_must_repeat_are_kept():
    X = RNG.integers(0, 2, size=(400, 3)).astype(float)
    data = user_data(X, X[:, 0])
    assert data.shape == (400, 3)
    assert "repeat others, as the columns take few values" in data.notes[0]
    fine = RNG.normal(size=(400, 3))
    assert user_data(np.vstack([fine, fine, fine]), np.arange(1200) % 400 % 2).shape == (400, 3)


def test_rows_are_known_by_their_place_in_the_file():
    X = RNG.normal(size=(10, 2))
    data = user_data(np.vstack([X, X[:3], X + 9]), [*np.arange(10) % 2, 0, 1, 0, *np.arange(10) % 2])
    assert data.places.tolist() == [*range(10), *range(13, 23)]


# --- time ------------------------------------------------------------------------------------------------


def test_a_part_that_takes_too_long_is_given_up(monkeypatch):
    def slow(data, clock):
        yield Finding("yes", "first")
        while True:
            clock.check()

    theory = Theory(
        name="slow", title="Slow", question="?", problems={"a": "b:c"}, studies="b:c", diagnose=slow
    )
    monkeypatch.setattr(registry, "theories", lambda: {"slow": theory})
    found = diagnose(ROWS, CLASSES, seconds=0.05)
    assert found.stopped.startswith("stopped")
    assert found["slow"].why == "first"


def test_a_pause_does_not_count():
    times = iter([0.0, 1.0, 61.0, 62.0])
    clock = Clock(10.0, lambda: next(times))
    with clock.paused():
        pass
    assert clock.left == 8.0


def test_half_points_are_classes_if_the_user_says_so():
    from firstlight.diagnosis.data import _task

    labels = np.repeat(np.arange(12) / 2, 50)
    assert _task(labels, "classification")[0] == "classification"
    assert _task(labels, "auto")[0] == "regression"
