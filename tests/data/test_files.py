"""A user's files: what is read, and that every refusal says what is wrong and where."""

import pickle
import zipfile
from decimal import Decimal

import numpy as np
import pandas
import pytest

from firstlight.data import Table, load

X = np.arange(12.0).reshape(4, 3)
Y = np.array([0, 1, 1, 0])


@pytest.fixture
def folder(tmp_path):
    return tmp_path


def csv(folder, text, name="data.csv"):
    path = folder / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def parquet(folder, columns):
    import pyarrow as pa
    from pyarrow import parquet as pq

    path = folder / "data.parquet"
    pq.write_table(pa.table(columns), path)
    return path


def npz(folder, **arrays):
    path = folder / "data.npz"
    np.savez(path, **arrays)
    return path


def npy(folder, array):
    path = folder / "data.npy"
    np.save(path, array)
    return path


def same(table, features=X, labels=Y):
    """Tell whether a table holds these numbers and labels."""
    parts = (table.features, features), (table.labels, labels), (table.classes, np.unique(labels))
    kind = isinstance(table, Table) and table.features.dtype == np.float64
    return kind and all(np.array_equal(held, wanted) for held, wanted in parts)


def test_the_four_formats_give_the_same_table(folder):
    rows = "\n".join(f"{a},{b},{c},{y}" for (a, b, c), y in zip(X, Y, strict=True))
    assert same(load(npz(folder, X=X, y=Y)))
    assert same(load(npy(folder, np.column_stack([X, Y])), labels=-1))
    assert same(load(csv(folder, f"a,b,c,label\n{rows}\n")))
    assert same(load(parquet(folder, {"a": X[:, 0], "b": X[:, 1], "c": X[:, 2], "target": Y})))
    assert str(folder) in load(npz(folder, X=X, y=Y)).source
    assert load(folder / "data.npz").label == "y"
    assert load(folder / "data.npy", labels=-1).label == "column 4"
    assert load(folder / "data.parquet").label == "target"


def test_npz_naming_rules(folder):
    assert same(load(npz(folder, points=X, kind=Y)))  # one table, one vector: no names needed
    assert same(load(npz(folder, features=X, more=X, labels=Y)))
    assert same(load(npz(folder, data=X, a=Y[::-1], b=Y), labels="b"))
    assert same(load(npz(folder, X=X.astype(np.float32), y=Y), labels=1))
    assert "2 classes" in repr(load(npz(folder, X=X, y=Y)))


def test_label_column_by_name_and_position(folder):
    path = csv(folder, "kind,a,b\nu,1,2\nv,3,4\n")
    for labels in ("kind", 0, -3):
        assert same(load(path, labels=labels), [[1, 2], [3, 4]], ["u", "v"])
    assert same(load(csv(folder, "a, y \n 1, 2\n3,4\n")), [[1], [3]], [2, 4])


def test_text_labels_from_parquet_categories(folder):
    import pyarrow as pa

    kinds = pa.array(["u", "v", "u", "v"]).dictionary_encode()
    assert same(load(parquet(folder, {"a": X[:, 0], "y": kinds})), X[:, :1], ["u", "v", "u", "v"])


@pytest.mark.parametrize("digits", [9, 30, 50])
def test_decimal_numbers_of_databases_are_numbers(folder, digits):
    """It said that '1.25' is not a number; a double has 16 digits, and no more are asked for."""
    import pyarrow as pa

    kind = (pa.decimal128 if digits < 39 else pa.decimal256)(digits, 2)
    exact = [[Decimal(f"{value:.2f}") for value in column] for column in (*(X.T / 4), Y)]
    columns = dict(zip(["a", "b", "c", "y"], [pa.array(one, kind) for one in exact], strict=True))
    assert same(load(parquet(folder, columns)), X / 4, Y)
    columns["b"] = pa.array([None, *exact[1][1:]], kind)
    with pytest.raises(ValueError, match="1 value is missing or infinite; first nan at row 1, column 'b'"):
        load(parquet(folder, columns))


