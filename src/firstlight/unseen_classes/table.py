"""Train on some classes of a user's own table; the others are unseen."""

from collections import Counter
from dataclasses import dataclass

import numpy as np
import xarray as xr

from firstlight.data.kept import kept
from firstlight.data.unseen import UnseenData, split_classes, standardised
from firstlight.maths.checks import check_count
from firstlight.maths.refusals import refusal
from firstlight.unseen_classes.base import UnseenProblem


@dataclass(frozen=True, eq=False, kw_only=True)
class TableProblem(UnseenProblem):
    """Train on some classes of a kept table; the others are unseen.

    Parameters
    ----------
    table : str
        Its name, as `firstlight.data.kept.keep` returned it.
    classes : sequence of str
        The classes to train on, at least two; at least two must remain.
    per_class : int, default 60
        Rows of each class at most, drawn anew in every trial.
    **step
        The fields of `Step`.

    Examples
    --------
    >>> import os, tempfile
    >>> from unittest.mock import patch
    >>> from firstlight.data.kept import keep
    >>> rows = np.random.default_rng(0).normal(size=(80, 6)) + 3 * np.eye(4, 6).repeat(20, axis=0)
    >>> with tempfile.TemporaryDirectory() as folder, patch.dict(os.environ, FIRSTLIGHT_CACHE=folder):
    ...     name = keep(rows, np.repeat(["ash", "elm", "fir", "oak"], 20))
    ...     predicted = TableProblem(table=name, classes=["ash", "oak"]).predict(0)
    >>> predicted.alignment.notnull().values.tolist()
    [False, True, True, False]
    """

    table: str
    classes: tuple[str, ...]
    per_class: int = 60

    def __post_init__(self) -> None:
        super().__post_init__()
        check_count("per_class", self.per_class, 2)
        if not isinstance(self.classes, (list, tuple)) or any(not isinstance(c, str) for c in self.classes):
            raise refusal("classes", self.classes, "be names of classes")
        object.__setattr__(self, "classes", tuple(self.classes))
        names = kept(self.table)[2]
        unknown = [one for one in self.classes if one not in names]
        repeated = len(set(self.classes)) < len(self.classes)
        if unknown or repeated or not 2 <= len(self.classes) <= len(names) - 2:
            most = f"2 to {len(names) - 2}" if len(names) >= 4 else "some of at least four classes, 2"
            raise refusal("classes", self.classes, f"be {most}, each once, of {', '.join(names)}"[:500])

    def _counts(self) -> Counter[int]:
        return Counter({c: min(n, self.per_class) for c, n in Counter(kept(self.table)[1].tolist()).items()})

    @property
    def sizes(self) -> tuple[int, int, int]:
        """Training samples, input dimension, unseen samples."""
        rows, _, names = kept(self.table)
        counts = self._counts()
        trained = sum(counts[names.index(one)] for one in set(self.classes))
        return trained, rows.shape[1], counts.total() - trained

    def sample(self, rng: np.random.Generator) -> UnseenData:
        """Draw rows of every class, centred and scaled."""
        rows, index, names = kept(self.table)
        chosen = [
            rng.choice(np.flatnonzero(index == c), count, replace=False)
            for c, count in sorted(self._counts().items())
        ]
        at = np.concatenate(chosen)
        parts = split_classes(rows[at], index[at], [names.index(one) for one in self.classes])
        try:
            return standardised(parts)
        except ValueError as error:
            raise ValueError(f"table = {self.table!r}, classes = {self.classes}: {error}") from None

    def summarised(self, results: xr.Dataset) -> xr.Dataset:
        """Return all classes, the trained ones without values: so training sets can be laid side by side."""
        every = np.arange(len(kept(self.table)[2]))
        return results.reindex({"class": every, "other": every})
