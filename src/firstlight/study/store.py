"""The store: one SQLite file (WAL) that holds every finished record, survives any kill, and has one writer.

Readers may look while a run goes on. The writer holds a lock that the operating system drops with the
process, so a kill leaves no stale lock behind.
"""

import contextlib
import os
import socket
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from firstlight.study.codec import Record

APPLICATION = 0x464C5354  # "FLST", in the file's header, so that no other database is mistaken for a store
VERSION = 1
_CHUNK = 5000
_SCHEMA = """
CREATE TABLE layouts (id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE);
CREATE TABLE records (
    address BLOB PRIMARY KEY,
    study TEXT NOT NULL, point TEXT NOT NULL, arm TEXT NOT NULL, trial INTEGER NOT NULL,
    layout INTEGER REFERENCES layouts, body BLOB, message TEXT, seconds REAL NOT NULL, created TEXT NOT NULL,
    CHECK ((layout IS NULL) <> (message IS NULL))
);
CREATE TABLE runs (
    id INTEGER PRIMARY KEY, study TEXT NOT NULL, scale TEXT NOT NULL, configuration TEXT NOT NULL,
    command TEXT NOT NULL, wanted INTEGER NOT NULL, started TEXT NOT NULL, ended TEXT, outcome TEXT,
    process INTEGER NOT NULL, host TEXT NOT NULL
);
"""


class StoreError(RuntimeError):
    """The store cannot be opened, read or written; the message says why. Nothing committed is lost."""


