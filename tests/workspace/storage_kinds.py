"""Storages of each kind, which other processes can open, too."""

from __future__ import annotations

from pathlib import Path

import pytest

import planaria
from planaria.workspace.storage.storage import Storage

KINDS = ("file", "sqlite", "redis")


def address(kind: str, request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where a storage of this kind can be opened by any process."""
    if kind == "redis":
        return f"{request.getfixturevalue('redis_url')}?{tmp_path.parent.name}-{tmp_path.name}"
    return str(tmp_path / ("workspace" if kind == "file" else "workspace.db"))


def open_storage(kind: str, place: str, workspace_id: str | None = None) -> Storage:
    """Open a storage from what `address` gave."""
    if kind == "file":
        return planaria.FileStorage(place, workspace_id=workspace_id)
    if kind == "sqlite":
        return planaria.SqliteStorage(place, workspace_id=workspace_id)
    url, _, prefix = place.partition("?")
    return planaria.RedisStorage(url, prefix=f"{prefix}:", workspace_id=workspace_id)
