"""Readers of npz, npy, csv and parquet files: features, the names of their columns, and labels.

Nothing in a file is ever run: pickled arrays are refused. A refusal says where in the file.
"""

import difflib
import re
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from firstlight.data.dialect import Refusal, check_width, dialect

Which = str | int | None  # the labels' array or column: its name, its position, or to be guessed
FEATURE_NAMES = ("X", "x", "features", "data", "inputs")
LABEL_NAMES = ("y", "Y", "label", "labels", "target", "targets", "class")
_MISSING = ["", "?", "NA", "N/A", "n/a", "null", "NULL", "None", "nan", "NaN", "NAN", "#N/A"]

_INDEX = re.compile(r"__index_level_\d+__")  # the rows' numbers, as pandas keeps them beside the columns


# features, the names of their columns, labels, what they are called
_Parts = tuple[np.ndarray, list[str] | None, np.ndarray, str]


def _read_npz(path: Path, labels: Which, without: Sequence[str]) -> _Parts:
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
            members = {name: archive[name] for name in archive.files}
    except Exception as error:  # a damaged archive can fail in many ways, none of them the user's concern
        raise _numpy_refusal(error) from None
    arrays = {name: array for name, array in members.items() if isinstance(array, np.ndarray)}
    if not arrays:  # what is no array comes as bytes
        raise Refusal(f"holds no arrays, only {listed(list(members)) or 'nothing'}")
    vectors = [name for name in arrays if arrays[name].ndim == 1]
    label = _pick(labels, list(arrays), vectors, "array")
    rest = [name for name in arrays if name != label]
    tables = [name for name in rest if name in FEATURE_NAMES] or [n for n in rest if arrays[n].ndim == 2]
    if len(tables) != 1:
        shapes = ", ".join(f"{name} {arrays[name].shape}" for name in arrays)
        raise Refusal(f"which array holds the features? name it X or features; it has {shapes}")
    return arrays[tables[0]], None, arrays[label], label


def _read_npy(path: Path, labels: Which, without: Sequence[str]) -> _Parts:
    try:
        with path.open("rb") as file:
            array = np.lib.format.read_array(file, allow_pickle=False)
    except Exception as error:
        raise _numpy_refusal(error) from None
    if isinstance(labels, str) and labels.removeprefix("-").isdecimal():
        labels = int(labels)
    if not isinstance(labels, int):
        raise Refusal(
            f"labels = {labels!r}: an npy file has no column names; give a column's number (-1 is the last)"
        )
    _two_dimensional(array)
    if not -array.shape[1] <= labels < array.shape[1]:
        raise Refusal(f"labels = {labels}: there are {array.shape[1]} columns")
    place = range(1, 1 + array.shape[1])[labels]
    return np.delete(array, labels, axis=1), None, array[:, labels], f"column {place}"


def _read_csv(path: Path, labels: Which, without: Sequence[str]) -> _Parts:
    from pyarrow import ArrowException, csv

    encoding, delimiter, decimal = dialect(path)
    try:
        table = csv.read_csv(
            path,
            read_options=csv.ReadOptions(use_threads=False, encoding=encoding),  # so that errors name the row
            parse_options=csv.ParseOptions(delimiter=delimiter),
            convert_options=csv.ConvertOptions(
                null_values=_MISSING, strings_can_be_null=False, decimal_point=decimal
            ),
        )
    except (ArrowException, UnicodeError) as error:
        reason = str(error).splitlines()[0].removeprefix("CSV parse error: ")
        raise Refusal(f"is not a readable csv file: {reason[:200]} (the names are row 1)") from None
    if all(_is_number(name, decimal) for name in table.column_names):
        raise Refusal("the first line must hold the columns' names, and holds only numbers")
    features, names, values, label = _split(table, labels, without, decimal)
    if label in values.tolist() and all(_is_number(name, decimal) for name in names):
        raise Refusal(
            f"the first line must hold the columns' names, and holds a row: numbers, and the class {label!r}"
        )
    return features, names, values, label


def _read_parquet(path: Path, labels: Which, without: Sequence[str]) -> _Parts:
    from pyarrow import ArrowException, float64, parquet, schema
    from pyarrow.types import is_decimal

    try:
        file = parquet.ParquetFile(path)
        check_width(file.metadata.num_columns)
        table = file.read()
        kinds = [one.with_type(float64()) if is_decimal(one.type) else one for one in table.schema]
        table = table.cast(schema(kinds))  # numbers as databases keep them
    except (ArrowException, OSError) as error:
        raise Refusal(f"is not a readable parquet file: {str(error).splitlines()[0][:200]}") from None
    unnamed = [name for name in table.column_names if _INDEX.fullmatch(name) and name != labels]
    return _split(table.drop_columns(unnamed), labels, without)


READERS: dict[str, Callable[[Path, Which, Sequence[str]], _Parts]] = {
    ".npz": _read_npz,
    ".npy": _read_npy,
    ".csv": _read_csv,
    ".tsv": _read_csv,
    ".txt": _read_csv,
    ".parquet": _read_parquet,
}


def _split(
    table: Any, labels: Which, without: Sequence[str], decimal: str = "."
) -> tuple[np.ndarray, list[str], np.ndarray, str]:
    """Take the label column out of an Arrow table."""
    names = [name.strip() or f"column {place}" for place, name in enumerate(table.column_names, 1)]
    if not table.num_rows:
        raise Refusal("has no rows below the columns' names")
    if twice := [name for name, count in Counter(names).items() if count > 1]:
        raise Refusal(f"column names must differ; more than one is called {listed(twice)}")
    label = _pick(labels, names, [], "column")
    left_out = {_pick(name, names, [], "column", "without") for name in without}
    if label in left_out:
        raise Refusal(f"without = {label!r}: is the column of the labels; keep it, or name another (labels)")
    columns = {name: table.column(i).to_numpy() for i, name in enumerate(names) if name not in left_out}
    values = _texts(columns.pop(label))
    if not columns:
        raise Refusal(
            f"has no column besides the labels{' and those left out (without)' if left_out else ''}"
        )
    return _numbers(columns, decimal), list(columns), values, label


