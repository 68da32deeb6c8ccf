"""Documents in one SQLite file, which several workspaces share.

    document   workspace, folder, name; which content it has, its size, when it was written
    piece      content, number, data: contents in chunks
    loose      content, until: contents that no document has: being brought, or replaced
    revision   workspace, folder, number: moves with each write

Stores of snapshots once had tables of their own, `PREFIXblob`, `PREFIXrecord` and `PREFIXversion`; what is
found in them becomes documents when the file is opened.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final, Literal, TypeVar

from planaria.errors import StorageError
from planaria.storage.documents import (
    ABANDONED,
    CHUNK,
    GRACE,
    Backend,
    Documents,
    Entry,
    Revision,
    Upload,
    visible_folders,
)
from planaria.storage.failures import sqlite_failures
from planaria.storage.locking import TIMEOUT
from planaria.storage.paths import folder_of

__all__ = ["SqliteBackend", "SqliteDocuments"]

Result = TypeVar("Result")

_TABLES: Final = (
    "CREATE TABLE IF NOT EXISTS document (workspace TEXT, folder TEXT, name TEXT, content INTEGER NOT NULL,"
    " size INTEGER NOT NULL, modified REAL NOT NULL, PRIMARY KEY (workspace, folder, name)) WITHOUT ROWID",
    "CREATE TABLE IF NOT EXISTS piece (content INTEGER, number INTEGER, data BLOB NOT NULL,"
    " PRIMARY KEY (content, number))",
    "CREATE TABLE IF NOT EXISTS loose (content INTEGER PRIMARY KEY AUTOINCREMENT, until REAL NOT NULL)",
    "CREATE TABLE IF NOT EXISTS revision (workspace TEXT, folder TEXT, number INTEGER NOT NULL,"
    " PRIMARY KEY (workspace, folder)) WITHOUT ROWID",
)


class SqliteBackend(Backend):
    """Keeps documents in the SQLite file `path`, which is created when it is missing, as `workspace`.

    `convert` may bring, in the first transaction, what the file has in another form.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        workspace: str,
        convert: Callable[[sqlite3.Connection, SqliteDocuments], None] | None = None,
    ) -> None:
        self._workspace = workspace
        path = os.path.expanduser(path)
        with sqlite_failures(path):
            self._database = _Database(path)
            if convert is not None:
                self._database.transact("IMMEDIATE", lambda one: convert(one, self._documents(one)))
        self.path = self._database.path

    def _documents(self, connection: sqlite3.Connection) -> SqliteDocuments:
        return SqliteDocuments(self._database, connection, self._workspace)

    def read(self, action: Callable[[Documents], Result]) -> Result:
        with sqlite_failures(self.path):
            return self._database.transact("DEFERRED", lambda one: action(self._documents(one)))

    def write(self, action: Callable[[Documents], Result]) -> Result:
        def transaction(connection: sqlite3.Connection) -> Result:
            documents = self._documents(connection)
            result = action(documents)
            documents.commit()
            return result

        with sqlite_failures(self.path):
            return self._database.transact("IMMEDIATE", transaction)

    def upload(self) -> Upload:
        with sqlite_failures(self.path):
            return _Rows(self._database)

    def close(self) -> None:
        self._database.close()


def _new_content(connection: sqlite3.Connection) -> int:
    cursor = connection.execute("INSERT INTO loose (until) VALUES (?)", (time.time() + ABANDONED,))
    assert cursor.lastrowid is not None
    return cursor.lastrowid


def _add_piece(connection: sqlite3.Connection, content: int, number: int, data: bytes) -> None:
    connection.execute("INSERT INTO piece VALUES (?, ?, ?)", (content, number, data))