def test_numbers_of_rows_that_pandas_keeps_are_no_feature(folder):
    """It does once rows were dropped, as the last column: they were learnt from, or taken as labels."""
    table = pandas.DataFrame({"a": X[:, 0], "b": X[:, 1], "y": Y})
    path = folder / "data.parquet"
    for kept in (table, table.drop(index=1), table.sample(frac=1, random_state=1), table.set_index([Y, Y])):
        kept.to_parquet(path)
        for label in ("y", -1):
            assert same(load(path, label), kept[["a", "b"]].to_numpy(), kept["y"].to_numpy())
    table.set_index("y").to_parquet(path)
    assert same(load(path), X[:, :2], Y)
    table.drop(index=1).rename_axis("id").to_parquet(path)  # a name is kept: it may be a column as any other
    assert load(path).names == ("a", "b", "id")
    table[["a", "b"]].set_index(Y).to_parquet(path)
    assert same(load(path, "__index_level_0__"), X[:, :2], Y)


@pytest.mark.parametrize("seed", range(5))
def test_a_file_without_names_does_not_lose_its_first_row(folder, seed):
    rng = np.random.default_rng(seed)
    rows = [(*np.round(rng.normal(size=3), 2).tolist(), str(rng.choice(["ash", "elm"]))) for _ in range(9)]
    lines = [",".join(map(str, row)) for row in rows]
    for label in (-1, rows[0][-1]):
        with pytest.raises(ValueError, match=f"holds a row: numbers, and the class '{rows[0][-1]}'"):
            load(csv(folder, "\n".join(lines)), label)
    assert len(load(csv(folder, "\n".join(["0,1,2,tree", *lines])), "tree").labels) == 9


def test_csv_details(folder):
    assert same(load(csv(folder, b"\xef\xbb\xbfa,y\r\n1,u\r\n\r\n2,v")), [[1], [2]], ["u", "v"])
    assert same(load(csv(folder, 'a,y\n1,"u,w"\n2,v\n')), [[1], [2]], ["u,w", "v"])
    assert same(load(csv(folder, "a,y\ntrue,1\nfalse,2\n")), [[1], [0]], [1, 2])


CSV = {
    "a,b,y\n1,2,u\n3,v\n": r"Row #3: Expected 3 columns, got 2",
    "a,b,y\n1,2,u\n3,4,5,v\n": r"Row #3: Expected 3 columns, got 4",
    "a,b,y\n1,nan,u\n3,4,v\n": r"1 value is missing or infinite; first nan at row 1, column 'b'",
    "a,b,y\n1,2,u\n,4,v\n": r"first nan at row 2, column 'a'",
    "a,b,y\n1,2,u\n3,inf,v\n": r"first inf at row 2, column 'b'",
    "a,b,y\n1,2,u\n3,cat,v\n": r"column 'b', row 2: 'cat' is not a number",
    "a,b,y\n1,2020-01-01,u\n": r"column 'b', row 1: '2020-01-01' is not a number",
    "a,y\n1,u\n2,u\n": r"only one class, u",
    "a,y\n1,u\n2,\n": r"label of row 2 is missing",
    "a,y\n1,1\n2,\n": r"label of row 2 is missing or infinite",
    "a,b\n1,2\n3,4\n": r"no column for the labels.*it has a, b",
    "1,2\n3,4\n": r"holds only numbers",
    "a,y\n": r"no rows",
    "a,a,y\n1,2,u\n3,4,v\n": r"names must differ",
    "a,column 1,\n1,2,u\n3,4,v\n": r"no column for the labels.*it has a, column 1, column 3",
    "a,b,y\n1,NA,u\n3,4,v\n": r"1 value is missing or infinite; first nan at row 1, column 'b'",
    "a,b,c,y\n1,yes,2020-01-01,u\n3,no,2020-01-02,v\n": r"'yes' is not a number; .*\(without\): b, c",
    "a,b,y\n1,true,u\n3,,v\n": r"column 'b', row 2: the value is missing",
    "y\nu\nv\n": r"no column besides the labels",
    "": r"the file is empty",
    "\n\n": r"no rows",
    "a,y\n1,\x00\n": r"is not a text file",
}


