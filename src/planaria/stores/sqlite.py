"""A store in one SQLite file."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterable
from typing import TypeVar

from planaria.stores.database import Database
from planaria.stores.store import Kind, Shelves, Store

__all__ = ["SqliteStore"]

Result = TypeVar("Result")


class SqliteStore(Store):
    """Keeps snapshots in the SQLite file `path`, which is made when it is missing.

    Every operation is one transaction, so a process that is killed leaves nothing half done. The names of
    the tables begin with `prefix`, so that several stores can be in one file (SQLite does not tell capitals
    in such names). Raises sqlite3.Error when the file cannot be used or is no database.
    """

    def __init__(self, path: str | os.PathLike[str], *, prefix: str = "") -> None:
        self._tables = {kind: _quoted(prefix + kind) for kind in ("blob", "record", "version")}
        self._database = Database(
            path,
            [
                *(
                    f"CREATE TABLE IF NOT EXISTS {self._tables[kind]}"
                    " (digest TEXT PRIMARY KEY, data BLOB NOT NULL) WITHOUT ROWID"
                    for kind in ("blob", "record")
                ),
                f"CREATE TABLE IF NOT EXISTS {self._tables['version']} (name TEXT, number INTEGER,"
                " data BLOB NOT NULL, PRIMARY KEY (name, number)) WITHOUT ROWID",
            ],
        )
        self.path = self._database.path

    def _read(self, action: Callable[[Shelves], Result]) -> Result:
        return self._database.transact("DEFERRED", lambda one: action(_Rows(one, self._tables)))

    def _write(self, action: Callable[[Shelves], Result]) -> Result:
        return self._database.transact("IMMEDIATE", lambda one: action(_Rows(one, self._tables)))

    _collect = _write

    def close(self) -> None:
        self._database.close()


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


class _Rows(Shelves):
    def __init__(self, connection: sqlite3.Connection, tables: dict[str, str]) -> None:
        self._execute = connection.execute
        self._tables = tables
        self._versions = tables["version"]

    def get(self, kind: Kind, digest: str) -> bytes | None:
        row = self._execute(f"SELECT data FROM {self._tables[kind]} WHERE digest = ?", (digest,)).fetchone()
        return None if row is None else bytes(row[0])

    def has(self, kind: Kind, digest: str) -> bool:
        return (
            self._execute(f"SELECT 1 FROM {self._tables[kind]} WHERE digest = ?", (digest,)).fetchone()
            is not None
        )

    def put(self, kind: Kind, digest: str, data: bytes) -> None:
        self._execute(f"INSERT OR REPLACE INTO {self._tables[kind]} VALUES (?, ?)", (digest, data))

    def remove(self, kind: Kind, digest: str) -> int:
        size = self._execute(
            f"SELECT length(data) FROM {self._tables[kind]} WHERE digest = ?", (digest,)
        ).fetchone()[0]
        self._execute(f"DELETE FROM {self._tables[kind]} WHERE digest = ?", (digest,))
        return int(size)

    def digests(self, kind: Kind) -> Iterable[str]:
        return [row[0] for row in self._execute(f"SELECT digest FROM {self._tables[kind]}")]

    def names(self) -> Iterable[str]:
        return [row[0] for row in self._execute(f"SELECT DISTINCT name FROM {self._versions}")]

    def versions(self, name: str) -> list[tuple[int, bytes]]:
        rows = self._execute(
            f"SELECT number, data FROM {self._versions} WHERE name = ? ORDER BY number", (name,)
        )
        return [(number, bytes(data)) for number, data in rows]

    def append(self, name: str, data: bytes) -> None:
        self._execute(
            f"INSERT INTO {self._versions}"
            f" SELECT ?1, coalesce(max(number), 0) + 1, ?2 FROM {self._versions} WHERE name = ?1",
            (name, data),
        )

    def forget(self, name: str, number: int) -> None:
        self._execute(f"DELETE FROM {self._versions} WHERE name = ? AND number = ?", (name, number))
