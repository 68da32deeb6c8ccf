"""A workspace in one SQLite file, beside those of tenants.

    document   workspace, folder, name; which content it has, its size, when it was written
    piece      content, number, data: contents in pieces
    loose      content, since: contents that no document has: being brought, or replaced
    revision   workspace, folder, number: moves with each write

`workspace` is the tenant's id, "" without one. The tables of the snapshots begin with "snapshot " and the id,
see planaria.stores.sqlite.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Final, TypeVar

from planaria.errors import StorageError
from planaria.stores.database import Database
from planaria.workspace.storage.paths import folder_of
from planaria.workspace.storage.storage import (
    ABANDONED,
    GRACE,
    PIECE,
    Documents,
    Entry,
    Revision,
    Storage,
    Upload,
    visible_folders,
)

if TYPE_CHECKING:
    from planaria.stores.store import Store
    from planaria.workspace.embedding import Embedder

__all__ = ["SqliteStorage"]

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


class SqliteStorage(Storage):
    """Keeps a workspace in the SQLite file `path`, which is made when it is missing.

    Every write is one transaction of SQLite. Raises StorageError when the file cannot be used or is no
    database.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        workspace_id: str | None = None,
        embedder: Embedder | None = None,
    ) -> None:
        super().__init__(workspace_id, embedder)
        path = os.path.expanduser(path)
        with _told(path):
            self._database = Database(path, _TABLES)
        self.path = self._database.path
        self._workspace = workspace_id or ""

    def __repr__(self) -> str:
        tenant = f", workspace_id={self.workspace_id!r}" if self.workspace_id else ""
        return f"SqliteStorage({str(self.path)!r}{tenant})"

    def read(self, action: Callable[[Documents], Result]) -> Result:
        with _told(self.path):
            return self._database.transact(
                "DEFERRED", lambda one: action(_Tables(self._database, one, self._workspace))
            )

    def write(self, action: Callable[[Documents], Result]) -> Result:
        def transaction(connection: sqlite3.Connection) -> Result:
            documents = _Tables(self._database, connection, self._workspace)
            result = action(documents)
            documents.commit()
            return result

        with _told(self.path):
            return self._database.transact("IMMEDIATE", transaction)

    def upload(self) -> Upload:
        with _told(self.path):
            return _Rows(self._database)

    def _open_snapshot_store(self) -> Store:
        from planaria.stores.file import folder_name
        from planaria.stores.sqlite import SqliteStore

        with _told(self.path):
            return SqliteStore(self.path, prefix=f"snapshot {folder_name(self._workspace)} ")

    def _close(self) -> None:
        self._database.close()


def _new_content(connection: sqlite3.Connection) -> int:
    cursor = connection.execute("INSERT INTO loose (until) VALUES (?)", (time.time() + ABANDONED,))
    assert cursor.lastrowid is not None
    return cursor.lastrowid


def _add_piece(connection: sqlite3.Connection, content: int, number: int, data: bytes) -> None:
    connection.execute("INSERT INTO piece VALUES (?, ?, ?)", (content, number, data))


class _Rows(Upload):
    def __init__(self, database: Database) -> None:
        self._database = database
        self.content = database.transact("IMMEDIATE", _new_content)
        self._pieces = 0

    def write(self, data: bytes) -> None:
        def action(connection: sqlite3.Connection) -> None:
            until = time.time() + ABANDONED
            found = connection.execute("UPDATE loose SET until = ? WHERE content = ?", (until, self.content))
            if found.rowcount != 1:
                raise StorageError(
                    "what was brought to this storage was removed, since nothing followed for a day"
                )
            for number, piece in enumerate(pieces, self._pieces):
                _add_piece(connection, self.content, number, piece)

        pieces = [data[start : start + PIECE] for start in range(0, len(data), PIECE)]
        with _told(self._database.path):
            self._database.transact("IMMEDIATE", action)
        self._pieces += len(pieces)
        self.size += len(data)

    def discard(self) -> None:
        def action(connection: sqlite3.Connection) -> None:
            gone = connection.execute("DELETE FROM loose WHERE content = ?", (self.content,))
            if gone.rowcount:  # otherwise it was adopted
                connection.execute("DELETE FROM piece WHERE content = ?", (self.content,))

        with _told(self._database.path):
            self._database.transact("IMMEDIATE", action)


class _Tables(Documents):
    def __init__(self, database: Database, connection: sqlite3.Connection, workspace: str) -> None:
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

    def pieces(self, path: str) -> Iterator[bytes] | None:
        found = self._find(path)
        return None if found is None else self._read_in_pieces(path, found[0], found[1])

    def _read_in_pieces(self, path: str, content: int, left: int) -> Iterator[bytes]:
        number = 0
        while left:
            with _told(self._database.path):
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

    def commit(self) -> None:
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
                raise StorageError("what was brought to this storage is gone: bring it again")
            return change.content, change.size
        content = _new_content(self._connection)
        for number, start in enumerate(range(0, len(change), PIECE)):
            _add_piece(self._connection, content, number, change[start : start + PIECE])
        return content, len(change)


@contextlib.contextmanager
def _told(path: object) -> Iterator[None]:
    """Errors of SQLite as StorageError."""
    try:
        yield
    except sqlite3.Error as error:
        raise StorageError(f"the storage at {path} cannot be used: {error}") from error
