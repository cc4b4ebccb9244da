"""The store: exact, durable, one writer, and clear about everything that can be wrong with a file."""

import os
import sqlite3
import subprocess
import sys
import textwrap
import warnings
from contextlib import closing

import numpy as np
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from firstlight.study import database
from firstlight.study.record import Record, pack, unpack_many
from firstlight.study.store import VERSION, DamagedRecords, Store, StoreError


def record(number, body=b"", **content):
    place = (bytes([number]) * 32, "tiny/x", "{}", "theory", number)
    return Record(*place, **{"layout": "[]", "body": body, "message": None, "seconds": 0.1, **content})


def unpack(layout, body):
    read = list(unpack_many(layout, [body]))
    values = {name: (dims, stacked[0, ...], attrs) for name, _, dims, attrs, stacked in read}
    return xr.Dataset(values).set_coords([name for name, is_coord, *_ in read if is_coord])


@pytest.fixture
def path(tmp_path):
    return tmp_path / "deep" / "store.sqlite"


kinds = st.sampled_from(["f8", "f4", "i8", "u1", "?", "c16", "U3", "M8[s]", ">f8"])
values = kinds.flatmap(lambda kind: hnp.arrays(kind, hnp.array_shapes(min_dims=0, max_dims=2, min_side=0)))


@settings(deadline=None, derandomize=True, max_examples=80)
@given(values)
def test_records_come_back_bit_for_bit(array):
    dims = [f"d{i}" for i in range(array.ndim)]
    attrs = {"units": "s"}
    coords = {dim: range(length) for dim, length in zip(dims, array.shape, strict=True)}
    dataset = xr.Dataset({"x": (dims, array, attrs), "y": 1.5}, coords)
    array = dataset["x"].values  # xarray may have narrowed the type of a single string
    back = unpack(*pack(dataset))
    assert back["x"].values.tobytes() == array.astype(array.dtype.newbyteorder("<")).tobytes()
    assert back["x"].dims == dataset["x"].dims
    assert back["x"].attrs == attrs
    assert set(back.coords) == set(dataset.coords)


def test_python_objects_are_not_stored():
    with pytest.raises(ValueError, match="observable 'x'"):
        pack(xr.Dataset({"x": xr.DataArray(np.array([None], dtype=object))}))


def test_what_is_put_is_found(path):
    with Store(path, write=True) as store:
        store.put([record(1, b"abc"), record(2, None, layout=None, message="ValueError: no")])
        store.put([record(1, b"abcd")])
    with Store(path) as store:
        addresses = [bytes([i]) * 32 for i in (1, 2, 3)]
        assert store.finished(addresses) == {addresses[0]: True, addresses[1]: False}
        assert {a: (b, m) for a, _, b, m in store.bodies(addresses)} == {
            addresses[0]: (b"abcd", None),
            addresses[1]: (None, "ValueError: no"),
        }
        assert store.counts() == {"tiny/x": (1, 1, 0.2)}
        assert store.check() == "ok"


def test_a_reader_may_look_while_a_writer_writes(path):
    with Store(path, write=True) as writer:
        writer.put([record(1)])
        with Store(path) as reader:
            assert reader.counts()["tiny/x"][0] == 1
            writer.put([record(2)])
            assert reader.counts()["tiny/x"][0] == 2
            with pytest.raises(StoreError, match="read-only"):
                reader.put([record(3)])


def test_a_second_writer_is_refused_with_the_name_of_the_first(path):
    with Store(path, write=True) as first:
        first.begin_run("tiny/x", "quick", "{}", "firstlight", 1)
        with pytest.raises(StoreError, match=f"process {os.getpid()} .*tiny/x"):
            Store(path, write=True, wait=0.1)
        first.put([record(1)])  # the refusal did no harm
    Store(path, write=True, wait=0.1).close()


def test_a_killed_writer_leaves_no_lock(path):
    code = f"""
    import os
    from firstlight.study.store import Store
    store = Store({str(path)!r}, write=True)
    os.kill(os.getpid(), 9)
    """
    assert subprocess.run([sys.executable, "-c", textwrap.dedent(code)]).returncode == -9
    with Store(path, write=True, wait=0.1) as store:
        assert store.check() == "ok"


ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)"


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        (
            f"DROP TABLE runs; CREATE VIEW runs AS {ENDLESS} SELECT i AS id, i AS ended FROM n",
            "holds a view 'runs'",
        ),
        (
            "CREATE TRIGGER more AFTER INSERT ON records BEGIN DELETE FROM records; END",
            "holds a trigger 'more'",
        ),
        ("CREATE VIRTUAL TABLE more USING fts5(text)", "holds a virtual table 'more'"),
    ],
)
@pytest.mark.parametrize("write", [False, True])
def test_what_would_run_inside_a_store_is_refused(path, statement, said, write):
    with Store(path, write=True) as store:
        store.put([record(1)])
    with closing(sqlite3.connect(path)) as other:
        other.executescript(statement)
    with pytest.raises(StoreError, match=said):
        Store(path, write=write)


