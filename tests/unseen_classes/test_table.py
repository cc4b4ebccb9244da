"""A table of one's own, kept by its content, and the problem that trains on some of its classes."""

import numpy as np
import pytest
from sklearn.datasets import load_digits

from firstlight.data.kept import keep, kept
from firstlight.unseen_classes.images import ImageProblem
from firstlight.unseen_classes.table import TableProblem


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("FIRSTLIGHT_CACHE", str(tmp_path))
    return tmp_path / "tables"


def table(classes=5, rng=0):
    labels = np.arange(60) % classes
    return np.random.default_rng(rng).normal(size=(60, 4)) + labels[:, None], [f"c{c}" for c in labels]


def test_the_name_is_the_content(cache):
    X, y = table()
    name = keep(X, y)
    assert keep(X.tolist(), np.array(y)) == name  # the same numbers and texts, however they are held
    assert len(list(cache.iterdir())) == 1
    assert len({name, keep(X + 1e-12, y), keep(X, y[::-1]), keep(X[:, ::-1], y)}) == 4
    rows, index, classes = kept(name)
    np.testing.assert_array_equal(rows, X)
    assert [classes[i] for i in index] == y


@pytest.mark.parametrize("name", ["", "x" * 16, "../../../../x", "0123456789ABCDEF", None, 3])
def test_only_a_name_is_looked_up(name):
    with pytest.raises(ValueError, match="table"):
        kept(name)


def test_what_is_not_kept_is_said():
    with pytest.raises(ValueError, match="not kept on this machine"):
        kept("0" * 16)


@pytest.mark.parametrize(
    "classes", [["c0"], ["c0", "c0"], ["c0", "c9"], ["c0", "c1", "c2", "c3"], "c0", [0, 1]]
)
def test_at_least_two_classes_are_trained_on_and_two_are_not(classes):
    with pytest.raises(ValueError, match="classes"):
        TableProblem(table=keep(*table()), classes=classes)


@pytest.mark.parametrize("method", ["predict", "simulate"])
def test_a_table_of_digits_gives_what_the_digits_give(method):
    digits = load_digits()
    own = TableProblem(
        table=keep(digits.data / 16, digits.target), classes=["3", "8"], per_class=12, width=64
    )
    known = ImageProblem(classes="3,8", per_class=12, width=64)
    assert own.sizes == known.sizes
    ours, theirs = (getattr(problem, method)(5) for problem in (own, known))
    for name in ("alignment", "elasticity", "recall", "similarity"):
        # the same rows in another order: sums differ in their last bits
        np.testing.assert_allclose(ours[name], theirs[name], rtol=1e-9, err_msg=name)


def test_a_class_is_named_once(tmp_path, monkeypatch):
    monkeypatch.setenv("FIRSTLIGHT_CACHE", str(tmp_path))
    name = keep(np.random.default_rng(0).normal(size=(24, 3)), list("abcdef") * 4)
    with pytest.raises(ValueError, match="each once"):
        TableProblem(table=name, classes=["a", "a", "b"])
