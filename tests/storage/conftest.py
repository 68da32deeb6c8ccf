"""One backend of each kind, empty."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from planaria.storage.backends.file import FileBackend
from planaria.storage.backends.logged import LoggedBackend
from planaria.storage.backends.memory import MemoryBackend
from planaria.storage.backends.redis import RedisBackend, open_client
from planaria.storage.backends.sqlite import SqliteBackend
from planaria.storage.documents import Backend


@pytest.fixture(params=["file", "logged", "memory", "sqlite", "redis"])
def backend(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Backend]:
    """One of each kind, empty."""
    opened: Backend
    match request.param:
        case "file":
            opened = FileBackend(tmp_path / "documents")
        case "logged":
            opened = LoggedBackend(tmp_path / "documents")
        case "memory":
            opened = MemoryBackend()
        case "sqlite":
            opened = SqliteBackend(tmp_path / "documents.db", "")
        case _:
            client, _ = open_client("a test", request.getfixturevalue("redis_url"), None, "client")
            opened = RedisBackend(client, f"{tmp_path.parent.name}-{tmp_path.name}:", owns_client=True)
    yield opened
    opened.close()
