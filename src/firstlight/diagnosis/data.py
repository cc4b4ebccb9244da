"""A user's data, checked and described: rows, columns, classes, and what is odd about them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from firstlight.data.readers import Refusal, classes_of
from firstlight.diagnosis.columns import (
    as_matrix,
    check_sizes,
    column_notes,
    is_constant,
    kept_columns,
    natural_copies,
    wide_columns,
)
from firstlight.diagnosis.words import counted
from firstlight.maths.checks import refuse_masked
from firstlight.maths.refusals import check_choice, check_flag
from firstlight.maths.rng import stream

Task = Literal["auto", "classification", "regression"]
MOST_ROWS = 10_000
_MOST_NUMBERS = 8_000_000  # rows × columns: 10 000 images of 784 pixels


@dataclass(frozen=True, eq=False)
class UserData:
    """Features and labels as every theory gets them.

    Attributes
    ----------
    X : ndarray, shape (n, d)
        Finite, no constant column, no row twice; in the user's units unless standardised.
    y : ndarray, shape (n,)
        The class of each row as a position in `classes`, or its number.
    classes : tuple of str
        Empty for regression.
    names : tuple of str
        Of the columns.
    source : str
        Where the data came from.
    rows : int
        How many there were.
    standardised : bool
        Whether every column was divided by its standard deviation.
    seed : int
        Of all that is drawn.
    notes : tuple of str
        What is odd about the data, in plain words.
    places : ndarray of int, shape (n,)
        Where each row stood in the user's data, from 0 on.
    """

    X: np.ndarray
    y: np.ndarray
    classes: tuple[str, ...]
    names: tuple[str, ...]
    source: str
    rows: int
    standardised: bool
    seed: int
    notes: tuple[str, ...]
    places: np.ndarray

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns that are used."""
        return self.X.shape[0], self.X.shape[1]

    @property
    def counts(self) -> np.ndarray:
        """Rows of each class."""
        return np.bincount(self.y, minlength=len(self.classes)) if self.classes else np.zeros(0, int)

    @property
    def uneven(self) -> bool:
        """Whether a few columns of large scale hide all others."""
        return len(wide_columns(self.X)) > 0

    @property
    def summary(self) -> str:
        """Rows, columns and classes in a sentence."""
        n, d = self.shape
        columns = counted(d, "column")
        if not self.classes:
            return f"{n:,} rows, {columns}, a number to predict"
        sizes = " to ".join(map(str, sorted({self.counts.min(), self.counts.max()})))
        return f"{n:,} rows, {columns}, {len(self.classes)} classes ({sizes} rows each)"

    def rng(self, *keys: str | int) -> np.random.Generator:
        """Return the random stream of a purpose: the same for the same seed, whatever else was drawn."""
        return stream(self.seed, "diagnosis", *keys)

    def two(self, a: int, b: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the rows of two classes, and -1 for the first and +1 for the second."""
        rows = np.flatnonzero((self.y == a) | (self.y == b))
        return self.X[rows], np.where(self.y[rows] == b, 1.0, -1.0)

    def pairs(self, most: int, least: int = 2) -> list[tuple[int, int]]:
        """Return pairs of classes with so many rows each, those that are hardest to tell apart first.

        Hard: means that lie close, in units of the spread of the two classes along the line between them.
        """
        members = [self.X[self.y == c] for c in range(len(self.classes))]
        means = [rows.mean(axis=0) for rows in members]
        large = [c for c, rows in enumerate(members) if len(rows) >= least]
        pairs = []
        for i, a in enumerate(large):
            for b in large[i + 1 :]:
                along = means[a] - means[b]
                spread = np.sqrt(0.5 * ((members[a] @ along).var() + (members[b] @ along).var()))
                pairs.append((float(along @ along / max(spread, 1e-300)), a, b))
        return [(a, b) for _, a, b in sorted(pairs)[:most]]


def user_data(
    X: ArrayLike,
    y: ArrayLike,
    *,
    task: Task = "auto",
    standardise: bool = False,
    names: Sequence[str] | None = None,
    source: str = "arrays",
    seed: int = 0,
) -> UserData:
    """Check and describe features and labels.

    Parameters
    ----------
    X, y, task, standardise, names, source
        As `firstlight.diagnose` takes them.
    seed : int, default 0
        Of the rows that are kept, where there are too many.

    Examples
    --------
    >>> user_data([[1, 5], [2, 5], [3, 5], [4, 5]], ["a", "b", "a", "b"]).notes[0]
    "column 2 is constant ('5'): left out."
    """
    check_choice("task", task, ("auto", "classification", "regression"))
    check_flag("standardise", standardise)
    if names is None and hasattr(X, "columns"):  # a data frame
        names = list(X.columns)
    features = as_matrix(X)
    titles = (
        tuple(map(str, names))
        if names is not None
        else tuple(f"column {i + 1}" for i in range(features.shape[1]))
    )
    if len(titles) != features.shape[1]:
        raise ValueError(f"names: {len(titles)} for {features.shape[1]} columns; need one for each")
    labels = _labels(y, len(features))
    kind, notes = _task(labels, task)
    target, classes = _target(labels, kind)
    given = len(features)
    rows, more = _sampled(features, target, classes, seed)
    features, target = features[rows], target[rows]
    notes += more
    check_sizes(features, titles)
    kept, more = kept_columns(features, titles)
    features, titles = features[:, kept], tuple(titles[i] for i in kept)
    notes += more
    kept, more = _distinct(features, target)
    features, target = features[kept], target[kept]
    notes += more + column_notes(features, titles, standardise) + _class_notes(target, classes)
    if standardise:
        features = features / features.std(axis=0)
    return UserData(features, target, classes, titles, source, given, standardise, seed, notes, rows[kept])


def _labels(y: ArrayLike, rows: int) -> np.ndarray:
    refuse_masked("y", y)
    try:
        labels = np.asarray(y)
    except ValueError:
        raise ValueError("y: must be numbers or texts, one for each row") from None
    if labels.dtype.kind == "O" and all(isinstance(one, str) for one in labels.ravel()):
        labels = labels.astype(str)
    try:
        classes_of(labels, rows)
    except Refusal as refusal:
        raise ValueError(f"y: {refusal}") from None
    return labels


def _task(labels: np.ndarray, task: Task) -> tuple[str, tuple[str, ...]]:
    """Decide between classes and numbers, and say so where it could be otherwise."""
    counts = np.unique(labels, return_counts=True)[1]
    values, rows = len(counts), len(labels)
    decimals = labels.dtype.kind == "f" and bool((labels != np.round(labels)).any())
    too_many = values > max(20, rows / 10) or values > max(5, rows / 2)
    many = too_many or (decimals and (values > 10 or counts.min() == 1))
    if labels.dtype.kind == "U":
        if task == "regression":
            raise ValueError(f"task = 'regression': the labels are texts, such as {str(labels[0])!r}")
        if many and task == "auto":
            said = f"y: {values} different texts in {rows} rows; is this the column of classes?"
            raise ValueError(f"{said} If so: task = 'classification'")
        return "classification", ()
    if task == "classification" and too_many:
        raise ValueError(
            f"task = 'classification': the labels look continuous, {values} values in {rows} rows"
        )
    if task == "auto" and (many or (values > 10 and _counted(counts))):
        note = f"The labels have {values:,} values in {rows:,} rows: taken as a number to predict."
        return "regression", (note,)
    if task == "auto" and values > 10 and labels.dtype.kind in "iuf":
        note = f"The labels are {values} numbers, taken as classes; --task regression predicts them."
        return "classification", (note,)
    return ("classification" if task == "auto" else task), ()


def _counted(counts: np.ndarray) -> bool:
    """Whether values in one row only look like the tail of a count, and not like a class that lost its rows.

    In a tail the neighbours are rare too; next to a value of many rows a single one is no chance.
    """
    alone = counts == 1
    beside = np.maximum(np.append(counts[1:], 0), np.append(0, counts[:-1]))
    return bool(alone.any() and beside[alone].max() < max(10, counts.max() / 2))


def _target(labels: np.ndarray, kind: str) -> tuple[np.ndarray, tuple[str, ...]]:
    if kind == "regression":
        numbers = labels.astype(float)
        if np.abs(numbers).max() > 1e100 or is_constant(numbers[:, None])[0]:
            span = f"{numbers.min():g} to {numbers.max():g}"
            raise ValueError(f"y: the numbers go from {span}; they must vary, by 1e-100 to 1e+100; rescale")
        return numbers, ()
    classes, index, counts = np.unique(labels, return_inverse=True, return_counts=True)
    whole = classes.dtype.kind == "f" and bool((classes == np.round(classes)).all())
    texts = tuple(f"{name + 0.0:.0f}" if whole else str(name) for name in classes.tolist())
    if counts.min() == 1:
        alone = texts[int(counts.argmin())]
        number = "" if labels.dtype.kind == "U" else ", or take the labels as numbers (task = 'regression')"
        raise ValueError(f"y: class {alone!r} has one row only; merge or remove it{number}")
    return index, texts


def _sampled(
    X: np.ndarray, y: np.ndarray, classes: tuple[str, ...], seed: int
) -> tuple[np.ndarray, tuple[str, ...]]:
    """Keep as many rows as fit, at random; of each class its share and at least two."""
    n = len(X)
    most = min(MOST_ROWS, max(1000, _MOST_NUMBERS // X.shape[1]))
    if n <= most:
        return np.arange(n), ()
    rng = stream(seed, "diagnosis", "rows")
    groups = [np.flatnonzero(y == c) for c in range(len(classes))] if classes else [np.arange(n)]
    kept = [rng.choice(rows, max(2, round(len(rows) * most / n)), replace=False) for rows in groups]
    rows = np.sort(np.concatenate(kept))
    return rows, (f"{len(rows):,} of {n:,} rows, drawn at random, are used.",)


def _distinct(X: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, tuple[str, ...]]:
    """Keep every row once: a copy on the other side of a split would be no test.

    Rows that must repeat, because their columns take few values, are all kept.
    """
    seen: dict[bytes, int] = {}
    table = np.column_stack([X, y]) + 0.0  # no negative zeros
    first = [i for i, row in enumerate(table) if seen.setdefault(row.tobytes(), i) == i]
    twice = len(X) - len(first)
    if not twice:
        return np.arange(len(X)), ()
    if natural_copies(X) > 0.1 * twice:
        note = f"{twice:,} rows repeat others, as the columns take few values: all are used."
        return np.arange(len(X)), (note,)
    many = f"{twice:,} rows are exact copies of others"
    copies = "1 row is an exact copy of another" if twice == 1 else many
    note = f"{copies}: each is used once, so that no test row was trained on."
    return np.array(first), (note,)


def _class_notes(y: np.ndarray, classes: tuple[str, ...]) -> tuple[str, ...]:
    if not classes:
        return ()
    counts = np.bincount(y, minlength=len(classes))
    if counts.min() < 2:
        raise ValueError(f"y: class {classes[int(counts.argmin())]!r} has one row left without copies")
    if counts.max() < 5 * counts.min():
        return ()
    small, large = classes[int(counts.argmin())], classes[int(counts.argmax())]
    share = counts.max() / counts.sum()
    return (
        f"The classes are unequal: {large!r} has {counts.max():,} rows, {small!r} {counts.min():,}; always "
        f"answering {large!r} would be right in {100 - float(f'{100 * (1 - share):.3g}'):g} %.",
    )
