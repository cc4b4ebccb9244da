"""Records: what a trial left, as bytes, and the address under which it is found again.

A record is a layout (JSON: names, dimensions, types, shapes) and a body (the arrays' bytes, end to end):
bit-exact, compact, without pickle. Records of one study share a few layouts, so thousands of bodies are
decoded by one `numpy.frombuffer`.

An address is a fingerprint of the content that determines a result. The encoding is canonical: equal content
gives equal bytes in every process, and other content other bytes. ``1``, ``1.0`` and ``True`` differ, and so
do ``0.0`` and ``-0.0``; a list and a tuple do not, nor do two orders of a dict's keys. A Problem is known by
its theory and its name, other classes and functions by package and name: code may move between modules, and
records stay valid and numbers the same.
"""

import functools
import hashlib
import inspect
import json
import math
import types
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import Field, dataclass, fields, is_dataclass
from enum import Enum
from typing import Any

import numpy as np
import xarray as xr
from scipy import special

_DEPTH = 64


@dataclass(frozen=True)
class Record:
    """One finished trial: either a packed Dataset, or the message of its failure."""

    address: bytes
    study: str
    point: str
    arm: str
    trial: int
    layout: str | None = None
    body: bytes | None = None
    message: str | None = None
    seconds: float = 0.0

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


def address(*parts: Any) -> bytes:
    """Return the SHA-256 fingerprint of some content.

    Parameters
    ----------
    *parts : object
        None, numbers, text, bytes, lists, dicts, sets, arrays, dataclasses, enums and functions, nested at
        will. Functions count by name, source and what they close over; a lambda is refused.

    Returns
    -------
    bytes
        32 bytes.

    Examples
    --------
    >>> address({"a": 1, "b": [2, 3]}) == address({"b": (2, 3), "a": 1})
    True
    >>> address(1) == address(1.0)
    False
    """
    return hashlib.sha256(encode(parts)).digest()


def encode(value: Any, depth: int = 0) -> bytes:
    """Return the canonical bytes of some content; what `address` hashes.

    Parameters
    ----------
    value : object
        See `address`.
    depth : int, default 0
        Levels of nesting above; content that contains itself is refused.

    Examples
    --------
    >>> encode(0.5)
    b'f20:0x1.0000000000000p-1'
    """
    if (known := _EXACT.get(type(value))) is not None:  # nearly all of any content
        return _framed(known[0], known[1](value))
    if depth > _DEPTH:
        raise ValueError(f"content is nested more than {_DEPTH} levels deep, or contains itself")
    if isinstance(value, np.generic):
        return encode(_from_numpy(value), depth)
    plain = type(value) in (dict, list, tuple)
    if not plain:
        for kind, tag, text in _SCALARS:
            if isinstance(value, kind) and not isinstance(value, Enum):
                return _framed(tag, text(value))
    inner = functools.partial(encode, depth=depth + 1)
    if isinstance(value, Enum):
        return _framed(b"e", inner([_name(type(value)), value.name]))
    if isinstance(value, np.ndarray):
        return _framed(b"a", _array(value))
    if not plain and is_dataclass(value) and not isinstance(value, type):
        if (by_name := _by_name(value)) is not None:
            return _framed(b"r", inner(by_name))
        content = {item.name: getattr(value, item.name) for item in fields(value) if _counts(value, item)}
        return _framed(b"c", inner(_name(type(value))) + inner(content))
    if isinstance(value, Mapping):
        return _framed(b"d", b"".join(sorted(_framed(b"k", inner(k) + inner(v)) for k, v in value.items())))
    if isinstance(value, Set):
        return _framed(b"u", b"".join(sorted(map(inner, value))))
    if isinstance(value, Sequence):
        return _framed(b"l", b"".join(map(inner, value)))
    if isinstance(value, functools.partial):
        return _framed(b"p", inner(value.func) + inner(value.args) + inner(value.keywords))
    if callable(value):
        return _framed(b"m", _callable(value, depth))
    raise ValueError(
        f"{type(value).__name__} {value!r}: cannot be addressed; use numbers, text, arrays, dataclasses"
    )


