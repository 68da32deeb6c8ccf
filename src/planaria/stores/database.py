"""One SQLite file, used by many threads and processes, a transaction at a time."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, Literal, TypeVar

__all__ = ["Database"]

Result = TypeVar("Result")

#: Seconds for which another process's transaction is waited for.
_PATIENCE: Final = 60.0


class Database:
    """The SQLite file `path`, which is made when it is missing, with the tables that `tables` create.

    Raises sqlite3.Error when the file cannot be used or is no database.
    """

    def __init__(self, path: str | os.PathLike[str], tables: Sequence[str]) -> None:
        self.path = Path(path).absolute()
        self._tables = tables
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None
        self._process = 0
        self.transact("IMMEDIATE", lambda connection: None)

    def _connect(self) -> sqlite3.Connection:
        # A connection must not be carried over fork().
        if self._connection is None or self._process != os.getpid():
            connection = sqlite3.connect(
                self.path, timeout=_PATIENCE, isolation_level=None, check_same_thread=False
            )
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute("PRAGMA synchronous=FULL")
            for table in self._tables:
                connection.execute(table)
            self._connection, self._process = connection, os.getpid()
        return self._connection

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
            return result

    def close(self) -> None:
        """Give the connection back; the next transaction opens another."""
        with self._lock:
            if self._connection is not None and self._process == os.getpid():
                self._connection.close()
            self._connection = None
