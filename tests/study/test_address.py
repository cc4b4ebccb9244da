"""Addresses change when and only when the content does."""

import struct
import subprocess
import sys
from dataclasses import dataclass, field, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny import Tiny

import firstlight
from firstlight.study.record import address
from firstlight.study.spec import Arm
from firstlight.study.sweep import Study
from firstlight.study.trial import tasks

scalars = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4) | st.binary(max_size=4)
    | st.complex_numbers()
)  # fmt: skip
arrays = st.lists(st.floats() | st.integers(-3, 3), max_size=3).map(np.array)
content = st.recursive(
    scalars | arrays,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner, max_size=3),
    max_leaves=6,
)
thorough = settings(deadline=None, derandomize=True, max_examples=150)


def bits(value):
    return struct.pack("<d", value)


def same(a, b):
    """Compare content bit by bit, written without the encoding under test."""
    if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
        return len(a) == len(b) and all(map(same, a, b))
    if type(a) is not type(b):
        return False
    if isinstance(a, float):
        return bits(a) == bits(b) or (a != a and b != b)
    if isinstance(a, complex):
        return same(a.real, b.real) and same(a.imag, b.imag)
    if isinstance(a, np.ndarray):
        return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    return a == b


def rewritten(value):
    """Write the same content differently: tuples for lists, keys in reverse, arrays in another order."""
    if isinstance(value, list):
        return tuple(map(rewritten, value))
    if isinstance(value, dict):
        return {key: rewritten(value[key]) for key in reversed(value)}
    if isinstance(value, np.ndarray):
        return np.asfortranarray(value.copy())
    return value


@thorough
@given(content, content)
def test_addresses_are_equal_exactly_for_the_same_content(a, b):
    assert (address(a) == address(b)) == same(a, b)


@thorough
@given(content)
def test_the_way_it_is_written_does_not_count(a):
    assert address(a) == address(rewritten(a))


@thorough
@given(content, content)
def test_nesting_counts(a, b):
    different = [(a, b), ((a,), b), (a, (b,)), ((a, b),), {"k": (a, b)}]
    assert len({address(value) for value in different}) == len(different)


def test_values_that_python_calls_equal():
    distinct = [1, 1.0, True, 0, 0.0, -0.0, False, "1", b"1", None, (), (1,), {}, "", float("nan"), 1 + 0j]
    assert len({address(value) for value in distinct}) == len(distinct)
    assert address(np.float64(0.1)) == address(0.1)
    assert address(np.float32(0.1)) != address(0.1)
    assert address(np.zeros(3)) != address(np.zeros(3, dtype=int)) != address(np.zeros((3, 1)))
    assert address(np.arange(3, dtype=">f8")) == address(np.arange(3, dtype="<f8"))


@dataclass(frozen=True)
class Box:
    a: float
    note: str = field(default="", compare=False)


@dataclass(frozen=True)
class Crate:
    a: float


def test_dataclasses_count_by_class_and_fields():
    assert address(Box(1.0)) == address(Box(1.0, note="seen")) != address(Box(2.0))
    assert address(Box(1.0)) != address(Crate(1.0))


def shifted(by):
    def function(z):
        return z + by

    return function


def test_functions_count_by_name_and_what_they_hold():
    assert address(shifted) == address(shifted) != address(bits)
    assert address(shifted(1.0)) == address(shifted(1.0)) != address(shifted(2.0))
    assert address(np.tanh) != address(np.sin)
    relu = firstlight.activation("relu")
    assert address(relu) == address(firstlight.activation("relu")) != address(firstlight.activation("tanh"))
    own = firstlight.activation(np.tanh, name="own")
    assert address(own) == address(firstlight.activation(np.tanh, name="own")) != address(relu)


@pytest.mark.parametrize("bad", [lambda z: z, object(), np.array([None]), Box(1.0).__repr__, open])
def test_what_has_no_lasting_content_is_refused(bad):
    if bad is open:
        assert address(bad)  # a compiled function is known by its name
        return
    with pytest.raises(ValueError, match="cannot be addressed"):
        address(bad)


def test_content_that_contains_itself_is_refused():
    loop = []
    loop.append(loop)
    with pytest.raises(ValueError, match="contains itself"):
        address(loop)


def test_another_process_finds_the_same_address():
    code = "from firstlight.study.record import address; print(address({'a': [1, 2.5], 'b': 'x'}).hex())"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == address({"b": "x", "a": (1, 2.5)}).hex()


def record_addresses(study):
    return {task.address for task in tasks(study, study.points())}


def test_records_of_other_content_never_mix(monkeypatch):
    study = Study("tiny/x", "x", Tiny, axes={"rate": [1.0, 2.0]}, trials=2)
    base = record_addresses(study)
    assert len(base) == study.records
    changed = [
        replace(study, seed=1),
        replace(study, fixed={"samples": 7}),
        replace(study, observables=["mean"]),
        replace(study, axes={"rate": [3.0, 4.0]}),
        replace(study, arms={"simulation": Arm("simulate", {"shift": 1.0})}),
    ]
    for other in changed:
        assert not base & record_addresses(other)
    assert base == record_addresses(replace(study, name="tiny/renamed"))
    assert base < record_addresses(replace(study, trials=3))
    monkeypatch.setattr(Tiny, "version", 2)
    assert not base & record_addresses(study)