def test_functions_that_a_schema_names_are_not_trusted(path):
    with Store(path, write=True) as store:
        assert store._connection.execute("PRAGMA trusted_schema").fetchone() == (0,)


def test_a_newer_store_is_left_alone(path):
    with Store(path, write=True) as store:
        store.put([record(1)])
    connection = sqlite3.connect(path)
    connection.execute(f"PRAGMA user_version = {VERSION + 1}")
    connection.close()
    before = path.read_bytes()
    for write in (True, False):
        with pytest.raises(StoreError, match="newer firstlight"):
            Store(path, write=write)
    assert path.read_bytes() == before


def test_another_database_is_left_alone(path):
    path.parent.mkdir()
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE mine (x)")
    connection.close()
    for write in (True, False):
        with pytest.raises(StoreError, match="something else"):
            Store(path, write=write)


@pytest.mark.parametrize("damage", ["text", "header", "page"])
def test_a_damaged_file_is_refused_and_left_alone(path, damage):
    with Store(path, write=True) as store:
        store.put([record(i, bytes(3000)) for i in range(100)])
    raw = bytearray(path.read_bytes())
    if damage == "text":
        raw = bytearray(b"this is no database, it is a letter to a friend " * 10)
    elif damage == "header":
        raw[:16] = b"x" * 16
    else:
        raw[4096 * 3 : 4096 * 40] = os.urandom(4096 * 37)
    path.write_bytes(raw)
    with pytest.raises(StoreError, match=r"store.sqlite: .*(damaged|not a database)"):
        Store(path, write=True)
    assert path.read_bytes() == raw


def test_a_reader_that_is_refused_leaves_no_connection_open(path, monkeypatch):
    path.parent.mkdir()
    path.write_bytes(b"this is no database, it is a letter to a friend " * 10)
    opened, connect = [], database.connect

    def noted(*place, **options):
        opened.append(connect(*place, **options))
        return opened[-1]

    monkeypatch.setattr(database, "connect", noted)
    with pytest.raises(StoreError, match="not a database"):
        Store(path)
    assert opened
    for connection in opened:
        with pytest.raises(sqlite3.ProgrammingError, match="closed"):
            connection.execute("SELECT 1")


def test_a_full_disk_costs_only_what_did_not_fit(path):
    with Store(path, write=True) as store:
        store.put([record(1)])
        pages = store._connection.execute("PRAGMA page_count").fetchone()[0]
        store._connection.execute(f"PRAGMA max_page_count = {pages + 3}")
        with pytest.raises(StoreError, match="disk is full"):
            store.put([record(i, bytes(100_000)) for i in range(2, 9)])
        assert store.counts()["tiny/x"][0] == 1
        store._connection.execute("PRAGMA max_page_count = 1000000")
        store.put([record(2)])
    with Store(path) as store:
        assert store.counts()["tiny/x"][0] == 2
        assert store.check() == "ok"


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX file size limits")
def test_a_disk_that_refuses_to_write(path):
    """The operating system itself says no, as it does when a quota is used up."""
    code = f"""
    import resource, signal, sys
    from firstlight.study.record import Record
    from firstlight.study.store import Store, StoreError
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    store = Store({str(path)!r}, write=True)
    one = lambda i, body: Record(bytes([i]) * 32, "tiny/x", "{{}}", "a", i, "[]", body, None, 0.1)
    store.put([one(1, b"kept")])
    resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))
    try:
        store.put([one(2, bytes(1_000_000))])
    except StoreError as error:
        print(error)
    """
    out = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True)
    assert "safe" in out.stdout, out
    with Store(path, write=True) as store:
        assert store.counts()["tiny/x"][0] == 1
        assert store.check() == "ok"


def test_places_that_cannot_hold_a_store(tmp_path):
    with pytest.raises(StoreError, match="no such store"):
        Store(tmp_path / "none.sqlite")
    with pytest.raises(StoreError, match="cannot be opened"):
        Store(tmp_path, write=True)
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="cannot make the folder"):
        Store(tmp_path / "file" / "s.sqlite", write=True)


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="needs a folder that not even root can write to")
def test_a_folder_that_is_read_only():
    with pytest.raises(StoreError, match="read-only"):
        Store("/proc/study.sqlite", write=True)


