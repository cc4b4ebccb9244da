"""Recall@k against a plain loop and against scikit-learn's brute-force neighbours."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.neighbors import NearestNeighbors

from firstlight.measure.retrieval import recall_at_k
from firstlight.measure.similarity import alignment

METRICS = ("cosine", "euclidean", "inner")


def value(a, b, metric):
    if metric == "euclidean":
        return -((a - b) ** 2).sum()
    if metric == "inner":
        return (a * b).sum()
    size = np.sqrt((a**2).sum()) * np.sqrt((b**2).sum())
    return (a * b).sum() / size if size > 0 else 0.0


def loop(x, y, k, metric):
    """Walk through every query's neighbours from the nearest on; those tied come in random order."""
    hits = []
    for i in range(len(x)):
        level = {j: value(x[j], x[i], metric) for j in range(len(x)) if j != i}
        relatives = [j for j in level if y[j] == y[i]]
        top = max((level[j] for j in relatives), default=np.nan)
        miss = 1.0 if relatives else np.nan
        near = 1e-11  # rounding is less, and no two values of the sets below are so close
        tied = [y[j] != y[i] for j in level if abs(level[j] - top) < near]
        strangers = sum(tied)
        for drawn in range(k - sum(one >= top + near for one in level.values())):
            miss *= max(strangers - drawn, 0) / max(len(tied) - drawn, 1)  # one more of them is a stranger
        hits.append(1 - miss)
    return np.array(hits)


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("precision", ["double", "single"])
@pytest.mark.parametrize("k", [1, 2, 5])
def test_equals_a_plain_loop(metric, precision, k):
    rng = np.random.default_rng(k)
    x, y = rng.normal(size=(150, 6)) + 0.5, rng.integers(5, size=150)
    x[10] = 0
    recall = recall_at_k(x, y, k, metric, precision=precision, memory=20_000)  # so small that blocks are cut
    np.testing.assert_allclose(recall.hits, loop(x, y, k, metric), atol=1e-12)


@settings(deadline=None, derandomize=True, max_examples=60)
@given(
    st.integers(0, 10**6), st.sampled_from(METRICS), st.integers(1, 4), st.sampled_from(["double", "single"])
)
def test_ties_and_duplicates(seed, metric, k, precision):
    # small integers: many exact ties within and across classes, duplicated rows, rows of zeros, lone members
    rng = np.random.default_rng(seed)
    n = int(rng.integers(4, 40))
    x = rng.integers(-1, 3, size=(n, int(rng.integers(1, 4)))).astype(float)
    y = rng.integers(0, max(2, n // 4), size=n)
    y[:3] = [0, 0, 1]
    if not x.any():
        x[0] = 1
    recall = recall_at_k(x, y, k, metric, precision=precision, memory=3000)
    np.testing.assert_allclose(recall.hits, loop(x, y, k, metric), atol=1e-12)
    assert recall.excluded == np.isnan(recall.hits).sum()
    assert recall.queries + recall.excluded == n


@pytest.mark.parametrize("metric", ["cosine", "euclidean"])
@pytest.mark.parametrize("precision", ["double", "single"])
def test_equals_scikit_learn(metric, precision):
    rng = np.random.default_rng(0)
    y = rng.integers(6, size=900)
    x = rng.normal(size=(900, 40)) + 0.7 * rng.normal(size=(6, 40))[y]
    x[600:] = x[:300]  # duplicates that share their label
    y[600:] = y[:300]
    _, neighbour = NearestNeighbors(n_neighbors=4, metric=metric, algorithm="brute").fit(x).kneighbors()
    for k in (1, 4):
        expected = (y[neighbour[:, :k]] == y[:, None]).any(axis=1)
        np.testing.assert_array_equal(recall_at_k(x, y, k, metric, precision=precision).hits, expected)


def test_single_precision_is_corrected_where_it_cannot_decide():
    # the rival is nearer by 1e-9 of the distance: float32 sees a tie, float64 does not
    x = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0 - 1e-9], [3.0, 3.0]])
    y = [0, 0, 1, 1]
    assert recall_at_k(x, y, metric="euclidean", precision="single").hits[0] == 0
    x[2, 1] = 1.0 + 1e-9
    assert recall_at_k(x, y, metric="euclidean", precision="single").hits[0] == 1


