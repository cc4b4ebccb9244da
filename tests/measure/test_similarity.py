"""Alignment against loops over pairs of samples."""

import numpy as np
import pytest

from firstlight.data.class_pairs import gram_alignment
from firstlight.measure.similarity import alignment


def loop(x, y, kind):
    classes = sorted(set(y))
    result = np.full((len(classes), len(classes)), np.nan)
    for a, first in enumerate(classes):
        for b, second in enumerate(classes):
            values = []
            for i in np.flatnonzero(y == first):
                for j in np.flatnonzero(y == second):
                    size = np.linalg.norm(x[i]) * np.linalg.norm(x[j]) if kind == "cosine" else 1.0
                    if i != j:
                        values.append(x[i] @ x[j] / size if size else 0.0)
            if values:
                result[a, b] = np.mean(values)
    return result


@pytest.mark.parametrize("kind", ["inner", "cosine"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_equals_a_loop_over_pairs(kind, dtype):
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(40, 7)).astype(dtype), rng.integers(4, size=40)
    y[0], x[3] = 9, 0
    pairs = alignment(x, y, kind, memory=500)
    expected = loop(x.astype(float), y, kind)
    np.testing.assert_allclose(pairs.values, expected, rtol=1e-12, atol=1e-13)
    assert pairs.attrs == {"kind": kind, "classes_of_one": 1, "zero_rows": 1}


def test_from_a_gram_matrix():
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(30, 5)), rng.integers(3, size=30)
    np.testing.assert_allclose(gram_alignment(x @ x.T, y), alignment(x, y), rtol=1e-12)
    lopsided = rng.normal(size=(30, 30))  # rows are the first class, columns the second
    pairs = gram_alignment(lopsided, y)
    assert float(pairs.sel({"class": 0, "other": 1})) == pytest.approx(lopsided[y == 0][:, y == 1].mean())


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: alignment(np.ones((3, 2)), [0, 1, 1], "angle"), "kind = 'angle'"),
        (lambda: alignment(np.zeros((3, 2)), [0, 1, 1]), "all zero"),
        (
            lambda: alignment(1e160 * np.ones((3, 2)), [0, 1, 1]),
            "products are beyond floating point; rescale",
        ),
        (lambda: alignment([[1e160, 1], [-1e160, 1], [1, 1]], [0, 1, 1]), "beyond floating point; rescale"),
        (lambda: gram_alignment(np.ones((3, 2)), [0, 1, 1]), "must be square"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_labels_as_tables_hold_them():
    import pandas as pd

    x = np.random.default_rng(2).normal(size=(6, 2))
    names = pd.Series(["b", "a", "b", "a", "a", "b"], dtype=object)
    pairs = alignment(pd.DataFrame(x), names)
    np.testing.assert_array_equal(pairs, alignment(x, list(names)))
    assert pairs["class"].values.tolist() == ["a", "b"]
    with pytest.raises(ValueError, match="numbers or texts"):
        alignment(x, np.array(["a", 1, "b", None, "a", "b"], dtype=object))
