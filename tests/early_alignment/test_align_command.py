"""`firstlight align` on files: columns left out, and which two classes."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from firstlight.early_alignment import Problem
from firstlight.early_alignment.commands import app


@pytest.fixture
def file(tmp_path):
    """Rows of two classes with a text and a date that nobody can learn from."""
    X = np.random.default_rng(0).normal(size=(24, 2))
    lines = [f"{a},{b},Opel,2020-01-05,{'uv'[i % 2]}" for i, (a, b) in enumerate(X)]
    path = tmp_path / "cars.csv"
    path.write_text("\n".join(["a,b,make,sold,kind", *lines]))
    np.savez(tmp_path / "cars.npz", X=X, kind=np.array(["u", "v"])[np.arange(24) % 2])
    return path


def align(file, *options):
    return CliRunner().invoke(app, ["align", str(file), "--labels", "kind", "--width", "5", *options])


def test_columns_are_left_out_as_its_refusal_says(file):
    assert "leave out (without): make, sold" in str(align(file).exception)
    found = align(file, "--without", "make", "--without", "sold", "--most", "8", "--json")
    assert found.exit_code == 0, found.output
    plain = align(file.with_suffix(".npz"), "--most", "8", "--json")
    assert json.loads(found.output) == json.loads(plain.output)
    problem = Problem.from_file(str(file.with_suffix(".npz")), "kind", "v", "u", most=8, width=5)
    assert problem.shape == (json.loads(found.output)["rows"], 2)


def test_two_classes_are_named_or_the_rest(file):
    plain = file.with_suffix(".npz")
    for options, said in (((), "v (+) against u (-)"), (("--positive", "u"), "u (+) against v (-)"),
                          (("--negative", "v"), "u (+) against v (-)")):  # fmt: skip
        assert said in align(plain, *options).output
    assert "did you mean 'u'" in str(align(plain, "--positive", "uu").exception)
    assert "must differ" in str(align(plain, "--positive", "u", "--negative", "u").exception)


def test_many_classes_are_listed_up_to_twenty_and_counted(tmp_path):
    path = tmp_path / "many.npz"
    np.savez(path, X=np.eye(30), kind=np.arange(30))
    assert str(align(path).exception).endswith("name two of the 30 classes: " + ", ".join(
        map(str, range(20))) + ", ... (30 in all)")  # fmt: skip
    assert align(path, "--positive", "3", "--negative", "7").exit_code == 0