def test_by_class_counts_and_order_do_not_depend_on_where_samples_stand():
    rng = np.random.default_rng(3)
    x, y = rng.normal(size=(80, 5)), np.array(["a", "b", "c", "d"])[rng.integers(4, size=80)]
    y[5] = "z"
    recall = recall_at_k(x, y, 1)
    shuffle = rng.permutation(80)
    again = recall_at_k(x[shuffle], y[shuffle], 1)
    np.testing.assert_array_equal(recall.hits[shuffle], again.hits)
    for name, share in zip(recall.classes, recall.by_class, strict=True):
        members = recall.hits[y == name]
        assert np.isnan(share) if name == "z" else share == pytest.approx(members.mean())
    assert recall.excluded == 1
    assert float(recall) == pytest.approx(np.nanmean(recall.hits))


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("k", [1, 3])
def test_order_of_rows_and_names_of_classes_favour_nobody_among_equally_near_rows(seed, k):
    """Columns of ±1: most rows have several nearest ones. Broken by order, 0.92 for one class, 0.38 else."""
    rng = np.random.default_rng(seed)
    x, y = rng.choice([-1.0, 1.0], size=(90, 5)), np.sort(rng.integers(3, size=90))
    first = recall_at_k(x, y, k, METRICS[seed % 3])
    shuffle, names = rng.permutation(90), rng.permutation(3)
    again = recall_at_k(x[shuffle], names[y][shuffle], k, METRICS[seed % 3])
    np.testing.assert_allclose(again.hits, first.hits[shuffle], atol=1e-12)
    np.testing.assert_allclose(again.by_class[names], first.by_class, atol=1e-12)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"k": 0}, "k = 0: must be an integer of at least 1"),
        ({"k": True}, "k = True"),
        ({"metric": "l1"}, "metric = 'l1'"),
        ({"precision": "half"}, "precision = 'half'"),
        ({"labels": [0, 0, 0]}, "1 class; at least 2"),
        ({"labels": [0, 1, 2]}, "every class has one member"),
        ({"labels": [0, 1]}, r"labels: shape \(2,\)"),
        ({"labels": [0, np.nan, 1.0]}, "not finite"),
        ({"labels": [None, 1, 2]}, "numbers or texts"),
        ({"features": np.zeros((3, 2))}, "all zero"),
        ({"features": [[1.0], [np.nan], [2.0]]}, "1 values are NaN or infinite"),
        ({"features": np.ones(3)}, "two-dimensional"),
        ({"features": [["a"], ["b"], ["c"]]}, "real numbers"),
    ],
)
def test_bad_input(change, message):
    given = {"features": np.eye(3), "labels": [0, 0, 1]} | change
    with pytest.raises(ValueError, match=message):
        recall_at_k(**given)


@pytest.mark.parametrize("size", [1e160, 1e-170])
def test_units_do_not_matter(size):
    F, y = np.array([[1, 0], [1, 0.1], [0, 1], [0.1, 1]]), [0, 0, 1, 1]
    for metric in ("cosine", "euclidean", "inner"):  # squares would overflow, or vanish
        assert float(recall_at_k(size * F, y, metric=metric)) == 1
    np.testing.assert_allclose(alignment(size * F, y, "cosine"), alignment(F, y, "cosine"), rtol=1e-14)


def test_cosines_do_not_depend_on_the_length_of_any_row():
    rng = np.random.default_rng(3)
    F, y = rng.normal(size=(30, 4)), np.arange(30) % 3
    scaled = F * 10.0 ** rng.uniform(-250, 250, 30)[:, None]  # squares of some vanish, of others overflow
    np.testing.assert_array_equal(recall_at_k(scaled, y).hits, recall_at_k(F, y).hits)
    pairs = alignment(scaled, y, "cosine")
    np.testing.assert_allclose(pairs, alignment(F, y, "cosine"), atol=1e-14)  # sums of 4 products round
    assert pairs.attrs["zero_rows"] == 0


def test_rows_whose_squares_vanish_are_not_zero():
    pairs = alignment(np.full((4, 2), 1e-180), [0, 0, 1, 1])
    assert not pairs.values.any()
    assert pairs.attrs["zero_rows"] == 0


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("precision", ["double", "single"])
def test_ties_do_not_depend_on_units(seed, precision):
    """Rows of 0 and 1 in two classes, one in other units: rounding broke ties, .14 and .37 for .23 each."""
    rng = np.random.default_rng(seed)
    x, y = rng.integers(0, 2, size=(60, 6)).astype(float), np.repeat([0, 1], 60)
    x[~x.any(axis=1), 0] = 1.0
    x, unit = np.vstack([x, x]), float(rng.uniform(0.1, 10))
    one, other = (np.repeat([1.0, factor], 60)[:, None] for factor in (1.0, unit))
    expected = recall_at_k(x * one, y).hits
    np.testing.assert_allclose(expected[:60], expected[60:], atol=1e-12)
    scaled = recall_at_k(x * other, y, precision=precision)
    np.testing.assert_allclose(scaled.hits, expected, atol=1e-12)
    for metric in METRICS[1:]:
        first = recall_at_k(x + 0.3, y, metric=metric, precision=precision)
        again = recall_at_k(unit * (x + 0.3), y, metric=metric, precision=precision)
        np.testing.assert_allclose(again.hits, first.hits, atol=1e-12)
    ten = np.repeat([[0.1, 0.7, 0.2], [0.3, 2.1, 0.6]], 10, axis=0)  # 9 relatives among 19 that are as near
    np.testing.assert_allclose(recall_at_k(ten, np.arange(20) // 10).hits, 9 / 19)
