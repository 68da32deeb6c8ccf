"""A store in one SQLite file."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final, TypeVar

from planaria.stores.store import Kind, Shelves, Store

__all__ = ["SqliteStore"]

Result = TypeVar("Result")

#: Seconds for which another process's transaction is waited for.
_PATIENCE: Final = 60.0
_TABLES: Final = (
    "CREATE TABLE IF NOT EXISTS blob (digest TEXT PRIMARY KEY, data BLOB NOT NULL) WITHOUT ROWID",
    "CREATE TABLE IF NOT EXISTS record (digest TEXT PRIMARY KEY, data BLOB NOT NULL) WITHOUT ROWID",
    "CREATE TABLE IF NOT EXISTS version (name TEXT, number INTEGER, data BLOB NOT NULL,"
    " PRIMARY KEY (name, number)) WITHOUT ROWID",
)


class SqliteStore(Store):
    """Keeps snapshots in the SQLite file `path`, which is made when it is missing.

    Every operation is one transaction, so a process that is killed leaves nothing half done. Raises
    sqlite3.Error when the file cannot be used or is no database.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path).absolute()
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None
        self._process = 0
        self._transact("IMMEDIATE", lambda shelves: None)

    def _connect(self) -> sqlite3.Connection:
        # A connection must not be carried over fork().
        if self._connection is None or self._process != os.getpid():
            connection = sqlite3.connect(
                self.path, timeout=_PATIENCE, isolation_level=None, check_same_thread=False
            )
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute("PRAGMA synchronous=FULL")
            for table in _TABLES:
                connection.execute(table)
            self._connection, self._process = connection, os.getpid()
        return self._connection

    def _transact(self, kind: str, action: Callable[[Shelves], Result]) -> Result:
        with self._lock:
            connection = self._connect()
            connection.execute(f"BEGIN {kind}")
            try:
                result = action(_Tables(connection))
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise
            return result

    def _read(self, action: Callable[[Shelves], Result]) -> Result:
        return self._transact("DEFERRED", action)

    def _write(self, action: Callable[[Shelves], Result]) -> Result:
        return self._transact("IMMEDIATE", action)

    _collect = _write

    def close(self) -> None:
        with self._lock:
            if self._connection is not None and self._process == os.getpid():
                self._connection.close()
            self._connection = None


class _Tables(Shelves):
    def __init__(self, connection: sqlite3.Connection) -> None:
        self._execute = connection.execute

    def get(self, kind: Kind, digest: str) -> bytes | None:
        row = self._execute(f"SELECT data FROM {kind} WHERE digest = ?", (digest,)).fetchone()
        return None if row is None else bytes(row[0])

    def has(self, kind: Kind, digest: str) -> bool:
        return self._execute(f"SELECT 1 FROM {kind} WHERE digest = ?", (digest,)).fetchone() is not None

    def put(self, kind: Kind, digest: str, data: bytes) -> None:
        self._execute(f"INSERT OR REPLACE INTO {kind} VALUES (?, ?)", (digest, data))

    def remove(self, kind: Kind, digest: str) -> int:
        size = self._execute(f"SELECT length(data) FROM {kind} WHERE digest = ?", (digest,)).fetchone()[0]
        self._execute(f"DELETE FROM {kind} WHERE digest = ?", (digest,))
        return int(size)

    def digests(self, kind: Kind) -> Iterable[str]:
        return [row[0] for row in self._execute(f"SELECT digest FROM {kind}")]

    def names(self) -> Iterable[str]:
        return [row[0] for row in self._execute("SELECT DISTINCT name FROM version")]

    def versions(self, name: str) -> list[tuple[int, bytes]]:
        rows = self._execute("SELECT number, data FROM version WHERE name = ? ORDER BY number", (name,))
        return [(number, bytes(data)) for number, data in rows]

    def append(self, name: str, data: bytes) -> None:
        self._execute(
            "INSERT INTO version SELECT ?1, coalesce(max(number), 0) + 1, ?2 FROM version WHERE name = ?1",
            (name, data),
        )

    def forget(self, name: str, number: int) -> None:
        self._execute("DELETE FROM version WHERE name = ? AND number = ?", (name, number))
