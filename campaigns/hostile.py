"""Hostile expressions, files, studies and stores: read, or refused in words.

    python campaigns/hostile.py [--count 1000] [--only files] [--log out/hostile.jsonl]

expressions: mangled formulas are read or refused with a ValueError that begins with "target".
files: mangled tables are read or refused with a ValueError that begins with the file's name.
studies: so are studies in TOML with mangled bytes, or with values that do not belong where they stand.
bits: a store with a flipped bit is refused, or gives right records only, and can be mended. It is not refused
  if the bit is one that SQLite does not read, or lies in a record's result.
Exit code 1 if there is any failure.
"""

import functools
import io
import re
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
from endurance import campaign_by_kind
from random_data import target

from firstlight.data.files import load
from firstlight.data.parser import Formula
from firstlight.study.record import Record
from firstlight.study.store import Store, StoreError
from firstlight.study.toml import read_study
from firstlight.study.trial import check

sys.path.append(str(Path(__file__).parents[1] / "tests" / "study"))
import test_store as stores  # what the tests write, read and flip

Rng = np.random.Generator
TOKENS = [
    "z1", "z0", "z9", "__import__('os')", "lambda: 1", "z1.real", "1e999", "**", "**99", "**0.3", "((", "))",
    "[", "]", ",", "sin", "exp(", "where(", "if", "==", "<", "@", "'", '"', "\\", "\n", "\x00", "é", "∞",
    "9" * 400, "-", "~", "not ", ":=", "f'{z1}'", "#", ";", "_", "1_0", "0x1f", "1j", "True", "e\u0301",
]  # fmt: skip
PIECES = [b"nan", b"inf", b"1e999", b"\n", b",", b"=", b'"', b"[", b"\x00", b"\xff\xfe", b"-1", b"a"]
STUDY = """
name = "mine/width"
description = "d"
problem = "one_step"
trials = 3
seed = 1
fixed = { dimension = 20, samples = 20, alpha = 0.5, beta = 0.5 }
axes.width = [10, 20]
axes.ridge = { start = 0.01, stop = 10, num = 3, log = true }
observables = ["test_error"]
arms.theory = { kind = "predict", options = { draws = 2 } }
arms.network = { kind = "simulate" }
figure = { x = "ridge", log_x = true, labels = { ridge = "r" } }
refine = { axis = "ridge", observable = "test_error", arm = "theory", budget = 2 }
scales.paper = { trials = 10, fixed = { dimension = 40 }, axes = { width = [40] } }
"""
VALUES = [
    "-1", "0", "1.5", "1e999", "-inf", "nan", "true", '""', '"x"', "[]", "{}", "[[1]]", "[1, 'a']",
    "1979-05-27", "07:32:00", "9" * 40, "{ a = { b = 1 } }", '"one_step.nothing"', '"os.system"', '"../../x"',
    '"a\\u0000b"', "[nan]", "[1, 1]", "{ start = 1, stop = 1e300, num = 999999999 }", '"' + "x" * 5000 + '"',
]  # fmt: skip


def expressions(rng: Rng, folder: Path) -> str:
    """Read a hundred mangled formulas."""
    for _ in range(100):
        text = target(rng)
        for _ in range(int(rng.integers(0, 4))):
            at, piece = int(rng.integers(len(text) + 1)), TOKENS[int(rng.integers(len(TOKENS)))]
            text = text[:at] + piece + text[at + int(rng.integers(3)) :]
        if rng.random() < 0.02:
            text = text * int(rng.integers(1, 500))
        try:
            values = Formula(text)(rng.normal(size=(5, 9)))
            if values.shape != (5,) or values.dtype != float:
                return f"{text!r} gives {values!r}"
        except ValueError as error:
            if not str(error).startswith("target"):
                return f"{text!r}: {error}"
        except Exception as error:
            return f"{text!r}: {type(error).__name__}: {error}"
    return ""


@functools.cache
def _tables() -> dict[str, bytes]:
    """Return one good file of every kind."""
    import pandas as pd

    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(20, 3)), columns=["a", "b", "c"]).assign(y=["p", "q"] * 10)
    arrays = {"X": rng.normal(size=(20, 3)), "y": np.arange(20) % 2}
    npz, npy = io.BytesIO(), io.BytesIO()
    np.savez(npz, **arrays)
    np.save(npy, np.column_stack(list(arrays.values())))
    csv = frame.to_csv(index=False)
    return {
        "csv": csv.encode(), "tsv": csv.replace(",", "\t").encode(), "npz": npz.getvalue(),
        "npy": npy.getvalue(), "parquet": frame.to_parquet(),
    }  # fmt: skip


