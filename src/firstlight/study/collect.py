"""Read a study back: its records as one Dataset over arms, axes, trials and the observables' dimensions."""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import xarray as xr

from firstlight.study.record import unpack_many
from firstlight.study.store import Store
from firstlight.study.sweep import Point, Study
from firstlight.study.trial import tasks

_UNPLANNED, _MISSING, _OK, _FAILED = range(4)
_WORDS = np.array(["unplanned", "missing", "ok", "failed"])


@dataclass
class _Block:
    """The records that share one layout, decoded together."""

    places: np.ndarray
    variables: dict[str, tuple[tuple[str, ...], dict[str, Any], np.ndarray]] = field(default_factory=dict)
    coords: dict[str, tuple[tuple[str, ...], dict[str, Any], np.ndarray]] = field(default_factory=dict)


def collect(study: Study, store: Store, points: Iterable[Point] | None = None) -> xr.Dataset:
    """Gather what the store holds of a study.

    Parameters
    ----------
    study : Study
        At the scale that is wanted.
    points : iterable of dict, optional
        Default: the grid. Points beyond it (a refinement's) extend their axis.

    Returns
    -------
    xarray.Dataset
        Each observable has dimensions ``arm``, the axes, ``trial``, then its own; NaN where there is no
        record. ``status`` says "ok", "failed", "missing", or "unplanned" (where an arm has fewer trials).

    Examples
    --------
    >>> import tempfile
    >>> from firstlight.demo import STUDY
    >>> with tempfile.TemporaryDirectory() as folder, Store(f"{folder}/s.sqlite", write=True) as store:
    ...     str(collect(STUDY, store)["status"].values[0, 0, 0])
    'missing'
    """
    chosen = list(study.points() if points is None else points)
    axes = _axes(study, chosen)
    shape = (len(study.arms), *(len(values) for values in axes.values()), max(map(study.count, study.arms)))
    addresses, places = _places(study, chosen, axes, shape)
    status = np.full(shape, _UNPLANNED, dtype=np.int8)
    status.reshape(-1)[places] = _MISSING
    blocks = _decode(store, addresses, places, status.reshape(-1))
    dims = ("arm", *axes, "trial")
    coords = {"arm": list(study.arms), **{name: list(values) for name, values in axes.items()}}
    results = xr.Dataset({"status": (dims, _WORDS[status])}, coords={**coords, "trial": range(shape[-1])})
    return _assemble(results, blocks, dims, shape)


def _axes(study: Study, points: Sequence[Point]) -> dict[str, list[Any]]:
    """Return the axis values: the grid's, and in order also those that a refinement added."""
    axes = {name: list(values) for name, values in study.axes.items()}
    if study.refine is not None:
        axis = study.refine.axis
        axes[axis] = sorted({*axes[axis], *(point[axis] for point in points)})
    return axes


def _places(
    study: Study, points: Sequence[Point], axes: dict[str, list[Any]], shape: tuple[int, ...]
) -> tuple[list[bytes], np.ndarray]:
    """Return every trial's address, and its place in the flattened grid."""
    order = {name: {value: i for i, value in enumerate(values)} for name, values in axes.items()}
    arms = {name: i for i, name in enumerate(study.arms)}
    addresses, indices = [], []
    for task in tasks(study, points):
        addresses.append(task.address)
        indices.append((arms[task.arm], *(order[name][task.point[name]] for name in axes), task.trial))
    return addresses, np.ravel_multi_index(tuple(np.array(indices).T), shape)


def _decode(store: Store, addresses: Sequence[bytes], places: np.ndarray, status: np.ndarray) -> list[_Block]:
    """Read the records and decode them layout by layout; also fills in the status."""
    where: dict[bytes, list[int]] = {}
    for address, place in zip(addresses, places.tolist(), strict=True):
        where.setdefault(address, []).append(place)  # two points may mean the same problem
    groups: dict[str, tuple[list[int], list[bytes]]] = {}
    for address, layout, body, message in store.bodies(list(where)):
        status[where[address]] = _OK if message is None else _FAILED
        if layout is not None and body is not None:
            group = groups.setdefault(layout, ([], []))
            group[0].extend(where[address])
            group[1].extend([body] * len(where[address]))
    blocks = []
    for layout, (cells, bodies) in groups.items():
        block = _Block(np.array(cells))
        for name, is_coord, dims, attrs, values in unpack_many(layout, bodies):
            (block.coords if is_coord else block.variables)[name] = (dims, attrs, values)
        blocks.append(block)
    return blocks


