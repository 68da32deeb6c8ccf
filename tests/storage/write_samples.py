"""Write the directories, SQLite files and Redis keys of `samples/`, as the version that is imported does.

    python tests/storage/write_samples.py DIRECTORY redis://localhost/0

Those of `samples/` were written on 2026-11-28, before snapshots and workspaces came to share their backends:
do not write them anew with a later version.
"""

from __future__ import annotations

import base64
import json
import sqlite3
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))

from made_snapshots import make_snapshot

import planaria


def fill_store(store: planaria.Store) -> None:
    """Two names: one with a delta upon a complete snapshot, one of characters that need an escape."""
    root = make_snapshot(1, pages=2, shared=1)
    store.save("order-17", root)
    store.save("order-17", make_snapshot(2, pages=2, shared=1, parent=root))
    store.save("Ä/b", root)


def fill_storage(open_storage: Callable[[str | None], planaria.Storage]) -> None:
    """The workspace without a tenant, and that of one."""
    for tenant in (None, "Tenant"):
        storage = open_storage(tenant)
        workflows = storage.get_workflow_library()
        workflows.add("double", "def run(x): return 2 * x\n", "first")
        workflows.add("double", "def run(x): return x + x\n", "second")
        artifacts = storage.get_artifact_store()
        artifacts.save("reports/2024", {"tenant": tenant}, "described", {"year": 2024})
        artifacts.save("empty", b"")
        storage.get_dependency_list().add("attrs>=24")
        storage.set_tool_definition("curl", "name: curl\n")
        fill_store(storage.get_snapshot_store())
        storage.close()


def dump_redis(client: Any) -> dict[str, tuple[str, Any]]:
    """All keys of a server: their type and their value, bytes as base64."""

    def text(data: bytes) -> str:
        return base64.b64encode(data).decode()

    found: dict[str, tuple[str, Any]] = {}
    for key in sorted(client.keys("*")):
        match kind := client.type(key).decode():
            case "string":
                value: Any = text(client.get(key))
            case "list":
                value = [text(one) for one in client.lrange(key, 0, -1)]
            case "set":
                value = sorted(text(one) for one in client.smembers(key))
            case "hash":
                value = {text(name): text(one) for name, one in client.hgetall(key).items()}
        if client.ttl(key) == -1:
            found[text(key)] = (kind, value)
    return found


def main(directory: Path, url: str) -> None:
    import redis

    fill_store(planaria.FileStore(directory / "store"))
    for prefix in ("", "Some prefix "):
        store: planaria.Store = planaria.SqliteStore(directory / "store.db", prefix=prefix)
        fill_store(store)
        store.close()
    fill_storage(lambda tenant: planaria.FileStorage(directory / "workspace", workspace_id=tenant))
    fill_storage(lambda tenant: planaria.SqliteStorage(directory / "workspace.db", workspace_id=tenant))
    for name in ("store.db", "workspace.db"):
        connection = sqlite3.connect(directory / name)
        connection.execute("PRAGMA journal_mode=DELETE")
        connection.execute("VACUUM")
        connection.close()
    client = redis.Redis.from_url(url)
    store = planaria.RedisStore(url)
    fill_store(store)
    fill_storage(lambda tenant: planaria.RedisStorage(url, workspace_id=tenant))
    (directory / "redis.json").write_text(json.dumps(dump_redis(client), indent=1) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