def mangled(raw: bytes, rng: Rng) -> bytes:
    """Flip, cut, repeat, move, or replace some bytes."""
    for _ in range(int(rng.integers(1, 6))):
        at, to = (int(one) for one in np.sort(rng.integers(len(raw) + 1, size=2)))
        kind = rng.integers(6)
        if kind == 0:
            raw = raw[:at] + rng.bytes(int(rng.integers(1, 9))) + raw[at:]
        elif kind == 1:
            raw = raw[:at] + raw[at + int(rng.integers(1, 9)) :]
        elif kind == 2 and raw[at : at + 1]:
            raw = raw[:at] + bytes([raw[at] ^ (1 << int(rng.integers(8)))]) + raw[at + 1 :]
        elif kind == 3:
            raw = raw[:at] + raw[at:to][:200] * int(rng.integers(1, 4)) + raw[at:]
        elif kind == 4 and rng.random() < 0.3:
            raw = raw[:at]
        else:
            raw = raw[:at] + PIECES[int(rng.integers(len(PIECES)))] + raw[at + 1 :]
    return raw


def _refused(path: Path, call: Callable[[Path], object]) -> str:
    """Read a file; return what is wrong, if it is neither read nor refused by its name."""
    try:
        call(path)
    except ValueError as error:
        return "" if str(error).startswith(str(path)) else f"{error}: {path.read_bytes()!r}"
    except Exception as error:
        return f"{type(error).__name__}: {error}: {path.read_bytes()!r}"
    return ""


def _table(path: Path) -> None:
    features = load(path, -1 if path.suffix == ".npy" else None).features
    if not np.isfinite(features).all():
        raise RuntimeError("features are not finite")


def files(rng: Rng, folder: Path) -> str:
    """Read ten mangled files of every kind."""
    for _ in range(10):
        for kind, good in _tables().items():
            path = folder / f"hostile.{kind}"
            path.write_bytes(mangled(good, rng))
            if wrong := _refused(path, _table):
                return f"{kind}: {wrong}"
    return ""


def _misplaced(text: str, rng: Rng) -> str:
    """Put values in the place of others, or rename, double, or leave out lines of a study."""
    for _ in range(int(rng.integers(1, 4))):
        found = list(re.finditer(r"(?<== )([^={}\n,\[\]]+|\[[^]]*\])", text))
        one = found[int(rng.integers(len(found)))]
        text = text[: one.start()] + VALUES[int(rng.integers(len(VALUES)))] + text[one.end() :]
        lines = text.splitlines()
        if rng.random() < 0.3:
            at, to = rng.integers(len(lines), size=2)
            lines[at] = [lines[to], "", lines[at].replace("a", "b", 1)][int(rng.integers(3))]
        text = "\n".join(lines)
    return text


def studies(rng: Rng, folder: Path) -> str:
    """Read twenty mangled studies, half of them still TOML; check the problems of those that are read."""
    path = folder / "hostile.toml"
    for i in range(20):
        path.write_bytes(_misplaced(STUDY, rng).encode() if i % 2 else mangled(STUDY.encode(), rng))
        if wrong := _refused(path, _checked):
            return wrong
    return ""


def _checked(path: Path) -> None:
    study = read_study(path)
    try:
        if study.records < 1000:
            check(study)
    except ValueError as error:  # of the problem, which knows no file
        raise ValueError(f"{path}: {error}") from error


def _harmless(rng: Rng, raw: bytes, made: dict[bytes, Record]) -> list[int]:
    """Return bits that never make a store illegible: bytes that SQLite reserves, and those of a result."""
    bodies = [one.body for one in made.values() if one.body is not None and len(one.body) >= 24]
    start = raw.index(bodies[int(rng.integers(len(bodies)))][:24])  # all of it may go on elsewhere
    return [8 * int(rng.integers(72, 92)) + int(rng.integers(8)), 8 * start + int(rng.integers(8 * 24))]


def bits(rng: Rng, folder: Path) -> str:
    """Flip twelve bits of one store, one at a time: anywhere, where schema and layouts are, and harmless."""
    path = folder / "bits.sqlite"
    made = stores.random_records(rng)
    with Store(path, write=True) as store:
        for one in made.values():
            store.put([one])
    raw = path.read_bytes()
    harmless = _harmless(rng, raw, made)
    anywhere = [int(rng.integers(8 * (len(raw) if rng.random() < 0.5 else 3 * 4096))) for _ in range(10)]
    for bit in anywhere + harmless:
        for ending in ("-wal", "-shm"):
            path.with_name(path.name + ending).unlink(missing_ok=True)
        path.write_bytes(stores.flipped(raw, bit))
        try:
            rows, _ = stores.read(path, list(made))
            if rows != stores.content({address: made[address] for address in rows}):
                return f"bit {bit}: another value"
            with Store(path, write=True) as store:
                store.put([one for address, one in made.items() if address not in rows])
            if stores.read(path, list(made)) != (stores.content(made), ""):
                return f"bit {bit}: not mended"
            if len(rows) < len(made) - 1 and bit in harmless:
                return f"bit {bit}: {len(made) - len(rows)} records lost by one harmless bit"
        except StoreError as error:
            if bit in harmless:
                return f"bit {bit} is harmless, and the store is refused: {error}"
    return ""


# what is tried, and how often in one case
KINDS = {
    "expressions": (expressions, 100),
    "files": (files, 50),
    "studies": (studies, 20),
    "bits": (bits, 12),
}

if __name__ == "__main__":
    sys.exit(campaign_by_kind(__doc__, KINDS))