def test_a_store_in_a_read_only_folder_can_be_read(path):
    with Store(path, write=True) as store:
        store.put([record(1)])
    path.chmod(0o444)
    path.parent.chmod(0o555)
    try:
        with Store(path) as store:
            assert store.counts()["tiny/x"][0] == 1
    finally:
        path.parent.chmod(0o755)


def random_records(rng, count=40):
    """Return records of random sizes and layouts, one in five a failure, by address."""
    made = {}
    for trial in range(count):
        size = int(rng.integers(0, 3000))
        layout = f'[["x", false, ["i"], "|u1", [{size % 3}], {{}}]]'
        result = {"layout": layout, "body": rng.bytes(size), "message": None}
        failure = {"layout": None, "body": None, "message": f"ValueError: {rng.bytes(20).hex()} é"}
        place = (rng.bytes(32), f"tiny/{trial % 3}", f'{{"rate": {trial}}}', "theory", trial)
        chosen = Record(*place, **(failure if trial % 5 == 4 else result), seconds=float(rng.random()))
        made[chosen.address] = chosen
    return made


def read(path, addresses):
    """Return what the store gives for these addresses, and what it warned of."""
    with warnings.catch_warnings(record=True) as said, Store(path) as store:
        warnings.simplefilter("always")
        result = {address: rest for address, *rest in store.bodies(addresses)}
        assert store.finished(addresses) == {address: rest[2] is None for address, rest in result.items()}
    assert all(warning.category is DamagedRecords for warning in said)
    return result, " ".join(str(warning.message) for warning in said)


def content(made):
    return {address: [one.layout, one.body, one.message] for address, one in made.items()}