@pytest.mark.parametrize(("text", "message"), CSV.items())
def test_csv_refusals(folder, text, message):
    path = csv(folder, text)
    with pytest.raises(ValueError, match=message) as caught:
        load(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("wrong", ["1_000", "١٢٣", "１２", "0x10", "true", "1.5.2", "1e", "five"])
@pytest.mark.parametrize(("point", "between"), [(".", ","), (".", ";"), (",", ";")])
def test_the_first_cell_that_is_no_number_is_named(folder, wrong, point, between):
    """Also where Python would call it a number, and where the others have decimal commas."""
    usual = ["0.5", " 1.5", "-2.5 ", "+3.", "1e5", "1E-5", "7", "nan"] * 5
    cells = [cell.replace(".", point) for cell in usual]
    cells[20] = cells[30] = wrong
    rows = [f"{cell}{between}{i % 2}\n" for i, cell in enumerate(cells)]
    with pytest.raises(ValueError, match=rf"column 'a', row 21: '{wrong}' is not a number"):
        load(csv(folder, f"a{between}y\n" + "".join(rows)))


def test_numbers_that_are_kept_as_texts_are_told(folder):
    with pytest.raises(ValueError, match=r"column 'a', row 1: '1.5' is kept as a text; encode"):
        load(parquet(folder, {"a": ["1.5", "2.5"], "y": [0, 1]}))


def test_unknown_label_column_lists_what_there_is(folder):
    path = csv(folder, "a,b,kind\n1,2,u\n3,4,v\n")
    for labels in ("colour", 3, -4):
        with pytest.raises(ValueError, match=r"labels = .*no such column; it has a, b, kind"):
            load(path, labels=labels)
    many = ",".join(f"c{i}" for i in range(50))
    with pytest.raises(ValueError, match=r"\(50 in all\)"):
        load(csv(folder, f"{many}\n{many}\n"))


def test_columns_left_out_are_neither_the_labels_nor_all(folder):
    path = csv(folder, "a,b,y\n1,2,u\n3,4,v\n")
    for labels in (None, "y", -1):
        with pytest.raises(ValueError, match=r"without = 'y': is the column of the labels.*\(labels\)"):
            load(path, labels, without=["a", "y"])
    with pytest.raises(ValueError, match=r"no column besides the labels and those left out \(without\)"):
        load(path, without=["a", "b"])
    assert same(load(path, "a", without=["y"]), [[2], [4]], [1, 3])
    for other in (npz(folder, X=X, y=Y), npy(folder, X)):
        with pytest.raises(ValueError, match=r"without = y: a .np[yz] file has no column names"):
            load(other, without=["y"])


def test_a_refusal_names_the_field_and_speaks_no_python(folder):
    """The same words reach Python, the command line (--labels) and the page."""
    with pytest.raises(ValueError, match=r"say which it is \(labels\); it has a, b") as caught:
        load(csv(folder, "a,b\n1,2\n3,4\n"))
    assert "labels=" not in str(caught.value)


def test_npz_refusals(folder):
    with pytest.raises(ValueError, match="pickled objects"):
        load(npz(folder, X=np.array([[1, None]], dtype=object), y=Y))
    with pytest.raises(ValueError, match=r"which array holds the features\?.*a \(4, 3\), b \(4, 3\)"):
        load(npz(folder, a=X, b=X, y=Y))
    with pytest.raises(ValueError, match="no such array; it has X, y"):
        load(npz(folder, X=X, y=Y), labels="z")
    with pytest.raises(ValueError, match="no array for the labels"):
        load(npz(folder, X=X))
    with pytest.raises(ValueError, match=r"labels have shape \(3,\), expected \(4,\)"):
        load(npz(folder, X=X, y=Y[:3]))
    with pytest.raises(ValueError, match=r"labels have shape \(4, 1\)"):
        load(npz(folder, X=X, y=Y[:, None]))
    with pytest.raises(ValueError, match="expected two dimensions"):
        load(npz(folder, X=X.reshape(4, 3, 1), y=Y))
    with pytest.raises(ValueError, match="type complex128"):
        load(npz(folder, X=X + 1j, y=Y))
    with pytest.raises(ValueError, match="expected numbers or texts"):
        load(npz(folder, X=X, y=Y + 1j))
    with pytest.raises(ValueError, match="nothing to learn"):
        load(npz(folder, X=np.zeros((0, 3)), y=np.zeros(0)))
    with pytest.raises(ValueError, match="only one class"):
        load(npz(folder, X=X, y=np.ones(4)))
    with pytest.raises(ValueError, match="first nan at row 2, column 3"):
        load(npz(folder, X=np.where(X == 5, np.nan, X), y=Y))
    with pytest.raises(ValueError, match="label of row 3 is missing or infinite"):
        load(npz(folder, X=X, y=[0, 1, np.nan, 0]))


def test_npy_refusals(folder):
    with pytest.raises(ValueError, match="pickled objects"):
        load(npy(folder, np.array([[1, "a"]], dtype=object)), labels=0)
    with pytest.raises(ValueError, match="give a column's number"):
        load(npy(folder, X))
    with pytest.raises(ValueError, match="there are 3 columns"):
        load(npy(folder, X), labels=3)
    with pytest.raises(ValueError, match="expected two dimensions"):
        load(npy(folder, X[0]), labels=0)


def test_damaged_and_disguised_files(folder):
    for name in ("a.npy", "a.npz", "a.parquet"):
        path = folder / name
        path.write_bytes(b"not what the ending says")
        with pytest.raises(ValueError, match="is not a readable"):
            load(path, labels=0)
    for name in ("p.npy", "p.npz"):
        path = folder / name
        path.write_bytes(pickle.dumps({"a": 1}))
        with pytest.raises(ValueError, match="or a pickled one"):
            load(path, labels=0)
    whole = npz(folder, X=X, y=Y).read_bytes()
    (folder / "cut.npz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ValueError, match="is not a readable NumPy file"):
        load(folder / "cut.npz")
    (folder / "zip.npy").write_bytes(whole)
    with pytest.raises(ValueError, match="is not a readable NumPy file"):
        load(folder / "zip.npy", labels=0)


def test_size_limits_look_at_what_an_archive_unpacks_to(folder):
    path = npy(folder, X)
    with pytest.raises(ValueError, match=r"at most max_bytes = 100 are read"):
        load(path, labels=0, max_bytes=100)
    bomb = folder / "bomb.npz"
    np.savez_compressed(bomb, X=np.zeros((1000, 1000)), y=np.zeros(1000))
    assert bomb.stat().st_size < 100_000
    with pytest.raises(ValueError, match=r"8,0.* bytes"):
        load(bomb, max_bytes=100_000)
    assert zipfile.is_zipfile(bomb)


def test_other_refusals(folder):
    with pytest.raises(ValueError, match=r"unknown ending '.xlsx'; allowed are .npz"):
        load(folder / "data.xlsx")
    with pytest.raises(FileNotFoundError):
        load(folder / "absent.csv")
    (folder / "folder.csv").mkdir()
    with pytest.raises(ValueError, match="is not a file"):
        load(folder / "folder.csv")


@pytest.mark.parametrize("kind", [csv, parquet])
def test_tables_of_too_many_columns_are_refused_before_they_are_read(folder, kind, monkeypatch):
    """The limit itself needs half a gigabyte: a smaller one stands for it."""
    monkeypatch.setattr("firstlight.data.dialect.MOST_COLUMNS", 50)
    if kind is csv:
        names = ",".join(f"c{i}" for i in range(200_000))
        path = csv(folder, f"{names}\n{names.replace('c', '1')}\n")
        monkeypatch.setattr("pyarrow.csv.read_csv", None)
    else:
        path = parquet(folder, {f"c{i}": [0.5, 1.5] for i in range(51)})
    with pytest.raises(ValueError, match=r"data\.\w+: has more than 50 columns; .* npz"):
        load(path, labels="c0")
