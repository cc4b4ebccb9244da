"""`firstlight unseen` on files: tables, JSON, figure and refusals."""

import json

import numpy as np
import pytest
import typer
from sklearn.datasets import load_digits
from typer.testing import CliRunner

from firstlight.cli.unseen import unseen

app = typer.Typer()
app.command()(unseen)


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    digits = load_digits()
    path = tmp_path_factory.mktemp("data") / "digits.npz"
    np.savez(path, X=digits.data, kind=digits.target)
    return str(path)


def run(*arguments):
    return CliRunner().invoke(app, list(arguments))


def test_table_and_figure(file, tmp_path):
    picture = tmp_path / "picture.png"
    found = run(
        file, "--labels", "kind", "--train", "3,8", "--most", "40", "--check", "--figure", str(picture)
    )
    assert found.exit_code == 0, found.output
    for words in ("Recall@1", "trained on 3,8 (80 samples)", "furthest along", "One network", "Note:"):
        assert words in found.output
    assert picture.stat().st_size > 10_000


def test_json(file):
    found = run(file, "--labels", "kind", "--train", "3, 8, 1", "--most", "30", "--json", "--kappa", "1")
    facts = json.loads(found.output)
    assert [row["class"] for row in facts["classes"]] == [0, 2, 4, 5, 6, 7, 9]
    assert len(facts["pairs"]) == 21
    assert sorted(row["elasticity_rank"] for row in facts["classes"]) == [1, 2, 3, 4, 5, 6, 7]
    assert facts["caveats"]
    assert all(0 <= bound <= 1 for row in facts["classes"] for bound in row["recall_interval"])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--labels", "nothing", "--train", "3,8"), "no such array"),
        (("--labels", "kind", "--train", "3"), "at least two different classes"),
        (("--labels", "kind", "--train", "3,77"), "no class '77'"),
        (("--labels", "kind", "--train", "3,8", "--kappa", "-1"), "kappa = -1.0"),
        (("--labels", "kind", "--train", "3,8", "--activation", "relux"), "did you mean 'relu'"),
        (("--labels", "kind", "--train", "3,8", "--most", "1"), "most = 1"),
        (("--labels", "kind", "--train", "3,8", "--metric", "l1"), "metric = 'l1'"),
        (("--labels", "kind", "--train", "3,8", "--most", "5", "--figure", "x.txt"), "must end in"),
    ],
)
def test_refusals(file, arguments, words):
    found = run(file, *arguments)
    assert found.exit_code == 2
    assert words in found.output
    assert "Traceback" not in found.output


def test_a_missing_file():
    found = run("no-such-file.csv", "--labels", "y", "--train", "1,2")
    assert found.exit_code == 2
    assert "no-such-file.csv" in found.output
