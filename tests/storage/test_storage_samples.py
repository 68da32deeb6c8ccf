"""What earlier versions wrote is read, and goes on."""

from __future__ import annotations

import base64
import json
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from made_snapshots import make_snapshot

import planaria

_SAMPLES = Path(__file__).parent / "samples"


@pytest.fixture
def samples(tmp_path: Path) -> Path:
    """A copy of the samples, to be written to."""
    return Path(shutil.copytree(_SAMPLES, tmp_path / "samples"))


@pytest.fixture
def redis_samples(redis_url: str) -> Iterator[str]:
    """The address of a server that has the keys of the samples in a database of its own."""
    import redis

    url = redis_url.rpartition("/")[0] + "/7"
    client = redis.Redis.from_url(url)
    client.flushdb()
    for key, (kind, value) in json.loads((_SAMPLES / "redis.json").read_text()).items():
        name = base64.b64decode(key)
        match kind:
            case "string":
                client.set(name, base64.b64decode(value))
            case "list":
                client.rpush(name, *map(base64.b64decode, value))
            case "set":
                client.sadd(name, *map(base64.b64decode, value))
            case "hash":
                client.hset(
                    name,
                    mapping={base64.b64decode(one): base64.b64decode(data) for one, data in value.items()},
                )
    yield url
    client.flushdb()
    client.close()


def check_store(store: planaria.Store) -> None:
    """It has what `write_samples.fill_store` saved, and can be written to."""
    root = make_snapshot(1, pages=2, shared=1)
    child = make_snapshot(2, pages=2, shared=1, parent=root)
    assert store.list() == ["order-17", "Ä/b"]
    assert [one.number for one in store.history("order-17")] == [1, 2]
    assert store.load("order-17", 1).chain() == [root]
    assert store.load("order-17").chain() == [root, child]
    assert store.load("Ä/b") == root
    assert store.save("order-17", make_snapshot(3)).number == 3
    assert store.collect_garbage().bytes == 0
    store.delete("order-17")
    store.delete("Ä/b")
    assert store.collect_garbage().snapshots == 3
    assert store.list() == []


def check_storage(open_storage: Callable[[str | None], planaria.Storage]) -> None:
    """It has what `write_samples.fill_storage` wrote, and can be written to."""
    for tenant in (None, "Tenant"):
        storage = open_storage(tenant)
        workflows = storage.get_workflow_library()
        assert [(one.source, one.description) for one in workflows.versions("double")] == [
            ("def run(x): return 2 * x\n", "first"),
            ("def run(x): return x + x\n", "second"),
        ]
        assert workflows.add("double", "def run(x): return x * 2\n").version == 3
        artifacts = storage.get_artifact_store()
        assert [one.name for one in artifacts.list()] == ["empty", "reports/2024"]
        assert artifacts.load("reports/2024") == {"tenant": tenant}
        assert artifacts.load("empty") == b""
        found = artifacts.get("reports/2024")
        assert found is not None
        assert (found.description, found.metadata) == ("described", {"year": 2024})
        assert found.created_at.startswith("2026-11-28T")
        assert storage.get_dependency_list().list() == ["attrs>=24"]
        assert [one.text for one in storage.get_tool_definitions()] == ["name: curl\n"]
        assert storage.list_snapshots() == ["order-17", "Ä/b"]
        check_store(storage.get_snapshot_store())
        storage.close()


def test_directories(samples: Path) -> None:
    """Directories of stores and of workspaces are read as they are."""
    check_store(planaria.FileStore(samples / "store"))
    check_storage(lambda tenant: planaria.FileStorage(samples / "workspace", workspace_id=tenant))


def test_leftovers_of_killed_writers(samples: Path) -> None:
    """A file that a killed writer of an earlier version left in a store is neither read nor kept."""
    folder = next((samples / "store" / "blob").iterdir())
    leftover = folder / f"{next(folder.iterdir()).name}.123.456.partial"
    leftover.write_bytes(b"half")
    check_store(planaria.FileStore(samples / "store"))
    assert not leftover.exists()


@pytest.mark.parametrize("prefix", ["", "Some prefix ", "some PREFIX "])
def test_sqlite_stores(samples: Path, prefix: str) -> None:
    """Tables of a store become documents; those of a store with another prefix stay until it is opened."""
    store = planaria.SqliteStore(samples / "store.db", prefix=prefix)
    check_store(store)
    store.close()
    connection = sqlite3.connect(samples / "store.db")
    tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    connection.close()
    assert ("blob" in tables) == bool(prefix)
    assert ("Some prefix blob" in tables) != bool(prefix)
    check_store(planaria.SqliteStore(samples / "store.db", prefix="" if prefix else "Some prefix "))


def test_sqlite_workspaces(samples: Path) -> None:
    """The SQLite file of workspaces is read as it is, and their snapshots as those of a store."""
    check_storage(lambda tenant: planaria.SqliteStorage(samples / "workspace.db", workspace_id=tenant))


def test_redis(redis_samples: str) -> None:
    """Keys of a store become documents, those of a workspace are read as they are, and no old key is left."""
    import redis

    check_store(planaria.RedisStore(redis_samples))
    check_storage(lambda tenant: planaria.RedisStorage(redis_samples, workspace_id=tenant))
    client: Any = redis.Redis.from_url(redis_samples)
    for old in ("blob:*", "record:*", "version:*", "saves"):
        assert client.keys(f"*{old}") == []
    client.close()


def test_redis_converted_twice(redis_samples: str) -> None:
    """A conversion that was killed before it removed the old keys is done again, with the same outcome."""
    import redis

    client: Any = redis.Redis.from_url(redis_samples)
    old = {key: client.dump(key) for key in client.keys("planaria:*") if b"workspace" not in key}
    store = planaria.RedisStore(redis_samples)
    store.list()
    for key, value in old.items():
        client.restore(key, 0, value)
    check_store(planaria.RedisStore(redis_samples))
    client.close()