class _Rows(Upload):
    def __init__(self, database: _Database) -> None:
        self._database = database
        self.content = database.transact("IMMEDIATE", _new_content)
        self._pieces = 0

    def write(self, data: bytes) -> None:
        def action(connection: sqlite3.Connection) -> None:
            until = time.time() + ABANDONED
            found = connection.execute("UPDATE loose SET until = ? WHERE content = ?", (until, self.content))
            if found.rowcount != 1:
                raise StorageError(
                    "what was sent to this storage was removed, since nothing followed for a day"
                )
            for number, piece in enumerate(pieces, self._pieces):
                _add_piece(connection, self.content, number, piece)

        pieces = [data[start : start + CHUNK] for start in range(0, len(data), CHUNK)]
        with sqlite_failures(self._database.path):
            self._database.transact("IMMEDIATE", action)
        self._pieces += len(pieces)
        self.size += len(data)

    def discard(self) -> None:
        def action(connection: sqlite3.Connection) -> None:
            gone = connection.execute("DELETE FROM loose WHERE content = ?", (self.content,))
            if gone.rowcount:  # otherwise it was adopted
                connection.execute("DELETE FROM piece WHERE content = ?", (self.content,))

        with sqlite_failures(self._database.path):
            self._database.transact("IMMEDIATE", action)


class SqliteDocuments(Documents):
    """The documents of one workspace in a transaction of SQLite."""

    def __init__(self, database: _Database, connection: sqlite3.Connection, workspace: str) -> None:
        super().__init__()
        self._database = database
        self._connection = connection
        self._workspace = workspace

    def _find(self, path: str) -> tuple[int, int, float] | None:
        row: tuple[int, int, float] | None = self._connection.execute(
            "SELECT content, size, modified FROM document WHERE workspace = ? AND folder = ? AND name = ?",
            (self._workspace, *folder_of(path)),
        ).fetchone()
        return row

    def load(self, path: str) -> bytes | None:
        found = self._find(path)
        if found is None:
            return None
        rows = self._connection.execute(
            "SELECT data FROM piece WHERE content = ? ORDER BY number", (found[0],)
        ).fetchall()
        return b"".join([row[0] for row in rows])

    def chunks(self, path: str) -> Iterator[bytes] | None:
        found = self._find(path)
        return None if found is None else self._read_in_chunks(path, found[0], found[1])

    def _read_in_chunks(self, path: str, content: int, left: int) -> Iterator[bytes]:
        number = 0
        while left:
            with sqlite_failures(self._database.path):
                row = self._database.transact(
                    "DEFERRED",
                    lambda connection, number=number: connection.execute(  # type: ignore[misc]
                        "SELECT data FROM piece WHERE content = ? AND number = ?", (content, number)
                    ).fetchone(),
                )
            if row is None:
                raise StorageError(f"{path} was replaced while it was read: read it again")
            yield row[0]
            left -= len(row[0])
            number += 1

    def entry(self, path: str) -> Entry | None:
        found = self._find(path)
        return None if found is None else Entry(*found)

    def entries(self, folder: str) -> dict[str, Entry]:
        rows = self._connection.execute(
            "SELECT name, content, size, modified FROM document WHERE workspace = ? AND folder = ?",
            (self._workspace, folder),
        )
        return {name: Entry(content, size, modified) for name, content, size, modified in rows}

    def folders(self, below: str) -> list[str]:
        rows = self._connection.execute(
            "SELECT DISTINCT folder FROM document WHERE workspace = ?", (self._workspace,)
        )
        return visible_folders((row[0] for row in rows), below)

    def revision(self, folder: str) -> Revision:
        row = self._connection.execute(
            "SELECT number FROM revision WHERE workspace = ? AND folder = ?", (self._workspace, folder)
        ).fetchone()
        return Revision(row and row[0], is_complete=True)

    def revisions(self, below: str) -> dict[str, Revision]:
        numbers = dict(
            self._connection.execute(
                "SELECT folder, number FROM revision WHERE workspace = ?", (self._workspace,)
            ).fetchall()
        )
        return {folder: Revision(numbers.get(folder), is_complete=True) for folder in self.folders(below)}

    def flush(self) -> None:
        """Carry the changes out, as a part of the transaction, and begin with others."""
        self.commit()
        self.changes.clear()

    def commit(self) -> None:
        """Carry the changes out, as a part of the transaction."""
        execute = self._connection.execute
        now = time.time()
        for path, change in self.changes.items():
            place = (self._workspace, *folder_of(path))
            old = self._find(path)
            if old is not None:
                execute("INSERT INTO loose VALUES (?, ?)", (old[0], now + GRACE))
            if change is None:
                execute("DELETE FROM document WHERE workspace = ? AND folder = ? AND name = ?", place)
            else:
                content, size = self._content(change)
                execute("DELETE FROM loose WHERE content = ?", (content,))
                execute(
                    "INSERT OR REPLACE INTO document VALUES (?, ?, ?, ?, ?, ?)", (*place, content, size, now)
                )
        for folder in {folder_of(path)[0] for path in self.changes}:
            execute(
                "INSERT INTO revision VALUES (?, ?, 1)"
                " ON CONFLICT (workspace, folder) DO UPDATE SET number = number + 1",
                (self._workspace, folder),
            )
        execute("DELETE FROM piece WHERE content IN (SELECT content FROM loose WHERE until < ?)", (now,))
        execute("DELETE FROM loose WHERE until < ?", (now,))

    def _content(self, change: bytes | Upload) -> tuple[int, int]:
        if isinstance(change, Upload):
            assert isinstance(change, _Rows)
            if not self._connection.execute(
                "SELECT 1 FROM loose WHERE content = ?", (change.content,)
            ).fetchone():
                raise StorageError("what was sent to this storage is gone: send it again")
            return change.content, change.size
        content = _new_content(self._connection)
        for number, start in enumerate(range(0, len(change), CHUNK)):
            _add_piece(self._connection, content, number, change[start : start + CHUNK])
        return content, len(change)