def _assemble(
    results: xr.Dataset, blocks: Sequence[_Block], dims: tuple[str, ...], shape: tuple[int, ...]
) -> xr.Dataset:
    index = _own_index(blocks)
    if clash := set(index) & set(dims):
        raise ValueError(f"dimension {sorted(clash)[0]!r} of the observables is also an axis of the study")
    for name in dict.fromkeys(name for block in blocks for name in block.variables):
        having = [block for block in blocks if name in block.variables]
        own = having[0].variables[name][0]
        attrs = {key: value for block in having for key, value in block.variables[name][1].items()}
        if any(block.variables[name][0] != own for block in having):
            raise ValueError(f"observable {name!r}: its dimensions differ from record to record")
        holes = sum(len(block.places) for block in having) < np.prod(shape)
        dtype = np.result_type(*(block.variables[name][2].dtype for block in having))
        positions = [_positions(block, name, index) for block in having]
        ragged = any(places is not None for places in positions)
        if (holes or ragged) and dtype.kind in "biu":
            dtype = np.dtype(float)  # integers and truth values have no NaN
        blank = np.nan if dtype.kind in "fc" else np.zeros((), dtype)[()]
        values = np.full((int(np.prod(shape)), *(len(index[dim]) for dim in own)), blank, dtype)
        for block, order in zip(having, positions, strict=True):
            _fill(values, block.places, block.variables[name][2], order)
        results[name] = ((*dims, *own), values.reshape(*shape, *values.shape[1:]), attrs)
    named = {dim for block in blocks for dim in block.coords}
    return results.assign_coords({dim: values for dim, values in index.items() if dim in named})


def _own_index(blocks: Sequence[_Block]) -> dict[str, np.ndarray]:
    """Return the coordinate of each of the observables' own dimensions: the shared one, or else the union."""
    seen: dict[str, list[np.ndarray]] = {}
    for block in blocks:
        for own, _, values in block.variables.values():
            for axis, dim in enumerate(own):
                plain = np.arange(values.shape[axis + 1])[None]
                seen.setdefault(dim, []).append(block.coords[dim][2] if dim in block.coords else plain)
    index = {}
    for dim, pieces in seen.items():
        first = pieces[0][0]
        alike = all(piece.shape[1:] == first.shape and (piece == first).all() for piece in pieces)
        index[dim] = first if alike else np.unique(np.concatenate([piece.ravel() for piece in pieces]))
    return index


def _positions(block: _Block, name: str, index: dict[str, np.ndarray]) -> list[np.ndarray] | None:
    """Return where each record's entries go along its own dimensions; None if they fill them in order."""
    own, _, values = block.variables[name]
    orders, plain = [], True
    for dim, length in zip(own, values.shape[1:], strict=True):
        labels = block.coords[dim][2] if dim in block.coords else np.arange(length)[None]
        same = labels.shape[1:] == index[dim].shape and bool((labels == index[dim]).all())
        plain = plain and same
        order = np.arange(length)[None] if same else np.searchsorted(index[dim], labels)
        orders.append(np.broadcast_to(order, (len(block.places), length)))
    return None if plain else orders


def _fill(values: np.ndarray, places: np.ndarray, new: np.ndarray, order: list[np.ndarray] | None) -> None:
    if order is None:
        values[places] = new
        return
    for row, place in enumerate(places):
        values[place][np.ix_(*(along[row] for along in order))] = new[row]


def failures(study: Study, store: Store) -> list[dict[str, Any]]:
    """List the failed trials of a study's grid with their messages.

    Returns
    -------
    list of dict
        ``point``, ``arm``, ``trial``, ``message``.

    Examples
    --------
    >>> import tempfile
    >>> from firstlight.demo import STUDY
    >>> with tempfile.TemporaryDirectory() as folder, Store(f"{folder}/s.sqlite", write=True) as store:
    ...     failures(STUDY, store)
    []
    """
    todo = {task.address: task for task in tasks(study, study.points())}
    failed = {address: message for address, _, _, message in store.bodies(list(todo)) if message is not None}
    return [
        {"point": task.point, "arm": task.arm, "trial": task.trial, "message": failed[address]}
        for address, task in todo.items()
        if address in failed
    ]


def fingerprint(dataset: xr.Dataset) -> str:
    """Return a hash of every bit of a Dataset's values, for saying that two runs gave the same.

    Examples
    --------
    >>> fingerprint(xr.Dataset({"x": 0.0})) == fingerprint(xr.Dataset({"x": -0.0}))
    False
    """
    digest = hashlib.sha256()
    for name in sorted(map(str, dataset.variables)):
        values = np.ascontiguousarray(dataset[name].values)
        digest.update(f"{name} {dataset[name].dims} {values.dtype.str} {values.shape}".encode())
        digest.update(values.tobytes())
    return digest.hexdigest()
