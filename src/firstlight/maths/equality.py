"""Equality by value: frozen dataclasses that may hold arrays compare, hash and pickle by their fields."""

import hashlib
from collections.abc import Mapping, Set
from dataclasses import fields, is_dataclass
from functools import partial
from typing import Any

import numpy as np

from firstlight.maths.shown import Shown


class ByValue(Shown):
    """A base for ``@dataclass(frozen=True, eq=False)``: every Problem and law of data has it.

    Instances are equal if they are of the same class and their fields are equal; arrays are if their types,
    shapes and values are, and NaN equals NaN. Cached properties stay out of pickles: they can be computed
    again. A shell or a notebook shows them as `Shown` says.

    Examples
    --------
    >>> import pickle
    >>> from firstlight.data.covariance import Spiked
    >>> law = Spiked([3.0], [[1.0], [0.0]])
    >>> law == Spiked((3,), np.eye(2)[:, :1]) == pickle.loads(pickle.dumps(law))
    True
    >>> law == Spiked([2.0], [[1.0], [0.0]])
    False
    """

    def __eq__(self, other: object) -> bool:
        return _key(self) == _key(other) if type(other) is type(self) else NotImplemented

    def __hash__(self) -> int:
        return hash(_key(self))

    def __getstate__(self) -> dict[str, Any]:
        return {item.name: getattr(self, item.name) for item in fields(self)}  # type: ignore[arg-type]


def _key(value: Any) -> Any:
    """Return something that can be hashed, and is equal exactly for equal values."""
    if isinstance(value, np.ndarray) and not value.dtype.hasobject:
        positive = value + 0.0 if value.dtype.kind in "fc" else value  # -0.0 equals 0.0
        return value.dtype.str, value.shape, hashlib.sha256(positive.tobytes()).digest()
    if is_dataclass(value) and not isinstance(value, type):
        return type(value), *(_key(getattr(value, item.name)) for item in fields(value) if item.compare)
    if isinstance(value, (list, tuple, np.ndarray)):
        return tuple(map(_key, value))
    if isinstance(value, Mapping):
        return frozenset((key, _key(item)) for key, item in value.items())
    if isinstance(value, Set):
        return frozenset(map(_key, value))
    if isinstance(value, partial):
        return partial, _key(value.func), _key(value.args), _key(value.keywords)
    return "nan" if isinstance(value, float) and value != value else value