class _Database:
    """The SQLite file `path`, which is created when it is missing.

    Raises sqlite3.Error when the file cannot be used or is not a database.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path).absolute()
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None
        self._process = 0
        #: The device and number of the file that is open.
        self._identity = (0, 0)
        self.transact("IMMEDIATE", lambda connection: None)

    def _connect(self) -> sqlite3.Connection:
        # A connection must not be carried over fork().
        if self._connection is None or self._process != os.getpid():
            connection = sqlite3.connect(
                self.path, timeout=TIMEOUT, isolation_level=None, check_same_thread=False
            )
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute("PRAGMA synchronous=FULL")
            for table in _TABLES:
                connection.execute(table)
            self._connection, self._process = connection, os.getpid()
            status = os.stat(self.path)
            self._identity = status.st_dev, status.st_ino
        return self._connection

    def _check_place(self) -> None:
        """Raise StorageError where the file that is open is not the one at the path any more, so that what is
        written to it is lost. The next transaction opens what is there then.
        """
        try:
            status = os.stat(self.path)
            if (status.st_dev, status.st_ino) == self._identity:
                return
            what = "replaced"
        except FileNotFoundError:
            what = "removed"
        self._connection = None
        raise StorageError(
            f"the file {self.path} was {what} while it was open, so nothing was saved: put it back, or go on "
            "with what is there now"
        )

    def transact(
        self, kind: Literal["DEFERRED", "IMMEDIATE"], action: Callable[[sqlite3.Connection], Result]
    ) -> Result:
        """Run `action` in one transaction: to read (DEFERRED) or to write (IMMEDIATE)."""
        with self._lock:
            connection = self._connect()
            connection.execute(f"BEGIN {kind}")
            try:
                result = action(connection)
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise
            self._check_place()
            return result

    def close(self) -> None:
        """Release the connection; the next transaction opens another."""
        with self._lock:
            if self._connection is not None and self._process == os.getpid():
                self._connection.close()
            self._connection = None
