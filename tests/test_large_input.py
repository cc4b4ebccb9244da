"""Inputs that are too large or too odd: an answer in bounded memory, or a ValueError."""

import io
import zipfile

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy.sparse.linalg import LinearOperator
from typer.testing import CliRunner

from firstlight.cli import app
from firstlight.data.files import load
from firstlight.data.unseen import split_classes, standardised
from firstlight.early_alignment import Problem as Alignment
from firstlight.early_alignment import align
from firstlight.measure.hessian import extreme_eigenpairs
from firstlight.measure.spectral import spectral_estimator
from firstlight.one_step import Problem as OneStep
from firstlight.unseen_classes import Step, analysis
from firstlight.unseen_classes.theory.retrieval import rivals_of


def test_npz_members_that_are_no_arrays(tmp_path):
    def member(array):
        file = io.BytesIO()
        np.save(file, array)
        return file.getvalue()

    for name, content in (("some", member(np.eye(4))), ("none", b"no array")):
        with zipfile.ZipFile(tmp_path / f"{name}.npz", "w") as archive:
            archive.writestr("readme.txt", "words")
            archive.writestr("X.npy", content)
            archive.writestr("y.npy", member(np.arange(4)) if name == "some" else b"neither")
    assert load(tmp_path / "some.npz").features.shape == (4, 4)
    with pytest.raises(ValueError, match=r"none\.npz: holds no arrays"):
        load(tmp_path / "none.npz")


def test_a_parquet_file_is_sized_before_it_is_read(tmp_path):
    rows = 1_000_000
    table = pa.table({"x": np.zeros(rows), "y": np.zeros(rows, dtype=np.int8)})
    pq.write_table(table, tmp_path / "long.parquet")
    limit = 1_000_000
    assert (tmp_path / "long.parquet").stat().st_size < limit / 10
    with pytest.raises(ValueError, match=r"16,000,000 bytes; at most max_bytes = 1,000,000"):
        load(tmp_path / "long.parquet", max_bytes=limit)


@pytest.mark.parametrize("metric", ["cosine", "euclidean", "inner"])
@pytest.mark.parametrize("seed", range(4))
def test_rivals_are_counted_as_one_would_by_hand(metric, seed):
    """Whole numbers, so that there are many ties, and no rounding."""
    rng = np.random.default_rng(seed)
    x, index = rng.integers(-1, 2, (14, 2)).astype(float), rng.permutation(np.repeat(range(3), [6, 5, 3]))
    gram = x @ x.T
    square = np.diag(gram)
    result = rivals_of(gram, np.arange(14), index, square, metric)
    for i in range(14):
        if metric == "cosine":
            near = [gram[i, j] / (np.sqrt(square[j]) or 1.0) for j in range(14)]
        else:
            near = [2 * gram[i, j] - square[j] if metric == "euclidean" else gram[i, j] for j in range(14)]
        others = [j for j in range(14) if j != i]
        best = max(near[j] for j in others if index[j] == index[i])
        same = [j for j in others if np.isclose(near[j], best, rtol=0, atol=1e-12)]
        ahead = [index[j] for j in others if near[j] > best and j not in same]
        tied = [index[j] for j in same if index[j] != index[i]]
        assert result.ahead[i].tolist() == np.bincount(ahead, minlength=3).tolist()
        assert result.tied[i].tolist() == np.bincount(tied, minlength=3).tolist()
        assert result.family[i] == len(same) - len(tied)


@pytest.mark.parametrize(("metric", "head"), [("cosine", "gaussian"), ("euclidean", "rademacher")])
def test_the_kernel_by_tiles_gives_what_the_whole_gives(metric, head, monkeypatch):
    rng = np.random.default_rng(3)
    y = np.append(rng.integers(0, 6, 90), 6)  # a class of one
    x = rng.standard_normal((91, 5)) + rng.standard_normal((7, 5))[y]
    data, step = standardised(split_classes(x, y, [0, 1])), Step(metric=metric, head=head, width=32)
    whole = analysis.analyse(data, step)
    monkeypatch.setattr(analysis, "MEMORY", 1.0)
    tiles = analysis.analyse(data, step)
    assert list(whole) == list(tiles)
    for name in whole:  # sums in another order: 1e-15 of numbers up to some tens
        np.testing.assert_allclose(tiles[name].values, whole[name].values, rtol=1e-10, atol=1e-10)


def test_align_says_what_memory_it_needs():
    X = np.random.default_rng(0).normal(size=(300_000, 33))  # 720 GB of products, none for fewer columns
    with pytest.raises(ValueError, match=r"X: 300000 samples: needs 720\.0 GB of memory"):
        align(X, np.ones(len(X)), np.eye(33)[:1], [1])


def test_too_many_steps_or_pictures_are_refused_at_once(tmp_path):
    problem = Alignment(data="toy", start="gaussian", reduction="mean", step_size=1e-9, horizon=5.0)
    with pytest.raises(ValueError, match=r"step_size = 1e-09: 5e\+09 steps to the horizon = 5.0"):
        problem.simulate(0, method="descent")
    done = CliRunner().invoke(app, ["animate", str(tmp_path / "x.gif"), "--frames", "1000000000"])
    assert done.exit_code == 2
    assert "frames" in done.output
    assert not isinstance(done.exception, MemoryError)


def test_eigenvalues_where_arpack_gives_up():
    """A zero operator: ARPACK's starting vector vanishes after one product."""
    zero = LinearOperator((30, 30), matvec=lambda v: 0 * v, dtype=float)
    assert extreme_eigenpairs(zero, 1, count=2).values.tolist() == [0, 0]
    X = np.random.default_rng(0).standard_normal((50, 30))
    values, vectors = spectral_estimator(X, np.ones(50), lambda y: 0 * y)
    assert values.tolist() == [0]
    assert vectors.shape == (30, 1)


def test_no_penalty_at_the_interpolation_threshold_says_so():
    problem = OneStep.scaled(dimension=60, width=40, samples=40, alpha=0.5, beta=0.5, ridge=(0.0, 0.1))
    predicted = problem.predict(0, method="asymptotic", draws=1)
    assert predicted.converged.values.tolist() == [False, True]
    assert np.isnan(predicted.test_error.values).tolist() == [True, False]