def _pick(labels: Which, names: list[str], fallback: list[str], kind: str, field: str = "labels") -> str:
    """Decide which of the names holds the labels."""
    if isinstance(labels, int) and -len(names) <= labels < len(names):
        return names[labels]
    if isinstance(labels, str) and labels in names:
        return labels
    if labels is not None:
        alike = {name.strip().casefold(): name for name in names}
        close = difflib.get_close_matches(str(labels).strip().casefold(), alike, n=1)
        hint = f", did you mean {alike[close[0]]!r}?" if close else ""
        raise Refusal(f"{field} = {labels!r}: there is no such {kind}{hint}; it has {listed(names)}")
    candidates = [name for name in LABEL_NAMES if name in names] or (fallback if len(fallback) == 1 else [])
    if not candidates:
        raise Refusal(
            f"no {kind} for the labels; name one {' or '.join(LABEL_NAMES)}, or say which it is (labels); "
            f"it has {listed(names)}"
        )
    return candidates[0]


def _numbers(columns: dict[str, np.ndarray], decimal: str) -> np.ndarray:
    """Put columns side by side; name all that hold no numbers."""
    kinds = {name: column.dtype.kind for name, column in columns.items()}
    odd = [name for name, kind in kinds.items() if kind not in "biuf"]
    if not odd:
        return np.column_stack([column.astype(float) for column in columns.values()])
    first = columns[odd[0]]
    row = next((i for i, value in enumerate(first) if not _is_number(value, decimal)), 0)
    if first[row] is None:
        raise Refusal(f"column {odd[0]!r}, row {row + 1}: the value is missing; fill it in, or leave out")
    text = isinstance(first[row], str) and _is_number(first[row], decimal)
    said = "is kept as a text" if text else "is not a number"
    raise Refusal(
        f"column {odd[0]!r}, row {row + 1}: {str(first[row])[:40]!r} {said}; encode or leave out "
        f"(without): {listed(odd)}"
    )


def _is_number(value: Any, decimal: str) -> bool:
    """Say whether Arrow reads a text as a number; Python would take underscores and other digits as well."""
    if not isinstance(value, str):
        return value is not None
    point = re.escape(decimal)
    number = rf"(\d+({point}\d*)?|{point}\d+)(e[+-]?\d+)?"
    pattern = rf"[ \t]*[+-]?({number}|nan|inf(inity)?)[ \t]*"
    return re.fullmatch(pattern, value, re.ASCII | re.IGNORECASE) is not None


def _texts(column: np.ndarray) -> np.ndarray:
    """Turn a column of Python texts into an array of texts; leave numbers alone."""
    if column.dtype.kind != "O":
        return column
    for row, value in enumerate(column):
        if not isinstance(value, str) or not value:
            raise Refusal(f"the label of row {row + 1} is missing, or neither a number nor a text")
    return column.astype(str)


def check_features(array: np.ndarray, names: list[str] | None) -> np.ndarray:
    """Return the features as floats, or refuse what is no table of finite numbers."""
    _two_dimensional(array)
    if array.dtype.kind not in "biuf":
        raise Refusal(f"the features are of type {array.dtype}, expected real numbers")
    if 0 in array.shape:
        raise Refusal(f"the features have shape {array.shape}: nothing to learn from")
    features = array.astype(float)
    bad = np.argwhere(~np.isfinite(features))
    if len(bad):
        row, column = (int(index) for index in bad[0])
        place = f"column {names[column]!r}" if names else f"column {column + 1}"
        raise Refusal(
            f"{len(bad)} {'value is' if len(bad) == 1 else 'values are'} missing or infinite; "
            f"first {features[row, column]} at row {row + 1}, {place}; "
            "fill them in, or leave out rows or columns"
        )
    return features


def _two_dimensional(array: np.ndarray) -> None:
    if array.ndim != 2:
        raise Refusal(f"the features have shape {array.shape}, expected two dimensions (samples, features)")


def classes_of(labels: np.ndarray, samples: int) -> np.ndarray:
    """Return the distinct labels, or refuse what is not one label per sample, of two classes or more."""
    if labels.shape != (samples,):
        raise Refusal(f"the labels have shape {labels.shape}, expected ({samples},): one per sample")
    if labels.dtype.kind not in "biufU":
        raise Refusal(f"the labels are of type {labels.dtype}, expected numbers or texts")
    if labels.dtype.kind == "f" and not np.isfinite(labels).all():
        raise Refusal(f"the label of row {int(np.argmin(np.isfinite(labels))) + 1} is missing or infinite")
    classes = np.unique(labels)
    if len(classes) < 2:
        raise Refusal(f"only one class, {classes[0]}; at least two are needed")
    return classes


def _numpy_refusal(error: Exception) -> Refusal:
    if "Object arrays" in str(error):
        return Refusal("holds pickled objects, which could run code; save plain numeric arrays instead")
    return Refusal(
        f"is not a readable NumPy file, or a pickled one ({type(error).__name__}: {str(error)[:80]})"
    )


def listed(names: list[str]) -> str:
    """Return names with commas between them: the first twenty, and how many there are.

    Examples
    --------
    >>> listed([str(i) for i in range(30)])[-23:]
    '18, 19, ... (30 in all)'
    """
    shown = ", ".join(name[:40] for name in names[:20])
    return shown + (f", ... ({len(names)} in all)" if len(names) > 20 else "")
