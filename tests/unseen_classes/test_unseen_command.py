"""`firstlight unseen` on files: tables, JSON, figure and refusals."""

import json

import numpy as np
import pytest
import typer
from sklearn.datasets import load_digits
from typer.testing import CliRunner

from firstlight.unseen_classes.commands import unseen

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
    results = run(
        file, "--labels", "kind", "--classes", "3,8", "--most", "40", "--check", "--figure", str(picture)
    )
    assert results.exit_code == 0, results.output
    for words in ("Recall@1", "trained on 3,8 (80 samples)", "furthest along", "One network", "Note:"):
        assert words in results.output
    assert picture.stat().st_size > 10_000


def test_classes_are_chosen_for_given_unseen_ones(file):
    results = run(file, "--labels", "kind", "--choose-for", "3,8", "--most", "20", "--json")
    assert results.exit_code == 0, results.output
    facts = json.loads(results.output)
    assert facts["choice"]["unseen"] == ["3", "8"]
    assert facts["trained"] == ",".join(facts["choice"]["classes"])
    assert {"3", "8"} <= {str(row["class"]) for row in facts["classes"]}
    both = run(file, "--labels", "kind", "--choose-for", "3,8", "--classes", "0,1")
    assert both.exit_code == 2
    assert "one of --classes and --choose-for" in both.output


def test_names_with_commas_blanks_and_decimals(tmp_path):
    rng = np.random.default_rng(0)
    names = np.array(["a dog", "cat, small", "3", "x", "y"])[np.arange(60) % 5]
    lines = ["u,v,kind"] + [
        f'{a},{b},"{name}"' for (a, b), name in zip(rng.normal(size=(60, 2)), names, strict=True)
    ]
    path = tmp_path / "names.csv"
    path.write_text("\n".join(lines))
    results = run(str(path), "--labels", "kind", "--classes", 'a dog, "cat, small"', "--json")
    facts = json.loads(results.output)
    assert facts["train_samples"] == 24
    assert [row["class"] for row in facts["classes"]] == ["3", "x", "y"]
    np.save(tmp_path / "m.npy", np.column_stack([rng.normal(size=(60, 2)), np.arange(60) % 5]))
    results = run(str(tmp_path / "m.npy"), "--labels", "-1", "--classes", "3,1.0", "--json")
    assert [row["class"] for row in json.loads(results.output)["classes"]] == [0, 2, 4]


def test_a_lone_member_zeros_and_constants(tmp_path):
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(50, 3)), np.arange(50) % 5
    x[:, 2], x[7], y[-1] = 4.0, 0.0, 99
    np.savez(tmp_path / "odd.npz", X=x, y=y)
    results = run(str(tmp_path / "odd.npz"), "--labels", "y", "--classes", "0,1", "--json")
    facts = json.loads(results.output, parse_constant=lambda word: pytest.fail(f"{word} is not JSON"))
    lone = next(row for row in facts["classes"] if row["class"] == 99)
    assert lone["recall"] is None
    assert lone["alignment_interval"] == [None, None]
    assert facts["excluded"] == 1
    assert "left out: 1 samples" in run(str(tmp_path / "odd.npz"), "--labels", "y", "--classes", "0,1").output
    x[3, 1] = np.nan
    np.savez(tmp_path / "odd.npz", X=x, y=y)
    results = run(str(tmp_path / "odd.npz"), "--labels", "y", "--classes", "0,1")
    assert results.exit_code == 2
    assert "1 value is missing or infinite" in results.output


def test_json(file):
    results = run(
        file, "--labels", "kind", "--classes", "3, 8, 1", "--most", "30", "--json", "--strength", "1"
    )
    facts = json.loads(results.output)
    assert [row["class"] for row in facts["classes"]] == [0, 2, 4, 5, 6, 7, 9]
    assert len(facts["pairs"]) == 21
    assert sorted(row["elasticity_rank"] for row in facts["classes"]) == [1, 2, 3, 4, 5, 6, 7]
    assert facts["caveats"]
    for pair in facts["pairs"]:
        low, high = pair["pair_alignment_interval"]
        assert low < pair["pair_alignment"] < high
        low, high = pair["pair_recall_interval"]
        assert low <= pair["pair_recall"] <= high
    assert all(0 <= bound <= 1 for row in facts["classes"] for bound in row["recall_interval"])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--labels", "nothing", "--classes", "3,8"), "no such array"),
        (("--labels", "kind", "--classes", "3"), "at least two different classes"),
        (("--labels", "kind", "--classes", "3,77"), "no class '77'"),
        (("--labels", "kind", "--classes", "3,8", "--strength", "-1"), "strength = -1.0"),
        (("--labels", "kind", "--classes", "3,8", "--activation", "relux"), "did you mean 'relu'"),
        (("--labels", "kind", "--classes", "3,8", "--most", "1"), "most = 1"),
        (("--labels", "kind", "--classes", "3,8", "--metric", "l1"), "metric = 'l1'"),
        (("--labels", "kind", "--classes", "3,8", "--most", "5", "--figure", "x.txt"), "must end in"),
    ],
)
def test_refusals(file, arguments, words):
    results = run(file, *arguments)
    assert results.exit_code == 2
    assert words in results.output
    assert "Traceback" not in results.output


def test_a_missing_file():
    results = run("no-such-file.csv", "--labels", "y", "--classes", "1,2")
    assert results.exit_code == 2
    assert "no-such-file.csv" in results.output


def test_a_file_sorted_by_class_favours_no_class_among_equally_near_rows(tmp_path):
    """Columns of ±1 with no class in them: taken by order, 0.56 of the first and 0.39 of the second."""
    shares = []
    for seed in range(6):
        rng, path = np.random.default_rng(seed), tmp_path / f"{seed}.npz"
        np.savez(path, X=rng.choice([-1.0, 1.0], size=(320, 6)), y=np.arange(320) // 80)
        results = run(str(path), "--labels", "y", "--classes", "0,1", "--json", "--seed", str(seed))
        shares.append([row["recall"] for row in json.loads(results.output)["classes"]])
    first, second = np.mean(shares, axis=0)
    assert abs(first - second) < 0.15  # a mean's error is 0.025: four of a difference


def test_columns_are_left_out_as_its_refusal_says(tmp_path):
    X = np.random.default_rng(0).normal(size=(40, 2))
    path = tmp_path / "cars.csv"
    lines = [f"{a},{b},Opel,2020-01-05,{i % 4}" for i, (a, b) in enumerate(X)]
    path.write_text("\n".join(["a,b,make,sold,kind", *lines]))
    options = ("--labels", "kind", "--classes", "0,1")
    assert "leave out (without): make, sold" in run(str(path), *options).output
    found = run(str(path), *options, "--without", "make", "--without", "sold", "--json")
    np.savez(tmp_path / "cars.npz", X=X, kind=np.arange(40) % 4)
    plain = run(str(tmp_path / "cars.npz"), *options, "--json")
    assert found.exit_code == 0, found.output
    assert json.loads(found.output) == json.loads(plain.output)
