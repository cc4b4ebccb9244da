"""The store's SQLite file: schema, versions, how it is opened and checked, errors in a user's words."""

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

from firstlight.study.record import checksum

APPLICATION = 0x464C5354  # "FLST", in the file's header, so that no other database is mistaken for a store
VERSION = 3
FIELDS = "address, study, point, arm, trial, layout, body, message, seconds, created"
RECORDS = """
CREATE TABLE records (
    address BLOB PRIMARY KEY,
    study TEXT NOT NULL, point TEXT NOT NULL, arm TEXT NOT NULL, trial INTEGER NOT NULL,
    layout INTEGER REFERENCES layouts, body BLOB, message TEXT, seconds REAL NOT NULL, created TEXT NOT NULL,
    checksum BLOB,
    CHECK ((layout IS NULL) <> (message IS NULL))
)
"""
SCHEMA = f"""
CREATE TABLE layouts (id INTEGER PRIMARY KEY, text TEXT NOT NULL);
{RECORDS};
CREATE TABLE runs (
    id INTEGER PRIMARY KEY, study TEXT NOT NULL, scale TEXT NOT NULL, configuration TEXT NOT NULL,
    command TEXT NOT NULL, wanted INTEGER NOT NULL, started TEXT NOT NULL, ended TEXT, outcome TEXT,
    process INTEGER NOT NULL, host TEXT NOT NULL
);
"""


class StoreError(RuntimeError):
    """The store cannot be opened, read or written; the message says why. Nothing committed is lost."""


def _add_checksums(connection: sqlite3.Connection) -> None:
    """Go from version 1 to 2; a layout's text then stands in one place only, not in an index as well."""
    connection.create_function("checksum", 10, checksum)
    texts = "(SELECT text FROM layouts WHERE id = layout)"
    for statement in (
        "CREATE TABLE new (id INTEGER PRIMARY KEY, text TEXT NOT NULL)",
        "INSERT INTO new SELECT id, text FROM layouts",
        "DROP TABLE layouts",
        "ALTER TABLE new RENAME TO layouts",
        "ALTER TABLE records ADD COLUMN checksum BLOB",
        f"UPDATE records SET checksum = checksum({FIELDS.replace('layout', texts, 1)})",
    ):
        connection.execute(statement)


def _set_apart(connection: sqlite3.Connection) -> None:
    """Go from version 2 to 3: its addresses name theories, so the older records get a table of their own."""
    connection.execute("ALTER TABLE records RENAME TO records_before_3")
    connection.execute(RECORDS)


UPGRADES: dict[int, Callable[[sqlite3.Connection], None]] = {1: _add_checksums, 2: _set_apart}


def connect(database: str, **options: Any) -> sqlite3.Connection:
    """Open an SQLite file such that damaged texts can be read, and that nothing in it calls functions."""
    connection = sqlite3.connect(database, isolation_level=None, **options)
    connection.execute("PRAGMA trusted_schema = OFF")
    # A damaged text is for the checksum to find; it must not stop the reading of all others.
    connection.text_factory = lambda raw: raw.decode("utf-8", "backslashreplace")
    return connection


def open_reader(path: Path) -> sqlite3.Connection:
    """Open a store for reading only, also in a folder that cannot be written."""
    if not path.exists():
        raise StoreError(f"{path}: no such store; run a study first, or name another with --store")
    uri = path.absolute().as_uri()
    connection = connect(f"{uri}?mode=ro", uri=True, timeout=5.0)
    try:
        value(connection, "SELECT count(*) FROM sqlite_master")
    except BaseException as error:
        connection.close()
        # In a read-only folder SQLite cannot make its shared index; a cleanly closed store needs none.
        if not isinstance(error, sqlite3.OperationalError) or Path(f"{path}-wal").exists():
            raise
        return connect(f"{uri}?immutable=1", uri=True)
    return connection


def explain(error: Exception) -> str:
    """Put SQLite's message in a user's words."""
    text = ascii(error.object)[2:-1] if isinstance(error, UnicodeDecodeError) else str(error)
    words = {
        "not a database": "is not a database, or its beginning is damaged",
        "malformed": "is damaged; what it still holds was left alone",
        "full": "the disk is full; everything committed before is safe: free some space and run again",
        "readonly": "cannot be written; is the folder or the file read-only?",
        "unable to open": "cannot be opened; is the folder or the file read-only, or the path a folder?",
        "no such": "is damaged: a table or column is missing",
        "disk I/O error": "the disk refused (full, or failing); everything committed before is safe",
    }
    return next((f"{said} ({text})" for key, said in words.items() if key in text), text)


def value(connection: sqlite3.Connection, query: str) -> Any:
    """Return the one value that a query gives."""
    return connection.execute(query).fetchone()[0]


def create(connection: sqlite3.Connection, path: Path) -> None:
    """Make the tables of a store in an empty file; a killed process leaves all of them or none."""
    if value(connection, "SELECT count(*) FROM sqlite_master"):
        return
    if value(connection, "PRAGMA application_id") or value(connection, "PRAGMA user_version"):
        raise StoreError(f"{path}: is a database of something else, not a study store")
    header = f"PRAGMA application_id = {APPLICATION}; PRAGMA user_version = {VERSION};"
    connection.executescript(f"BEGIN; {SCHEMA} {header} COMMIT;")


def check_header(connection: sqlite3.Connection, path: Path) -> int:
    """Return the version of the store, if this is one that we can read."""
    version = int(value(connection, "PRAGMA user_version"))
    if value(connection, "PRAGMA application_id") != APPLICATION:
        raise StoreError(f"{path}: is a database of something else, not a study store")
    if version > VERSION:
        raise StoreError(
            f"{path}: was made by a newer firstlight (store version {version}, this one reads {VERSION}); "
            "upgrade firstlight, or choose another file with --store"
        )
    if version < 1:
        raise StoreError(f"{path}: is damaged (store version {version})")
    _check_kinds(connection, path)
    return version


def _check_kinds(connection: sqlite3.Connection, path: Path) -> None:
    """Refuse what SQLite would run when a table of that name is read or written: a store has tables alone."""
    row = connection.execute(
        "SELECT CASE WHEN type = 'table' THEN 'virtual table' ELSE type END, name FROM sqlite_master"
        " WHERE type NOT IN ('table', 'index') OR sql LIKE 'create virtual%'"
    ).fetchone()
    if row is not None:
        raise StoreError(
            f"{path}: holds a {row[0]} {row[1]!r}, which no study store has; was it tampered with?"
        )


def check_pages(connection: sqlite3.Connection, path: Path) -> None:
    """Never write into a damaged file: what it still holds should stay as it is."""
    if (answer := value(connection, "PRAGMA quick_check(1)")) != "ok":
        raise StoreError(f"{path}: is damaged ({answer}); nothing was written, choose another --store")
