"""A user's own data: npz, npy, csv and parquet files become one checked table of features and labels.

Nothing in a file is ever run: pickled arrays are refused. Every refusal says which file, and where in it.
"""

import os
import zipfile
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from firstlight.data.readers import READERS, Refusal, Which, check_features, classes_of
from firstlight.maths.refusals import check_instance


@dataclass(frozen=True, eq=False)
class Table:
    """Features and labels, checked.

    Attributes
    ----------
    features : ndarray of shape (n, d), float64
        One row per sample, all finite.
    labels : ndarray of shape (n,)
        As in the file: numbers or texts.
    classes : ndarray
        The distinct labels, sorted; at least two.
    source : str
        Where the data came from.
    names : tuple of str
        The features' columns; ``column 1`` and so on where the file has no names.
    label : str
        The column or array that holds the labels.
    """

    features: np.ndarray
    labels: np.ndarray
    classes: np.ndarray
    source: str
    names: tuple[str, ...] = ()
    label: str = ""

    def __repr__(self) -> str:
        n, d = self.features.shape
        return f"Table({n} samples, {d} features, {len(self.classes)} classes, source={self.source!r})"


def load(
    path: str | Path,
    labels: Which = None,
    *,
    without: Sequence[str] = (),
    max_bytes: int = 2_000_000_000,
) -> Table:
    r"""Read features and labels from a file.

    Parameters
    ----------
    path : str or Path
        By its ending: ``.npz``, ``.npy``, ``.csv`` (or ``.tsv``, ``.txt``) or ``.parquet``. A csv file has
        one line of column names, then numbers (labels may be texts); commas, semicolons, tabs or bars between
        columns, decimal commas, and UTF-8, UTF-16 or Windows' western encoding are recognised. An npz file
        with one two-dimensional and one one-dimensional array needs no names; else the features are the array
        called X, x, features, data or inputs.
    labels : str or int, optional
        Which array of an npz file, or which column of the others, holds the labels: its name, or its position
        (-1 is the last; the only choice in an npy file). If not given: the one called y, Y, label, labels,
        target, targets or class.
    without : sequence of str
        Columns of a csv or parquet file to leave out: texts, dates, identifiers.
    max_bytes : int, default 2_000_000_000
        A larger file is refused before it is read.

    Raises
    ------
    ValueError
        Unknown ending, empty, ragged, not numeric, not finite, pickled, no labels, one class only, ...
    FileNotFoundError
        There is no such file.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "points.csv"
    >>> _ = path.write_text("width,height,label\n1,2,cat\n3,4,dog\n")
    >>> table = load(path)
    >>> table.features.tolist(), table.labels.tolist()
    ([[1.0, 2.0], [3.0, 4.0]], ['cat', 'dog'])
    """
    check_instance("path", path, str, os.PathLike)
    path = Path(path)
    _check(path, without)
    size = _unpacked_size(path)
    if size == 0:
        raise ValueError(f"{path}: the file is empty")
    if size > max_bytes:
        raise ValueError(f"{path}: {size:,} bytes; at most max_bytes = {max_bytes:,} are read")
    try:
        features, names, values, label = READERS[path.suffix.lower()](path, labels, without)
        features = check_features(features, names)
        named = tuple(names or (f"column {i + 1}" for i in range(features.shape[1])))
        return Table(features, values, classes_of(values, len(features)), str(path), named, label)
    except Refusal as error:
        raise ValueError(f"{path}: {error}") from None


def _check(path: Path, without: Sequence[str]) -> None:
    """Refuse a file of another kind, and options that do not fit it."""
    if path.suffix.lower() not in READERS:
        raise ValueError(f"{path}: unknown ending {path.suffix!r}; allowed are {', '.join(READERS)}")
    if without and path.suffix.lower() in (".npz", ".npy"):
        raise ValueError(f"without = {', '.join(without)}: a {path.suffix} file has no column names")
    if path.exists() and not path.is_file():
        raise ValueError(f"{path}: is not a file")


def _unpacked_size(path: Path) -> int:
    """Return what the file takes once unpacked: a small archive must not fill the memory."""
    size = path.stat().st_size
    if path.suffix.lower() == ".npz" and zipfile.is_zipfile(path):
        with suppress(zipfile.BadZipFile), zipfile.ZipFile(path) as archive:
            size = sum(member.file_size for member in archive.infolist())
    if path.suffix.lower() == ".parquet":
        size = max(size, _table_size(path))
    return size


def _table_size(path: Path) -> int:
    """Return what the numbers of a parquet file take, by its own account: equal values take no room in it."""
    from pyarrow import ArrowException, parquet

    try:
        about = parquet.read_metadata(path)
    except (ArrowException, OSError):  # the reader says what is wrong
        return 0
    groups = sum(about.row_group(group).total_byte_size for group in range(about.num_row_groups))
    return int(max(groups, 8 * about.num_rows * about.num_columns))