def _counts(value: Any, item: "Field[Any]") -> bool:
    """Leave out a field that came later and is not used: records made before it keep their address."""
    unused = item.metadata.get("later", False) and getattr(value, item.name) == item.default
    return item.compare and not unused


_SCALARS: tuple[tuple[type, bytes, Callable[[Any], bytes]], ...] = (
    (types.NoneType, b"n", lambda value: b""),
    (bool, b"t", lambda value: b"1" if value else b"0"),
    (int, b"i", lambda value: str(int(value)).encode()),
    (float, b"f", lambda value: float.hex(float(value)).encode()),
    (complex, b"z", lambda value: f"{value.real.hex()},{value.imag.hex()}".encode()),
    (str, b"s", lambda value: str(value).encode("utf-8", "surrogatepass")),
    (bytes, b"b", bytes),
    (bytearray, b"b", bytes),
)
_EXACT = {kind: (tag, text) for kind, tag, text in _SCALARS}


def _framed(tag: bytes, body: bytes) -> bytes:
    """Prefix a body with its kind and length, so that no two structures share their bytes."""
    return b"%s%d:%s" % (tag, len(body), body)


def _name(thing: Any) -> str:
    """Name a class or function by its theory, or else its package; never by its module, which may change."""
    theory = getattr(thing, "theory", None)
    home = theory if isinstance(theory, str) else thing.__module__.partition(".")[0]
    return f"{home}:{thing.__qualname__}"


def _from_numpy(value: np.generic) -> Any:
    """Read a NumPy scalar as the Python one where that is the same thing; float32 and friends stay arrays."""
    same = (np.float64, np.int64, np.bool_, np.str_, np.bytes_, np.complex128)
    return value.item() if isinstance(value, same) else np.asarray(value)


def _by_name(value: Any) -> list[Any] | None:
    """Return how an object is found again by name, if it pickles that way (a built-in activation does)."""
    if type(value).__reduce__ is object.__reduce__:
        return None
    reduced = value.__reduce__()
    return [_name(reduced[0]), reduced[1]] if isinstance(reduced, tuple) and len(reduced) == 2 else None


def _array(value: np.ndarray) -> bytes:
    if value.dtype.hasobject:
        raise ValueError(
            f"array of dtype {value.dtype}: cannot be addressed; use numbers or fixed-width text"
        )
    little = value.astype(value.dtype.newbyteorder("<"), copy=False)
    body = hashlib.sha256(np.ascontiguousarray(little).tobytes()).digest()
    return encode([repr(np.lib.format.dtype_to_descr(little.dtype)), list(value.shape), body])


def _callable(value: Any, depth: int) -> bytes:
    """Name a function, class or ufunc; a function with its source and what it closes over, so edits count."""
    if isinstance(value, np.ufunc):
        home = "numpy" if getattr(np, value.__name__, None) is value else "scipy.special"
        if home != "numpy" and getattr(special, value.__name__, None) is not value:
            raise ValueError(f"ufunc {value.__name__}: cannot be addressed; only NumPy's and SciPy's can")
        return encode([home, value.__name__])
    module, qualname = getattr(value, "__module__", None), getattr(value, "__qualname__", "")
    if module is None or not qualname or "<lambda>" in qualname or inspect.ismethod(value):
        raise ValueError(
            f"{value!r}: cannot be addressed; a lambda or method has no lasting name: define a function"
        )
    parts: list[Any] = [_name(value)]
    if isinstance(value, types.FunctionType):
        cells = [cell.cell_contents for cell in value.__closure__ or ()]
        parts += [_source(value), value.__defaults__, value.__kwdefaults__, cells]
    return encode(parts, depth + 1)


def _source(function: types.FunctionType) -> Any:
    """Return the text of a function; what was typed into an interpreter has only its code."""
    try:
        return inspect.getsource(function)
    except (OSError, TypeError):
        code = function.__code__
        return [code.co_code, repr(code.co_consts), code.co_names]