class Store:
    """An open store.

    Parameters
    ----------
    path : path_like
        The SQLite file; made, with its folder, if a writer asks for it.
    write : bool, default False
        Open for writing: takes the writer's lock.
    wait : float, default 5.0
        Seconds to wait for another writer before refusing.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder, Store(f"{folder}/s.sqlite", write=True) as store:
    ...     store.put([Record(b"a" * 32, "demo/x", "{}", "theory", 0, None, None, "ValueError: no", 0.1)])
    ...     store.finished([b"a" * 32, b"b" * 32])
    {b'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa': False}
    """

    def __init__(self, path: str | os.PathLike[str], *, write: bool = False, wait: float = 5.0) -> None:
        self.path = Path(path)
        self._lock: sqlite3.Connection | None = None
        self._layouts: dict[str, int] = {}
        try:
            with self._legible():
                if write:
                    self._open_writer(wait)
                else:
                    self._connection = _open_reader(self.path)
                self._check_header()
                if write:
                    self._check_pages()
        except BaseException:
            self.close()
            raise

    def _open_writer(self, wait: float) -> None:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreError(f"{self.path}: cannot make the folder ({error.strerror})") from error
        self._lock = sqlite3.connect(f"{self.path}.lock", timeout=wait, isolation_level=None)
        try:
            self._lock.execute("BEGIN EXCLUSIVE")
        except sqlite3.OperationalError as error:
            if "locked" in str(error):
                raise StoreError(
                    f"{self.path}: {self._holder()}; waited {wait:g} s. Try again later."
                ) from error
            raise
        self._connection = sqlite3.connect(self.path, timeout=wait, isolation_level=None)
        if not _value(self._connection, "SELECT count(*) FROM sqlite_master"):
            self._create()
        self._connection.execute("PRAGMA journal_mode = WAL")
        # NORMAL survives a killed process; only a power cut may cost the last commits, never the file.
        self._connection.execute("PRAGMA synchronous = NORMAL")

    def _create(self) -> None:
        if _value(self._connection, "PRAGMA application_id") or _value(
            self._connection, "PRAGMA user_version"
        ):
            raise StoreError(f"{self.path}: is a database of something else, not a study store")
        header = f"PRAGMA application_id = {APPLICATION}; PRAGMA user_version = {VERSION};"
        # A killed process must leave either no schema or all of it.
        self._connection.executescript(f"BEGIN; {_SCHEMA} {header} COMMIT;")

    def _holder(self) -> str:
        """Say who writes, as far as the last unfinished run tells."""
        with contextlib.suppress(StoreError, sqlite3.Error), Store(self.path) as reader:
            for run in reversed(reader.runs()):
                if run["ended"] is None:
                    return f"process {run['process']} on {run['host']} is writing it (study {run['study']})"
        return "another process is writing it"

    def _check_header(self) -> None:
        application, version = (
            _value(self._connection, "PRAGMA application_id"),
            _value(self._connection, "PRAGMA user_version"),
        )
        if application != APPLICATION:
            raise StoreError(f"{self.path}: is a database of something else, not a study store")
        if version > VERSION:
            raise StoreError(
                f"{self.path}: was made by a newer firstlight (store version {version}, this one reads "
                f"{VERSION}); upgrade firstlight, or choose another file with --store"
            )

    def _check_pages(self) -> None:
        """Never write into a damaged file: what it still holds should stay as it is."""
        if (found := _value(self._connection, "PRAGMA quick_check(1)")) != "ok":
            raise StoreError(
                f"{self.path}: is damaged ({found}); nothing was written, choose another --store"
            )

    @contextlib.contextmanager
    def _legible(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise StoreError(f"{self.path}: {_explain(error)}") from error

    def put(self, records: Iterable[Record]) -> None:
        """Write records in one transaction: all or none. A known address is written over."""
        with self._legible():
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                self._connection.executemany(
                    "INSERT OR REPLACE INTO records VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                    map(self._row, records),
                )
                self._connection.execute("COMMIT")
            except BaseException:
                self._layouts.clear()
                with contextlib.suppress(sqlite3.Error):  # a full disk has rolled back already
                    self._connection.execute("ROLLBACK")
                raise

    def _row(self, record: Record) -> tuple[Any, ...]:
        place = (record.address, record.study, record.point, record.arm, record.trial)
        content = (self._layout(record.layout), record.body, record.message)
        return (*place, *content, record.seconds, _now())

    def _layout(self, text: str | None) -> int | None:
        if text is None:
            return None
        if text not in self._layouts:
            self._connection.execute("INSERT OR IGNORE INTO layouts (text) VALUES (?)", (text,))
            found = self._connection.execute("SELECT id FROM layouts WHERE text = ?", (text,)).fetchone()
            self._layouts[text] = found[0]
        return self._layouts[text]

    def finished(self, addresses: Sequence[bytes]) -> dict[bytes, bool]:
        """Return which addresses have a record, and whether it is a result (True) or a failure (False)."""
        rows = self._rows("address, message IS NULL", addresses)
        return {address: bool(ok) for address, ok in rows}

    def bodies(
        self, addresses: Sequence[bytes]
    ) -> Iterator[tuple[bytes, str | None, bytes | None, str | None]]:
        """Yield (address, layout, body, message) of those addresses that have a record."""
        with self._legible():
            layouts = dict(self._connection.execute("SELECT id, text FROM layouts"))
        for address, layout, body, message in self._rows("address, layout, body, message", addresses):
            yield address, layouts.get(layout), body, message

    def _rows(self, columns: str, addresses: Sequence[bytes]) -> Iterator[tuple[Any, ...]]:
        with self._legible():
            for start in range(0, len(addresses), _CHUNK):
                chunk = addresses[start : start + _CHUNK]
                marks = ",".join("?" * len(chunk))
                yield from self._connection.execute(
                    f"SELECT {columns} FROM records WHERE address IN ({marks})", chunk
                )

    def counts(self) -> dict[str, tuple[int, int, float]]:
        """Return (results, failures, seconds of work) by study."""
        query = "SELECT study, sum(message IS NULL), count(message), sum(seconds) FROM records GROUP BY study"
        with self._legible():
            return {
                study: (ok, failed, seconds) for study, ok, failed, seconds in self._connection.execute(query)
            }

    def begin_run(self, study: str, scale: str, configuration: str, command: str, wanted: int) -> int:
        """Note that a run starts; returns its number for `end_run`."""
        values = (study, scale, configuration, command, wanted, _now(), os.getpid(), socket.gethostname())
        with self._legible():
            cursor = self._connection.execute(
                "INSERT INTO runs (study, scale, configuration, command, wanted, started, process, host)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?)", values,
            )  # fmt: skip
        return int(cursor.lastrowid or 0)

    def end_run(self, run: int, outcome: str) -> None:
        """Note how a run ended."""
        with self._legible():
            self._connection.execute(
                "UPDATE runs SET ended = ?, outcome = ? WHERE id = ?", (_now(), outcome, run)
            )

    def runs(self) -> list[dict[str, Any]]:
        """Return all runs, oldest first."""
        with self._legible():
            cursor = self._connection.execute("SELECT * FROM runs ORDER BY id")
            names = [column[0] for column in cursor.description]
            return [dict(zip(names, row, strict=True)) for row in cursor]

    def check(self) -> str:
        """Return "ok", or what SQLite's integrity check found."""
        with self._legible():
            return str(_value(self._connection, "PRAGMA integrity_check(1)"))

    def close(self) -> None:
        """Close the file and let the next writer in."""
        for connection in (getattr(self, "_connection", None), self._lock):
            if connection is not None:
                connection.close()

    def __enter__(self) -> "Store":
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


def _open_reader(path: Path) -> sqlite3.Connection:
    if not path.exists():
        raise StoreError(f"{path}: no such store; run a study first, or name another with --store")
    uri = path.absolute().as_uri()
    try:
        connection = sqlite3.connect(f"{uri}?mode=ro", uri=True, timeout=5.0, isolation_level=None)
        _value(connection, "SELECT count(*) FROM sqlite_master")
    except sqlite3.OperationalError:
        # In a read-only folder SQLite cannot make its shared index; a cleanly closed store needs none.
        if Path(f"{path}-wal").exists():
            raise
        connection = sqlite3.connect(f"{uri}?immutable=1", uri=True, isolation_level=None)
    return connection


def _explain(error: sqlite3.Error) -> str:
    """Put SQLite's message in a user's words."""
    text = str(error)
    words = {
        "not a database": "is not a database, or its beginning is damaged",
        "malformed": "is damaged; what it still holds was left alone",
        "full": "the disk is full; everything committed before is safe: free some space and run again",
        "readonly": "cannot be written; is the folder or the file read-only?",
        "unable to open": "cannot be opened; is the folder or the file read-only, or the path a folder?",
        "no such table": "is damaged: a table is missing",
        "disk I/O error": "the disk refused (full, or failing); everything committed before is safe",
    }
    return next((f"{said} ({text})" for key, said in words.items() if key in text), text)


def _value(connection: sqlite3.Connection, query: str) -> Any:
    return connection.execute(query).fetchone()[0]


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
