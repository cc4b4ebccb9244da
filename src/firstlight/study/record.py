"""Datasets as bytes: bit-exact, compact, without pickle.

A record is a layout (JSON: names, dimensions, types, shapes) and a body (the arrays' bytes, end to end).
Records of one study share a few layouts, so thousands of bodies are decoded by one `numpy.frombuffer`.
"""

import hashlib
import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr


@dataclass(frozen=True)
class Record:
    """One finished trial: either a packed Dataset, or the message of its failure.

    Examples
    --------
    >>> Record(b"a" * 32, "demo/x", "{}", "theory", 0, None, None, "ValueError: no", 0.1).ok
    False
    """

    address: bytes
    study: str
    point: str
    arm: str
    trial: int
    layout: str | None
    body: bytes | None
    message: str | None
    seconds: float

    @property
    def ok(self) -> bool:
        """Whether the trial gave a result."""
        return self.message is None


def checksum(*fields: Any) -> bytes:
    """Return the checksum of a record: of all its fields, with the text of its layout.

    Examples
    --------
    >>> checksum(b"a", 1, 0.5, None) == checksum(b"a", 1, 0.5, "")
    False
    """
    legible = ascii([(len(field),) if isinstance(field, bytes) else field for field in fields])
    blobs = [field for field in fields if isinstance(field, bytes)]
    return hashlib.blake2b(b"".join([legible.encode(), *blobs]), digest_size=16).digest()


def pack(dataset: xr.Dataset) -> tuple[str, bytes]:
    """Encode a Dataset; its own ``attrs`` are left out, those of its variables kept where JSON can hold them.

    Parameters
    ----------
    dataset : Dataset
        Numbers, truth values, dates or text; no Python objects.

    Returns
    -------
    layout : str
    body : bytes

    Examples
    --------
    >>> layout, body = pack(xr.Dataset({"error": 0.5}))
    >>> layout
    '[["error", false, [], "<f8", [], {}]]'
    >>> len(body)
    8
    """
    layout, body = [], []
    for name, variable in dataset.variables.items():
        values = np.asarray(variable.values)
        if values.dtype.kind == "O" or values.dtype.hasobject:
            raise ValueError(
                f"observable {name!r}: dtype {values.dtype} cannot be stored; use numbers or text"
            )
        values = values.astype(values.dtype.newbyteorder("<"), copy=False)
        attrs = {key: value for key, value in variable.attrs.items() if isinstance(value, (str, int, float))}
        is_coord = name in dataset.coords
        layout.append([name, is_coord, variable.dims, values.dtype.str, values.shape, attrs])
        body.append(values.tobytes())
    return json.dumps(layout), b"".join(body)


def unpack_many(
    layout: str, bodies: Sequence[bytes]
) -> Iterator[tuple[str, bool, tuple[str, ...], dict[str, Any], np.ndarray]]:
    """Decode many records of one layout at once.

    Parameters
    ----------
    layout : str
    bodies : sequence of bytes

    Yields
    ------
    name, is_coord, dims, attrs, values
        One entry per variable; `values` has the records along its first axis.

    Examples
    --------
    >>> bodies = [pack(xr.Dataset({"error": value}))[1] for value in (0.5, 1.5)]
    >>> layout = pack(xr.Dataset({"error": 0.0}))[0]
    >>> [(name, values.tolist()) for name, _, _, _, values in unpack_many(layout, bodies)]
    [('error', [0.5, 1.5])]
    """
    columns = json.loads(layout)
    length = sum(np.dtype(dtype).itemsize * math.prod(shape) for _, _, _, dtype, shape, _ in columns)
    if wrong := [len(body) for body in bodies if len(body) != length]:
        raise ValueError(f"a record holds {wrong[0]} bytes where its layout needs {length}")
    table = np.frombuffer(b"".join(bodies), dtype=np.uint8).reshape(len(bodies), length)
    start = 0
    for name, is_coord, dims, dtype, shape, attrs in columns:
        stop = start + np.dtype(dtype).itemsize * math.prod(shape)
        block = np.ascontiguousarray(table[:, start:stop])
        values = np.empty((len(bodies), *shape), dtype) if stop == start else block.view(dtype)
        yield name, is_coord, tuple(dims), attrs, values.reshape(len(bodies), *shape)
        start = stop
