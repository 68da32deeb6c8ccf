"""A store in one SQLite file."""

from __future__ import annotations

import os
import sqlite3
from typing import Final, Literal

from planaria.storage.backends.sqlite import SqliteBackend, SqliteDocuments
from planaria.stores.file_leases import FileLeases
from planaria.stores.shelves import Kind, Shelves
from planaria.stores.store import Store

__all__ = ["SqliteStore"]

_KINDS: Final[tuple[Kind, ...]] = ("blob", "record")


class SqliteStore(Store):
    """Keeps snapshots in the SQLite file `path`, which is created when it is missing.

    Every operation is one transaction, so a process that is killed leaves nothing half done. Stores with
    another `prefix` in the same file are apart; capitals A to Z make no difference in it. Raises StorageError
    when the file cannot be used or is not a database.
    """

    def __init__(self, path: str | os.PathLike[str], *, prefix: str = "") -> None:
        def import_tables(connection: sqlite3.Connection, documents: SqliteDocuments) -> None:
            _import_tables(connection, documents, prefix)

        # No workspace has ":" in its name. Only ASCII is lowered, as SQLite does for names of tables.
        workspace = "snapshots:" + prefix.encode().lower().decode()
        backend = SqliteBackend(path, workspace, import_tables)
        super().__init__(
            backend, FileLeases(backend.path.with_name(f"{backend.path.name}-leases"), workspace)
        )
        self.path = backend.path


def _import_tables(connection: sqlite3.Connection, documents: SqliteDocuments, prefix: str) -> None:
    """Bring what an earlier version keeps in tables of its own, one row at a time, and drop those."""
    known = {
        name.encode().lower()
        for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
    }
    if not all((prefix + kind).encode().lower() in known for kind in (*_KINDS, "version")):
        return
    shelves = Shelves(documents)
    for kind in _KINDS:
        table = _quoted(prefix, kind)
        for (digest,) in connection.execute(f"SELECT digest FROM {table}").fetchall():
            row = connection.execute(f"SELECT data FROM {table} WHERE digest = ?", (digest,)).fetchone()
            shelves.put(kind, digest, bytes(row[0]))
            documents.flush()
    table = _quoted(prefix, "version")
    for name, number, data in connection.execute(f"SELECT name, number, data FROM {table}").fetchall():
        shelves.import_version(name, number, bytes(data))
        documents.flush()
    for old in (*(_quoted(prefix, kind) for kind in _KINDS), table):
        connection.execute(f"DROP TABLE {old}")


def _quoted(prefix: str, kind: Kind | Literal["version"]) -> str:
    return '"' + (prefix + kind).replace('"', '""') + '"'