def flipped(raw, bit):
    raw = bytearray(raw)
    raw[bit // 8] ^= 1 << bit % 8
    return bytes(raw)


def test_a_flipped_bit_in_a_body_is_always_noticed_named_and_mended(path):
    rng = np.random.default_rng(0)
    for _ in range(40):
        path.unlink(missing_ok=True)
        made = random_records(rng, 8)
        with Store(path, write=True) as store:
            store.put(made.values())
        raw = path.read_bytes()
        hit = max(made.values(), key=lambda one: len(one.body or b""))
        # A long body continues on overflow pages; its first bytes stand together, and occur once.
        start = raw.index(hit.body[:24])
        path.write_bytes(flipped(raw, 8 * start + int(rng.integers(0, 8 * 24))))
        rows, said = read(path, list(made))
        assert rows == content({address: one for address, one in made.items() if one is not hit})
        assert f"1 damaged record: {hit.study} at {hit.point}, theory, trial {hit.trial}" in said
        with Store(path, write=True) as store:
            assert "1 damaged record" in store.check()
            store.put([hit])
            assert store.check() == "ok"
        assert read(path, list(made)) == (content(made), "")


def test_a_bit_flipped_anywhere_never_gives_another_value(path):
    """Refused, missing or right, before and after what is missing was computed again: never wrong."""
    rng = np.random.default_rng(1)
    outcomes = {"refused": 0, "left out": 0, "whole": 0}
    for _ in range(4):
        path.unlink(missing_ok=True)
        made = random_records(rng)
        with Store(path, write=True) as store:
            for one in made.values():  # one by one, as a run writes: rows and layouts lie mixed in the file
                store.put([one])
        raw = path.read_bytes()
        for _ in range(40):
            # As many places in the header and the first pages (schema, layouts) as in all others.
            end = 8 * (len(raw) if rng.random() < 0.5 else 3 * 4096)
            damaged = flipped(raw, int(rng.integers(0, end)))
            for ending in ("-wal", "-shm"):
                path.with_name(path.name + ending).unlink(missing_ok=True)
            path.write_bytes(damaged)
            try:
                rows, _ = read(path, list(made))
                missing = [one for address, one in made.items() if address not in rows]
                assert rows == content({address: made[address] for address in rows})
                with Store(path, write=True) as store:
                    store.put(missing)
                assert read(path, list(made)) == (content(made), "")
                outcomes["left out" if missing else "whole"] += 1
            except StoreError:
                outcomes["refused"] += 1
    assert min(outcomes.values()) > 0, outcomes  # each of the three was seen


def first_version(path, records):
    """Write a store as version 1 did: its schema, and no checksums."""
    path.parent.mkdir(exist_ok=True)
    connection = sqlite3.connect(path)
    connection.executescript("""
    CREATE TABLE layouts (id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE);
    CREATE TABLE records (
        address BLOB PRIMARY KEY,
        study TEXT NOT NULL, point TEXT NOT NULL, arm TEXT NOT NULL, trial INTEGER NOT NULL,
        layout INTEGER REFERENCES layouts, body BLOB, message TEXT, seconds REAL NOT NULL,
        created TEXT NOT NULL,
        CHECK ((layout IS NULL) <> (message IS NULL))
    );
    CREATE TABLE runs (
        id INTEGER PRIMARY KEY, study TEXT NOT NULL, scale TEXT NOT NULL, configuration TEXT NOT NULL,
        command TEXT NOT NULL, wanted INTEGER NOT NULL, started TEXT NOT NULL, ended TEXT, outcome TEXT,
        process INTEGER NOT NULL, host TEXT NOT NULL
    );
    PRAGMA application_id = 0x464C5354; PRAGMA user_version = 1;
    """)
    for one in records:
        connection.execute("INSERT OR IGNORE INTO layouts (text) VALUES (?)", (one.layout or "",))
        number = connection.execute("SELECT id FROM layouts WHERE text = ?", (one.layout or "",)).fetchone()[
            0
        ]
        row = (one.address, one.study, one.point, one.arm, one.trial, number if one.ok else None, one.body)
        end = (one.message, one.seconds, "2026-01-01T00:00:00+00:00")
        connection.execute("INSERT INTO records VALUES (?,?,?,?,?,?,?,?,?,?)", (*row, *end))
    connection.commit()
    connection.close()


def test_a_store_of_the_first_version_is_read_and_upgraded(path):
    made = random_records(np.random.default_rng(2))
    first_version(path, made.values())
    old = path.read_bytes()
    assert read(path, list(made)) == (content(made), "")  # a reader changes nothing
    assert path.read_bytes() == old
    with Store(path, write=True) as store:
        assert store.check() == "ok"
        assert store._connection.execute("PRAGMA user_version").fetchone()[0] == VERSION
        apart = store._connection.execute(
            "SELECT address, body, checksum IS NULL FROM records_before_3 ORDER BY address"
        ).fetchall()
        assert apart == [(key, made[key].body, 0) for key in sorted(made)]  # kept, with checksums
        more = random_records(np.random.default_rng(3), 5)
        store.put(more.values())
        assert store.check() == "ok"
    assert read(path, [*made, *more]) == (content(more), "")  # older addresses are not mixed with ours


@pytest.mark.parametrize("ending", ["", "-wal", ".lock"])
@pytest.mark.parametrize("how", ["deleted", "moved", "replaced"])
def test_a_store_that_vanishes_under_its_writer_is_noticed(path, how, ending):
    with Store(path, write=True) as store:
        store.put([record(1)])
        file = path.with_name(path.name + ending)
        raw = file.read_bytes()
        if how == "moved":
            file.rename(file.with_name("elsewhere"))
        else:
            file.unlink()
        if how == "replaced":
            file.write_bytes(raw)
        with pytest.raises(StoreError, match="deleted, moved or replaced"):
            store.put([record(2)])
        with pytest.raises(StoreError, match="deleted, moved or replaced"):
            store.finished([b"x" * 32])


def test_a_writer_keeps_others_out_by_any_name_of_the_file(path, tmp_path, monkeypatch):
    with Store(path, write=True) as store:
        store.begin_run("tiny/x", "quick", "{}", "firstlight", 1)
        (tmp_path / "elsewhere").mkdir()
        monkeypatch.chdir(tmp_path / "elsewhere")
        link, folder, hard = (tmp_path / "elsewhere" / name for name in ("link", "folder", "hard"))
        link.symlink_to(path)
        folder.symlink_to(path.parent)
        twice = tmp_path / "twice"
        twice.symlink_to(link)
        for name in (link, folder / path.name, twice, "../deep/store.sqlite", "folder/../deep/store.sqlite"):
            with pytest.raises(StoreError, match="is writing it"):
                Store(name, write=True, wait=0.0)
        hard.hardlink_to(path)
        with pytest.raises(StoreError, match=r"2 names \(hard links\)"):
            Store(hard, write=True, wait=0.0)
        store.put([record(1)])  # the refusals did no harm
        hard.unlink()
    with Store(link, write=True, wait=0.0) as store:
        assert store.counts()["tiny/x"][0] == 1
