"""The store: one SQLite file (WAL) that holds every finished record, survives any kill, and has one writer.

Readers may look while a run goes on. The writer holds a lock that the operating system drops with the
process, so a kill leaves no stale lock behind. Each record carries a checksum: one that a disk has damaged is
named and left out, and the next run computes it again.
"""

import contextlib
import os
import socket
import sqlite3
import warnings
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from firstlight.study import database
from firstlight.study.database import FIELDS, UPGRADES, VERSION, StoreError, value
from firstlight.study.record import Record, checksum

_CHUNK = 5000


class DamagedRecords(UserWarning):
    """Records whose checksum is wrong: they are not used, and the next run computes them again."""


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
        self._files: list[tuple[int, int]] = []
        try:
            with self._legible():
                if write:
                    self._open_writer(wait)
                else:
                    self._connection = database.open_reader(self.path)
                    self._version = database.check_header(self._connection, self.path)
        except BaseException:
            self.close()
            raise

    def _open_writer(self, wait: float) -> None:
        real = os.path.realpath(
            self.path
        )  # whatever links lead there, the lock stands beside the file itself
        try:
            Path(real).parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreError(f"{self.path}: cannot make the folder ({error.strerror})") from error
        self._lock = sqlite3.connect(f"{real}.lock", timeout=wait, isolation_level=None)
        try:
            self._lock.execute("BEGIN EXCLUSIVE")
        except sqlite3.OperationalError as error:
            if "locked" in str(error):
                raise StoreError(
                    f"{self.path}: {self._holder()}; waited {wait:g} s. Try again later."
                ) from error
            raise
        self._connection = database.connect(real, timeout=wait)
        if (names := os.stat(real).st_nlink) > 1:
            raise StoreError(
                f"{self.path}: has {names} names (hard links), but SQLite keeps its log and we keep our lock "
                "beside one of them; remove the others, or write to a copy"
            )
        database.create(self._connection, self.path)
        self._version = database.check_header(self._connection, self.path)
        database.check_pages(self._connection, self.path)
        self._connection.execute("PRAGMA journal_mode = WAL")
        # NORMAL survives a killed process; only a power cut may cost the last commits, never the file.
        self._connection.execute("PRAGMA synchronous = NORMAL")
        self._upgrade()
        value(self._connection, "SELECT count(*) FROM sqlite_master")  # from now on the log is there
        self._files = self._identities()

    def _holder(self) -> str:
        """Say who writes, as far as the last unfinished run tells."""
        with contextlib.suppress(StoreError, sqlite3.Error), Store(self.path) as reader:
            for run in reversed(reader.runs()):
                if run["ended"] is None:
                    return f"process {run['process']} on {run['host']} is writing it (study {run['study']})"
        return "another process is writing it"

    def _upgrade(self) -> None:
        """Bring an older store to this version, one step after the other, each whole or not at all."""
        while self._version < VERSION:
            with self._transaction():
                UPGRADES[self._version](self._connection)
                self._connection.execute(f"PRAGMA user_version = {self._version + 1}")
            self._version += 1

    def _identities(self) -> list[tuple[int, int]]:
        """Return which files now have the names of the store, its log and its lock."""
        real = os.path.realpath(self.path)
        files = [os.stat(f"{real}{ending}") for ending in ("", "-wal", ".lock")]
        return [(status.st_dev, status.st_ino) for status in files]

    def _check_present(self) -> None:
        """Refuse to write on into a file that nobody can find any more."""
        try:
            same = not self._files or self._identities() == self._files
        except OSError:
            same = False
        if not same:
            raise StoreError(
                f"{self.path}: was deleted, moved or replaced while it was being written (the file, its -wal "
                "or its .lock); what this run computed may be lost: run again"
            )

    @contextlib.contextmanager
    def _legible(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, UnicodeDecodeError) as error:  # the latter for SQLite's own message
            self._check_present()
            raise StoreError(f"{self.path}: {database.explain(error)}") from error
        self._check_present()

    def put(self, records: Iterable[Record]) -> None:
        """Write records in one transaction: all or none. A known address is written over."""
        with self._legible(), self._transaction():
            self._connection.executemany(
                "INSERT OR REPLACE INTO records VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                map(self._row, records),
            )

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[None]:
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._connection.execute("COMMIT")
        except BaseException:
            self._layouts.clear()
            with contextlib.suppress(sqlite3.Error):  # a full disk has rolled back already
                self._connection.execute("ROLLBACK")
            raise

    def _row(self, record: Record) -> tuple[Any, ...]:
        place = (record.address, record.study, record.point, record.arm, record.trial)
        rest = (record.body, record.message, record.seconds, _now())
        return (*place, self._layout(record.layout), *rest, checksum(*place, record.layout, *rest))

    def _layout(self, text: str | None) -> int | None:
        if text is None:
            return None
        if not self._layouts:
            self._layouts = {known: number for number, known in self._known_layouts().items()}
        if text not in self._layouts:
            added = self._connection.execute("INSERT INTO layouts (text) VALUES (?)", (text,))
            self._layouts[text] = int(added.lastrowid or 0)
        return self._layouts[text]

    def _known_layouts(self) -> dict[int, str]:
        return dict(self._connection.execute("SELECT id, text FROM layouts"))

    def finished(self, addresses: Sequence[bytes]) -> dict[bytes, bool]:
        """Return which addresses have a record, and whether it is a result (True) or a failure (False)."""
        return {address: message is None for address, _, _, message in self.bodies(addresses)}

    def bodies(
        self, addresses: Sequence[bytes]
    ) -> Iterator[tuple[bytes, str | None, bytes | None, str | None]]:
        """Yield (address, layout, body, message) of addresses that have a record; warn of damaged ones."""
        damaged: list[str] = []
        for start in range(0, len(addresses), _CHUNK):
            chunk = addresses[start : start + _CHUNK]
            wanted = set(chunk)
            for row, intact in self._rows(f"WHERE address IN ({','.join('?' * len(chunk))})", chunk):
                address, _, _, _, _, layout, body, message, _, _ = row
                if intact and address in wanted:
                    yield address, layout, body, message
                elif not intact:
                    damaged.append(_place(row))
        if damaged:
            warnings.warn(
                f"{self.path}: {_listed(damaged)} (wrong checksum): not used; run again to compute anew",
                DamagedRecords, stacklevel=3,
            )  # fmt: skip

    def _rows(self, where: str = "", values: Sequence[Any] = ()) -> Iterator[tuple[tuple[Any, ...], bool]]:
        """Yield records with their layout's text, and whether their checksum is right (version 1: none)."""
        checked = self._version > 1
        with self._legible():
            layouts = self._known_layouts()
            query = f"SELECT {FIELDS}, {'checksum' if checked else 'NULL'} FROM records {where}"
            for *fields, kept in self._connection.execute(query, values):
                fields[5] = layouts.get(fields[5])
                yield tuple(fields), not checked or kept == checksum(*fields)

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
        """Return "ok", or what SQLite's integrity check and the records' checksums found."""
        with self._legible():
            said = str(value(self._connection, "PRAGMA integrity_check(1)"))
        damaged = [_place(row) for row, intact in self._rows() if not intact]
        return said if not damaged or said != "ok" else f"{_listed(damaged)} (wrong checksum)"

    def close(self) -> None:
        """Close the file and let the next writer in."""
        for connection in (getattr(self, "_connection", None), self._lock):
            if connection is not None:
                connection.close()

    def __enter__(self) -> "Store":
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


def _place(fields: Sequence[Any]) -> str:
    _, study, point, arm, trial, *_ = fields
    return f"{study} at {point}, {arm}, trial {trial}"


def _listed(damaged: Sequence[str], most: int = 3) -> str:
    named = "; ".join(damaged[:most]) + ("; ..." if len(damaged) > most else "")
    return f"{len(damaged)} damaged record{'s' * (len(damaged) > 1)}: {named}"


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
